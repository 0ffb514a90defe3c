"""The references share an arithmetic of objects. A mistake in it accuses nobody: the engine disagrees."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradfuzz.fuzzer.questions.weighted import weighted_question
from gradfuzz.fuzzer.results.finding import Reason, Verdict
from gradfuzz.fuzzer.verdict.checking import check_question
from gradfuzz.fuzzer.verdict.evaluator import Evaluator
from gradfuzz.oracles.base import Point
from gradfuzz.oracles.registry import resolve
from gradfuzz.programs import parse
from gradfuzz.programs.arithmetic.linalg_objects import LinalgObjects

VECTOR = np.array([0.5, 1.5, 2.0, 0.25])
MATRIX = np.array([[2.0, 0.5, -0.25], [0.5, 1.5, 0.125], [-0.25, 0.125, 3.0]])

PLANTS = {
    "cumulative_prod": "cumulative_prod(v)",
    "cumulative_sum": "cumulative_sum(v)",
    "cumulative_max": "cumulative_max(v)",
    "sum": "sum(v * v)",
    "prod": "prod(v)",
    "mean": "mean(v * v)",
    "amax": "amax(v)",
    "amin": "amin(v)",
    "logsumexp": "logsumexp(v)",
    "softmax": "softmax(v)",
    "log_softmax": "log_softmax(v)",
    "sort": "sort(v)",
    "maximum": "maximum(v, 1.0)",
    "minimum": "minimum(v, 1.0)",
    "abs": "abs(v) * v",
    "integer_pow": "v ** 3",
    "divide": "1.0 / v",
    "vector_norm": "vector_norm(v)",
    "outer": "outer(v, v)",
    "matmul": "m @ m",
    "trace": "trace(m @ m)",
    "diagonal": "diagonal(m @ m)",
    "tril": "tril(m) @ m",
    "triu": "triu(m) @ m",
    "kron": "kron(m, m)",
    "einsum": "einsum('ij,jk->ik', m, m)",
    "det": "det(m)",
    "inv": "inv(m)",
    "solve": "solve(m, m @ m)",
    "triangular_solve": "triangular_solve(m, m @ m, lower=True)",
    "pinv": "pinv(m)",
    "lstsq": "lstsq(m, m @ m)",
    "cholesky": "cholesky(m)",
    "eigvalsh": "eigvalsh(m)",
    "svdvals": "svdvals(m)",
    "matrix_power": "matrix_power(m, 3)",
    "expm": "expm(m)",
    "matrix_norm": "matrix_norm(m)",
}
"""An op, whose result is doubled, and a program with it."""


@pytest.mark.parametrize("op", PLANTS)
def test_a_mistake_that_the_references_share_accuses_nobody(op: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = next(cls for cls in LinalgObjects.__mro__ if op in vars(cls))
    right = vars(owner)[op]

    def doubled(self: Any, *args: Any, **params: Any) -> Any:
        found = right(self, *args, **params)
        return self.add(found, found)

    text = PLANTS[op]
    name, x = ("m", MATRIX) if "(m" in text or "m @" in text or ", m" in text else ("v", VECTOR)
    shape = ", ".join(map(str, x.shape))
    program = parse(f'def f({name}: "float[{shape}]"):\n    return {text}\n')
    question = weighted_question(program, [Point({name: x})], "float64", ("rev",))
    targets = resolve("engine")
    (case,) = check_question(question, targets, Evaluator()).cases
    assert case.verdict is Verdict.AGREE
    monkeypatch.setattr(owner, op, doubled)
    (case,) = check_question(question, targets, Evaluator()).cases
    assert (case.verdict, case.reason) == (Verdict.INCONCLUSIVE, Reason.REFERENCES)
    assert case.message == "gradfuzz's own engine and its references do not agree about the derivative"
