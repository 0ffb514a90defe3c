"""Counts by target rather than by way."""

from __future__ import annotations

from collections.abc import Iterable

from gradfuzz.fuzzer.results.events import TargetSummary


def group(summaries: Iterable[TargetSummary]) -> dict[str, list[TargetSummary]]:
    """The summaries by library. A mutant, and the only way of a library, keep their own names."""
    groups: dict[str, list[TargetSummary]] = {}
    for summary in summaries:
        library = summary.name.partition(":")[0]
        groups.setdefault(summary.name if library in ("mutant", "cmd") else library, []).append(summary)
    return {_name(target, ways): ways for target, ways in groups.items()}


def _name(target: str, ways: list[TargetSummary]) -> str:
    names = {way.name for way in ways}
    return names.pop() if len(names) == 1 else target
