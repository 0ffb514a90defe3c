"""Reverse rules of the tensor ops that need more than a line. Their table is in `vjp_rules`.

Where entries tie for an extreme they share its cotangent equally. Windows and convolutions are transposed by
spreading the cotangent out by the strides and sliding over it the other way round.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradfuzz.engine.rules.functions import (
    conj,
    exp,
    expand_reduced,
    flip,
    permute_dims,
    reshape,
    stack,
    sum,
    where,
)
from gradfuzz.engine.rules.linalg.matrices import column, row, zeros
from gradfuzz.engine.rules.tensor_functions import argsort
from gradfuzz.engine.rules.tensor_functions import cumulative_prod as running_product
from gradfuzz.engine.rules.value import apply
from gradfuzz.programs.language.windows import padding_of, strides_of


def _to_last(x: Any, axis: int) -> Any:
    """`x` with an axis moved to the end."""
    order = (*(a for a in range(x.ndim) if a != axis), axis)
    return permute_dims(x, order) if axis != x.ndim - 1 else x


def _from_last(x: Any, axis: int) -> Any:
    """The other way round."""
    order = (*range(axis), x.ndim - 1, *range(axis, x.ndim - 1))
    return permute_dims(x, order) if axis != x.ndim - 1 else x


# Extremes and choices


def extreme(g: Any, ans: Any, x: Any, *, axis: Any, keepdims: Any) -> Any:
    """Those equal to the extreme share the cotangent."""
    chosen = x == expand_reduced(ans, x.shape, axis, keepdims)
    ties = sum(where(chosen, 1.0, 0.0), axis=axis, keepdims=keepdims)
    return where(chosen, expand_reduced(g / ties, x.shape, axis, keepdims), 0.0)


def cumulative_max(g: Any, ans: Any, x: Any, *, axis: int) -> Any:
    """Each result's cotangent goes to those of the entries so far that equal it: pairs of an entry (row) and
    a result (column).
    """
    axis %= x.ndim
    n = x.shape[axis]
    entries, results = column(_to_last(x, axis)), row(_to_last(ans, axis))
    chosen = (entries == results) & np.triu(np.ones((n, n), bool))
    ties = sum(where(chosen, 1.0, 0.0), axis=-2, keepdims=True)
    return _from_last(sum(where(chosen, row(_to_last(g, axis)) / ties, 0.0), axis=-1), axis)


def _kept(g: Any, a: Any, b: Any) -> Any:
    """What a side `a` of a minimum(a, b) gets of the cotangent."""
    return where(a < b, g, where(a == b, 0.5 * g, 0.0))


def clip_x(g: Any, ans: Any, x: Any, lower: Any, upper: Any) -> Any:
    """Minimum of upper and the maximum of x and lower."""
    return _kept(_kept(g, apply("maximum", x, lower), upper), lower, x)


def clip_lower(g: Any, ans: Any, x: Any, lower: Any, upper: Any) -> Any:
    return _kept(_kept(g, apply("maximum", x, lower), upper), x, lower)


def clip_upper(g: Any, ans: Any, x: Any, lower: Any, upper: Any) -> Any:
    return _kept(g, upper, apply("maximum", x, lower))


def sort(g: Any, ans: Any, x: Any, *, axis: int) -> Any:
    """Back by the inverse permutation, which is what sorts the permutation."""
    return apply("take_along_axis", g, argsort(argsort(x, axis=axis), axis=axis), axis=axis)


# Products and exponentials


def cumulative_prod(g: Any, ans: Any, x: Any, *, axis: int) -> Any:
    """d y_i / d x_k, k <= i, is the product of the other entries up to i: right where entries are 0, at every
    order.
    """
    axis %= x.ndim
    n = x.shape[axis]
    if n == 0:
        return g
    others = running_product(where(np.eye(n, dtype=bool), 1.0, row(_to_last(x, axis))), axis=-1)
    parts = where(np.triu(np.ones((n, n), bool)), conj(others) * row(_to_last(g, axis)), 0.0)
    return _from_last(sum(parts, axis=-1), axis)


def softmax(g: Any, ans: Any, x: Any, *, axis: int) -> Any:
    """The Jacobian is diag(y) - y y^T."""
    return ans * (g - sum(g * ans, axis=axis, keepdims=True))


def log_softmax(g: Any, ans: Any, x: Any, *, axis: int) -> Any:
    """The Jacobian is I - 1 softmax(x)^T."""
    return g - exp(ans) * sum(g, axis=axis, keepdims=True)


def logsumexp(g: Any, ans: Any, x: Any, *, axis: Any, keepdims: Any) -> Any:
    """The gradient is softmax(x)."""
    return expand_reduced(g, x.shape, axis, keepdims) * exp(x - expand_reduced(ans, x.shape, axis, keepdims))


# Gathering


def take(g: Any, ans: Any, x: Any, indices: Any, *, axis: int) -> Any:
    return apply("scatter_add", zeros(g, x.shape), indices, g, axis=axis)


def take_along_axis(g: Any, ans: Any, x: Any, indices: Any, *, axis: int) -> Any:
    """Added back where it came from, in the array as one row; axes along which x was broadcast are summed by
    whoever calls.
    """
    axis %= x.ndim
    shape = tuple(x.shape[axis] if a == axis else n for a, n in enumerate(g.shape))
    steps = [int(np.prod(shape[a + 1 :], dtype=int)) for a in range(len(shape))]
    grid = np.indices(g.shape)
    start = np.asarray(np.sum([grid[a] * steps[a] for a in range(len(shape)) if a != axis], axis=0), np.int64)
    places = indices * steps[axis] + np.broadcast_to(start, g.shape)
    size = int(np.prod(g.shape, dtype=int))
    empty = zeros(g, (int(np.prod(shape, dtype=int)),))
    flat = apply("scatter_add", empty, reshape(places, (size,)), reshape(g, (size,)), axis=0)
    return reshape(flat, shape)


# Windows


def _spread(g: Any, first: int, strides: Sequence[int]) -> Any:
    """`g` with stride - 1 zeros after each entry, along the axes from `first` on."""
    for axis, stride in enumerate(strides, first):
        if stride > 1:
            stacked = stack([g, *[zeros(g, g.shape)] * (stride - 1)], axis=axis + 1)
            g = reshape(stacked, (*g.shape[:axis], g.shape[axis] * stride, *g.shape[axis + 1 :]))
    return g


def _part(x: Any, first: int, starts: Sequence[int], sizes: Sequence[int]) -> Any:
    """The entries from `starts`, along the axes from `first` on."""
    parts = [slice(start, start + n) for start, n in zip(starts, sizes, strict=True)]
    return x[(*[slice(None)] * first, *parts)]


def _margins(
    spread: Any, first: int, sizes: Sequence[int], window: Sequence[int], padding: Sequence[tuple[int, int]]
) -> tuple[tuple[int, int], ...]:
    """The padding with which a window over `spread` covers every entry of the padded axes of `sizes`."""
    rows = zip(spread.shape[first:], sizes, window, padding, strict=True)
    return tuple((w - 1, max(0, before + n - h)) for h, n, w, (before, _) in rows)


def window_sum(g: Any, ans: Any, x: Any, *, window: Any, strides: Any, padding: Any) -> Any:
    """Entry p of the padded array is in the windows that start at p - window + 1 to p."""
    if 0 in ans.shape:
        return None
    pads = padding_of(padding, x.ndim)
    spread = _spread(g, 0, strides_of(strides, x.ndim))
    full = apply("window_sum", spread, window=window, padding=_margins(spread, 0, x.shape, window, pads))
    return _part(full, 0, [before for before, _ in pads], x.shape)


def conv_x(g: Any, ans: Any, x: Any, kernel: Any, *, strides: Any, padding: Any) -> Any:
    """The spread cotangent, correlated with the kernel turned round and its channels exchanged."""
    if 0 in ans.shape[2:]:
        return None
    count = x.ndim - 2
    pads = padding_of(padding, count)
    spread = _spread(g, 2, strides_of(strides, count))
    turned = permute_dims(kernel, (1, 0, *range(2, x.ndim)))
    for axis in range(2, x.ndim):
        turned = flip(turned, axis=axis)
    full = apply("conv", spread, turned, padding=_margins(spread, 2, x.shape[2:], kernel.shape[2:], pads))
    return _part(full, 2, [before for before, _ in pads], x.shape[2:])


def conv_kernel(g: Any, ans: Any, x: Any, kernel: Any, *, strides: Any, padding: Any) -> Any:
    """The padded array, correlated with the spread cotangent: batch and channels change places."""
    if 0 in ans.shape[2:]:
        return None
    count = x.ndim - 2
    swap = (1, 0, *range(2, x.ndim))
    steps = strides_of(strides, count)
    lengths = [(n - 1) * s + 1 for n, s in zip(ans.shape[2:], steps, strict=True)]
    spread = _part(_spread(g, 2, steps), 2, [0] * count, lengths)
    full = apply("conv", permute_dims(x, swap), permute_dims(spread, swap), padding=padding)
    return _part(permute_dims(full, swap), 2, [0] * count, kernel.shape[2:])
