"""The protocol for adapters in Python 3.8 or newer: copy this file beside yours, or use gradfuzz's folder.

An adapter describes each way into its library by a class, and serves them:

    import kit

    class Eager(kit.Way):
        name = "eager"
        ops = {"add": mylib.add, ...}                       # op of a program -> function(*operands, **params)
        functions = (mylib, mylib.special)                  # where elementwise functions are looked up

        def array(self, dtype, shape, entries): ...         # row-major numbers -> a tensor of the library
        def entries(self, value): ...                       # a tensor -> (dtype, shape, row-major numbers)
        def differentiate(self, f, xs, weights, directions, modes): ...   # -> outputs, gradients

    kit.serve("mylib", mylib.__version__, [Eager()])

The kit runs the programs: loops and branches are Python's, scalar ints and bools are Python's, and ops on
them are computed here. An op's function gets tensors of the dtype it works in, and static parameters by name.
An exception is the library's answer, and an error. Raise `Unsupported` for what it cannot do, or list in
`lacks` what it says then; raise `NonFinite` for what it refuses to return.

A library with loops of its own has `structured = True` and defines them (`while_loop`, `for_loop`, `branch`);
then ints and bools are tensors, too. A library that takes programs as source overrides `answer`, and reads
`program.form`.
"""

from __future__ import annotations

import base64
import collections
import json
import math
import operator
import os
import pathlib
import re
import struct
import sys
import traceback
import types
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:  # Python 3.8 cannot evaluate these
    Shape = tuple[int, ...]
    Numbers = tuple[str, Shape, list[Any]]  # dtype, shape and row-major entries of a tensor
    Message = dict[str, Any]  # JSON
    Step = Callable[[list[Any], list[Any]], list[Any]]  # carries, captures -> carries
    Test = Callable[[list[Any], list[Any]], Any]  # carries, captures -> bool
    Body = Callable[[Any, list[Any], list[Any]], list[Any]]  # the same after the number of the trip
    Block = Callable[[list[Any]], list[Any]]  # captures -> values
    Modes = tuple[str, ...]  # from the innermost differentiation to the outermost
    Function = Callable[..., list[Any]]  # inputs -> outputs
    Inputs = dict[str, Numbers]
    Env = dict[str, Any]  # the variables of a program
    Read = Callable[[Env], Any]
    Run = Callable[[Env], int | None]

__all__ = [
    "BadRequest",
    "NonFinite",
    "Program",
    "Unsupported",
    "Way",
    "arm_of",
    "contracted",
    "decode_tensor",
    "each_point",
    "encode_tensor",
    "point_of",
    "serve",
]

VERSION = 1

_SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf, "-0.0": -0.0}
_CODES = {"float64": "d", "float32": "f", "float16": "e", "complex128": "d", "complex64": "f", "bool": "?"}
for _bits, _code in ((64, "q"), (32, "i"), (16, "h"), (8, "b")):
    _CODES.update({f"int{_bits}": _code, f"uint{_bits}": _code.upper()})
_SHORT = 24
"""The most entries written as numbers; longer tensors are written in base64."""


class Unsupported(Exception):
    """The library does not support this. It may be raised where the library calls back, as in the body of one
    of its loops: it counts whatever the library makes of it.
    """

    said: collections.deque[str] = collections.deque(maxlen=16)
    """What was said last."""

    def __init__(self, *args: object) -> None:
        super().__init__(*args)
        Unsupported.said.append(str(self))


class NonFinite(Exception):
    """The library refuses to return a result that is not finite."""


class BadRequest(Exception):
    """The request is invalid."""


