"""The parser: what each notation means, and the line and reason for everything outside the language."""

from __future__ import annotations

import ast
import math
from textwrap import dedent

import pytest

from gradfuzz.errors import ProgramError, ProgramSyntaxError, ProgramTypeError
from gradfuzz.programs import (
    BOOL,
    FLOAT,
    INT,
    ArrayConst,
    Assign,
    Break,
    Call,
    Const,
    Continue,
    Expr,
    For,
    If,
    Name,
    Param,
    Repeat,
    Type,
    While,
    call,
    loop_program,
    parse,
    parse_type,
    to_text,
    typecheck,
)
from gradfuzz.programs.language.typecheck import MAX_NESTING
from gradfuzz.programs.text.reading import MAX_CHARACTERS

X, Y, N = Name("x"), Name("y"), Name("n")
V, M = Name("v"), Name("m")
SIGNATURE = 'def f(x, y, v: "float[3]", m: "float[2, 3]", n: "int", b: "bool"):\n'


def expression(text: str) -> Expr:
    return parse(f"{SIGNATURE}    return {text}").result.values[0]


def at(array: Expr, *indices: Expr, pattern: tuple[object, ...]) -> Call:
    return Call("index", (array, *indices), (("pattern", pattern),))  # type: ignore[arg-type]


def whole(size: int) -> tuple[str, int, int]:
    return ("slice", 0, size)


