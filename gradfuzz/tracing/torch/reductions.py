"""The ATen ops that reduce, scan, order and multiply."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

import gradfuzz.engine as engine
from gradfuzz.engine.rules.value import Value, apply
from gradfuzz.errors import UntraceableError
from gradfuzz.programs.language.types import DType
from gradfuzz.tracing.common.compositions import (
    as_kind,
    ascending,
    by_name,
    norm,
    variance,
)
from gradfuzz.tracing.torch import masks
from gradfuzz.tracing.torch.values import Handler, Masked, Out, operand

Axes = Sequence[int] | int | None


def times(x: Any, factor: Any) -> Any:
    return x if isinstance(factor, (int, float)) and factor == 1 else x * operand(factor)


# Reductions -------------------------------------------------------------------------------------------------


def axes_of(axes: Axes) -> tuple[int, ...] | None:
    """Torch's axes; an empty list means all."""
    if isinstance(axes, int):
        return (axes,)
    return tuple(axes) if axes else None


def _reduction(op: str, kind: DType | None = None) -> Handler:
    """`kind` is what the op is computed of, where that is not the dtype of the result."""

    def handler(out: Out, x: Any, dim: Axes = None, keepdim: bool = False, **options: Any) -> Any:
        x = as_kind(operand(x), kind or out.kind)
        return x if not np.ndim(x) else apply(op, x, axis=axes_of(dim), keepdims=keepdim)

    return handler


def _extreme(op: str, other: str, index: str) -> Handler:
    """max and min: of all, along an axis with the places, or of two tensors."""

    def handler(out: Out, x: Any, dim: Any = None, keepdim: bool = False) -> Any:
        x = out.cast(x)
        if out.kind == "bool":
            return _extreme_of_bools(op, index, x, dim, keepdim)
        if isinstance(dim, int):
            if not np.ndim(x):
                return x, np.int64(0)
            return apply(op, x, axis=dim, keepdims=keepdim), apply(index, x, axis=dim, keepdims=keepdim)
        if dim is not None:
            return apply(other, x, out.cast(dim))
        return x if not np.ndim(x) else apply(op, x)

    return handler


def _extreme_of_bools(op: str, index: str, x: Any, dim: Any, keepdim: bool) -> Any:
    """Whether one is true, or all are."""
    if dim is not None and not isinstance(dim, int):
        return apply("logical_or" if op == "amax" else "logical_and", x, operand(dim))
    found = "any" if op == "amax" else "all"
    if dim is None or not np.ndim(x):
        value = apply(found, x) if np.ndim(x) else x
        return value if dim is None else (value, np.int64(0))
    place = apply(index, as_kind(x, "int"), axis=dim, keepdims=keepdim)
    return apply(found, x, axis=(dim,), keepdims=keepdim), place


def _arg(op: str) -> Handler:
    def handler(out: Out, x: Any, dim: int | None = None, keepdim: bool = False) -> Any:
        x = operand(x)
        return np.int64(0) if not np.ndim(x) else apply(op, x, axis=dim, keepdims=keepdim)

    return handler


def _var(
    out: Out,
    x: Any,
    dim: Any = None,
    *options: Any,
    correction: float | None = 1,
    keepdim: bool = False,
    **more: Any,
) -> Any:
    if options or more or isinstance(dim, bool):
        raise UntraceableError("an old form of var and std; give dim, correction and keepdim")
    divisor = 1 if correction is None else correction
    return variance(operand(x), axis=axes_of(dim), correction=divisor, keepdims=keepdim)


def _std(out: Out, x: Any, dim: Any = None, *options: Any, **more: Any) -> Any:
    return engine.sqrt(_var(out, x, dim, *options, **more))


def _var_mean(
    out: Out, x: Any, dim: Any = None, *, correction: float | None = 1, keepdim: bool = False
) -> Any:
    mean = engine.mean(operand(x), axis=axes_of(dim), keepdims=keepdim)
    return _var(out, x, dim, correction=correction, keepdim=keepdim), mean


def _along(op: str) -> Handler:
    """A scan, softmax or the like along one axis."""

    def handler(out: Out, x: Any, dim: int, *rest: Any, **options: Any) -> Any:
        if isinstance(x, Masked) and op == "softmax":
            return masks.softmax(x, dim)
        x = out.cast(x)
        if np.ndim(x):
            return apply(op, x, axis=dim)
        return {"softmax": 1.0, "log_softmax": 0.0}.get(op, x)

    return handler


