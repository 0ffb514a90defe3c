"""The families of programs that a sweep draws from: a name, and the strategy of its cases in given precisions."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

from gradfuzz.strategies.case import Case, cases
from gradfuzz.strategies.linalg_program import linalg_cases
from gradfuzz.strategies.point import Precision

__all__ = ["FAMILIES"]

FAMILIES: dict[str, Callable[[tuple[Precision, ...]], st.SearchStrategy[Case]]] = {
    # A further point of a loop program costs far less than a further program, which has to be compiled.
    "loops": lambda precisions: cases(precisions=precisions, min_points=3, max_points=6),
    "linalg": lambda precisions: linalg_cases(precisions=precisions),
}
"""By name, the default one first."""