EXPRESSIONS = {
    # constants
    "0.5": Const(0.5),
    "3": Const(3),
    "-3": Const(-3),
    "-9223372036854775808": Const(-(2**63)),
    "-0.5": Const(-0.5),
    "-0.0": Const(-0.0),
    "+0.5": Const(0.5),
    "1e999": Const(math.inf),
    "inf": Const(math.inf),
    "-inf": Const(-math.inf),
    "nan": Const(math.nan),
    "pi": Const(math.pi),
    "True": Const(True),
    "not True": Const(False),
    "- -0.5": call("negative", Const(-0.5)),
    "negative(0.5)": call("negative", Const(0.5)),
    # operators
    "x + y": call("add", X, Y),
    "x - y": call("subtract", X, Y),
    "x * y": call("multiply", X, Y),
    "x / y": call("divide", X, Y),
    "n % 2": call("remainder", N, Const(2)),
    "v @ v": call("matmul", V, V),
    "x - (y - x)": call("subtract", X, call("subtract", Y, X)),
    "x - y - x": call("subtract", call("subtract", X, Y), X),
    "-x": call("negative", X),
    "-x ** 2": call("negative", call("integer_pow", X, n=2)),
    "(-x) ** 2": call("integer_pow", call("negative", X), n=2),
    "-2.0 ** 2": call("negative", call("integer_pow", Const(2.0), n=2)),
    "x ** -1": call("integer_pow", X, n=-1),
    "x ** 2.0": call("pow", X, Const(2.0)),
    "x ** -0.5": call("pow", X, Const(-0.5)),
    "x ** y ** x": call("pow", X, call("pow", Y, X)),
    "x ** n": call("pow", X, N),
    "pow(x, 2)": call("pow", X, Const(2)),
    "power(x, y)": call("pow", X, Y),
    "integer_pow(x, 3)": call("integer_pow", X, n=3),
    # comparisons and logic
    "x < y": call("less", X, Y),
    "x <= y": call("less_equal", X, Y),
    "x > y": call("greater", X, Y),
    "x >= y": call("greater_equal", X, Y),
    "x == y": call("equal", X, Y),
    "x != y": call("not_equal", X, Y),
    "x < y < 1": call("logical_and", call("less", X, Y), call("less", Y, Const(1))),
    "b and b and b": call("logical_and", call("logical_and", Name("b"), Name("b")), Name("b")),
    "b or b": call("logical_or", Name("b"), Name("b")),
    "not b": call("logical_not", Name("b")),
    "not x < y": call("logical_not", call("less", X, Y)),
    # functions
    "sin(x)": call("sin", X),
    "abs(x)": call("abs", X),
    "absolute(x)": call("abs", X),
    "max(x, y)": call("maximum", X, Y),
    "min(x, y)": call("minimum", X, Y),
    "where(x > 0, x, y)": call("where", call("greater", X, Const(0)), X, Y),
    "float(n)": call("astype", N, dtype="float"),
    "astype(n, float)": call("astype", N, dtype="float"),
    "astype(n, dtype=float)": call("astype", N, dtype="float"),
    "int(b)": call("astype", Name("b"), dtype="int"),
    "bool(n)": call("astype", N, dtype="bool"),
    # reductions and shapes
    "sum(v)": call("sum", V),
    "sum(m, 0)": call("sum", M, axis=0),
    "sum(m, axis=(0, 1), keepdims=True)": call("sum", M, axis=(0, 1), keepdims=True),
    "mean(m, axis=-1)": call("mean", M, axis=-1),
    "prod(m, axis=None)": call("prod", M),
    "cumsum(m, axis=1)": call("cumulative_sum", M, axis=1),
    "cumulative_sum(v)": call("cumulative_sum", V, axis=0),
    "reshape(m, (3, 2))": call("reshape", M, shape=(3, 2)),
    "reshape(m, shape=[6])": call("reshape", M, shape=(6,)),
    "broadcast_to(v, (2, 3))": call("broadcast_to", V, shape=(2, 3)),
    "permute_dims(m, (1, 0))": call("permute_dims", M, axes=(1, 0)),
    "transpose(m, axes=(0, 1))": call("permute_dims", M, axes=(0, 1)),
    "transpose(m)": call("permute_dims", M, axes=(1, 0)),
    "transpose(stack([m, m]))": call("permute_dims", call("stack", M, M), axes=(2, 1, 0)),
    "flip(v)": call("flip", V, axis=0),
    "concat([v, v])": call("concat", V, V, axis=0),
    "concatenate((v, v), axis=0)": call("concat", V, V, axis=0),
    "concat(v, v)": call("concat", V, V, axis=0),
    "stack([v, v], 1)": call("stack", V, V, axis=1),
    "stack([x])": call("stack", X),
    "zeros((3,))": call("broadcast_to", Const(0.0), shape=(3,)),
    "ones(3)": call("broadcast_to", Const(1.0), shape=(3,)),
    "full((2, 3), x)": call("broadcast_to", X, shape=(2, 3)),
    "full((2,), value=0.5)": call("broadcast_to", Const(0.5), shape=(2,)),
    # array constants
    "array([1.0, -2.0])": ArrayConst("float", (2,), (Const(1.0), Const(-2.0))),
    "array([1, 2.5])": ArrayConst("float", (2,), (Const(1.0), Const(2.5))),
    "array([[1], [2]])": ArrayConst("int", (2, 1), (Const(1), Const(2))),
    "array([1, 2], dtype=float)": ArrayConst("float", (2,), (Const(1.0), Const(2.0))),
    "array([True, False])": ArrayConst("bool", (2,), (Const(True), Const(False))),
    "array(0.5)": ArrayConst("float", (), (Const(0.5),)),
    "array([nan, -inf])": ArrayConst("float", (2,), (Const(math.nan), Const(-math.inf))),
    "array([])": ArrayConst("float", (0,), ()),
    "array([[], []])": ArrayConst("float", (2, 0), ()),
    "array([], shape=(0, 3), dtype=int)": ArrayConst("int", (0, 3), ()),
    # subscripts, completed from the shape
    "v[0]": at(V, Const(0), pattern=("at",)),
    "v[-1]": at(V, Const(2), pattern=("at",)),
    "v[n]": at(V, N, pattern=("at",)),
    "v[n - 1]": at(V, call("subtract", N, Const(1)), pattern=("at",)),
    "v[-n]": at(V, call("negative", N), pattern=("at",)),
    "v[:]": at(V, pattern=(whole(3),)),
    "v[1:]": at(V, pattern=(("slice", 1, 3),)),
    "v[:-1]": at(V, pattern=(("slice", 0, 2),)),
    "v[1:1]": at(V, pattern=(("slice", 1, 1),)),
    "v[::1]": at(V, pattern=(whole(3),)),
    "m[0]": at(M, Const(0), pattern=("at", whole(3))),
    "m[1, -1]": at(M, Const(1), Const(2), pattern=("at", "at")),
    "m[0:1, n]": at(M, N, pattern=(("slice", 0, 1), "at")),
    "m[:, 1:3]": at(M, pattern=(whole(2), ("slice", 1, 3))),
    "m[0][1]": at(at(M, Const(0), pattern=("at", whole(3))), Const(1), pattern=("at",)),
    "(v + v)[2]": at(call("add", V, V), Const(2), pattern=("at",)),
    "index(m, n, slice(0, 2))": at(M, N, pattern=("at", ("slice", 0, 2))),
    "x[()]": at(X, pattern=()),
    "index_update(v, x, 0)": call("index_update", V, X, Const(0), pattern=("at",)),
    "index_update(m, v, n, slice(0, 3))": call("index_update", M, V, N, pattern=("at", whole(3))),
}


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_expressions(text: str) -> None:
    assert expression(text) == EXPRESSIONS[text]


