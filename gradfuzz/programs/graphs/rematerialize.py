"""Stacks of which a loop keeps only a few states: the entries are computed again where they are read.

`replay` runs a loop that writes stacks and keeps the carries at the start of some trips. What it gives for a
stack reads like a list (`len`, an index, iteration both ways). A reader goes through a stretch of the trips,
up or down; behind it, the trips are run again in blocks from the kept carries nearest before them. Trips are
pure, so the entries are the same bit for bit.

    "sqrt"   carries at the starts of segments, and one segment of entries for each reader. With the number n
    of trips known,
             segments of sqrt(n) trips; otherwise of 1, 2, 3, ... trips, so that about sqrt(2 n) are kept in
             one run. Every trip is run once more by each reader.
    k        at most k states at a time for each reader, a block of entries included, besides the one at hand.
             Read downwards with about
             the fewest trips that k states allow (Griewank and Walther 2000, section 2): r for each trip,
             where n <= C(k + r, k). Where n is not known, it is found in a run that keeps nothing.
"""

from __future__ import annotations

import math
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from gradfuzz.errors import TripLimitError
from gradfuzz.programs.graphs.graph import Checkpoint, LoopForm

Carries = tuple[Any, ...]
Block = Sequence[Sequence[Any]]
"""The entries of a stretch of trips in the order of the trips, stack by stack."""


@dataclass(frozen=True, slots=True)
class TripFunctions:
    """A loop's trips as functions of its carries; what it closes over is inside.

    `advance` and `record` take the trips first: a range of indices, or where stacks are read tuples (index,
    entries). `advance` returns the carries after them, `record` the entries written in them. `explore` runs
    at most so many trips as long as the condition holds before the trip; it returns how many they were, and
    the carries. It is None for a "for" loop.
    """

    advance: Callable[..., Carries]
    record: Callable[..., Block]
    explore: Callable[..., tuple[int, Carries]] | None = None


def replay(
    form: LoopForm,
    checkpoint: Checkpoint,
    trips: TripFunctions,
    initial: Carries,
    *,
    stacks: Sequence[Sequence[Any]] = (),
    count: int | None = None,
    reverse: bool = False,
    written: int,
    trip_limit: int | None = None,
) -> tuple[Carries, tuple[RematerializedStack, ...]]:
    """The final carries of a loop, and the stacks it writes. Raises `TripLimitError` above `trip_limit`
    trips.
    """
    total = None
    if form == "for":
        total = len(stacks[0]) if count is None else max(0, count)
        _check(total, trip_limit)
    make = _Segments if checkpoint == "sqrt" else _Binomial
    tape = make(trips, stacks, reverse, 0 if isinstance(checkpoint, str) else checkpoint)
    if total is None:
        final = tape.explore(initial, trip_limit, at_least_once=form == "repeat")
    else:
        final = tape.run(initial, total)
    return final, tuple([RematerializedStack(tape, k) for k in range(written)])


class RematerializedStack(Sequence[Any]):
    """A stack that is computed again as it is read."""

    __slots__ = ("_place", "_tape")

    def __init__(self, tape: _Tape, place: int) -> None:
        self._tape, self._place = tape, place

    def __len__(self) -> int:
        return self._tape.length

    def __getitem__(self, index: Any) -> Any:
        at = range(len(self))[index]
        return [*self.read(at)] if isinstance(at, range) else next(self.read(range(at, at + 1)))

    def __iter__(self) -> Iterator[Any]:
        return self.read(range(len(self)))

    def __reversed__(self) -> Iterator[Any]:
        return self.read(range(len(self))[::-1])

    def read(self, indices: range) -> Iterator[Any]:
        """The entries at `indices`."""
        return columns([self], indices)[0]

    def reader(self, readers: dict[_Tape, _Reader], indices: range) -> Iterator[Any]:
        """The entries at `indices`, by the reader of this stack's loop; one is made where there is none."""
        if self._tape not in readers:
            readers[self._tape] = _Reader(self._tape, indices)
        return chain.from_iterable(readers[self._tape].column(self._place))


def columns(stacks: Sequence[Sequence[Any]], indices: range) -> list[Iterator[Any]]:
    """An iterator over the entries at `indices` (a step of 1 or -1) of each stack, to be read in step.

    Stacks of one loop are computed together.
    """
    readers: dict[_Tape, _Reader] = {}
    return [
        s.reader(readers, indices) if isinstance(s, RematerializedStack) else map(s.__getitem__, indices)
        for s in stacks
    ]


