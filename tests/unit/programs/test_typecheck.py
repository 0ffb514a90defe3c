"""The type checker: types of names and outputs, and the line and reason for every program that has none."""

from __future__ import annotations

from textwrap import dedent

import pytest

from gradfuzz.errors import ProgramTypeError
from gradfuzz.programs import (
    BOOL,
    FLOAT,
    INT,
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
    typecheck,
)
from gradfuzz.programs.language.typecheck import MAX_ENTRIES, MAX_NESTING, RESERVED, expression_type

SIGNATURE = 'def f(x, v: "float[3]", m: "float[2, 3]", n: "int", b: "bool"):\n'
X, V, B = Name("x"), Name("v"), Name("b")
VECTOR, MATRIX = Type("float", (3,)), Type("float", (2, 3))


def program(text: str) -> Program:
    return parse(SIGNATURE + "".join(f"    {line}\n" for line in dedent(text).strip().splitlines()))


GOOD = {
    # the join of what is assigned
    "k = 1\nreturn k": {"k": INT},
    "k = 1\nk = 0.5\nreturn k": {"k": FLOAT},
    "k = 1\nj = k\nl = j\nk = 0.5\nreturn l": {"k": FLOAT, "j": FLOAT, "l": FLOAT},
    "acc = 1\nfor i in range(3):\n  acc = acc * x\nreturn acc": {"acc": FLOAT, "i": INT},
    "a = 1\nc = 2\nwhile b:\n  t = a\n  a = c\n  c = t * x\nreturn a": {"a": FLOAT, "c": FLOAT, "t": FLOAT},
    "x = 1\nreturn x": {"x": FLOAT},
    "c = x > 0\nc = c and b\nreturn c": {"c": BOOL},
    "w = array([1, 2, 3])\nw = w * v\nreturn w": {"w": VECTOR},
    # definite assignment
    "if b:\n  t = x\nelse:\n  t = 1.0\nreturn t": {"t": FLOAT},
    "for i in range(3):\n  if b:\n    t = x\n  else:\n    break\n  x = t\nreturn x": {"t": FLOAT, "i": INT},
    "for i in range(3):\n  if b:\n    continue\n  else:\n    t = x\n  x = t\nreturn x": {
        "t": FLOAT,
        "i": INT,
    },
    "while True:\n  t = x\n  if not t < 1: break\nreturn t": {"t": FLOAT},
    "while True:\n  t = x\n  if t > 2: break\n  s = t\n  if not s < 1: break\nreturn t": {
        "t": FLOAT,
        "s": FLOAT,
    },
    "while b:\n  t = x\n  x = t * t\nreturn x": {"t": FLOAT},
    "for i in range(n):\n  x = x * i\nfor i in range(2):\n  x = x + i\nreturn x": {"i": INT},
    "for i in range(2):\n  for j in range(i):\n    x = x * j\nreturn x": {"i": INT, "j": INT},
    "while True:\n  break\nreturn x": {},
    "while True:\n  x = x * 2\n  if x > 3: continue\n  if not x < 1: break\nreturn x": {},
}


@pytest.mark.parametrize("text", GOOD)
def test_types_of_variables(text: str) -> None:
    typed = typecheck(program(text))
    params = {"x": FLOAT, "v": VECTOR, "m": MATRIX, "n": INT, "b": BOOL}
    assert typed.variables == {**params, **GOOD[text]}


def test_types_of_outputs() -> None:
    p = program("return x, v * m, n, b, sum(m, axis=0), m @ v, float(n), n % 2, n / 2, x < v")
    vector = Type("float", (3,))
    assert typecheck(p).outputs == (
        FLOAT,
        MATRIX,
        INT,
        BOOL,
        vector,
        Type("float", (2,)),
        FLOAT,
        INT,
        FLOAT,
        Type("bool", (3,)),
    )


def test_the_type_of_an_expression() -> None:
    typed = typecheck(program("t = 1\nt = t * x\nreturn t"))
    assert typed.type_of(call("multiply", Name("t"), V)) == VECTOR
    assert expression_type(Name("k"), {"k": INT}) == INT
    with pytest.raises(ProgramTypeError, match="k is not assigned before it is read"):
        expression_type(Name("k"), {})


def test_a_program_without_parameters() -> None:
    assert typecheck(parse("def f():\n return 1.0")).outputs == (FLOAT,)