BAD_EXPRESSIONS = {
    "x ^ 2": r"`\^` is not power; use \*\*",
    "x & y": "use `and` or logical_and",
    "x | y": "use `or` or logical_or",
    "~x": "use `not` or logical_not",
    "x // 2": "`//` is not in the language; use /",
    "x << 1": "`<<` is not in the language",
    "x is y": "`is` is not in the language; use ==",
    "x in v": "`in` is not in the language",
    "x if b else y": r"use where\(c, a, b\)",
    "x.T": "attributes and methods",
    "v.sum()": r"write op\(x\) instead of x.op\(\)",
    "lambda: x": "lambda is not in the language",
    "(lambda: x)()": "lambda is not in the language",
    "[x for x in v]": "use a for loop",
    "sum(t for t in v)": "use a for loop",
    "{t for t in v}": "use a for loop",
    "{t: t for t in v}": "use a for loop",
    "(t := x)": "`:=` is not in the language",
    "'x'": "strings are not in the language",
    "b'x'": "strings are not in the language",
    "f'{x}'": "strings are not in the language",
    "None": "None is not in the language",
    "...": "Ellipsis is not in the language",
    "[x, y]": "a list is no value",
    "sin((x, y))": "a tuple is no value",
    "{}": "`{}` is not in the language",
    "9223372036854775808": "does not fit 64 bits",
    "-9223372036854775809": "does not fit 64 bits",
    "x ** 9223372036854775808": "does not fit 64 bits",
    "0x" + "f" * 20_000: "does not fit 64 bits",
    "9" * 5_000: "not Python: .*4300 digits",
    "sine(x)": "unknown function sine; did you mean sin",
    "exec(x)": "unknown function exec",
    "__import__(x)": "unknown function __import__",
    "x()": "unknown function x",
    "x()()": "cannot be called",
    "sin(*v)": r"`\*` arguments are not in the language",
    "sin(**v)": r"`\*\*` arguments are not in the language",
    "float(*v)": r"`\*` arguments are not in the language",
    "sin(x, axis=0)": "sin has no parameter 'axis'; it has none",
    "sum(v, dim=0)": "sum has no parameter 'dim'; it has axis, keepdims",
    "sum(v, axis=n)": "`n` is not static",
    "sum(v, 0, axis=0)": "given axis twice",
    "reshape(m)": "reshape needs its parameter shape",
    "reshape(m, (n, 2))": "`n` is not static",
    "astype(n)": "astype needs its parameter dtype",
    "float(n, n)": r"it is written float\(x\)",
    "zeros()": r"it is written zeros\(shape\)",
    "full((3,))": r"it is written full\(shape, value\)",
    "array([x])": "holds constants, not `x`",
    "array([[1.0], [1.0, 2.0]])": "different lengths",
    "array([1.0, [1.0]])": "different lengths",
    "array([True, 1.0])": "bools and numbers",
    "array([1.0], dtype=int)": "float entries with dtype int",
    "array([1.0], shape=(1,))": "only an empty array is given its shape",
    "array([], shape=(2, 3))": "only an empty array is given its shape",
    "slice(0, 1)": "stands only in index_update",
    "range(n)": "stands only in `for i in range",
    "sin": "sin is not a value here; call it",
    "float": "float is not a value here",
    "v[::2]": "a slice has no step",
    "v[n:]": "the bounds of `n:` are not int literals",
    "v[1.0:]": "the bounds of `1.0:` are not int literals",
    "v[None]": "`None` is no index",
    "v[...]": "`...` is no index",
    "0:1": "not Python",
    "index_update(v)": r"write index_update\(array, value, i",
}
BAD_SUBSCRIPTS = {
    "x[0]": "1 indices on float, which has 0 axes",
    "v[0, 0]": r"2 indices on float\[3\], which has 1 axes",
    "v[-4]": r"index -4 is outside axis 0 of float\[3\]",
    "v[0:4]": r"the slice `0:4` is outside axis 0 of float\[3\]",
    "m[:, -4:]": "the slice `-4:` is outside axis 1",
    "v[2:1]": "the slice `2:1` is outside",
    "(v @ m)[0]": "matmul of",
    "z[0]": "z is not assigned",
    "transpose(z)": "z is not assigned",
}