class _Reader:
    """The blocks of a stretch of a tape, of which the last is at hand."""

    def __init__(self, tape: _Tape, indices: range) -> None:
        self._down = (indices.step < 0) != tape.reverse
        ends = (indices[0], indices[-1]) if indices else ()
        trips = sorted(tape.length - 1 - k if tape.reverse else k for k in ends) or [0, -1]
        self._blocks = tape.blocks(trips[0], trips[1] + 1, down=self._down)
        self._block: Block | None = None
        self._number = -1

    def column(self, place: int) -> Iterator[Iterable[Any]]:
        """The entries of one stack, block by block."""
        number = 0
        while True:
            if number > self._number:
                self._block = None  # before the next is computed
                self._block, self._number = next(self._blocks, None), number
            if self._block is None:
                return
            yield reversed(self._block[place]) if self._down else self._block[place]
            number += 1


class _Tape:
    """What is kept of a loop: how to run its trips again, and from where."""

    def __init__(
        self, trips: TripFunctions, stacks: Sequence[Sequence[Any]], reverse: bool, states: int
    ) -> None:
        self.trips, self.stacks, self.reverse, self.states = trips, stacks, reverse, states
        self.length = 0
        self.saved: list[tuple[int, Carries]] = []
        """(trip, carries at its start), in the order of the trips."""

    def run(self, carries: Carries, total: int) -> Carries:
        """The way forth with a known number of trips."""
        raise NotImplementedError

    def explore(self, carries: Carries, trip_limit: int | None, *, at_least_once: bool) -> Carries:
        """The way forth until the condition fails."""
        raise NotImplementedError

    def blocks(self, first: int, last: int, *, down: bool) -> Iterator[Block]:
        """The entries of the trips first, ..., last - 1 in blocks, the blocks from the last to the first
        where `down`.
        """
        raise NotImplementedError

    def advance(self, first: int, last: int, carries: Carries) -> Carries:
        return self.trips.advance(self._stretch(first, last), *carries) if first < last else carries

    def record(self, first: int, last: int, carries: Carries) -> Block:
        return self.trips.record(self._stretch(first, last), *carries)

    def _stretch(self, first: int, last: int) -> Iterable[Any]:
        end = self.length - 1
        indices = range(end - first, end - last, -1) if self.reverse else range(first, last)
        return zip(indices, *columns(self.stacks, indices), strict=False) if self.stacks else indices

    def _explored(self, trip: int, most: int, carries: Carries, limit: int | None) -> tuple[int, Carries]:
        assert self.trips.explore is not None, "while and repeat have a condition"
        if limit is not None:
            most = min(most, limit + 1 - trip)
        done, carries = self.trips.explore(most, *carries)
        _check(trip + done, limit)
        return done, carries


class _Segments(_Tape):
    """Keeps the carries at the start of every segment."""

    def run(self, carries: Carries, total: int) -> Carries:
        self.length = total
        size = math.isqrt(max(total, 1) - 1) + 1
        for first in range(0, total, size):
            self.saved.append((first, carries))
            carries = self.advance(first, min(first + size, total), carries)
        return carries

    def explore(self, carries: Carries, trip_limit: int | None, *, at_least_once: bool) -> Carries:
        size = 1
        if at_least_once:
            self.saved.append((0, carries))
            self.length, carries = 1, self.advance(0, 1, carries)
        while True:
            start = carries
            done, carries = self._explored(self.length, size, carries, trip_limit)
            if done:
                self.saved.append((self.length, start))
                self.length += done
            if done < size:
                return carries
            size += 1

    def blocks(self, first: int, last: int, *, down: bool) -> Iterator[Block]:
        if first == last:
            return
        starts = [trip for trip, _ in self.saved]
        segments = range(bisect_right(starts, first) - 1, bisect_left(starts, last))
        for k in reversed(segments) if down else segments:
            start, carries = self.saved[k]
            low, high = max(first, start), min(last, starts[k + 1] if k + 1 < len(starts) else self.length)
            yield self.record(low, high, self.advance(start, low, carries))


