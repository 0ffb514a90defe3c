"""ATen ops that are one kernel to Torch, most of which only derivatives call: what their sources compute.

What a kernel does with numbers is confirmed where its formula is used (`fuzzer.proving`): the library's own
answer is to be that of the graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import gradfuzz.engine as engine
from gradfuzz.engine import linalg
from gradfuzz.engine.rules.value import Value, apply
from gradfuzz.errors import UntraceableError
from gradfuzz.tracing.common.compositions import at_positions, by_name, recorded, replaced_at
from gradfuzz.tracing.common.incomplete import zeta
from gradfuzz.tracing.torch import masks
from gradfuzz.tracing.torch.moves import positions
from gradfuzz.tracing.torch.values import Handler, Masked, Out, operand
from gradfuzz.tracing.torch.windows import linear

# Distances --------------------------------------------------------------------------------------------------


def _slope_of_norm(apart: Any, distance: Any, p: float) -> Any:
    """The derivative of the norm of order p, which is 1 or more, of the last axis."""
    if p == 1.0:
        return engine.sign(apart)
    ratio = apart / engine.reshape(distance, (*np.shape(distance), 1))
    if p == 2.0:
        return ratio
    if p < 1.0 or not float(p).is_integer():
        raise UntraceableError(f"distances in the norm of order {p}")
    return engine.sign(ratio) * apply("integer_pow", engine.abs(ratio), n=int(p) - 1)


def _cdist_backward(out: Out, cotangent: Any, x: Any, y: Any, p: float, distance: Any) -> Any:
    """What the distances of the rows of x from those of y hand back to x."""
    x, y, cotangent = operand(x), operand(y), operand(cotangent)
    rows = engine.reshape(x, (*np.shape(x)[:-1], 1, np.shape(x)[-1]))
    apart = rows - engine.reshape(y, (*np.shape(y)[:-2], 1, *np.shape(y)[-2:]))
    weights = engine.reshape(cotangent, (*np.shape(cotangent), 1))
    return engine.sum(weights * _slope_of_norm(apart, operand(distance), p), axis=-2)


def _pairs(x: Any) -> Any:
    """The rows that are less others: a matrix that makes all differences of rows, each later one subtracted
    from each earlier one.
    """
    first, second = np.triu_indices(np.shape(x)[0], 1)
    rows = np.eye(np.shape(x)[0])
    return rows[first] - rows[second]


def _pdist_forward(out: Out, x: Any, p: float = 2.0) -> Any:
    order: Any = int(p) if float(p).is_integer() else None
    if order is None or p < 1.0:
        raise UntraceableError(f"distances in the norm of order {p}")
    return linalg.vector_norm(engine.matmul(_pairs(operand(x)), operand(x)), ord=order, axis=-1)


def _pdist_backward(out: Out, cotangent: Any, x: Any, p: float, distance: Any) -> Any:
    pairs, cotangent = _pairs(operand(x)), operand(cotangent)
    slope = _slope_of_norm(engine.matmul(pairs, operand(x)), operand(distance), p)
    return engine.matmul(pairs.T, engine.reshape(cotangent, (*np.shape(cotangent), 1)) * slope)


# Parts of networks ------------------------------------------------------------------------------------------


def _masked_softmax(out: Out, x: Any, mask: Any, dim: int = -1, kind: int | None = None) -> Any:
    """A softmax of what a constant mask does not hide."""
    if isinstance(mask, Value):
        raise UntraceableError("a mask that depends on the arguments")
    hidden = np.broadcast_to(np.asarray(operand(mask)), out.shape)
    return masks.softmax(Masked(recorded(operand(x)), hidden), dim)


def _masked_softmax_backward(out: Out, cotangent: Any, y: Any, mask: Any, dim: int = -1) -> Any:
    y, cotangent = operand(y), operand(cotangent)
    return y * (cotangent - engine.sum(y * cotangent, axis=dim, keepdims=True))


def _weight_norm_interface_backward(
    out: Out, cotangent: Any, v: Any, g: Any, norms: Any, dim: int
) -> tuple[Any, Any]:
    """What g v / |v| hands back to v and g, where |v| is taken over all axes but one."""
    cotangent, v, g, norms = map(operand, (cotangent, v, g, norms))
    axes = tuple(a for a in range(np.ndim(v)) if a != dim % np.ndim(v))
    along = engine.sum(cotangent * v, axis=axes, keepdims=True)
    return g / norms * (cotangent - v * along / (norms * norms)), along / norms


def _multi_margin_loss_backward(
    out: Out,
    cotangent: Any,
    x: Any,
    target: Any,
    p: float,
    margin: float,
    weight: Any = None,
    reduction: int = 1,
) -> Any:
    """What the mean of max(0, margin - x[target] + x[j])^p over j hands back to rows x."""
    x, target = operand(x), operand(target)
    if np.ndim(x) != _MATRIX or isinstance(target, Value) or weight is not None or p not in (1, 2):
        raise UntraceableError(
            "a margin loss of one row, with weights, or of targets that depend on the arguments"
        )
    rows, columns = np.shape(x)
    chosen = np.eye(columns)[np.asarray(target)]
    room = margin - engine.sum(x * chosen, axis=1, keepdims=True) + x
    slope = engine.where(room > 0.0, 1.0 if p == 1 else 2.0 * room, 0.0) * (1.0 - chosen)
    slope = (slope - engine.sum(slope, axis=1, keepdims=True) * chosen) / float(columns)
    cotangent = operand(cotangent)
    if reduction == _MEAN:
        return slope * cotangent / float(rows)
    return slope * (engine.reshape(cotangent, (rows, 1)) if np.ndim(cotangent) else cotangent)


_MATRIX = 2
_MEAN = 1
"""Torch's code of a loss that is a mean."""


