"""Counts by target rather than by way."""

from __future__ import annotations

from collections.abc import Iterable

from gradfuzz.fuzzer.results.events import TargetSummary
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


COUNTS = ("checks", "agree", "disagree", "convention", "inconclusive", "unsupported", "crashed")
"""The columns of counts in tables."""


def tally(summary: TargetSummary) -> dict[str, int]:
    """The `COUNTS` of a summary."""
    inconclusive = sum(summary.inconclusive.values())
    return {name: inconclusive if name == "inconclusive" else getattr(summary, name) for name in COUNTS}