class Way:
    """One way into a library. It supports every sequence of its modes, in each of its orders."""

    name = ""
    ops: Mapping[str, Callable[..., Any]] = {}
    functions: tuple[Any, ...] = ()
    """Namespaces of the library. An op that `ops` lacks is the function of its name there, if it is
    elementwise and has no parameters: its name in the array API standard, or one of `SPELLED`. Where a name
    means something else in the library, leave the namespace out, or write the op into `ops`.
    """
    dtypes: tuple[str, ...] = ("float64", "float32")
    modes: tuple[str, ...] = ("rev",)
    orders: tuple[int, ...] = (0, 1)
    loops: tuple[str, ...] = ("for", "while", "repeat")
    features: tuple[str, ...] = ("branches", "break", "continue", "nested", "runtime_trips")
    hints: Mapping[str, Any] = {}
    """Further fields of a way in the protocol: stride, by_shape, variant, together."""
    structured = False
    """Whether the three methods below make loops and branches; then every int and bool is a tensor."""
    lacks: tuple[str, ...] = ()
    """What the library says where it lacks a derivative by its documents or its source, as patterns. Of any
    other exception the type does not matter: it is an error.
    """

    def array(self, dtype: str, shape: Shape, entries: list[Any]) -> Any:
        """A tensor of the library with these entries, in row-major order. Special floats are Python's."""
        raise Unsupported("array is missing")

    def entries(self, value: Any) -> Numbers:
        """(dtype, shape, entries) of a tensor of the library, unconverted. Complex entries are Python's."""
        raise Unsupported("entries is missing")

    def decide(self, value: Any) -> bool:
        """A bool scalar of the library as a Python bool."""
        return bool(value)

    def refusal(self, error: BaseException) -> Exception | None:
        """The refusal in an exception of the library, or None."""
        said = any(re.search(words, str(error)) for words in self.lacks)
        return Unsupported(str(error)) if said else None

    def differentiate(
        self, f: Function, xs: list[Any], weights: list[Any], directions: list[Any], modes: Modes
    ) -> tuple[list[Any], list[Any]]:
        """The outputs of `f(*xs)`, a list, and one derivative of F = sum of <weight, output> for each of
        `xs`.

        An output with weight None is not part of F. `modes` are the differentiations from the innermost to
        the outermost; each but the last is along `directions`, one for each of `xs`. Without modes only the
        outputs are asked for.
        """
        raise Unsupported("differentiate is missing")

    def while_loop(
        self,
        condition: Test,
        body: Step,
        carries: list[Any],
        captures: list[Any],
    ) -> list[Any]:
        """The carries after the loop, tensors.

        `condition(carries, captures)` is a bool tensor, `body(carries, captures)` the next carries.
        """
        raise Unsupported("while_loop is missing")

    def for_loop(self, count: Any, body: Body, carries: list[Any], captures: list[Any]) -> list[Any]:
        """The same, with `body(i, carries, captures)` for i < `count`, a Python int where it is constant."""
        if isinstance(count, int):
            count = self.array("int64", (), [count])
        less, add, one = self.ops["less"], self.ops["add"], self.array("int64", (), [1])
        start = [self.array("int64", (), [0]), *carries]
        return self.while_loop(
            lambda cs, xs: less(cs[0], xs[0]),
            lambda cs, xs: [add(cs[0], one), *body(cs[0], list(cs[1:]), list(xs[1:]))],
            start,
            [count, *captures],
        )[1:]

    def branch(self, predicate: Any, then: Block, otherwise: Block, captures: list[Any]) -> list[Any]:
        """The tensors of the selected function: `then(captures)` or `otherwise(captures)`.

        Both are lists of the same length and types.
        """
        raise Unsupported("branch is missing")

    def answer(self, program: Program, request: Message, inputs: Inputs) -> list[Message]:
        """One result per point: `{"ok": (outputs, {name: derivative})}` of (dtype, shape, entries), or
        another arm of a reply (`arm_of`).

        `inputs` are (dtype, shape, entries) with a leading axis over the points; `request` is the eval
        message.
        """
        return [_point(self, program, request, inputs, k) for k in range(request["count"])]

    def limit(self, program: Program, request: Message) -> dict[str, str] | None:
        """The limit of the library that a question meets, if its documentation states it: the fields `name`,
        `what` and `link` as a dictionary; else None. A wrong derivative there is a convention, and no bug.
        """
        return None

    def describe(self) -> Message:
        """The way as in the message hello."""
        lists = ("dtypes", "modes", "orders", "loops", "features")
        found = [op for op in _ELEMENTWISE.split() if _looked_up(self, op) is not None]
        described: Message = {"name": self.name, "ops": sorted({*self.ops, *found})}
        described.update({name: list(getattr(self, name)) for name in lists})
        if self.functions:
            described["functions"] = True
        described.update(self.hints)
        return described


# Elementwise functions --------------------------------------------------------------------------------------

_ELEMENTWISE = (
    "sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh exp exp2 expm1 log log2 log10 log1p"
    " logaddexp sqrt cbrt rsqrt square reciprocal hypot erf erfc erfinv lgamma digamma expit xlogy xlog1py"
    " i0 i1 i0e i1e sinc relu silu softplus gelu ndtr positive copysign floor ceil trunc round"
    " floor_divide fmod"
)
"""The functions that hello lists where a library has them; others may be asked by name."""

SPELLED = {
    "acos": ("arccos",),
    "acosh": ("arccosh",),
    "asin": ("arcsin",),
    "asinh": ("arcsinh",),
    "atan": ("arctan",),
    "atan2": ("arctan2",),
    "atanh": ("arctanh",),
    "digamma": ("psi",),
    "erfinv": ("erf_inv",),
    "expit": ("sigmoid", "logistic"),
    "lgamma": ("gammaln",),
    "silu": ("swish",),
}
"""What libraries call a function that have another name for it. The order of the arguments is the same."""


def _looked_up(way: Way, op: str) -> Callable[..., Any] | None:
    """The elementwise function of a name in the namespaces of a way; None where they have none."""
    for name in (op, *SPELLED.get(op, ())):
        for namespace in way.functions:
            function: Callable[..., Any] | None = getattr(namespace, name, None)
            if callable(function):
                return function
    return None


# Tensors ----------------------------------------------------------------------------------------------------