@pytest.mark.parametrize("text", BAD_EXPRESSIONS)
def test_expressions_outside_the_language(text: str) -> None:
    with pytest.raises(ProgramSyntaxError, match=BAD_EXPRESSIONS[text]) as info:
        expression(text)
    assert info.value.line == 2


@pytest.mark.parametrize("text", BAD_SUBSCRIPTS)
def test_subscripts_that_do_not_fit(text: str) -> None:
    with pytest.raises(ProgramTypeError, match=BAD_SUBSCRIPTS[text]) as info:
        expression(text)
    assert info.value.line == 2


# Definitions ------------------------------------------------------------------------------------------------


def test_parameters_and_types() -> None:
    program = parse(
        'def g(x, y: float, a: "float", v: float[3], m: "float[2, 3]", n: int, k: "int[2]", b: bool): return'
        " x, b"
    )
    types = [FLOAT, FLOAT, FLOAT, Type("float", (3,)), Type("float", (2, 3)), INT, Type("int", (2,)), BOOL]
    assert program.params == tuple(Param(n, t) for n, t in zip("xyavmnkb", types, strict=True))
    assert program.name == "g"
    assert program.result.values == (X, Name("b"))


def test_a_docstring_comments_and_indentation_do_not_matter() -> None:
    text = '''
        """A file."""
        def f(x):  # the program
            """Its docstring."""
            # a comment
            y = x
            pass
            return y
    '''
    assert parse(text) == parse("def f(x):\n y = x\n return y")


@pytest.mark.parametrize("text", ["float", "float[3]", "float[2, 3]", "int", "bool[0]"])
def test_types_round_trip(text: str) -> None:
    assert str(parse_type(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "double",
        "float[n]",
        "float[-1]",
        "float[3",
        "float[]",
        "1",
        "'float'; 2",
        "float[3][2]",
        "",
        "'''\nx'''",
    ],
)
def test_bad_types(text: str) -> None:
    with pytest.raises(ProgramSyntaxError):
        parse_type(text)


def test_lines_are_those_of_the_text() -> None:
    program = parse(
        "\ndef f(x):\n\n    y = (x +\n         sin(x))\n    while x > 0:\n        x = x - 1\n    return y"
    )
    assign, loop, result = program.body
    assert isinstance(assign, Assign)
    assert isinstance(assign.value, Call)
    assert isinstance(loop, While)
    assert (assign.line, assign.value.args[1].line, loop.line, loop.body[0].line, result.line) == (
        4,
        5,
        6,
        7,
        8,
    )


BAD_DEFINITIONS = {
    "": (0, "0 programs in one text"),
    "x = 1": (1, "`x = 1` outside the program"),
    "import os\ndef f(x): return x": (1, "`import os` outside the program"),
    "def f(x): return x\nf(1)": (2, r"`f\(1\)` outside the program"),
    "def f(x): return x\ndef g(x): return x": (2, "2 programs in one text"),
    "async def f(x): return x": (1, "outside the program"),
    "class f: pass": (1, "outside the program"),
    "@g\ndef f(x): return x": (2, "decorators"),
    "def f(x=1): return x": (1, "no defaults"),
    "def f(*x): return x": (1, r"no \*"),
    "def f(**x): return x": (1, r"no \*"),
    "def f(*, x): return x": (1, r"no \*"),
    "def f(x, /): return x": (1, r"no \*, no /"),
    "def f(x) -> float: return x": (1, "result has no annotation"),
    "def sin(x): return x": (1, "sin cannot be the name of a program"),
    "def f(max): return max": (1, "max cannot be the name of a parameter"),
    "def f(__x): return __x": (1, "no leading __"),
    "def f(α): return α": (1, "letters a-z"),
    "def f(x: double): return x": (1, "`double` is no type"),
    "def f(x: 'float[3'): return x": (1, "not Python"),
    "def f(x: 'float[-1]'): return x": (1, r"`float\[-1\]` is no type"),
    "def f(x: \"'float'\"): return x": (1, "is no type"),
    "def f(x): pass": (1, "the last statement of a program is return"),
    "def f(x):\n  'only a docstring'": (1, "the last statement of a program is return"),
    "def f(x):\n  y = x": (2, "the last statement of a program is return"),
    "def f(x):\n  return": (2, "return without a value"),
    "def f(x):\n  return ()": (2, "return without a value"),
    "def f(x):\n  return x +": (2, "not Python: invalid syntax"),
    "def f(x):\nreturn x": (2, "not Python: expected an indented block"),
    "def f(x):\n  return x\0": (0, "not Python"),
    "\ud800": (0, "not Python"),
    "def f(x): return 1 is 1": (1, "`is` is not in the language"),
    "def f(x): return '\\d'": (1, "strings"),
}


