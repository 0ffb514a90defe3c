"""A base for multi-precision arithmetic: Python objects with + - * are the scalars, NumPy object arrays of
them the arrays.

A subclass says how a number is made, what the functions of one number are, and how two numbers compare; this
base does the arrays. Sums and products are folds of the scalar operations. Selections (abs, maximum, minimum,
where) choose one operand by a comparison, and every choice is appended to `choices`, a trace: two runs with
equal traces computed the same smooth function.
"""

from __future__ import annotations

import abc
import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from gradfuzz.errors import DomainError, EvaluationError
from gradfuzz.programs.arithmetic.complex_objects import ComplexObjects
from gradfuzz.programs.arithmetic.elementwise import composed
from gradfuzz.programs.arithmetic.numpy_namespace import ArrayNamespace
from gradfuzz.programs.arithmetic.tensor_objects import TensorObjects, of_numbers
from gradfuzz.programs.language.axes import normalize_axes
from gradfuzz.programs.language.functions import Function
from gradfuzz.programs.language.precision import Precision, rounded
from gradfuzz.programs.language.syntax import ParamValue

Array = np.ndarray[Any, Any]


class UndecidedError(EvaluationError):
    """A comparison that this arithmetic cannot decide. `tie`: the two sides may be equal here without being
    equal nearby.
    """

    def __init__(self, message: str, *, tie: bool = False) -> None:
        super().__init__(message)
        self.tie = tie


class OutOfRangeError(EvaluationError):
    """A number beyond all floats, which would take this arithmetic for ever to follow."""


def _box(value: Any) -> Array:
    """A 0-d object array: NumPy would take a number that has a length for a sequence."""
    box = np.empty((), object)
    box[()] = value
    return box


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray)


def _entrywise(scalar: str, ints: Callable[..., Any]) -> Any:
    """The op that is the method `scalar` of the entries."""
    return lambda self, *arguments: self._each(getattr(self, scalar), ints, *arguments)


def _comparison(holds: Callable[[int], bool], ints: Callable[..., Any]) -> Any:
    """The op that asks whether the sign of a difference `holds`."""
    return lambda self, a, b: self._tested(lambda p, q: holds(self.compare(p, q)), ints, a, b)


