"""The cases of a batch. They depend only on the sweep's seed and settings and on their numbers."""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

from gradfuzz.fuzzer.questions.target_programs import is_answered, listed
from gradfuzz.fuzzer.sweep.work_item import WorkItem
from gradfuzz.oracles.base import Oracle
from gradfuzz.strategies import FAMILIES, GeneratedCase
from gradfuzz.strategies.drawing.draw import draws
from gradfuzz.strategies.families import Ops, cases_about, cases_of

_REDRAWN = 24
"""So many cases are drawn to have one of which a target answers something."""


def drawn(item: WorkItem, targets: Sequence[Oracle] = ()) -> list[GeneratedCase]:
    """The cases of a batch that is asked of `targets`.

    Most families have every other case about the op whose turn it is, so that none is rare. A case of which
    none of the targets answers anything is drawn again. Every seed first draws the simplest case; only the
    first batch keeps it.
    """
    family, seed, row = item.family, _seed(item), FAMILIES[item.family]
    ops = listed(targets) or None if item.fits else None
    turns = [op for op in row.turns if ops is None or op in ops]
    random.Random(f"{item.seed}/{family}").shuffle(turns)  # noqa: S311 - repeatable on purpose
    anything = draws(cases_of(family, item.precisions, ops), f"{seed}/{item.number}")
    if item.number:
        next(anything)
    found = []
    for index in range(item.first, item.first + item.count):
        case = None
        turn, rest = divmod(index, row.every)
        if turns and rest == row.every - 1:
            visit, place = divmod(turn, len(turns))
            whole = replace(item, number=0, first=0, count=0)
            case = _turns(whole, turns[place], ops, tuple(targets)).case(visit)
        found.append(case or _first_answered(anything, item, targets) or next(anything))
    return found


def _seed(item: WorkItem) -> str:
    return str(item.seed) if item.family == "loops" else f"{item.seed}/{item.family}"


@functools.lru_cache(maxsize=512)
def _turns(item: WorkItem, op: str, ops: Ops, targets: tuple[Oracle, ...]) -> _Turns:
    """The turns of an op in a sweep, whose batches are all alike but for their numbers."""
    return _Turns(cases_about(item.family, item.precisions, op, f"{_seed(item)}/{op}", ops), item, targets)


class _Turns:
    """The cases about one op, in the order of its turns."""

    def __init__(self, stream: Iterator[GeneratedCase], item: WorkItem, targets: Sequence[Oracle]) -> None:
        self._stream, self._item, self._targets = stream, item, targets
        self._found: list[GeneratedCase | None] = []

    def case(self, visit: int) -> GeneratedCase | None:
        """The case of the op's turn number `visit`; None where the targets answer none of several."""
        while len(self._found) <= visit:
            self._found.append(_first_answered(self._stream, self._item, self._targets))
        return self._found[visit]


def _first_answered(
    stream: Iterator[GeneratedCase], item: WorkItem, targets: Sequence[Oracle]
) -> GeneratedCase | None:
    """The first of a few cases of which one of the targets answers something; without targets the first."""
    if not targets:
        return next(stream, None)
    some = itertools.islice(stream, _REDRAWN)
    return next((case for case in some if is_answered(item.questions(case, 0), targets)), None)
