"""The ops of the table on JAX arrays, for programs whose loops Python runs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.special
import numpy as np
from jax import lax

from gradfuzz.oracles.emit import elementwise_source
from gradfuzz.oracles.jax.linalg import JaxLinalg
from gradfuzz.oracles.jax.tensors import JaxTensors
from gradfuzz.programs.arithmetic.elementwise import composed
from gradfuzz.programs.arithmetic.namespace import Namespace
from gradfuzz.programs.arithmetic.numpy_namespace import index_key
from gradfuzz.programs.language.functions import FUNCTIONS, Function
from gradfuzz.programs.language.precision import FORMATS, Precision
from gradfuzz.programs.language.syntax import ArrayConst, ParamValue


@functools.cache
def _function(name: str) -> Callable[..., Any] | None:
    """JAX's own function; None where it has none."""
    return elementwise_source.function("jax", FUNCTIONS[name], {"jax": jax, "jnp": jnp})


class JaxNamespace(JaxLinalg, JaxTensors, Namespace):
    """Arrays of a working precision. Nothing is checked: 1/0 is inf, log(-1) is NaN.

    A constant is a NumPy scalar, so it is never weakly typed.
    """

    add = staticmethod(jnp.add)
    subtract = staticmethod(jnp.subtract)
    multiply = staticmethod(jnp.multiply)
    divide = staticmethod(jnp.divide)
    negative = staticmethod(jnp.negative)
    remainder = staticmethod(jnp.remainder)
    pow = staticmethod(jnp.power)
    abs = staticmethod(jnp.abs)
    conj = staticmethod(jnp.conj)
    real = staticmethod(jnp.real)
    imag = staticmethod(jnp.imag)
    sign = staticmethod(jnp.sign)
    maximum = staticmethod(jnp.maximum)
    minimum = staticmethod(jnp.minimum)
    where = staticmethod(jnp.where)
    less = staticmethod(jnp.less)
    less_equal = staticmethod(jnp.less_equal)
    greater = staticmethod(jnp.greater)
    greater_equal = staticmethod(jnp.greater_equal)
    equal = staticmethod(jnp.equal)
    not_equal = staticmethod(jnp.not_equal)
    logical_and = staticmethod(jnp.logical_and)
    logical_or = staticmethod(jnp.logical_or)
    logical_not = staticmethod(jnp.logical_not)
    sum = staticmethod(jnp.sum)
    mean = staticmethod(jnp.mean)
    prod = staticmethod(jnp.prod)
    cumulative_sum = staticmethod(jnp.cumsum)
    reshape = staticmethod(jnp.reshape)
    broadcast_to = staticmethod(jnp.broadcast_to)
    permute_dims = staticmethod(jnp.transpose)
    flip = staticmethod(jnp.flip)
    matmul = staticmethod(jnp.matmul)

    def __init__(self, precision: Precision = "float64") -> None:
        self.dtype: Any = np.dtype(precision).type
        self.complex_dtype: Any = FORMATS[precision].complex_dtype
        self._dtypes: dict[ParamValue, Any] = {
            "complex": self.complex_dtype,
            "float": self.dtype,
            "int": np.int64,
            "bool": np.bool_,
        }

    def elementwise(self, row: Function) -> Callable[..., Any]:
        return _function(row.name) or composed(self, row)

    def constant(self, value: float | int | complex) -> Any:
        with np.errstate(over="ignore"):
            return self.complex_dtype(value) if isinstance(value, complex) else self.dtype(value)

    def array(self, value: ArrayConst) -> Any:
        with np.errstate(over="ignore"):
            entries = np.array([entry.value for entry in value.values], self._dtypes[value.dtype])
        return jnp.asarray(entries.reshape(value.shape))

    def decide(self, predicate: Any) -> bool:
        return bool(predicate)

    def complex(self, re: Any, im: Any) -> Any:
        return lax.complex(*jnp.broadcast_arrays(re, im))

    def integer_pow(self, x: Any, *, n: int) -> Any:
        return jnp.asarray(x) ** n

    def astype(self, x: Any, *, dtype: ParamValue) -> Any:
        return jnp.asarray(x, self._dtypes[dtype])

    def concat(self, *arrays: Any, axis: int) -> Any:
        return jnp.concatenate(arrays, axis)

    def stack(self, *arrays: Any, axis: int) -> Any:
        return jnp.stack(arrays, axis)

    def index(self, x: Any, *indices: int, pattern: ParamValue) -> Any:
        return jnp.asarray(x)[index_key(pattern, indices)]

    def index_update(self, x: Any, value: Any, *indices: int, pattern: ParamValue) -> Any:
        return jnp.asarray(x).at[index_key(pattern, indices)].set(value)
