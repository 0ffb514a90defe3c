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
from gradfuzz.strategies.families import FAMILIES, Family
from gradfuzz.strategies.goals import GOALS, Goal
from gradfuzz.strategies.linalg_program import linalg_cases, linalg_programs
from gradfuzz.strategies.loop_program import loop_programs, programs
from gradfuzz.strategies.matrix import matrices
from gradfuzz.strategies.point import points
from gradfuzz.strategies.shape import shapes
from gradfuzz.strategies.tensor_program import tensor_cases, tensor_programs

__all__ = [
    "FAMILIES",
    "GOALS",
    "Case",
    "Family",
    "Goal",
    "cases",
    "coverage_counts",
    "coverage_table",
    "draw_many",
    "expressions",
    "linalg_cases",
    "linalg_programs",
    "loop_bodies",
    "loop_programs",
    "matrices",
    "points",
    "programs",
    "shapes",
    "tensor_cases",
    "tensor_programs",
    "triggers",
]
