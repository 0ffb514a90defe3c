"""Questions and comparisons of the conformance checks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradfuzz.oracles.base import Answer, Mode, Point, Question
from gradfuzz.programs.language.precision import FORMATS, Precision
from gradfuzz.programs.language.program import Program
from gradfuzz.programs.language.typecheck import typecheck


class Failed(Exception):  # noqa: N818 - an outcome
    """A failed check, with the reason."""


def question(
    program: Program,
    inputs: Sequence[dict[str, Any]],
    modes: tuple[Mode, ...] = (),
    *,
    precision: Precision = "float64",
    wrt: tuple[str, ...] | None = None,
    weights: tuple[Any, ...] | None = None,
) -> Question:
    """A question; its weights and directions are ones by default."""
    floats = [p for p in program.params if p.type.is_float]
    dtype = FORMATS[precision].dtype

    def point(at: dict[str, Any]) -> Point:
        given = {p.name: np.asarray(at[p.name]) for p in program.params}
        return Point({**given, **{p.name: given[p.name].astype(dtype) for p in floats}})

    with np.errstate(over="ignore"):
        points = tuple(map(point, inputs))
    ones = tuple(np.ones(t.sizes) if t.is_float else None for t in typecheck(program).outputs)
    names = wrt or tuple(p.name for p in floats)
    shapes = {p.name: p.type.sizes for p in program.params}
    directions = {n: np.ones(shapes[n]) for n in names}
    return Question(program, points, precision, names, modes, weights or ones, directions)


def special(precision: Precision) -> Any:
    """Floats of every kind."""
    own = FORMATS[precision]
    tiny = np.nextafter(own.dtype.type(0), own.dtype.type(1))
    values = [
        *(math.nan, math.inf, -math.inf, -0.0, 0.0, 1.0, -1.0, 1 / 3),
        *(own.largest, -own.largest, own.normal, float(tiny), -float(tiny), 1 + own.eps),
    ]
    return np.array(values, np.float64).astype(own.dtype)


def same_bits(got: Any, true: Any, where: str) -> None:
    """Raises unless dtype, shape and every bit are equal; all NaNs count as equal."""
    got, true = np.asarray(got), np.asarray(true)
    if got.dtype != true.dtype:
        raise Failed(f"{where}: {got.dtype} came back for {true.dtype}")
    if got.shape != true.shape:
        raise Failed(f"{where}: the shape {got.shape} came back for {true.shape}")
    for a, b in zip(got.ravel(), true.ravel(), strict=True):
        if a.tobytes() != b.tobytes() and not (a != a and b != b):
            raise Failed(f"{where}: {a!r} came back for {b!r}")


def same_answers(a: Answer, b: Answer, where: str) -> None:
    """Raises unless all arrays of `b` are those of `a`, bit for bit."""
    for x, y in zip((*a.values, *a.gradient.values()), (*b.values, *b.gradient.values()), strict=True):
        same_bits(y, x, where)


def same_values(got: Any, true: Any, where: str) -> None:
    """Raises unless dtype, shape and values are equal; a zero may have either sign."""
    got, true = np.asarray(got), np.asarray(true)
    if got.dtype != true.dtype or got.shape != true.shape or not np.array_equal(got, true):
        said, expected = (f"{a.dtype} {a.shape} {a.ravel()[:4].tolist()}" for a in (got, true))
        raise Failed(f"{where}: got {said}, expected {expected}")
