"""Questions about programs given as text, and answers next to the truth: what tests of oracles share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gradfuzz.oracles.base import Answer, Mode, Point, Question
from gradfuzz.oracles.references.arb import ArbReference
from gradfuzz.programs.language.typecheck import typecheck
from gradfuzz.programs.text.parse import parse

Values = Mapping[str, Any]


def asked(
    text: str,
    *points: Values,
    wrt: tuple[str, ...] = ("x",),
    modes: tuple[Mode, ...] = ("rev",),
    precision: Any = "float64",
    weight: float,
) -> Question:
    """The weights are the powers of `weight` for the entries of the outputs; the directions are those of
    -`weight` for the entries of the inputs.
    """
    program = parse(text)
    kinds = {
        p.name: {"float": precision, "int": "int64", "bool": "bool"}[p.type.dtype] for p in program.params
    }
    shapes = {p.name: p.type.shape for p in program.params}
    weights: list[Any] = []
    for output in typecheck(program).outputs:
        size = int(np.prod(output.shape))
        weights.append(weight ** np.arange(size).reshape(output.shape) if output.is_float else None)
    directions = {n: (-weight) ** np.arange(int(np.prod(shapes[n]))).reshape(shapes[n]) for n in wrt}
    at = tuple(Point({n: np.asarray(p[n], kinds[n]) for n in kinds}) for p in points)
    return Question(program, at, precision, wrt, modes, tuple(weights), directions)


def assert_true(q: Question, answers: list[Answer], roundings: float) -> None:
    """Every answer is within so many roundings of the largest entry of the truth: the programs are well
    conditioned and short.
    """
    unit = float(np.finfo(q.precision).eps)
    assert len(answers) == len(q.points)
    for answer, truth in zip(answers, ArbReference().truth(q), strict=True):
        assert answer.status == "ok", answer.message
        assert truth.status == "ok", truth.message
        largest = max((float(np.max(np.abs(g))) for g in truth.gradient.values()), default=0.0)
        assert set(answer.gradient) == set(q.wrt)
        for name, right in truth.gradient.items():
            got = answer.gradient[name]
            assert (got.dtype, got.shape) == (np.dtype(q.precision), right.shape)
            allowed = roundings * unit * largest + truth.bounds[name]
            assert np.all(np.abs(got.astype(float) - right) <= allowed), f"{name}: {got}, not {right}"
        for value, right in zip(answer.values, truth.values, strict=True):
            assert value.shape == right.shape
            assert value.dtype in (np.dtype(q.precision), np.dtype("int64"))
            assert np.all(np.abs(value.astype(float) - right) <= roundings * unit * np.max(np.abs(right)))
