"""The systems that a sweep asked, the ways into each added up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from gradfuzz.fuzzer.results.events import TargetSummary

_ITSELF = ("cmd", "mutant")
"""What follows these prefixes is a name, not a way."""


@dataclass(frozen=True, slots=True)
class System:
    """One system in one family of programs."""

    summary: TargetSummary
    """The sums over its ways, under the system's name."""
    ways: int


def system(target: str) -> str:
    """The system of a target: "torch" of "torch:eager", "warp==1.19.0" of "warp==1.19.0:kernel"."""
    library = target.partition(":")[0]
    return (
        target.rpartition("#")[0] or target if library == "cmd" else target if library in _ITSELF else library
    )


def systems(summaries: Iterable[TargetSummary]) -> list[System]:
    """The summed summaries of each system and family, in the order of first appearance."""
    found: dict[tuple[str, str, str], System] = {}
    for s in summaries:
        key = system(s.name), s.version, s.family
        before = found.get(key)
        found[key] = (
            System(replace(s, name=key[0]), 1)
            if before is None
            else System(summed(before.summary, s), before.ways + 1)
        )
    return list(found.values())


def summed(a: TargetSummary, b: TargetSummary) -> TargetSummary:
    """The sum of both, under the name of the first."""
    return replace(
        a,
        checks=a.checks + b.checks,
        agree=a.agree + b.agree,
        disagree=a.disagree + b.disagree,
        convention=a.convention + b.convention,
        inconclusive=dict(Counter(a.inconclusive) + Counter(b.inconclusive)),
        unsupported=a.unsupported + b.unsupported,
        crashed=a.crashed + b.crashed,
        worst_agreeing=max(a.worst_agreeing, b.worst_agreeing),
    )
