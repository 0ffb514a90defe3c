"""The ATen ops that index, gather and scatter by tensors. Where places are written that may be the same, and
which write counts is open, there is no program.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

import gradfuzz.engine as engine
from gradfuzz.engine.rules.functions import from_front
from gradfuzz.engine.rules.value import Value, apply
from gradfuzz.errors import UntraceableError
from gradfuzz.tracing.common.compositions import (
    as_kind,
    by_name,
    flat,
    inside,
    kind_of,
    recorded,
    replaced_at,
    spread,
)
from gradfuzz.tracing.torch.moves import moved, positions, scattered
from gradfuzz.tracing.torch.values import Handler, Out, operand
from gradfuzz.tracing.torch.windows import linear

_MAY_BE_ONE = (
    "to places that depend on the arguments: two of them may be one, and which write counts is not defined"
)


def _index_select(out: Out, x: Any, dim: int, index: Any) -> Any:
    x, index = operand(x), operand(index)
    if not np.ndim(x):
        return x
    return engine.take(x, index if np.ndim(index) else engine.reshape(index, (1,)), axis=dim)


def _within(x: Any, index_shape: Sequence[int], dim: int) -> Any:
    """`x` cut to the sizes of an index, but for its axis: gather and scatter want no more of it."""
    return x[tuple(slice(None) if a == dim else slice(0, n) for a, n in enumerate(index_shape))]


def _gather(out: Out, x: Any, dim: int, index: Any, **options: Any) -> Any:
    x, index = operand(x), operand(index)
    if not np.ndim(x):
        return x
    dim %= np.ndim(x)
    sizes = tuple(np.shape(index))
    if any(m != n for a, (m, n) in enumerate(zip(np.shape(x), sizes, strict=True)) if a != dim):
        x = _within(x, sizes, dim)
    return engine.take_along_axis(x, index, axis=dim)


def _linear(index: Any, sizes: Sequence[int], dim: int) -> Any:
    """Where in row-major order the entries stand that a gather along `dim` reads."""
    strides = [math.prod(sizes[a + 1 :]) for a in range(len(sizes))]
    places = np.indices(tuple(np.shape(index)))
    others = (places[a] * strides[a] for a in range(len(sizes)) if a != dim)
    rest = sum(others, np.zeros(np.shape(index), np.int64))
    return from_front(index, sizes[dim]) * strides[dim] + rest


def _scatter_add(out: Out, x: Any, dim: int, index: Any, source: Any) -> Any:
    x, index, source = out.cast(x), operand(index), out.cast(source)
    if not np.ndim(x):
        return x + engine.reshape(source, ())
    return _added(x, dim % np.ndim(x), index, _cut(source, np.shape(index)))


def _cut(source: Any, sizes: Sequence[int]) -> Any:
    return source if tuple(np.shape(source)) == tuple(sizes) else source[tuple(slice(0, n) for n in sizes)]


def _added(x: Any, dim: int, index: Any, source: Any) -> Any:
    sizes = np.shape(x)
    total = engine.scatter_add(flat(x), flat(_linear(index, sizes, dim)), flat(source), axis=0)
    return engine.reshape(total, sizes)


def _scatter(out: Out, x: Any, dim: int, index: Any, source: Any, *, reduce: str | None = None) -> Any:
    if reduce is not None:
        raise UntraceableError(f"scatter with reduce={reduce!r}; gradfuzz has scatter and scatter_add")
    x, index, source = out.cast(x), operand(index), out.cast(source)
    if not np.ndim(x):
        return engine.reshape(source, ())
    dim %= np.ndim(x)
    sizes = tuple(np.shape(index))
    source = engine.broadcast_to(source, sizes) if not np.ndim(source) else _cut(source, sizes)
    if not isinstance(index, Value):
        return replaced_at(x, _linear(index, np.shape(x), dim), source)
    return written(x, _linear(index, np.shape(x), dim), source, unique=sizes[dim] == 1)


def written(x: Any, places: Any, source: Any, *, unique: bool = False) -> Any:
    """`x` with `source` at places that depend on the arguments, counted in row-major order; where two of them
    are one, it is not defined.
    """
    kind, size, row = kind_of(x), math.prod(np.shape(x)), flat(places)
    if kind == "bool":
        return written(as_kind(x, "int"), places, as_kind(source, "int"), unique=unique) > 0
    if kind == "int" and not unique:
        raise UntraceableError(f"an assignment of ints {_MAY_BE_ONE}")
    ones = np.ones(math.prod(np.shape(places)), np.int64)
    count = engine.scatter_add(np.zeros(size, np.int64), row, ones, axis=0)
    zeros = np.zeros(size, np.int64) if kind == "int" else recorded(np.zeros(size))
    added = engine.scatter_add(zeros, row, flat(source), axis=0)
    result = engine.where(count > 0, added, flat(x))
    return engine.reshape(result if unique else inside(count <= 1, result), np.shape(x))


def _scatter_reduce(
    out: Out, x: Any, dim: int, index: Any, source: Any, reduce: str, *, include_self: bool = True
) -> Any:
    if reduce != "sum" or not include_self:
        raise UntraceableError(
            f"scatter_reduce with reduce={reduce!r}, include_self={include_self}; gradfuzz has the sum that"
            " includes the tensor itself"
        )
    return _scatter_add(out, x, dim, index, source)


def _index_add(out: Out, x: Any, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Any:
    x, index, source = out.cast(x), operand(index), out.cast(source)
    if not np.ndim(x):
        raise UntraceableError("index_add to a scalar")
    return engine.scatter_add(x, index, source * alpha if alpha != 1 else source, axis=dim)


def _index(out: Out, x: Any, indices: Sequence[Any]) -> Any:
    if not any(isinstance(i, Value) for i in (x, *indices)):
        raise AssertionError("constants are computed by Torch")
    if not any(isinstance(i, Value) for i in indices):
        return moved(out, x, list(indices))
    x, axis, index = operand(x), *_one_index(indices, np.shape(operand(x)))
    if isinstance(axis, int):
        return engine.take(x, index, axis=axis)
    rows = engine.reshape(x, (math.prod(np.shape(x)[: len(axis)]), *np.shape(x)[len(axis) :]))
    return engine.take(rows, index, axis=0)


def _one_index(indices: Sequence[Any], sizes: Sequence[int]) -> tuple[Any, Any]:
    """Several index tensors as one: (axis, index), or (the leading axes, an index into them in row-major
    order).
    """
    given = [(a, operand(i)) for a, i in enumerate(indices) if i is not None]
    if any(kind_of(index) == "bool" for _, index in given):
        raise UntraceableError(
            "a mask as an index makes an array whose size depends on numbers; use torch.where"
        )
    if len(given) == 1:
        return given[0]
    axes = tuple(a for a, _ in given)
    if axes != tuple(range(len(axes))):
        raise UntraceableError("several index tensors that do not stand first; gradfuzz has leading ones")
    total: Any = 0
    for a, index in given:
        total = total * sizes[a] + from_front(index, sizes[a]) if a else from_front(index, sizes[a])
    return axes, total


def _index_put(
    out: Out, x: Any, indices: Sequence[Any], values: Any, accumulate: bool = False, unsafe: bool = False
) -> Any:
    x, values = out.cast(x), out.cast(values)
    sizes = np.shape(x)
    if not any(isinstance(i, Value) for i in indices):
        places = torch.ops.aten.index.Tensor(positions(sizes), list(indices)).numpy()
        if not accumulate:
            return replaced_at(x, places, values)
        entries = flat(spread(values, places.shape))
        return engine.reshape(engine.scatter_add(flat(x), places.ravel(), entries, axis=0), sizes)
    mask, *more = indices
    if not more and mask.type.dtype == "bool" and math.prod(np.shape(values)) == 1 and not accumulate:
        mask = engine.reshape(mask, (*mask.shape, *[1] * (len(sizes) - len(mask.shape))))
        return engine.where(mask, engine.reshape(values, ()), x)
    axis, index = _one_index(indices, sizes)
    axis = (0,) if axis == 0 else axis
    if isinstance(axis, int):
        raise UntraceableError("an assignment by an index tensor that does not stand first")
    rest = sizes[len(axis) :]
    if not accumulate:
        inner = np.arange(math.prod(rest)).reshape(rest)
        start = engine.reshape(index, (*np.shape(index), *[1] * len(rest))) * math.prod(rest)
        places = apply("add", start, inner) if rest else index
        return written(x, places, spread(values, (*np.shape(index), *rest)))
    rows = engine.reshape(x, (math.prod(sizes[: len(axis)]), *rest))
    added = engine.scatter_add(rows, index, spread(values, (*np.shape(index), *rest)), axis=0)
    return engine.reshape(added, sizes)


def _put(out: Out, x: Any, index: Any, source: Any, accumulate: bool = False) -> Any:
    """`source` at places of `x`, seen as one row."""
    x, source, index = out.cast(x), flat(out.cast(source)), operand(index)
    places = flat(from_front(index, math.prod(out.shape)))
    if accumulate:
        return engine.reshape(engine.scatter_add(flat(x), places, source, axis=0), out.shape)
    if isinstance(index, Value):
        return written(x, places, source)
    return replaced_at(x, places, source)


def _masked_scatter(out: Out, x: Any, mask: Any, source: Any) -> Any:
    """The first entries of `source` where a constant mask is true."""
    if isinstance(mask, Value):
        raise UntraceableError("a mask that depends on the arguments chooses how many entries are read")
    places = np.flatnonzero(np.broadcast_to(operand(mask), out.shape))
    return replaced_at(spread(out.cast(x), out.shape), places, flat(out.cast(source))[: len(places)])


def _embedding_bag(out: Out, weight: Any, indices: Any, *args: Any) -> Any:
    """Sums or means of rows at constant places; nothing else that it gives depends on the numbers."""
    mode = args[2] if len(args) > 2 else 0
    if mode == _GREATEST or any(isinstance(a, Value) for a in (indices, *args)):
        raise UntraceableError("bags whose rows or weights depend on the arguments")
    others = out.op(torch.zeros(np.shape(operand(weight)), dtype=torch.float64), indices, *args)[1:]
    return (linear(out, weight, indices, *args), *others)


_GREATEST = 2
"""Torch's code of bags that take the greatest entries."""


def _index_copy(out: Out, x: Any, dim: int, index: Any, value: Any) -> Any:
    if isinstance(index, Value):
        raise UntraceableError(f"an assignment {_MAY_BE_ONE}")
    return scattered(torch.index_select)(out, x, value, dim, index)


HANDLERS: dict[str, Handler] = {
    **by_name(_index_select, _gather, _scatter_add, _scatter, _scatter_reduce, _index_add, _index),
    **by_name(_put, _masked_scatter),
    **dict.fromkeys(("_embedding_bag", "_embedding_bag_forward_only"), _embedding_bag),
    "_embedding_bag_dense_backward": linear,
    "embedding": lambda out, weight, indices, *options: engine.take(
        operand(weight), operand(indices), axis=0
    ),
    "take": lambda out, x, index: engine.take(flat(operand(x)), operand(index), axis=0),
    **dict.fromkeys(("index_put", "_unsafe_index_put"), _index_put),
    **dict.fromkeys(("index_fill", "index_copy"), _index_copy),
}
"""By the name of an op without its overload."""
