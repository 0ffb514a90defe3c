"""tinygrad on the CPU: lazy tensors, loops by Python. Reverse mode is Tensor.gradient; higher orders nest it.

lazy      float32, on the CPU backend, which compiles by clang
float64   the same in float64: in tinygrad 0.14, sin of float64 beyond 30 is right to seven digits
python    both, on the backend that interprets kernels in Python and needs no compiler: where no clang is on
          the path, or where DEV=PYTHON asks for it

Each decision of a program needs a schedule and a kernel of its own, so a point whose loops run for more than
20 seconds is *unsupported*.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any

os.environ.setdefault(
    "DEV", "CPU" if any(os.access(f"{path}/clang", os.X_OK) for path in os.get_exec_path()) else "PYTHON"
)
os.environ.pop("CC", None)  # the CPU backend would use it in place of clang
os.environ.setdefault("CACHELEVEL", "0")  # so that nothing is written to the user's home

import kit
import numpy as np
from tinygrad import Device, Tensor, dtypes

setattr(Tensor, "__bool__", lambda x: bool(x.item()))  # noqa: B010 - tinygrad raises there; a call, as scripts that are cut out of this keep calls

# Before 0.11 tinygrad reads no DEV, and the oldest call the CPU's backend CLANG. Newer ones ignore this.
vars(Device).setdefault("DEFAULT", os.environ["DEV"] if os.environ["DEV"] in Device._devices else "CLANG")  # noqa: SLF001 - there is no public list

SECONDS = 20.0
"""The most time for the loops of a point."""

DTYPES = {"float64": dtypes.float64, "float32": dtypes.float32, "int64": dtypes.int64, "bool": dtypes.bool}


def key(pattern: Sequence[Any], indices: Sequence[Any]) -> tuple[Any, ...]:
    rest = iter(indices)
    return tuple(next(rest) if entry == "at" else slice(entry[1], entry[2]) for entry in pattern)


def index(x: Any, *indices: Any, pattern: Sequence[Any]) -> Any:
    return x[key(pattern, indices)] if pattern else x


def reducing(name: str) -> Callable[..., Any]:
    return lambda x, axis, keepdims: getattr(x, name)(axis=axis, keepdim=keepdims)


def position(name: str) -> Callable[..., Any]:
    return lambda x, axis, keepdims: getattr(x, name)(axis=axis, keepdim=keepdims).cast(dtypes.int64)


def along(name: str) -> Callable[..., Any]:
    return lambda x, axis: getattr(x, name)(axis)


def take(x: Any, indices: Any, axis: int) -> Any:
    return x[(*[slice(None)] * (axis % x.ndim), indices)]


def conv(x: Any, kernel: Any, strides: Sequence[int], padding: Sequence[Sequence[int]]) -> Any:
    """tinygrad's padding starts with the last axis."""
    pads = [n for pair in reversed(padding or [(0, 0)] * (x.ndim - 2)) for n in pair]
    return x.conv2d(kernel, stride=tuple(strides or (1,) * (x.ndim - 2)), padding=tuple(pads))


def where(condition: Any, a: Any, b: Any) -> Any:
    return (Tensor(condition) if isinstance(condition, bool) else condition).where(a, b)


def scatter_add(x: Any, indices: Any, updates: Any, axis: int) -> Any:
    """tinygrad scatters along an axis by an index for each entry."""
    if indices.ndim != 1 or axis % x.ndim:
        raise kit.Unsupported("only rows are added here")
    places = indices.reshape(-1, *[1] * (x.ndim - 1)).expand(updates.shape)
    return x.scatter_reduce(0, places, updates, "sum")


def node(x: Any) -> Any:
    """The node of a tensor in the graph."""
    return x.uop if hasattr(x, "uop") else x.lazydata


def nodes_before(x: Any) -> Any:
    """All nodes that a tensor is computed from, and its own."""
    found = node(x).toposort
    return set(found() if callable(found) else found)


SAME = "abs add ceil clip cos cosh exp exp2 floor log log2 logical_not maximum minimum pow reciprocal relu"
SAME += " round rsqrt sign silu sin softplus sqrt square tan tanh trunc"
"""Ops whose namesakes in Tensor take the same parameters."""