BAD = {
    # names
    "return y": (2, "y is not defined"),
    "y = y + 1\nreturn y": (2, "y may be read before it is assigned"),
    "y += 1\nreturn y": (2, "y may be read before it is assigned"),
    "if b:\n  t = x\nreturn t": (4, "t may be read before it is assigned; assign it on every way"),
    "if b:\n  t = x\nelse:\n  s = x\nreturn t": (6, "t may be read before"),
    "while b:\n  t = x\nreturn t": (4, "t may be read before"),
    "for i in range(3):\n  t = x\nreturn t": (4, "t may be read before"),
    "while True:\n  if b: break\n  t = x\n  if not b: break\nreturn t": (6, "t may be read before"),
    "while True:\n  if b:\n    t = x\n  if not t < 1: break\nreturn x": (5, "t may be read before"),
    "while t < 1:\n  t = x\nreturn x": (2, "t may be read before"),
    "for i in range(3):\n  x = x * t\n  t = x\nreturn x": (3, "t may be read before"),
    "for i in range(3):\n  x = x * i\nreturn i": (4, "i is a loop counter and lives only in its loop"),
    "for i in range(i):\n  x = x\nreturn x": (2, "i is a loop counter and lives only"),
    "for i in range(3):\n  i = 2\nreturn x": (3, "i is the loop counter and cannot be assigned"),
    "for i in range(3):\n  while b:\n    i += 2\nreturn x": (
        4,
        "i is the loop counter and cannot be assigned",
    ),
    "i = 0\nfor i in range(3):\n  x = x\nreturn x": (2, "i is also a loop counter"),
    "for i in range(3):\n  x = x\ni = 0\nreturn x": (4, "i is also a loop counter"),
    "for n in range(3):\n  x = x\nreturn x": (2, "the loop counter n is also a parameter"),
    "for i in range(3):\n  for i in range(2):\n    x = x\nreturn x": (
        3,
        "i is already the counter of an outer loop",
    ),
    # ways
    "break\nreturn x": (2, "break outside a loop"),
    "if b:\n  continue\nreturn x": (3, "continue outside a loop"),
    "while b:\n  break\n  x = 1.0\nreturn x": (4, "this can never run"),
    "while b:\n  if b: break\n  else: continue\n  x = 1.0\nreturn x": (5, "this can never run"),
    "while True:\n  if b: break\n  else: break\n  if not b: break\nreturn x": (
        2,
        "the condition of this body-first loop is never reached",
    ),
    # dtypes
    "while x:\n  x = x - 1\nreturn x": (2, "a condition is a bool, not x, which is float"),
    "if v > 0:\n  x = 1.0\nreturn x": (2, r"a condition is a bool, not v > 0, which is bool\[3\]"),
    "while True:\n  x = x\n  if not n: break\nreturn x": (2, "a condition is a bool, not n, which is int"),
    "for i in range(x):\n  x = x\nreturn x": (2, "range takes an int, not x, which is float"),
    "for i in range(b):\n  x = x\nreturn x": (2, "range takes an int, not b, which is bool"),
    "k = 1\nfor i in range(k):\n  k = 0.5\nreturn x": (3, "range takes an int, not k, which is float"),
    "k = 1\nj = k % 2\nk = 0.5\nreturn x": (3, "remainder is for ints"),
    "n = n * 0.5\nreturn x": (2, "n is an int parameter and cannot become float"),
    "b = 1\nreturn x": (2, "b is bool and cannot become int: a bool is no number"),
    "x = b\nreturn x": (2, "x is float and cannot become bool: a bool is no number"),
    "return sin(b)": (2, "sin takes numbers, not bool"),
    "return x and b": (2, "logical_and takes bools, not float"),
    "return x + b": (2, "add takes numbers, not bool"),
    "return int(x)": (2, "astype from float to int would hide a derivative"),
    "return x % 2": (2, "remainder is for ints"),
    # shapes
    "x = x * v\nreturn x": (2, r"x is float and cannot become float\[3\]: a name has one shape"),
    "acc = 1.0\nfor i in range(3):\n  acc = acc * v\nreturn acc": (
        4,
        "a name has one shape; start it with broadcast_to",
    ),
    "return v + array([1.0, 2.0])": (2, r"add cannot broadcast float\[3\] with float\[2\]"),
    "return v @ m": (2, r"matmul of float\[3\] and float\[2, 3\]"),
    "return reshape(m, (4,))": (2, "6 entries cannot fill 4"),
    "return broadcast_to(v, (2,))": (2, "only axes of size 1 can grow"),
    "return concat([v, m])": (2, "concat over axis 0"),
    "return sum(v, axis=1)": (2, r"sum over axis 1 of an array of rank 1"),
    "return permute_dims(m, (0, 0))": (2, "name each of the 2 axes once"),
    "return v[3]": (2, r"index 3 is outside axis 0 of float\[3\]; it goes from 0 to 2"),
    "return v[x]": (2, "an index is an int scalar"),
    "v[0] = v\nreturn v": (2, r"the place has shape \(\), the value is float\[3\]"),
    "v[1:] = 1.0\nreturn v": (2, r"the place has shape \(2,\), the value is float"),
    "return sin(x, x)": (2, "sin takes 1 arguments, got 2"),
    "return max(v)": (2, "maximum takes 2 arguments, got 1"),
    "return sum(v, keepdims=1)": (2, "keepdims=1; it is True or False"),
    "return zeros((1000, 1001))": (2, "more than 1,000,000 entries"),
    "return zeros((0, 10000000))": (2, "more than 1,000,000 entries"),
    "return (x +\n    sin(v @ m))": (3, "matmul"),
}


@pytest.mark.parametrize("text", BAD)
def test_programs_without_a_type(text: str) -> None:
    line, reason = BAD[text]
    with pytest.raises(ProgramTypeError, match=f"^line {line}: .*{reason}") as info:
        typecheck(program(text))
    assert info.value.line == line


