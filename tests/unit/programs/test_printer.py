"""The printer: the text a person would write, with as few brackets as Python needs."""

from __future__ import annotations

import math

import pytest

from gradfuzz.programs import (
    FLOAT,
    ArrayConst,
    Assign,
    Block,
    Break,
    Call,
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
    Type,
    While,
    call,
    parse,
    to_text,
)
from gradfuzz.programs.language.printer import expression_text, statement_text

X, Y, B = Name("x"), Name("y"), Name("b")
V, M = Name("v"), Name("m")
PARAMS = (
    Param("x", FLOAT),
    Param("y", FLOAT),
    Param("v", Type("float", (3,))),
    Param("m", Type("float", (2, 3))),
    Param("b", Type("bool")),
)
NOT = call("logical_not", B)
SLICE = ("slice", 0, 2)


def program(*body: object, result: Expr = X) -> Program:
    return Program("f", PARAMS, (*body, Return((result,))))  # type: ignore[arg-type]


def lines(*body: object) -> str:
    """The text of statements, without the `def` and the `return`."""
    text = to_text(program(*body))
    assert parse(text) == program(*body)
    return "\n".join(line.removeprefix("    ") for line in text.splitlines()[1:-1])


EXPRESSIONS: list[tuple[Expr, str]] = [
    (Const(1.0), "1.0"),
    (Const(1), "1"),
    (Const(True), "True"),
    (Const(-0.0), "-0.0"),
    (Const(1e-12), "1e-12"),
    (Const(0.1 + 0.2), "0.30000000000000004"),
    (Const(math.inf), "inf"),
    (Const(-math.inf), "-inf"),
    (Const(math.nan), "nan"),
    (call("subtract", X, call("subtract", Y, X)), "x - (y - x)"),
    (call("subtract", call("subtract", X, Y), X), "x - y - x"),
    (call("add", X, call("add", Y, X)), "x + (y + x)"),
    (call("multiply", call("add", X, Y), X), "(x + y) * x"),
    (call("add", call("multiply", X, Y), X), "x * y + x"),
    (call("divide", X, call("multiply", Y, X)), "x / (y * x)"),
    (call("multiply", X, call("divide", Y, X)), "x * (y / x)"),
    (call("matmul", M, call("multiply", V, X)), "m @ (v * x)"),
    (call("multiply", X, Const(-0.5)), "x * -0.5"),
    (call("add", Const(-0.5), X), "-0.5 + x"),
    (call("negative", X), "-x"),
    (call("negative", call("negative", X)), "-(-x)"),
    (call("negative", call("add", X, Y)), "-(x + y)"),
    (call("negative", call("multiply", X, Y)), "-(x * y)"),
    (call("multiply", call("negative", X), Y), "-x * y"),
    (call("negative", Const(0.5)), "negative(0.5)"),
    (call("negative", Const(-0.5)), "negative(-0.5)"),
    (call("integer_pow", X, n=3), "x ** 3"),
    (call("integer_pow", X, n=-1), "x ** -1"),
    (call("integer_pow", call("negative", X), n=2), "(-x) ** 2"),
    (call("negative", call("integer_pow", X, n=2)), "-x ** 2"),
    (call("integer_pow", Const(-2.0), n=2), "(-2.0) ** 2"),
    (call("integer_pow", call("integer_pow", X, n=2), n=3), "(x ** 2) ** 3"),
    (call("pow", X, Y), "x ** y"),
    (call("pow", call("pow", X, Y), X), "(x ** y) ** x"),
    (call("pow", X, call("pow", Y, X)), "x ** y ** x"),
    (call("pow", X, call("negative", Y)), "x ** -y"),
    (call("pow", X, Const(-0.5)), "x ** -0.5"),
    (call("pow", X, Const(2)), "pow(x, 2)"),
    (call("pow", X, call("integer_pow", Y, n=2)), "x ** y ** 2"),
    (call("less", call("add", X, Y), X), "x + y < x"),
    (call("where", call("less", X, Y), X, Y), "where(x < y, x, y)"),
    (call("where", call("logical_and", B, B), X, Y), "where(logical_and(b, b), x, y)"),
    (call("where", NOT, X, Y), "where(logical_not(b), x, y)"),
    (call("sum", V), "sum(v)"),
    (call("sum", M, axis=0, keepdims=True), "sum(m, axis=0, keepdims=True)"),
    (call("sum", M, axis=(0, 1)), "sum(m, axis=(0, 1))"),
    (call("cumulative_sum", V), "cumulative_sum(v)"),
    (call("cumulative_sum", M, axis=1), "cumulative_sum(m, axis=1)"),
    (call("reshape", M, shape=(6,)), "reshape(m, (6,))"),
    (call("broadcast_to", Const(0.0), shape=(3,)), "broadcast_to(0.0, (3,))"),
    (call("permute_dims", M, axes=(1, 0)), "permute_dims(m, (1, 0))"),
    (call("concat", V, V), "concat([v, v])"),
    (call("stack", V, V, axis=1), "stack([v, v], axis=1)"),
    (call("astype", B, dtype="int"), "astype(b, int)"),
    (call("index", V, Const(0), pattern=("at",)), "v[0]"),
    (call("index", M, call("add", Const(0), Const(1)), pattern=("at", SLICE)), "m[0 + 1, 0:2]"),
    (call("index", call("add", V, V), pattern=(SLICE,)), "(v + v)[0:2]"),
    (call("index", X, pattern=()), "x[()]"),
    (call("index_update", M, X, Const(0), Const(1), pattern=("at", "at")), "index_update(m, x, 0, 1)"),
    (
        call("index_update", V, call("index", V, pattern=(SLICE,)), pattern=(SLICE,)),
        "index_update(v, v[0:2], slice(0, 2))",
    ),
    (
        ArrayConst("float", (2, 2), tuple(map(Const, (1.0, -0.0, math.nan, 4.0)))),
        "array([[1.0, -0.0], [nan, 4.0]])",
    ),
    (ArrayConst("float", (), (Const(1.0),)), "array(1.0)"),
    (ArrayConst("int", (1,), (Const(1),)), "array([1])"),
    (ArrayConst("float", (0,), ()), "array([])"),
    (ArrayConst("bool", (0,), ()), "array([], dtype=bool)"),
    (ArrayConst("float", (0, 3), ()), "array([], shape=(0, 3))"),
    (ArrayConst("float", (2, 0), ()), "array([], shape=(2, 0))"),
    (call("index", ArrayConst("float", (1,), (Const(1.0),)), Const(0), pattern=("at",)), "array([1.0])[0]"),
]


