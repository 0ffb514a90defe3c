"""How often draws reach the goals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from gradfuzz.strategies.loop.case import GeneratedCase
from gradfuzz.strategies.loop.goals import GOALS, View


def triggers(case: GeneratedCase) -> frozenset[str]:
    """The names of the goals that `case` reaches."""
    view = View(case)
    return frozenset(goal.name for goal in GOALS if goal.test(view))


def coverage_counts(cases: Iterable[GeneratedCase]) -> dict[str, int]:
    """How many of `cases` reach each goal, in the order of the table. Goals that no case reaches count 0."""
    counts = Counter(name for case in cases for name in triggers(case))
    return {goal.name: counts[goal.name] for goal in GOALS}


def coverage_table(counts: Mapping[str, int], *, total: int) -> str:
    """The counts as text, one goal per line: count, share of `total`, name, description, planted bugs."""
    lines = []
    for goal in GOALS:
        n = counts.get(goal.name, 0)
        share = f"{100 * n / total:5.1f} %" if total else "      -"
        note = f"{goal.description} {' '.join(goal.mutants)}".strip()
        lines.append(f"{n:6d} {share}  {goal.name:38s} {note}".rstrip())
    return "\n".join(lines)
