"""Padding, and convolutions over any number of axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import gradfuzz.engine as engine
from gradfuzz.engine.rules.value import Operand
from gradfuzz.tracing.common.compositions import flat, recorded, replaced_at

_ENGINE_AXES = 2
"""The engine's `conv` has so many spatial axes at most."""

Sizes = Sequence[int]


def padded(x: Operand, filling: Operand, config: Sequence[tuple[int, int, int]]) -> Any:
    """`x` with entries added (or taken away) before and after each axis, and between its entries."""
    places = np.arange(math.prod(np.shape(x))).reshape(np.shape(x))
    outside = places.size
    for axis, (low, high, between) in enumerate(config):
        n: int = places.shape[axis]
        length = n + max(n - 1, 0) * between
        wide = np.full((*places.shape[:axis], length, *places.shape[axis + 1 :]), outside)
        wide[(*[slice(None)] * axis, slice(None, None, between + 1))] = places
        width = [(max(low, 0), max(high, 0)) if a == axis else (0, 0) for a in range(places.ndim)]
        wide = np.pad(wide, width, constant_values=outside)
        stop = wide.shape[axis] - max(-high, 0)
        places = wide[(*[slice(None)] * axis, slice(max(-low, 0), stop))]
    if not outside:
        return engine.broadcast_to(filling, places.shape)
    return engine.take(engine.concat([flat(x), engine.reshape(filling, (1,))]), places, axis=0)


def convolution(
    x: Operand,
    kernel: Operand,
    *,
    strides: Sizes,
    padding: Sequence[Sizes],
    dilation: Sizes,
    spread: Sizes = (),
    groups: int = 1,
    batch_groups: int = 1,
) -> Any:
    """Cross-correlation of x (N, C, spatial...) with a kernel (O, C / groups, spatial...).

    `padding` has the amounts before and after each axis; negative ones cut. With `spread`, zeros stand
    between the entries of x. Each of `groups` takes its share of the channels; each of `batch_groups` its
    share of N and of O.
    """
    config = [(0, 0, 0), (0, 0, 0)]
    inner, outer = [], []
    for k, (before, after) in enumerate(padding):
        between = spread[k] - 1 if spread else 0
        beside = between > 0 or before < 0 or after < 0
        config.append((before, after, between) if beside else (0, 0, 0))
        outer.append((0, 0) if beside else (int(before), int(after)))
        inner.append(beside)
    if any(inner):
        x = padded(x, recorded(0.0), config)
    if any(d != 1 for d in dilation):
        kernel = _dilated(kernel, dilation)
    parts = []
    outputs = np.shape(kernel)[0] // (groups * batch_groups)
    images, inputs = np.shape(x)[0] // batch_groups, np.shape(x)[1] // groups
    if groups == batch_groups == 1:
        return _plain(x, kernel, tuple(strides), tuple(outer))
    for b in range(batch_groups):
        for g in range(groups):
            k = b * groups + g
            own = (slice(b * images, (b + 1) * images), slice(g * inputs, (g + 1) * inputs))
            rows = slice(k * outputs, (k + 1) * outputs)
            parts.append(_plain(recorded(x)[own], recorded(kernel)[rows], tuple(strides), tuple(outer)))
    return engine.concat(parts, axis=1)


