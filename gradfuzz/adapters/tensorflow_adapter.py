"""TensorFlow on the CPU. Five ways: op by op, in a graph with loops of its own, that graph by XLA,
differentiated from outside, and vectorized.

Reverse mode is GradientTape, forward mode ForwardAccumulator, which transposes the gradient functions; higher
orders nest the two. An op is TensorFlow's own function wherever it has one. An op without a registered
gradient, and what an op's documentation excludes, is *unsupported*; so is what it has for real numbers only.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Sequence
from typing import Any

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="-1", TF_ENABLE_ONEDNN_OPTS="0")

import kit
import numpy as np
import tensorflow as tf
import tensorflow.experimental.numpy as tnp

# Ops --------------------------------------------------------------------------------------------------------


def hermitian(x: Any) -> Any:
    return (x + tf.linalg.adjoint(x)) / 2


def real_part(function: Callable[..., Any], part: int | None = None) -> Callable[..., Any]:
    """`function` of a matrix with real results: its only one, or the one numbered `part`.

    TensorFlow returns them in the matrix's dtype, also where that is complex.
    """

    def call(x: Any, **params: Any) -> Any:
        if part is None:
            return tf.math.real(function(x, **params))
        found = function(x)[params["part"]]
        return tf.math.real(found) if params["part"] == part else found

    return call


def spread(a: Any, b: Any) -> Any:
    """Two stacks of matrices with the same batch axes: these functions of TensorFlow do not broadcast."""
    batch = tf.broadcast_static_shape(a.shape[:-2], b.shape[:-2])
    return tf.broadcast_to(a, batch + a.shape[-2:]), tf.broadcast_to(b, batch + b.shape[-2:])


def with_columns(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function(a, b)` of matrices, for right sides that may be a vector."""

    def call(a: Any, b: Any) -> Any:
        if len(b.shape) == 1:
            return tf.squeeze(function(*spread(a, b[:, None])), -1)
        return function(*spread(a, b))

    return call


def integer_pow(x: Any, n: int) -> Any:
    return tf.pow(x, tf.constant(n, x.dtype))


def clip(x: Any, lower: Any, upper: Any) -> Any:
    low, high = tf.get_static_value(lower), tf.get_static_value(upper)
    if low is None or high is None or np.any(low > high):
        raise kit.Unsupported("tf.clip_by_value wants a lower bound that is not above the upper one")
    if tf.broadcast_static_shape(tf.broadcast_static_shape(x.shape, lower.shape), upper.shape) != x.shape:
        raise kit.Unsupported("tf.clip_by_value broadcasts the bounds alone")
    return tf.clip_by_value(x, lower, upper)


