"""Hypothesis strategies for programs, points and matrices, and how much of what matters they reach.

    >>> from hypothesis import given, strategies as st
    >>> from gradfuzz.strategies import loops, points
    >>> @given(loops(max_trips=5), st.data())
    ... def test_my_library(program, data):
    ...     point = data.draw(points(program))

    programs        programs of every family; each family alone: loops, linalg_programs, tensor_programs, complex_programs
    loop_bodies     the statements of one trip; expressions: float expressions over given names
    points          inputs of a program; cotangents: weights of its outputs
    arrays          arrays with the entries at which gradients tend to be wrong; matrices: with a structure or a condition number
    shapes          shapes of stacks of matrices
    cases           a program with points and what is asked of it; linalg_cases, tensor_cases, complex_cases

Options are given by keyword. One that makes no sense is an `InvalidArgument` of Hypothesis, in the test that draws, with the value and what is
allowed. What a strategy shows is the call that makes it again, with the names that this module exports; what Hypothesis shows of a draw can be pasted
into `@example`, with these names, those of `gradfuzz.programs` and NumPy's `array` and `zeros`. `climb` leads Hypothesis to the worst draws.

`draw_many` draws without a test: the same seed gives the same draws on every machine. Each is drawn anew, where Hypothesis mostly varies what it has
drawn before: of 500 programs that it draws a third are different ones. So a search that is to reach much is a sweep, or goes over `draw_many`.
"""

from gradfuzz.hypothesis_plugin import register
from gradfuzz.programs.parse import parse
from gradfuzz.programs.types import Type
from gradfuzz.strategies.array import arrays
from gradfuzz.strategies.body import loop_bodies
from gradfuzz.strategies.case import Case, cases
from gradfuzz.strategies.climb import climb
from gradfuzz.strategies.complex_program import complex_cases, complex_programs
from gradfuzz.strategies.cotangent import cotangents
from gradfuzz.strategies.coverage import coverage_counts, coverage_table, triggers
from gradfuzz.strategies.draw import draw_many
from gradfuzz.strategies.expression import expressions
from gradfuzz.strategies.families import FAMILIES, Family
from gradfuzz.strategies.goals import GOALS, Goal
from gradfuzz.strategies.linalg_program import linalg_cases, linalg_programs
from gradfuzz.strategies.loop_program import loops
from gradfuzz.strategies.matrix import matrices
from gradfuzz.strategies.point import points
from gradfuzz.strategies.program import programs
from gradfuzz.strategies.shape import shapes
from gradfuzz.strategies.tensor_program import tensor_cases, tensor_programs

register()
del register

__all__ = [
    "FAMILIES",
    "GOALS",
    "Case",
    "Family",
    "Goal",
    "Type",
    "arrays",
    "cases",
    "climb",
    "complex_cases",
    "complex_programs",
    "cotangents",
    "coverage_counts",
    "coverage_table",
    "draw_many",
    "expressions",
    "linalg_cases",
    "linalg_programs",
    "loop_bodies",
    "loops",
    "matrices",
    "parse",
    "points",
    "programs",
    "shapes",
    "tensor_cases",
    "tensor_programs",
    "triggers",
]
