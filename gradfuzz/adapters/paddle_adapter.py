"""PaddlePaddle on the CPU. Loops are Python's and record a tape ("dygraph"), or they are
`static.nn.while_loop` and `cond` in a graph ("static").

Reverse mode is `paddle.grad` and `static.gradients`; a second order needs `create_graph=True`. Ops without a
second derivative raise, which is *unsupported*; so is what Paddle has, or documents, for real numbers only.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import kit
import numpy as np
import paddle
from paddle.nn import functional

PLACE = paddle.CPUPlace()
NO_RULE = re.compile(
    r".*(doesn't have any grad ?op|kernel with key .*complex.* is not registered|but (got|received) complex"
    r"|have the same dtype such as 'float32' and 'float64').*"
)
"""The line of an error that says what Paddle lacks: a derivative, or complex numbers."""
REAL_ONLY = "its documentation says: data type float32, float64"


def tensor(value: Any) -> Any:
    """Python's bools and ints as tensors; tensors unchanged."""
    if isinstance(value, bool):
        return paddle.full([], value, "bool")
    return paddle.full([], value, "int64") if isinstance(value, int) else value


def of_tensors(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, with operands that may also be Python bools or ints."""
    return lambda *args, **params: function(*[tensor(a) for a in args], **params)


def index_key(pattern: Sequence[Any], indices: Sequence[Any]) -> tuple[Any, ...]:
    rest = iter(indices)
    return tuple(next(rest) if entry == "at" else slice(entry[1], entry[2]) for entry in pattern)


def index(x: Any, *indices: Any, pattern: Sequence[Any]) -> Any:
    return x[index_key(pattern, indices)] if pattern else x


def index_update(x: Any, value: Any, *indices: Any, pattern: Sequence[Any]) -> Any:
    if not pattern:
        return value
    result = x.clone()
    result[index_key(pattern, indices)] = value
    return result


def take(x: Any, indices: Any, axis: int) -> Any:
    indices = tensor(indices)
    if len(indices.shape) == 1:
        return paddle.index_select(x, indices, axis)
    return x[(*[slice(None)] * (axis % x.ndim), indices)]


def scatter_add(x: Any, indices: Any, updates: Any, axis: int) -> Any:
    indices, updates = tensor(indices), tensor(updates)
    if len(indices.shape) != 1:
        raise kit.Unsupported("paddle.index_add takes indices with one axis")
    return paddle.index_add(x, indices, axis, updates)


def reducing(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` over axes. Over no axes it is the identity, where Paddle reduces all of them."""

    def call(x: Any, axis: Any, keepdims: bool) -> Any:
        if axis == ():
            raise kit.Unsupported("an empty list of axes means all of them in Paddle")
        return function(x, axis=axis, keepdim=keepdims)

    return call


def argextreme(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, axis, keepdims: function(x, axis=axis, keepdim=keepdims)


def clip(x: Any, lower: Any, upper: Any) -> Any:
    """paddle.clip takes numbers as bounds, and has no derivative by them."""
    return paddle.minimum(paddle.maximum(x, lower), upper)


def pairs(padding: Sequence[Sequence[int]]) -> list[int]:
    return [n for pair in padding for n in pair]


def conv(x: Any, kernel: Any, strides: Sequence[int], padding: Sequence[Sequence[int]]) -> Any:
    count = x.ndim - 2
    apply = functional.conv1d if count == 1 else functional.conv2d
    return apply(x, kernel, stride=list(strides or [1] * count), padding=pairs(padding or [(0, 0)] * count))


def window_sum(x: Any, window: Any, strides: Any, padding: Any) -> Any:
    """Average pooling that divides by 1."""
    rank = x.ndim
    if rank > 3:
        raise kit.Unsupported("Paddle's pooling has windows of at most three axes")
    more = max(0, 2 - rank)
    window, strides = [1] * more + list(window), [1] * more + list(strides or [1] * rank)
    padding = pairs([(0, 0)] * more + list(padding or [(0, 0)] * rank))
    pool = functional.avg_pool3d if rank == 3 else functional.avg_pool2d
    image = paddle.reshape(x, [1] * (2 + more) + list(x.shape))
    y = pool(image, window, strides, padding, exclusive=False, divisor_override=1)
    return paddle.reshape(y, y.shape[2 + more :])


def is_complex(x: Any) -> Any:
    return entry_dtype(x).startswith("complex")


def part_of(function: Callable[..., Any], of_real: Any) -> Callable[..., Any]:
    return lambda x: function(x) if is_complex(x) else of_real(x)


def documented_for_reals(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, refused for complex numbers, with which it does not raise."""

    def call(x: Any, *args: Any, **params: Any) -> Any:
        if is_complex(x):
            raise kit.Unsupported(f"paddle.linalg.{name}: {REAL_ONLY}")
        return function(x, *args, **params)

    return call


def hermitian(x: Any) -> Any:
    transposed = paddle.transpose(x, [*range(x.ndim - 2), x.ndim - 1, x.ndim - 2])
    return (x + (paddle.conj(transposed) if is_complex(x) else transposed)) / 2


def values_only(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, refused where a derivative is asked for: Paddle takes its results for constants."""

    def call(*arrays: Any) -> Any:
        if not all(a.stop_gradient for a in arrays):
            raise kit.Unsupported(f"paddle.linalg.{name} has no gradient kernel")
        return function(*arrays)

    return call


def lstsq(a: Any, b: Any) -> Any:
    if b.ndim == 1:
        return paddle.squeeze(paddle.linalg.lstsq(a, paddle.unsqueeze(b, -1))[0], -1)
    return paddle.linalg.lstsq(a, b)[0]


def lu(x: Any, part: int) -> Any:
    return paddle.linalg.lu_unpack(*paddle.linalg.lu(x))[part]


def slogdet(x: Any, part: int) -> Any:
    """In some releases the logarithm of a complex matrix has its dtype; it is a real number."""
    found = paddle.linalg.slogdet(x)[part]
    return OPS["real"](found) if part == 1 else found


def solve(a: Any, b: Any) -> Any:
    if b.ndim == 1 and a.ndim > 2:
        raise kit.Unsupported("paddle.linalg.solve does not say what a vector is to a stack of matrices")
    return paddle.linalg.solve(a, b)


def triangular_solve(a: Any, b: Any, lower: bool, transposed: bool, unit_diagonal: bool, left: bool) -> Any:
    if not left:
        raise kit.Unsupported("paddle.linalg.triangular_solve has no right side")
    return paddle.linalg.triangular_solve(
        a, b, upper=not lower, transpose=transposed, unitriangular=unit_diagonal
    )


def order(ord: Any) -> Any:
    return {"inf": float("inf"), "-inf": float("-inf")}.get(ord, ord)


def matrix_norm(x: Any, ord: Any, keepdims: bool) -> Any:
    return paddle.linalg.matrix_norm(x, order(ord), keepdim=keepdims)


def vector_norm(x: Any, ord: Any, axis: Any, keepdims: bool) -> Any:
    return paddle.linalg.vector_norm(x, order(ord), axis, keepdims)


def matrices_only(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arrays: Any, **params: Any) -> Any:
        if any(a.ndim != 2 for a in arrays):
            raise kit.Unsupported("Paddle has this for matrices only, or batches it otherwise")
        return function(*arrays, **params)

    return call


def pinv(x: Any) -> Any:
    if is_complex(x):
        raise kit.Unsupported(
            "paddle.linalg.pinv: when data type is complex64 or complex128, hermitian should be set as True"
        )
    return paddle.linalg.pinv(x, rcond=np.finfo(entry_dtype(x)).eps * max(x.shape[-2:]))


def entry_dtype(x: Any) -> Any:
    return str(x.dtype).rpartition(".")[2]


SAME = "add subtract multiply divide sin cos tan tanh exp log sqrt log1p expm1 abs sign maximum minimum"
SAME += " where less_equal greater_equal equal not_equal logical_and logical_or logical_not remainder pow"
SAME += " outer matmul"
"""Ops of the same name that take operands alone."""

OPS = {
    **{op: of_tensors(getattr(paddle, op)) for op in SAME.split()},
    "all": reducing(paddle.all),
    "amax": reducing(paddle.amax),
    "amin": reducing(paddle.amin),
    "any": reducing(paddle.any),
    "argmax": argextreme(paddle.argmax),
    "argmin": argextreme(paddle.argmin),
    "argsort": lambda x, axis: paddle.argsort(x, axis, stable=True),
    "astype": lambda x, dtype: paddle.cast(tensor(x), dtype),
    "broadcast_to": lambda x, shape: paddle.broadcast_to(x, list(shape)),
    "cholesky": lambda x, upper: paddle.linalg.cholesky(hermitian(x), upper),
    "clip": of_tensors(clip),
    "complex": of_tensors(paddle.complex),
    "concat": lambda *arrays, axis: paddle.concat(list(arrays), axis),
    "conj": part_of(paddle.conj, lambda x: x),
    "conv": conv,
    "cumulative_max": lambda x, axis: paddle.cummax(x, axis)[0],
    "cumulative_prod": lambda x, axis: paddle.cumprod(x, dim=axis),
    "cumulative_sum": paddle.cumsum,
    "det": paddle.linalg.det,
    "diagonal": lambda x, offset: paddle.diagonal(x, offset, -2, -1),
    "eig": lambda x, part: paddle.linalg.eig(x)[part],
    "eigh": lambda x, part: paddle.linalg.eigh(hermitian(x))[part],
    "eigvals": values_only("eigvals", lambda x: paddle.linalg.eigvals(x)),
    "eigvalsh": lambda x: paddle.linalg.eigvalsh(hermitian(x)),
    "einsum": lambda *arrays, subscripts: paddle.einsum(subscripts, *arrays),
    "expm": lambda x: paddle.linalg.matrix_exp(x),
    "expit": functional.sigmoid,
    "flip": paddle.flip,
    "gelu": functional.gelu,
    "gelu_tanh": lambda x: functional.gelu(x, approximate=True),
    "greater": of_tensors(paddle.greater_than),
    "imag": part_of(paddle.imag, paddle.zeros_like),
    "index": index,
    "index_update": index_update,
    "integer_pow": lambda x, n: paddle.pow(x, n),
    "inv": paddle.linalg.inv,
    "kron": matrices_only(paddle.kron),
    "less": of_tensors(paddle.less_than),
    "log_softmax": functional.log_softmax,
    "logsumexp": reducing(paddle.logsumexp),
    "lstsq": values_only("lstsq", lstsq),
    "lu": lu,
    "matrix_norm": documented_for_reals("matrix_norm", matrix_norm),
    "matrix_power": documented_for_reals("matrix_power", lambda x, n: paddle.linalg.matrix_power(x, n)),
    "mean": reducing(paddle.mean),
    "negative": paddle.neg,
    "permute_dims": lambda x, axes: paddle.transpose(x, list(axes)),
    "pinv": pinv,
    "prod": reducing(paddle.prod),
    "qr": lambda x, mode, part: paddle.linalg.qr(x, mode)[part],
    "real": part_of(paddle.real, lambda x: x),
    "relu": functional.relu,
    "reshape": lambda x, shape: paddle.reshape(x, list(shape)),
    "scatter_add": scatter_add,
    "silu": functional.silu,
    "slogdet": slogdet,
    "softmax": functional.softmax,
    "solve": solve,
    "sort": lambda x, axis: paddle.sort(x, axis),
    "stack": lambda *arrays, axis: paddle.stack([tensor(a) for a in arrays], axis),
    "sum": reducing(paddle.sum),
    "svd": lambda x, full_matrices, part: paddle.linalg.svd(x, full_matrices)[part],
    "svdvals": lambda x: paddle.linalg.svdvals(x),
    "take": take,
    "take_along_axis": paddle.take_along_axis,
    "trace": lambda x, offset: paddle.trace(x, offset, -2, -1),
    "triangular_solve": triangular_solve,
    "tril": lambda x, k: paddle.tril(x, k),
    "triu": lambda x, k: paddle.triu(x, k),
    "vector_norm": documented_for_reals("vector_norm", vector_norm),
    "window_sum": window_sum,
}
"""No softplus: Paddle's is x itself from 20 on, as its manual says."""


GRAPH_OPS = SAME + " all amax amin any astype broadcast_to complex concat conj cumulative_prod cumulative_sum"
GRAPH_OPS += " flip greater imag index integer_pow less logsumexp mean negative permute_dims prod real"
GRAPH_OPS += " reshape softmax stack sum take tril triu"
"""Ops of the way with loops of its own."""


def refusal(error: BaseException) -> kit.Unsupported | None:
    """The refusal in an error that says what Paddle lacks, or None."""
    lacking = NO_RULE.search(str(error))
    return kit.Unsupported("Paddle: " + lacking[0].strip()) if lacking else None


class Dygraph(kit.Way):
    """Eager mode: programs run in Python, and Paddle records a tape."""

    name = "dygraph"
    ops = OPS
    functions = (paddle,)
    modes = ("rev",)
    orders = (0, 1, 2, 3)

    def array(self, dtype: str, shape: kit.Shape, entries: list[Any]) -> Any:
        return paddle.to_tensor(np.array(entries, dtype).reshape(shape), place=PLACE)

    def entries(self, value: Any) -> kit.Numbers:
        array = value.numpy()
        return array.dtype.name, array.shape, array.ravel().tolist()

    def differentiate(
        self, f: kit.Function, xs: list[Any], weights: list[Any], directions: list[Any], modes: kit.Modes
    ) -> tuple[list[Any], list[Any]]:
        try:
            return self.derivatives(f, xs, weights, directions, modes)
        except Exception as error:
            raise refusal(error) or error from None

    def derivatives(
        self, f: kit.Function, xs: list[Any], weights: list[Any], directions: list[Any], modes: kit.Modes
    ) -> Any:
        paddle.set_grad_enabled(True)  # a failed second derivative leaves it off
        for x in xs:
            x.stop_gradient = not modes
        outputs = f(*xs)
        pairs = [(y, w) for y, w in zip(outputs, weights) if w is not None]
        for _ in modes[:-1]:
            pairs = list(zip(self.reverse(pairs, xs, True), directions))
        return outputs, self.reverse(pairs, xs, False) if modes else []

    def reverse(self, pairs: Any, xs: list[Any], again: Any) -> Any:
        """The gradient of F, the sum of <weight, y> over `pairs` (y, weight)."""
        active = [(y, w) for y, w in pairs if not y.stop_gradient]
        if not active:
            return [paddle.zeros_like(x) for x in xs]
        ys, ws = self.targets(active)
        found = paddle.grad(ys, xs, ws, create_graph=again, retain_graph=True, allow_unused=True)
        return [paddle.zeros_like(x) if g is None else g for x, g in zip(xs, found)]

    def targets(self, active: Any) -> Any:
        """The differentiated value: F itself, a scalar."""
        terms = [paddle.sum(y * w) for y, w in active]
        return [sum(terms[1:], terms[0])], None


class Outputs(Dygraph):
    """The same, but `paddle.grad` gets all outputs at once, with the weights as their cotangents."""

    name = "grad_outputs"
    hints = {"stride": 4, "variant": True}

    def targets(self, active: Any) -> Any:
        merged: dict[int, tuple[Any, Any]] = {}
        for y, w in active:  # an output may occur only once
            merged[id(y)] = (y, merged[id(y)][1] + w if id(y) in merged else w)
        return map(list, zip(*merged.values()))


def symbol(value: Any) -> Any:
    """A constant is a NumPy array until a graph is built. Float64 is assigned as float32 before Paddle 3."""
    if not isinstance(value, np.ndarray):
        return value
    if value.dtype != np.float64 or not value.size:
        return paddle.assign(value)
    entries = [paddle.full([], entry, "float64") for entry in value.ravel().tolist()]
    return paddle.reshape(paddle.stack(entries), value.shape) if value.shape else entries[0]


def in_graph(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args, **params: function(*[symbol(a) for a in args], **params)


class Static(kit.Way):
    """A graph with `static.nn.while_loop` and `cond`, built once for each question and run at every point."""

    name = "static"
    ops = {op: in_graph(OPS[op]) for op in GRAPH_OPS.split()}
    orders = (0, 1)
    structured = True
    hints = {"stride": 4}

    def __init__(self) -> None:
        self.executor = paddle.static.Executor(PLACE)

    def array(self, dtype: str, shape: kit.Shape, entries: list[Any]) -> Any:
        return np.array(entries, dtype).reshape(shape)

    def while_loop(
        self, condition: kit.Test, body: kit.Step, carries: list[Any], captures: list[Any]
    ) -> list[Any]:
        start = [paddle.assign(symbol(c)) for c in carries]
        # Otherwise a carry that starts as a constant stays one after the loop.
        for c in start:
            c.stop_gradient = entry_dtype(c) in ("int64", "bool")
        found = paddle.static.nn.while_loop(
            lambda *cs: symbol(condition(list(cs), captures)),
            lambda *cs: [symbol(c) for c in body(list(cs), captures)],
            start,
        )
        return list(found)

    def branch(self, predicate: Any, then: kit.Block, otherwise: kit.Block, captures: list[Any]) -> list[Any]:
        found = paddle.static.nn.cond(
            symbol(predicate),
            lambda: [symbol(y) for y in then(captures)],
            lambda: [symbol(y) for y in otherwise(captures)],
        )
        return list(found) if isinstance(found, (list, tuple)) else [found]

    def answer(self, program: kit.Program, request: kit.Message, inputs: kit.Inputs) -> list[kit.Message]:
        paddle.enable_static()
        try:
            return self.run(program, request, inputs)
        except Exception as error:
            raise refusal(error) or error from None
        finally:
            paddle.disable_static()

    def run(self, program: kit.Program, request: kit.Message, inputs: kit.Inputs) -> list[kit.Message]:
        main = paddle.static.Program()
        with paddle.static.program_guard(main, paddle.static.Program()):
            about = ((n, list(shape[1:]), dtype) for n, (dtype, shape, _) in inputs.items())
            here = {n: paddle.static.data(n, shape, dtype) for n, shape, dtype in about}
            xs = [here[n] for n in request["wrt"]]
            for x in xs:
                x.stop_gradient = False
            outputs, gradients = [symbol(y) for y in program(dict(here))], []
            if request["modes"]:
                weights, _ = kit.contracted(request, lambda *tensor: symbol(self.array(*tensor)))
                weighted = [(y, w) for y, w in zip(outputs, weights) if w is not None]
                terms = [paddle.sum(y * w) for y, w in weighted if not y.stop_gradient]
                found = paddle.static.gradients([sum(terms[1:], terms[0])], xs) if terms else [None] * len(xs)
                found = found or [None] * len(xs)  # Paddle 2 returns none of them where nothing is reached
                gradients = [paddle.zeros_like(x) if g is None else g for x, g in zip(xs, found)]
            fetched = [paddle.assign(v) for v in [*outputs, *gradients]]
        columns = {
            n: np.array(entries, dtype).reshape(shape) for n, (dtype, shape, entries) in inputs.items()
        }

        def at(k: int) -> kit.Message:
            feed = {n: column[k] for n, column in columns.items()}
            got = self.executor.run(main, feed=feed, fetch_list=fetched)
            if any(a is None for a in got):  # a variable that no op has written
                raise ValueError("the executor returns None where a value was fetched")
            arrays = [(a.dtype.name, a.shape, a.ravel().tolist()) for a in map(np.asarray, got)]
            values, slopes = arrays[: len(outputs)], arrays[len(outputs) :]
            return {"ok": (values, dict(zip(request["wrt"], slopes)))}

        return kit.each_point(request["count"], at, refusal)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    kit.serve("paddle", paddle.__version__, [Dygraph(), Outputs(), Static()])