def decode_tensor(tensor: Message) -> Numbers:
    """(dtype, shape, entries) of a tensor in a message."""
    try:
        dtype, shape = tensor["dtype"], tuple(tensor["shape"])
        size = math.prod(shape)
        if "base64" in tensor:
            entries = _unpacked(base64.b64decode(tensor["base64"], validate=True), dtype)
        else:
            entries = [_SPECIAL[v] if isinstance(v, str) else v for v in tensor["data"]]
            if dtype.startswith(("float", "bfloat")):
                entries = [float(v) for v in entries]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BadRequest(f"a tensor cannot be read: {type(error).__name__}: {error}") from None
    if len(entries) != size:
        raise BadRequest(f"{len(entries)} entries do not fill the shape {list(shape)}")
    return dtype, shape, entries


def _unpacked(data: bytes, dtype: str) -> list[Any]:
    if dtype == "bfloat16":  # the upper half of a float32
        count = len(data) // 2
        words = [half << 16 for half in struct.unpack(f"<{count}H", data)]
        return list(struct.unpack(f"<{count}f", struct.pack(f"<{count}I", *words)))
    code = _CODES[dtype]
    return list(struct.unpack(f"<{len(data) // struct.calcsize(code)}{code}", data))


def encode_tensor(dtype: str, shape: Shape, entries: list[Any]) -> Message:
    """A tensor for a message."""
    tensor = {"dtype": dtype, "shape": [int(n) for n in shape]}
    if dtype.startswith("complex"):
        entries = [part for z in entries for part in (z.real, z.imag)]
    if len(entries) > _SHORT and dtype in _CODES:
        packed = struct.pack(f"<{len(entries)}{_CODES[dtype]}", *entries)
        tensor["base64"] = base64.b64encode(packed).decode("ascii")
    elif dtype == "bool" or "int" in dtype:
        tensor["data"] = entries
    else:
        tensor["data"] = [v if v - v == 0 and v != 0 else _special(v) for v in entries]
    return tensor


def _special(v: float) -> float | str:
    if v != v:
        return "NaN"
    if v in (math.inf, -math.inf):
        return "Infinity" if v > 0 else "-Infinity"
    return "-0.0" if math.copysign(1.0, v) < 0 else 0.0


# Programs ---------------------------------------------------------------------------------------------------

_NORMAL, _BREAK, _CONTINUE = range(3)

_ON_SCALARS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "negative": operator.neg,
    "remainder": operator.mod,
    "abs": abs,
    "sign": lambda a: (a > 0) - (a < 0),
    "maximum": max,
    "minimum": min,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "logical_and": lambda a, b: a and b,
    "logical_or": lambda a, b: a or b,
    "logical_not": operator.not_,
    "where": lambda c, a, b: a if c else b,
}
"""Ops on scalar ints and bools."""


