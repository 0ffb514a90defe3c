"""The batched linear-algebra cases recorded from Nx: the engine is right at each of them. Of the recording,
inputs alone are read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradfuzz.fuzzer.questions.weighted import plain_question
from gradfuzz.fuzzer.results.finding import Reason, Verdict
from gradfuzz.fuzzer.verdict.evaluator import Evaluator
from gradfuzz.oracles.base import Mode, Point
from gradfuzz.oracles.engine.oracle import EngineOracle
from gradfuzz.programs import Program, parse
from gradfuzz.programs.language.precision import Precision

CASES = json.loads((Path(__file__).parents[2] / "data" / "nx_linalg.json").read_text())["cases"]

# By the beginning of a case's name, the longest that fits: what is computed, and the outputs whose sum is the
# loss.
BODIES: Mapping[str, tuple[str, str]] = {
    "A qr": ("q, r = qr(a)", "q, r"),
    "B cholesky": ("l = cholesky(a)", "l"),
    "C lu": ("p, l, u = lu(a)", "l, u"),
    "D svd": ("u, s, vh = svd(a, full_matrices=True)", "u, s, vh"),
    "D svd 2d s only": ("s = svdvals(a)", "s"),
    "D svd batched s only": ("u, s, vh = svd(a)", "s"),
    "E eigh": ("w, v = eigh(a)", "w"),
    "E eigh 3d batch-1 f32 sum(s^2)": ("w, v = eigh(a)", "w * w"),
    "E eigh 3d batch-2 f32 sum(s^2)": ("w = eigvalsh(a)", "w * w"),
    "E eigh 3d batch-1 f32 sum(v)": ("w, v = eigh(a)", "v"),
    "F triangular_solve": ("x = triangular_solve(a, ones((2, 2)))", "x"),
    "F triangular_solve batched a, b {2,2,2}": ("x = triangular_solve(a, ones((2, 2, 2)))", "x"),
    "G invert": ("x = inv(a)", "x"),
    "H solve": ("x = solve(a, ones((3,)))", "x"),
    "H solve batched a, b {2,3} (issue repro)": ("x = solve(a, reshape(ones((2, 3)), shape=(2, 3, 1)))", "x"),
    "H solve batched a, b {2,3,1}": ("x = solve(a, ones((2, 3, 1)))", "x"),
    "I determinant": ("d = det(a)", "d"),
    "pinv": ("x = pinv(a)", "x"),
    "norm": ("x = matrix_norm(a)", "x"),
    "adjoint": ("x = permute_dims(a, axes=(0, 2, 1))", "x * x"),
    "matrix_power": ("x = matrix_power(a, n=3)", "x"),
    "least_squares": ("x = lstsq(a, ones((3,)))", "x"),
}


UNSEEN = (Reason.NOISE, Reason.RANGE)
"""A second derivative of 0 is all rounding; so is, in float32, what the pseudo-inverse of a regular matrix
leaves of the identity.
"""


def program_of(case: Mapping[str, Any]) -> Program:
    known = max((name for name in BODIES if case["case"].startswith(name)), key=len)
    body, outputs = BODIES[known]
    return parse(f'def f(a: "float{case["in_shape"]}"):\n    {body}\n    return {outputs}\n')


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("case", CASES, ids=[c["case"] for c in CASES])
def test_the_engine_is_right(case: Mapping[str, Any], precision: Precision) -> None:
    """In both precisions, at the recorded float32 inputs."""
    program = program_of(case)
    point = Point({"a": np.array(case["input"], precision).reshape(case["in_shape"])})
    evaluator, oracle = Evaluator(), EngineOracle()
    asked: tuple[tuple[Mode, ...], ...] = (
        (("rev",), ("fwd",)) if precision == "float32" else (("rev",), ("rev", "fwd"))
    )
    for modes in asked:
        question = plain_question(program, [point], precision, None, modes)
        (found,) = evaluator.cases("engine", question, oracle.answer(question))
        if found.reason in UNSEEN and (precision == "float32" or len(modes) > 1):
            continue
        assert found.verdict is Verdict.AGREE, (modes, found.message)
