"""The ATen ops that go over an array in windows: convolutions, and the averages and maxima of pooling."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import torch

import gradfuzz.engine as engine
from gradfuzz.engine.rules.value import Value, apply
from gradfuzz.errors import UntraceableError
from gradfuzz.private_names import private
from gradfuzz.tracing.common.compositions import (
    at_positions,
    by_name,
    by_windows,
    flat,
    recorded,
)
from gradfuzz.tracing.common.convolutions import convolution, kernel_gradient, transposed_convolution
from gradfuzz.tracing.torch.values import UNSAID, Handler, Out, operand

pytree = private("torch.utils._pytree", UntraceableError)

# Convolutions -----------------------------------------------------------------------------------------------


def pairs(sizes: Sequence[int], count: int) -> tuple[int, ...]:
    """One number for each of `count` axes, where one may stand for all."""
    return tuple(sizes) if len(sizes) == count else tuple(sizes) * count


def _convolution(
    out: Out,
    x: Any,
    kernel: Any,
    bias: Any,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    *flags: Any,
) -> Any:
    x, kernel, count = out.cast(x), out.cast(kernel), len(out.shape) - 2
    amounts = pairs(padding, count)
    about: dict[str, Any] = {"strides": pairs(stride, count), "dilation": pairs(dilation, count)}
    if transposed:
        result = transposed_convolution(
            x, kernel, padding=amounts, output=out.shape[2:], groups=groups, **about
        )
    else:
        result = convolution(x, kernel, padding=[(n, n) for n in amounts], groups=groups, **about)
    if bias is None:
        return result
    return result + engine.reshape(out.cast(bias), (out.shape[1], *[1] * count))


def _convolution_backward(
    out: Out,
    cotangent: Any,
    x: Any,
    kernel: Any,
    bias_sizes: Any,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    output_mask: Sequence[bool],
) -> Any:
    """What a convolution hands back to its argument, its kernel and its bias."""
    cotangent, x, kernel = operand(cotangent), operand(x), operand(kernel)
    count = np.ndim(x) - 2
    amounts = pairs(padding, count)
    about: dict[str, Any] = {"strides": pairs(stride, count), "dilation": pairs(dilation, count)}
    to_x, to_kernel, to_bias = UNSAID, UNSAID, UNSAID
    if output_mask[0] and transposed:
        both = tuple((n, n) for n in amounts)
        to_x = convolution(cotangent, kernel, padding=both, groups=groups, **about)
    elif output_mask[0]:
        about["padding"] = amounts
        to_x = transposed_convolution(cotangent, kernel, output=np.shape(x)[2:], groups=groups, **about)
    if output_mask[1]:
        ends = (cotangent, x) if transposed else (x, cotangent)
        about["padding"] = amounts
        to_kernel = kernel_gradient(*ends, kernel=np.shape(kernel), groups=groups, **about)
    if output_mask[2]:
        to_bias = engine.sum(cotangent, axis=(0, *range(2, count + 2)))
    return to_x, to_kernel, to_bias


def _conv_tbc(out: Out, x: Any, kernel: Any, bias: Any, padding: int = 0) -> Any:
    """Over the first axis of x (T, N, C), with a kernel (K, C, O)."""
    x, kernel = (engine.permute_dims(operand(a), order) for a, order in ((x, (1, 2, 0)), (kernel, (2, 1, 0))))
    found = convolution(x, kernel, strides=(1,), padding=((padding, padding),), dilation=(1,))
    return engine.permute_dims(found, (2, 0, 1)) + operand(bias)


def _slow(transposed: bool = False) -> Handler:
    """A convolution by a kernel of its own."""

    def handler(
        out: Out,
        x: Any,
        kernel: Any,
        sizes: Sequence[int],
        bias: Any = None,
        stride: Sequence[int] = (1,),
        padding: Sequence[int] = (0,),
        *rest: Sequence[int],
    ) -> Any:
        after = rest[1:] if transposed else rest  # a transposed one says first what is added behind
        dilation = after[0] if after else (1,)
        return _convolution(out, x, kernel, bias, stride, padding, dilation, transposed, (0,), 1)

    return handler


def _slow_conv2d_backward(
    out: Out,
    cotangent: Any,
    x: Any,
    kernel: Any,
    sizes: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    mask: Sequence[bool],
) -> Any:
    return _convolution_backward(out, cotangent, x, kernel, None, stride, padding, (1,), False, (0,), 1, mask)


# Linear ops -------------------------------------------------------------------------------------------------

_LARGEST_DIVISOR = 4096
"""The numbers by which a linear op multiplies are quotients of ints of this size at most."""

_MOST_TERMS = 20_000
"""Terms of a linear op, which is asked about every unit vector."""


def linear(out: Out, x: Any, *args: Any, **options: Any) -> Any:
    """An op that is linear in `x` and reads no number of its other arguments, by what it makes of each unit
    vector.
    """
    x = operand(x)
    rest, named = pytree.tree_map(_plain, (args, options))
    terms: list[list[tuple[int, Fraction]]] = [[] for _ in range(math.prod(out.shape))]
    for k, found in _of_units(out, np.shape(x), *rest, **named):
        for place in found.nonzero().flatten().tolist():
            terms[place].append((k, _quotient(float(found[place]))))
    most = max(map(len, terms), default=0)
    if most * len(terms) > _MOST_TERMS:
        raise UntraceableError(f"a linear op of {most * len(terms):,} terms")
    if not most:
        return engine.broadcast_to(recorded(0.0), out.shape)
    places, above, below = (np.zeros((len(terms), most)) for _ in range(3))
    below += 1.0
    for row, own in enumerate(terms):
        for column, (k, factor) in enumerate(own):
            places[row, column] = k
            above[row, column], below[row, column] = factor.numerator, factor.denominator
    entries = at_positions(x, places.astype(np.int64))
    if not (np.all(above == 1.0) and np.all(below == 1.0)):
        entries = entries * above if np.all(below == 1.0) else entries * (recorded(above) / below)
    return engine.reshape(engine.sum(entries, axis=1), out.shape)


def _of_units(
    out: Out, shape: Sequence[int], *args: Any, **options: Any
) -> Iterator[tuple[int, torch.Tensor]]:
    """What an op makes of each unit vector of this shape, as one row."""
    size = math.prod(shape)
    for k in range(size):
        unit = torch.zeros(size, dtype=torch.float64)
        unit[k] = 1.0
        found = out.op(unit.reshape(tuple(shape)), *args, **options)
        yield k, (found[0] if isinstance(found, (tuple, list)) else found).flatten()


def _plain(leaf: Any) -> Any:
    """A tensor of which only the shape counts, in place of a value."""
    if isinstance(leaf, Value):
        return torch.zeros(leaf.shape, dtype=torch.float64)
    return leaf.double() if isinstance(leaf, torch.Tensor) and leaf.is_floating_point() else leaf


def _quotient(value: float) -> Fraction:
    found = Fraction(value).limit_denominator(_LARGEST_DIVISOR)
    if abs(found - Fraction(value)) > abs(value) * 1e-13:
        raise UntraceableError(f"it multiplies by {value!r}, which is no simple quotient")
    return found


# Pooling ----------------------------------------------------------------------------------------------------


def _average_pool(
    out: Out,
    x: Any,
    window: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Any:
    count = 1 if out.op is torch.ops.aten.avg_pool1d.default else 2
    sizes, before = pairs(window, count), (1,) * (len(out.shape) - count)
    if ceil_mode or (any(padding) and not count_include_pad):
        options = [divisor_override] if count > 1 else []
        return linear(out, x, window, stride, padding, ceil_mode, count_include_pad, *options)
    pads = tuple((n, n) for n in (*(0 for _ in before), *pairs(padding, count)))
    strides = (*before, *pairs(stride or window, count))
    total = engine.window_sum(operand(x), (*before, *sizes), strides=strides, padding=pads)
    return total / float(divisor_override or math.prod(sizes))


def _max_pool(axes: int) -> Handler:
    """The greatest entry of each window, and where it stands in its image. An op says itself which entries
    are in which window: those whose 1 among zeros is the greatest there.
    """

    def handler(out: Out, x: Any, *args: Any) -> Any:
        x = operand(x)
        windows: list[list[int]] = [[] for _ in range(math.prod(out.shape))]
        for k, found in _of_units(out, np.shape(x), *args):
            for place in found.nonzero().flatten().tolist():
                windows[place].append(k)
        return _greatest(x, windows, math.prod(np.shape(x)[np.ndim(x) - axes :]), out.shape)

    return handler


def _greatest(x: Any, windows: Sequence[Sequence[int]], image: int, shape: tuple[int, ...]) -> Any:
    """The greatest of the entries at the places of each window, and where in an image it stands."""
    if not windows:
        return engine.broadcast_to(recorded(0.0), shape), np.zeros(shape, np.int64)

    def reduced(places: Any) -> tuple[Any, Any]:
        entries = at_positions(x, places)
        greatest = engine.amax(entries, axis=1)
        first = engine.reshape(engine.argmax(entries, axis=1), (len(places), 1))
        return greatest, flat(engine.take_along_axis(places % image, first, axis=1))

    return tuple(engine.reshape(found, shape) for found in by_windows(windows, reduced))


def _max_pool_backward(axes: int) -> Handler:
    """Adds each entry of a cotangent to the place that its window names; the last argument has the names."""

    def handler(out: Out, cotangent: Any, x: Any, *args: Any) -> Any:
        cotangent, indices = out.cast(cotangent), operand(args[-1])
        shape = out.shape
        image, images = math.prod(shape[len(shape) - axes :]), math.prod(shape[: len(shape) - axes])
        start = np.arange(images).reshape(*shape[: len(shape) - axes], *[1] * axes) * image
        places = apply("add", indices, np.broadcast_to(start, np.shape(indices)))
        zeros = recorded(np.zeros(images * image))
        return engine.reshape(engine.scatter_add(zeros, flat(places), flat(cotangent), axis=0), shape)

    return handler


_AVERAGES = (
    *("avg_pool3d", "_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "adaptive_avg_pool1d"),
    *("avg_pool2d_backward", "avg_pool3d_backward"),
    *("_adaptive_avg_pool2d_backward", "_adaptive_avg_pool3d_backward"),
)

HANDLERS: dict[str, Handler] = {
    **by_name(_convolution, _convolution_backward, _conv_tbc),
    "_convolution": _convolution,
    **dict.fromkeys(("_slow_conv2d_forward", "slow_conv3d_forward"), _slow()),
    **{f"slow_conv_dilated{n}d": _slow() for n in (2, 3)},
    **{f"slow_conv_transpose{n}d": _slow(transposed=True) for n in (2, 3)},
    "_slow_conv2d_backward": _slow_conv2d_backward,
    **dict.fromkeys(("avg_pool1d", "avg_pool2d"), _average_pool),
    **dict.fromkeys(_AVERAGES, linear),
    **{f"max_pool{n}d_with_indices": _max_pool(n) for n in (2, 3)},
    **{f"adaptive_max_pool{n}d": _max_pool(n) for n in (2, 3)},
    **{f"fractional_max_pool{n}d": _max_pool(n) for n in (2, 3)},
    **{f"max_pool{n}d_with_indices_backward": _max_pool_backward(n) for n in (2, 3)},
    **{f"adaptive_max_pool{n}d_backward": _max_pool_backward(n) for n in (2, 3)},
    **{f"fractional_max_pool{n}d_backward": _max_pool_backward(n) for n in (2, 3)},
}
"""By the name of an op without its overload."""