@pytest.mark.parametrize("text", BAD_DEFINITIONS)
def test_definitions_outside_the_language(text: str) -> None:
    line, reason = BAD_DEFINITIONS[text]
    with pytest.raises(ProgramSyntaxError, match=reason) as info:
        parse(text)
    assert info.value.line == line


# Statements -------------------------------------------------------------------------------------------------


def body(text: str) -> tuple[object, ...]:
    return parse(
        SIGNATURE + "".join(f"    {line}\n" for line in dedent(text).strip().splitlines()) + "    return x"
    ).body[:-1]


STATEMENTS = {
    "y = x": Assign("y", X),
    "y += x": Assign("y", call("add", Y, X)),
    "y -= x - y": Assign("y", call("subtract", Y, call("subtract", X, Y))),
    "y **= 2": Assign("y", call("integer_pow", Y, n=2)),
    "y **= x": Assign("y", call("pow", Y, X)),
    "m @= v": Assign("m", call("matmul", M, V)),
    "v[0] = x": Assign("v", call("index_update", V, X, Const(0), pattern=("at",))),
    "v[-1] = x": Assign("v", call("index_update", V, X, Const(2), pattern=("at",))),
    "m[n] = v": Assign("m", call("index_update", M, V, N, pattern=("at", whole(3)))),
    "v[1:] = y": Assign("v", call("index_update", V, Y, pattern=(("slice", 1, 3),))),
    "v[n] += x": Assign(
        "v", call("index_update", V, call("add", at(V, N, pattern=("at",)), X), N, pattern=("at",))
    ),
    "while x > 1:\n  x = y": While(call("greater", X, Const(1)), (Assign("x", Y),)),
    "while x > 1: pass": While(call("greater", X, Const(1)), ()),
    "while True:\n  x = y\n  if not x > 1: break": Repeat((Assign("x", Y),), call("greater", X, Const(1))),
    "while True:\n  x = y\n  if not (not b): break": Repeat(
        (Assign("x", Y),), call("logical_not", Name("b"))
    ),
    "while True:\n  x = y\n  if b: break": Repeat((Assign("x", Y),), call("logical_not", Name("b"))),
    "while True:\n  if not b: break": Repeat((), Name("b")),
    "while True:\n  x = y\n  if not b:\n    break\n  else:\n    x = y": While(
        Const(True), (Assign("x", Y), If(call("logical_not", Name("b")), (Break(),), (Assign("x", Y),)))
    ),
    "while True:\n  if x > 1: continue\n  if not b: break": While(
        Const(True),
        (If(call("greater", X, Const(1)), (Continue(),)), If(call("logical_not", Name("b")), (Break(),))),
    ),
    "while True:\n  while b: continue\n  if not b: break": Repeat(
        (While(Name("b"), (Continue(),)),), Name("b")
    ),
    "while not False:\n  if not b: break": While(
        Const(True), (If(call("logical_not", Name("b")), (Break(),)),)
    ),
    "while True:\n  x = y": While(Const(True), (Assign("x", Y),)),
    "for i in range(3):\n  x = x * i": For("i", Const(3), (Assign("x", call("multiply", X, Name("i"))),)),
    "for i in range(n): pass": For("i", N, ()),
    "for i in range(3):\n  x = v[i]": For("i", Const(3), (Assign("x", at(V, Name("i"), pattern=("at",))),)),
    "if b:\n  x = y": If(Name("b"), (Assign("x", Y),)),
    "if b:\n  x = y\nelif x > 1:\n  pass\nelse:\n  y = x": If(
        Name("b"), (Assign("x", Y),), (If(call("greater", X, Const(1)), (), (Assign("y", X),)),)
    ),
}


@pytest.mark.parametrize("text", STATEMENTS)
def test_statements(text: str) -> None:
    assert body(text) == (STATEMENTS[text],)


def test_a_shape_is_known_from_the_first_assignment() -> None:
    _, second = body("w = stack([v, v])\nw[1] = w[0]")
    assert isinstance(second, Assign)
    assert second.value == call(
        "index_update",
        Name("w"),
        at(Name("w"), Const(0), pattern=("at", whole(3))),
        Const(1),
        pattern=("at", whole(3)),
    )


