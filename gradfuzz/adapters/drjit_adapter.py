"""Dr.Jit with its LLVM backend. First derivatives, by dr.backward_from and dr.forward_from.

In the way "eager" loops are Python's, and their operations are traced into one kernel. In "evaluated" and
"symbolic" loops and branches are dr.while_loop and dr.if_stmt; all points are lanes of the same arrays, each
with its own trip count, and there are only scalars. Complex numbers are scalars in all ways: Dr.Jit has no
tensors of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import drjit as dr
import kit
from drjit.llvm import ad

ARRAYS = {"float64": ad.Float64, "float32": ad.Float32, "int64": ad.Int64, "bool": ad.Bool}
TENSORS = {"float64": ad.TensorXf64, "float32": ad.TensorXf, "int64": ad.TensorXi64, "bool": ad.TensorXb}
COMPLEX = {"complex128": ad.Complex2f64, "complex64": ad.Complex2f}
KINDS = ("Float64", "Float32", "Int64", "Bool", "Int32", "UInt32", "UInt64")
NAMES = {getattr(dr.VarType, kind): kind.lower() for kind in KINDS}

NO_RULE = "is not yet implemented"
TRIPS = 4096
"""The iterations of a loop with an unknown trip count for which reverse mode reserves memory."""


def plain(value: Any) -> Any:
    """A tensor without axes as an array of one entry: a loop's carries may not change their type."""
    return value.array if dr.is_tensor_v(value) and value.ndim == 0 else value


