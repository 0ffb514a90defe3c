"""The systems that a sweep asked, each with all ways into it taken together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from gradfuzz.fuzzer.results.events import TargetSummary
from gradfuzz.oracles.target_name import TargetName


@dataclass(frozen=True, slots=True)
class System:
    """One system and one family of programs."""

    summary: TargetSummary
    """The sums over its ways, under the system's name."""
    ways: int


def systems(summaries: Iterable[TargetSummary]) -> list[System]:
    """The summaries of each system and family, added up, in the order in which they come first."""
    found: dict[tuple[str, str, str], System] = {}
    for s in summaries:
        key = TargetName.of(s.name).system, s.version, s.family
        before = found.get(key)
        found[key] = (
            System(replace(s, name=key[0]), 1)
            if before is None
            else System(summed(before.summary, s), before.ways + 1)
        )
    return list(found.values())


def summed(a: TargetSummary, b: TargetSummary) -> TargetSummary:
    """Both added up, under the name of the first."""
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