class Program:
    """A program as a function of tensors. The constructor visits every op; a call runs closures."""

    def __init__(self, form: Message, way: Way, dtype: str, trip_limit: int) -> None:
        self.form = form
        self.dtype = dtype
        self._way = way
        self._limit = trip_limit
        self.params = [(name, _type(text)) for name, text in form["params"]]
        self._types = {name: _type(text) for name, text in form["variables"].items()}
        self._body = self._block(form["body"][:-1])
        self._outputs = [self._expression(e) for e in form["body"][-1]["return"]]

    def __call__(self, inputs: dict[str, Any]) -> list[Any]:
        """The outputs at inputs by name: tensors, and Python's ints and bools for scalars."""
        env = dict(inputs)
        self._body(env)
        return [read(env) for read in self._outputs]

    def tensor(self, dtype: str, shape: Shape, entries: list[Any]) -> Any:
        """A value of a program: a tensor, or a Python int or bool."""
        if not shape and dtype in ("int64", "bool") and not self._way.structured:
            return entries[0]
        return self._way.array(dtype, shape, entries)

    # Expressions

    def _type_of(self, e: Any) -> tuple[str, Shape]:
        if isinstance(e, str):
            return self._types[e]
        if "op" in e:
            return _type(e["type"])
        if "array" in e:
            return e["array"], tuple(e["shape"])
        return next(iter(e)), ()

    def _constant(self, dtype: str, shape: Shape, values: list[Any]) -> Read:
        values = [_SPECIAL[v] if isinstance(v, str) else v for v in values]
        name = {"float": self.dtype, "int": "int64", "bool": "bool"}[dtype]
        value = self.tensor(name, shape, [float(v) for v in values] if dtype == "float" else values)
        return lambda env: value

    def _expression(self, e: Any) -> Read:
        if isinstance(e, str):
            return operator.itemgetter(e)
        if "op" in e:
            return self._call(e)
        if "array" in e:
            return self._constant(e["array"], tuple(e["shape"]), e["values"])
        ((dtype, value),) = e.items()
        return self._constant(dtype, (), [value])

    def _call(self, e: Any) -> Read:
        op, params = e["op"], {name: _tuples(value) for name, value in e["params"].items()}
        reads = [self._expression(a) for a in e["args"]]
        types = [self._type_of(a) for a in e["args"]]
        own = not self._way.structured and all(
            dtype in ("int", "bool") and not shape for dtype, shape in [_type(e["type"]), *types]
        )
        if own and op in _ON_SCALARS:
            function, params = _ON_SCALARS[op], {}
            bools = [dtype == "bool" for dtype, _ in types]
            reads = [self._decided(r) if is_bool else r for r, is_bool in zip(reads, bools)]
        elif op == "astype" and not types[0][1] and not self._way.structured:
            return self._cast(types[0][0], params["dtype"], reads[0])
        elif op in self._way.ops:
            function = self._way.ops[op]
            if op == "astype":
                params["dtype"] = self._dtype(params["dtype"])
        else:
            numbers = {"float", "complex"}
            elementwise = not params and numbers.issuperset(dtype for dtype, _ in [_type(e["type"]), *types])
            found = _looked_up(self._way, op) if elementwise else None
            if found is None:
                raise Unsupported(f"there is no op {op} here")
            function = found
        return lambda env: function(*[read(env) for read in reads], **params)

    def _cast(self, own: str, wanted: str, read: Read) -> Read:
        """A scalar as another dtype."""
        if wanted == "bool":
            return lambda env: read(env) != 0
        if wanted == "int":
            return lambda env: int(read(env))
        if own in ("int", "bool") and wanted == "float":
            return lambda env: self._as_float(read(env))
        if "astype" not in self._way.ops:
            raise Unsupported(f"there is no conversion to {wanted} here")
        if own in ("int", "bool"):
            return lambda env: self._way.ops["astype"](self._as_float(read(env)), dtype=self._dtype(wanted))
        return lambda env: self._way.ops["astype"](read(env), dtype=self._dtype(wanted))

    def _dtype(self, name: str) -> str:
        """The dtype of tensors that the program language calls so; complex numbers are as wide as floats."""
        wide = "complex64" if self.dtype == "float32" else "complex128"
        return {"int": "int64", "float": self.dtype, "complex": wide}.get(name, name)

    def _as_float(self, value: Any) -> Any:
        """A scalar int or bool, Python's or one that the library returned, as a float of the library."""
        if "astype" in self._way.ops and not isinstance(value, (bool, int)):
            return self._way.ops["astype"](value, dtype=self.dtype)
        return self._way.array(self.dtype, (), [float(value)])

    # Statements

    def _block(self, statements: list[Any]) -> Run:
        run = [self._statement(s) for s in statements]

        def block(env: Env) -> int | None:
            for statement in run:
                ended = statement(env)
                if ended:
                    return ended
            return _NORMAL

        return block

    def _statement(self, s: Any) -> Run:
        if s == "break":
            return lambda env: _BREAK
        if s == "continue":
            return lambda env: _CONTINUE
        if "assign" in s:
            return self._assign(s["assign"], self._expression(s["value"]))
        if "if" in s:
            return self._if(self._condition(s["if"]), self._block(s["then"]), self._block(s["else"]))
        if "for" in s:
            return self._for(s["for"], self._expression(s["count"]), self._block(s["body"]))
        if "repeat" in s:
            return self._while(self._condition(s["while"]), self._block(s["repeat"]), False)
        if "while" in s:
            return self._while(self._condition(s["while"]), self._block(s["body"]), True)
        raise BadRequest("a statement with {} is none".format(", ".join(map(repr, s))))

    def _condition(self, e: Any) -> Read:
        return self._decided(self._expression(e))

    def _decided(self, read: Read) -> Read:
        """A bool scalar as a Python bool."""
        decide = self._way.decide

        def holds(env: Env) -> bool:
            value = read(env)
            return value if isinstance(value, bool) else decide(value)

        return holds

    def _assign(self, name: str, read: Read) -> Run:
        def run(env: Env) -> None:
            env[name] = read(env)

        return run

    def _if(self, condition: Read, then: Run, otherwise: Run) -> Run:
        return lambda env: then(env) if condition(env) else otherwise(env)

    def _while(self, condition: Read, body: Run, first: bool) -> Run:
        def run(env: Env) -> None:
            trips, test = 0, first
            while not test or condition(env):
                test, trips = True, self._trip(trips)
                if body(env) == _BREAK:
                    break

        return run

    def _for(self, name: str, count: Read, body: Run) -> Run:
        def run(env: Env) -> None:
            for trip in range(count(env)):
                self._trip(trip)
                env[name] = trip
                if body(env) == _BREAK:
                    break

        return run

    def _trip(self, trips: int) -> int:
        if trips == self._limit:
            raise RuntimeError(f"a loop is still running after {trips} trips")
        return trips + 1


