"""Forward rules of the tensor ops that need more than a line. Their table is in `jvp_rules`; no reverse rule
is used.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradfuzz.engine.rules.functions import exp, reshape, sign, sum, where
from gradfuzz.engine.rules.linalg.matrices import zeros
from gradfuzz.engine.rules.value import apply


def _here(shape: tuple[int, ...], axis: int, k: int | slice) -> Any:
    """A mask that broadcasts along `shape` and is true at `k` of one axis."""
    mask = np.zeros([n if a == axis else 1 for a, n in enumerate(shape)], bool)
    mask[tuple(k if a == axis else 0 for a in range(len(shape)))] = True
    return mask


def extreme(t: Any, ans: Any, x: Any, *, axis: Any, keepdims: Any) -> Any:
    """The mean of the tangents of the entries that equal the extreme."""
    best = ans if keepdims else reshape(ans, sum(x, axis=axis, keepdims=True).shape)
    hits = where(x == best, 1.0, 0.0)
    return sum(hits * t, axis=axis, keepdims=keepdims) / sum(hits, axis=axis, keepdims=keepdims)


def cumulative_max(t: Any, ans: Any, x: Any, *, axis: int) -> Any:
    """The mean of the tangents of those entries so far that equal the result: one entry after the other."""
    axis %= x.ndim
    total = count = zeros(t, x.shape)
    for k in range(x.shape[axis]):
        place = tuple(slice(k, k + 1) if a == axis else slice(None) for a in range(x.ndim))
        hit = (x[place] == ans) & _here(x.shape, axis, slice(k, None))
        total, count = total + where(hit, t[place], 0.0), count + where(hit, 1.0, 0.0)
    return total / count


def _above(a: Any, b: Any) -> Any:
    """1 where a > b, 1/2 at a tie, else 0."""
    return 0.5 + 0.5 * sign(a - b)


def clip_x(t: Any, ans: Any, x: Any, lower: Any, upper: Any) -> Any:
    return _above(x, lower) * _above(upper, apply("maximum", x, lower)) * t


def clip_lower(t: Any, ans: Any, x: Any, lower: Any, upper: Any) -> Any:
    return _above(lower, x) * _above(upper, apply("maximum", x, lower)) * t


def clip_upper(t: Any, ans: Any, x: Any, lower: Any, upper: Any) -> Any:
    return _above(apply("maximum", x, lower), upper) * t


def sort(t: Any, ans: Any, x: Any, *, axis: int) -> Any:
    """The tangents go with their entries."""
    return apply("take_along_axis", t, apply("argsort", x, axis=axis), axis=axis)


def cumulative_prod(t: Any, ans: Any, x: Any, *, axis: int) -> Any:
    """Leibniz: the sum over k of the running product with entry k replaced by its tangent, from k on."""
    axis %= x.ndim
    total = zeros(t, x.shape)
    for k in range(x.shape[axis]):
        replaced = apply("cumulative_prod", where(_here(x.shape, axis, k), t, x), axis=axis)
        total = total + where(_here(x.shape, axis, slice(k, None)), replaced, 0.0)
    return total


def softmax(t: Any, ans: Any, x: Any, *, axis: int) -> Any:
    """Y times what t exceeds its mean by, the mean weighted with y."""
    weighted = ans * t
    return weighted - ans * sum(weighted, axis=axis, keepdims=True)


def log_softmax(t: Any, ans: Any, x: Any, *, axis: int) -> Any:
    return t - sum(exp(ans) * t, axis=axis, keepdims=True)


def logsumexp(t: Any, ans: Any, x: Any, *, axis: Any, keepdims: Any) -> Any:
    """The mean of t, weighted with softmax(x)."""
    best = ans if keepdims else reshape(ans, sum(x, axis=axis, keepdims=True).shape)
    return sum(t * exp(x - best), axis=axis, keepdims=keepdims)


def scatter_update(t: Any, ans: Any, x: Any, indices: Any, updates: Any, *, axis: int) -> Any:
    return apply("scatter_add", zeros(t, x.shape), indices, t, axis=axis)
