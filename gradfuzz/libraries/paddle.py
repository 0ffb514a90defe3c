"""Paddle, op by op (dygraph): paddle.grad in reverse mode. In forward mode it has
paddle.incubate.autograd.jvp, which differentiates twice in reverse.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import paddle

from gradfuzz.libraries.composed import ComposedLibrary, connected
from gradfuzz.libraries.library import ArrayFunction, Differentiated, Forms, LibraryName, NoModeError, Wanted
from gradfuzz.oracles.base import Array
from gradfuzz.oracles.lacks import Lack
from gradfuzz.programs.language.precision import FORMATS

_LACKS = (  # a function of a derivative has no derivative; jvp differentiates twice
    Lack("doesn't have any grad op", "paddle/fluid/eager", fwd=True, many=True),
    Lack("doesn't have any grad_op", "paddle/fluid/eager", fwd=True, many=True),
    Lack("does not support double grad", "paddle/fluid/eager", fwd=True, many=True),
)


# Shown in scripts -------------------------------------------------------------------------------------------


def leaves(result: Any) -> list[Any]:
    if isinstance(result, dict):
        result = list(result.values())
    if isinstance(result, (list, tuple)):
        return [y for part in result for y in leaves(part)]
    is_array = isinstance(result, paddle.Tensor)
    return [result] if is_array and (result.is_floating_point() or result.is_complex()) else []


def total(y: Any) -> Any:
    return paddle.sum(paddle.real(y) if paddle.is_complex(y) else y)


def real_parts(ys: Any) -> list[Any]:
    parts = paddle.real, paddle.imag
    return [p(y) for y in ys for p in (parts if paddle.is_complex(y) else (lambda y: y,))]


def doubled(x: Any) -> Any:
    return paddle.stack([x, 1.25 * x])


def gradient(g: Any, xs: Any) -> Any:
    inner = any(not x.stop_gradient for x in xs)  # part of a graph, in which the gradient stays, too
    own = [x.detach() if x.stop_gradient else x for x in xs]
    for x in own:
        x.stop_gradient = False
    y = g(*own)
    if y.stop_gradient:
        return [paddle.zeros_like(x) for x in xs]
    found = paddle.grad([y], own, create_graph=inner, allow_unused=True)
    return [paddle.zeros_like(x) if s is None else s for s, x in zip(found, own, strict=True)]


def slope(g: Any, xs: Any, directions: Any) -> Any:
    return paddle.incubate.autograd.jvp(g, list(xs), list(directions))[1]


# ------------------------------------------------------------------------------------------------------------


class PaddleLibrary(ComposedLibrary):
    name: LibraryName = "paddle"
    version = str(paddle.__version__)
    classes = (paddle.Tensor,)
    lacks = _LACKS
    refusals = (
        *("doesn't have any grad", "is not registered", "not support", "not implemented", "Unimplemented"),
        *("should be one of", "must be one of", "but got complex", "but received complex"),
        "grad grad only supports",
    )
    forms = Forms(
        header="import paddle",
        sin="paddle.sin",
        array="paddle.to_tensor({entries}, {dtype})",
        zeros="paddle.zeros({shape}, {dtype})",
        dtype="paddle.{name}",
        pair="paddle.complex({re}, {im})",
        transposed="paddle.transpose({x}, {axes})",
        expanded="paddle.expand({x}, {shape})",
        parts="paddle",
        seed="paddle.seed(0)",
        product="w * y.astype(paddle.float64)",
    )

    def refuses(self, message: str, error: Exception | None) -> bool:
        """Where a kernel is missed for no place at all, none is missing: a gradient was lost on the way."""
        return "with key (Undefined," not in message and super().refuses(message, error)

    def begin(self) -> None:
        paddle.set_device("cpu")

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

    def dtype_name(self, value: Any) -> str | None:
        is_own = isinstance(value, paddle.dtype)
        return str(value).rpartition(".")[2].lower() if is_own else super().dtype_name(value)

    def is_complex(self, value: Any) -> bool:
        return isinstance(value, paddle.Tensor) and bool(paddle.is_complex(value))

    def derivative(self, f: ArrayFunction, xs: Sequence[Any], wanted: Wanted) -> Differentiated:
        if len(wanted.modes) > 1 and "fwd" in wanted.modes:
            raise NoModeError("Paddle's jvp is reverse mode twice; a mixture would be of third order")
        return super().derivative(f, xs, wanted)

    def inner(self, xs: Sequence[Any], ys: Sequence[Any], like: Any) -> Any:
        terms = [paddle.sum(x * y.astype(like.dtype)) for x, y in zip(xs, ys, strict=True)]
        return sum(terms[1:], terms[0]) if terms else paddle.zeros([], like.dtype)

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