class StructuredProgram(Program):
    """A program whose loops and branches the library makes.

    A break or a continue sets a flag, and the following statements are a branch on it.
    """

    def _block(self, statements: list[Any]) -> Run:
        run = []
        for k, s in enumerate(statements):
            run.append(self._statement(s))
            if _exits(s) and statements[k + 1 :]:
                rest = statements[k + 1 :]
                alive = {"if": _ALIVE, "then": rest, "else": [], "assigns": sorted(_assigned(rest))}
                run.append(self._statement(alive))
                break

        def block(env: Env) -> None:
            for statement in run:
                statement(env)

        return block

    def _statement(self, s: Any) -> Run:
        if s in ("break", "continue"):
            flags = {_ALIVE: False, _BROKEN: True} if s == "break" else {_ALIVE: False}
            return lambda env: env.update({name: self._flag(value) for name, value in flags.items()})
        if "if" in s:
            return self._branch(s)
        if "for" in s:
            return self._counted(s)
        if "while" in s:
            return self._repeated(s)
        return super()._statement(s)

    def _flag(self, value: bool) -> Any:
        return self._way.array("bool", (), [value])

    def _read(self, env: Env, name: str) -> Any:
        """The value of a name; zeros if an early exit skipped its assignment, as it is not read then."""
        if name in env:
            return env[name]
        dtype, shape = self._types[name]
        if dtype == "complex":
            zeros = self._way.array(self.dtype, shape, [0.0] * math.prod(shape))
            return self._way.ops["complex"](zeros, zeros)
        name, zero = {"float": (self.dtype, 0.0), "int": ("int64", 0), "bool": ("bool", False)}[dtype]
        return self._way.array(name, shape, [zero] * math.prod(shape))

    def _branch(self, s: Message) -> Run:
        read, then, otherwise = self._expression(s["if"]), self._block(s["then"]), self._block(s["else"])
        assigned = [*s["assigns"], *sorted(_flags(s))]
        captured = sorted(_names([s["then"], s["else"]]).union(assigned))

        def run(env: Env) -> None:
            names = [n for n in captured if n in env]

            def side(block: Run) -> Block:
                def chosen(values: list[Any]) -> list[Any]:
                    inner = dict(zip(names, values))
                    block(inner)
                    return [self._read(inner, n) for n in assigned]

                return chosen

            if assigned:
                found = self._way.branch(read(env), side(then), side(otherwise), [env[n] for n in names])
                env.update(zip(assigned, found))

        return run

    def _trip_of(self, s: Message) -> tuple[list[str], bool, Callable[..., list[Any]]]:
        """The body of a loop: a function from carries, captures and more to the next carries."""
        block, breaks = self._block(_body(s)), _BROKEN in _flags({"then": _body(s)})
        read = _names(s.get("while", [])) & _assigned(_body(s))
        tested = sorted(read.difference(s["carries"], s["results"]))  # by a test at the end of an iteration
        carries = [*s["carries"], *s["results"], *tested, *([_BROKEN] if breaks else [])]

        def trip(values: list[Any], captures: list[Any], **more: Any) -> list[Any]:
            env = dict(zip(s["captures"], captures), **dict(zip(carries, values)), **more)
            env[_ALIVE] = self._flag(True)
            block(env)
            return [self._read(env, n) for n in carries]

        return carries, breaks, trip

    def _loop(
        self, s: Any, carries: list[str], loop: Callable[[Env, list[Any], list[Any]], list[Any]]
    ) -> Run:
        """A statement that assigns the carries from `loop(env, start, captures)`."""

        def run(env: Env) -> None:
            captures = [env[n] for n in s["captures"]]
            start = [self._flag(False) if n == _BROKEN else self._read(env, n) for n in carries]
            found = loop(env, start, captures)
            env.update((n, value) for n, value in zip(carries, found) if n != _BROKEN)

        return run

    def _repeated(self, s: Message) -> Run:
        carries, breaks, trip = self._trip_of(s)
        test = self._expression(s["while"])

        def goes_on(values: list[Any], captures: list[Any]) -> Any:
            env = dict(zip(s["captures"], captures), **dict(zip(carries, values)))
            if not breaks:
                return test(env)
            return self._way.ops["logical_and"](self._way.ops["logical_not"](env[_BROKEN]), test(env))

        def loop(env: Env, start: list[Any], captures: list[Any]) -> list[Any]:
            if "repeat" in s:  # the first iteration is not tested
                start = trip(start, captures)
            return self._way.while_loop(goes_on, trip, start, captures)

        return self._loop(s, carries, loop)

    def _counted(self, s: Message) -> Run:
        carries, breaks, trip = self._trip_of(s)
        variable, literal = s["for"], isinstance(s["count"], dict) and "int" in s["count"]
        count = (lambda env: s["count"]["int"]) if literal else self._expression(s["count"])

        def body(i: Any, values: list[Any], captures: list[Any]) -> list[Any]:
            if not breaks:
                return trip(values, captures, **{variable: i})
            n = len(carries)

            def goes_on(xs: list[Any]) -> list[Any]:
                return trip(xs[:n], xs[n + 1 :], **{variable: xs[n]})

            return self._way.branch(values[-1], lambda xs: list(xs[:n]), goes_on, [*values, i, *captures])

        def loop(env: Env, start: list[Any], captures: list[Any]) -> list[Any]:
            return self._way.for_loop(count(env), body, start, captures)

        return self._loop(s, carries, loop)


