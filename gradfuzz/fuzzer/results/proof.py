"""A proof about a derivative rule, as reports show it. Numbers that are proved are texts of 30 digits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gradfuzz.oracles.base import Mode

Outcome = Literal["right", "wrong rule", "wrong computation", "open"]
"""right              the rule encloses the true derivative, and the answer is what rounding makes of it
wrong rule         the enclosures of the rule and of the true derivative are disjoint: that is a proof
wrong computation  the rule is right, and the answer is not
open               one of the two is not known, for a reason"""


@dataclass(frozen=True, slots=True)
class RuleLine:
    """A line of a rule as Python, and whether it has the number that makes the rule wrong."""

    text: str
    marked: bool = False


@dataclass(frozen=True, slots=True)
class ProofRecord:
    """One derivative of a function at one point."""

    function: str
    modes: tuple[Mode, ...]
    outcome: Outcome
    derivative: str = ""
    """The true one; empty where it is not known."""
    rule: str = ""
    """What the rule gives; empty where it is not known."""
    apart: float = 0.0
    """How far the rule is from the derivative, as a share of it; 0 where the two may be one number."""
    answer: float | None = None
    """What the library computed; None where it was not asked."""
    digits: float | None = None
    """The decimal digits of the answer that are right."""
    step: str = ""
    """The step of the function whose rule, or answer, is wrong; empty for the function as a whole."""
    where: str = ""
    """Where the rule of the step is written."""
    cause: str = ""
    """Which number makes it wrong, where it is one."""
    note: str = ""
    """Why nothing is proved, or what to know."""
    lines: tuple[RuleLine, ...] = ()
    """A wrong rule."""
