"""The ops of the table on torch tensors. All are out of place, so that autograd and `torch.func` see them.

Linear algebra, tensor ops and elementwise functions run the very text that a reproducer shows.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch

from gradfuzz.errors import DomainError
from gradfuzz.oracles.emit import elementwise_source
from gradfuzz.oracles.emit.linalg_source import LinalgMethods, compiling
from gradfuzz.oracles.emit.tensor_source import TensorMethods
from gradfuzz.oracles.torch import linalg, linalg_source, tensors_source
from gradfuzz.oracles.torch.emit import torch_name
from gradfuzz.programs.arithmetic.elementwise import composed
from gradfuzz.programs.arithmetic.namespace import Namespace
from gradfuzz.programs.arithmetic.numpy_namespace import index_key
from gradfuzz.programs.language.axes import normalize_axes
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


class TorchNamespace(LinalgMethods, TensorMethods, Namespace):
    """Tensors of one precision; a scalar has no axes. Nothing is checked: 1/0 is inf, log(-1) is NaN."""

    compiled = staticmethod(
        compiling(linalg_source.write, {"torch": torch, **{f.__name__: f for f in linalg.HELPERS}})
    )
    tensor_op = staticmethod(compiling(tensors_source.write, {"torch": torch}))
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
            return self._of_tensors(getattr(torch, torch_name(name)))
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

    # Reductions. Torch reads an empty list of axes as "all", so it never gets one ---------------------------

    def _reduce(self, name: str, x: torch.Tensor, axis: ParamValue, keepdims: bool) -> torch.Tensor:
        axes = normalize_axes(axis, x.ndim, name)
        return getattr(torch, name)(x, dim=axes, keepdim=keepdims) if axes else x

    def sum(self, x: torch.Tensor, *, axis: ParamValue, keepdims: bool) -> torch.Tensor:
        return self._reduce("sum", x, axis, keepdims)

    def mean(self, x: torch.Tensor, *, axis: ParamValue, keepdims: bool) -> torch.Tensor:
        return self._reduce("mean", x, axis, keepdims)

    def prod(self, x: torch.Tensor, *, axis: ParamValue, keepdims: bool) -> torch.Tensor:
        if axis is None and not keepdims:
            return torch.prod(x)
        for each in reversed(normalize_axes(axis, x.ndim, "prod")):
            x = torch.prod(x, dim=each, keepdim=keepdims)
        return x

    def cumulative_sum(self, x: torch.Tensor, *, axis: int) -> torch.Tensor:
        return torch.cumsum(x, dim=axis)

    # Shapes -------------------------------------------------------------------------------------------------

    def astype(self, x: Any, *, dtype: ParamValue) -> torch.Tensor:
        return self.operand(x).to(self._dtypes[dtype])

    def reshape(self, x: Any, *, shape: Sequence[int]) -> torch.Tensor:
        return torch.reshape(self.operand(x), tuple(shape))

    def broadcast_to(self, x: Any, *, shape: Sequence[int]) -> torch.Tensor:
        return torch.broadcast_to(self.operand(x), tuple(shape))

    def permute_dims(self, x: Any, *, axes: Sequence[int]) -> torch.Tensor:
        return torch.permute(self.operand(x), tuple(axes))

    def flip(self, x: torch.Tensor, *, axis: int) -> torch.Tensor:
        return torch.flip(x, (axis,))

    def concat(self, *arrays: Any, axis: int) -> torch.Tensor:
        return torch.cat([self.operand(a) for a in arrays], dim=axis)

    def stack(self, *arrays: Any, axis: int) -> torch.Tensor:
        return torch.stack([self.operand(a) for a in arrays], dim=axis)

    def index(self, x: torch.Tensor, *indices: int, pattern: ParamValue) -> torch.Tensor:
        return x[index_key(pattern, indices)]

    def index_update(self, x: torch.Tensor, value: Any, *indices: int, pattern: ParamValue) -> torch.Tensor:
        result = x.clone()
        result[index_key(pattern, indices)] = value
        return result
