"""What became of the functions of a library in a sweep that calls them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gradfuzz.fuzzer.results.codec import OPTIONAL

FAMILY = "functions"
"""The family of a sweep that calls functions: it draws calls, and no programs."""

ASKED = "asked"
REFUSED = "refused"
BROKEN = "broken"
NOT_DIFFERENTIABLE = "not differentiable"
LEFT_OUT = "left out"
NOT_REACHED = "not reached"

OUTCOMES = (ASKED, REFUSED, BROKEN, NOT_DIFFERENTIABLE, LEFT_OUT, NOT_REACHED)
"""asked                its derivatives were asked for
refused              no call that was drawn was valid, or none had a derivative: the library's words say why
broken               gradfuzz itself raised, and lost calls and findings: an error to report
not differentiable   by the library's own documents
left out             for a reason that a person wrote
not reached          the sweep ended before
"""

DIFFERENTIABLE = (ASKED, REFUSED, BROKEN, NOT_REACHED)
"""The outcomes of functions that may have a derivative."""


@dataclass(frozen=True, slots=True)
class FunctionSummary:
    """A function of a library, and what a sweep asked of it."""

    name: str
    """Its first public name; of one that only the library itself calls, its schema."""
    signature: str
    outcome: str
    """One of `OUTCOMES`."""
    why: str
    """The document, the reason, the library's words, or the error of gradfuzz; empty where it was asked."""
    drawn: int = 0
    """Calls that were drawn, ..."""
    valid: int = 0
    """... those of them that the library took, ..."""
    judged: int = 0
    """... and those of these that were judged."""
    asked: Mapping[str, int] = field(default_factory=dict)
    """By modes, as "rev" or "fwd rev": how many calls were asked for that derivative, and answered."""
    lacks: Mapping[str, str] = field(default_factory=dict)
    """By modes that no call has: the library's words."""
    verdicts: Mapping[str, int] = field(default_factory=dict)
    """By verdict, as "agree": how many answers."""
    answers: Mapping[str, int] = field(default_factory=dict, metadata={OPTIONAL: True})
    """By modes and verdict, as "fwd rev: agree": how many answers."""
    inconclusive: Mapping[str, int] = field(default_factory=dict)
    """By reason: how many answers."""
    findings: tuple[str, ...] = ()
    """The ids of the findings about it."""
    proofs: Mapping[str, int] = field(default_factory=dict, metadata={OPTIONAL: True})
    """By outcome, as "right" or "open": how many of the derivatives were taken as a formula and proved."""
    open: Mapping[str, int] = field(default_factory=dict, metadata={OPTIONAL: True})
    """By reason: how many of these stayed open."""
    wrong_rules: tuple[str, ...] = field(default=(), metadata={OPTIONAL: True})
    """What is proved wrong though the numbers agree, in sentences."""