@pytest.mark.parametrize(("expr", "text"), EXPRESSIONS, ids=[text for _, text in EXPRESSIONS])
def test_expressions(expr: Expr, text: str) -> None:
    assert expression_text(expr) == text
    whole = program(result=expr)
    assert parse(to_text(whole)) == whole


IF_BREAK = If(B, (Break(),))
STATEMENTS: list[tuple[Block, str]] = [
    ((), ""),
    ((Assign("x", Y),), "x = y"),
    ((Assign("v", call("index_update", V, X, Const(0), pattern=("at",))),), "v[0] = x"),
    (
        (Assign("v", call("index_update", V, call("index", V, pattern=(SLICE,)), pattern=(SLICE,))),),
        "v[0:2] = v[0:2]",
    ),
    ((Assign("x", call("index_update", X, Y, pattern=())),), "x[()] = y"),
    ((Assign("w", call("index_update", V, X, Const(0), pattern=("at",))),), "w = index_update(v, x, 0)"),
    ((While(B, (Assign("x", Y),)),), "while b:\n    x = y"),
    ((While(B, ()),), "while b:\n    pass"),
    (
        (While(call("logical_or", NOT, call("logical_and", B, NOT)), ()),),
        "while not b or b and not b:\n    pass",
    ),
    ((While(call("logical_and", call("logical_or", B, B), B), ()),), "while (b or b) and b:\n    pass"),
    ((While(call("logical_and", B, call("logical_and", B, B)), ()),), "while b and (b and b):\n    pass"),
    ((While(call("logical_not", call("logical_and", B, B)), ()),), "while not (b and b):\n    pass"),
    ((While(call("logical_not", call("less", X, Y)), ()),), "while not x < y:\n    pass"),
    ((While(call("logical_not", Const(True)), ()),), "while logical_not(True):\n    pass"),
    ((While(Const(True), ()),), "while True:\n    pass"),
    ((While(Const(True), (IF_BREAK,)),), "while not False:\n    if b:\n        break"),
    ((While(Const(True), (IF_BREAK, Assign("x", Y))),), "while True:\n    if b:\n        break\n    x = y"),
    (
        (While(Const(True), (If(B, (Continue(),)), IF_BREAK)),),
        "while True:\n    if b:\n        continue\n    if b:\n        break",
    ),
    ((Repeat((), B),), "while True:\n    if not b:\n        break"),
    (
        (Repeat((Assign("x", Y),), call("less", X, Y)),),
        "while True:\n    x = y\n    if not x < y:\n        break",
    ),
    ((Repeat((), call("logical_and", B, B)),), "while True:\n    if not (b and b):\n        break"),
    ((Repeat((), NOT),), "while True:\n    if b:\n        break"),
    ((Repeat((), call("logical_not", NOT)),), "while True:\n    if not not not b:\n        break"),
    ((Repeat((), Const(True)),), "while True:\n    if not True:\n        break"),
    (
        (Repeat((), call("logical_not", Const(True))),),
        "while True:\n    if not logical_not(True):\n        break",
    ),
    (
        (Repeat((Repeat((), B),), B),),
        "while True:\n    while True:\n        if not b:\n            break\n    if not b:\n        break",
    ),
    (
        (For("i", Const(3), (If(B, (Break(),), (Continue(),)),)),),
        "for i in range(3):\n    if b:\n        break\n    else:\n        continue",
    ),
    ((If(B, (), (Assign("x", Y),)),), "if b:\n    pass\nelse:\n    x = y"),
    ((If(B, (), (If(B, ()),)),), "if b:\n    pass\nelif b:\n    pass"),
    ((If(B, (), (If(B, ()), Assign("x", Y))),), "if b:\n    pass\nelse:\n    if b:\n        pass\n    x = y"),
]


