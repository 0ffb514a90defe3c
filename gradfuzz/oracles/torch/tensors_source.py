"""Ops of arrays in torch. This module does not import torch.

Every op is torch's own function, because its gradient is tested. Torch has no window sum over all axes, so it
is a sum over `unfold`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from gradfuzz.oracles.emit.op_source import Params, Shape, atom, is_linalg
from gradfuzz.oracles.torch import linalg_source
from gradfuzz.oracles.torch.linalg_source import keepdim
from gradfuzz.programs.language.axes import normalize_axes
from gradfuzz.programs.language.windows import padding_of, strides_of

_ALONG = {
    "argsort": "torch.argsort({}, dim={}, stable=True)",
    "cumulative_max": "torch.cummax({}, dim={}).values",
    "cumulative_prod": "torch.cumprod({}, dim={})",
    "cumulative_sum": "torch.cumsum({}, dim={})",
    "flip": "torch.flip({}, ({},))",
    "log_softmax": "torch.log_softmax({}, dim={})",
    "softmax": "torch.softmax({}, dim={})",
    "sort": "torch.sort({}, dim={}, stable=True).values",
}
"""Ops along one axis."""


def write(op: str, texts: Sequence[str], shapes: Sequence[Shape], params: Params) -> str:
    """The expression for an op; see `op_source.Write`."""
    x, shape, axis = texts[0], shapes[0], params.get("axis")
    match op:
        case _ if is_linalg(op):
            return linalg_source.write(op, texts, shapes, params)
        case "concat" | "stack":
            return f"torch.{'cat' if op == 'concat' else op}([{', '.join(texts)}], dim={axis})"
        case "reshape" | "broadcast_to":
            return f"torch.{op}({x}, {params['shape']})"
        case "permute_dims":
            return f"torch.permute({x}, {params['axes']})"
        case "clip":
            return f"torch.clamp({', '.join(texts)})"
        case "amax" | "amin" | "logsumexp" | "all" | "any" | "sum" | "mean" | "prod":
            return _reduction(op, x, shape, params)
        case "argmax" | "argmin" if axis is None:
            ones = f".reshape({(1,) * len(shape)})" if params["keepdims"] else ""
            return f"torch.{op}({x}){ones}"
        case "argmax" | "argmin":
            return f"torch.{op}({x}, dim={axis}{keepdim(params)})"
        case "take_along_axis":
            return f"torch.take_along_dim({x}, {texts[1]}, dim={axis})"
        case "take" | "scatter_add":
            return _gathering(op, texts, shapes, axis)
        case "window_sum":
            return _window_sum(x, shape, params)
        case "conv":
            return _conv(texts, shapes, params)
    return _ALONG[op].format(x, axis)


def _reduction(op: str, x: str, shape: Shape, params: Params) -> str:
    """Torch takes an empty list of axes for all axes."""
    axes, option = normalize_axes(params["axis"], len(shape), op), keepdim(params)
    if op not in ("sum", "mean", "prod"):
        return f"torch.{op}({x}, dim={axes}{option})" if axes else f"torch.clone({x})"
    if not axes:
        return atom(x)
    if len(axes) == len(shape) and not option:
        return f"torch.{op}({x})"
    if op != "prod":
        return f"torch.{op}({x}, dim={axes}{option})"
    for axis in reversed(axes):
        x = f"torch.prod({x}, dim={axis}{option})"
    return x


def _gathering(op: str, texts: Sequence[str], shapes: Sequence[Shape], axis: Any) -> str:
    """Torch's functions take the indices as one row."""
    (x, indices, *updates), (shape, places) = texts, shapes[:2]
    axis %= len(shape)
    row = indices if len(places) == 1 else f"torch.reshape({indices}, (-1,))"
    before, after = shape[:axis], shape[axis + 1 :]
    if op == "scatter_add":
        (added,) = updates
        if len(places) != 1:
            added = f"torch.reshape({added}, {(*before, math.prod(places), *after)})"
        return f"torch.index_add({x}, {axis}, {row}, {added})"
    taken = f"torch.index_select({x}, {axis}, {row})"
    return taken if len(places) == 1 else f"torch.reshape({taken}, {(*before, *places, *after)})"


def _padded(x: str, padding: Sequence[tuple[int, int]]) -> str:
    """Torch's padding starts with the last axis."""
    if not any(map(any, padding)):
        return x
    return f"torch.nn.functional.pad({x}, {tuple(n for pair in reversed(padding) for n in pair)})"


def _window_sum(x: str, shape: Shape, params: Params) -> str:
    rank = len(shape)
    window, strides = params["window"], strides_of(params["strides"], rank)
    padding = padding_of(params["padding"], rank)
    assert isinstance(window, tuple), "the type checker lets no other window through"
    sizes = [before + n + after for n, (before, after) in zip(shape, padding, strict=True)]
    if 0 in sizes:  # no place for a window: unfold would refuse
        places = [(n - w) // s + 1 if n else 0 for n, w, s in zip(sizes, window, strides, strict=True)]  # type: ignore[operator]
        return f"torch.reshape({x}, {tuple(places)})"
    text = _padded(x, padding)
    text = atom(text) if text is x else text
    for axis, (w, s) in enumerate(zip(window, strides, strict=True)):
        text += f".unfold({axis}, {w}, {s})"
    return f"{text}.sum({tuple(range(rank, 2 * rank))})"


def _conv(texts: Sequence[str], shapes: Sequence[Shape], params: Params) -> str:
    """Symmetric padding is left to torch's function, because its derivative is tested too."""
    (x, kernel), count = texts, len(shapes[0]) - 2
    padding = padding_of(params["padding"], count)
    options = "" if params["strides"] is None else f", stride={strides_of(params['strides'], count)}"
    if all(before == after for before, after in padding):
        options += f", padding={tuple(before for before, _ in padding)}" if any(map(any, padding)) else ""
    else:
        x = _padded(x, padding)
    return f"torch.nn.functional.conv{count}d({x}, {kernel}{options})"
