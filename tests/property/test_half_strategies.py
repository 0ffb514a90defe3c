"""What is drawn in bfloat16 and float16: the situations of the families, and numbers that the
formats hold.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradfuzz.errors import GradfuzzError
from gradfuzz.programs.arithmetic.numpy_namespace import NumpyNamespace
from gradfuzz.programs.evaluation.interpret import interpret
from gradfuzz.programs.language.precision import FORMATS
from gradfuzz.strategies import FAMILIES, draw_many, matrices
from gradfuzz.strategies.inputs.matrix import STRUCTURES

HALF = ("bfloat16", "float16")
OTHERS = {"float32", "float64"}
BEYOND = {
    ("loops", "bfloat16"): {"1e-12"},  # it is rounded
    ("loops", "float16"): {"1e-12", "huge", "near zero", "tiny"},  # numbers from 6e-8 to 65504 alone
}
"""The situations that a format has no numbers for."""
CASES = 600


@pytest.mark.slow
@pytest.mark.parametrize("precision", HALF)
@pytest.mark.parametrize("family", ["loops", "tensor"])
def test_goals_are_reached_and_points_are_in_range(family: str, precision: Any) -> None:
    drawn = draw_many(FAMILIES[family].cases((precision,)), CASES, 0)
    reached = {goal for case in drawn for goal in FAMILIES[family].reached(case)}
    assert set(FAMILIES[family].goals) - reached == (OTHERS | BEYOND.get((family, precision), set())) & set(
        FAMILIES[family].goals
    )
    finite = []
    for case in drawn:
        floats = [p.name for p in case.program.params if p.type.is_float]
        assert all(point[name].dtype == FORMATS[precision].dtype for point in case.points for name in floats)
        for point in case.points[:1]:
            assert all(np.isfinite(point[name].astype(np.float64)).all() for name in floats)
            arguments = {n: v[()] if v.ndim or n in floats else v.item() for n, v in point.items()}
            try:
                with np.errstate(all="ignore"):
                    outputs = interpret(case.program, arguments, NumpyNamespace(precision), trip_limit=1000)
            except GradfuzzError:
                continue
            finite.append(all(bool(np.isfinite(np.asarray(y, np.float64)).all()) for y in outputs))
    assert len(finite) > 0.9 * CASES
    assert sum(finite) > 0.9 * len(finite)


@pytest.mark.parametrize("precision", HALF)
@pytest.mark.parametrize("structure", STRUCTURES)
def test_matrices_are_finite(structure: Any, precision: Any, seed: int) -> None:
    for m in draw_many(matrices((3, 3), structure=structure, precision=precision), 60, seed):
        assert m.dtype == FORMATS[precision].dtype
        assert np.isfinite(m.astype(np.float64)).all()