def test_a_shape_that_is_not_known_is_explained_by_its_assignment() -> None:
    with pytest.raises(ProgramTypeError, match=r"line 2: add cannot broadcast float\[3\] with float\[2\]"):
        body("w = v + array([1.0, 2.0])\nx = w[0]")
    with pytest.raises(ProgramTypeError, match="line 2: add cannot broadcast"):
        body("w = v + array([1.0, 2.0])\nx = sum(w * 2)\nx = (w + 1)[0]")


BAD_STATEMENTS = {
    "x": "`x` has no effect",
    "sin(x)": r"`sin\(x\)` has no effect",
    "x = y = 1.0": "assign one name at a time",
    "x, y = y, x": "with a temporary to swap",
    "x: float = 1.0": "annotated assignment",
    "x.a = 1.0": "`x.a` cannot be assigned",
    "m[0][1] = x": "write all indices in one bracket",
    "m[0][1] += x": "write all indices in one bracket",
    "x, y += 1": "not Python",
    "sin = x": "sin cannot be the name of a variable",
    "max += x": "max cannot be the name of a variable",
    "x ^= 2": r"`\^` is not power",
    "x //= 2": "`//` is not in the language",
    "while b:\n  x = y\nelse:\n  x = y": "a loop has no else",
    "for i in range(3):\n  x = y\nelse:\n  x = y": "a loop has no else",
    "for i in v:\n  x = i": "is written `for i in range",
    "for i in range(1, n): pass": "range takes one argument here",
    "for i in range(): pass": "range takes one argument here",
    "for i in range(n=1): pass": "range takes one argument here",
    "for i, j in range(3): pass": "is written `for i in range",
    "for sum in range(3): pass": "sum cannot be the name of a loop counter",
    "import os": "import is not in the language",
    "from os import path": "import is not in the language",
    "def g(): return 1": "a def inside the program",
    "class g: pass": "classes",
    "with x: pass": "with is not in the language",
    "try:\n  x = y\nfinally:\n  x = y": "try is not in the language",
    "raise x": "raise is not in the language",
    "assert b": "assert is not in the language",
    "del x": "del is not in the language",
    "global x": "global is not in the language",
    "match x:\n  case 1: pass": "use if/elif/else",
    "return x": "stands nowhere else",
    "if b:\n  return x": "stands nowhere else",
    "x = y\n'a string'": "has no effect",
}


@pytest.mark.parametrize("text", BAD_STATEMENTS)
def test_statements_outside_the_language(text: str) -> None:
    with pytest.raises(ProgramSyntaxError, match=BAD_STATEMENTS[text]) as info:
        body(text)
    assert info.value.line in (2, 3)


# Strangers --------------------------------------------------------------------------------------------------

BOMBS = {
    "brackets": "(" * 5_000 + "x" + ")" * 5_000,
    "calls": "sin(" * 150 + "x" + ")" * 150,
    "minus": "-" * 50_000 + "x",
    "not": "not " * 20_000 + "x",
    "sum": "+".join(["x"] * 30_000),
    "and": " and ".join(["b"] * 15_000),
    "chain": " < ".join(["x"] * 20_000),
    "power": "x**" * 20_000 + "x",
    "attributes": "x" + ".a" * 40_000,
    "called": "x" + "()" * 40_000,
    "subscripts": "x" + "[0]" * 30_000,
    "lambda": "lambda: " * 12_000 + "x",
    "conditional": "x if b else " * 8_000 + "x",
    "array": "array(" + "[" * 150 + "]" * 150 + ")",
    "shape": "zeros(" + "(" * 150 + "3" + ",)" * 150 + ")",
}


@pytest.mark.parametrize("name", BOMBS)
def test_deep_nesting_is_an_error_and_no_crash(name: str) -> None:
    with pytest.raises(ProgramSyntaxError, match=r"nested|too many|not static"):
        expression(BOMBS[name])


def test_deep_blocks_are_an_error_and_no_crash() -> None:
    lines = [f"{'  ' * k}if b:" for k in range(MAX_NESTING + 1)]
    with pytest.raises(ProgramSyntaxError, match="nested deeper"):
        body("\n".join([*lines, f"{'  ' * len(lines)}x = y"]))
    with pytest.raises(ProgramSyntaxError, match="nested deeper"):
        body("if b: pass\n" + "elif b: pass\n" * 3_000)


