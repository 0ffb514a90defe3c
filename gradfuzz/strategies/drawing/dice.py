"""The decisions of the strategies: one integer each, the simple choices first.

Hypothesis shrinks every draw towards zero, so everything here is ordered by simplicity: the first option of a
table, "no" before "yes", the shorter list before the longer one.
"""

from __future__ import annotations

import bisect
import itertools
import random
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")
Draw = Callable[[st.SearchStrategy[Any]], Any]
"""The `draw` of `st.composite`."""

_BELOW: dict[int, st.SearchStrategy[int]] = {}
"""`integers(0, n - 1)` by n, cached: making a strategy costs more than drawing from it."""

SIZES: dict[int, int] = {}
"""The n of each of these strategies, by its id: a stream of draws need not ask Hypothesis what it is."""


class Odds(Generic[T]):
    """A table of options with integer weights, the simplest first. A draw shrinks towards the first."""

    def __init__(self, *rows: tuple[int, T]) -> None:
        self.rows = rows
        self._ends = list(itertools.accumulate(weight for weight, _ in rows))

    @property
    def total(self) -> int:
        return self._ends[-1]

    def at(self, place: int) -> T:
        """The option at `place`, an integer in [0, total) of the cumulated weights."""
        return self.rows[bisect.bisect_right(self._ends, place)][1]

    def where(self, keep: Callable[[T], bool]) -> Odds[T]:
        """The table without the options that `keep` rejects; it may be empty."""
        return Odds(*(row for row in self.rows if keep(row[1])))


TRIPS = Odds((5, 0), (8, 1), (26, 2), (30, 3), (14, 5), (8, 8), (8, 17))
"""Trip counts and how often each is drawn."""


class Dice:
    """Decisions by Hypothesis. `ops`: the only ops that may be used (None: all). `about`: an op whose options
    are preferred until one is drawn.
    """

    __slots__ = ("_draw", "about", "ops")

    def __init__(self, draw: Draw, ops: frozenset[str] | None = None, about: str | None = None) -> None:
        self._draw = draw
        self.ops = ops
        self.about = about

    def has(self, *ops: str) -> bool:
        """Whether each of `ops` may be used."""
        return self.ops is None or self.ops.issuperset(ops)

    def having(self, ops: Sequence[str]) -> list[str]:
        """The subset of `ops` that may be used."""
        return [op for op in ops if self.has(op)]

    def below(self, n: int) -> int:
        """An integer in [0, n); nothing is drawn for n = 1."""
        if n == 1:
            return 0
        strategy = _BELOW.get(n)
        if strategy is None:
            strategy = _BELOW[n] = st.integers(0, n - 1)
            SIZES[id(strategy)] = n
        result: int = self._draw(strategy)
        return result

    def chance(self, percent: int) -> bool:
        """Yes with this probability in percent; shrinks towards no."""
        return percent > 0 and self.below(100) >= 100 - percent

    def pick(self, options: Sequence[T]) -> T:
        """One of `options`, all equally likely."""
        return options[self.below(len(options))]

    def weighted(self, table: Odds[T]) -> T:
        return table.at(self.below(table.total))


class Plain(Dice):
    """Always the simplest decision: what a strategy shrinks towards."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(lambda _: 0)

    def below(self, n: int) -> int:
        return 0


class Seeded(Dice):
    """Decisions by a seed, without Hypothesis: the same on every machine."""

    __slots__ = ("_random",)

    def __init__(self, seed: str) -> None:
        super().__init__(lambda _: 0)
        self._random = random.Random(seed)  # noqa: S311 - repeatable on purpose

    def below(self, n: int) -> int:
        return self._random.randrange(n) if n > 1 else 0