def argextreme(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(x: Any, axis: int | None, keepdims: bool) -> Any:
        rank = len(x.shape)
        found = function(tf.reshape(x, [-1]), 0) if axis is None else function(x, axis)
        if not keepdims:
            return found
        return tf.reshape(found, [1] * rank) if axis is None else tf.expand_dims(found, axis)

    return call


def index(x: Any, *indices: Any, pattern: Sequence[Any]) -> Any:
    rest = iter(indices)
    return x[tuple(next(rest) if entry == "at" else slice(entry[1], entry[2]) for entry in pattern)]


def index_update(x: Any, value: Any, *indices: Any, pattern: Sequence[Any]) -> Any:
    """The place as a list of entries."""
    if not pattern:
        return value
    rest, axes = iter(indices), []
    sizes = [1 if entry == "at" else entry[2] - entry[1] for entry in pattern]
    for axis, (entry, n) in enumerate(zip(pattern, x.shape)):
        along = next(rest) % n if entry == "at" else tf.range(entry[1], entry[2], dtype=tf.int64)
        shape = [size if k == axis else 1 for k, size in enumerate(sizes)]
        axes.append(tf.broadcast_to(tf.reshape(tf.cast(along, tf.int64), shape), sizes))
    return tf.tensor_scatter_nd_update(x, tf.stack(axes, -1), tf.reshape(value, sizes))


def scatter_add(x: Any, indices: Any, updates: Any, axis: int) -> Any:
    """TensorFlow scatters along the first axes."""
    indices = tf.convert_to_tensor(indices)
    count, rank = len(indices.shape), len(x.shape)
    axis %= rank
    if count == 0:  # TensorFlow requires an update with an axis there
        indices, updates, count = indices[None], tf.expand_dims(updates, axis), 1
    front = [axis, *[k for k in range(rank) if k != axis]]
    moved = list(range(axis, axis + count)) + [
        k for k in range(rank - 1 + count) if not axis <= k < axis + count
    ]
    added = tf.tensor_scatter_nd_add(tf.transpose(x, front), indices[..., None], tf.transpose(updates, moved))
    return tf.transpose(added, np.argsort(front))


def matmul(a: Any, b: Any) -> Any:
    if len(a.shape) == 1 and len(b.shape) == 1:
        return tf.tensordot(a, b, 1)
    if len(b.shape) == 1:
        return tf.linalg.matvec(a, b)
    if len(a.shape) == 1:
        return tf.linalg.matvec(b, a, transpose_a=True)
    return tf.linalg.matmul(a, b)


def conv(x: Any, kernel: Any, strides: Sequence[int], padding: Sequence[Sequence[int]]) -> Any:
    """The layout that the CPU supports: channels last, the kernel as (window..., channels, outputs)."""
    count = len(x.shape) - 2
    strides, padding = strides or (1,) * count, padding or ((0, 0),) * count
    x = tf.transpose(x, [0, *range(2, count + 2), 1])
    kernel = tf.transpose(kernel, [*range(2, count + 2), 1, 0])
    if count == 2:
        y = tf.nn.conv2d(x, kernel, strides, [[0, 0], *map(list, padding), [0, 0]])
    else:
        y = tf.nn.conv1d(
            tf.pad(x, [[0, 0], *padding, [0, 0]]) if any(padding[0]) else x, kernel, strides[0], "VALID"
        )
    return tf.transpose(y, [0, count + 1, *range(1, count + 1)])


def tril(x: Any, k: int) -> Any:
    return tf.linalg.band_part(x, -1, k) if k >= 0 else tnp.tril(x, k)


def triu(x: Any, k: int) -> Any:
    return tf.linalg.band_part(x, -k, -1) if k <= 0 else tnp.triu(x, k)


def kron(a: Any, b: Any) -> Any:
    if len(a.shape) != 2 or len(b.shape) != 2:
        raise kit.Unsupported("TensorFlow has kron of matrices, not of stacks of them")
    return tnp.kron(a, b)


def diagonal(x: Any, offset: int) -> Any:
    if not -x.shape[-2] < offset < x.shape[-1]:
        raise kit.Unsupported("tf.linalg.diag_part has no empty diagonals")
    return tf.linalg.diag_part(x, k=offset)


def trace(x: Any, offset: int) -> Any:
    return tf.linalg.trace(x) if offset == 0 else tf.reduce_sum(diagonal(x, offset), -1)


def cholesky(x: Any, upper: bool) -> Any:
    lower = tf.linalg.cholesky(hermitian(x))
    return tf.linalg.adjoint(lower) if upper else lower


def svd(x: Any, full_matrices: bool, part: int) -> Any:
    s, u, v = tf.linalg.svd(x, full_matrices=full_matrices)
    return (u, s, tf.linalg.adjoint(v))[part]


def triangular_solve(a: Any, b: Any, lower: bool, transposed: bool, unit_diagonal: bool, left: bool) -> Any:
    if unit_diagonal or not left:
        raise kit.Unsupported("tf.linalg.triangular_solve has no unit diagonal and no right side")
    if transposed and a.dtype.is_complex:
        a = tf.math.conj(a)
    return tf.linalg.triangular_solve(a, b, lower=lower, adjoint=transposed)


def matrix_norm(x: Any, ord: Any, keepdims: bool) -> Any:
    if ord not in ("fro", 1, 2, "inf"):
        raise kit.Unsupported(f"tf.norm has no matrix norm {ord}")
    return tf.norm(x, np.inf if ord == "inf" else ord, axis=[-2, -1], keepdims=keepdims)


def vector_norm(x: Any, ord: Any, axis: Any, keepdims: bool) -> Any:
    if ord not in ("inf", 1, 2) and (isinstance(ord, str) or ord <= 0):
        raise kit.Unsupported(f"tf.norm has no vector norm {ord}")
    if axis is None:
        norm = tf.norm(tf.reshape(x, [-1]), np.inf if ord == "inf" else ord)
        return tf.reshape(norm, [1] * len(x.shape)) if keepdims else norm
    return tf.norm(x, np.inf if ord == "inf" else ord, axis=axis, keepdims=keepdims)


SAME = "add subtract multiply divide negative pow abs sign maximum minimum where less less_equal greater"
SAME += " greater_equal equal not_equal logical_and logical_or logical_not reshape broadcast_to concat stack"
"""Ops whose namesakes in tf take the same parameters."""

OPS = {
    **{op: getattr(tf, op) for op in SAME.split() if op not in ("concat", "stack")},
    "all": tf.reduce_all,
    "amax": tf.reduce_max,
    "amin": tf.reduce_min,
    "any": tf.reduce_any,
    "argmax": argextreme(tf.argmax),
    "argmin": argextreme(tf.argmin),
    "argsort": lambda x, axis: tf.cast(tf.argsort(x, axis, stable=True), tf.int64),
    "astype": lambda x, dtype: tf.cast(x, dtype),
    "cholesky": cholesky,
    "clip": clip,
    "complex": tf.complex,
    "concat": lambda *arrays, axis: tf.concat(arrays, axis),
    "conj": tf.math.conj,
    "conv": conv,
    "cumulative_prod": tf.math.cumprod,
    "cumulative_sum": tf.math.cumsum,
    "det": tf.linalg.det,
    "diagonal": diagonal,
    "eig": lambda x, part: tf.linalg.eig(x)[part],
    "eigh": real_part(lambda x: tf.linalg.eigh(hermitian(x)), part=0),
    "eigvals": tf.linalg.eigvals,
    "eigvalsh": real_part(lambda x: tf.linalg.eigvalsh(hermitian(x))),
    "einsum": lambda *arrays, subscripts: tf.einsum(subscripts, *arrays),
    "expm": tf.linalg.expm,
    "flip": lambda x, axis: tf.reverse(x, [axis]),
    "gelu": tf.nn.gelu,
    "gelu_tanh": lambda x: tf.nn.gelu(x, approximate=True),
    "imag": tf.math.imag,
    "index": index,
    "index_update": index_update,
    "integer_pow": integer_pow,
    "inv": tf.linalg.inv,
    "kron": kron,
    "log_softmax": tf.nn.log_softmax,
    "logsumexp": tf.reduce_logsumexp,
    "lstsq": with_columns(tf.linalg.lstsq),
    "matmul": matmul,
    "matrix_norm": real_part(matrix_norm),
    "mean": tf.reduce_mean,
    "outer": lambda a, b: tf.tensordot(a, b, 0),
    "permute_dims": lambda x, axes: tf.transpose(x, axes),
    "pinv": tf.linalg.pinv,
    "prod": tf.reduce_prod,
    "qr": lambda x, mode, part: tf.linalg.qr(x, full_matrices=mode == "complete")[part],
    "real": tf.math.real,
    "remainder": tf.math.floormod,
    "relu": tf.nn.relu,
    "scatter_add": scatter_add,
    "silu": tf.nn.silu,
    "slogdet": real_part(tf.linalg.slogdet, part=1),
    "softmax": tf.nn.softmax,
    "solve": with_columns(tf.linalg.solve),
    "sort": tf.sort,
    "stack": lambda *arrays, axis: tf.stack(arrays, axis),
    "sum": tf.reduce_sum,
    "svd": svd,
    "svdvals": lambda x: tf.linalg.svd(x, compute_uv=False),
    "take": lambda x, indices, axis: tf.gather(x, indices, axis=axis),
    "take_along_axis": tnp.take_along_axis,
    "trace": trace,
    "triangular_solve": triangular_solve,
    "tril": tril,
    "triu": triu,
    "vector_norm": real_part(vector_norm),
}


# Derivatives ------------------------------------------------------------------------------------------------

ZERO = tf.UnconnectedGradients.ZERO
COST, MOST = 4, 32
"""The relative cost of each further order, and the most directions that are asked one by one."""


def gradient(g: Callable[..., Any], xs: list[Any]) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(xs)
        y = g(xs)
    return [tf.convert_to_tensor(s) for s in tape.gradient(y, xs, unconnected_gradients=ZERO)]


def slope(g: Callable[..., Any], xs: list[Any], directions: list[Any]) -> Any:
    with tf.autodiff.ForwardAccumulator(xs, directions) as accumulator:
        y = g(xs)
    return tf.convert_to_tensor(accumulator.jvp(y, unconnected_gradients=ZERO))


def inner(xs: Sequence[Any], ys: Sequence[Any]) -> Any:
    return tf.add_n([tf.reduce_sum(x * y) for x, y in zip(xs, ys)])


def derivative(
    f: kit.Function, xs: list[Any], weights: list[Any], directions: list[Any], modes: kit.Modes
) -> Callable[..., Any]:
    """A function of a unit direction: all outputs, and the gradient or (forward mode) the slope along it."""
    outputs: list[Any] = []

    def objective(xs: list[Any]) -> Any:
        outputs[:] = f(*xs)
        pairs = [(y, w) for y, w in zip(outputs, weights) if w is not None]
        return inner(*zip(*pairs)) if pairs else tf.zeros((), xs[0].dtype)

    def along(g: Callable[..., Any], mode: str) -> Callable[..., Any]:
        if mode == "fwd":
            return lambda xs: slope(g, xs, directions)
        return lambda xs: inner(gradient(g, xs), directions)

    def call(unit: Any) -> Any:
        g = objective
        for mode in modes[:-1]:
            g = along(g, mode)
        if not modes:
            return f(*xs), []
        found = gradient(g, xs) if modes[-1] == "rev" else [slope(g, xs, unit)]
        return list(outputs), found

    return call


def units(xs: list[Any]) -> Any:
    """Every unit direction for arguments of these shapes."""
    for k, x in enumerate(xs):
        for place in np.ndindex(*x.shape):
            found = [np.zeros(y.shape, y.dtype.as_numpy_dtype) for y in xs]
            found[k][place] = 1
            yield [tf.constant(u) for u in found]


def gathered(call: Any, xs: list[Any], modes: kit.Modes) -> Any:
    """Outputs and derivatives by `call(unit)`, which forward mode calls once for each entry."""
    if not modes or modes[-1] == "rev":
        return call([tf.zeros_like(x) for x in xs])
    slopes, outputs = [], None
    for unit in units(xs):
        outputs, (found,) = call(unit)
        slopes.append(found.numpy())
    if outputs is None:
        outputs, _ = call([tf.zeros_like(x) for x in xs])
    gradients, rest = [], iter(slopes)
    for x in xs:
        dtype = slopes[0].dtype if slopes else x.dtype.as_numpy_dtype
        gradients.append(
            np.array([next(rest) for _ in range(x.shape.num_elements())], dtype).reshape(x.shape)
        )
    return outputs, gradients


LACKING = re.compile(
    r"No gradient defined.*|gradient registry has no entry.*|.*must have `float`-like `dtype` \(saw complex.*"
    r"|No registered '\w+' OpKernel for XLA\w* devices|No pfor vectorization defined.*|No converter defined.*"
)
"""What TensorFlow says it has not: a gradient, complex numbers, an op in XLA or in vectorized code."""


def refusal(error: BaseException) -> kit.Unsupported | None:
    """The refusal in an error that says what TensorFlow lacks, or None."""
    lacking = LACKING.search(str(error))
    return kit.Unsupported(lacking[0]) if lacking else None


# Ways -------------------------------------------------------------------------------------------------------

TRACES = 32
"""How many graphs are kept: a finding asks about one program again and again."""


class Eager(kit.Way):
    """Op by op: loops and branches are Python's."""

    name = "eager"
    ops = OPS
    functions = (tf.math,)
    modes = ("rev", "fwd")
    orders = (0, 1, 2, 3)

    def array(self, dtype: str, shape: kit.Shape, entries: list[Any]) -> Any:
        return tf.constant(np.array(entries, dtype).reshape(shape))

    def entries(self, value: Any) -> kit.Numbers:
        array = np.asarray(value)
        return array.dtype.name, array.shape, array.ravel().tolist()

    def differentiate(
        self, f: kit.Function, xs: list[Any], weights: list[Any], directions: list[Any], modes: kit.Modes
    ) -> tuple[list[Any], list[Any]]:
        asked = sum(x.shape.num_elements() for x in xs) * COST ** (len(modes) - 1)
        if modes and modes[-1] == "fwd" and asked > MOST:
            raise kit.Unsupported("forward mode of so many entries takes too long op by op")
        try:
            return gathered(derivative(f, xs, weights, directions, modes), xs, modes)
        except Exception as error:
            raise refusal(error) or error from None


class WhileLoop(Eager):
    """In a graph: loops are tf.while_loop, branches tf.cond, and the derivative is part of the graph.

    All points of a question share one graph.
    """

    name = "while_loop"
    structured = True
    hints = {"stride": 8, "by_shape": True}
    compiled: dict[str, bool] = {}

    def __init__(self) -> None:
        self.graph_of = functools.lru_cache(maxsize=TRACES)(self.traced)

    def while_loop(
        self, condition: kit.Test, body: kit.Step, carries: list[Any], captures: list[Any]
    ) -> list[Any]:
        return tf.nest.flatten(
            tf.while_loop(lambda *cs: condition(cs, captures), lambda *cs: body(cs, captures), list(carries))
        )

    def branch(self, predicate: Any, then: kit.Block, otherwise: kit.Block, captures: list[Any]) -> list[Any]:
        return tf.nest.flatten(tf.cond(predicate, lambda: then(captures), lambda: otherwise(captures)))

    def traced(self, program: kit.Program, wrt: Sequence[str], modes: kit.Modes, absent: Any) -> Any:
        """A tf.function of inputs by name, weights, directions and a unit direction."""

        def run(here: Any, weights: list[Any], directions: list[Any], unit: Any) -> Any:
            rest = iter(weights)
            given = [None if gone else next(rest) for gone in absent]
            xs = [here[n] for n in wrt]
            return derivative(self.applied(program, here, wrt), xs, given, directions, modes)(unit)

        return tf.function(run, autograph=False, **self.compiled)

    def applied(self, program: kit.Program, here: Any, wrt: Sequence[str]) -> Callable[..., Any]:
        return lambda *xs: [tf.convert_to_tensor(y) for y in program(dict(here, **dict(zip(wrt, xs))))]

    def answer(self, program: kit.Program, request: kit.Message, inputs: kit.Inputs) -> list[kit.Message]:
        modes, wrt = tuple(request["modes"]), tuple(request["wrt"])
        weights, directions = kit.contracted(request, self.array)
        absent, weights = tuple(w is None for w in weights), [w for w in weights if w is not None]
        traced = self.graph_of(program, wrt, modes, absent)
        each = [kit.point_of(inputs, k) for k in range(request["count"])]
        points = [{n: self.array(*tensor) for n, tensor in point.items()} for point in each]
        return self.answered(traced, points, wrt, modes, weights, directions)

    def answered(
        self,
        traced: Any,
        points: Any,
        wrt: Sequence[str],
        modes: kit.Modes,
        weights: list[Any],
        directions: list[Any],
    ) -> Any:
        untraced: list[Exception] = []

        def at(k: int) -> kit.Message:
            if untraced:
                raise untraced[0]
            here = points[k]
            xs = [here[n] for n in wrt]
            try:
                outputs, slopes = gathered(lambda unit: traced(here, weights, directions, unit), xs, modes)
            except tf.errors.OpError:  # a kernel's: another point may be right
                raise
            except Exception as error:  # of a graph that cannot be made, for points of any value
                untraced.append(error)
                raise
            return self.written(outputs, slopes, wrt, modes)

        return kit.each_point(len(points), at, refusal)

    def written(self, outputs: list[Any], slopes: Any, wrt: Sequence[str], modes: kit.Modes) -> kit.Message:
        gradient = {n: self.entries(s) for n, s in zip(wrt, slopes)} if modes else {}
        return {"ok": ([self.entries(y) for y in outputs], gradient)}


class Xla(WhileLoop):
    """The same graph, compiled by XLA, which differentiates a loop only with a maximum of iterations."""

    name = "xla"
    loops = ("for",)
    features = ("branches", "break", "continue", "nested")
    hints = {"stride": 8, "by_shape": True, "variant": True}
    compiled = {"jit_compile": True}

    def for_loop(self, count: Any, body: kit.Body, carries: list[Any], captures: list[Any]) -> list[Any]:
        one = self.array("int64", (), [1])
        start = [self.array("int64", (), [0]), *carries]

        def step(i: Any, *cs: Any) -> Any:
            return [i + one, *body(i, list(cs), captures)]

        found = tf.while_loop(lambda i, *cs: i < count, step, start, maximum_iterations=count)
        return tf.nest.flatten(found)[1:]


class Function(WhileLoop):
    """A graph of the program alone, differentiated from outside: the tape records the call of a function."""

    name = "function"

    def traced(
        self, program: kit.Program, wrt: Sequence[str], modes: kit.Modes, absent: Any
    ) -> Callable[..., Any]:
        function = tf.function(lambda here: [tf.convert_to_tensor(y) for y in program(here)], autograph=False)

        def run(here: Any, weights: list[Any], directions: list[Any], unit: Any) -> Any:
            rest = iter(weights)
            given = [None if gone else next(rest) for gone in absent]

            def f(*xs: Any) -> Any:
                return function(dict(here, **dict(zip(wrt, xs))))

            return derivative(f, [here[n] for n in wrt], given, directions, modes)(unit)

        return run


class Vectorized(WhileLoop):
    """All points in one call, by tf.vectorized_map of the derivative."""

    name = "vectorized_map"
    hints = {"stride": 8, "by_shape": True, "together": True}

    def traced(
        self, program: kit.Program, wrt: Sequence[str], modes: kit.Modes, absent: Any
    ) -> Callable[..., Any]:
        """The same of inputs that have a leading axis over the points."""
        one = super().traced(program, wrt, modes, absent).python_function

        @tf.function(autograph=False)
        def mapped(stacked: Any, weights: list[Any], directions: list[Any], unit: Any) -> Any:
            def at(here: Any) -> kit.Message:
                return one(here, weights, directions, unit)

            return tf.vectorized_map(at, stacked, fallback_to_while_loop=False)

        return mapped

    def answered(
        self,
        traced: Any,
        points: Any,
        wrt: Sequence[str],
        modes: kit.Modes,
        weights: list[Any],
        directions: list[Any],
    ) -> Any:
        stacked = {n: tf.stack([here[n] for here in points]) for n in points[0]}

        def along(unit: Any) -> Any:
            return traced(stacked, weights, directions, unit)

        try:
            outputs, slopes = mapped_over_units(along, [points[0][n] for n in wrt], modes)
        except Exception as error:
            return [kit.arm_of(refusal(error) or error)] * len(points)
        return [
            self.written([y[k] for y in outputs], [s[k] for s in slopes], wrt, modes)
            for k in range(len(points))
        ]


def mapped_over_units(mapped: Any, xs: list[Any], modes: kit.Modes) -> Any:
    """As `gathered`, where every result has a leading axis over the points."""
    if not modes or modes[-1] == "rev":
        return mapped([tf.zeros_like(x) for x in xs])
    found = [mapped(unit) for unit in units(xs)]
    outputs, _ = found[0] if found else mapped([tf.zeros_like(x) for x in xs])
    count = len(outputs[0])
    gradients, rest = [], iter([slopes[0].numpy() for _, slopes in found])
    for x in xs:
        size = x.shape.num_elements()
        columns = np.zeros((count, 0), x.dtype.as_numpy_dtype)
        if size:
            columns = np.stack([next(rest) for _ in range(size)], -1)
        gradients.append(columns.reshape((count, *x.shape)))
    return outputs, gradients


if __name__ == "__main__":
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    kit.serve("tensorflow", tf.__version__, [Eager(), WhileLoop(), Xla(), Function(), Vectorized()])
