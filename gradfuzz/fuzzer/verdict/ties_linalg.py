"""Ties in linear algebra: in norms, pivots, eigenvalues and singular values."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradfuzz.programs.arithmetic.linalg_numpy import LinalgNumpy


class LinalgTies(LinalgNumpy):
    """A part of the namespace of `ties`. It calls `count_ties`, with `many` where no slope can judge the
    kink, and `meet` where nothing is tied.

    Eigenvalues and singular values are computed, so they count as equal where rounding may have parted them,
    and no slope can judge that.
    """

    def count_ties(self, equal: Any, situation: str, *, many: bool = False) -> None:
        raise NotImplementedError

    def meet(self, where: Any, situation: str) -> None:
        raise NotImplementedError

    def _count_meeting(self, values: Any, situation: str, *, zero: bool = False) -> None:
        """Values along the last axis that are equal, or 0 with `zero`, to within the root of the roundoff."""
        if values.size == 0:
            return
        near = np.sqrt(np.finfo(values.dtype).eps) * np.abs(values).max(axis=-1, keepdims=True)
        self.count_ties(np.abs(np.diff(values, axis=-1)) <= near, situation, many=True)
        if zero:
            self.count_ties(np.abs(values) <= near, situation, many=True)

    def lu(self, x: Any) -> Any:
        p, lower, upper = super().lu(x)
        ratios = np.abs(
            np.tril(lower, -1)
        )  # complex pivots are compared by |re| + |im|, which is up to sqrt(2) times the modulus
        self.count_ties(
            np.abs(np.log2(np.where(ratios, ratios, 0.25))) <= 0.5 if np.iscomplexobj(x) else ratios == 1.0,
            "pivot-tie",
            many=True,
        )
        return p, lower, upper

    def svd(self, x: Any, *, full_matrices: bool) -> Any:
        u, s, vh = super().svd(x, full_matrices=full_matrices)
        self._count_meeting(s, "repeated-singular-value", zero=True)
        return u, s, vh

    def svdvals(self, x: Any) -> Any:
        s = super().svdvals(x)
        self._count_meeting(s, "repeated-singular-value", zero=True)
        return s

    def eigh(self, x: Any) -> Any:
        w, v = super().eigh(x)
        self._count_meeting(w, "repeated-eigenvalue")
        return w, v

    def eigvalsh(self, x: Any) -> Any:
        w = super().eigvalsh(x)
        self._count_meeting(w, "repeated-eigenvalue")
        return w

    def eig(self, x: Any) -> Any:
        w, v = super().eig(x)
        self._count_close(w)
        return w, v

    def eigvals(self, x: Any) -> Any:
        w = super().eigvals(x)
        self._count_close(w)
        return w

    def _count_close(self, values: Any) -> None:
        """The same for complex values, which have no order."""
        if values.size:
            gaps = np.abs(values[..., :, np.newaxis] - values[..., np.newaxis, :])
            near = (
                np.sqrt(np.finfo(values.dtype).eps)
                * np.abs(values).max(axis=-1, keepdims=True)[..., np.newaxis]
            )
            self.count_ties(np.triu(gaps <= near, 1), "repeated-eigenvalue", many=True)

    def pinv(self, x: Any) -> Any:
        s = super().svdvals(x)
        if s.size:
            self.count_ties(_deficient(s), "rank-deficient", many=True)
        return super().pinv(x)

    def qr(self, x: Any, *, mode: Any) -> Any:
        self._meet_deficient(x, "rank-deficient")
        return super().qr(x, mode=mode)

    def inv(self, x: Any) -> Any:
        self._meet_deficient(x, "singular-matrix")
        return super().inv(x)

    def solve(self, a: Any, b: Any) -> Any:
        self._meet_deficient(a, "singular-matrix")
        return super().solve(a, b)

    def slogdet(self, x: Any) -> Any:
        self._meet_deficient(x, "singular-matrix")
        return super().slogdet(x)

    def cholesky(self, x: Any, *, upper: bool) -> Any:
        result = super().cholesky(x, upper=upper)
        self.meet(~np.isfinite(result), "not-positive-definite")
        return result

    def _meet_deficient(self, x: Any, situation: str) -> None:
        s = super().svdvals(x)
        if s.size:
            self.meet(_deficient(s), situation)

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
            self.count_ties(rows == 0.0, "abs-at-0" if ord else "count-of-nonzeros", many=ord == 0)
        elif ord not in ("inf", "-inf"):
            self.count_ties(np.all(rows == 0.0, axis=-1), "norm-at-0")
        return super().vector_norm(x, ord=ord, axis=axis, keepdims=keepdims)

    def _count_extreme(self, values: Any, greatest: bool, zeros: Any) -> None:
        """The values that equal the extreme one, and the absolute values at 0 in its sum."""
        best = (
            values.argmax(axis=-1)[..., np.newaxis] if greatest else values.argmin(axis=-1)[..., np.newaxis]
        )
        equal = values == np.take_along_axis(values, best, axis=-1)
        np.put_along_axis(equal, best, False, axis=-1)
        self.count_ties(equal.any(axis=-1), "largest-of-a-norm")
        self.count_ties(np.ones(np.take_along_axis(zeros, best, axis=-1).sum()), "abs-at-0")


def _deficient(s: Any) -> Any:
    """Which matrices of a batch are singular up to rounding, from their singular values."""
    return s[..., -1] <= np.sqrt(np.finfo(s.dtype).eps) * s[..., 0]
