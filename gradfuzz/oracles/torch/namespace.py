"""The ops of the table on torch tensors. All are out of place, so that autograd and `torch.func` see them.

Most of them run the very text that a reproducer shows.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import torch

from gradfuzz.errors import DomainError
from gradfuzz.oracles.emit import elementwise_source
from gradfuzz.oracles.emit.op_source import SourceMethods, compiling
from gradfuzz.oracles.torch import linalg, tensors_source
from gradfuzz.programs.arithmetic.elementwise import composed
from gradfuzz.programs.arithmetic.namespace import Namespace
from gradfuzz.programs.arithmetic.numpy_namespace import index_key
from gradfuzz.programs.language.functions import FUNCTIONS, Function
from gradfuzz.programs.language.ops import OPS
from gradfuzz.programs.language.precision import Precision
from gradfuzz.programs.language.syntax import ArrayConst, ParamValue


def dtype_of(precision: Precision) -> torch.dtype:
    """Torch's dtype of that name."""
    dtype: torch.dtype = getattr(torch, precision)
    return dtype


@functools.cache
def _function(name: str) -> Callable[..., Any] | None:
    """Torch's own function; None where it has none."""
    return elementwise_source.function("torch", FUNCTIONS[name], {"torch": torch})


class TorchNamespace(SourceMethods, Namespace):
    """Tensors of one precision; a scalar has no axes. Nothing is checked: 1/0 is inf, log(-1) is NaN."""

    compiled = staticmethod(
        compiling(tensors_source.write, {"torch": torch, **{f.__name__: f for f in linalg.HELPERS}})
    )
    negative = staticmethod(operator.neg)
    add = staticmethod(operator.add)
    subtract = staticmethod(operator.sub)
    multiply = staticmethod(operator.mul)
    divide = staticmethod(operator.truediv)
    less = staticmethod(operator.lt)
    less_equal = staticmethod(operator.le)
    greater = staticmethod(operator.gt)
    greater_equal = staticmethod(operator.ge)
    equal = staticmethod(operator.eq)
    not_equal = staticmethod(operator.ne)
    matmul = staticmethod(operator.matmul)

    def __init__(self, precision: Precision = "float64") -> None:
        self.dtype = dtype_of(precision)
        self._dtypes: dict[ParamValue, torch.dtype] = {
            "complex": self.dtype.to_complex(),
            "float": self.dtype,
            "int": torch.int64,
            "bool": torch.bool,
        }

    def __getattr__(self, name: str) -> Any:
        if name in OPS and name not in FUNCTIONS:  # an op without a method is a function of torch
            return self._of_tensors(getattr(torch, name))
        return super().__getattr__(name)

    def _of_tensors(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args, **params: function(*map(self.operand, args), **params)

    def elementwise(self, row: Function) -> Callable[..., Any]:
        function = _function(row.name)
        return composed(self, row) if function is None else self._of_tensors(function)

    def constant(self, value: float | int | complex) -> torch.Tensor:
        if isinstance(value, complex):
            return torch.tensor(value, dtype=self.dtype.to_complex())
        return torch.tensor(float(value), dtype=self.dtype)

    def array(self, value: ArrayConst) -> torch.Tensor:
        entries = [entry.value for entry in value.values]
        return torch.tensor(entries, dtype=self._dtypes[value.dtype]).reshape(value.shape)

    def decide(self, predicate: Any) -> bool:
        return bool(predicate)

    def operand(self, value: Any) -> torch.Tensor:
        return value if isinstance(value, torch.Tensor) else torch.tensor(value)

    def imag(self, x: torch.Tensor) -> torch.Tensor:
        return torch.imag(x) if x.is_complex() else torch.zeros_like(x)

    def integer_pow(self, x: torch.Tensor, *, n: int) -> torch.Tensor:
        return torch.pow(x, n)

    def remainder(self, a: Any, b: Any) -> torch.Tensor:
        divisor = self.operand(b)
        if not bool(torch.all(divisor != 0)):
            raise DomainError(f"remainder by {divisor.tolist()}; the divisor must not be 0")
        return torch.remainder(self.operand(a), divisor)

    def astype(self, x: Any, *, dtype: ParamValue) -> torch.Tensor:
        return self.operand(x).to(self._dtypes[dtype])

    def index(self, x: torch.Tensor, *indices: int, pattern: ParamValue) -> torch.Tensor:
        return x[index_key(pattern, indices)]

    def index_update(self, x: torch.Tensor, value: Any, *indices: int, pattern: ParamValue) -> torch.Tensor:
        result = x.clone()
        result[index_key(pattern, indices)] = value
        return result
