"""The families of programs that a sweep draws from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hypothesis import strategies as st

from gradfuzz.programs.language.functions import FUNCTIONS
from gradfuzz.programs.language.precision import Precision
from gradfuzz.strategies.complex.goals import COMPLEX_GOALS, complex_triggers
from gradfuzz.strategies.complex.program import complex_cases
from gradfuzz.strategies.function_program import function_cases, function_triggers
from gradfuzz.strategies.linalg.goals import MATRIX_GOALS, matrix_triggers
from gradfuzz.strategies.linalg.program import linalg_cases
from gradfuzz.strategies.loop.case import GeneratedCase, cases
from gradfuzz.strategies.loop.coverage import triggers
from gradfuzz.strategies.loop.goals import GOALS
from gradfuzz.strategies.tensor.goals import TENSOR_GOALS, tensor_triggers
from gradfuzz.strategies.tensor.program import tensor_cases
from gradfuzz.strategies.vectorize_program import VECTORIZE_GOALS, vectorize_cases, vectorize_triggers


@dataclass(frozen=True, slots=True)
class Family:
    """How to draw the cases of a family in given precisions, its goals, and which of them a case reaches."""

    cases: Callable[[tuple[Precision, ...]], st.SearchStrategy[GeneratedCase]]
    goals: tuple[str, ...]
    reached: Callable[[GeneratedCase], frozenset[str]]
    together: bool = False
    """Whether all points of a case are answered in one call."""
    shapes: bool = True
    """Whether the programs have arrays of many shapes."""


FAMILIES: dict[str, Family] = {
    # A further point of a loop program costs far less than a further program, which must be compiled.
    "loops": Family(
        lambda precisions: cases(precisions=precisions, min_points=3, max_points=6),
        tuple(g.name for g in GOALS),
        triggers,
        shapes=False,
    ),
    "linalg": Family(
        lambda precisions: linalg_cases(precisions=precisions), tuple(MATRIX_GOALS), matrix_triggers
    ),
    "tensor": Family(
        lambda precisions: tensor_cases(precisions=precisions), tuple(TENSOR_GOALS), tensor_triggers
    ),
    "complex": Family(
        lambda precisions: complex_cases(
            precisions=tuple(p for p in precisions if p in ("float32", "float64")) or ("float64",)
        ),
        tuple(COMPLEX_GOALS),
        complex_triggers,
    ),
    "vectorize": Family(
        lambda precisions: vectorize_cases(precisions=precisions),
        VECTORIZE_GOALS,
        vectorize_triggers,
        together=True,
    ),
    "functions": Family(
        lambda precisions: function_cases(precisions=precisions),
        tuple(FUNCTIONS),
        function_triggers,
        shapes=False,
    ),
}
"""The families by name, the default first."""
