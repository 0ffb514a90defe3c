"""Ties in linear algebra: in norms, pivots, eigenvalues and singular values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradfuzz.programs.arithmetic.linalg_numpy import LinalgNumpy

MANY = 1000
"""The weight of a tie that no slope can judge."""


def _nearness(values: Any) -> Any:
    """What values along the last axis may differ by and be equal: the root of the roundoff of the largest."""
    return np.sqrt(np.finfo(values.dtype).eps) * np.abs(values).max(axis=-1, keepdims=True)


def _watched(op: str, look: Callable[[Any, Any, Any], None]) -> Any:
    """NumPy's op, whose first operand and result `look` is shown."""

    def method(self: LinalgTies, x: Any, *others: Any, **params: Any) -> Any:
        result = getattr(super(LinalgTies, self), op)(x, *others, **params)
        look(self, x, result)
        return result

    return method


class LinalgTies(LinalgNumpy):
    """A part of the namespace of `ties`. It calls `count_ties`, with the weight `MANY` where no slope can
    judge the kink, and `meet` where nothing is tied.

    Eigenvalues and singular values are computed, so they count as equal where rounding may have parted them,
    and no slope can judge that.
    """

    def count_ties(self, equal: Any, situation: str, weight: int = 1) -> None:
        raise NotImplementedError

    def meet(self, where: Any, situation: str) -> None:
        self.count_ties(where, situation, 0)

    def _count_meeting(self, values: Any, situation: str, *, zero: bool = False) -> None:
        """Values along the last axis that are equal, or 0 with `zero`, to within the root of the roundoff."""
        if values.size == 0:
            return
        near = _nearness(values)
        self.count_ties(np.abs(np.diff(values, axis=-1)) <= near, situation, MANY)
        if zero:
            self.count_ties(np.abs(values) <= near, situation, MANY)

    def lu(self, x: Any) -> Any:
        p, lower, upper = super().lu(x)
        ratios = np.abs(np.tril(lower, -1))
        tied = ratios == 1.0
        if np.iscomplexobj(x):  # compared by |re| + |im|, which is up to sqrt(2) times the modulus
            tied = np.abs(np.log2(np.where(ratios, ratios, 0.25))) <= 0.5
        self.count_ties(tied, "pivot-tie", MANY)
        return p, lower, upper

    svd = _watched("svd", lambda self, x, found: self._count_singular(found[1]))
    svdvals = _watched("svdvals", lambda self, x, s: self._count_singular(s))
    eigh = _watched("eigh", lambda self, x, found: self._count_meeting(found[0], "repeated-eigenvalue"))
    eigvalsh = _watched("eigvalsh", lambda self, x, w: self._count_meeting(w, "repeated-eigenvalue"))
    eig = _watched("eig", lambda self, x, found: self._count_close(found[0]))
    eigvals = _watched("eigvals", lambda self, x, w: self._count_close(w))
    qr = _watched("qr", lambda self, x, _: self._meet_deficient(x, "rank-deficient"))
    inv = _watched("inv", lambda self, x, _: self._meet_deficient(x, "singular-matrix"))
    solve = _watched("solve", lambda self, a, _: self._meet_deficient(a, "singular-matrix"))
    slogdet = _watched("slogdet", lambda self, x, _: self._meet_deficient(x, "singular-matrix"))
    pinv = _watched("pinv", lambda self, x, _: self._meet_deficient(x, "rank-deficient", MANY))
    cholesky = _watched(
        "cholesky", lambda self, x, factor: self.meet(~np.isfinite(factor), "not-positive-definite")
    )

    def _count_singular(self, s: Any) -> None:
        self._count_meeting(s, "repeated-singular-value", zero=True)

    def _count_close(self, values: Any) -> None:
        """The same for complex values, which have no order."""
        if values.size:
            gaps = np.abs(values[..., :, np.newaxis] - values[..., np.newaxis, :])
            near = _nearness(values)[..., np.newaxis]
            self.count_ties(np.triu(gaps <= near, 1), "repeated-eigenvalue", MANY)

    def _meet_deficient(self, x: Any, situation: str, weight: int = 0) -> None:
        """Matrices of a batch that are singular up to rounding."""
        s = super().svdvals(x)
        if s.size:
            deficient = s[..., -1] <= np.sqrt(np.finfo(s.dtype).eps) * s[..., 0]
            self.count_ties(deficient, situation, weight)

    def matrix_norm(self, x: Any, *, ord: Any, keepdims: bool) -> Any:
        if ord == "fro":
            self.count_ties(np.all(x == 0.0, axis=(-2, -1)), "norm-at-0")
        elif ord in (2, -2, "nuc"):
            self._count_meeting(super().svdvals(x), "spectral-norm", zero=True)
        elif x.size:
            lines = np.abs(np.swapaxes(x, -1, -2) if ord in (1, -1) else x)
            self._count_extreme(lines.sum(axis=-1), ord in (1, "inf"), (lines == 0.0).sum(axis=-1))
        return super().matrix_norm(x, ord=ord, keepdims=keepdims)

    def vector_norm(self, x: Any, *, ord: Any, axis: Any, keepdims: bool) -> Any:
        rows = np.abs(np.ravel(x)[np.newaxis] if axis is None else np.moveaxis(x, axis, -1))
        if ord in ("inf", "-inf") and rows.size:
            self._count_extreme(rows, ord == "inf", (rows == 0.0).astype(int))
        elif ord in (0, 1):
            self.count_ties(rows == 0.0, "abs-at-0" if ord else "count-of-nonzeros", 1 if ord else MANY)
        elif ord not in ("inf", "-inf"):
            self.count_ties(np.all(rows == 0.0, axis=-1), "norm-at-0")
        return super().vector_norm(x, ord=ord, axis=axis, keepdims=keepdims)

    def _count_extreme(self, values: Any, greatest: bool, zeros: Any) -> None:
        """The values that equal the extreme one, and the absolute values at 0 in its sum."""
        best = (values.argmax if greatest else values.argmin)(axis=-1)[..., np.newaxis]
        equal = values == np.take_along_axis(values, best, axis=-1)
        np.put_along_axis(equal, best, False, axis=-1)
        self.count_ties(equal.any(axis=-1), "largest-of-a-norm")
        self.count_ties(np.ones(np.take_along_axis(zeros, best, axis=-1).sum()), "abs-at-0")
