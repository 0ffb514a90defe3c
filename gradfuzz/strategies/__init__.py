"""Hypothesis strategies for programs, points and matrices, and how much of what matters they reach.

    >>> from hypothesis import given, strategies as st
    >>> from gradfuzz.strategies import loops, points
    >>> @given(loops(max_trips=5), st.data())
    ... def test_my_library(program, data):
    ...     point = data.draw(points(program))

    programs        programs of every family; each family alone: loops, linalg_programs, tensor_programs,
                    complex_programs
    loop_bodies     the statements of one trip; expressions: float expressions over given names
    points          inputs of a program; cotangents: weights of its outputs
    arrays          arrays with the entries at which gradients tend to be wrong; matrices: with a structure or
                    a condition number
    shapes          shapes of stacks of matrices
    cases           a program with points and what is asked of it; linalg_cases, tensor_cases, complex_cases

Options are given by keyword. One that makes no sense is an `InvalidArgument` of Hypothesis, in the test that
draws, with the value and what is allowed. What a strategy shows is the call that makes it again, with the
names that this package exports; what Hypothesis shows of a draw can be pasted into `@example`, with these
names, those of `gradfuzz.programs` and NumPy's `array` and `zeros`. `climb` leads Hypothesis to the worst
draws.

`draw_many` draws without a test: the same seed gives the same draws on every machine. Each is drawn anew,
where Hypothesis mostly varies what it has drawn before: of 500 programs that it draws a third are different
ones. So a search that is to reach much is a sweep, or goes over `draw_many`.
"""

from gradfuzz.programs.language.types import Type
from gradfuzz.programs.text.parse import parse
from gradfuzz.strategies.complex.program import complex_cases, complex_programs
from gradfuzz.strategies.drawing.climb import climb
from gradfuzz.strategies.drawing.draw import draw_many
from gradfuzz.strategies.drawing.shape import shapes
from gradfuzz.strategies.families import FAMILIES, Family
from gradfuzz.strategies.inputs.array import arrays
from gradfuzz.strategies.inputs.cotangent import cotangents
from gradfuzz.strategies.inputs.matrix import matrices
from gradfuzz.strategies.inputs.point import points
from gradfuzz.strategies.linalg.program import linalg_cases, linalg_programs
from gradfuzz.strategies.loop.body import loop_bodies
from gradfuzz.strategies.loop.case import GeneratedCase, cases
from gradfuzz.strategies.loop.coverage import coverage_counts, coverage_table, triggers
from gradfuzz.strategies.loop.expression import expressions
from gradfuzz.strategies.loop.goals import GOALS, Goal
from gradfuzz.strategies.loop.program import loops
from gradfuzz.strategies.program import programs
from gradfuzz.strategies.tensor.program import tensor_cases, tensor_programs

Case = GeneratedCase
"""The former name of `GeneratedCase`."""

__all__ = [
    "FAMILIES",
    "Family",
    "complex_programs",
    "expressions",
    "linalg_programs",
    "loop_bodies",
    "loops",
    "programs",
    "tensor_programs",
]
__all__ += ["Type", "arrays", "cotangents", "matrices", "parse", "points", "shapes"]
__all__ += ["Case", "GeneratedCase", "cases", "complex_cases", "linalg_cases", "tensor_cases"]
__all__ += ["GOALS", "Goal", "climb", "coverage_counts", "coverage_table", "draw_many", "triggers"]
