"""The ops of the table on torch tensors. All are out of place, so that autograd and `torch.func` see them."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch

from gradfuzz.errors import DomainError
from gradfuzz.oracles.emit import elementwise_source
from gradfuzz.oracles.torch.linalg import TorchLinalg
from gradfuzz.oracles.torch.tensors import TorchTensors
from gradfuzz.programs.arithmetic.elementwise import composed
from gradfuzz.programs.arithmetic.namespace import Namespace
from gradfuzz.programs.arithmetic.numpy_namespace import index_key
from gradfuzz.programs.language.axes import normalize_axes
from gradfuzz.programs.language.functions import FUNCTIONS, Function
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


class TorchNamespace(TorchLinalg, TorchTensors, Namespace):
    """Tensors of one precision; a scalar has no axes. Nothing is checked: 1/0 is inf, log(-1) is NaN."""

    pow = staticmethod(torch.pow)
    abs = staticmethod(torch.abs)
    conj = staticmethod(torch.conj)
    real = staticmethod(torch.real)
    sign = staticmethod(torch.sign)
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

    def elementwise(self, row: Function) -> Callable[..., Any]:
        function = _function(row.name)
        if function is None:
            return composed(self, row)
        return lambda *args, **params: function(*map(self.tensor, args), **params)

    def constant(self, value: float | int | complex) -> torch.Tensor:
        if isinstance(value, complex):
            return torch.tensor(value, dtype=self.dtype.to_complex())
        return torch.tensor(float(value), dtype=self.dtype)

    def array(self, value: ArrayConst) -> torch.Tensor:
        return torch.tensor([entry.value for entry in value.values], dtype=self._dtypes[value.dtype]).reshape(
            value.shape
        )

    def decide(self, predicate: Any) -> bool:
        return bool(predicate)

    def tensor(self, value: Any) -> torch.Tensor:
        """`value`, which may be a plain int or bool, as a tensor."""
        return value if isinstance(value, torch.Tensor) else torch.tensor(value)

    def maximum(self, a: Any, b: Any) -> torch.Tensor:
        return torch.maximum(self.tensor(a), self.tensor(b))

    def minimum(self, a: Any, b: Any) -> torch.Tensor:
        return torch.minimum(self.tensor(a), self.tensor(b))

    def complex(self, re: torch.Tensor, im: torch.Tensor) -> torch.Tensor:
        return torch.complex(re, im)

    def imag(self, x: torch.Tensor) -> torch.Tensor:
        return torch.imag(x) if x.is_complex() else torch.zeros_like(x)

    def integer_pow(self, x: torch.Tensor, *, n: int) -> torch.Tensor:
        return torch.pow(x, n)

    def remainder(self, a: Any, b: Any) -> torch.Tensor:
        divisor = self.tensor(b)
        if not bool(torch.all(divisor != 0)):
            raise DomainError(f"remainder by {divisor.tolist()}; the divisor must not be 0")
        return torch.remainder(self.tensor(a), divisor)

    def where(self, condition: Any, a: Any, b: Any) -> torch.Tensor:
        return torch.where(self.tensor(condition), a, b)

    def logical_and(self, a: Any, b: Any) -> torch.Tensor:
        return torch.logical_and(self.tensor(a), self.tensor(b))

    def logical_or(self, a: Any, b: Any) -> torch.Tensor:
        return torch.logical_or(self.tensor(a), self.tensor(b))

    def logical_not(self, a: Any) -> torch.Tensor:
        return torch.logical_not(self.tensor(a))

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
        return self.tensor(x).to(self._dtypes[dtype])

    def reshape(self, x: Any, *, shape: Sequence[int]) -> torch.Tensor:
        return torch.reshape(self.tensor(x), tuple(shape))

    def broadcast_to(self, x: Any, *, shape: Sequence[int]) -> torch.Tensor:
        return torch.broadcast_to(self.tensor(x), tuple(shape))

    def permute_dims(self, x: Any, *, axes: Sequence[int]) -> torch.Tensor:
        return torch.permute(self.tensor(x), tuple(axes))

    def flip(self, x: torch.Tensor, *, axis: int) -> torch.Tensor:
        return torch.flip(x, (axis,))

    def concat(self, *arrays: Any, axis: int) -> torch.Tensor:
        return torch.cat([self.tensor(a) for a in arrays], dim=axis)

    def stack(self, *arrays: Any, axis: int) -> torch.Tensor:
        return torch.stack([self.tensor(a) for a in arrays], dim=axis)

    def index(self, x: torch.Tensor, *indices: int, pattern: ParamValue) -> torch.Tensor:
        return x[index_key(pattern, indices)]

    def index_update(self, x: torch.Tensor, value: Any, *indices: int, pattern: ParamValue) -> torch.Tensor:
        result = x.clone()
        result[index_key(pattern, indices)] = value
        return result