def test_nesting_up_to_the_limit_is_read() -> None:
    depth = MAX_NESTING - 2  # the return statement and the x
    program = parse(f"def f(x):\n return {'sin(' * depth}x{')' * depth}")
    assert parse(to_text(program)) == program
    with pytest.raises(ProgramSyntaxError, match=f"nested deeper than {MAX_NESTING} levels; use temporaries"):
        parse(f"def f(x):\n return {'sin(' * (depth + 1)}x{')' * (depth + 1)}")


def test_a_long_text_is_refused() -> None:
    with pytest.raises(ProgramSyntaxError, match="the limit is 100,000"):
        parse("#" * (MAX_CHARACTERS + 1))


def test_nothing_is_executed(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*args: object) -> None:
        raise AssertionError("the parser executed something")

    monkeypatch.setattr("builtins.eval", forbidden)
    monkeypatch.setattr("builtins.exec", forbidden)
    for text in (
        "def f(x: __import__('os').system('true')): return x",
        "def f(x): return __import__('os').system('true')",
    ):
        with pytest.raises(ProgramSyntaxError):
            parse(text)


def test_every_python_node_is_in_the_language_or_has_a_reason() -> None:
    """No kind of statement or expression can reach the end of the parser without a message of its own."""
    samples = {
        ast.Await: "await x",
        ast.Yield: "yield x",
        ast.YieldFrom: "yield from x",
        ast.Dict: "{x: x}",
        ast.Set: "{x}",
        ast.Starred: "[*x]",
    }
    for kind, text in samples.items():
        assert any(isinstance(n, kind) for n in ast.walk(ast.parse(text)))
        with pytest.raises(ProgramSyntaxError) as info:
            expression(f"sin({text})")
        assert info.value.line == 2


# Loop bodies ------------------------------------------------------------------------------------------------


