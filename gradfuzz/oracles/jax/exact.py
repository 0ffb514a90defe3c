"""JAX primitives whose results are the same in NumPy.

IEEE arithmetic defines +, -, *, / to the last bit, and moving, comparing and selecting entries rounds
nothing, so NumPy's results equal those of JAX's kernels (which, on a CPU, also turn subnormal numbers into
zeros). NumPy saves a compilation per primitive and shape, and nine tenths of the time of a call: without it
a sweep of loops takes twice as long.
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


def exact(eqn: Any) -> Callable[..., Any] | None:
    """The equation as a function of its operands, which returns what `bind` does; None for an inexact or rare
    case.
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
