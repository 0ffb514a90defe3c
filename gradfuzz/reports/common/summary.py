"""Counts by target rather than by way."""

from __future__ import annotations

from collections.abc import Iterable

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