def _plain(x: Operand, kernel: Operand, strides: tuple[int, ...], padding: Any) -> Any:
    """Of several axes more than the engine takes, the first is a sum over the places of the kernel."""
    axes = len(strides)
    if not axes:
        return engine.linalg.einsum("nc,oc->no", x, kernel)
    if axes <= _ENGINE_AXES:
        return engine.conv(x, kernel, strides=strides, padding=padding)
    x = padded(x, recorded(0.0), [(0, 0, 0), (0, 0, 0), (*padding[0], 0), *[(0, 0, 0)] * (axes - 1)])
    images, channels, length = np.shape(x)[:3]
    reach = np.shape(kernel)[2]
    count = (length - reach) // strides[0] + 1
    last = tuple(range(3, axes + 2))
    total: Any = None
    for k in range(reach):
        cut = engine.take(x, np.arange(count) * strides[0] + k, axis=2)
        rows = engine.permute_dims(cut, (0, 2, 1, *last))
        rows = engine.reshape(rows, (images * count, channels, *np.shape(x)[3:]))
        own = engine.take(kernel, np.asarray(k), axis=2)
        part = _plain(rows, own, strides[1:], padding[1:])
        total = part if total is None else total + part
    total = engine.reshape(total, (images, count, *np.shape(total)[1:]))
    return engine.permute_dims(total, (0, 2, 1, *last))


def transposed_convolution(
    x: Operand,
    kernel: Operand,
    *,
    strides: Sizes,
    padding: Sizes,
    dilation: Sizes,
    output: Sizes,
    groups: int = 1,
) -> Any:
    """The adjoint of the convolution with a kernel (C, O / groups, spatial...), of x (N, C, spatial...): its
    result has the spatial shape `output`.
    """
    axes = len(strides)
    channels, share = np.shape(kernel)[:2]
    turned = kernel
    for axis in range(2, axes + 2):
        turned = engine.flip(turned, axis=axis)
    sizes = np.shape(kernel)[2:]
    apart = engine.reshape(turned, (groups, channels // groups, share, *sizes))
    apart = engine.permute_dims(apart, (0, 2, 1, *range(3, axes + 3)))
    own = engine.reshape(apart, (groups * share, channels // groups, *sizes))
    amounts = []
    for k in range(axes):
        reach = dilation[k] * (sizes[k] - 1)
        length = (np.shape(x)[k + 2] - 1) * strides[k] + 1
        before = reach - padding[k]
        amounts.append((before, output[k] + reach - length - before))
    ones = (1,) * axes
    return convolution(
        x, own, strides=ones, padding=amounts, dilation=dilation, spread=strides, groups=groups
    )


def kernel_gradient(
    x: Operand,
    cotangent: Operand,
    *,
    kernel: Sizes,
    strides: Sizes,
    padding: Sizes,
    dilation: Sizes,
    groups: int = 1,
) -> Any:
    """What a convolution of x (N, C, spatial...) hands back to its kernel, of the shape `kernel`: x itself,
    convolved with the cotangent (N, O, spatial...).
    """
    axes = len(strides)
    channels = np.shape(x)[1]
    amounts = []
    for k in range(axes):
        reach = (np.shape(cotangent)[k + 2] - 1) * strides[k] + 1
        wanted = (kernel[k + 2] - 1) * dilation[k] + reach
        amounts.append((padding[k], wanted - np.shape(x)[k + 2] - padding[k]))
    turn = (1, 0, *range(2, axes + 2))
    parts = []
    inputs, outputs = channels // groups, np.shape(cotangent)[1] // groups
    for g in range(groups):
        own = recorded(x)[:, g * inputs : (g + 1) * inputs]
        given = recorded(cotangent)[:, g * outputs : (g + 1) * outputs]
        found = convolution(
            engine.permute_dims(own, turn),
            engine.permute_dims(given, turn),
            strides=dilation,
            padding=amounts,
            dilation=strides,
        )
        parts.append(engine.permute_dims(found, turn))
    return engine.concat(parts, axis=0) if len(parts) > 1 else parts[0]


def _dilated(kernel: Operand, dilation: Sizes) -> Any:
    """`kernel` with zeros between its entries."""
    shape = np.shape(kernel)
    sizes = (*shape[:2], *((n - 1) * d + 1 for n, d in zip(shape[2:], dilation, strict=True)))
    steps = (slice(None), slice(None), *(slice(None, None, d) for d in dilation))
    where = np.arange(math.prod(sizes)).reshape(sizes)[steps]
    return replaced_at(recorded(np.zeros(sizes)), where, kernel)