# Places -----------------------------------------------------------------------------------------------------


def _index_reduce(
    out: Out, x: Any, dim: int, index: Any, source: Any, reduce: str, *, include_self: bool = True
) -> Any:
    """Of constant places, none of which is named twice."""
    if (
        isinstance(index, Value)
        or not include_self
        or len(np.unique(operand(index))) != np.size(operand(index))
    ):
        raise UntraceableError("a reduction into places that depend on the arguments, or are named twice")
    x, source = operand(x), operand(source)
    places = positions(np.shape(x)).index_select(dim, index).numpy()
    old = at_positions(x, places)
    new = (old + source) / 2.0 if reduce == "mean" else apply(_REDUCED[reduce], old, source)
    return replaced_at(x, places, new)


_REDUCED = {"prod": "multiply", "amax": "maximum", "amin": "minimum"}


def _segments(out: Out, x: Any, *args: Any, **options: Any) -> Any:
    """Sums and means of segments, and what they hand back, are linear."""
    reduce = next(a for a in args if isinstance(a, str))
    if reduce not in ("sum", "mean"):
        raise UntraceableError(f"the reduction {reduce!r} of segments")
    return linear(out, x, *args, **options)


# Matrices ---------------------------------------------------------------------------------------------------


def _addbmm(out: Out, x: Any, first: Any, second: Any, *, beta: float = 1, alpha: float = 1) -> Any:
    total = engine.sum(engine.matmul(operand(first), operand(second)), axis=0)
    return operand(x) * float(beta) + total * float(alpha)


def _trilinear(
    out: Out,
    x: Any,
    y: Any,
    z: Any,
    of_x: Sequence[int],
    of_y: Sequence[int],
    of_z: Sequence[int],
    summed: Sequence[int],
    unroll: int = 1,
) -> Any:
    """The product of three arrays, each with new axes, summed over some axes."""

    def widened(t: Any, new: Sequence[int]) -> Any:
        t = operand(t)
        sizes = iter(np.shape(t))
        return engine.reshape(t, tuple(1 if a in new else next(sizes) for a in range(np.ndim(t) + len(new))))

    product = widened(x, of_x) * widened(y, of_y) * widened(z, of_z)
    return engine.sum(product, axis=tuple(summed)) if summed else product


def _special_zeta(out: Out, order: Any, x: Any) -> Any:
    """Of constant whole orders above 1."""
    order = operand(order)
    if (
        isinstance(order, Value)
        or np.any(np.asarray(order) != np.round(order))
        or np.any(np.asarray(order) < _LEAST)
    ):
        raise UntraceableError("zeta of an order that is not a constant whole number above 1")
    return zeta(order, out.cast(x))


_LEAST = 2

_LINEAR = (
    "masked_scatter_backward",
    *(f"replication_pad{n}d_backward" for n in (1, 2, 3)),
    *(f"upsample_nearest{n}d_backward" for n in (1, 2, 3)),
    *(f"_upsample_nearest_exact{n}d_backward" for n in (1, 2, 3)),
    *("upsample_linear1d_backward", "upsample_bilinear2d_backward", "upsample_trilinear3d_backward"),
    "upsample_bicubic2d_backward",
    *(f"_upsample_{how}2d_aa" for how in ("bilinear", "bicubic", "lanczos")),
    *(f"_upsample_{how}2d_aa_backward" for how in ("bilinear", "bicubic", "lanczos")),
)

HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(_LINEAR, linear),
    **dict.fromkeys(("segment_reduce", "_segment_reduce_backward"), _segments),
    **{
        f"_{name}": handler
        for name, handler in by_name(
            _cdist_backward,
            _pdist_forward,
            _pdist_backward,
            _masked_softmax,
            _masked_softmax_backward,
            _weight_norm_interface_backward,
            _trilinear,
        ).items()
    },
    **by_name(_multi_margin_loss_backward, _index_reduce, _addbmm, _special_zeta),
}
"""By the name of an op without its overload."""
