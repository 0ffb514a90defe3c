"""PyTensor. Programs are graphs: loops are scans (with `until` if they have a condition), branches are
`ifelse`. In the way "scan-sequences" a scan maps the arrays that a loop reads at its counter
(`sequences=[x]`); in the others it gets the counter, and indexes them.

Reverse mode is `grad`, forward mode `pushforward` (by two pullbacks, PyTensor's default, or by the ops' own
rules); higher orders nest them. An op without a derivative rule in PyTensor's source is *unsupported*. Each
question compiles a function once, without C, which would take a minute for a loop.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from typing import Any

os.environ["PYTENSOR_FLAGS"] = ",".join(filter(None, [os.environ.get("PYTENSOR_FLAGS"), "cxx="]))

import functools
import inspect
import pathlib
import traceback
import warnings

import kit
import numpy as np
import pytensor
import pytensor.gradient
import pytensor.tensor as pt
import pytensor.tensor.linalg as linalg
from pytensor.compile.mode import Mode
from pytensor.gradient import NullTypeGradError
from pytensor.ifelse import ifelse
from pytensor.raise_op import Assert
from pytensor.scan.utils import until
from pytensor.tensor.special import log_softmax, softmax

try:
    from pytensor.graph.traversal import ancestors
except ImportError:  # older releases
    from pytensor.graph.basic import ancestors

MOST_TRIPS = 10_000
SECONDS = 10.0
"""The most CPU time for making a function."""
NO_TRUTH = "a graph that is no scan cannot branch on a float"
INT_TANGENTS = (
    "has dtype int64, while the result of the inner function",
    "true_branch=float64, false_branch=int64",
)
RULES = "grad", "L_op", "R_op", "pullback", "pushforward"
LACKS = (
    "^Gradient of svd not implemented for full_matrices=True",  # tensor/linalg/decomposition/svd.py
    "^Gradient of qr not implemented for ",  # tensor/linalg/decomposition/qr.py
)
BEYOND = "a loop may run beyond an array that it reads"
enough = Assert(BEYOND)
counted = Assert(f"a loop is still running after {MOST_TRIPS} trips")

pushforward = getattr(pytensor.gradient, "pushforward", None) or pytensor.gradient.Rop
OWN_RULES = "use_op_pushforward", "use_op_rop_implementation"
"""What releases call the parameter of `pushforward` for the ops' own rules; a release without it has no
other.
"""
RETURNS_UPDATES = "return_updates" in inspect.signature(pytensor.scan).parameters
"""Whether a scan may leave its updates out of what it returns."""


def index_key(pattern: Sequence[Any], indices: Sequence[Any]) -> tuple[Any, ...]:
    rest = iter(indices)
    return tuple(next(rest) if entry == "at" else slice(entry[1], entry[2]) for entry in pattern)


def along(axis: int, ndim: int, indices: Any) -> Any:
    return (*[slice(None)] * (axis % ndim), indices)


def symmetric(x: Any) -> Any:
    return (x + pt.swapaxes(x, -1, -2)) / 2


def broadcast_to(x: Any, shape: kit.Shape) -> Any:
    return x if x.type.shape == shape else pt.broadcast_to(x, shape)


def clip(x: Any, lower: Any, upper: Any) -> Any:
    """PyTensor's own if the bounds are known to be in order: otherwise its result is the lower bound."""
    bounds = lower, upper
    if all(isinstance(b, pt.TensorConstant) for b in bounds) and np.all(lower.data <= upper.data):
        return pt.clip(x, lower, upper)
    return pt.minimum(pt.maximum(x, lower), upper)


def cholesky(x: Any, upper: bool) -> Any:
    return linalg.cholesky(symmetric(x), lower=not upper)


def solve(a: Any, b: Any) -> Any:
    return linalg.solve(a, b, b_ndim=min(b.ndim, 2))


def triangular_solve(a: Any, b: Any, lower: bool, transposed: bool, unit_diagonal: bool, left: bool) -> Any:
    if not left:
        raise kit.Unsupported("solve_triangular has no right side")
    return linalg.solve_triangular(
        a, b, trans=int(transposed), lower=lower, unit_diagonal=unit_diagonal, b_ndim=2
    )


