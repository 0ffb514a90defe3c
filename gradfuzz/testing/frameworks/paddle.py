"""Functions of Paddle's tensors: paddle.grad in reverse mode. In forward mode paddle.incubate.autograd.jvp is
asked, which differentiates twice in reverse.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import paddle

from gradfuzz.oracles.base import Array, Mode
from gradfuzz.oracles.lacks import Lack
from gradfuzz.programs.language.precision import FORMATS
from gradfuzz.testing.frameworks.composed import ComposedFramework, Scalar
from gradfuzz.testing.frameworks.framework import Call, FrameworkName, NoModeError

_LACKS = (  # a function of a derivative has no derivative; jvp differentiates twice
    Lack("doesn't have any grad op", "paddle/fluid/eager", fwd=True, many=True),
    Lack("doesn't have any grad_op", "paddle/fluid/eager", fwd=True, many=True),
    Lack("does not support double grad", "paddle/fluid/eager", fwd=True, many=True),
)


class PaddleFunctions(ComposedFramework):
    name: FrameworkName = "paddle"
    version = str(paddle.__version__)
    lacks = _LACKS

    def is_array(self, value: Any) -> bool:
        return isinstance(value, paddle.Tensor)

    def array(self, value: Array, like: Any = None) -> Any:
        value = np.array(value)
        if value.dtype == FORMATS["bfloat16"].dtype:
            return paddle.to_tensor(value.astype(np.float32)).astype("bfloat16")
        return paddle.to_tensor(value)

    def like(self, value: Array, other: Any) -> Any:
        return paddle.to_tensor(np.array(value, np.float64)).astype(other.dtype)

    def numpy(self, value: Any) -> Array:
        if not isinstance(value, paddle.Tensor):
            return np.asarray(value)
        value = value.detach()
        if value.dtype == paddle.bfloat16:
            return np.asarray(value.astype("float32").numpy(), FORMATS["bfloat16"].dtype)
        return np.array(value.numpy())

    def pair(self, re: Any, im: Any) -> Any:
        return paddle.complex(re, im)

    def parts(self, z: Any) -> tuple[Any, Any]:
        return paddle.real(z), paddle.imag(z)

    def is_complex(self, value: Any) -> bool:
        return isinstance(value, paddle.Tensor) and bool(paddle.is_complex(value))

    def derivative(
        self,
        f: Call,
        xs: Sequence[Any],
        weights: Sequence[Array | None],
        directions: Sequence[Array],
        modes: Sequence[Mode],
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        if len(modes) > 1 and "fwd" in modes:
            raise NoModeError("Paddle's jvp is reverse mode twice; a mixture would be of third order")
        return super().derivative(f, xs, weights, directions, modes)

    def gradient(self, g: Scalar, xs: Sequence[Any]) -> Sequence[Any]:
        """Tensors that are part of a graph stay in it, and the gradient, too."""
        inner = any(not x.stop_gradient for x in xs)
        own = [x if not x.stop_gradient else _leaf(x) for x in xs]
        y = g(*own)
        if y.stop_gradient:
            return [paddle.zeros_like(x) for x in xs]
        found = paddle.grad([y], own, create_graph=inner, allow_unused=True)
        return [paddle.zeros_like(x) if s is None else s for s, x in zip(found, own, strict=True)]

    def slope(self, g: Scalar, xs: Sequence[Any], directions: Sequence[Any]) -> Any:
        return paddle.incubate.autograd.jvp(g, list(xs), list(directions))[1]

    def inner(self, xs: Sequence[Any], ys: Sequence[Any], like: Any) -> Any:
        terms = [paddle.sum(x * y.astype(like.dtype)) for x, y in zip(xs, ys, strict=True)]
        return sum(terms[1:], terms[0]) if terms else paddle.zeros([], like.dtype)


def _leaf(x: Any) -> Any:
    leaf = x.detach()
    leaf.stop_gradient = False
    return leaf
