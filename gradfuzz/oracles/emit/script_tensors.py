"""Tensor ops in the mpmath part of a reproducer: NumPy arrays of mpf, by NumPy's functions if possible.

The helpers are pasted into scripts without their types: they use only `np` and `mp`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from mpmath import mp

from gradfuzz.oracles.emit.op_source import Params, Shape, atom, keywords
from gradfuzz.oracles.emit.plain_source import plain_source
from gradfuzz.programs.language.windows import padding_of, strides_of


def softmax(x: Any, axis: Any) -> Any:
    powers = np.frompyfunc(mp.exp, 1, 1)(x)
    return powers / np.sum(powers, axis=axis, keepdims=True)


def log_softmax(x: Any, axis: Any) -> Any:
    return np.frompyfunc(mp.log, 1, 1)(softmax(x, axis))


def logsumexp(x: Any, axis: Any, keepdims: Any) -> Any:
    total = np.sum(np.frompyfunc(mp.exp, 1, 1)(x), axis=axis, keepdims=keepdims)
    return np.frompyfunc(mp.log, 1, 1)(total)


def windows(x: Any, window: Any, strides: Any, padding: Any, first: Any) -> Any:
    """Views of the axes from `first` on: a place for each axis, then an entry of the window for each axis."""
    padded = np.pad(x, [(0, 0)] * first + list(padding))
    views = np.lib.stride_tricks.sliding_window_view(padded, window, tuple(range(first, x.ndim)))
    return views[(slice(None),) * first + tuple(slice(None, None, s) for s in strides)]


def window_sum(x: Any, window: Any, strides: Any, padding: Any) -> Any:
    return np.sum(windows(x, window, strides, padding, 0), axis=tuple(range(x.ndim, 2 * x.ndim)))


def conv(x: Any, kernel: Any, strides: Any, padding: Any) -> Any:
    """The sum over channels and the window of every product."""
    views = windows(x, kernel.shape[2:], strides, padding, 2)
    spread = kernel.reshape(1, *kernel.shape[:2], *[1] * (x.ndim - 2), *kernel.shape[2:])
    return np.sum(views[:, None] * spread, axis=(2, *range(x.ndim + 1, 2 * x.ndim - 1)))


def scatter_add(x: Any, indices: Any, updates: Any, axis: Any) -> Any:
    """A copy of x with the updates added; repeated indices add up."""
    result, places = x.copy(), np.asarray(indices)
    rows = np.moveaxis(np.asarray(updates), range(axis, axis + places.ndim), range(places.ndim))
    np.add.at(np.moveaxis(result, axis, 0), places, rows)
    return result


HELPERS = {
    f.__name__: plain_source(f)
    for f in (softmax, log_softmax, logsumexp, windows, window_sum, conv, scatter_add)
}
"""Functions that the text may call, by name, as scripts show them; a helper comes before its callers."""
_NAMES = {
    "amax": "np.max",
    "amin": "np.min",
    "cumulative_max": "np.maximum.accumulate",
    "cumulative_prod": "np.cumprod",
    "cumulative_sum": "np.cumsum",
    "permute_dims": "np.transpose",
}
"""Ops with another name in NumPy."""


def write(op: str, texts: Sequence[str], shapes: Sequence[Shape], params: Params, result: Shape) -> str:
    """The expression for an op with a result of shape `result`."""
    x, shape, axis = texts[0], shapes[0], params.get("axis")
    match op:
        case "concat" | "stack":
            return f"np.{'concatenate' if op == 'concat' else op}([{', '.join(texts)}], {axis})"
        case "reshape" | "broadcast_to" if not shape:
            return f"np.full({params['shape']}, {x})"
        case "reshape" if not result:
            return f"{atom(x)}.item()"
        case "reshape" | "broadcast_to":
            return f"np.{op}({x}, {params['shape']})"
        case "clip" if not result:
            return f"min(max({x}, {texts[1]}), {texts[2]})"
        case "clip":
            return f"np.minimum(np.maximum({x}, {texts[1]}), {texts[2]})"
        case "logsumexp":
            return f"logsumexp({x}, {axis}, {params['keepdims']})" if shape else x
        case "softmax" | "log_softmax":
            return f"{op}({x}, {axis})"
        case "argsort":
            return f'np.argsort({x}, {axis}, kind="stable")'
        case "scatter_add":
            assert isinstance(axis, int), "the type checker lets no other axis through"
            return f"scatter_add({', '.join(texts)}, {axis % len(shape)})"
        case "window_sum" | "conv" if 0 in result or 0 in shape:
            return f"np.zeros({result}, object)"
        case "window_sum":
            return f"window_sum({x}, {params['window']}, {_stepping(params, len(shape))})"
        case "conv":
            return f"conv({', '.join(texts)}, {_stepping(params, len(shape) - 2)})"
    if not shape:
        return x
    return f"{_NAMES.get(op, f'np.{op}')}({', '.join([*texts, *keywords(params)])})"


def _stepping(params: Params, count: int) -> str:
    """The strides and the padding of a window along `count` axes."""
    return f"{strides_of(params['strides'], count)}, {padding_of(params['padding'], count)}"
