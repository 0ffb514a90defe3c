"""Functions of MLX's arrays, on its default device: mx.grad in reverse mode, mx.jvp in forward mode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mlx.core as mx
import numpy as np

from gradfuzz.errors import UnsupportedError
from gradfuzz.oracles.base import Array
from gradfuzz.oracles.lacks import Lack
from gradfuzz.programs.language.precision import FORMATS
from gradfuzz.testing.frameworks.composed import ComposedFramework, Scalar
from gradfuzz.testing.frameworks.framework import FrameworkName

_LACKS = (  # "[Primitive::jvp] Not implemented for ..." and "[...::vjp] Not implemented"
    Lack("Not implemented", "mlx/primitives.cpp", fwd=True, many=True),
    Lack("not implemented", "mlx/primitives.cpp", fwd=True, many=True),
    Lack("not yet implemented", "mlx/primitives.cpp", fwd=True, many=True),
)


class MlxFunctions(ComposedFramework):
    name: FrameworkName = "mlx"
    version = str(mx.__version__)
    lacks = _LACKS
    roundoff = 2.0**-24  # sin, cos, exp, erf of float64 are right to seven digits (docs/trophies/mlx.md)

    def is_array(self, value: Any) -> bool:
        return isinstance(value, mx.array)

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

    def pair(self, re: Any, im: Any) -> Any:
        return re + 1j * im

    def parts(self, z: Any) -> tuple[Any, Any]:
        return mx.real(z), mx.imag(z)

    def is_complex(self, value: Any) -> bool:
        return getattr(value, "dtype", None) == mx.complex64

    def gradient(self, g: Scalar, xs: Sequence[Any]) -> Sequence[Any]:
        found = mx.grad(g, list(range(len(xs))))(*xs)
        return found if isinstance(found, (list, tuple)) else [found]

    def slope(self, g: Scalar, xs: Sequence[Any], directions: Sequence[Any]) -> Any:
        return mx.jvp(lambda *xs: [g(*xs)], list(xs), list(directions))[1][0]

    def inner(self, xs: Sequence[Any], ys: Sequence[Any], like: Any) -> Any:
        terms = [mx.sum(x * y.astype(like.dtype)) for x, y in zip(xs, ys, strict=True)]
        return sum(terms[1:], terms[0]) if terms else mx.zeros((), like.dtype)
