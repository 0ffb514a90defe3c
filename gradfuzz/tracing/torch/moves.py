"""The ATen ops that move entries: views, slices, joining, filling.

What an op with constant indices moves where is seen by running the op itself on the positions of the entries;
so no rule of indexing is written down twice.
"""

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
from gradfuzz.tracing.common.compositions import as_kind, at_positions, by_name, replaced_at, spread
from gradfuzz.tracing.common.convolutions import padded
from gradfuzz.tracing.torch import masks
from gradfuzz.tracing.torch.values import Handler, Masked, Out, operand


def positions(shape: Sequence[int]) -> torch.Tensor:
    return torch.arange(math.prod(shape)).reshape(tuple(shape))


def moved(out: Out, x: Any, *args: Any, **options: Any) -> Any:
    """The op on the positions of the entries of `x`, counted from 1, says where each entry of the result
    comes from; 0 is a zero that the op has put in.
    """
    if any(isinstance(leaf, Value) for leaf in (*args, *options.values())):
        raise UntraceableError("its indices depend on the arguments in a form that gradfuzz does not have")
    x = operand(x)
    numbers = (positions(np.shape(x)) + 1).double()  # some ops have no kernel for ints
    places = out.op(numbers, *args, **options)
    if isinstance(places, (tuple, list)):
        return tuple(_taken(x, p, out.kind) for p in places)
    return _taken(x, places, out.kind)


def _taken(x: Any, places: torch.Tensor, kind: DType) -> Any:
    from_x = places.long().numpy() - 1
    found = at_positions(x, np.maximum(from_x, 0))
    return found if np.all(from_x >= 0) else engine.where(from_x >= 0, found, as_kind(0, kind))


def _same(out: Out, x: Any, *args: Any, **options: Any) -> Any:
    return x if isinstance(x, Masked) else operand(x)


def _reshaped(out: Out, x: Any, *args: Any, **options: Any) -> Any:
    if isinstance(x, Masked):
        return Masked(engine.reshape(x.value, out.shape), x.mask.reshape(out.shape))
    return engine.reshape(operand(x), out.shape)


def _expanded(out: Out, x: Any, *args: Any, **options: Any) -> Any:
    return engine.broadcast_to(operand(x), out.shape)


def _permute(out: Out, x: Any, dims: Sequence[int]) -> Any:
    rank = np.ndim(operand(x))
    return engine.permute_dims(operand(x), tuple(d % rank for d in dims)) if rank else operand(x)


def _transpose(out: Out, x: Any, first: int, second: int) -> Any:
    rank = np.ndim(operand(x))
    if not rank:
        return operand(x)
    axes = list(range(rank))
    axes[first % rank], axes[second % rank] = axes[second % rank], axes[first % rank]
    return engine.permute_dims(operand(x), tuple(axes))


def _t(out: Out, x: Any) -> Any:
    return engine.permute_dims(operand(x), (1, 0)) if np.ndim(operand(x)) == 2 else operand(x)


def _key(shape: Sequence[int], dim: int, entry: Any) -> tuple[Any, ...]:
    return (*[slice(None)] * (dim % len(shape)), entry)


def _bounds(size: int, start: int | None, end: int | None) -> slice:
    first, last, _ = slice(start, end).indices(size)
    return slice(first, max(first, last))


def _select(out: Out, x: Any, dim: int, index: Any) -> Any:
    x = operand(x)
    return x[_key(np.shape(x), dim, index)]


