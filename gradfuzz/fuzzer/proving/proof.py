"""A proof: the true derivative, the rule of the library and its answer, and what follows."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gradfuzz.fuzzer.proving.causes import RuleCause
from gradfuzz.fuzzer.results.proof import Outcome
from gradfuzz.oracles.base import Mode
from gradfuzz.oracles.references.balls import Enclosure
from gradfuzz.programs.graphs.graph import Graph


@dataclass(frozen=True, slots=True, eq=False)
class Blame:
    """The rule that is wrong, or that is computed wrongly: that of one step of a function, or of the whole
    function where no step is wrong alone.
    """

    rule: Graph
    cause: RuleCause | None
    """The number that makes it wrong, where it is one."""
    step: str = ""
    """The primitive or function that has the rule."""
    where: str = ""
    """Where the rule is written."""


@dataclass(frozen=True, slots=True, eq=False)
class Proof:
    """What is known of one derivative at one point: its number along fixed lines (`Setting`)."""

    modes: tuple[Mode, ...]
    outcome: Outcome
    truth: Enclosure | None = None
    rule: Enclosure | None = None
    answer: float | None = None
    """What the library computes; None where it was not asked."""
    allowed: float | None = None
    """How far rounding may carry the answer from the rule; None where that is not known."""
    reason: str = ""
    """Why it is open, or what to know."""
    blame: Blame | None = None
    """Where a wrong rule is wrong, or a wrong answer comes from."""

    @property
    def apart(self) -> float:
        """How far the rule is from the truth, as a share of it; 0 where they meet or are not known."""
        if self.truth is None or self.rule is None or self.rule.meets(self.truth):
            return 0.0
        return self.rule.apart(self.truth)

    @property
    def digits(self) -> float | None:
        """How many decimal digits of the answer are right; None where that is not known."""
        if self.truth is None or self.answer is None:
            return None
        error = float(abs(self.truth.ball - self.answer).mid())
        size = abs(self.truth.middle)
        if error == 0 or not size:
            return 0.0 if error else 17.0
        return max(0.0, -math.log10(max(error / size, 1e-17)))