class ObjectNamespace(ComplexObjects, TensorObjects, ArrayNamespace):
    """Floats and complex numbers are Python objects; int arrays are int64 arrays and bool arrays bool arrays,
    as everywhere.
    """

    def __init__(self, precision: Precision = "float64", trace: list[int] | None = None) -> None:
        self.precision = precision
        self.choices: list[int] = [] if trace is None else trace

    # What a subclass gives

    @abc.abstractmethod
    def scalar(self, value: float | int) -> Any:
        """`value` exactly; `DomainError` where it is not finite."""

    @abc.abstractmethod
    def compare(self, a: Any, b: Any) -> int:
        """-1, 0 or 1: the sign of a - b for scalars, or `UndecidedError`."""

    @abc.abstractmethod
    def quotient(self, a: Any, b: Any) -> Any:
        """A / b for scalars."""

    @abc.abstractmethod
    def power(self, a: Any, b: Any) -> Any:
        """A ** b for scalars, a > 0 or complex and off the negative real axis."""

    @abc.abstractmethod
    def whole(self, x: Any) -> int:
        """The greatest int not above x. `UndecidedError` where x is an int here and may be less nearby."""

    @abc.abstractmethod
    def function(self, name: str, *args: Any, **params: int) -> Any:
        """An elementwise function of scalars, by its row.

        `UndecidedError` for log and sqrt of a complex number on the negative real axis, where their principal
        branches jump: on which side it stands is told by the sign of a zero, which this arithmetic has not.
        """

    # What a subclass may change

    plus: Callable[[Any, Any], Any] = staticmethod(operator.add)
    minus: Callable[[Any, Any], Any] = staticmethod(operator.sub)
    times: Callable[[Any, Any], Any] = staticmethod(operator.mul)

    def choose(self, a: Any, b: Any) -> int:
        """`compare` for abs, maximum and minimum, whose result is the same on both sides of a tie."""
        return self.compare(a, b)

    # Constants

    def constant(self, value: float | int | complex) -> Any:
        if isinstance(value, complex):
            return self.pair(self.constant(value.real), self.constant(value.imag))
        given, value = value, rounded(value, self.precision)
        if not math.isfinite(value):
            if math.isfinite(given):
                raise OutOfRangeError(f"the constant {given:g} is beyond the largest {self.precision}")
            raise DomainError(f"the constant {value} is not a number that can be computed with exactly")
        return self.scalar(value)

    def decide(self, predicate: Any) -> bool:
        return bool(predicate)

    def as_array(self, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return value
        return np.asarray(value) if isinstance(value, (int, np.generic)) else _box(value)

    # Entry by entry

    def _each(self, scalar: Callable[..., Any], ints: Callable[..., Any], *arguments: Any) -> Any:
        """`scalar` on every entry of float arguments, `ints` on whole int arrays."""
        for a in arguments:
            if _is_array(a):
                if a.dtype != object:
                    return ints(*arguments)
                boxed = [self.as_array(b) for b in arguments]
                return np.frompyfunc(scalar, len(boxed), 1)(*boxed)
        return scalar(*arguments)

    add, subtract = _entrywise("plus", np.add), _entrywise("minus", np.subtract)
    multiply, divide = _entrywise("times", np.multiply), _entrywise("quotient", np.divide)
    abs, sign = _entrywise("_absolute", np.absolute), _entrywise("_sign", np.sign)
    pow = _entrywise("power", np.power)

    def negative(self, a: Any) -> Any:
        return self._each(operator.neg, np.negative, a)

    def integer_pow(self, x: Any, *, n: int) -> Any:
        return self._each(lambda y: self._integer_power(y, n), np.power, x)

    def _integer_power(self, x: Any, n: int) -> Any:
        """Repeated squaring; exactly 1 for n = 0, also at 0."""
        if n < 0:
            return self.quotient(self.scalar(1), self._integer_power(x, -n))
        if n == 0:
            return self.scalar(1)
        half = self._integer_power(x, n // 2) if n > 1 else None
        if half is None:
            return x
        return half * half * x if n % 2 else half * half

    def elementwise(self, row: Function) -> Callable[..., Any]:
        if row.composition and not (row.arb or row.mpmath):
            return composed(self, row)
        scalar = functools.partial(self._step if row.step else self.function, row.name)
        return lambda *args, **params: self.over_entries(functools.partial(scalar, **params), *args)

    def _step(self, name: str, x: Any) -> Any:
        """A function with jumps. Which step it is on is a choice."""
        moved = x + self.scalar(0.5) if name == "round" else x
        whole = self.whole(moved)
        if name == "round" and whole % 2 and self.compare(moved, self.scalar(whole)) == 0:
            whole -= 1  # halves are rounded to the even side
        self.choices.append(whole)
        return self.scalar(whole)

    # Choices

    def _choice(self, a: Any, b: Any) -> int:
        """`choose`, kept in the trace."""
        sign = self.choose(a, b)
        self.choices.append(sign)
        return sign

    def _sign(self, x: Any) -> Any:
        sign = self.compare(x, self.scalar(0))
        self.choices.append(sign)
        return self.scalar(sign)

    def _absolute(self, x: Any) -> Any:
        if self.is_complex(x):
            return self.modulus(x)
        return -x if self._choice(x, self.scalar(0)) < 0 else x

    def maximum(self, a: Any, b: Any) -> Any:
        return self._each(lambda p, q: p if self._choice(p, q) >= 0 else q, np.maximum, a, b)

    def minimum(self, a: Any, b: Any) -> Any:
        return self._each(lambda p, q: p if self._choice(p, q) <= 0 else q, np.minimum, a, b)

    def where(self, condition: Any, a: Any, b: Any) -> Any:
        decisions = np.asarray(condition)
        self.choices.extend(int(d) for d in decisions.flat)
        if not (_is_array(a) or _is_array(b) or decisions.shape):
            return a if condition else b
        return np.where(decisions, self.as_array(a), self.as_array(b))

    def _tested(self, test: Callable[[Any, Any], bool], ints: Callable[..., Any], a: Any, b: Any) -> Any:
        result = self._each(test, ints, a, b)
        return result.astype(np.bool_) if _is_array(result) else result

    less, less_equal = _comparison(lambda k: k < 0, np.less), _comparison(lambda k: k <= 0, np.less_equal)
    greater = _comparison(lambda k: k > 0, np.greater)
    greater_equal = _comparison(lambda k: k >= 0, np.greater_equal)

    def equal(self, a: Any, b: Any) -> Any:
        return self._tested(self.same, np.equal, a, b)

    def not_equal(self, a: Any, b: Any) -> Any:
        return self._tested(lambda p, q: not self.same(p, q), np.not_equal, a, b)

    # Folds

    def _fold(self, combine: Callable[[Any, Any], Any], start: int, x: Any, axis: Any, keepdims: bool) -> Any:
        """`combine` of all entries."""

        def folded(row: list[Any]) -> Any:
            return functools.reduce(combine, row) if row else self.scalar(start)

        return self.over(folded, x, axis, keepdims)

    @of_numbers(np.sum)
    def sum(self, x: Any, *, axis: ParamValue, keepdims: bool) -> Any:
        return self._fold(self.plus, 0, x, axis, keepdims)

    @of_numbers(np.prod)
    def prod(self, x: Any, *, axis: ParamValue, keepdims: bool) -> Any:
        return self._fold(self.times, 1, x, axis, keepdims)

    def mean(self, x: Any, *, axis: ParamValue, keepdims: bool) -> Any:
        array = self.as_array(x)
        count = math.prod(array.shape[a] for a in normalize_axes(axis, array.ndim, "mean"))
        return self.divide(self.sum(x, axis=axis, keepdims=keepdims), self.scalar(count))

    @of_numbers(np.cumsum)
    def cumulative_sum(self, x: Any, *, axis: int) -> Any:
        result = x.copy()
        along = np.moveaxis(result, axis, 0)
        for k in range(1, len(along)):
            along[k, ...] = self.as_array(self.add(along[k - 1], along[k]))
        return result

    def matmul(self, a: Any, b: Any) -> Any:
        left = a[np.newaxis, :] if a.ndim == 1 else a
        right = b[:, np.newaxis] if b.ndim == 1 else b
        result = self.products(left, right)
        if b.ndim == 1:
            result = result[..., 0]
        if a.ndim == 1:
            result = result[..., 0] if b.ndim == 1 else result[..., 0, :]
        return result[()] if _is_array(result) else result

    def products(self, left: Any, right: Any) -> Any:
        """All inner products of the rows of `left` and the columns of `right`, in stacks of matrices."""
        terms = self.multiply(left[..., :, :, np.newaxis], right[..., np.newaxis, :, :])
        return self.as_array(self.sum(terms, axis=terms.ndim - 2, keepdims=False))

    def astype(self, x: Any, *, dtype: ParamValue) -> Any:
        if dtype == "complex":
            numbers = self.astype(x, dtype="float") if isinstance(x, (int, np.generic, np.ndarray)) else x
            return self.over_entries(self.promoted, numbers)
        if dtype == "float":
            if not _is_array(x):
                return self.scalar(int(x))
            return x if x.dtype == object else np.frompyfunc(lambda n: self.scalar(int(n)), 1, 1)(x)
        return np.asarray(x).astype({"int": np.int64, "bool": np.bool_}[str(dtype)])[()]
