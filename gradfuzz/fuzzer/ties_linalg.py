"""Ties in linear algebra: where a norm chooses, where pivots are equal, and where eigenvalues or singular values meet."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradfuzz.programs.linalg_numpy import LinalgNumpy

__all__ = ["LinalgTies"]


class LinalgTies(LinalgNumpy):
    """A part of the namespace of `ties`, whose `count_ties(equal, many)` it calls: `many` where no slope can judge the kink.

    Eigenvalues and singular values are computed, so they meet where rounding may have parted them, and no slope can judge that.
    """

    def count_ties(self, equal: Any, *, many: bool = False) -> None:
        raise NotImplementedError

    def _count_meeting(self, values: Any, *, zero: bool = False) -> None:
        """Values along the last axis that are equal, or 0 where that counts, to within the root of the roundoff."""
        if values.size == 0:
            return
        near = np.sqrt(np.finfo(values.dtype).eps) * np.abs(values).max(axis=-1, keepdims=True)
        self.count_ties(np.abs(np.diff(values, axis=-1)) <= near, many=True)
        if zero:
            self.count_ties(np.abs(values) <= near, many=True)

    def lu(self, x: Any) -> Any:
        p, lower, upper = super().lu(x)
        ratios = np.abs(
            np.tril(lower, -1)
        )  # complex pivots are compared by |re| + |im|, which is up to sqrt(2) times the modulus
        self.count_ties(
            np.abs(np.log2(np.where(ratios, ratios, 0.25))) <= 0.5 if np.iscomplexobj(x) else ratios == 1.0, many=True
        )
        return p, lower, upper

    def svd(self, x: Any, *, full_matrices: bool) -> Any:
        u, s, vh = super().svd(x, full_matrices=full_matrices)
        self._count_meeting(s, zero=True)
        return u, s, vh

    def svdvals(self, x: Any) -> Any:
        s = super().svdvals(x)
        self._count_meeting(s, zero=True)
        return s

    def eigh(self, x: Any) -> Any:
        w, v = super().eigh(x)
        self._count_meeting(w)
        return w, v

    def eigvalsh(self, x: Any) -> Any:
        w = super().eigvalsh(x)
        self._count_meeting(w)
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
            near = np.sqrt(np.finfo(values.dtype).eps) * np.abs(values).max(axis=-1, keepdims=True)[..., np.newaxis]
            self.count_ties(np.triu(gaps <= near, 1), many=True)

    def pinv(self, x: Any) -> Any:
        s = super().svdvals(x)
        if s.size:
            self.count_ties(s[..., -1] <= np.sqrt(np.finfo(s.dtype).eps) * s[..., 0], many=True)
        return super().pinv(x)

    def matrix_norm(self, x: Any, *, ord: Any, keepdims: bool) -> Any:
        if ord == "fro":
            self.count_ties(np.all(x == 0.0, axis=(-2, -1)))
        elif ord in (2, -2, "nuc"):
            self._count_meeting(super().svdvals(x), zero=True)
        elif x.size:
            lines = np.abs(np.swapaxes(x, -1, -2) if ord in (1, -1) else x)
            self._count_extreme(lines.sum(axis=-1), ord in (1, "inf"), (lines == 0.0).sum(axis=-1))
        return super().matrix_norm(x, ord=ord, keepdims=keepdims)

    def vector_norm(self, x: Any, *, ord: Any, axis: Any, keepdims: bool) -> Any:
        rows = np.abs(np.ravel(x)[np.newaxis] if axis is None else np.moveaxis(x, axis, -1))
        if ord in ("inf", "-inf") and rows.size:
            self._count_extreme(rows, ord == "inf", (rows == 0.0).astype(int))
        elif ord in (0, 1):
            self.count_ties(rows == 0.0, many=ord == 0)
        elif ord not in ("inf", "-inf"):
            self.count_ties(np.all(rows == 0.0, axis=-1))
        return super().vector_norm(x, ord=ord, axis=axis, keepdims=keepdims)

    def _count_extreme(self, values: Any, greatest: bool, zeros: Any) -> None:
        """The values that equal the extreme one, beside itself, and the absolute values at 0 that it is made of."""
        best = values.argmax(axis=-1)[..., np.newaxis] if greatest else values.argmin(axis=-1)[..., np.newaxis]
        equal = values == np.take_along_axis(values, best, axis=-1)
        np.put_along_axis(equal, best, False, axis=-1)
        self.count_ties(equal)
        self.count_ties(np.ones(np.take_along_axis(zeros, best, axis=-1).sum()))