def of(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args, **params: plain(function(*args, **params))


def tensor(value: Any) -> Any:
    if dr.is_tensor_v(value):
        return value
    if isinstance(value, (bool, int)):
        return TENSORS["bool" if isinstance(value, bool) else "int64"](value)
    return TENSORS[NAMES[dr.type_v(value)]](value, ())


def complex_of(dtype: str, *parts: Any) -> Any:
    if any(dr.is_tensor_v(part) for part in parts):
        raise kit.Unsupported("Dr.Jit has no tensors of complex numbers")
    return COMPLEX[dtype](*parts)


def from_parts(re: Any, im: Any) -> Any:
    return complex_of("complex64" if NAMES[dr.type_v(re)] == "float32" else "complex128", re, im)


def astype(x: Any, dtype: str) -> Any:
    if dtype in COMPLEX:
        return x if dr.is_complex_v(x) else complex_of(dtype, x, 0)
    if isinstance(x, (bool, int)):
        return ARRAYS[dtype](x)
    kind = (TENSORS if dr.is_tensor_v(x) else ARRAYS)[dtype]
    return dr.select(x, kind(1), kind(0)) if NAMES[dr.type_v(x)] == "bool" and dtype != "bool" else kind(x)


def sign(x: Any) -> Any:
    """dr.sign is 1 at 0."""
    return dr.select(x == 0, 0 * x, dr.sign(x))


def mask(value: Any) -> Any:
    return ad.Bool(value) if isinstance(value, bool) else value


def remainder(a: Any, b: Any) -> Any:
    """The result has the divisor's sign; Dr.Jit's has the dividend's."""
    r = a % b
    return dr.select((r != 0) & ((r < 0) != (b < 0)), r + b, r)


def reducing(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` over axes. In older releases it has no parameter `keepdims`."""
    keeps = "keepdims" in (function.__doc__ or "")

    def call(x: Any, axis: Any, keepdims: bool) -> Any:
        if not dr.is_tensor_v(x):
            return x
        if keeps:
            return function(x, axis=axis, keepdims=keepdims)
        result = function(x, axis=axis)
        return reshape(result, kept(x.shape, axis)) if keepdims else result

    return of(call)


def kept(shape: kit.Shape, axis: Any) -> kit.Shape:
    """The shape of a reduction whose axes are kept."""
    axes = range(len(shape)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    gone = {a % len(shape) for a in axes}
    return tuple(1 if k in gone else n for k, n in enumerate(shape))


def broadcast_to(x: Any, shape: kit.Shape) -> Any:
    kind = TENSORS[NAMES[dr.type_v(x)]]
    return dr.select(dr.full(TENSORS["bool"], True, shape), tensor(x), kind(0))


def reshape(x: Any, shape: kit.Shape) -> Any:
    return tensor(x).array if shape == () else dr.reshape(type(tensor(x)), x, shape)


def index_key(pattern: Sequence[Any], indices: Sequence[Any], shape: kit.Shape) -> tuple[Any, ...]:
    """The entries that are named; an int counts from the front."""
    rest = iter(indices)
    keys = [next(rest) if entry == "at" else slice(entry[1], entry[2]) for entry in pattern]
    return tuple(k % n if isinstance(k, int) else k for k, n in zip(keys, shape))


def index(x: Any, *indices: Any, pattern: Sequence[Any]) -> Any:
    if not pattern:
        return x
    return tensor(x)[index_key(pattern, indices, x.shape)]


def index_update(x: Any, value: Any, *indices: Any, pattern: Sequence[Any]) -> Any:
    """A part of a tensor takes its new entries, but no other tensor."""
    if not pattern:
        return value
    result = type(x)(x)
    result[index_key(pattern, indices, x.shape)] = value.array if dr.is_tensor_v(value) else value
    return result


def take(x: Any, indices: Any, axis: int) -> Any:
    if not isinstance(indices, int) and len(indices.shape) != 1:
        raise kit.Unsupported("dr.take has indices with one axis")
    return dr.take(x, indices if isinstance(indices, int) else indices.array, axis)


def joined(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arrays, axis: function([tensor(a) for a in arrays], axis)


def llvm_version() -> tuple[int, ...]:
    """A tuple, as the text that it is in older releases says it."""
    found = dr.detail.llvm_version()
    return tuple(map(int, found.split("."))) if isinstance(found, str) else found


def takes(function: Callable[..., Any]) -> bool:
    """Whether this release has `function` of a tensor: some had the name, and refused tensors or axes."""
    try:
        function(ad.TensorXf64(ad.Float64([1.0]), (1, 1)))
    except (AttributeError, TypeError):
        return False
    return True


def permute_dims(x: Any, axes: Any) -> Any:
    return dr.transpose(x, axes) if axes else x


def extreme(function: Callable[..., Any], of_complex: bool = False) -> Callable[..., Any]:
    """`function` by LLVM's instruction for the larger of two numbers.

    LLVM before 17 has no x86 code for it and aborts the process. `of_complex`: only the function of complex
    numbers needs it.
    """

    def call(*args: Any) -> Any:
        if llvm_version() < (17, 0, 0) and (not of_complex or any(dr.is_complex_v(a) for a in args)):
            found = ".".join(map(str, llvm_version()))
            raise kit.Unsupported(
                f"what is computed by minimum or maximum needs LLVM 17, and this is {found}"
            )
        return function(*args)

    return call


def sort(x: Any, axis: int) -> Any:
    if dr.grad_enabled(x):
        raise kit.Unsupported("dr.sort returns what is detached: it has no derivative")
    return dr.sort(x, axis=axis)


def accurate(function: Callable[..., Any]) -> Callable[..., Any]:
    """A trigonometric function where its documentation says that its error is low: below 8192 in size.

    In a loop that is being recorded, numbers are not known, and it is asked whatever they are.
    """

    def call(x: Any) -> Any:
        known = not dr.is_complex_v(x) and not dr.flag(dr.JitFlag.SymbolicScope)
        if known and dr.width(x) and dr.any(abs(dr.detach(x)) >= 8192, axis=None):
            raise kit.Unsupported(
                "Dr.Jit documents a low error of sin, cos and tan below 8192 alone:"
                " https://drjit.readthedocs.io/en/latest/reference.html#drjit.sin"
            )
        return function(x)

    return call


SAME = "abs conj exp imag real sqrt tanh"
"""Ops whose namesakes in drjit take the same parameters."""

SCALAR_OPS: dict[str, Callable[..., Any]] = {
    **{op: getattr(dr, op) for op in SAME.split()},
    "add": lambda a, b: a + b,
    "astype": astype,
    "atan": extreme(dr.atan),
    "atan2": extreme(dr.atan2),
    "clip": extreme(dr.clip),
    "complex": from_parts,
    "cos": accurate(dr.cos),
    "divide": lambda a, b: a / b,
    "equal": lambda a, b: a == b,
    "greater": lambda a, b: a > b,
    "greater_equal": lambda a, b: a >= b,
    "hypot": extreme(dr.hypot),
    "integer_pow": lambda x, n: dr.power(x, n),
    "less": lambda a, b: a < b,
    "less_equal": lambda a, b: a <= b,
    "log": extreme(dr.log, of_complex=True),
    "logical_and": lambda a, b: mask(a) & mask(b),
    "logical_not": lambda a: ~mask(a),
    "logical_or": lambda a, b: mask(a) | mask(b),
    "maximum": extreme(dr.maximum),
    "minimum": extreme(dr.minimum),
    "multiply": lambda a, b: a * b,
    "negative": lambda a: -a,
    "not_equal": lambda a, b: a != b,
    "pow": extreme(dr.power, of_complex=True),
    "remainder": remainder,
    "sign": sign,
    "sin": accurate(dr.sin),
    "subtract": lambda a, b: a - b,
    "tan": accurate(dr.tan),
    "where": lambda c, a, b: dr.select(mask(c), a, b),
}

OPS: dict[str, Callable[..., Any]] = {
    **{op: of(function) for op, function in SCALAR_OPS.items()},
    "all": reducing(dr.all),
    "amax": reducing(dr.max),
    "amin": reducing(dr.min),
    "any": reducing(dr.any),
    "broadcast_to": of(broadcast_to),
    "concat": joined(lambda arrays, axis: dr.concat(arrays, axis=axis)),
    "cumulative_sum": lambda x, axis: dr.cumsum(x, axis=axis % x.ndim),
    "index": of(index),
    "index_update": index_update,
    "mean": reducing(dr.mean),
    "prod": reducing(dr.prod),
    "reshape": reshape,
    "sort": sort,
    "stack": joined(lambda arrays, axis: dr.stack(arrays, axis=axis)),
    "sum": reducing(dr.sum),
    "take": of(take),
}
if takes(lambda x: x @ x):
    OPS["matmul"] = of(lambda a, b: a @ b)
if takes(lambda x: dr.transpose(x, (1, 0))):
    OPS["permute_dims"] = permute_dims


class Eager(kit.Way):
    """Programs run in Python; arrays are traced."""

    name = "eager"
    ops = OPS
    functions = (dr,)
    modes = ("rev", "fwd")
    orders = (0, 1)

    def array(self, dtype: str, shape: kit.Shape, entries: list[Any]) -> Any:
        flat = ARRAYS[dtype](entries)
        return TENSORS[dtype](flat, shape) if shape else flat

    def entries(self, value: Any) -> kit.Numbers:
        if dr.is_tensor_v(value):
            return NAMES[dr.type_v(value)], value.shape, list(value.array)
        return NAMES[dr.type_v(value)], (), list(value)

    def decide(self, value: Any) -> bool:
        return bool(value[0])

    def differentiate(
        self, f: kit.Function, xs: list[Any], weights: list[Any], directions: list[Any], modes: kit.Modes
    ) -> tuple[list[Any], list[Any]]:
        if not modes:
            return f(*xs), []
        if modes == ("rev",):
            xs = self.fresh(xs)
            outputs = f(*xs)
            objective = self.objective(outputs, weights)
            if objective is not None and dr.grad_enabled(objective):
                dr.backward_from(objective)
            return [dr.detach(y) for y in outputs], [dr.detach(dr.grad(x)) for x in xs]
        outputs, found = f(*xs), []
        for k, x in enumerate(xs):
            size = dr.width(x)
            slopes = [self.slope(f, xs, weights, k, place) for place in range(size)]
            found.append(self.array(NAMES[dr.type_v(x)], x.shape if dr.is_tensor_v(x) else (), slopes))
        return outputs, found

    def fresh(self, xs: list[Any]) -> list[Any]:
        made = [type(x)(x) for x in xs]
        dr.enable_grad(made)
        return made

    def slope(self, f: kit.Function, xs: list[Any], weights: list[Any], k: int, place: int) -> Any:
        """The derivative by one entry, in forward mode."""
        xs = self.fresh(xs)
        objective = self.objective(f(*xs), weights)
        if objective is None or not dr.grad_enabled(objective):
            return 0.0
        for j, x in enumerate(xs):
            flat = x.array if dr.is_tensor_v(x) else x
            units = [1.0 if (j, i) == (k, place) else 0.0 for i in range(dr.width(x))]
            unit = dr.detached_t(type(flat))(units)
            dr.set_grad(x, dr.detached_t(type(x))(unit, x.shape) if dr.is_tensor_v(x) else unit)
        dr.forward_to(objective)
        return dr.detach(dr.grad(objective))[0]

    def objective(self, outputs: list[Any], weights: list[Any]) -> Any:
        terms = [dr.sum(tensor(y).array * tensor(w).array) for y, w in zip(outputs, weights) if w is not None]
        return sum(terms[1:], terms[0]) if terms else None


class Evaluated(kit.Way):
    """Dr.Jit's own loops, a kernel per iteration. Every point is a lane."""

    name = "evaluated"
    ops = SCALAR_OPS
    functions = (dr,)
    modes = ("rev", "fwd")
    orders = (0, 1)
    structured = True
    hints = {"together": True, "stride": 2}
    mode = "evaluated"

    def array(self, dtype: str, shape: kit.Shape, entries: list[Any]) -> Any:
        if shape:
            raise kit.Unsupported("the points are lanes here, and there are scalars only")
        return ARRAYS[dtype](entries)

    def while_loop(
        self, condition: kit.Test, body: kit.Step, carries: list[Any], captures: list[Any]
    ) -> list[Any]:
        return self.loop(lambda s: condition(*s), lambda s: (body(*s), s[1]), carries, captures, TRIPS)

    def for_loop(self, count: Any, body: kit.Body, carries: list[Any], captures: list[Any]) -> list[Any]:
        most = count if isinstance(count, int) else TRIPS
        if isinstance(count, int):
            count = ad.Int64(count)
        start = [ad.Int64(0), *carries]

        def step(s: Any) -> Any:
            return [s[0][0] + 1, *body(s[0][0], list(s[0][1:]), list(s[1][1:]))], s[1]

        return self.loop(lambda s: s[0][0] < s[1][0], step, start, [count, *captures], most)[1:]

    def loop(self, condition: Any, body: Any, carries: list[Any], captures: list[Any], most: int) -> Any:
        """The carries after the loop. Dr.Jit requires all that the body reads in the state."""
        n = len(carries)

        def split(state: Any) -> Any:
            return list(state[:n]), list(state[n:])

        def step(*state: Any) -> Any:
            new, same = body(split(state))
            return (*new, *same)

        start, limits = (*carries, *captures), {"mode": self.mode, "max_iterations": max(most, 1)}
        state = dr.while_loop(start, lambda *s: condition(split(s)), step, **limits)
        return list(state[:n])

    def branch(self, predicate: Any, then: kit.Block, otherwise: kit.Block, captures: list[Any]) -> list[Any]:
        def side(block: kit.Block) -> Callable[..., tuple[Any, ...]]:
            return lambda *values: tuple(block(list(values)))

        return list(dr.if_stmt(tuple(captures), predicate, side(then), side(otherwise), mode=self.mode))

    def answer(self, program: kit.Program, request: kit.Message, inputs: kit.Inputs) -> list[kit.Message]:
        try:
            return self.together(program, request, inputs)
        except RuntimeError as error:
            if NO_RULE in str(error):
                raise kit.Unsupported(str(error).strip().splitlines()[-1]) from None
            raise

    def together(self, program: kit.Program, request: kit.Message, inputs: kit.Inputs) -> list[kit.Message]:
        """The answers at all points."""
        count, wrt, modes = request["count"], request["wrt"], request["modes"]
        if any(len(shape) > 1 for _, shape, _ in inputs.values()) or any(
            w and w["shape"] for w in request["weights"]
        ):
            raise kit.Unsupported("the points are lanes here, and there are scalars only")
        weights = [None if w is None else self.array(*kit.decode_tensor(w)) for w in request["weights"]]
        lanes = {name: ARRAYS[dtype](entries) for name, (dtype, _, entries) in inputs.items()}

        def run(x_wanted: Any) -> Any:
            here = {name: type(x)(x) for name, x in lanes.items()}
            dr.enable_grad([here[n] for n in x_wanted])
            outputs = program(here)
            terms = [y * w for y, w in zip(outputs, weights) if w is not None]
            return here, outputs, sum(terms[1:], terms[0]) if terms else None

        gradient = {}
        if modes == ["rev"]:
            here, outputs, objective = run(wrt)
            if objective is not None and dr.grad_enabled(objective):
                dr.backward_from(objective)
            gradient = {n: dr.detach(dr.grad(here[n])) for n in wrt}
        elif modes == ["fwd"]:
            for name in wrt:
                here, outputs, objective = run([name])
                gradient[name] = lanes[name] * 0
                if objective is not None and dr.grad_enabled(objective):
                    dr.forward_from(here[name])
                    gradient[name] = dr.detach(dr.grad(objective))
        if not gradient:
            _, outputs, _ = run([])
        values = [self.lanes(y, count) for y in outputs]
        slopes = {name: self.lanes(g, count) for name, g in gradient.items()}

        def at(k: int, lanes: tuple[str, list[Any]]) -> kit.Numbers:
            return lanes[0], (), [lanes[1][k]]

        answers = [
            ([at(k, v) for v in values], {n: at(k, g) for n, g in slopes.items()}) for k in range(count)
        ]
        return [{"ok": answer} for answer in answers]

    def lanes(self, value: Any, count: int) -> tuple[str, list[Any]]:
        """(dtype, entries), one entry for each point; a value shared by all points has one lane."""
        entries = list(dr.detach(value))
        return NAMES[dr.type_v(value)], entries * count if len(entries) == 1 else entries


class Symbolic(Evaluated):
    """Dr.Jit's own loops, compiled into one kernel."""

    name = "symbolic"
    hints = {"together": True, "stride": 4}
    mode = "symbolic"


if __name__ == "__main__":
    kit.serve("drjit", dr.__version__, [Eager(), Evaluated(), Symbolic()])