# Programs that were not parsed ------------------------------------------------------------------------------


def built(
    *body: object,
    result: Expr = X,
    params: tuple[Param, ...] = (Param("x", FLOAT), Param("v", VECTOR), Param("b", BOOL)),
) -> Program:
    return Program("f", params, (*body, Return((result,))))  # type: ignore[arg-type]


DEEP: Expr = X
for _ in range(MAX_NESTING):
    DEEP = call("sin", DEEP)
NESTED: Block = (Assign("x", X),)
for _ in range(MAX_NESTING):
    NESTED = (While(B, NESTED),)

BUILT: list[tuple[Program, str]] = [
    (built(Assign("y", Name("z"))), "^z is not defined; .* \\(in `y = z`\\)"),
    (built(Assign("x", call("add", V, X))), r"cannot become float\[3\].* \(in `x = v \+ x`\)"),
    (built(While(X, ())), r"which is float; compare it with something \(in `while x:`\)"),
    (built(If(B, (Break(),))), r"break outside a loop \(in `break`\)"),
    (built(Repeat((Continue(),), B)), "continue in a body-first loop would skip its condition; use if/else"),
    (built(Repeat((If(B, (Continue(),)),), B)), "continue in a body-first loop"),
    (built(Repeat((Break(),), B)), "the condition of this body-first loop is never reached"),
    (built(While(B, (Return((X,)),))), "return is the last statement of the program"),
    (built(Return((X,))), "return is the last statement"),
    (Program("f", (), ()), "does not end with return"),
    (Program("f", (), (Assign("x", Const(1.0)),)), "does not end with return"),
    (Program("f", (), (Return(()),)), "return without a value"),
    (Program("sum", (), (Return((Const(1),)),)), "sum cannot be the name of a program"),
    (Program("a b", (), (Return((Const(1),)),)), "'a b' cannot be the name of a program"),
    (built(params=(Param("x", FLOAT), Param("x", INT))), "the parameter x is there twice"),
    (built(params=(Param("x", FLOAT), Param("lambda", INT))), "'lambda' cannot be the name of a parameter"),
    (built(params=(Param("x", Type("float", (None,))),)), "x has the shape"),
    (built(params=(Param("x", Type("float", (-1,))),)), "x has the shape"),
    (built(params=(Param("x", Type("float", (MAX_ENTRIES + 1,))),)), "more than 1,000,000 entries"),
    (built(Assign("index", X)), r"index cannot be the name of a variable.* \(in `index = x`\)"),
    (built(For("range", Const(1), ())), "range cannot be the name of a loop counter"),
    (built(result=Const(2**63)), "does not fit 64 bits"),
    (built(result=DEEP), f"deeper than {MAX_NESTING} levels"),
    (built(*NESTED), f"deeper than {MAX_NESTING} levels"),
    (built(result=Call("sine", (X,))), "unknown op 'sine'"),
    (built(result=Call("sum", (X,), (("dim", 0),))), "sum has no parameter 'dim'"),
    (built(result=Call("reshape", (X,))), "reshape needs the parameter 'shape'"),
    (built(result=Call("sum", (X,), (("keepdims", True), ("axis", None)))), "each once, sorted by name"),
    (built(result=Call("sum", (X,), (("axis", None), ("axis", None)))), "each once, sorted by name"),
    (built(result=Call("integer_pow", (X,), (("n", 2**63),))), "does not fit 64 bits"),
    (built(result=Call("integer_pow", (X,), (("n", True),))), "integer_pow takes an int n"),
    (built(result=Call("permute_dims", (V,), (("axes", ("0",)),))), "axes are ints"),
    (built(result=Call("index", (V, Const(-1)), (("pattern", ("at",)),))), "index -1 is outside axis 0"),
    (built(result=Call("index", (V,), (("pattern", (("slice", False, True),)),))), "slice bounds are ints"),
    (built(result=Call("index", (V,), (("pattern", (("slice", 0, 4),)),))), "slice 0:4 is outside"),
    (built(result=Call("index", (V,), (("pattern", ()),))), "one index or slice per axis"),
    (built(result=ArrayConst("float", (2,), (Const(1.0),))), "has 1 entries"),
    (built(result=ArrayConst("float", (1,), (Const(1),))), "dtype float has the entry 1"),
    (built(result=ArrayConst("int", (1,), (Const(2**63),))), "does not fit 64 bits"),
]


@pytest.mark.parametrize(("bad", "reason"), BUILT, ids=range(len(BUILT)))
def test_programs_from_nowhere_quote_the_statement(bad: Program, reason: str) -> None:
    with pytest.raises(ProgramTypeError, match=reason) as info:
        typecheck(bad)
    assert info.value.line == 0


def test_parameters_with_defaults_may_be_left_out() -> None:
    assert typecheck(built(result=Call("sum", (V,)))).outputs == (FLOAT,)


def test_the_ops_and_the_words_of_the_text_form_are_reserved() -> None:
    assert {"sin", "index", "max", "cumsum", "range", "float", "array", "nan"} <= RESERVED
    assert not {"x", "acc", "i", "t", "v", "n", "data"} & RESERVED