def matrices_only(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` of matrices, refused for stacks of matrices."""

    def call(*arrays: Any, **params: Any) -> Any:
        if any(a.ndim > 2 for a in arrays):
            raise kit.Unsupported("PyTensor has this for matrices only, not for stacks of them")
        return function(*arrays, **params)

    return call


def order_of(ord: Any) -> Any:
    return {"inf": np.inf, "-inf": -np.inf}.get(ord, ord)


def vector_norm(x: Any, ord: Any, axis: Any, keepdims: bool) -> Any:
    norm = linalg.norm(
        x.ravel() if axis is None else x, order_of(ord), axis=0 if axis is None else axis, keepdims=keepdims
    )
    return norm.reshape((1,) * x.ndim) if axis is None and keepdims else norm


SAME = "abs add all any argmax argmin cos exp expm1 flip log log1p logsumexp matmul maximum mean minimum"
SAME += " outer pow prod sign sin sort sqrt sum take take_along_axis tan tanh tril triu where"
"""Ops whose namesakes in pytensor.tensor take the same parameters."""

OPS = {
    **{op: getattr(pt, op) for op in SAME.split()},
    "amax": pt.max,
    "amin": pt.min,
    "argsort": lambda x, axis: pt.argsort(x, axis=axis, kind="stable"),
    "astype": lambda x, dtype: pt.cast(x, dtype),
    "broadcast_to": broadcast_to,
    "cholesky": cholesky,
    "clip": clip,
    "concat": lambda *arrays, axis: pt.concatenate(arrays, axis),
    "cumulative_prod": pt.cumprod,
    "cumulative_sum": pt.cumsum,
    "det": linalg.det,
    "diagonal": lambda x, offset: pt.diagonal(x, offset, -2, -1),
    "divide": pt.true_div,
    "eigh": lambda x, part: linalg.eigh(symmetric(x))[part],
    "eigvalsh": lambda x: linalg.eigvalsh(symmetric(x), None),
    "einsum": lambda *arrays, subscripts: pt.einsum(subscripts, *arrays),
    "equal": pt.eq,
    "expm": linalg.expm,
    "greater": pt.gt,
    "greater_equal": pt.ge,
    "index": lambda x, *indices, pattern: x[index_key(pattern, indices)],
    "index_update": lambda x, value, *indices, pattern: (
        pt.set_subtensor(x[index_key(pattern, indices)], value) if pattern else value
    ),
    "integer_pow": lambda x, n: pt.pow(x, n),
    "inv": linalg.inv,
    "kron": matrices_only(linalg.kron),
    "less": pt.lt,
    "less_equal": pt.le,
    "log_softmax": log_softmax,
    "logical_and": pt.and_,
    "logical_not": pt.invert,
    "logical_or": pt.or_,
    "lu": lambda x, part: linalg.lu(x)[part],
    "matrix_norm": lambda x, ord, keepdims: linalg.norm(x, order_of(ord), axis=(-2, -1), keepdims=keepdims),
    "matrix_power": matrices_only(linalg.matrix_power),
    "multiply": pt.mul,
    "negative": pt.neg,
    "not_equal": pt.neq,
    "permute_dims": pt.transpose,
    "pinv": linalg.pinv,
    "polygamma": lambda x, n: pt.polygamma(n, x),
    "qr": lambda x, mode, part: linalg.qr(x, mode)[part],
    "remainder": pt.mod,
    "reshape": lambda x, shape: pt.reshape(x, shape, ndim=len(shape)),
    "scatter_add": lambda x, indices, updates, axis: pt.inc_subtensor(
        x[along(axis, x.ndim, indices)], updates
    ),
    "slogdet": lambda x, part: linalg.slogdet(x)[part],
    "softmax": softmax,
    "solve": solve,
    "stack": lambda *arrays, axis: pt.stack(arrays, axis),
    "subtract": pt.sub,
    "svd": lambda x, full_matrices, part: linalg.svd(x, full_matrices)[part],
    "svdvals": lambda x: linalg.svd(x, compute_uv=False),
    "trace": lambda x, offset: pt.trace(x, offset, -2, -1),
    "triangular_solve": triangular_solve,
    "vector_norm": vector_norm,
}
"""There is no conv, window_sum, cumulative_max, lstsq (no gradient) or eig (no gradient)."""


class TooLongError(BaseException):
    """Time is up. No `Exception`: PyTensor would go on with its next rewrite."""


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Refuses what takes more CPU time."""

    def stop(*_: Any) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    except TooLongError:
        raise kit.Unsupported(f"PyTensor rewrites this graph for more than {seconds:g} seconds") from None
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def missing_rule(error: BaseException) -> str:
    """The rule that an op leaves to its base class, where each only raises; "" for another error."""
    (*_, last) = traceback.extract_tb(error.__traceback__) or [None]
    if last is None or pathlib.Path(last.filename).parts[-3:] != ("pytensor", "graph", "op.py"):
        return ""
    return last.name if last.name in RULES else ""


def lifted(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, with operands that may also be Python ints and bools."""
    return lambda *operands, **params: function(*[as_tensor(x) for x in operands], **params)


def as_tensor(x: Any) -> Any:
    return pt.constant(np.asarray(x)) if isinstance(x, (bool, int)) else x


class Compiled(kit.Way):
    """A graph for each question, compiled once. `direct`: forward mode by the ops' own rules."""

    ops = OPS
    lacks = LACKS
    functions: tuple[Any, ...] = (pt,)
    modes: kit.Modes = ("rev", "fwd")
    orders: tuple[int, ...] = (0, 1, 2, 3)

    def __init__(self, name: str, optimizer: Any, stride: int, direct: bool = False) -> None:
        self.name = name
        self.mode = Mode("vm", optimizer)
        self.hints = {"stride": stride, "by_shape": True}
        self.direct = direct
        if direct:
            self.modes = ("fwd",)

    def array(self, dtype: str, shape: kit.Shape, entries: list[Any]) -> Any:
        return pt.constant(np.array(entries, dtype).reshape(shape))

    def answer(self, program: kit.Program, request: kit.Message, inputs: kit.Inputs) -> list[kit.Message]:
        with pytensor.config.change_flags(floatX=request["dtype"]):
            at = functools.partial(self.at, program, request, inputs)
            return kit.each_point(request["count"], at, self.refusal)

    def refusal(self, error: BaseException) -> Exception | None:
        """The answer for an error that is no failure, or None."""
        if isinstance(error, NullTypeGradError):
            return kit.Unsupported(str(error))
        if self.direct and any(text in str(error) for text in INT_TANGENTS):
            return kit.Unsupported(
                "scan and ifelse give an int a tangent of another dtype in their own pushforward"
            )
        if self.direct and "non-diifferentiable" in str(error):  # spelled so in PyTensor
            return kit.Unsupported(str(error))
        rule = missing_rule(error)
        return kit.Unsupported(f"an op has no {rule}: {error}") if rule else super().refusal(error)

    def at(self, program: kit.Program, request: kit.Message, inputs: kit.Inputs, k: int) -> kit.Message:
        """The answer at point k."""
        here = {name: as_numpy(*tensor) for name, tensor in kit.point_of(inputs, k).items()}
        function, known = self.function(program, request, here)
        wrt, modes = request["wrt"], request["modes"]
        weights, directions = kit.contracted(request, as_numpy)
        weights = [w for w in weights if w is not None]
        given = [a for n, a in here.items() if n not in known]
        units = [np.zeros_like(here[n]) for n in wrt] if modes and modes[-1] == "fwd" else []
        values, found = function(*given, *weights, *directions, *units)
        if not units:
            return {"ok": ([written(y) for y in values], dict(zip(wrt, map(written, found))))}
        gradient = {}
        for n, unit in zip(wrt, units):
            slopes = []
            for place in np.ndindex(unit.shape):
                unit[place] = 1
                slopes.append(function(*given, *weights, *directions, *units)[1][0])
                unit[place] = 0
            dtype = slopes[0].dtype if slopes else unit.dtype
            gradient[n] = written(np.array(slopes, dtype).reshape(unit.shape))
        return {"ok": ([written(y) for y in values], gradient)}

    def function(self, program: kit.Program, request: kit.Message, here: Any) -> Any:
        """The compiled function of inputs, weights, directions and units; names of further arguments."""
        scalars = {n: a.item() for n, a in here.items() if a.dtype.kind in "ib" and not a.ndim}
        known = {} if self.structured else scalars
        weighted = tuple(w is not None for w in request["weights"])
        key = (tuple(known.items()), tuple(request["wrt"]), tuple(request["modes"]), weighted)
        kept = vars(program).setdefault("compiled", {})
        if key not in kept:
            try:
                with limited(SECONDS):
                    kept[key] = self.compiled(program, request, here, known)
            except kit.Unsupported as refusal:
                kept[key] = refusal
        if isinstance(kept[key], kit.Unsupported):
            raise kept[key]
        return kept[key], known

    def compiled(
        self, program: kit.Function, request: kit.Message, here: Any, known: Any
    ) -> Callable[..., Any]:
        wrt, modes = request["wrt"], request["modes"]
        variables = {n: known[n] if n in known else variable(n, a) for n, a in here.items()}
        xs = [variables[n] for n in wrt]
        vs = [x.type(f"v{k}") for k, x in enumerate(xs)] if request["directions"] else []
        units = [x.type(f"u{k}") for k, x in enumerate(xs)] if modes and modes[-1] == "fwd" else []
        outputs = program(variables)
        tensors = [
            y if isinstance(y, pytensor.graph.Variable) else pt.constant(np.asarray(y)) for y in outputs
        ]
        shapes = [tuple(w["shape"]) if w else None for w in request["weights"]]
        dtype, given = request["dtype"], [(k, s) for k, s in enumerate(shapes) if s is not None]
        weights = [pt.tensor(f"w{k}", dtype=dtype, shape=s) for k, s in given]
        weighted = [y for y, w in zip(tensors, shapes) if w is not None]
        terms = [pt.sum(y * w) for y, w in zip(weighted, weights)]
        g = sum(terms[1:], terms[0]) if terms else pt.constant(0.0, dtype=request["dtype"])
        for mode in modes[:-1]:
            if mode == "fwd":
                g = self.slope(g, xs, vs)
            else:
                g = sum(pt.sum(s * v) for s, v in zip(gradient(g, xs), vs))
        found: list[Any] = []
        if modes:
            found = [self.slope(g, xs, units)] if units else gradient(g, xs)
        arguments = [v for n, v in variables.items() if n not in known] + weights + vs + units
        f = pytensor.function(arguments, [*tensors, *found], mode=self.mode, on_unused_input="ignore")
        count = len(tensors)

        def call(*values: Any) -> Any:
            results = f(*values)
            return results[:count], results[count:]

        return call

    def slope(self, g: Callable[..., Any], xs: list[Any], vs: Any) -> Any:
        options = {"disconnected_outputs": "ignore", "return_disconnected": "zero"}
        choices = [name for name in OWN_RULES if name in inspect.signature(pushforward).parameters]
        if not choices and not self.direct:
            raise kit.Unsupported("forward mode of this release is by the ops' own rules alone")
        return pushforward([g], xs, vs, **options, **dict.fromkeys(choices, self.direct))[0]


def gradient(g: Callable[..., Any], xs: list[Any]) -> Any:
    return pytensor.grad(g, xs, disconnected_inputs="ignore", return_disconnected="zero")


def as_numpy(dtype: str, shape: kit.Shape, entries: list[Any]) -> Any:
    return np.array(entries, dtype).reshape(shape)


def variable(name: str, array: Any) -> Any:
    return pt.tensor(name, dtype=array.dtype.name, shape=array.shape)


def written(value: Any) -> kit.Numbers:
    array = np.asarray(value)
    return array.dtype.name, array.shape, array.ravel().tolist()


def last(start: Any, steps: Any) -> Any:
    """A carry after a scan, even one of no steps. PyTensor would misread the index -1 in a join."""
    return pt.concatenate([start[np.newaxis], steps])[steps.shape[0]]


class Scanning(Compiled):
    """Loops are scans."""

    structured = True
    orders = (0, 1, 2)  # rewriting the graph of a third-order scan takes minutes

    def scan(self, step: Any, carries: list[Any], **options: Any) -> Any:
        if RETURNS_UPDATES:
            options["return_updates"] = False
        found = pytensor.scan(step, outputs_info=carries, mode=self.mode, return_list=True, **options)
        if not RETURNS_UPDATES:
            found, _ = found
        return [last(start, steps) for start, steps in zip(carries, found)]

    def for_loop(self, count: Any, body: kit.Body, carries: list[Any], captures: list[Any]) -> list[Any]:
        n = len(carries)
        if not n:
            return []
        once, spread = distinct(captures)

        def step(i: Any, *values: Any) -> Any:
            return fitted(body(i, list(values[:n]), spread(values[n:])), carries)

        return self.scan(step, carries, sequences=[counter(count)], non_sequences=once)

    def while_loop(
        self, condition: kit.Test, body: kit.Step, carries: list[Any], captures: list[Any]
    ) -> list[Any]:
        n = len(carries)
        if not n:
            return []
        once, spread = distinct(captures)

        def step(trip: Any, *values: Any) -> Any:
            new = fitted(body(list(values[:n]), spread(values[n:])), carries)
            ended = pt.invert(condition(new, spread(values[n:])))
            return new, until(ended | pt.lt(counted(trip, pt.lt(trip, MOST_TRIPS)), 0))

        trips = pt.switch(condition(carries, captures), MOST_TRIPS + 1, 0)
        return self.scan(step, carries, sequences=[pt.arange(trips)], non_sequences=once)

    def branch(self, predicate: Any, then: kit.Block, otherwise: kit.Block, captures: list[Any]) -> list[Any]:
        return ifelse(predicate, list(then(captures)), list(otherwise(captures)))


def counter(count: Any) -> Any:
    return pt.arange(count, dtype="int64")


class Mapping(Scanning):
    """The sequences of a scan are the arrays that a loop reads at its counter, and the counter where used."""

    def __init__(self, *options: Any) -> None:
        super().__init__(*options)
        self.ops = {**OPS, "index": self.index}
        self.asked: set[Any] = set()
        self.elements: dict[Any, Any] = {}

    def index(self, x: Any, *indices: Any, pattern: Sequence[Any]) -> Any:
        """`x` at `indices`, or of what a scan hands over in place of `x` at its counter."""
        place = (x, indices[0]) if pattern and pattern[0] == "at" else None
        self.asked.add(place)
        if place in self.elements:
            return OPS["index"](self.elements[place], *indices[1:], pattern=pattern[1:])
        return OPS["index"](x, *indices, pattern=pattern)

    def for_loop(self, count: Any, body: kit.Body, carries: list[Any], captures: list[Any]) -> list[Any]:
        n = len(carries)
        once, spread = distinct(captures)
        i, start, given = pt.lscalar(), [c.type() for c in carries], [c.type() for c in once]
        body(i, start, spread(given))  # only to see what it reads
        mapped = [k for k, x in enumerate(given) if (x, i) in self.asked]
        if not n or not mapped:
            return super().for_loop(count, body, carries, captures)
        self.elements.update({(given[k], i): given[k][0] for k in mapped})
        counts = i in ancestors(body(i, start, spread(given)))

        def step(*handed: Any) -> Any:
            values = list(handed)
            i = values.pop(0) if counts else pt.lscalar()
            elements, values = values[: len(mapped)], values[len(mapped) :]
            inner = values[n:]
            self.elements.update({(inner[k], i): element for k, element in zip(mapped, elements)})
            return fitted(body(i, values[:n], spread(inner)), carries)

        sequences = [*([counter(count)] if counts else []), *[first(count, once[k]) for k in mapped]]
        return self.scan(step, carries, sequences=sequences, non_sequences=once)

    def compiled(self, program: kit.Function, request: kit.Message, here: Any, known: Any) -> Any:
        self.asked, self.elements = set(), {}

        def mapped(variables: Any) -> Any:
            outputs = program(variables)
            if not self.elements:
                raise kit.Unsupported("no loop of the program reads an array at its counter")
            return outputs

        return super().compiled(mapped, request, here, known)

    def refusal(self, error: BaseException) -> Exception | None:
        if isinstance(error, AssertionError) and BEYOND in str(error):
            return kit.Unsupported(BEYOND)
        return super().refusal(error)


def first(count: Any, x: Any) -> Any:
    """The entries of `x` that a loop of `count` trips reads."""
    length = x.type.shape[0]
    if not isinstance(count, int):
        return x[: enough(pt.maximum(count, 0), pt.le(count, x.shape[0]))]
    if length is not None and count > length:
        raise kit.Unsupported(BEYOND)
    return x if length == count else x[: max(count, 0)]


def distinct(captures: list[Any]) -> Any:
    """The captures without repeats, which a scan rejects; and a function that restores the whole list."""
    once = list(dict.fromkeys(captures))
    return once, lambda values: [values[once.index(c)] for c in captures]


def fitted(values: Any, carries: list[Any]) -> Any:
    """The same with the static shapes of the carries, which a branch may lose."""
    pairs = zip(values, [c.type.shape for c in carries])
    return [y if y.type.shape == shape else pt.specify_shape(y, shape) for y, shape in pairs]


class Unrolled(Compiled):
    """Loops are Python's: a graph without loops, rewritten as a whole. No branch may read floats."""

    ops = {op: lifted(f) for op, f in OPS.items()}
    functions = ()

    def decide(self, value: Any) -> bool:
        raise kit.Unsupported(NO_TRUTH)

    def refusal(self, error: BaseException) -> Exception | None:
        if "cannot be converted to Python boolean" in str(error):
            return kit.Unsupported(NO_TRUTH)
        return super().refusal(error)


WAYS = [
    Scanning("scan", "fast_run", 12),
    Scanning("scan-unoptimized", "fast_compile", 8),
    Mapping("scan-sequences", "fast_run", 3),
    Scanning("scan-pushforward", "fast_run", 12, direct=True),
    Unrolled("unrolled", "fast_run", 8),
]

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    kit.serve("pytensor", pytensor.__version__, WAYS)