_ALIVE, _BROKEN = "@alive", "@broken"
"""Whether this iteration continues, and whether the loop was left."""


def _body(s: Message) -> list[Any]:
    body: list[Any] = s["body" if "body" in s else "repeat"]
    return body


def _flags(s: Message) -> set[str]:
    """The flags that a branch may set."""
    found = set()
    for inner in [*s["then"], *s.get("else", [])]:
        if inner in ("break", "continue"):
            found |= {_ALIVE, _BROKEN} if inner == "break" else {_ALIVE}
        elif "if" in inner:
            found |= _flags(inner)
    return found


def _exits(s: Any) -> bool:
    return s in ("break", "continue") or ("if" in s and bool(_flags(s)))


def _assigned(statements: list[Any]) -> set[str]:
    """The names that these statements assign, flags included."""
    found = set()
    for s in statements:
        if s in ("break", "continue"):
            continue
        if "assign" in s:
            found.add(s["assign"])
        elif "if" in s:
            found |= _assigned(s["then"]) | _assigned(s["else"])
        else:
            found |= _assigned(_body(s))
    return found


def _names(data: object) -> set[str]:
    """Every string of a form, which includes the names that it reads."""
    if isinstance(data, str):
        return {data}
    inside = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    return set().union(*(_names(entry) for entry in inside))


def _type(text: str) -> tuple[str, Shape]:
    """Parses a type: "float[3, 2]" is ("float", (3, 2))."""
    dtype, _, sizes = text.partition("[")
    return dtype, tuple(int(n) for n in sizes.rstrip("]").split(",")) if sizes else ()


def _tuples(value: Any) -> Any:
    return tuple(_tuples(v) for v in value) if isinstance(value, list) else value


# Conversation -----------------------------------------------------------------------------------------------


def serve(name: str, version: str, ways: Sequence[Way], language: str | None = None) -> None:
    """Answers requests until bye or the end of input. Anything printed goes to stderr."""
    reader, writer = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)  # the library must not read our requests
    os.dup2(2, 1)  # and its output must not look like a reply
    language = language or "Python " + sys.version.split()[0]
    server = _Server({"name": name, "version": version, "language": language}, ways)
    for line in reader:
        reply, goes_on = server.reply(line)
        writer.write(json.dumps(reply, allow_nan=False, separators=(",", ":")).encode() + b"\n")
        writer.flush()
        if not goes_on:
            break


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON")


class _Server:
    def __init__(self, about: Message, ways: Sequence[Way]) -> None:
        self._about = about
        self._ways = {way.name: way for way in ways}
        self._forms: dict[str, tuple[Message, int]] = {}
        self._programs: dict[tuple[str, str, str], Program] = {}
        self._answers: dict[str, Callable[[Message], Message]] = {
            "hello": self._hello,
            "define": self._define,
            "eval": self._eval,
            "bye": lambda _: {},
        }

    def reply(self, line: bytes) -> tuple[Message, bool]:
        """The reply to a line, and whether the conversation continues."""
        number, kind = 0, None
        try:
            try:
                request = json.loads(line.decode("utf-8"), parse_constant=_no_constant)
                number, kind = int(request["id"]), request["do"]
            except (ValueError, KeyError, TypeError) as error:
                raise BadRequest(f"no request: {type(error).__name__}: {error}") from None
            if kind not in self._answers:
                raise Unsupported(f"there is no {kind} here")
            return {"id": number, "ok": self._answers[kind](request)}, kind != "bye"
        except Exception as error:
            arm = arm_of(error)
            if isinstance(error, (KeyError, TypeError, AttributeError)):
                arm = {"error": {"kind": "bad_request", "message": f"{type(error).__name__}: {error}"}}
            return {"id": number, **arm}, True

    def _hello(self, request: Message) -> Message:
        ways = [way.describe() for way in self._ways.values()]
        return dict(self._about, protocol=VERSION, ways=ways, features=["base64"])

    def _define(self, request: Message) -> Message:
        for name in request["forget"]:
            self._forms.pop(name, None)
            for key in [key for key in self._programs if key[0] == name]:
                del self._programs[key]
        form, name = request["form"], request["program"]
        self._forms[name] = form, int(request["trip_limit"])
        for way in self._ways.values():  # so that errors in it are reported now
            try:
                self._program(name, way, way.dtypes[0])
                break
            except Unsupported as error:
                refusal = error
        else:
            raise refusal
        return {}

    def _program(self, name: str, way: Way, dtype: str) -> Program:
        key = (name, way.name, dtype)
        if key not in self._programs:
            if name not in self._forms:
                raise BadRequest(f"the program {name} was never defined")
            form, trip_limit = self._forms[name]
            kind = StructuredProgram if way.structured else Program
            self._programs[key] = kind(form, way, dtype, trip_limit)
        return self._programs[key]

    def _eval(self, request: Message) -> Message:
        if request["way"] not in self._ways:
            raise BadRequest("there is no way {!r} here".format(request["way"]))
        way, dtype, count = self._ways[request["way"]], request["dtype"], request["count"]
        if dtype not in way.dtypes:
            raise Unsupported(f"{dtype} is no dtype of this way")
        program = self._program(request["program"], way, dtype)
        inputs = {name: decode_tensor(tensor) for name, tensor in request["inputs"].items()}
        for name, (_, shape) in program.params:
            if name not in inputs or inputs[name][1] != (count, *shape):
                raise BadRequest(f"the input {name} has not the shape {[count, *shape]}")
        unknown = [n for n in request["wrt"] if n not in inputs]
        if unknown:
            raise BadRequest(f"there is no input {unknown[0]}")
        try:
            results = way.answer(program, request, inputs)
            limit = way.limit(program, request)
        except BadRequest:
            raise
        except (Exception, SystemExit) as error:
            results, limit = [arm_of(way.refusal(error) or error)] * count, None
        reply = _together(results) or {"results": [_written(r) for r in results]}
        return reply if limit is None else dict(reply, limit=limit)


