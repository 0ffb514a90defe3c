"""JAX's changes of shape, reductions, sorting and products of arrays, as ops."""

from __future__ import annotations

import math
import string
from collections.abc import Callable
from typing import Any

import numpy as np

import gradfuzz.engine as engine
from gradfuzz.engine.rules.value import Operand, apply
from gradfuzz.errors import UntraceableError
from gradfuzz.programs.language.types import DType
from gradfuzz.tracing.common.compositions import (
    as_kind,
    ascending,
    kind_of,
)
from gradfuzz.tracing.common.convolutions import convolution
from gradfuzz.tracing.common.fourier import Transform, of_all
from gradfuzz.tracing.jax.indexing import part, taken

Rule = Callable[..., Any]

# Shapes -----------------------------------------------------------------------------------------------------


def _reshaped(equation: Any, x: Operand, *rest: Operand) -> Any:
    if equation.primitive.name == "reshape" and equation.params.get("dimensions") is not None:
        x = engine.permute_dims(x, tuple(equation.params["dimensions"]))
    shape = tuple(equation.outvars[0].aval.shape)
    return x if np.shape(x) == shape else engine.reshape(x, shape)


def _broadcast(equation: Any, x: Operand, *rest: Operand) -> Any:
    shape, places = tuple(equation.outvars[0].aval.shape), tuple(equation.params["broadcast_dimensions"])
    between = [1] * len(shape)
    for place, n in zip(places, np.shape(x), strict=True):
        between[place] = n
    if tuple(between) != np.shape(x) and places != tuple(range(len(shape) - len(places), len(shape))):
        x = engine.reshape(x, tuple(between))
    return x if np.shape(x) == shape else engine.broadcast_to(x, shape)


def _flipped(equation: Any, x: Operand) -> Any:
    for axis in equation.params["dimensions"]:
        x = engine.flip(x, axis=axis)
    return x


def _split(equation: Any, x: Operand) -> list[Any]:
    axis, start, parts = int(equation.params["axis"]), 0, []
    for size in map(int, equation.params["sizes"]):
        parts.append(part(x, axis, start, start + size))
        start += size
    return parts


def _unstacked(equation: Any, x: Operand) -> list[Any]:
    axis = int(equation.params["axis"])
    shape = tuple(n for a, n in enumerate(np.shape(x)) if a != axis)
    return [engine.reshape(part(x, axis, k, k + 1), shape) for k in range(np.shape(x)[axis])]


def _tiled(equation: Any, x: Operand) -> Any:
    for axis, times in enumerate(equation.params["reps"]):
        x = engine.concat([x] * times, axis=axis) if times != 1 else x
    return x


REPLAYED: dict[str, Rule] = {
    "broadcast_in_dim": _broadcast,
    **dict.fromkeys(("reshape", "squeeze", "expand_dims"), _reshaped),
}
"""Changes of shape that keep every entry."""

_SHAPES: dict[str, Rule] = {
    **REPLAYED,
    "concatenate": lambda equation, *xs: (
        engine.concat(xs, axis=int(equation.params["dimension"])) if len(xs) > 1 else xs[0]
    ),
    "rev": _flipped,
    "split": _split,
    "stack": lambda equation, *xs: engine.stack(xs, axis=int(equation.params["axis"])),
    "tile": _tiled,
    "unstack": _unstacked,
    "transpose": lambda equation, x: engine.permute_dims(x, tuple(map(int, equation.params["permutation"]))),
}

# Reductions -------------------------------------------------------------------------------------------------


def _reduced(op: str, of_bools: str = "") -> Rule:
    def rule(equation: Any, x: Operand) -> Any:
        axes = tuple(map(int, equation.params["axes"]))
        if not axes:
            return x
        if kind_of(x) != "bool" and op in ("all", "any"):
            name = equation.primitive.name
            raise UntraceableError(f"JAX's {name} of the bits of ints; gradfuzz has no op for it")
        return apply(of_bools if of_bools and kind_of(x) == "bool" else op, x, axis=axes, keepdims=False)

    return rule


def _position(op: str) -> Rule:
    def rule(equation: Any, x: Operand) -> Any:
        (axis,) = map(int, equation.params["axes"])
        return apply(op, as_kind(x, "int") if kind_of(x) == "bool" else x, axis=axis, keepdims=False)

    return rule


def _along(running: Callable[[Operand, int], Any]) -> Rule:
    """A running reduction, from the front or from the end."""

    def rule(equation: Any, x: Operand) -> Any:
        axis = int(equation.params["axis"])
        if not equation.params["reverse"]:
            return running(x, axis)
        return engine.flip(running(engine.flip(x, axis=axis), axis), axis=axis)

    return rule


def _running(op: str) -> Rule:
    return _along(lambda x, axis: apply(op, x, axis=axis))


def _running_logsumexp(x: Operand, axis: int) -> Any:
    """One logsumexp for each leading part."""
    leading = [part(x, axis, 0, k + 1) for k in range(np.shape(x)[axis])]
    return engine.concat([engine.logsumexp(p, axis=axis, keepdims=True) for p in leading], axis=axis)


