"""JAX primitives whose results are the same in NumPy.

IEEE arithmetic defines +, -, *, / to the last bit, and moving, comparing and selecting entries rounds
nothing, so NumPy's results equal those of JAX's kernels (which, on a CPU, also turn subnormal numbers into
zeros). NumPy saves a compilation per primitive and shape, and nine tenths of the time of a call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

_ELEMENTWISE: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "add_any": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "neg": np.negative,
    "abs": np.absolute,
    "square": np.square,
    "copy": np.asarray,
    "copy_p": np.asarray,
    "stop_gradient": np.asarray,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "not": np.invert,
}


def exact(eqn: Any, in_jax: Callable[..., Any]) -> Callable[..., Any] | None:
    """The equation as a function of its operands, which returns what `bind` does; None for an inexact or rare
    case. `in_jax` is the equation in JAX, for operands that are rare.
    """
    name, params = eqn.primitive.name, eqn.params
    operands, result = [v.aval for v in eqn.invars], eqn.outvars[0].aval
    match name:
        case "mul" | "abs" | "square" if operands[0].dtype.kind == "c":
            return None  # it rounds several times
        case _ if name in _ELEMENTWISE:
            return _ELEMENTWISE[name]
        case "real" | "imag":
            return np.real if name == "real" else np.imag
        case "complex":
            return _joined
        case "div" if result.dtype.kind == "f":
            return np.divide
        case "select_n" if len(operands) == 3:
            return lambda which, no, yes: np.where(which, yes, no)
        case "convert_element_type" if result.dtype.kind == "c" or operands[0].dtype.kind != "c":
            return lambda x: np.asarray(x, result.dtype)
        case "broadcast_in_dim" if len(operands) == 1:
            axes = params["broadcast_dimensions"]
            sizes = dict(zip(axes, operands[0].shape, strict=True))
            aligned = tuple(sizes.get(k, 1) for k in range(len(result.shape)))
            return _broadcast(aligned, result)
        case "reshape" if params["dimensions"] is not None:  # the axes are permuted first
            return lambda x: np.reshape(np.transpose(x, params["dimensions"]), result.shape)
        case "reshape" | "squeeze":
            return lambda x: np.reshape(x, result.shape)
        case "transpose":
            return lambda x: np.transpose(x, params["permutation"])
        case "rev":
            return lambda x: np.flip(x, params["dimensions"])
        case "concatenate":
            return lambda *xs: np.concatenate(xs, params["dimension"])
        case "stack":
            return lambda *xs: np.stack(xs, params["axis"])
        case "unstack":
            return lambda x: list(np.moveaxis(x, params["axis"], 0))
        case "split":
            ends = np.cumsum(params["sizes"])[:-1]
            return lambda x: np.split(x, ends, params["axis"])
        case "pad":
            return _padding(params["padding_config"], operands[0].shape, result.dtype)
        case "iota":
            numbers = np.expand_dims(
                np.arange(result.shape[params["dimension"]], dtype=result.dtype),
                tuple(k for k in range(len(result.shape)) if k != params["dimension"]),
            )
            return lambda: np.broadcast_to(numbers, result.shape)
        case "dot_general" if params["dimension_numbers"] == (((), ()), ((), ())):
            if all(x.dtype == result.dtype and result.dtype.kind == "f" for x in operands):
                return np.multiply.outer
        case "reduce_sum" if operands[0].size == result.size:
            return lambda x: np.reshape(x, result.shape)
        case "reduce_sum" if result.dtype.kind == "f" and operands[0].size == 2 * result.size:
            return lambda x: x.sum(tuple(params["axes"]), initial=0)
        case "gather" | "scatter" | "scatter-add" if len(operands[1].shape) == 1:
            return _at_one_place(name, params, operands, result, in_jax)
        case "slice":
            steps = params["strides"] or (None,) * len(result.shape)
            key = tuple(map(slice, params["start_indices"], params["limit_indices"], steps))
            return lambda x: x[key]
        case "dynamic_slice" if len(operands) == 1 + len(result.shape):
            return lambda x, *starts: x[_window(starts, result.shape, operands[0].shape)]
        case "dynamic_update_slice":
            return _updated
    return None


def _broadcast(aligned: tuple[int, ...], result: Any) -> Callable[..., Any]:
    def broadcast(x: Any) -> Any:
        whole = np.empty(result.shape, result.dtype)
        whole[...] = np.reshape(x, aligned)
        return whole

    return (lambda x: np.reshape(x, aligned)) if aligned == result.shape else broadcast


def _padding(config: Any, shape: tuple[int, ...], dtype: Any) -> Callable[..., Any]:
    """`config` has the numbers of entries before, after and between those of each axis; where the first two
    are negative, so many are cut off.
    """
    sizes, entries, kept = [], [], []
    for n, (low, high, between) in zip(shape, config, strict=True):
        step = int(between) + 1
        spread = (n - 1) * step + 1 if n else 0
        begin = max(int(low), 0)
        sizes.append(begin + spread + max(int(high), 0))
        entries.append(slice(begin, begin + spread, step))
        kept.append(slice(max(-int(low), 0), sizes[-1] + min(int(high), 0)))

    def padded(x: Any, value: Any) -> Any:
        whole = np.full(sizes, value, dtype)
        whole[tuple(entries)] = x
        return whole[tuple(kept)]

    return padded


def _at_one_place(
    name: str, params: Any, operands: Any, result: Any, in_jax: Callable[..., Any]
) -> Callable[..., Any] | None:
    """A gather, or a scatter, of one window. Where the window is not inside the array, JAX is asked."""
    numbers, shape = params["dimension_numbers"], operands[0].shape
    if name == "gather":
        axes, sizes = numbers.start_index_map, params["slice_sizes"]
    else:
        axes = numbers.scatter_dims_to_operand_dims
        kept = iter(operands[2].shape)
        sizes = tuple(1 if k in numbers.inserted_window_dims else next(kept) for k in range(len(shape)))

    def window(at: Any) -> tuple[slice, ...] | None:
        key = [slice(0, size) for size in sizes]
        for axis, start in zip(axes, at.tolist(), strict=True):
            if not 0 <= start <= shape[axis] - sizes[axis]:
                return None
            key[axis] = slice(start, start + sizes[axis])
        return tuple(key)

    def gathered(x: Any, at: Any) -> Any:
        key = window(at)
        return in_jax(x, at) if key is None else np.reshape(x[key], result.shape)

    def scattered(x: Any, at: Any, update: Any) -> Any:
        key = window(at)
        if key is None:
            return in_jax(x, at, update)
        whole = np.array(x)
        update = np.reshape(update, sizes)
        whole[key] = update if name == "scatter" else whole[key] + update
        return whole

    return gathered if name == "gather" else scattered


def _joined(re: Any, im: Any) -> Any:
    shape = np.broadcast_shapes(np.shape(re), np.shape(im))
    result = np.empty(shape, np.result_type(np.asarray(re).dtype, np.complex64))
    result.real, result.imag = re, im
    return result


def _window(starts: Any, sizes: tuple[int, ...], shape: tuple[int, ...]) -> tuple[slice, ...]:
    """The slices of `sizes` from `starts`, moved to lie inside `shape`, as in JAX."""
    first = [min(max(int(k), 0), n - size) for k, size, n in zip(starts, sizes, shape, strict=True)]
    return tuple(slice(k, k + size) for k, size in zip(first, sizes, strict=True))


def _updated(x: Any, update: Any, *starts: Any) -> Any:
    result = np.array(x)
    result[_window(starts, update.shape, result.shape)] = update
    return result
