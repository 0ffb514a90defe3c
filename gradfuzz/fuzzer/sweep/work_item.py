"""The task of a batch."""

from __future__ import annotations

from dataclasses import dataclass

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

    def questions(self, case: GeneratedCase, index: int) -> list[Question]:
        """The questions about one of its cases, number `index` of the sweep."""
        precisions, orders, checks = self.precisions, self.orders, self.checks
        return questions(case, index, self.seed, precisions=precisions, orders=orders, checks=checks)