def _sorted(equation: Any, *operands: Operand) -> list[Any]:
    axis = int(equation.params["dimension"])
    if equation.params["num_keys"] != 1:
        raise UntraceableError(f"JAX's sort by {equation.params['num_keys']} keys")
    key = as_kind(operands[0], "int") if kind_of(operands[0]) == "bool" else operands[0]
    if len(operands) == 1 and key is operands[0]:
        return [engine.sort(key, axis=axis)]
    order = engine.argsort(key, axis=axis)
    return [engine.take_along_axis(x, order, axis=axis) for x in operands]


def _greatest(equation: Any, x: Operand) -> list[Any]:
    """Approximate ones are exact on a CPU."""
    p = equation.params
    axis = p.get("reduction_dimension", p.get("axis", -1)) % len(np.shape(x))
    found = ascending(x, axis, descending=p.get("is_max_k", True))
    return [taken(one, np.arange(p["k"]), axis) for one in found]


_REDUCTIONS: dict[str, Rule] = {
    **{name: _position(name) for name in ("argmax", "argmin")},
    "cumlogsumexp": _along(_running_logsumexp),
    "cummin": _along(lambda x, axis: -engine.cumulative_max(-x, axis=axis)),
    **{f"cum{name}": _running(f"cumulative_{name}") for name in ("max", "prod", "sum")},
    "reduce_and": _reduced("all", "all"),
    "reduce_max": _reduced("amax", "any"),
    "reduce_min": _reduced("amin", "all"),
    "reduce_or": _reduced("any", "any"),
    "reduce_prod": _reduced("prod"),
    "reduce_sum": _reduced("sum"),
    "sort": _sorted,
    **dict.fromkeys(("top_k", "approx_top_k"), _greatest),
}

# Products ---------------------------------------------------------------------------------------------------


def _product(equation: Any, x: Operand, y: Operand) -> Any:
    """A sum of products over some axes of each, as an einsum; a plain product of matrices or
    vectors as one.
    """
    (of_x, of_y), (batch_x, batch_y) = equation.params["dimension_numbers"]
    rank_x, rank_y = len(np.shape(x)), len(np.shape(y))
    kind: DType = "complex" if "complex" in (kind_of(x), kind_of(y)) else "float"
    if "float" not in (kind_of(x), kind_of(y)) and kind == "float":
        raise UntraceableError("JAX's dot_general of ints; gradfuzz multiplies matrices of floats")
    x, y = as_kind(x, kind), as_kind(y, kind)
    few = not batch_x and rank_x in (1, 2) and rank_y in (1, 2)
    if few and tuple(of_x) == (rank_x - 1,) and tuple(of_y) == (0,):
        return engine.matmul(x, y)
    letters = iter(string.ascii_letters)
    names_x = [next(letters) for _ in range(rank_x)]
    names_y = [next(letters) for _ in range(rank_y)]
    for a, b in zip((*of_x, *batch_x), (*of_y, *batch_y), strict=True):
        names_y[b] = names_x[a]
    free_x = [n for k, n in enumerate(names_x) if k not in (*of_x, *batch_x)]
    free_y = [n for k, n in enumerate(names_y) if k not in (*of_y, *batch_y)]
    result = [names_x[a] for a in batch_x] + free_x + free_y
    return engine.linalg.einsum(f"{''.join(names_x)},{''.join(names_y)}->{''.join(result)}", x, y)


def _convolved(equation: Any, x: Operand, kernel: Operand) -> Any:
    p = equation.params
    numbers = p["dimension_numbers"]
    if any(n == 0 for n in (*np.shape(x), *np.shape(kernel))):
        raise UntraceableError("JAX's conv_general_dilated of no entries")
    x = engine.permute_dims(x, tuple(numbers.lhs_spec))
    kernel = engine.permute_dims(kernel, tuple(numbers.rhs_spec))
    result = convolution(
        x,
        kernel,
        strides=tuple(p["window_strides"]),
        padding=tuple((int(a), int(b)) for a, b in p["padding"]),
        dilation=tuple(p["rhs_dilation"]),
        spread=tuple(p["lhs_dilation"]),
        groups=p["feature_group_count"],
        batch_groups=p["batch_group_count"],
    )
    return engine.permute_dims(result, tuple(int(k) for k in np.argsort(numbers.out_spec)))


_TRANSFORMS: tuple[Transform, ...] = ("forward", "back", "of reals", "to reals")


def _fourier(equation: Any, x: Operand) -> Any:
    """Discrete Fourier transforms over the last axes; those back are divided by the number of terms."""
    kind = _TRANSFORMS[int(equation.params["fft_type"])]
    lengths = tuple(map(int, equation.params["fft_lengths"]))
    rank = len(np.shape(x))
    found = of_all(x, range(rank - len(lengths), rank), lengths, kind)
    return found / float(math.prod(lengths)) if kind in ("back", "to reals") else found


ARRAYS: dict[str, Rule] = {
    **_SHAPES,
    **_REDUCTIONS,
    "dot_general": _product,
    "conv_general_dilated": _convolved,
    "fft": _fourier,
}
"""Primitives by name."""
