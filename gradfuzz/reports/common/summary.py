"""Counts as people want them: per target rather than per way into it."""

from __future__ import annotations

from collections.abc import Iterable

from gradfuzz.fuzzer.results.events import TargetSummary
from gradfuzz.oracles.target_name import TargetName


def group(summaries: Iterable[TargetSummary]) -> dict[str, list[TargetSummary]]:
    """The summaries of the ways into one system under the system's name; a single way stays itself."""
    groups: dict[str, list[TargetSummary]] = {}
    for summary in summaries:
        groups.setdefault(TargetName.of(summary.name).system, []).append(summary)
    return {_name(target, ways): ways for target, ways in groups.items()}


def _name(target: str, ways: list[TargetSummary]) -> str:
    names = {way.name for way in ways}
    return names.pop() if len(names) == 1 else target
