"""What became of the functions of a library in a sweep that calls them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

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
not differentiable   by its documents, or by what it returns
left out             gradfuzz does not call it; the list of functions says why
not reached          the sweep ended before
"""

NOTHING_ASKED = "no call of any of its"
"""How the fault of a library begins of which no call was judged; the reasons follow."""

DIFFERENTIABLE = (ASKED, REFUSED, BROKEN, NOT_REACHED)
"""The outcomes of functions that may have a derivative."""


@dataclass(slots=True, kw_only=True)
class Tally:
    """What was asked of a function, counted."""

    drawn: int = 0
    """Calls that were drawn, ..."""
    valid: int = 0
    """... those of them that the library took, ..."""
    judged: int = 0
    """... and those of these that were judged."""
    asked: Counter[str] = field(default_factory=Counter)
    """By modes, as "rev" or "fwd rev": how many calls were asked for that derivative, and answered."""
    lacks: dict[str, str] = field(default_factory=dict)
    """By modes that no call has: the library's words."""
    verdicts: Counter[str] = field(default_factory=Counter)
    """By verdict, as "agree": how many answers."""
    answers: Counter[str] = field(default_factory=Counter, metadata={OPTIONAL: True})
    """By modes and verdict, as "fwd rev: agree": how many answers."""
    inconclusive: Counter[str] = field(default_factory=Counter)
    """By reason: how many answers."""
    proofs: Counter[str] = field(default_factory=Counter, metadata={OPTIONAL: True})
    """By outcome, as "right" or "open": how many of the derivatives were taken as a formula and proved."""
    open: Counter[str] = field(default_factory=Counter, metadata={OPTIONAL: True})
    """By reason: how many of these stayed open."""
    wrong_rules: tuple[str, ...] = field(default=(), metadata={OPTIONAL: True})
    """What is proved wrong though the numbers agree, in sentences."""

    def add(self, other: Tally) -> None:
        """Adds `other` to this. Of words the first count."""
        self.drawn += other.drawn
        self.valid += other.valid
        self.judged += other.judged
        self.asked.update(other.asked)
        self.verdicts.update(other.verdicts)
        self.answers.update(other.answers)
        self.inconclusive.update(other.inconclusive)
        self.proofs.update(other.proofs)
        self.open.update(other.open)
        for modes, words in other.lacks.items():
            self.lacks.setdefault(modes, words)
        self.wrong_rules = tuple(dict.fromkeys((*self.wrong_rules, *other.wrong_rules)))

    def tally(self) -> dict[str, Any]:
        """These fields alone, by name. What was asked for all the same is not lacking."""
        found = {one.name: getattr(self, one.name) for one in fields(Tally)}
        return {**found, "lacks": {k: words for k, words in self.lacks.items() if k not in self.asked}}


@dataclass(slots=True)
class FunctionSummary(Tally):
    """A function of a library, and what a sweep asked of it."""

    name: str
    """Its first public name; of one that only the library itself calls, its schema."""
    signature: str
    outcome: str
    """One of `OUTCOMES`."""
    why: str
    """The document, the reason, the library's words, or the error of gradfuzz; empty where it was asked."""
    findings: tuple[str, ...] = ()
    """The ids of the findings about it."""


def united(sweeps: Iterable[Sequence[FunctionSummary]]) -> tuple[FunctionSummary, ...]:
    """What sweeps of one release asked together; `sweeps` begin with the latest, whose words count."""
    found: dict[tuple[str, str], FunctionSummary] = {}
    for functions in sweeps:
        for one in functions:
            key = one.name, one.signature
            found[key] = _both(found[key], one) if key in found else one
    return tuple(found.values())


def _both(later: FunctionSummary, earlier: FunctionSummary) -> FunctionSummary:
    first = min(later, earlier, key=lambda one: OUTCOMES.index(one.outcome))
    whole = Tally()
    whole.add(later)
    whole.add(earlier)
    findings = tuple(dict.fromkeys((*later.findings, *earlier.findings)))
    return replace(first, findings=findings, **whole.tally())
