"""Programs survive being written and read, as text and as JSON, and their text means as Python what the
program means.
"""

from __future__ import annotations

import ast
import contextlib
import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from gradfuzz.errors import ProgramError
from gradfuzz.programs import (
    BOOL,
    FLOAT,
    INT,
    ArrayConst,
    Assign,
    Block,
    Break,
    Const,
    Continue,
    Expr,
    For,
    If,
    Name,
    Param,
    Program,
    Repeat,
    Return,
    Stmt,
    Type,
    While,
    call,
    from_json,
    interpret,
    parse,
    to_json,
    to_text,
    typecheck,
    walk,
)
from gradfuzz.programs.arithmetic.numpy_namespace import NumpyNamespace
from gradfuzz.programs.text.json_form import decode_array, decode_float, encode_array, encode_float

VECTOR, MATRIX = Type("float", (3,)), Type("float", (2, 3))
PARAMS = {"x": FLOAT, "y": FLOAT, "v": VECTOR, "m": MATRIX, "n": INT, "b": BOOL}
VARIABLES = {"x": FLOAT, "acc": FLOAT, "t": FLOAT, "w": VECTOR, "v": VECTOR, "m": MATRIX, "k": INT, "c": BOOL}
UNARY = ("negative", "sin", "cos", "tan", "tanh", "exp", "log", "sqrt", "abs", "sign")
BINARY = ("add", "subtract", "multiply", "divide", "pow", "maximum", "minimum")
COMPARE = ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")

Draw = Callable[[st.SearchStrategy[Any]], Any]
Env = dict[str, Type]