def point_of(inputs: Inputs, k: int) -> dict[str, Numbers]:
    """The inputs at point k: (dtype, shape, entries) by name."""
    sizes = {name: math.prod(shape[1:]) for name, (_, shape, _) in inputs.items()}
    return {
        name: (dtype, shape[1:], entries[k * sizes[name] : (k + 1) * sizes[name]])
        for name, (dtype, shape, entries) in inputs.items()
    }


def contracted(
    request: Message, array: Callable[[str, Shape, list[Any]], Any]
) -> tuple[list[Any], list[Any]]:
    """The weights of a request, None for an output without one, and its directions, as tensors by `array`."""
    weights = [None if w is None else array(*decode_tensor(w)) for w in request["weights"]]
    along = request["directions"]
    return weights, [array(*decode_tensor(along[n])) for n in request["wrt"]] if along else []


def each_point(
    count: int,
    at: Callable[[int], Message],
    refusal: Callable[[Exception], Exception | None] = lambda error: None,
) -> list[Message]:
    """One result per point: `at(k)`, or the arm of what it raises; `refusal` may say what that means."""
    results = []
    for k in range(count):
        try:
            results.append(at(k))
        except Exception as error:
            results.append(arm_of(refusal(error) or error))
    return results


def _point(way: Way, program: Program, request: Message, inputs: Inputs, k: int) -> Message:
    """The library's answer at one point: {"ok": (values, gradient)}, decoded, or another arm of a reply."""
    try:
        here = {name: program.tensor(*tensor) for name, tensor in point_of(inputs, k).items()}
        wrt, modes = request["wrt"], tuple(request["modes"])
        weights, directions = contracted(request, way.array)

        def f(*xs: Any) -> list[Any]:
            return program(dict(here, **dict(zip(wrt, xs))))

        outputs, gradient = way.differentiate(f, [here[n] for n in wrt], weights, directions, modes)
        values = [_entries(way, y) for y in outputs]
        return {"ok": (values, {n: _entries(way, g) for n, g in zip(wrt, gradient)} if modes else {})}
    except BadRequest:
        raise
    except (Exception, SystemExit) as error:  # whatever the library raises is its answer
        return arm_of(way.refusal(error) or error)


def _entries(way: Way, value: Any) -> Numbers:
    if isinstance(value, bool):
        return "bool", (), [value]
    if isinstance(value, int):
        return "int64", (), [value]
    dtype, shape, entries = way.entries(value)
    if len(entries) != math.prod(shape):
        raise ValueError(f"the library's tensor has the shape {list(shape)} and holds {len(entries)} numbers")
    return dtype, tuple(shape), entries


def _origin(error: BaseException) -> BaseException:
    """The exception of an adapter behind one of the library, or the exception itself.

    A library may wrap what its callback raises, or keep only the text. What an adapter looks up in a library
    and does not find is missing in that release; what it looks up in its own tables is its own affair.
    """
    wrapped: BaseException | None = error
    while wrapped is not None:
        if isinstance(wrapped, (Unsupported, NonFinite, BadRequest)):
            return wrapped
        wrapped = wrapped.__cause__ or wrapped.__context__
    words = next((words for words in Unsupported.said if words and words in str(error)), None)
    if words is None and (_is_missing(error) or _lacks_form(error)):
        words = f"not in this release: {str(error).partition('. The following')[0]}"
    if words is None and isinstance(error, (KeyError, NameError)) and _is_raised_here(error):
        words = f"an error of the adapter: {type(error).__name__}: {error}"
    return error if words is None else Unsupported(words)


