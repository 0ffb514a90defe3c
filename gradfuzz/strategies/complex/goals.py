"""Goals of complex programs: every op, shapes, matrix structures, broadcast operands and questions.

A goal is read off the program, the points and the question. Matrices are measured at the first point.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from gradfuzz.programs import For
from gradfuzz.strategies.complex.program import OPS
from gradfuzz.strategies.linalg.goals import StackView, gaps_of

_EXACT = 1e-12
_NEAR = 1e-1


class ComplexView(StackView):
    """A case. Its first complex parameter is a stack of matrices where an op of linear algebra takes it."""

    @functools.cached_property
    def matrices(self) -> npt.NDArray[np.complex128]:
        """Shape (..., m, n)."""
        if not {"a_re", "a_im"} <= set(self.shapes) or len(self.shapes["a_re"]) < 2:
            return np.zeros((0, 1, 2), np.complex128)
        a = self.case.points[0]
        return np.asarray(a["a_re"].astype(np.float64) + 1j * a["a_im"].astype(np.float64), np.complex128)

    @property
    def batch(self) -> tuple[int, ...]:
        return self.matrices.shape[:-2]

    @property
    def size(self) -> tuple[int, ...]:
        return self.matrices.shape[-2:]

    @functools.cached_property
    def hermitian(self) -> npt.NDArray[np.complex128]:
        """The Hermitian, not real matrices with two rows or more."""
        m, n = self.size
        a = self.matrices.reshape(-1, m, n)
        if m != n or m < 2:
            return np.zeros((0, 2, 2), np.complex128)
        same = (a == np.conj(np.swapaxes(a, -1, -2))).all((-2, -1)) & (a.imag != 0).any((-2, -1))
        return np.asarray(a[same], np.complex128)

    def near(self, least: float, most: float) -> bool:
        """Whether a Hermitian matrix has an eigenvalue gap in [least, most), relative to the largest one."""
        gaps = gaps_of(self.hermitian)
        return bool(np.any((gaps >= least) & (gaps < most)))


def _unitary(v: ComplexView) -> bool:
    m, n = v.size
    product = v.matrices @ np.conj(np.swapaxes(v.matrices, -1, -2))
    return m == n > 1 and bool(
        np.any((product == np.eye(m)).all((-2, -1)) & (v.matrices.imag != 0).any((-2, -1)))
    )


def _singular(v: ComplexView) -> bool:
    a = v.matrices
    return v.size[0] == v.size[1] > 1 and bool(
        np.any((np.linalg.matrix_rank(a) < v.size[0]) & (a.imag != 0).any((-2, -1)))
    )


COMPLEX_GOALS: dict[str, Callable[[ComplexView], bool]] = {
    **{op: lambda v, op=op: op in v.ops for op in OPS},  # type: ignore[misc]
    "of a real matrix": lambda v: bool({"eig", "eigvals"} & v.ops) and "complex" not in v.ops,
    "in a loop": lambda v: any(isinstance(n, For) for n in v.nodes),
    "an array": lambda v: any(v.shapes.values()),
    "a batch": lambda v: any(len(s) > 2 for s in v.shapes.values()),
    "two batch axes": lambda v: len(v.batch) == 2,
    "no entries": lambda v: any(0 in s for s in v.shapes.values()),
    "as many rows as instances": lambda v: bool(v.batch) and v.batch[-1] == v.size[0] > 1,
    "tall": lambda v: v.size[0] > v.size[1],
    "wide": lambda v: 0 not in v.batch and v.size[0] < v.size[1],
    "operand with fewer batch axes": lambda v: v.others(lambda a, b: len(b) < len(a)),
    "operand with more batch axes": lambda v: v.others(lambda a, b: len(b) > len(a)),
    "operand with batch axes of 1": lambda v: v.others(lambda a, b: len(b) == len(a)),
    "Hermitian": lambda v: len(v.hermitian) > 0,
    "repeated eigenvalues": lambda v: v.near(0.0, _EXACT),
    "nearly repeated eigenvalues": lambda v: v.near(_EXACT, _NEAR),
    "unitary": _unitary,
    "singular": _singular,
    "imaginary part zero": lambda v: any(
        x.size and not np.any(x)
        for point in v.case.points
        for name, x in point.items()
        if name.endswith("_im")
    ),
    "several outputs": lambda v: len(v.outputs) > 2,
    "one operand constant": lambda v: len(v.case.wrt) < len(v.shapes),
    "second order": lambda v: len(v.case.modes) == 2,
    "float32": lambda v: v.case.precision == "float32",
}
"""The goals by name."""
