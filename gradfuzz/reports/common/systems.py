"""The systems that a sweep asked, each with all ways into it taken together."""

from __future__ import annotations

import functools
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
    found: dict[tuple[str, str, str], list[TargetSummary]] = {}
    for s in summaries:
        found.setdefault((TargetName.of(s.name).system, s.version, s.family), []).append(s)
    return [System(replace(total(ways), name=name), len(ways)) for (name, *_), ways in found.items()]


def total(summaries: Iterable[TargetSummary]) -> TargetSummary:
    """All added up, under the name of the first."""
    return functools.reduce(summed, summaries)


def summed(a: TargetSummary, b: TargetSummary) -> TargetSummary:
    """Both added up, under the name of the first."""
    counts = ("checks", "agree", "disagree", "convention", "unsupported", "crashed", "proofs")
    return replace(
        a,
        **{name: getattr(a, name) + getattr(b, name) for name in counts},
        inconclusive=dict(Counter(a.inconclusive) + Counter(b.inconclusive)),
        failures=dict(Counter(a.failures) + Counter(b.failures)),
        untraced=dict(Counter(a.untraced) + Counter(b.untraced)),
        worst_agreeing=max(a.worst_agreeing, b.worst_agreeing),
        programs=max(a.programs, b.programs),
        refused=min(a.refused, b.refused),
    )
