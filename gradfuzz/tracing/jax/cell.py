"""What a variable of a jaxpr is while it is walked: a recording value, or a constant that JAX computes when
somebody asks for it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from gradfuzz.engine.api.tracing import type_of
from gradfuzz.engine.rules.value import Operand, Value
from gradfuzz.tracing.common.compositions import recorded


@dataclass(frozen=True, slots=True)
class JaxprCell:
    """The value that records a variable, and `made`, which gives the constant that it is; one of the two may
    be missing.
    """

    value: Value | None
    made: Callable[[], Any] | None = None

    @property
    def is_constant(self) -> bool:
        """Whether the variable depends on constants only."""
        return self.made is not None

    @property
    def known(self) -> Any:
        """The constant, or None."""
        return None if self.made is None else self.made()

    @property
    def operand(self) -> Operand:
        """What ops are applied to: a NumPy array where it is a known int or bool, else a recording value."""
        if self.made is not None and (self.value is None or not type_of(self.value).is_inexact):
            array = np.asarray(self.made())
            return array if array.dtype.kind in "biu" else recorded(_finite(array))
        return self.value


NOTHING = JaxprCell(None)
"""What nobody asks for."""


def cell_of(operand: Operand) -> JaxprCell:
    """What an op gives, as a cell."""
    return JaxprCell(operand) if isinstance(operand, Value) else JaxprCell(None, lambda: operand)


def is_key(aval: Any) -> bool:
    """Whether a variable is no array of numbers but a key of random numbers, or a token."""
    return not hasattr(aval, "dtype") or jax.dtypes.issubdtype(aval.dtype, jax.dtypes.extended)


def constants_of(equation: Any, inputs: Sequence[JaxprCell]) -> list[Callable[[], Any]]:
    """The results of an equation of constants, each of which JAX computes when it is asked for.

    It lies on one device, wherever it is to be.
    """
    params = equation.params
    if "sharding" in params:
        params = {**params, "sharding": None}

    @functools.cache
    def results() -> list[Any]:
        made = equation.primitive.bind(*(c.known for c in inputs), **params)
        return list(made) if equation.primitive.multiple_results else [made]

    return [functools.partial(lambda k: results()[k], k) for k in range(len(equation.outvars))]


def _finite(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """An array without infinities, which no reference computes with: they are the largest numbers of its
    dtype.
    """
    if array.dtype.kind == "c" or not np.isinf(array).any():
        return array
    largest = float(jax.numpy.finfo(array.dtype).max)
    return np.clip(array, -largest, largest)