OPS = {
    **{op: getattr(Tensor, op) for op in SAME.split()},
    "all": reducing("all"),
    "amax": reducing("max"),
    "amin": reducing("min"),
    "any": reducing("any"),
    "argmax": position("argmax"),
    "argmin": position("argmin"),
    "argsort": lambda x, axis: x.argsort(axis).cast(dtypes.int64),
    "astype": lambda x, dtype: x.cast(DTYPES[dtype]),
    "broadcast_to": lambda x, shape: x.expand(shape) if shape else x,
    "concat": lambda *arrays, axis: arrays[0].cat(*arrays[1:], dim=axis),
    "conv": conv,
    "cumulative_max": lambda x, axis: x.cummax(axis)[0],
    "cumulative_prod": along("cumprod"),
    "cumulative_sum": along("cumsum"),
    "diagonal": lambda x, offset: x.diagonal(offset, -2, -1),
    "divide": Tensor.div,
    "einsum": lambda *arrays, subscripts: Tensor.einsum(subscripts, *arrays),
    "equal": lambda a, b: a == b,
    "expit": Tensor.sigmoid,
    "flip": lambda x, axis: x.flip(axis),
    "gelu_tanh": Tensor.gelu,
    "greater": lambda a, b: a > b,
    "greater_equal": lambda a, b: a >= b,
    "index": index,
    "integer_pow": lambda x, n: x**n,
    "less": lambda a, b: a < b,
    "less_equal": lambda a, b: a <= b,
    "log_softmax": along("log_softmax"),
    "logical_and": lambda a, b: a & b,
    "logical_or": lambda a, b: a | b,
    "logsumexp": reducing("logsumexp"),
    "matmul": lambda a, b: a @ b,
    "mean": reducing("mean"),
    "multiply": Tensor.mul,
    "negative": Tensor.neg,
    "not_equal": lambda a, b: a != b,
    "outer": lambda a, b: a.unsqueeze(-1) * b,
    "permute_dims": lambda x, axes: x.permute(axes) if axes else x,
    "prod": reducing("prod"),
    "reshape": lambda x, shape: x.reshape(shape),
    "scatter_add": scatter_add,
    "softmax": along("softmax"),
    "sort": lambda x, axis: x.sort(axis)[0],
    "stack": lambda *arrays, axis: Tensor.stack(*arrays, dim=axis),
    "subtract": Tensor.sub,
    "sum": reducing("sum"),
    "take": take,
    "take_along_axis": lambda x, indices, axis: x.gather(axis, indices),
    "trace": lambda x, offset: x.diagonal(offset, -2, -1).sum(-1),
    "tril": lambda x, k: x.tril(k),
    "triu": lambda x, k: x.triu(k),
    "where": where,
}
"""No erf, asin, acos and atan: those of tinygrad are approximations to seven digits. Its gelu is
gelu_tanh, so functions are not looked up by name.
"""


class Lazy(kit.Way):
    """Loops and branches are Python's. Their conditions are computed at once, other values when read."""

    name = "lazy"
    ops = OPS
    dtypes: tuple[str, ...] = ("float32",)
    orders = (0, 1, 2)
    hints = {"stride": 8}

    def array(self, dtype: str, shape: kit.Shape, entries: list[Any]) -> Any:
        """A scalar made from a scalar would be a constant: one node for all constants of the same value."""
        return Tensor(np.array(entries, dtype), dtype=DTYPES[dtype]).reshape(shape)

    def entries(self, value: Any) -> kit.Numbers:
        array = value.numpy()
        return array.dtype.name, array.shape, array.ravel().tolist()

    def decide(self, value: Any) -> bool:
        if time.monotonic() > self.until:
            raise kit.Unsupported(
                f"the loops of a point have {SECONDS:g} seconds here: every decision is computed by a kernel"
                " of its own"
            )
        return bool(value.item())

    def differentiate(
        self, f: kit.Function, xs: list[Any], weights: list[Any], directions: list[Any], modes: kit.Modes
    ) -> tuple[list[Any], list[Any]]:
        self.until = time.monotonic() + SECONDS
        outputs, slopes = self.derivatives(f, xs, weights, directions, modes)
        computed = [value for value in (*outputs, *slopes) if isinstance(value, Tensor)]
        if computed:
            Tensor.realize(*computed)
        return outputs, slopes

    def derivatives(
        self, f: kit.Function, xs: list[Any], weights: list[Any], directions: list[Any], modes: kit.Modes
    ) -> Any:
        outputs = f(*xs)
        if not modes:
            return outputs, []
        terms = [(y * w).sum() for y, w in zip(outputs, weights) if w is not None]
        found = sum(terms[1:], terms[0]) if terms else None
        for _ in modes[:-1]:
            first, *rest = [(s * v).sum() for s, v in zip(self.gradient(found, xs), directions)]
            found = sum(rest, first)
        return outputs, self.gradient(found, xs)

    def gradient(self, y: Any, xs: list[Any]) -> Any:
        """The gradient, with zeros where `y` does not depend on an input: tinygrad raises there."""
        reached = set() if y is None else nodes_before(y)
        active = [x for x in xs if node(x) in reached]
        slopes = iter(y.gradient(*active)) if active else iter(())
        return [next(slopes) if node(x) in reached else x.zeros_like() for x in xs]


class Double(Lazy):
    """The same in float64."""

    name = "float64"
    dtypes = ("float64",)


class Interpreted(Lazy):
    """The same without a compiler."""

    name = "python"
    dtypes = ("float64", "float32")


if __name__ == "__main__":
    kit.serve(
        "tinygrad",
        version("tinygrad"),
        [Interpreted()] if os.environ["DEV"] == "PYTHON" else [Lazy(), Double()],
    )
