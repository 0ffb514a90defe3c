"""The task of a batch."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gradfuzz.fuzzer.questions.weighted import CHECKS, questions
from gradfuzz.oracles.base import Question
from gradfuzz.programs.language.precision import Precision
from gradfuzz.strategies import GeneratedCase


@dataclass(frozen=True, slots=True)
class WorkItem:
    """Some programs of a sweep, and who is asked what about them."""

    number: int
    """The batch's number, which together with the sweep's seed decides what is drawn."""
    first: int
    """Its programs are first, ..., first + count - 1 of the sweep."""
    count: int
    family: str
    seed: int
    oracles: tuple[str, ...]
    precisions: tuple[Precision, ...] = ("float64", "float32")
    orders: tuple[int, ...] = (1, 2, 3)
    checks: tuple[str, ...] = CHECKS
    named: tuple[str, ...] = ()
    """The oracles that somebody asked for by their own names, and not by their library's."""
    fits: bool = False
    """Whether its programs are drawn for its oracles, of the ops that they list."""
    asks: str = ""
    """The one oracle that is asked; empty: all."""
    only: tuple[int, int] | None = None
    """The first of its programs that is asked about, and the one after the last; None: all."""

    def is_about(self, index: int) -> bool:
        """Whether program `index` of the sweep is asked about."""
        return self.only is None or self.only[0] <= index < self.only[1]

    def parts(self) -> tuple[WorkItem, ...]:
        """The same in two or more pieces: an oracle each, then half of the programs; none where it is one
        oracle and one program.
        """
        if not self.asks and len(self.oracles) > 1:
            return tuple(replace(self, asks=name) for name in self.oracles)
        begin, end = self.only or (self.first, self.first + self.count)
        if end - begin == 1:
            return ()
        middle = (begin + end) // 2
        return replace(self, only=(begin, middle)), replace(self, only=(middle, end))

    def questions(self, case: GeneratedCase, index: int) -> list[Question]:
        """The questions about one of its cases, number `index` of the sweep."""
        precisions, orders, checks = self.precisions, self.orders, self.checks
        return questions(case, index, self.seed, precisions=precisions, orders=orders, checks=checks)