def _slice(
    out: Out, x: Any, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Any:
    if step != 1:
        return moved(out, x, dim, start, end, step)
    x = operand(x)
    return x[_key(np.shape(x), dim, _bounds(np.shape(x)[dim], start, end))]


def _select_scatter(out: Out, x: Any, value: Any, dim: int, index: int) -> Any:
    return _updated(out, x, value, _key(out.shape, dim, index % out.shape[dim]))


def _slice_scatter(
    out: Out,
    x: Any,
    value: Any,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Any:
    if step != 1:
        places = torch.ops.aten.slice.Tensor(positions(out.shape), dim, start, end, step)
        return replaced_at(out.cast(x), places.numpy(), out.cast(value))
    return _updated(out, x, value, _key(out.shape, dim, _bounds(out.shape[dim], start, end)))


def _updated(out: Out, x: Any, value: Any, key: tuple[Any, ...]) -> Any:
    x, value = out.cast(x), out.cast(value)
    return engine.index_update(x, (*key, *[slice(None)] * (len(out.shape) - len(key))), value)


def scattered(view: Any) -> Handler:
    """`x` with a view of it replaced by a value."""

    def handler(out: Out, x: Any, value: Any, *args: Any, **options: Any) -> Any:
        places = view(positions(out.shape), *args, **options)
        return replaced_at(out.cast(x), places.numpy(), out.cast(value))

    return handler


def _flip(out: Out, x: Any, dims: Sequence[int]) -> Any:
    x = operand(x)
    for d in dims if np.ndim(x) else ():
        x = engine.flip(x, axis=d)
    return x


def _triangle(op: str) -> Handler:
    return lambda out, x, diagonal=0: apply(op, operand(x), k=diagonal)


def _pad(out: Out, x: Any, pad: Sequence[int], value: float = 0) -> Any:
    """A constant around `x`; negative amounts cut."""
    x = operand(x)
    sizes = np.shape(x)
    if min(pad, default=0) < 0:
        amounts = [(pad[2 * k], pad[2 * k + 1], 0) for k in range(len(pad) // 2)][::-1]
        return padded(x, as_kind(value, out.kind), [*[(0, 0, 0)] * (len(sizes) - len(amounts)), *amounts])
    before = [pad[2 * k] for k in range(len(pad) // 2)][::-1]
    whole = (slice(None),) * (len(sizes) - len(before))
    inner = tuple(slice(b, b + n) for b, n in zip(before, sizes[len(whole) :], strict=True))
    return engine.index_update(engine.broadcast_to(as_kind(value, out.kind), out.shape), (*whole, *inner), x)


# Joining ----------------------------------------------------------------------------------------------------


def _cat(out: Out, tensors: Sequence[Any], dim: int = 0) -> Any:
    """Torch leaves out tensors of the shape (0,)."""
    parts = [out.cast(t) for t in tensors]
    return engine.concat([p for p in parts if np.shape(p) != (0,) or len(out.shape) == 1], axis=dim)


def _stack(out: Out, tensors: Sequence[Any], dim: int = 0) -> Any:
    return engine.stack([out.cast(t) for t in tensors], axis=dim)


# Filling ----------------------------------------------------------------------------------------------------


def _like(out: Out, x: Any, *args: Any, **options: Any) -> Any:
    """An op that asks `x` only for its shape. What is not initialised is 0."""
    about_memory = ("memory_format", "device", "layout", "pin_memory", "dtype")
    options = {k: v for k, v in options.items() if k not in about_memory}
    if any(isinstance(a, Value) for a in (*args, *options.values())):
        raise UntraceableError(
            "an array filled with a number that depends on the arguments in a form that gradfuzz does not"
            " have"
        )
    dtypes = {"bool": torch.bool, "int": torch.int64, "float": torch.float64, "complex": torch.complex128}
    return operand(out.op(torch.zeros(np.shape(operand(x)), dtype=dtypes[out.kind]), *args, **options))


def _empty_like(out: Out, x: Any, *args: Any, **options: Any) -> Any:
    return as_kind(np.zeros(out.shape, bool), out.kind)


def _copy(out: Out, x: Any, value: Any, *args: Any, **options: Any) -> Any:
    """`value` in the place of the whole of `x`."""
    return spread(out.cast(value), out.shape)


def _masked_fill(out: Out, x: Any, mask: Any, value: Any) -> Any:
    hidden = masks.masked(out, mask, value, x)
    return engine.where(operand(mask), out.cast(value), operand(x)) if hidden is None else hidden


def _filled(out: Out, x: Any, value: Any, *args: Any, **options: Any) -> Any:
    if isinstance(value, Value):
        return spread(out.cast(value), out.shape)
    return _like(out, x, value, *args, **options)


_VIEWS = (
    *("as_strided", "diagonal", "repeat", "roll", "split", "split_with_sizes", "unbind", "unfold", "rot90"),
    *("im2col", "pixel_shuffle", "pixel_unshuffle", "select_copy", "slice_copy", "split_copy"),
    *("split_with_sizes_copy", "unbind_copy", "as_strided_copy", "expand_copy", "diagonal_copy"),
)
_SAMES = (
    *("alias", "clone", "contiguous", "detach", "lift", "lift_fresh", "lift_fresh_copy", "resolve_conj"),
    *("resolve_neg", "positive", "_lazy_clone"),
)
_RESHAPES = (
    *("view", "_unsafe_view", "reshape", "squeeze", "unsqueeze", "flatten", "_reshape_alias"),
    *("_reshape_alias_copy", "_reshape_copy"),
)
LIKES = ("zeros_like", "ones_like", "full_like", "new_zeros", "new_ones", "new_full", "zero")
"""Ops that make a constant of the shape of their argument."""

_EMPTIES = ("empty_like", "new_empty", "new_empty_strided", "_new_zeros_with_same_feature_meta")

SHAPE_ONLY = frozenset([*LIKES, *_EMPTIES, "fill"])
"""Ops that read no number of their argument."""

HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(_VIEWS, moved),
    **dict.fromkeys(_SAMES, _same),
    **dict.fromkeys(_RESHAPES, _reshaped),
    **dict.fromkeys(LIKES, _like),
    **dict.fromkeys(_EMPTIES, _empty_like),
    "fill": _filled,
    "expand": _expanded,
    **by_name(_permute, _transpose, _t, _select, _slice, _select_scatter, _slice_scatter, _flip, _cat),
    **by_name(_stack, _copy, _masked_fill),
    "diagonal_scatter": scattered(torch.ops.aten.diagonal.default),
    "as_strided_scatter": scattered(torch.ops.aten.as_strided.default),
    **{name: _triangle(name) for name in ("tril", "triu")},
    "constant_pad_nd": _pad,
}
"""By the name of an op without its overload."""
