"""Counts by target or by system rather than by way: the ways into it added up."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from gradfuzz.fuzzer.results.events import TargetSummary
from gradfuzz.fuzzer.results.failure import Failure
from gradfuzz.oracles.target_name import TargetName


def group(summaries: Iterable[TargetSummary]) -> dict[str, list[TargetSummary]]:
    """The summaries by library. A mutant, and the only way of a library, keep their own names."""
    groups: dict[str, list[TargetSummary]] = {}
    for summary in summaries:
        groups.setdefault(TargetName.of(summary.name).system, []).append(summary)
    return {_name(target, ways): ways for target, ways in groups.items()}


def _name(target: str, ways: list[TargetSummary]) -> str:
    names = {way.name for way in ways}
    return names.pop() if len(names) == 1 else target


FAILURES = tuple(failure.value for failure in Failure)
"""The columns of what had no answer."""

COUNTS = ("checks", "agree", "disagree", "convention", "inconclusive", "unsupported", *FAILURES)
"""The columns of counts in tables."""


def tally(summary: TargetSummary) -> dict[str, int]:
    """The `COUNTS` of a summary. In runs of an older gradfuzz every failure counts as an exception."""
    failures = {failure.value: summary.failures.get(failure, 0) for failure in Failure}
    failures["exception"] += summary.crashed - sum(failures.values())
    others = {"inconclusive": sum(summary.inconclusive.values()), **failures}
    return {name: others[name] if name in others else getattr(summary, name) for name in COUNTS}


def columns(summaries: Iterable[TargetSummary]) -> tuple[str, ...]:
    """The `COUNTS` that a table needs: without conventions and failures that are 0 throughout."""
    tallies = [tally(summary) for summary in summaries]
    rare = ("convention", *FAILURES)
    return tuple(name for name in COUNTS if name not in rare or any(told[name] for told in tallies))


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
        ops=dict(Counter(a.ops) | Counter(b.ops)),
    )
