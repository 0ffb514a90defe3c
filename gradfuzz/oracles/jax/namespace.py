"""The ops of the table on JAX arrays, for programs whose loops Python runs.

Most of them run the very text that a reproducer shows.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.linalg
import jax.scipy.special
import numpy as np
from jax import lax

from gradfuzz.oracles.emit import elementwise_source
from gradfuzz.oracles.emit.op_source import SourceMethods, compiling
from gradfuzz.oracles.jax import tensors_source
from gradfuzz.oracles.jax.emit import jax_name
from gradfuzz.programs.arithmetic.elementwise import composed
from gradfuzz.programs.arithmetic.namespace import Namespace
from gradfuzz.programs.arithmetic.numpy_namespace import index_key
from gradfuzz.programs.language.functions import FUNCTIONS, Function
from gradfuzz.programs.language.ops import OPS
from gradfuzz.programs.language.precision import FORMATS, Precision
from gradfuzz.programs.language.syntax import ArrayConst, ParamValue

_NAMES = {"jax": jax, "jnp": jnp, "lax": lax}
"""What the text of a reproducer reads."""


@functools.cache
def _function(name: str) -> Callable[..., Any] | None:
    """JAX's own function; None where it has none."""
    return elementwise_source.function("jax", FUNCTIONS[name], _NAMES)


class JaxNamespace(SourceMethods, Namespace):
    """Arrays of a working precision. Nothing is checked: 1/0 is inf, log(-1) is NaN.

    A constant is a NumPy scalar, so it is never weakly typed.
    """

    compiled = staticmethod(compiling(tensors_source.write, _NAMES))

    def __init__(self, precision: Precision = "float64") -> None:
        self.dtype: Any = np.dtype(precision).type
        self.complex_dtype: Any = FORMATS[precision].complex_dtype
        self._dtypes: dict[ParamValue, Any] = {
            "complex": self.complex_dtype,
            "float": self.dtype,
            "int": np.int64,
            "bool": np.bool_,
        }

    def __getattr__(self, name: str) -> Any:
        if name in OPS and name not in FUNCTIONS:  # an op without a method is a function of `jax.numpy`
            return getattr(jnp, jax_name(name))
        return super().__getattr__(name)

    def elementwise(self, row: Function) -> Callable[..., Any]:
        return _function(row.name) or composed(self, row)

    def constant(self, value: float | int | complex) -> Any:
        with np.errstate(over="ignore"):
            return self.complex_dtype(value) if isinstance(value, complex) else self.dtype(value)

    def array(self, value: ArrayConst) -> Any:
        with np.errstate(over="ignore"):
            entries = np.array([entry.value for entry in value.values], self._dtypes[value.dtype])
        return jnp.asarray(entries.reshape(value.shape))

    def operand(self, value: Any) -> Any:
        return jnp.asarray(value)

    def decide(self, predicate: Any) -> bool:
        return bool(predicate)

    def complex(self, re: Any, im: Any) -> Any:
        return lax.complex(*jnp.broadcast_arrays(re, im))

    def integer_pow(self, x: Any, *, n: int) -> Any:
        return jnp.asarray(x) ** n

    def astype(self, x: Any, *, dtype: ParamValue) -> Any:
        return jnp.asarray(x, self._dtypes[dtype])

    def index(self, x: Any, *indices: int, pattern: ParamValue) -> Any:
        return jnp.asarray(x)[index_key(pattern, indices)]

    def index_update(self, x: Any, value: Any, *indices: int, pattern: ParamValue) -> Any:
        return jnp.asarray(x).at[index_key(pattern, indices)].set(value)
