"""Counts a program's exact ties at a point, and lists the conventions it meets there.

The count decides whether a kink may be judged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gradfuzz.fuzzer.conventions.ties_linalg import MANY, LinalgTies
from gradfuzz.oracles.base import Point
from gradfuzz.programs.arithmetic.elementwise import composed
from gradfuzz.programs.arithmetic.numpy_namespace import NumpyNamespace
from gradfuzz.programs.evaluation.interpret import interpret
from gradfuzz.programs.language.functions import Function
from gradfuzz.programs.language.precision import Precision
from gradfuzz.programs.language.program import Program


def _comparison(holds: np.ufunc) -> Any:
    """The method that compares, and counts where two sides are equal; ints, such as a loop's counter and its
    end, do not count.
    """

    def method(self: _TieNamespace, a: Any, b: Any) -> Any:
        if any(np.asarray(side).dtype.kind not in "iub" for side in (a, b)):
            self.count_ties(np.equal(a, b), "threshold", MANY)
        return holds(a, b)

    return method


def _selection(choose: np.ufunc) -> Any:
    def method(self: _TieNamespace, a: Any, b: Any) -> Any:
        self.count_ties(np.equal(a, b), "maximum-tie")
        return choose(a, b)

    return method


class _TieNamespace(LinalgTies, NumpyNamespace):
    """Counts ties: one for each selection with several equal candidates, `MANY` for each comparison of
    floats, which no slope can judge.

    `met` collects the names of the conventions (`table.CONVENTIONS`) whose situation the program meets.
    """

    def __init__(self, precision: Precision) -> None:
        super().__init__(precision)
        self.ties = 0
        self.met: set[str] = set()

    def count_ties(self, equal: Any, situation: str, weight: int = 1) -> None:
        n = int(np.count_nonzero(equal))
        self.ties += weight * n
        if n:
            self.met.add(situation)

    # Selections

    def abs(self, x: Any) -> Any:
        self.count_ties(np.equal(x, 0.0), "modulus-at-0" if np.iscomplexobj(x) else "abs-at-0")
        return np.absolute(x)

    maximum, minimum = _selection(np.maximum), _selection(np.minimum)

    def clip(self, x: Any, lower: Any, upper: Any) -> Any:
        raised = np.maximum(x, lower)
        self.count_ties(np.equal(x, lower), "clip-at-its-edge")
        self.count_ties(np.equal(raised, upper), "clip-at-its-edge")
        return np.minimum(raised, upper)

    def amax(self, x: Any, *, axis: Any, keepdims: Any) -> Any:
        return self._extreme(np.max, x, axis, keepdims)

    def amin(self, x: Any, *, axis: Any, keepdims: Any) -> Any:
        return self._extreme(np.min, x, axis, keepdims)

    def _extreme(
        self, extreme: Any, x: Any, axis: Any, keepdims: Any, situation: str = "extreme-tie", weight: int = 1
    ) -> Any:
        best = extreme(x, axis=axis, keepdims=True)
        self.count_ties(np.equal(x, best).sum(axis=axis) > 1, situation, weight)
        return best if keepdims else extreme(x, axis=axis)

    def cumulative_max(self, x: Any, *, axis: Any) -> Any:
        before, after = np.moveaxis(np.maximum.accumulate(x, axis), axis, 0)[:-1], np.moveaxis(x, axis, 0)[1:]
        self.count_ties(np.equal(before, after), "cumulative-max-tie")
        return np.maximum.accumulate(x, axis)

    def sort(self, x: Any, *, axis: Any) -> Any:
        result = np.sort(x, axis)
        self.count_ties(np.diff(result, axis=axis) == 0.0, "sort-tie")
        return result

    # What jumps: indices, signs, branches

    def argsort(self, x: Any, *, axis: Any) -> Any:
        self.count_ties(np.diff(np.sort(x, axis), axis=axis) == 0.0, "index-tie", MANY)
        return super().argsort(x, axis=axis)

    def argmax(self, x: Any, *, axis: Any, keepdims: Any) -> Any:
        self._extreme(np.max, x, axis, keepdims, "index-tie", MANY)
        return np.argmax(x, axis=axis, keepdims=keepdims)

    def argmin(self, x: Any, *, axis: Any, keepdims: Any) -> Any:
        self._extreme(np.min, x, axis, keepdims, "index-tie", MANY)
        return np.argmin(x, axis=axis, keepdims=keepdims)

    def sign(self, x: Any) -> Any:
        self.count_ties(np.equal(x, 0.0), "sign-at-0", MANY)
        return np.sign(x)

    less, less_equal = _comparison(np.less), _comparison(np.less_equal)
    greater, greater_equal = _comparison(np.greater), _comparison(np.greater_equal)
    equal, not_equal = _comparison(np.equal), _comparison(np.not_equal)

    # Elementwise functions

    def elementwise(self, row: Function) -> Any:
        if row.composition:
            return composed(self, row)
        function = super().elementwise(row)

        def met(*args: Any, **params: Any) -> Any:
            if row.step:
                x = args[0] + 0.5 if row.name == "round" else args[0]
                self.count_ties(np.equal(x, np.floor(x)), "threshold", MANY)
            for end, beyond in zip(row.domain, (np.less, np.greater), strict=True):
                if np.isfinite(end) and not np.iscomplexobj(args[-1]):
                    self.meet(np.equal(args[-1], end), "end-of-domain")
                    self.meet(beyond(args[-1], end), "beyond-the-domain")
            return function(*args, **params)

        return met

    # The ends of domains

    def _count_cut(self, x: Any) -> None:
        """Complex numbers on the negative real axis with 0, where a logarithm, root or power jumps."""
        if np.iscomplexobj(x):
            self.count_ties((np.imag(x) == 0.0) & (np.real(x) <= 0.0), "branch-cut", MANY)

    def _meet_domain(self, x: Any, end: float, at_end: str) -> None:
        """Real numbers at the end of a domain or beyond it."""
        if not np.iscomplexobj(x):
            self.meet(np.equal(x, end), at_end)
            self.meet(np.less(x, end), "beyond-the-domain")

    def log(self, x: Any) -> Any:
        self._count_cut(x)
        self._meet_domain(x, 0.0, "log-at-0")
        return np.log(x)

    def log1p(self, x: Any) -> Any:
        self._meet_domain(x, -1.0, "log-at-0")
        return np.log1p(x)

    def sqrt(self, x: Any) -> Any:
        self._count_cut(x)
        self._meet_domain(x, 0.0, "sqrt-at-0")
        return np.sqrt(x)

    def pow(self, a: Any, b: Any) -> Any:
        self._count_cut(a)
        self._meet_domain(a, 0.0, "pow-at-0")
        return np.power(a, b)

    def integer_pow(self, x: Any, *, n: int) -> Any:
        if n < 0:
            self.meet(np.equal(x, 0.0), "division-by-0")
        return super().integer_pow(x, n=n)

    def divide(self, a: Any, b: Any) -> Any:
        self.meet(np.equal(b, 0.0), "division-by-0")
        return np.divide(a, b)

    def where(self, condition: Any, a: Any, b: Any) -> Any:
        unused = np.where(condition, b, a)
        self.meet(~np.isfinite(unused), "dead-branch")
        return super().where(condition, a, b)


@dataclass(frozen=True, slots=True)
class Ties:
    """The number of exact ties of a program at a point, and the names of the conventions it meets."""

    count: int
    conventions: frozenset[str]


def ties(program: Program, point: Point, precision: Precision) -> Ties:
    """A count of 1 means that a single selection (an abs, maximum, amax, norm, ...) makes the kink.

    A tie in a comparison counts as many: it is a branch, and a branch may jump. Raises what `interpret`
    raises.
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
    return Ties(namespace.ties, frozenset(namespace.met))
