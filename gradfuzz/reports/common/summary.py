"""Counts as people want them: per target rather than per way into it."""

from __future__ import annotations

from collections.abc import Iterable

from gradfuzz.fuzzer.results.events import TargetSummary


def group(summaries: Iterable[TargetSummary]) -> dict[str, list[TargetSummary]]:
    """The summaries of the ways into one library under the library's name; mutants, and a single way, stay
    themselves.
    """
    groups: dict[str, list[TargetSummary]] = {}
    for summary in summaries:
        library = summary.name.partition(":")[0]
        groups.setdefault(summary.name if library in ("mutant", "cmd") else library, []).append(summary)
    return {_name(target, ways): ways for target, ways in groups.items()}


def _name(target: str, ways: list[TargetSummary]) -> str:
    names = {way.name for way in ways}
    return names.pop() if len(names) == 1 else target
