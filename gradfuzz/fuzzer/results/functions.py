"""What became of the functions of a library in a sweep that calls them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

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
    asked = _sums(later.asked, earlier.asked)
    lacks = {**earlier.lacks, **later.lacks}
    return replace(
        first,
        drawn=later.drawn + earlier.drawn,
        valid=later.valid + earlier.valid,
        judged=later.judged + earlier.judged,
        asked=asked,
        lacks={modes: words for modes, words in lacks.items() if modes not in asked},
        verdicts=_sums(later.verdicts, earlier.verdicts),
        answers=_sums(later.answers, earlier.answers),
        inconclusive=_sums(later.inconclusive, earlier.inconclusive),
        findings=tuple(dict.fromkeys((*later.findings, *earlier.findings))),
        proofs=_sums(later.proofs, earlier.proofs),
        open=_sums(later.open, earlier.open),
        wrong_rules=tuple(dict.fromkeys((*later.wrong_rules, *earlier.wrong_rules))),
    )


def _sums(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return {name: one.get(name, 0) + other.get(name, 0) for name in (*one, *other)}