def _cumulative_extreme(sign: int) -> Handler:
    def handler(out: Out, x: Any, dim: int) -> Any:
        x = operand(x)
        if not np.ndim(x):
            return x, np.int64(0)
        up = x if sign > 0 else -x
        found = engine.cumulative_max(up, axis=dim)
        key = (slice(None),) * (dim % np.ndim(x))
        leading = [up[(*key, slice(0, k + 1))] for k in range(np.shape(x)[dim])]
        places = engine.concat([engine.argmax(p, axis=dim, keepdims=True) for p in leading], axis=dim)
        return found if sign > 0 else -found, places

    return handler


def _logcumsumexp(out: Out, x: Any, dim: int) -> Any:
    x = operand(x)
    return engine.log(engine.cumulative_sum(engine.exp(x), axis=dim)) if np.ndim(x) else x


def _sort(
    out: Out, x: Any, *options: Any, stable: bool | None = None, dim: int = -1, descending: bool = False
) -> Any:
    if options and isinstance(options[0], int) and not isinstance(options[0], bool):
        dim, descending = options[0], options[1] if len(options) > 1 else descending
    x = operand(x)
    return ascending(x, dim, descending=descending) if np.ndim(x) else (x, np.int64(0))


def _argsort(out: Out, x: Any, *options: Any, **more: Any) -> Any:
    return _sort(out, x, *options, **more)[1]


def _topk(out: Out, x: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """Torch promises no order where `sorted` is false."""
    x = operand(x)
    if not np.ndim(x):
        return x, np.int64(0)
    if not sorted and k > 1:
        raise UntraceableError("topk with sorted=False, whose order Torch does not promise")
    key = (*[slice(None)] * (dim % np.ndim(x)), slice(0, k))
    return tuple(part[key] for part in ascending(x, dim, descending=largest))


def _kth(out: Out, x: Any, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    x = operand(x)
    if not np.ndim(x):
        return x, np.int64(0)
    axis = dim % np.ndim(x)
    key = (*[slice(None)] * axis, slice(k - 1, k) if keepdim else k - 1)
    return tuple(part[key] for part in ascending(x, axis))


def _median(out: Out, x: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """The lower of two in the middle."""
    x = operand(x)
    if dim is None:
        row = engine.reshape(x, (math.prod(np.shape(x)),))
        return engine.sort(row, axis=0)[(math.prod(np.shape(x)) - 1) // 2]
    return _kth(out, x, (np.shape(x)[dim] + 1) // 2 if np.ndim(x) else 1, dim, keepdim)


def _vector_norm(
    out: Out, x: Any, ord: Any = 2, dim: Axes = None, keepdim: bool = False, **options: Any
) -> Any:
    axes = axes_of(dim) if np.ndim(operand(x)) else None
    return norm(operand(x), float(ord), axes=axes, keepdims=keepdim)


# Products ----------------------------------------------------------------------------------


def _matmul(out: Out, x: Any, y: Any) -> Any:
    return engine.matmul(out.cast(x), out.cast(y))


def _plus_product(out: Out, base: Any, x: Any, y: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """beta base + alpha x y."""
    product = times(_matmul(out, x, y), alpha)
    if beta == 1 and isinstance(base, torch.Tensor) and isinstance(product, Value):
        hidden = masks.plus(out, product, base)
        if hidden is not None:
            return hidden
    return product if beta == 0 else times(out.cast(base), beta) + product


HANDLERS: dict[str, Handler] = {
    **{name: _reduction(name) for name in ("sum", "mean", "prod", "amax", "amin")},
    **{name: _reduction(name, "bool") for name in ("all", "any")},
    "_is_all_true": _reduction("all", "bool"),
    "_is_any_true": _reduction("any", "bool"),
    "logsumexp": _reduction("logsumexp", "float"),
    "max": _extreme("amax", "maximum", "argmax"),
    "min": _extreme("amin", "minimum", "argmin"),
    **{name: _arg(name) for name in ("argmax", "argmin")},
    **by_name(_var, _std, _var_mean, _logcumsumexp, _sort, _argsort, _topk, _median),
    **dict.fromkeys(("softmax", "_softmax", "_safe_softmax"), _along("softmax")),
    **dict.fromkeys(("log_softmax", "_log_softmax"), _along("log_softmax")),
    "cumsum": _along("cumulative_sum"),
    "cumprod": _along("cumulative_prod"),
    "cummax": _cumulative_extreme(1),
    "cummin": _cumulative_extreme(-1),
    "kthvalue": _kth,
    "nanmedian": _median,
    "linalg_vector_norm": _vector_norm,
    **dict.fromkeys(("mm", "bmm", "mv", "dot", "matmul"), _matmul),
    "vdot": lambda out, x, y: engine.matmul(engine.conj(operand(x)), operand(y)),
    **dict.fromkeys(("addmm", "addmv", "baddbmm"), _plus_product),
}
"""By the name of an op without its overload."""