@pytest.mark.parametrize(("body", "text"), STATEMENTS, ids=range(len(STATEMENTS)))
def test_statements(body: Block, text: str) -> None:
    assert lines(*body) == text


def test_a_whole_program() -> None:
    params = (Param("x", FLOAT), Param("v", Type("float", (2, 3))), Param("n", Type("int")))
    text = 'def g(x, v: "float[2, 3]", n: "int"):\n    return x, v\n'
    assert to_text(Program("g", params, (Return((X, V)),))) == text
    assert str(parse(text)) == text


def test_the_first_line_of_a_statement() -> None:
    assert statement_text(While(B, (Assign("x", Y),))) == "while b:"
    assert statement_text(Assign("x", Y)) == "x = y"


ILL_TYPED: list[tuple[Expr, str]] = [
    (Call("add", (X,)), "add(x)"),
    (Call("add", (X, Y), (("axis", 0),)), "add(x, y, axis=0)"),
    (Call("index", (V, X), (("pattern", ()),)), "index(v, x, pattern=())"),
    (Call("index", (V,), (("pattern", (7,)),)), "index(v, pattern=(7,))"),
    (Call("index", ()), "index()"),
    (Call("index_update", (V,)), "index_update(v)"),
    (Call("sine", (X,), (("n", 2),)), "sine(x, n=2)"),
    (Call("integer_pow", (X,)), "integer_pow(x)"),
    (Call("reshape", (X,), (("shape", None),)), "reshape(x, None)"),
]


@pytest.mark.parametrize(("expr", "text"), ILL_TYPED, ids=[text for _, text in ILL_TYPED])
def test_what_does_not_type_check_is_printed_all_the_same(expr: Expr, text: str) -> None:
    assert expression_text(expr) == text
