"""Calls of Paddle's functions, executed one by one (dygraph)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import paddle

from gradfuzz.calls.libraries.connected import connected
from gradfuzz.calls.libraries.contract import Library
from gradfuzz.calls.libraries.numbers import nested
from gradfuzz.errors import UnsupportedError
from gradfuzz.fuzzer.results.call import Layout
from gradfuzz.oracles.base import Array, Mode
from gradfuzz.testing.frameworks.detect import framework_named
from gradfuzz.testing.frameworks.framework import FrameworkName
from gradfuzz.tracing.common.leaves import leaves_of


class PaddleLibrary(Library):
    name: FrameworkName = "paddle"
    refusals = (
        *("doesn't have any grad", "is not registered", "not support", "not implemented", "Unimplemented"),
        *("should be one of", "must be one of", "but got complex", "but received complex"),
        "grad grad only supports",
    )

    def refuses(self, message: str, error: Exception | None) -> bool:
        """Where a kernel is missed for no place at all, none is missing: a gradient was lost on the way."""
        return "with key (Undefined," not in message and super().refuses(message, error)

    def begin(self) -> None:
        paddle.set_device("cpu")

    def array(self, value: Array) -> Any:
        return framework_named("paddle").array(value)

    def dtype(self, name: str) -> Any:
        return getattr(paddle, name)

    def dtype_name(self, value: Any) -> str | None:
        is_own = isinstance(value, paddle.dtype)
        return str(value).rpartition(".")[2].lower() if is_own else super().dtype_name(value)

    def view(self, x: Any, layout: Layout) -> Any:
        if layout == "transposed":
            return paddle.transpose(x, [*range(x.ndim - 2), x.ndim - 1, x.ndim - 2])
        if layout == "stepped":
            return x[..., ::2]
        return paddle.expand(x, [2, *x.shape[1:]]) if layout == "expanded" else x

    def leaves(self, result: Any) -> list[Any]:
        found = [y for _, y in leaves_of(result) if isinstance(y, paddle.Tensor)]
        return [y for y in found if paddle.is_floating_point(y) or paddle.is_complex(y)]

    def fresh(self, x: Any) -> Any:
        return x.clone()

    def followed(self, f: Callable[..., Any], arrays: Sequence[Any]) -> tuple[int, ...] | None:
        """Also raises `UnsupportedError`: see `connected`."""
        own = [x.detach() for x in arrays]
        for x in own:
            x.stop_gradient = False
        nothing = [None] * len(own)
        slopes = [
            nothing if y.stop_gradient else paddle.grad([y], own, retain_graph=True, allow_unused=True)
            for y in f(*own)
        ]
        return connected("Paddle", slopes)

    def check(self, f: Callable[..., Any], arrays: Sequence[Any]) -> None:
        with paddle.no_grad():
            f(*arrays)

    def sin(self, x: Any) -> Any:
        return paddle.sin(x)

    def total(self, x: Any) -> Any:
        return paddle.sum(paddle.real(x) if paddle.is_complex(x) else x)

    def vectorized(self, f: Callable[..., Any]) -> Callable[..., Any]:
        raise UnsupportedError("Paddle does not map functions over an axis")

    def doubled(self, x: Any) -> Any:
        return paddle.stack([x, 1.25 * x])

    def seed(self) -> None:
        paddle.seed(0)

    header = "import paddle"
    sin_code, map_code = "paddle.sin", ""
    compile_code = ""
    seed_code = "paddle.seed(0)"
    product_code = 'w * y.astype("float64")'
    helpers_code = """

def leaves(result):
    if isinstance(result, (list, tuple)):
        return [y for part in result for y in leaves(part)]
    is_array = isinstance(result, paddle.Tensor)
    return [result] if is_array and (result.is_floating_point() or result.is_complex()) else []


def total(y):
    return paddle.sum(paddle.real(y) if paddle.is_complex(y) else y)


def real_parts(ys):
    parts = paddle.real, paddle.imag
    return [p(y) for y in ys for p in (parts if paddle.is_complex(y) else (lambda y: y,))]


def doubled(x):
    return paddle.stack([x, 1.25 * x])
"""
    slope_code = """
def slope_rev(g, xs, v):
    for x in xs:
        x.stop_gradient = False
    slopes = paddle.grad([g(*xs)], xs, create_graph=True, allow_unused=True)
    return sum(total(s.astype("float64") * w) for s, w in zip(slopes, v) if s is not None)


def slope_fwd(g, xs, v):
    v = [w.astype(x.dtype) for w, x in zip(v, xs)]
    return paddle.incubate.autograd.jvp(g, list(xs), v)[1]
"""

    def slope_code_in(self, modes: Sequence[Mode]) -> str:
        """A gradient that is not differentiated again is asked without its graph, as when it was judged."""
        return self.slope_code.replace("create_graph=True, ", "") if len(modes) == 1 else self.slope_code

    def array_code(self, value: Array) -> str:
        array = np.asarray(value)
        if not array.size:
            return f'paddle.zeros({list(array.shape)}, "{array.dtype.name}")'
        return f'paddle.to_tensor({nested(array)}, "{array.dtype.name}")'

    def dtype_code(self, name: str) -> str:
        return f"paddle.{name}"

    def view_code(self, x: str, layout: Layout, rank: int) -> str:
        if layout == "transposed":
            axes = [*range(rank - 2), rank - 1, rank - 2]
            return f"paddle.transpose({x}, {axes})"
        if layout == "stepped":
            return f"{x}[..., ::2]"
        return f"paddle.expand({x}, [2, *{x}.shape[1:]])" if layout == "expanded" else x

    def complex_code(self, re: str, im: str) -> str:
        return f"paddle.complex({re}, {im})"


LIBRARY = PaddleLibrary()
