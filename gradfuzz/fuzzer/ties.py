"""How many choices of a program are exact ties at a point: what decides whether a kink may be judged."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradfuzz.fuzzer.ties_linalg import LinalgTies
from gradfuzz.oracles.base import Point, Precision
from gradfuzz.programs.interpret import interpret
from gradfuzz.programs.numpy_namespace import NumpyNamespace
from gradfuzz.programs.syntax import Program

__all__ = ["selection_ties"]

_MANY = 1000


class _TieNamespace(LinalgTies, NumpyNamespace):
    """Counts ties: one for each entry of a selection, `_MANY` for each comparison of floats, which no slope can judge."""

    def __init__(self, precision: Precision) -> None:
        super().__init__(precision)
        self.ties = 0

    def _count(self, equal: Any, weight: int) -> None:
        self.ties += weight * int(np.count_nonzero(equal))

    def count_ties(self, equal: Any, *, many: bool = False) -> None:
        self._count(equal, _MANY if many else 1)

    def abs(self, x: Any) -> Any:  # type: ignore[override]
        self._count(np.equal(x, 0.0), 1)
        return np.absolute(x)

    def maximum(self, a: Any, b: Any) -> Any:  # type: ignore[override]
        self._count(np.equal(a, b), 1)
        return np.maximum(a, b)

    def minimum(self, a: Any, b: Any) -> Any:  # type: ignore[override]
        self._count(np.equal(a, b), 1)
        return np.minimum(a, b)

    def clip(self, x: Any, lower: Any, upper: Any) -> Any:
        return self.minimum(self.maximum(x, lower), upper)

    def amax(self, x: Any, *, axis: Any, keepdims: Any) -> Any:  # type: ignore[override]
        return self._extreme(np.max, x, axis, keepdims)

    def amin(self, x: Any, *, axis: Any, keepdims: Any) -> Any:  # type: ignore[override]
        return self._extreme(np.min, x, axis, keepdims)

    def _extreme(self, extreme: Any, x: Any, axis: Any, keepdims: Any, weight: int = 1) -> Any:
        best = extreme(x, axis=axis, keepdims=True)
        self._count(np.equal(x, best), weight)
        self.ties -= weight * best.size  # one entry of each group is the extreme itself
        return best if keepdims else extreme(x, axis=axis)

    def cumulative_max(self, x: Any, *, axis: Any) -> Any:  # type: ignore[override]
        before, after = np.moveaxis(np.maximum.accumulate(x, axis), axis, 0)[:-1], np.moveaxis(x, axis, 0)[1:]
        self._count(np.equal(before, after), 1)
        return np.maximum.accumulate(x, axis)

    def sort(self, x: Any, *, axis: Any) -> Any:
        result = np.sort(x, axis)
        self._count(np.diff(result, axis=axis) == 0.0, 1)
        return result

    def argsort(self, x: Any, *, axis: Any) -> Any:
        self._count(np.diff(np.sort(x, axis), axis=axis) == 0.0, _MANY)
        return super().argsort(x, axis=axis)

    def argmax(self, x: Any, *, axis: Any, keepdims: Any) -> Any:  # type: ignore[override]
        self._extreme(np.max, x, axis, keepdims, _MANY)
        return np.argmax(x, axis=axis, keepdims=keepdims)

    def argmin(self, x: Any, *, axis: Any, keepdims: Any) -> Any:  # type: ignore[override]
        self._extreme(np.min, x, axis, keepdims, _MANY)
        return np.argmin(x, axis=axis, keepdims=keepdims)

    def _count_cut(self, x: Any) -> None:
        """Complex numbers on the negative real axis with 0, where a logarithm, root or power jumps."""
        if np.iscomplexobj(x):
            self._count((np.imag(x) == 0.0) & (np.real(x) <= 0.0), _MANY)

    def log(self, x: Any) -> Any:  # type: ignore[override]
        self._count_cut(x)
        return np.log(x)

    def sqrt(self, x: Any) -> Any:  # type: ignore[override]
        self._count_cut(x)
        return np.sqrt(x)

    def pow(self, a: Any, b: Any) -> Any:  # type: ignore[override]
        self._count_cut(a)
        return np.power(a, b)

    def sign(self, x: Any) -> Any:  # type: ignore[override]
        self._count(np.equal(x, 0.0), _MANY)
        return np.sign(x)

    def less(self, a: Any, b: Any) -> Any:  # type: ignore[override]
        self._count(np.equal(a, b), _MANY)
        return np.less(a, b)

    def less_equal(self, a: Any, b: Any) -> Any:  # type: ignore[override]
        self._count(np.equal(a, b), _MANY)
        return np.less_equal(a, b)

    def greater(self, a: Any, b: Any) -> Any:  # type: ignore[override]
        self._count(np.equal(a, b), _MANY)
        return np.greater(a, b)

    def greater_equal(self, a: Any, b: Any) -> Any:  # type: ignore[override]
        self._count(np.equal(a, b), _MANY)
        return np.greater_equal(a, b)

    def equal(self, a: Any, b: Any) -> Any:  # type: ignore[override]
        self._count(np.equal(a, b), _MANY)
        return np.equal(a, b)

    def not_equal(self, a: Any, b: Any) -> Any:  # type: ignore[override]
        self._count(np.equal(a, b), _MANY)
        return np.not_equal(a, b)


def selection_ties(program: Program, point: Point, precision: Precision) -> int:
    """The number of exact ties met on the way: 1 means that a single abs, maximum or minimum makes the kink.

    A tie in a comparison counts as many: it is a branch, and a branch may jump. Raises what `interpret` raises.
    """
    namespace = _TieNamespace(precision)
    inputs: dict[str, Any] = {}
    for param in program.params:
        value = np.asarray(point.inputs[param.name])
        if param.type.dtype == "float":
            inputs[param.name] = value.astype(precision)[()]
        else:
            inputs[param.name] = value if value.shape else value.item()
    interpret(program, inputs, namespace)
    return namespace.ties