class Grower:
    """Draws well-typed programs. `env` holds what may be read at the place that is being grown.

    A tame program has small constants and no entries that are assigned, so that it can be run as Python,
    where an array that is assigned to is changed under all its names.
    """

    def __init__(self, draw: Draw, *, tame: bool) -> None:
        self.draw = draw
        self.tame = tame
        self.counters = 0

    def pick(self, *options: Any) -> Any:
        return self.draw(st.sampled_from(options))

    def expr(self, t: Type, env: Env, depth: int = 3) -> Expr:
        if depth == 0 or self.draw(st.booleans()):
            leaves = [Name(name) for name, known in env.items() if known == t]
            return self.pick(*leaves) if leaves and self.draw(st.booleans()) else self.constant(t)
        if t.dtype == "bool":
            return self.bool_expr(env, depth - 1)
        return self.int_expr(env, depth - 1) if t.dtype == "int" else self.float_expr(t, env, depth - 1)

    def constant(self, t: Type) -> Expr:
        floats = (
            st.sampled_from([0.0, -0.0, 0.5, -1.5, 2.0, math.inf, math.nan]) if self.tame else st.floats()
        )
        ints = st.integers(-5, 5) if self.tame else st.integers(-(2**63), 2**63 - 1)
        if t.dtype == "bool":
            return Const(self.draw(st.booleans()))
        if t.dtype == "int":
            return Const(self.draw(ints))
        if not t.shape:
            return Const(self.draw(floats | ints))
        shape = tuple(n for n in t.shape if n is not None)
        count = math.prod(shape)
        return ArrayConst(
            "float", shape, tuple(self.draw(st.lists(floats.map(Const), min_size=count, max_size=count)))
        )

    def bool_expr(self, env: Env, depth: int) -> Expr:
        match self.pick("floats", "ints", "logical_and", "logical_or", "logical_not"):
            case "floats":
                return call(self.pick(*COMPARE), self.expr(FLOAT, env, depth), self.expr(FLOAT, env, depth))
            case "ints":
                return call(self.pick(*COMPARE), self.expr(INT, env, depth), self.expr(INT, env, depth))
            case "logical_not":
                return call("logical_not", self.expr(BOOL, env, depth))
            case op:
                return call(op, self.expr(BOOL, env, depth), self.expr(BOOL, env, depth))

    def int_expr(self, env: Env, depth: int) -> Expr:
        match self.pick("add", "subtract", "multiply", "remainder", "negative", "where", "astype"):
            case "negative":
                return call("negative", self.expr(INT, env, depth))
            case "where":
                return call(
                    "where",
                    self.expr(BOOL, env, depth),
                    self.expr(INT, env, depth),
                    self.expr(INT, env, depth),
                )
            case "astype":
                return call("astype", self.expr(BOOL, env, depth), dtype="int")
            case op:
                return call(op, self.expr(INT, env, depth), self.expr(INT, env, depth))

    def float_expr(self, t: Type, env: Env, depth: int) -> Expr:
        def inner(other: Type = t) -> Expr:
            return self.expr(other, env, depth)

        def mixed() -> Expr:
            return call(self.pick(*BINARY), *self.draw(st.permutations([inner(), inner(FLOAT)])))

        anywhere: list[Callable[[], Expr]] = [
            lambda: call(self.pick(*UNARY), inner()),
            lambda: call(self.pick(*BINARY), inner(), inner()),
            mixed,
            lambda: call("integer_pow", inner(), n=self.pick(-3, -2, -1, 0, 1, 2, 3)),
            lambda: call("where", inner(BOOL), inner(), inner()),
            lambda: call("astype", call("broadcast_to", inner(INT), shape=t.shape), dtype="float"),
        ]
        own = {0: self.scalars, 1: self.vectors, 2: self.matrices}[t.rank](inner)
        grown: Expr = self.pick(*anywhere, *own)()
        return grown

    def scalars(self, inner: Callable[..., Expr]) -> list[Callable[[], Expr]]:
        return [
            lambda: call(self.pick("sum", "mean", "prod"), inner(VECTOR), axis=self.pick(None, 0, -1)),
            lambda: call(self.pick("sum", "mean", "prod"), inner(MATRIX), axis=self.pick(None, (0, 1))),
            lambda: call(
                "index", inner(MATRIX), self.pick(Const(0), Const(1)), Const(2), pattern=("at", "at")
            ),
            lambda: call("index", inner(VECTOR), call("remainder", inner(INT), Const(3)), pattern=("at",)),
            lambda: call("matmul", inner(VECTOR), inner(VECTOR)),
        ]

    def vectors(self, inner: Callable[..., Expr]) -> list[Callable[[], Expr]]:
        def turned() -> Expr:
            return call("permute_dims", inner(MATRIX), axes=(1, 0))

        options: list[Callable[[], Expr]] = [
            lambda: call("sum", inner(MATRIX), axis=0),
            lambda: call("reshape", call("prod", turned(), axis=1, keepdims=True), shape=(3,)),
            lambda: call("broadcast_to", inner(FLOAT), shape=(3,)),
            lambda: call("cumulative_sum", inner()),
            lambda: call("flip", inner(), axis=-1),
            lambda: call("stack", inner(FLOAT), inner(FLOAT), inner(FLOAT)),
            lambda: call("matmul", turned(), call("sum", inner(MATRIX), axis=-1)),
            lambda: call("index", inner(MATRIX), Const(1), pattern=("at", ("slice", 0, 3))),
            lambda: call(
                "concat", call("stack", inner(FLOAT)), call("index", inner(), pattern=(("slice", 1, 3),))
            ),
        ]
        updates: list[Callable[[], Expr]] = [
            lambda: call(
                "index_update", inner(), inner(FLOAT), self.pick(Const(0), Const(2)), pattern=("at",)
            ),
            lambda: call("index_update", inner(), call("stack", inner(FLOAT)), pattern=(("slice", 1, 2),)),
        ]
        return options if self.tame else options + updates

    def matrices(self, inner: Callable[..., Expr]) -> list[Callable[[], Expr]]:
        options: list[Callable[[], Expr]] = [
            lambda: call("stack", inner(VECTOR), inner(VECTOR)),
            lambda: call(
                "index", call("concat", inner(), inner()), pattern=(("slice", 1, 3), ("slice", 0, 3))
            ),
            lambda: call("cumulative_sum", inner(), axis=1),
            lambda: call("flip", inner()),
        ]
        if not self.tame:
            options.append(
                lambda: call(
                    "index_update", inner(), inner(VECTOR), Const(1), pattern=("at", ("slice", 0, 3))
                )
            )
        return options

    def block(self, env: Env, depth: int, loop: str | None) -> tuple[Block, Env | None]:
        """Statements and what is known after them; None where they end with break or continue."""
        env = dict(env)
        stmts: list[Stmt] = []
        while len(stmts) < 5 and self.draw(st.integers(0, 2)):
            stmt, known = self.statement(env, depth, loop)
            stmts.append(stmt)
            if known is None:
                return tuple(stmts), None
            env = known
        return tuple(stmts), env

    def statement(self, env: Env, depth: int, loop: str | None) -> tuple[Stmt, Env | None]:
        kinds = ["assign", "assign", *(["while", "repeat", "for", "if"] if depth else [])]
        kinds += ["break"] if loop else []
        kinds += ["continue"] if loop in ("while", "for") else []
        match self.pick(*kinds):
            case "while":
                body, _ = self.block(env, depth - 1, "while")
                return While(self.expr(BOOL, env), body), env
            case "for":
                self.counters += 1
                counter = f"i{self.counters}"
                body, _ = self.block({**env, counter: INT}, depth - 1, "for")
                return For(counter, self.expr(INT, env), body), env
            case "repeat":
                body, known = self.block(env, depth - 1, "repeat")
                if known is None:
                    body, known = (), env
                safe = known if not any(isinstance(s, Break) for s in walk(body)) else env
                return Repeat(body, self.expr(BOOL, known)), safe
            case "if":
                condition = self.expr(BOOL, env)
                (body, then), (orelse, otherwise) = (
                    self.block(env, depth - 1, loop),
                    self.block(env, depth - 1, loop),
                )
                if then is None or otherwise is None:
                    return If(condition, body, orelse), otherwise if then is None else then
                return If(condition, body, orelse), {name: t for name, t in then.items() if name in otherwise}
            case "break":
                return Break(), None
            case "continue":
                return Continue(), None
        target, t = self.pick(*VARIABLES.items())
        return Assign(target, self.expr(t, env)), {**env, target: t}

    def program(self) -> Program:
        env = {name: t for name, t in PARAMS.items() if self.draw(st.booleans())}
        params = tuple(Param(name, t) for name, t in env.items())
        body, known = self.block(env, 3, None)
        assert known is not None, "outside loops every way goes on"
        types = self.draw(
            st.lists(st.sampled_from([FLOAT, VECTOR, MATRIX, INT, BOOL]), min_size=1, max_size=3)
        )
        return Program("f", params, (*body, Return(tuple(self.expr(t, known) for t in types))))