def program_text(text: str) -> str:
    return dedent(text).strip() + "\n"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            {"body": "acc*x"},
            """
            def f(x):
                acc = 1.0
                for i in range(3):
                    acc = acc * x
                return acc
            """,
        ),
        (
            {"body": "t = acc*x; acc = sin(t) + y", "loop": "while", "trips": 5, "name": "g"},
            """
            def g(x, y):
                acc = 1.0
                i = 0
                while i < 5:
                    t = acc * x
                    acc = sin(t) + y
                    i = i + 1
                return acc
            """,
        ),
        (
            {"body": "t = acc*x\nsin(t)*i", "loop": "repeat", "init": {"acc": "x + 1"}},
            """
            def f(x):
                acc = x + 1
                i = 0
                while True:
                    t = acc * x
                    acc = sin(t) * i
                    i = i + 1
                    if not i < 3:
                        break
                return acc
            """,
        ),
        (
            {"body": "acc*x", "trips": "n"},
            """
            def f(x, n: "int"):
                acc = 1.0
                for i in range(n):
                    acc = acc * x
                return acc
            """,
        ),
        (
            {"body": "acc*x", "loop": "while", "condition": "acc < limit", "init": {"acc": 2}},
            """
            def f(x, limit):
                acc = 2.0
                while acc < limit:
                    acc = acc * x
                return acc
            """,
        ),
        (
            {"body": "acc*x", "loop": "repeat", "condition": "i < 4 and acc < 10", "init": {"acc": "2"}},
            """
            def f(x):
                acc = 2.0
                i = 0
                while True:
                    acc = acc * x
                    i = i + 1
                    if not (i < 4 and acc < 10):
                        break
                return acc
            """,
        ),
        (
            {"body": "acc*v", "params": {"v": Type("float", (3,))}},
            """
            def f(v: "float[3]"):
                acc = broadcast_to(1.0, (3,))
                for i in range(3):
                    acc = acc * v
                return acc
            """,
        ),
        (
            {
                "body": "s = s + m[0]; acc*s",
                "init": {"s": "x"},
                "params": {"m": Type("float", (2, 3)), "z": FLOAT},
            },
            """
            def f(m: "float[2, 3]", x, z):
                acc = broadcast_to(1.0, (3,))
                s = broadcast_to(x, (3,))
                for i in range(3):
                    s = s + m[0, 0:3]
                    acc = acc * s
                return acc
            """,
        ),
        (
            {"body": "acc = acc * x; x = x * 0.5"},
            """
            def f(x):
                acc = 1.0
                for i in range(3):
                    acc = acc * x
                    x = x * 0.5
                return acc
            """,
        ),
        (
            {"body": "acc*v[i]", "params": {"v": Type("float", (3,)), "acc": FLOAT}},
            """
            def f(acc, v: "float[3]"):
                for i in range(3):
                    acc = acc * v[i]
                return acc
            """,
        ),
        (
            {"body": "if acc > 2:\n    continue\nfor j in range(2):\n    acc = acc * j\n", "trips": 0},
            """
            def f():
                acc = 1.0
                for i in range(0):
                    if acc > 2:
                        continue
                    for j in range(2):
                        acc = acc * j
                return acc
            """,
        ),
        (
            {"body": "acc[i] = acc[i] * x", "init": {"acc": "ones((3,))"}},
            """
            def f(x):
                acc = broadcast_to(1.0, (3,))
                for i in range(3):
                    acc[i] = acc[i] * x
                return acc
            """,
        ),
    ],
)
def test_loop_bodies(arguments: dict[str, object], text: str) -> None:
    program = loop_program(**arguments)  # type: ignore[arg-type]
    assert str(program) == program_text(text)
    assert parse(str(program)) == program
    assert typecheck(program).outputs


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"body": ""}, "the loop body is empty"),
        ({"body": "t = x"}, "line 1: the body never assigns acc"),
        ({"body": "acc*"}, "line 1: not Python"),
        ({"body": "acc^2"}, r"line 1: `\^` is not power"),
        ({"body": "t = 1.0\nacc*foo(x)"}, "line 2: unknown function foo"),
        ({"body": "acc; acc*x"}, "line 1: `acc` has no effect"),
        ({"body": "return acc"}, "never assigns acc"),
        ({"body": "acc = 1; return acc"}, "stands nowhere else"),
        ({"body": "acc*x", "trips": -1}, "-1 trips; give a number >= 0"),
        ({"body": "acc*x", "trips": None}, "None trips"),
        ({"body": "acc*x", "trips": 0, "loop": "repeat"}, "runs at least once"),
        ({"body": "acc*x", "trips": "acc"}, "acc cannot be the trip count"),
        ({"body": "acc*x", "trips": "n m"}, "'n m' cannot be the name"),
        ({"body": "acc*n", "trips": "n", "params": {"n": Type("float", (3,))}}, "n cannot be the trip count"),
        ({"body": "acc*x", "condition": "acc < 3"}, "a for loop has a trip count and no condition"),
        ({"body": "acc*x", "loop": "while", "condition": "acc <"}, "not Python"),
        (
            {"body": "acc*x", "loop": "while", "condition": "acc = 3"},
            "the condition is 'acc = 3', which is not one expression",
        ),
        ({"body": "acc*x", "loop": "while", "condition": "acc"}, "a condition is a bool"),
        ({"body": "i = 2; acc*x"}, "i is the index of the trip"),
        ({"body": "acc*x", "init": {"i": 2}}, "i is the index of the trip"),
        ({"body": "acc*x", "params": {"i": INT}}, "i is the index of the trip"),
        ({"body": "acc*x", "init": {"s": 2}}, "the first value of s is given, but the body does not use s"),
        ({"body": "acc*x", "init": {"acc": "1 2"}}, "not Python"),
        (
            {"body": "acc*x", "init": {"acc": "y", "x": 1.0}, "params": {"x": FLOAT}},
            "x is both a parameter and given a first value",
        ),
        ({"body": "if acc > 2: continue\nacc*x", "loop": "while"}, "line 1: continue would skip the counter"),
        ({"body": "if acc > 2: continue\nacc*x", "loop": "repeat"}, "line 1: continue in a body-first loop"),
        ({"body": "if acc > 2: t = x\nacc = t"}, "line 2: t may be read before it is assigned"),
        ({"body": "acc @ v", "params": {"v": Type("float", (3,))}}, "line 1: matmul"),
        ({"body": "stack([acc, acc])"}, "line 1: acc is float.* and cannot become"),
        ({"body": "acc*x", "name": "sin"}, "sin cannot be the name of a program"),
        ({"body": "sin(" * 300 + "x" + ")" * 300}, "too many nested"),
        ({"body": "acc" + "*x" * 3_000}, "nested deeper"),
    ],
)
def test_bad_loop_bodies(arguments: dict[str, object], reason: str) -> None:
    with pytest.raises(ProgramError, match=reason):
        loop_program(**arguments)  # type: ignore[arg-type]
