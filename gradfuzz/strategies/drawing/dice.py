"""What the strategies draw with: one integer per decision, the simple choices first.

Hypothesis shrinks every draw towards zero, so everything here is ordered by simplicity: the first option of a
table, "no" before "yes", the shorter list before the longer one.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")
Draw = Callable[[st.SearchStrategy[Any]], Any]
"""The `draw` of `st.composite`."""

_BELOW: dict[int, st.SearchStrategy[int]] = {}
"""`integers(0, n - 1)` by n: making a strategy costs more than drawing from it."""


class Table(Generic[T]):
    """Options with integer weights, the simplest first: the one it shrinks towards."""

    def __init__(self, *rows: tuple[int, T]) -> None:
        self.rows = rows
        self._ends = list(itertools.accumulate(weight for weight, _ in rows))

    @property
    def total(self) -> int:
        return self._ends[-1]

    def at(self, place: int) -> T:
        """The option that holds `place`, an integer below `total`."""
        return self.rows[bisect.bisect_right(self._ends, place)][1]

    def where(self, keep: Callable[[T], bool]) -> Table[T]:
        """The table without the options that `keep` refuses; it may be empty."""
        return Table(*(row for row in self.rows if keep(row[1])))


TRIPS = Table((5, 0), (8, 1), (26, 2), (30, 3), (14, 5), (8, 8), (8, 17))
"""Trip counts and how often each is drawn."""


class Dice:
    """Decisions by Hypothesis. `ops`: those that are to be used alone (None: all)."""

    __slots__ = ("_draw", "ops")

    def __init__(self, draw: Draw, ops: frozenset[str] | None = None) -> None:
        self._draw = draw
        self.ops = ops

    def has(self, *ops: str) -> bool:
        """Whether each of `ops` may be used."""
        return self.ops is None or self.ops.issuperset(ops)

    def having(self, ops: Sequence[str]) -> list[str]:
        """Those of `ops` that may be used."""
        return [op for op in ops if self.has(op)]

    def below(self, n: int) -> int:
        """An integer in [0, n), without a draw where there is only one."""
        if n == 1:
            return 0
        strategy = _BELOW.get(n)
        if strategy is None:
            strategy = _BELOW[n] = st.integers(0, n - 1)
        result: int = self._draw(strategy)
        return result

    def chance(self, percent: int) -> bool:
        """Yes in so many of a hundred; shrinks towards no."""
        return percent > 0 and self.below(100) >= 100 - percent

    def pick(self, options: Sequence[T]) -> T:
        """One of `options`, all equally likely."""
        return options[self.below(len(options))]

    def weighted(self, table: Table[T]) -> T:
        """One option of `table`."""
        return table.at(self.below(table.total))


class Plain(Dice):
    """The simplest decision every time: what a strategy shrinks towards."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(lambda _: 0)

    def below(self, n: int) -> int:
        return 0