def _is_missing(error: BaseException) -> bool:
    """Whether an adapter looked up a name in the library, and it is not there."""
    if not isinstance(error, AttributeError):
        return False
    frames = traceback.extract_tb(error.__traceback__)
    if frames and frames[-1].name == "__getattr__":  # the library says so itself
        return len(frames) > 1 and _is_own(frames[-2]) and not _is_own(frames[-1])
    looked_at = getattr(error, "obj", None)
    place = looked_at if isinstance(looked_at, (types.ModuleType, type)) else type(looked_at)
    library = getattr(place, "__module__", place.__name__).partition(".")[0]
    return bool(frames) and _is_own(frames[-1]) and library not in ("__main__", "builtins", "kit")


def _lacks_form(error: BaseException) -> bool:
    """Whether an adapter called a function of the library with arguments that it does not take.

    The adapter's last line calls the function: one that the library calls by itself is the library's own
    affair. What pybind11 and nanobind say of a compiled function has no frame below its call.
    """
    if not isinstance(error, TypeError):
        return False
    frames = traceback.extract_tb(error.__traceback__)
    if re.match(r"\w+\(\): incompatible function arguments", str(error)):
        return _is_raised_here(error)
    of_python = r"(?:.*\.)?(\w+)\(\) (?:got an unexpected keyword argument|takes .* positional argument)"
    said, own = re.match(of_python, str(error)), [frame for frame in frames if _is_own(frame)]
    if said is None or not own:
        return False
    return re.search(rf"(?<!\bself)\.{said[1]}\(", own[-1].line or "") is not None


def _is_raised_here(error: BaseException) -> bool:
    """Whether the kit or the adapter raises an exception, or compiled code that it calls."""
    return any(_is_own(frame) for frame in traceback.extract_tb(error.__traceback__)[-1:])


def _is_own(frame: traceback.FrameSummary) -> bool:
    """Whether a frame is the kit's or the adapter's."""
    file, kit = pathlib.Path(frame.filename).resolve(), pathlib.Path(__file__).resolve()
    adapter = getattr(sys.modules["__main__"], "__file__", None) or kit
    return file.parent == kit.parent or file == pathlib.Path(adapter).resolve()


def arm_of(error: BaseException) -> Message:
    """An exception of the library, as an arm of a reply."""
    error = spoken(_origin(error))
    if isinstance(error, Unsupported):
        return {"unsupported": str(error)}
    program = error.filename if isinstance(error, FileNotFoundError) else None
    if isinstance(program, str) and "/" not in program and "." not in program:  # a compiler
        return {"unsupported": f"the library starts the program {program}, which this machine lacks"}
    kinds = ((NonFinite, "non_finite"), (BadRequest, "bad_request"), (MemoryError, "out_of_memory"))
    kind = next((kind for types, kind in kinds if isinstance(error, types)), "exception")
    told = telling(str(error))[:300]
    message = told if kind in ("non_finite", "bad_request") else f"{type(error).__name__}: {told}"
    return {"error": {"kind": kind, "message": message}}


def spoken(error: BaseException) -> BaseException:
    """The exception that says what happened: where one points above (Dr.Jit: "see above"), the one above."""
    while re.search(r"\bsee above\b", str(error)):
        above = error.__cause__ or error.__context__
        if above is None:
            break
        error = above
    return error


def telling(message: str) -> str:
    """The line of a message that says what happened.

    It is the first. After a heading, as "In user code:", it is the first with the name of an error, or else
    the last that is not in brackets.
    """
    first, *rest = [line.strip() for line in message.splitlines() if line.strip()] or [""]
    if not first.endswith(":"):
        return first
    named = [line for line in rest if re.match(r"\w*Error: ", line)]
    return (named or [line for line in reversed(rest) if not line.startswith("[")] or [first])[0]


def _written(result: Message) -> Message:
    if "ok" not in result:
        return result
    values, gradient = result["ok"]
    slopes = {n: encode_tensor(*g) for n, g in gradient.items()}
    return {"ok": {"values": [encode_tensor(*v) for v in values], "gradient": slopes}}


def _together(results: list[Message]) -> Message | None:
    """All results as tensors with a leading axis if all are ok and of the same form, else None."""
    if len(results) < 2 or not all("ok" in r for r in results):
        return None
    kinds = {
        (tuple((v[0], v[1]) for v in values), tuple((n, g[0], g[1]) for n, g in gradient.items()))
        for values, gradient in (r["ok"] for r in results)
    }
    if len(kinds) != 1:
        return None

    def joined(parts: Sequence[Numbers]) -> Message:
        dtype, shape, _ = parts[0]
        return encode_tensor(dtype, (len(parts), *shape), [entry for part in parts for entry in part[2]])

    values = [joined(column) for column in zip(*(r["ok"][0] for r in results))]
    gradient = {n: joined([r["ok"][1][n] for r in results]) for n in results[0]["ok"][1]}
    return {"stacked": {"values": values, "gradient": gradient}}
