"""MLX on its default device: mx.grad in reverse mode, mx.jvp in forward mode. Only its CPU has float64."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mlx.core as mx
import numpy as np

from gradfuzz.errors import UnsupportedError
from gradfuzz.libraries.composed import ComposedLibrary
from gradfuzz.libraries.library import Forms, LibraryName
from gradfuzz.oracles.base import Array
from gradfuzz.oracles.lacks import Lack
from gradfuzz.programs.language.precision import FORMATS

_LACKS = (  # "[Primitive::jvp] Not implemented for ..." and "[...::vjp] Not implemented"
    Lack("Not implemented", "mlx/primitives.cpp", fwd=True, many=True),
    Lack("not implemented", "mlx/primitives.cpp", fwd=True, many=True),
    Lack("not yet implemented", "mlx/primitives.cpp", fwd=True, many=True),
)


# Shown in scripts -------------------------------------------------------------------------------------------


def leaves(result: Any) -> list[Any]:
    if isinstance(result, dict):
        result = list(result.values())
    if isinstance(result, (list, tuple)):
        return [y for part in result for y in leaves(part)]
    return [result] if isinstance(result, mx.array) and mx.issubdtype(result.dtype, mx.inexact) else []


def total(y: Any) -> Any:
    return mx.sum(mx.real(y))


def real_parts(ys: Any) -> list[Any]:
    parts = mx.real, mx.imag
    return [p(y) for y in ys for p in (parts if y.dtype == mx.complex64 else (lambda y: y,))]


def doubled(x: Any) -> Any:
    return mx.stack([x, 1.25 * x])


def gradient(g: Any, xs: Any) -> Any:
    found = mx.grad(g, list(range(len(xs))))(*xs)
    return found if isinstance(found, (list, tuple)) else [found]


def slope(g: Any, xs: Any, directions: Any) -> Any:
    return mx.jvp(lambda *xs: [g(*xs)], list(xs), list(directions))[1][0]


# ------------------------------------------------------------------------------------------------------------


class MlxLibrary(ComposedLibrary):
    name: LibraryName = "mlx"
    version = str(mx.__version__)
    classes = (mx.array,)
    lacks = _LACKS
    refusals = (
        *("Not implemented", "not implemented", "not yet implemented", "not supported", "NYI"),
        *("does not support", "only supports", "Cannot calculate"),
    )
    forms = Forms(
        header="import mlx.core\nimport mlx.core as mx\nimport mlx.nn",
        sin="mx.sin",
        array="mx.array({entries}, {dtype})",
        zeros="mx.zeros({shape}, {dtype})",
        dtype="mx.{name}",
        pair="({re} + 1j * {im})",
        transposed="mx.swapaxes({x}, -1, -2)",
        expanded="mx.broadcast_to({x}, {shape})",
        parts="mx",
        mapped="mx.vmap({f})",
        compiled="mx.compile({f})",
        seed="mx.random.seed(0)",
    )
    roundoff = 2.0**-24  # sin, cos, exp, erf of float64 are right to seven digits (docs/trophies/mlx.md)

    def begin(self) -> None:
        mx.set_default_device(mx.cpu)

    def array(self, value: Array, like: Any = None) -> Any:
        """`UnsupportedError` for a dtype that MLX does not have."""
        value = np.asarray(value)
        name = value.dtype.name
        dtype = getattr(mx, "bool_" if name == "bool" else name, None)
        if dtype is None:
            raise UnsupportedError(f"MLX has no {name}")
        plain = np.float32 if name == "bfloat16" else value.dtype
        return mx.array(np.array(value, plain), dtype)

    def like(self, value: Array, other: Any) -> Any:
        return mx.array(np.array(value, np.float64), other.dtype)

    def numpy(self, value: Any) -> Array:
        if isinstance(value, mx.array) and value.dtype == mx.bfloat16:
            return np.asarray(np.array(value.astype(mx.float32)), FORMATS["bfloat16"].dtype)
        return np.array(value)

    def dtype_name(self, value: Any) -> str | None:
        return str(value).rpartition(".")[2] if isinstance(value, mx.Dtype) else super().dtype_name(value)

    def dtype_code(self, name: str) -> str:
        return super().dtype_code("bool_" if name == "bool" else name)

    def is_complex(self, value: Any) -> bool:
        return bool(getattr(value, "dtype", None) == mx.complex64)

    def inner(self, xs: Sequence[Any], ys: Sequence[Any], like: Any) -> Any:
        terms = [mx.sum(x * y.astype(like.dtype)) for x, y in zip(xs, ys, strict=True)]
        return sum(terms[1:], terms[0]) if terms else mx.zeros((), like.dtype)

    def check(self, f: Callable[..., Any], arrays: Sequence[Any]) -> None:
        mx.eval(f(*arrays))
