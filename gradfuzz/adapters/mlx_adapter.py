"""MLX on the CPU. Loops are Python's; reverse mode is mx.grad, forward mode mx.jvp; higher orders nest them.

The way "compile" puts mx.compile around the whole derivative, so a program cannot branch on its floats.
Complex numbers are complex64: MLX has no complex128. What it has for real numbers only is *unsupported*.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import kit
import mlx.core as mx
import mlx.nn as nn

KINDS = ("float64", "float32", "int64", "int32", "uint32", "complex64")
DTYPES = {**{name: getattr(mx, name) for name in KINDS if hasattr(mx, name)}, "bool": mx.bool_}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
NO_RULE = "Not implemented", "not yet implemented", "not implemented", "NYI"
NO_LOOK = "during function transformations"
REAL_ONLY = re.compile(
    r"Complex inputs are not supported|[Rr]eceived arrays? with types? complex|ot supported for complex"
)


def index_key(pattern: Sequence[Any], indices: Sequence[Any]) -> tuple[Any, ...]:
    rest = iter(indices)
    return tuple(next(rest) if entry == "at" else slice(entry[1], entry[2]) for entry in pattern)


def index(x: Any, *indices: Any, pattern: Sequence[Any]) -> Any:
    return x[index_key(pattern, indices)] if pattern else x


def index_update(x: Any, value: Any, *indices: Any, pattern: Sequence[Any]) -> Any:
    if not pattern:
        return value
    result = mx.array(x)
    result[index_key(pattern, indices)] = value
    return result


def scatter_add(x: Any, indices: Any, updates: Any, axis: int) -> Any:
    return x.at[(*[slice(None)] * (axis % x.ndim), indices)].add(updates)


def flip(x: Any, axis: int) -> Any:
    return x[(*[slice(None)] * (axis % x.ndim), slice(None, None, -1))]


def to_int64(function: Callable[..., Any]) -> Callable[..., Any]:
    """MLX counts positions in uint32, and needs indices marked as constants."""
    return lambda x, **params: mx.stop_gradient(function(x, **params)).astype(mx.int64)


def conv(x: Any, kernel: Any, strides: Sequence[int], padding: Sequence[Sequence[int]]) -> Any:
    """MLX has the channels last."""
    count = x.ndim - 2
    last = [0, *range(2, count + 2), 1]
    before, after = zip(*(padding or [(0, 0)] * count))
    padding = list(before), list(after)
    y = mx.conv_general(
        mx.transpose(x, last), mx.transpose(kernel, last), list(strides or [1] * count), padding
    )
    return mx.transpose(y, [0, count + 1, *range(1, count + 1)])


def hermitian(x: Any) -> Any:
    return (x + mx.conj(mx.swapaxes(x, -1, -2))) / 2


def svd(x: Any, full_matrices: bool, part: int) -> Any:
    if not full_matrices and x.shape[-1] != x.shape[-2] and part != 1:
        raise kit.Unsupported("mx.linalg.svd returns the full matrices only")
    return mx.linalg.svd(x)[part]


def svdvals(x: Any) -> Any:
    """Older releases have no way to ask for these alone."""
    alone = "compute_uv" in (mx.linalg.svd.__doc__ or "")
    return mx.linalg.svd(x, compute_uv=False) if alone else mx.linalg.svd(x)[1]


def qr(x: Any, mode: str, part: int) -> Any:
    if mode != "reduced":
        raise kit.Unsupported("mx.linalg.qr has no mode")
    return mx.linalg.qr(x)[part]


def triangular_solve(a: Any, b: Any, lower: bool, transposed: bool, unit_diagonal: bool, left: bool) -> Any:
    if transposed or unit_diagonal or not left:
        raise kit.Unsupported("mx.linalg.solve_triangular has no transpose, unit diagonal or right side")
    return mx.linalg.solve_triangular(a, b, upper=not lower)


def order(ord: Any) -> Any:
    return {"inf": math.inf, "-inf": -math.inf}.get(ord, ord)


def matrix_norm(x: Any, ord: Any, keepdims: bool) -> Any:
    return mx.linalg.norm(x, order(ord), [-2, -1], keepdims)


def vector_norm(x: Any, ord: Any, axis: Any, keepdims: bool) -> Any:
    row, along = (mx.flatten(x), -1) if axis is None else (x, axis)
    norm = mx.linalg.norm(row, order(ord), along, keepdims)
    return mx.reshape(norm, [1] * x.ndim) if axis is None and keepdims else norm


def matrices_only(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arrays: Any, **params: Any) -> Any:
        if any(a.ndim != 2 for a in arrays):
            raise kit.Unsupported("MLX has this for matrices only, or batches it otherwise")
        return function(*arrays, **params)

    return call


SAME = "add subtract multiply divide negative sin cos tan tanh exp log sqrt log1p expm1 abs sign maximum"
SAME += " minimum where less less_equal greater greater_equal equal not_equal logical_and logical_or"
SAME += " logical_not remainder sum mean prod all any matmul outer clip tril triu logsumexp"
"""Ops whose namesakes in mlx.core take the same parameters."""

OPS = {
    **{op: getattr(mx, op) for op in SAME.split()},
    "amax": mx.max,
    "amin": mx.min,
    "argmax": to_int64(mx.argmax),
    "argmin": to_int64(mx.argmin),
    "argsort": to_int64(mx.argsort),
    "astype": lambda x, dtype: (
        mx.array(x, DTYPES[dtype]) if isinstance(x, (bool, int)) else x.astype(DTYPES[dtype])
    ),
    "broadcast_to": lambda x, shape: mx.broadcast_to(x, shape),
    "cholesky": lambda x, upper: mx.linalg.cholesky(hermitian(x), upper),
    "complex": lambda re, im: re + 1j * im,
    "concat": lambda *arrays, axis: mx.concatenate(list(arrays), axis),
    "conj": mx.conj,
    "conv": conv,
    "cumulative_max": mx.cummax,
    "cumulative_prod": mx.cumprod,
    "cumulative_sum": mx.cumsum,
    "det": lambda x: mx.linalg.det(x),
    "diagonal": lambda x, offset: mx.diagonal(x, offset, -2, -1),
    "eig": lambda x, part: mx.linalg.eig(x)[part],
    "eigh": lambda x, part: mx.linalg.eigh(hermitian(x))[part],
    "eigvals": lambda x: mx.linalg.eigvals(x),
    "eigvalsh": lambda x: mx.linalg.eigvalsh(hermitian(x)),
    "einsum": lambda *arrays, subscripts: mx.einsum(subscripts, *arrays),
    "flip": flip,
    "imag": mx.imag,
    "index": index,
    "index_update": index_update,
    "integer_pow": lambda x, n: mx.power(x, n),
    "inv": mx.linalg.inv,
    "kron": matrices_only(lambda a, b: mx.kron(a, b)),
    "log_softmax": nn.log_softmax,
    "matrix_norm": matrix_norm,
    "permute_dims": lambda x, axes: mx.transpose(x, axes),
    "pinv": mx.linalg.pinv,
    "pow": mx.power,
    "qr": qr,
    "real": mx.real,
    "reshape": lambda x, shape: mx.reshape(x, shape),
    "scatter_add": scatter_add,
    "slogdet": lambda x, part: mx.linalg.slogdet(x)[part],
    "softmax": mx.softmax,
    "solve": lambda a, b: mx.linalg.solve(a, b),
    "sort": mx.sort,
    "stack": lambda *arrays, axis: mx.stack(list(arrays), axis),
    "svd": svd,
    "svdvals": svdvals,
    "take": mx.take,
    "take_along_axis": mx.take_along_axis,
    "trace": lambda x, offset: mx.trace(x, offset, -2, -1),
    "triangular_solve": triangular_solve,
    "vector_norm": vector_norm,
}
COMPLEX = ("complex", "conj", "eig", "eigvals", "imag", "real")
"""Those that make or take complex numbers."""


def gradient(g: Callable[..., Any], xs: list[Any]) -> Any:
    found = mx.grad(g, list(range(len(xs))))(*xs)
    return [found] if isinstance(found, mx.array) else list(found)


def slope(g: Callable[..., Any], xs: list[Any], directions: list[Any]) -> Any:
    """The derivative of a scalar function along a direction."""
    return mx.jvp(g, xs, directions)[1][0]


class Eager(kit.Way):
    """MLX as it is: programs run in Python, on lazy arrays that record a graph."""

    name = "eager"
    ops = OPS
    functions = (mx, nn)
    dtypes = ("float32",)
    modes = ("rev", "fwd")
    orders: tuple[int, ...] = (0, 1, 2, 3)

    def array(self, dtype: str, shape: kit.Shape, entries: list[Any]) -> Any:
        return mx.reshape(mx.array(entries, DTYPES[dtype]), shape)

    def entries(self, value: Any) -> kit.Numbers:
        return NAMES[value.dtype], value.shape, mx.flatten(value).tolist()

    def differentiate(
        self, f: kit.Function, xs: list[Any], weights: list[Any], directions: list[Any], modes: kit.Modes
    ) -> tuple[list[Any], list[Any]]:
        try:
            return self.derivatives(f, xs, weights, directions, modes)
        except (ValueError, RuntimeError) as error:
            message = str(error).strip().partition("\n")[0]
            if any(words in message for words in (*NO_RULE, NO_LOOK)) or REAL_ONLY.search(message):
                raise kit.Unsupported("MLX: " + message) from None
            raise

    def derivatives(
        self, f: kit.Function, xs: list[Any], weights: list[Any], directions: list[Any], modes: kit.Modes
    ) -> Any:
        def objective(*xs: Any) -> Any:
            terms = [mx.sum(y * w) for y, w in zip(f(*xs), weights) if w is not None]
            return sum(terms[1:], terms[0]) if terms else mx.zeros((), xs[0].dtype)

        def along(g: Callable[..., Any], mode: str) -> Callable[..., Any]:
            if mode == "fwd":
                return lambda *xs: slope(g, list(xs), directions)
            return lambda *xs: sum(mx.sum(s * v) for s, v in zip(gradient(g, list(xs)), directions))

        def arrays(*xs: Any) -> Any:
            return [y if isinstance(y, mx.array) else mx.array(y, self.kind(y)) for y in f(*xs)]

        outputs = self.run(arrays, xs)
        if not modes:
            return outputs, []
        g = objective
        for mode in modes[:-1]:
            g = along(g, mode)
        if modes[-1] == "rev":
            found = self.run(lambda *xs: gradient(g, list(xs)), xs)
        else:
            found = self.by_entries(g, xs)
        mx.eval(outputs, found)
        return outputs, found

    def kind(self, y: Any) -> Any:
        return mx.bool_ if isinstance(y, bool) else mx.int64

    def run(self, function: Callable[..., Any], xs: list[Any]) -> Any:
        return function(*xs)

    def by_entries(self, g: Callable[..., Any], xs: list[Any]) -> Any:
        """The gradient by forward mode, entry by entry."""
        sizes = [x.size for x in xs]
        apply = self.wrapped(lambda *both: [slope(g, list(both[: len(xs)]), list(both[len(xs) :]))])
        found = []
        for k, x in enumerate(xs):
            slopes = []
            for place in range(sizes[k]):
                units = [[0.0] * n for n in sizes]
                units[k][place] = 1.0
                directions = [mx.reshape(mx.array(u, y.dtype), y.shape) for u, y in zip(units, xs)]
                slopes.append(apply(*xs, *directions)[0])
            found.append(mx.reshape(mx.stack(slopes), x.shape) if slopes else mx.zeros_like(x))
        return found

    def wrapped(self, function: Callable[..., Any]) -> Any:
        return function


def has_doubles() -> bool:
    """Whether float64 goes in and out as it is. Older releases lack the dtype, or round it to float32."""
    try:
        return mx.array([0.1], mx.float64).tolist() == [0.1]
    except (AttributeError, TypeError):
        return False


class Double(Eager):
    """The same in float64, as a way of its own: MLX 0.32 has sin, cos and exp right to seven digits there."""

    name = "float64"
    ops = {op: function for op, function in OPS.items() if op not in COMPLEX}
    dtypes = ("float64",)
    hints = {"stride": 4}


class Compiled(Eager):
    """The same, compiled as a whole."""

    name = "compile"
    loops = ("for",)
    features = ("nested", "runtime_trips")
    orders = (0, 1, 2)
    hints = {"stride": 8}

    def wrapped(self, function: Callable[..., Any]) -> Any:
        return mx.compile(function)

    def run(self, function: Callable[..., Any], xs: list[Any]) -> Any:
        return self.wrapped(function)(*xs)


if __name__ == "__main__":
    mx.set_default_device(mx.cpu)
    ways = [Eager(), *([Double()] if has_doubles() else []), Compiled()]
    kit.serve("mlx", mx.__version__, ways)