@st.composite
def programs(draw: Draw, *, tame: bool = False) -> Program:
    return Grower(draw, tame=tame).program()


@settings(max_examples=150)
@given(programs())
def test_text_round_trip(program: Program) -> None:
    typed = typecheck(program)
    text = to_text(program)
    again = parse(text)
    assert again == program
    assert to_text(again) == text
    assert typecheck(again).variables == typed.variables
    assert typecheck(again).outputs == typed.outputs


@settings(max_examples=150)
@given(programs())
def test_json_round_trip(program: Program) -> None:
    text = json.dumps(to_json(program), allow_nan=False)
    assert from_json(json.loads(text)) == program


@given(st.floats() | st.floats(width=32))
def test_float_round_trip(value: float) -> None:
    again = decode_float(json.loads(json.dumps(encode_float(value), allow_nan=False)))
    assert math.isnan(again) if math.isnan(value) else again.hex() == value.hex()


@pytest.mark.parametrize(
    "dtype", ["float16", "float32", "float64", "complex64", "complex128", "int8", "int64", "uint64", "bool"]
)
@given(data=st.data())
def test_array_round_trip(dtype: str, data: st.DataObject) -> None:
    array = data.draw(arrays(dtype, array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)))
    again = decode_array(json.loads(json.dumps(encode_array(array), allow_nan=False)))
    assert (again.dtype, again.shape) == (array.dtype, array.shape)
    np.testing.assert_array_equal(again, array)
    for part in (
        ("real", "imag") if array.dtype.kind in "fc" else ()
    ):  # zeros keep their sign, which == does not see
        ours, theirs = getattr(again, part), getattr(array, part)
        np.testing.assert_array_equal(np.signbit(ours[ours == 0]), np.signbit(theirs[theirs == 0]))


# The text is Python -----------------------------------------------------------------------------------------


