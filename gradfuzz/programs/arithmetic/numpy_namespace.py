"""Floats as a machine has them: float32, float64, bfloat16 or float16 with IEEE semantics, scalars and
arrays, by NumPy.

Nothing is checked and nothing is raised: a division by zero is inf, log(-1) is NaN, and no warning is
printed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradfuzz.errors import DomainError
from gradfuzz.programs.arithmetic.elementwise import composed, numpy_function
from gradfuzz.programs.arithmetic.half_numpy import half_kernels, narrowed
from gradfuzz.programs.arithmetic.linalg_numpy import LinalgNumpy
from gradfuzz.programs.arithmetic.namespace import Namespace
from gradfuzz.programs.arithmetic.tensor_numpy import TensorArrays, TensorNumpy, methods
from gradfuzz.programs.language.functions import Function
from gradfuzz.programs.language.precision import FORMATS, HALF, Precision
from gradfuzz.programs.language.recent import Recent
from gradfuzz.programs.language.syntax import ArrayConst, ParamValue

_DTYPES: dict[ParamValue, Any] = {"int": np.int64, "bool": np.bool_}


def index_key(pattern: ParamValue, indices: Sequence[int]) -> tuple[int | slice, ...]:
    """What stands between the brackets for an index pattern of `programs.ops`."""
    assert isinstance(pattern, tuple), "the type checker lets no other pattern through"
    rest = iter(indices)
    return tuple(next(rest) if entry == "at" else slice(entry[1], entry[2]) for entry in pattern)  # type: ignore[index]


def _numbers_of(value: ArrayConst) -> Any:
    return np.array([entry.value for entry in value.values], np.float64)


numbers_of = Recent(_numbers_of, 4)
"""The entries of a constant array of floats, in a row that nobody writes into."""


class ArrayNamespace(TensorArrays, Namespace):
    """The ops that only move entries, on NumPy arrays of any dtype. A scalar result is a scalar, never a 0-d
    array.
    """

    def as_array(self, value: Any) -> Any:
        """`value` as an array whose entries are what they were."""
        return np.asarray(value)

    def array(self, value: ArrayConst) -> Any:
        if value.dtype in ("float", "complex"):
            entries = self.as_array(self.constant(0.0 if value.dtype == "float" else 0j))
            result = np.empty(len(value.values), entries.dtype)
            for k, entry in enumerate(value.values):
                result[k] = self.constant(entry.value)
        else:
            result = np.array([entry.value for entry in value.values], _DTYPES[value.dtype])
        return result.reshape(value.shape)

    def reshape(self, x: Any, *, shape: Any) -> Any:
        return self.as_array(x).reshape(shape)[()]

    def broadcast_to(self, x: Any, *, shape: Any) -> Any:
        return np.broadcast_to(self.as_array(x), shape)[()]

    def permute_dims(self, x: Any, *, axes: Any) -> Any:
        return np.transpose(self.as_array(x), axes)[()]

    def flip(self, x: Any, *, axis: Any) -> Any:
        return np.flip(self.as_array(x), axis)

    def concat(self, *arrays: Any, axis: Any) -> Any:
        return np.concatenate([self.as_array(a) for a in arrays], axis)

    def stack(self, *arrays: Any, axis: Any) -> Any:
        return np.stack([self.as_array(a) for a in arrays], axis)

    def index(self, x: Any, *indices: int, pattern: Any) -> Any:
        return self.as_array(x)[index_key(pattern, indices)]

    def index_update(self, x: Any, value: Any, *indices: int, pattern: Any) -> Any:
        result = self.as_array(x).copy()
        # The value as it is: an object in a 0-d array would be stored with its array.
        result[index_key(pattern, indices)] = value
        return result[()]

    def remainder(self, a: Any, b: Any) -> Any:
        if not np.all(b):
            raise DomainError(f"remainder by {b}; the divisor must not be 0")
        return np.remainder(a, b)

    logical_and, logical_or, logical_not = methods(np.logical_and, np.logical_or, np.logical_not)


class NumpyNamespace(LinalgNumpy, TensorNumpy, ArrayNamespace):
    """A working precision by NumPy's own functions; where it has none for two bytes, see `half_numpy`."""

    add, subtract, multiply, divide = methods(np.add, np.subtract, np.multiply, np.divide)
    negative, pow, abs, sign = methods(np.negative, np.power, np.absolute, np.sign)
    conj, real, imag, matmul = methods(np.conj, np.real, np.imag, np.matmul)
    maximum, minimum, less, less_equal = methods(np.maximum, np.minimum, np.less, np.less_equal)
    greater, greater_equal, equal, not_equal = methods(np.greater, np.greater_equal, np.equal, np.not_equal)
    sum, mean, prod, cumulative_sum = methods(np.sum, np.mean, np.prod, np.cumsum)

    def __init__(self, precision: Precision = "float64") -> None:
        self.precision = precision
        self.dtype: Any = FORMATS[precision].dtype.type
        self.complex_dtype: Any = FORMATS[precision].complex_dtype
        self._most = FORMATS[precision].largest
        if precision in HALF:
            vars(self).update(half_kernels(precision, self))

    def elementwise(self, row: Function) -> Callable[..., Any]:
        if row.composition and not row.numpy:
            return composed(self, row)
        function = numpy_function(row.name)
        if self.precision not in HALF or not row.numpy:
            return function
        return narrowed(function, self.dtype)

    def context(self) -> contextlib.AbstractContextManager[None]:
        """Entered around a whole evaluation: IEEE results without warnings."""
        return np.errstate(all="ignore")

    def constant(self, value: float | int | complex) -> Any:
        if isinstance(value, complex):
            with np.errstate(over="ignore"):
                return self.complex_dtype(value)
        if -self._most < value < self._most:
            return self.dtype(value)
        with np.errstate(over="ignore"):
            return self.dtype(value)

    def array(self, value: ArrayConst) -> Any:
        if value.dtype != "float" or self.precision in HALF:
            return super().array(value)
        with np.errstate(over="ignore", under="ignore"):
            return numbers_of.get(value).astype(self.dtype).reshape(value.shape)

    def decide(self, predicate: Any) -> bool:
        return bool(predicate)

    def integer_pow(self, x: Any, *, n: int) -> Any:
        return np.power(x, self.dtype(n))

    def where(self, condition: Any, a: Any, b: Any) -> Any:
        return np.where(condition, a, b)[()]

    def astype(self, x: Any, *, dtype: ParamValue) -> Any:
        wanted = self.complex_dtype if dtype == "complex" else _DTYPES.get(dtype, self.dtype)
        return np.asarray(x).astype(wanted)[()]

    def complex(self, re: Any, im: Any) -> Any:
        result = np.empty(np.broadcast_shapes(np.shape(re), np.shape(im)), self.complex_dtype)
        result.real, result.imag = re, im
        return result[()]