class _Binomial(_Tape):
    """Keeps at most `states` states; those of the way forth go to the first reader that reads downwards.

    Trips are taken by the block of `_size`, which is what a reader has at hand: the schedule is that of the
    blocks, with the states that are left.
    """

    _initial: Carries = ()
    _size = 1

    def run(self, carries: Carries, total: int) -> Carries:
        self.length, self._size = total, block_size(self.states, total)
        self.saved = [(0, carries)]
        self._initial = carries
        self._place(self.saved, total)
        at, carries = self.saved[-1]
        return self.advance(at, total, carries)

    def explore(self, carries: Carries, trip_limit: int | None, *, at_least_once: bool) -> Carries:
        self._initial = carries
        if at_least_once:
            self.length, carries = 1, self.advance(0, 1, carries)
        done, carries = self._explored(self.length, sys.maxsize, carries, trip_limit)
        self.length += done
        self._size = block_size(self.states, self.length)
        return carries

    def blocks(self, first: int, last: int, *, down: bool) -> Iterator[Block]:
        return self._down(first, last) if down else self._up(first, last)

    def _up(self, first: int, last: int) -> Iterator[Block]:
        carries = self.advance(0, first, self._initial)
        size = max(1, self.states - 1)
        for low in range(first, last, size):
            high = min(low + size, last)
            yield self.record(low, high, carries)
            if high < last:
                carries = self.advance(low, high, carries)

    def _down(self, first: int, last: int) -> Iterator[Block]:
        saved, self.saved = self.saved or [(0, self._initial)], []
        while last > first:
            while saved[-1][0] >= last:
                saved.pop()
            low = max(first, self._place(saved, last))
            at, carries = saved[-1]
            yield self.record(low, last, self.advance(at, low, carries))
            last = low

    def _place(self, saved: list[tuple[int, Carries]], last: int) -> int:
        """Keeps carries on the way from the last kept ones to the block that ends with `last`. Returns where
        it starts.
        """
        at, carries = saved[-1]
        size = self._size
        free = self.states - size + 2 - len(saved)
        while last - at > free + size - 1 and free > 1:
            step = size * split(free, -(-(last - at) // size))
            carries = self.advance(at, at + step, carries)
            at, free = at + step, free - 1
            saved.append((at, carries))
        return at if last - at <= free + size - 1 else at + (last - at - 1) // size * size


def trips_run(states: int, trips: int) -> int:
    """The fewest trips that bring each of `trips` trips to hand, last to first, from `states` kept states,
    the first included.

    r n - b(s + 1, r - 1), where b(s, r) = C(s + r, s) and b(s, r - 1) < n <= b(s, r) (Griewank and Walther
    2000, section 2).
    """
    r = 0
    while math.comb(states + r, states) < trips:
        r += 1
    return r * trips - (math.comb(states + r, states + 1) if r else 0)


def block_size(states: int, trips: int) -> int:
    """The largest power of two, at most half of `states`, with which at most a quarter more trips are run
    than with blocks of one trip.

    A block of b entries leaves s - b + 1 states for the starts of n / b blocks.
    """
    best, size = 1, 2
    fewest = trips_run(states, trips) + trips if states >= 4 else 0
    while (
        2 * size <= states
        and 4 * (size * trips_run(states - size + 1, -(-trips // size)) + trips) <= 5 * fewest
    ):
        best, size = size, 2 * size
    return best


def split(states: int, trips: int) -> int:
    """After how many of `trips` trips the next state is best kept, where `states` can be, the one at the
    start included.

    With b(s, r) = C(s + r, s) and b(s, r - 1) < n <= b(s, r), every split m is best for which b(s, r - 2) <=
    m <= b(s, r - 1) and b(s - 1, r - 1) <= n - m <= b(s - 1, r) (Griewank and Walther 2000, section 2); this
    is the largest.
    """
    r = 1
    while math.comb(states + r, states) < trips:
        r += 1
    return min(math.comb(states + r - 1, states), trips - math.comb(states + r - 2, states - 1))


def materialized(value: Any) -> Any:
    """`value`, or where it is a stack that is computed as it is read, the list of its entries."""
    return [*value] if isinstance(value, RematerializedStack) else value


def trip_by_trip(
    body: Callable[..., Sequence[Any]],
    condition: Callable[[Carries], bool] | None,
    carried: int,
    written: int,
) -> TripFunctions:
    """The trips of a loop whose body is a function of one trip.

    `body` takes (carries, entries read, index), without the index where there is a `condition`, and returns
    (carries, entries written).
    """

    def results(at: Any, carries: Carries) -> Sequence[Any]:
        index, *entries = at if isinstance(at, tuple) else (at,)
        return body(*carries, *entries, *([] if condition else [index]))

    def advance(trips: Iterable[Any], *carries: Any) -> Carries:
        for at in trips:
            carries = tuple(results(at, carries)[:carried])
        return carries

    def record(trips: Iterable[Any], *carries: Any) -> Block:
        stacks: list[list[Any]] = [[] for _ in range(written)]
        for at in trips:
            after = results(at, carries)
            carries = tuple(after[:carried])
            for stack, entry in zip(stacks, after[carried:], strict=True):
                stack.append(materialized(entry))
        return stacks

    def explore(most: int, *carries: Any) -> tuple[int, Carries]:
        done = 0
        while done < most and condition is not None and condition(carries):
            carries = advance(range(1), *carries)
            done += 1
        return done, carries

    return TripFunctions(advance, record, explore if condition else None)


def _check(trips: int, trip_limit: int | None) -> None:
    if trip_limit is not None and trips > trip_limit:
        advice = "raise the trip limit if that is meant"
        raise TripLimitError(f"a loop took more than {trip_limit} trips; {advice}")