class NumPyScalars(ast.NodeTransformer):
    """Float constants become np.float64, so that 1.0 / 0.0 is inf as in IEEE arithmetic and no error; `**`
    becomes np.power, whose last bit differs from that of `**` on scalars.
    """

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if not isinstance(node.value, float):
            return node
        return ast.Call(ast.Name("float64", ast.Load()), [node], [])

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if not isinstance(node.op, ast.Pow):
            return node
        return ast.Call(ast.Name("pow", ast.Load()), [node.left, node.right], [])


def axis_of(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, axis=0: f(x, axis)


SCOPE: dict[str, Any] = {
    **{
        name: getattr(np, name)
        for name in ("float64", "inf", "nan", "array", "sum", "mean", "prod", "broadcast_to", "where")
    },
    **{
        name: getattr(np, name)
        for name in ("sin", "cos", "tan", "tanh", "exp", "log", "sqrt", "abs", "sign", "negative")
    },
    **{
        name: getattr(np, name)
        for name in ("maximum", "minimum", "logical_and", "logical_or", "logical_not", "reshape", "stack")
    },
    "pow": lambda x, y: np.power(x, np.float64(y)),
    "where": lambda c, a, b: np.asarray(np.where(c, a, b))[()],
    "permute_dims": np.transpose,
    "concat": np.concatenate,
    "cumulative_sum": axis_of(np.cumsum),
    "flip": axis_of(np.flip),
    "astype": lambda x, dtype: np.asarray(x).astype(dtype),
}
POINT: dict[str, Any] = {
    "x": np.float64(0.75),
    "y": np.float64(-1.25),
    "v": np.array([0.5, -2.0, 3.0]),
    "m": np.array([[1.0, 0.25, -1.0], [2.0, -0.5, 4.0]]),
    "n": 2,
    "b": True,
}


@settings(max_examples=150, suppress_health_check=[HealthCheck.filter_too_much])
@given(programs(tame=True))
def test_the_text_run_as_python_gives_what_the_program_gives(program: Program) -> None:
    inputs = {p.name: POINT[p.name] for p in program.params}
    namespace = NumpyNamespace("float64")
    tree = ast.fix_missing_locations(NumPyScalars().visit(ast.parse(to_text(program))))
    scope = dict(SCOPE)
    with np.errstate(all="ignore"):
        try:
            expected = interpret(program, inputs, namespace, trip_limit=50)
            exec(compile(tree, "<program>", "exec"), scope)
            got = scope["f"](**{k: np.copy(v) if isinstance(v, np.ndarray) else v for k, v in inputs.items()})
        except (ProgramError, ArithmeticError):
            # An int out of range, an endless loop, or ints on which Python is stricter than IEEE arithmetic.
            reject()
    for ours, python in zip(expected, got if len(expected) > 1 else (got,), strict=True):
        np.testing.assert_array_equal(np.asarray(ours, np.float64), np.asarray(python, np.float64))


# Strangers --------------------------------------------------------------------------------------------------


@settings(max_examples=150)
@given(programs(), st.data())
def test_a_damaged_text_is_a_program_or_an_error_of_ours(program: Program, data: st.DataObject) -> None:
    text = to_text(program)
    start = data.draw(st.integers(0, len(text)))
    length = data.draw(st.integers(0, 10))
    damage = data.draw(
        st.text(max_size=5)
        | st.sampled_from(["(", ")", ":", "\n", "    ", "**", "[", ".", "=", "lambda: ", "not ", "-"])
    )
    with contextlib.suppress(ProgramError):
        typecheck(parse(text[:start] + damage + text[start + length :]))


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["x", "add", "at", "NaN"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["op", "args", "float", "params", "axis"]), inner)
    ),
    max_leaves=5,
)


@pytest.mark.slow
@settings(max_examples=150)
@given(programs(), st.data())
def test_damaged_json_is_a_program_or_an_error_of_ours(program: Program, data: st.DataObject) -> None:
    tree: Any = to_json(program)
    places: list[tuple[Any, Any]] = []

    def visit(node: Any) -> None:
        for key in (
            list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else []
        ):
            places.append((node, key))
            visit(node[key])

    visit(tree)
    node, key = data.draw(st.sampled_from(places))
    node[key] = data.draw(json_values)
    with contextlib.suppress(ProgramError):
        typecheck(from_json(tree))
