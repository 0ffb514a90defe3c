"""Short constructors of expressions, for the tables that programs are drawn from."""

from __future__ import annotations

from gradfuzz.programs import Call, Const, Expr, Name, call


def number(value: float) -> Const:
    return Const(float(value))


def integer(value: int) -> Const:
    return Const(value)


def add(a: Expr, b: Expr) -> Call:
    return Call("add", (a, b))


def subtract(a: Expr, b: Expr) -> Call:
    return Call("subtract", (a, b))


def multiply(a: Expr, b: Expr) -> Call:
    return Call("multiply", (a, b))


def divide(a: Expr, b: Expr) -> Call:
    return Call("divide", (a, b))


def remainder(a: Expr, b: Expr) -> Call:
    return Call("remainder", (a, b))


def negative(a: Expr) -> Call:
    return Call("negative", (a,))


def sine(a: Expr) -> Call:
    return Call("sin", (a,))


def cosine(a: Expr) -> Call:
    return Call("cos", (a,))


def tan(a: Expr) -> Call:
    return Call("tan", (a,))


def tanh(a: Expr) -> Call:
    return Call("tanh", (a,))


def exp(a: Expr) -> Call:
    return Call("exp", (a,))


def log(a: Expr) -> Call:
    return Call("log", (a,))


def sqrt(a: Expr) -> Call:
    return Call("sqrt", (a,))


def absolute(a: Expr) -> Call:
    return Call("abs", (a,))


def sign(a: Expr) -> Call:
    return Call("sign", (a,))


def maximum(a: Expr, b: Expr) -> Call:
    return Call("maximum", (a, b))


def minimum(a: Expr, b: Expr) -> Call:
    return Call("minimum", (a, b))


def where(condition: Expr, a: Expr, b: Expr) -> Call:
    return Call("where", (condition, a, b))


def compare(op: str, a: Expr, b: Expr) -> Call:
    """`op` is "less", "greater_equal", ..."""
    return Call(op, (a, b))


def both(a: Expr, b: Expr) -> Call:
    return Call("logical_and", (a, b))


def either(a: Expr, b: Expr) -> Call:
    return Call("logical_or", (a, b))


def opposite(a: Expr) -> Call:
    return Call("logical_not", (a,))


def power(a: Expr, n: int) -> Call:
    """`a` to the static integer `n`."""
    return call("integer_pow", a, n=n)


def square(a: Expr) -> Call:
    return multiply(a, a)


def real_power(a: Expr, b: Expr) -> Call:
    return Call("pow", (a, b))


def total(a: Expr) -> Call:
    """The sum over all entries."""
    return call("sum", a)


def stack(*components: Expr) -> Call:
    return call("stack", *components)


def at(array: str, *indices: Expr) -> Call:
    """`array[indices]`, one index per axis."""
    return call("index", Name(array), *indices, pattern=("at",) * len(indices))


def cut(array: str, start: int, stop: int) -> Call:
    """`array[start:stop]` of a vector."""
    return call("index", Name(array), pattern=(("slice", start, stop),))


def set_at(array: str, value: Expr, *indices: Expr) -> Call:
    """`array` after `array[indices] = value`."""
    return call("index_update", Name(array), value, *indices, pattern=("at",) * len(indices))


def size(expr: Expr) -> int:
    """The number of ops in an expression; reading an entry of an array counts as none."""
    if not isinstance(expr, Call):
        return 0
    return (expr.op != "index") + sum(size(a) for a in expr.args)


def replaced(expr: Expr, by: Expr) -> Expr:
    """An expression of the name `e` with another one in its place."""
    if isinstance(expr, Name):
        return by if expr.id == "e" else expr
    if isinstance(expr, Call):
        return Call(expr.op, tuple(replaced(a, by) for a in expr.args), expr.params)
    return expr
