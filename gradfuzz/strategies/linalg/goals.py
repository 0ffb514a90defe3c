"""Goals of matrix programs: every op, batches, kinds of matrices, objectives and questions.

A goal is read off the program, the points and the question. At a point only the matrices of the first
parameter count. What they are is measured, not remembered from the draw.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from gradfuzz.programs import Assign, Call, For, Name, walk
from gradfuzz.programs.language.precision import FORMATS
from gradfuzz.strategies.drawing.shape import Shape
from gradfuzz.strategies.linalg.program import OPS, SUM_OF_ALL
from gradfuzz.strategies.loop.case import CaseView, GeneratedCase

Matrices = npt.NDArray[np.float64]

_EXACT = 1e-13
_NEAR = 1e-2


def gaps_of(matrices: npt.NDArray[Any]) -> Matrices:
    """The gaps of the eigenvalues of Hermitian matrices, relative to the largest eigenvalue."""
    w = np.linalg.eigvalsh(matrices)
    largest = np.abs(w).max(-1, keepdims=True, initial=0.0)
    return np.asarray(np.diff(w, axis=-1) / np.maximum(largest, 1e-300), np.float64)


class StackView(CaseView):
    """A case of stacks of matrices."""

    @functools.cached_property
    def shapes(self) -> dict[str, Shape]:
        """Those of the parameters."""
        return {p.name: p.type.sizes for p in self.case.program.params}

    def others(self, test: Callable[[Shape, Shape], bool]) -> bool:
        """Whether both parameters are stacks of matrices, whose batch axes differ and `test` accepts them."""
        a, b = (next((self.shapes[n] for n in (f"{x}_re", x) if n in self.shapes), ()) for x in "ab")
        return len(a) > 1 and len(b) > 1 and a[:-2] != b[:-2] and test(a[:-2], b[:-2])


class LinalgView(StackView):
    """A case, the list of its matrices, and their singular values."""

    def __init__(self, case: GeneratedCase) -> None:
        super().__init__(case)
        shape = case.points[0]["a"].shape
        self.batch, self.size = shape[:-2], shape[-2:]
        self.is_matrix = len(shape) > 1
        self.square = self.is_matrix and self.size[0] == self.size[1]

    @functools.cached_property
    def matrices(self) -> Matrices:
        """All matrices, flattened to one batch axis; none for vectors."""
        if not self.is_matrix:
            return np.zeros((0, 1, 1))
        return np.concatenate(
            [p["a"].astype(np.float64).reshape(math.prod(self.batch), *self.size) for p in self.case.points]
        )

    @functools.cached_property
    def scaled(self) -> Matrices:
        """The matrices, each scaled to a largest entry of 1 unless it is 0."""
        return self.matrices / np.where(self.largest == 0.0, 1.0, self.largest)[:, np.newaxis, np.newaxis]

    @functools.cached_property
    def values(self) -> Matrices:
        """Singular values of the scaled matrices, the largest first."""
        return np.asarray(np.linalg.svd(self.scaled, compute_uv=False), np.float64)

    @functools.cached_property
    def coranks(self) -> npt.NDArray[np.int64]:
        """The smaller side minus the rank. Exactly singular matrices are far from any other rank."""
        result: npt.NDArray[np.int64] = (self.values <= _EXACT * self.values[..., :1]).sum(-1)
        return result

    @functools.cached_property
    def integer(self) -> npt.NDArray[np.bool_]:
        result: npt.NDArray[np.bool_] = (self.matrices == np.round(self.matrices)).all((-2, -1))
        return result

    @functools.cached_property
    def symmetric(self) -> Matrices:
        """The scaled matrices that are symmetric."""
        if not self.square:
            return np.zeros((0, 1, 1))
        result: Matrices = self.scaled[(self.scaled == np.swapaxes(self.scaled, -1, -2)).all((-2, -1))]
        return result

    @functools.cached_property
    def gaps(self) -> Matrices:
        """Those of the symmetric matrices."""
        return gaps_of(self.symmetric)

    @functools.cached_property
    def conditions(self) -> Matrices:
        """Condition numbers of the matrices of full rank; none where they have one row or one column."""
        full = self.values[self.coranks == 0]
        result: Matrices = full[:, 0] / full[:, -1] if min(self.size) > 1 else np.zeros(0)
        return result

    def conditioned(self, least: float, most: float) -> bool:
        """Whether a condition number is in this range."""
        return bool(np.any((self.conditions >= least) & (self.conditions < most)))

    @functools.cached_property
    def largest(self) -> Matrices:
        """The absolute value of the largest entry of each matrix."""
        result: Matrices = np.abs(self.matrices).max((-2, -1), initial=0.0)
        return result

    def sized(self, least: float, most: float) -> bool:
        """Whether the largest entry of a matrix is in this range."""
        return bool(np.any((self.largest >= least) & (self.largest < most)))


def _zero_line(v: LinalgView) -> bool:
    nonzero = v.matrices != 0.0
    return any(bool(np.any(~nonzero.any(axis) & nonzero.any((-2, -1))[:, np.newaxis])) for axis in (-1, -2))


def _ranks(v: LinalgView) -> bool:
    stacks = v.coranks.reshape(len(v.case.points), -1)
    return any(len(set(ranks)) > 1 for ranks in stacks.tolist())


def _companion(v: LinalgView) -> bool:
    if not v.square or v.size[0] < 2:
        return False
    n = v.size[0]
    return bool(np.any((v.matrices[:, 1:] == np.eye(n - 1, n)).all((-2, -1))))


def _orthogonal(v: LinalgView) -> bool:
    return min(v.size) > 1 and bool(np.any(v.values[:, -1] > (1 - 1e-5) * v.values[:, 0]))


def _triangle(v: LinalgView, zero: Callable[[Matrices], Matrices]) -> bool:
    if not v.square or v.size[0] < 2:
        return False
    return bool(np.any((v.matrices == zero(v.matrices)).all((-2, -1)) & (v.coranks == 0)))


def _subnormal(v: LinalgView) -> float:
    return FORMATS[v.case.precision].normal


BROADCAST = ("solve", "triangular_solve", "lstsq", "kron", "matmul")
"""The ops that take two stacks of matrices."""


def _dropped(v: LinalgView) -> bool:
    """Whether a result is never read."""
    read = {n.id for n in v.nodes if isinstance(n, Name)}
    return any(isinstance(n, Assign) and n.target not in read for n in v.nodes)


def _before(v: LinalgView) -> bool:
    first = v.case.program.body[0]
    return isinstance(first, Assign) and first.target == "a"


def _after(v: LinalgView) -> bool:
    return any(isinstance(y, Call) and y.op in ("sin", "tanh") for y in v.outputs)


def _in_loop(v: LinalgView) -> bool:
    loops = [n for n in v.nodes if isinstance(n, For)]
    return any(isinstance(n, Call) and n.op in OPS for loop in loops for n in walk(loop.body))


MATRIX_GOALS: dict[str, Callable[[LinalgView], bool]] = {
    **{op: lambda v, op=op: op in v.ops for op in OPS},  # type: ignore[misc]
    "one matrix": lambda v: v.is_matrix and not v.batch,
    "batch of 1": lambda v: v.batch == (1,),
    "batch": lambda v: len(v.batch) == 1 and v.batch[0] > 1,
    "two batch axes": lambda v: len(v.batch) == 2,
    "batch of none": lambda v: 0 in v.batch,
    "as many rows as instances": lambda v: bool(v.batch) and v.batch[-1] == v.size[0] > 1,
    **{
        f"{op} broadcast": lambda v, op=op: op in v.ops and v.others(lambda a, b: True)  # type: ignore[misc]
        for op in BROADCAST
    },
    "operand with fewer batch axes": lambda v: v.others(lambda a, b: len(b) < len(a)),
    "operand with more batch axes": lambda v: v.others(lambda a, b: len(b) > len(a)),
    "operand with batch axes of 1": lambda v: v.others(lambda a, b: len(b) == len(a) and set(b) == {1}),
    "vector for a stack": lambda v: bool(v.batch) and len(v.case.points[0].get("b", v.scaled).shape) == 1,
    "1 x 1": lambda v: v.is_matrix and v.size == (1, 1),
    "tall": lambda v: v.is_matrix and v.size[0] > v.size[1],
    "wide": lambda v: v.is_matrix and v.size[0] < v.size[1],
    "side of 6": lambda v: v.is_matrix and max(v.size) == 6,
    "condition number near 1": lambda v: v.conditioned(1.0, 1.3),
    "condition number 1e2": lambda v: v.conditioned(1e1, 1e3),
    "condition number 1e4": lambda v: v.conditioned(1e3, 1e6),
    "condition number 1e8": lambda v: v.conditioned(1e6, 1e10),
    "condition number 1e12": lambda v: v.conditioned(1e10, 1e16),
    "positive definite": lambda v: (
        v.size[0] > 1 and bool(np.any((np.linalg.eigvalsh(v.symmetric) > 0).all(-1)))
    ),
    "lower triangle": lambda v: _triangle(v, np.tril),
    "upper triangle": lambda v: _triangle(v, np.triu),
    "orthogonal": _orthogonal,
    "companion": _companion,
    "low rank": lambda v: (
        min(v.size) > 1 and bool(np.any((v.coranks > 0) & (v.coranks < min(v.size)) & ~v.integer))
    ),
    **{
        f"singular integers, corank {n}": lambda v, n=n: (
            v.square and bool(np.any((v.coranks == n) & v.integer))
        )  # type: ignore[misc]
        for n in (1, 2, 3)
    },
    "several ranks in one stack": _ranks,
    "zero row or column": _zero_line,
    "repeated eigenvalues": lambda v: bool(np.any(v.gaps < _EXACT)),
    "nearly repeated eigenvalues": lambda v: bool(np.any((v.gaps >= _EXACT) & (v.gaps < _NEAR))),
    "tiny": lambda v: v.sized(_subnormal(v), _subnormal(v) ** 0.25),
    "huge": lambda v: v.sized(FORMATS[v.case.precision].largest ** 0.25, np.inf),
    "denormal": lambda v: v.sized(5e-324, _subnormal(v)),
    "weighted outputs": lambda v: not any(isinstance(n, Assign) and n.target == SUM_OF_ALL for n in v.nodes),
    "sum of all results": lambda v: any(isinstance(n, Assign) and n.target == SUM_OF_ALL for n in v.nodes),
    "two matrix ops": lambda v: len(v.ops.intersection(OPS)) == 2,
    "three matrix ops": lambda v: len(v.ops.intersection(OPS)) >= 3,
    "elementwise before": _before,
    "elementwise after": _after,
    "a result dropped": _dropped,
    "several outputs": lambda v: len(v.outputs) > 1,
    "in a loop": _in_loop,
    "one operand constant": lambda v: len(v.case.wrt) < len(v.case.program.params),
    "second order": lambda v: len(v.case.modes) == 2,
    "float32": lambda v: v.case.precision == "float32",
}
"""The goals by name."""
