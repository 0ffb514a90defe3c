"""Hypothesis strategies for programs and points, and how much of what matters they reach.

    >>> from hypothesis import given
    >>> from gradfuzz import strategies
    >>> @given(strategies.cases(max_order=1))
    ... def test_my_gradient(case): ...

`draw_many` draws without a test: the same seed gives the same draws on every machine.
"""

from gradfuzz.strategies.body import loop_bodies
from gradfuzz.strategies.case import Case, cases
from gradfuzz.strategies.coverage import coverage_counts, coverage_table, triggers
from gradfuzz.strategies.draw import draw_many
from gradfuzz.strategies.expression import expressions
from gradfuzz.strategies.goals import GOALS, Goal
from gradfuzz.strategies.loop_program import loop_programs, programs
from gradfuzz.strategies.point import points

__all__ = [
    "GOALS",
    "Case",
    "Goal",
    "cases",
    "coverage_counts",
    "coverage_table",
    "draw_many",
    "expressions",
    "loop_bodies",
    "loop_programs",
    "points",
    "programs",
    "triggers",
]
