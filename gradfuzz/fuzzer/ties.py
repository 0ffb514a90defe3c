"""How many choices of a program are exact ties at a point: what decides whether a kink may be judged."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradfuzz.oracles.base import Point, Precision
from gradfuzz.programs.interpret import interpret
from gradfuzz.programs.numpy_namespace import NumpyNamespace
from gradfuzz.programs.syntax import Program

__all__ = ["selection_ties"]

_MANY = 1000


class _TieNamespace(NumpyNamespace):
    """Counts ties: one for each entry of abs, maximum or minimum, `_MANY` for each comparison of floats, which no slope can judge."""

    def __init__(self, precision: Precision) -> None:
        super().__init__(precision)
        self.ties = 0

    def _count(self, equal: Any, weight: int) -> None:
        self.ties += weight * int(np.count_nonzero(equal))

    def abs(self, x: Any) -> Any:  # type: ignore[override]
        self._count(np.equal(x, 0.0), 1)
        return np.absolute(x)

    def maximum(self, a: Any, b: Any) -> Any:  # type: ignore[override]
        self._count(np.equal(a, b), 1)
        return np.maximum(a, b)

    def minimum(self, a: Any, b: Any) -> Any:  # type: ignore[override]
        self._count(np.equal(a, b), 1)
        return np.minimum(a, b)

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
