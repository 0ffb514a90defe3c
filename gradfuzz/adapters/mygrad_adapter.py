"""MyGrad. Reverse mode of first order, by Tensor.backward; arrays of ints and bools are NumPy's.

An assignment to a part of an array is MyGrad's own, in place.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any

import kit
import mygrad as mg
import numpy as np

NO_DERIVATIVE = "cannot involve non-constant mygrad tensors"
"""What functions without a derivative say, such as trunc."""


def index_key(pattern: Sequence[Any], indices: Sequence[Any]) -> tuple[Any, ...]:
    rest = iter(indices)
    return tuple(next(rest) if entry == "at" else slice(entry[1], entry[2]) for entry in pattern)


def index_update(x: Any, value: Any, *indices: Any, pattern: Sequence[Any]) -> Any:
    if not isinstance(x, mg.Tensor):
        changed = np.array(x)
        changed[index_key(pattern, indices)] = np.asarray(value)
        return changed
    # A constant would stay constant, even if written to.
    changed = mg.tensor(x.data.copy(), constant=False) if x.constant else +x
    changed[index_key(pattern, indices)] = value
    return changed


def argextreme(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(x: Any, axis: int | None, keepdims: bool) -> Any:
        found = function(np.asarray(x), axis)
        if not keepdims:
            return found
        return np.reshape(found, [1] * x.ndim) if axis is None else np.expand_dims(found, axis)

    return call


def along(x: Any, axis: int, key: Any) -> Any:
    return x[(*[slice(None)] * (axis % x.ndim), key)]


def logic(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *xs, **params: function(*[np.asarray(x) for x in xs], **params)


def conv(x: Any, kernel: Any, strides: Sequence[int], padding: Sequence[Sequence[int]]) -> Any:
    count = x.ndim - 2
    if any(before != after for before, after in padding or ()):
        raise kit.Unsupported("conv_nd pads both ends of an axis alike")
    pads = [p for p, _ in padding or [(0, 0)] * count]
    free = [n + 2 * p - k for n, k, p in zip(x.shape[2:], kernel.shape[2:], pads)]
    if any(n < 0 or n % step for n, step in zip(free, strides or (1,) * count)):
        raise kit.Unsupported("conv_nd takes strides that the kernel can take to the end")
    return mg.nnet.conv_nd(x, kernel, stride=strides or 1, padding=tuple(pads))


def vector_norm(x: Any, ord: Any, axis: Any, keepdims: bool) -> Any:
    if isinstance(ord, str) or ord <= 0:
        raise kit.Unsupported(f"mygrad.linalg.norm has no order {ord}")
    if axis is None:
        norm = mg.linalg.norm(mg.reshape(x, (-1,)), ord)
        return mg.reshape(norm, (1,) * x.ndim) if keepdims else norm
    return mg.linalg.norm(x, ord, axis=axis, keepdims=keepdims)


SAME = "add subtract multiply divide negative abs maximum minimum where sum mean prod matmul"
"""Ops that are functions of mygrad by the same name, with the same parameters."""

COMPARISONS = (
    "less less_equal greater greater_equal equal not_equal logical_and logical_or logical_not remainder all"
    " any sign"
)
"""Ops without a derivative: NumPy's of the same name."""

OPS = {
    **{op: getattr(mg, op) for op in SAME.split()},
    **{op: logic(getattr(np, op)) for op in COMPARISONS.split()},
    "amax": mg.amax,
    "amin": mg.amin,
    "argmax": argextreme(np.argmax),
    "argmin": argextreme(np.argmin),
    "argsort": lambda x, axis: np.argsort(np.asarray(x), axis, kind="stable"),
    "astype": lambda x, dtype: x.astype(dtype),
    "broadcast_to": lambda x, shape: mg.broadcast_to(x, shape),
    "clip": mg.clip,
    "concat": lambda *arrays, axis: mg.concatenate(arrays, axis=axis),
    "conv": conv,
    "cumulative_prod": mg.cumprod,
    "cumulative_sum": mg.cumsum,
    "einsum": lambda *arrays, subscripts: mg.einsum(subscripts, *arrays),
    "flip": lambda x, axis: along(x, axis, slice(None, None, -1)),
    "index": lambda x, *indices, pattern: x[index_key(pattern, indices)],
    "index_update": index_update,
    "integer_pow": lambda x, n: x**n,
    "log_softmax": mg.nnet.logsoftmax,
    "permute_dims": lambda x, axes: mg.transpose(x, *axes) if axes else x,
    "pow": mg.power,
    "reshape": lambda x, shape: mg.reshape(x, shape),
    "softmax": mg.nnet.softmax,
    "stack": lambda *arrays, axis: mg.stack(arrays, axis=axis),
    "take": lambda x, indices, axis: along(x, axis, indices),
    "vector_norm": vector_norm,
}


class Eager(kit.Way):
    """MyGrad as it is: programs run in Python, on tensors that record a graph."""

    name = "eager"
    ops = OPS
    functions = (mg,)

    def array(self, dtype: str, shape: kit.Shape, entries: list[Any]) -> Any:
        array = np.array(entries, dtype).reshape(shape)
        return mg.tensor(array, constant=True) if array.dtype.kind == "f" else array

    def entries(self, value: Any) -> kit.Numbers:
        array = np.asarray(value)
        return array.dtype.name, array.shape, array.ravel().tolist()

    def differentiate(
        self, f: kit.Function, xs: list[Any], weights: list[Any], directions: list[Any], modes: kit.Modes
    ) -> tuple[list[Any], list[Any]]:
        if not modes:
            return f(*xs), []
        xs = [mg.tensor(x.data.copy(), constant=False) for x in xs]
        try:
            outputs = f(*xs)
        except ValueError as error:
            if NO_DERIVATIVE in str(error):
                raise kit.Unsupported(str(error)) from None
            raise
        values = [y.data.copy() if isinstance(y, mg.Tensor) else y for y in outputs]
        terms = [mg.sum(y * w) for y, w in zip(outputs, weights) if w is not None]
        objective = sum(terms[1:], terms[0]) if terms else None
        if objective is not None and not objective.constant:
            objective.backward()
        return values, [np.zeros_like(x.data) if x.grad is None else x.grad for x in xs]


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    kit.serve("mygrad", version("mygrad"), [Eager()])
