"""Tables of patterns: small expressions with places for other expressions."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

from hypothesis.errors import InvalidArgument

from gradfuzz.programs import Call, Expr, call
from gradfuzz.programs.arithmetic.elementwise import expression
from gradfuzz.programs.language.functions import FUNCTIONS, Function
from gradfuzz.strategies.drawing.algebra import (
    absolute,
    add,
    compare,
    cosine,
    divide,
    exp,
    log,
    maximum,
    minimum,
    multiply,
    negative,
    number,
    power,
    real_power,
    replaced,
    sign,
    sine,
    sqrt,
    square,
    subtract,
    tan,
    tanh,
    total,
    where,
)
from gradfuzz.strategies.drawing.dice import Table
from gradfuzz.strategies.drawing.op_set import INEQUALITIES, LOOP_OPS, ops_of, within
from gradfuzz.strategies.drawing.validation import check_choices

Build = Callable[..., Expr]


@dataclass(frozen=True, slots=True)
class Pattern:
    """A way to build an expression from smaller ones. The last `positive` arguments must be in the domain."""

    arity: int
    build: Build
    positive: int = 0


_ONE, _TWO = number(1.0), number(2.0)
NUMBERS = Table(
    *(
        (w, number(v))
        for w, v in (
            (6, 2.0),
            (4, 1.0),
            (5, 0.5),
            (3, 3.0),
            (2, -1.0),
            (2, 1.5),
            (2, 0.25),
            (1, -0.5),
            (1, 0.1),
            (1, 10.0),
        )
    )
)

REDUCTIONS: Table[Build] = Table(
    (5, total),
    (2, lambda v: call("mean", v)),
    (2, lambda v: call("prod", v)),
    (1, lambda v: total(square(v))),
)

POSITIVE: Table[Build] = Table(
    (3, lambda e: add(number(2.0), sine(e))),
    (2, lambda e: add(number(1.0), square(e))),
    (1, lambda e: exp(sine(e))),
)

_TERMS: Table[Pattern | None] = Table(
    (26, None),  # a leaf
    (14, Pattern(2, multiply)),
    (12, Pattern(2, add)),
    (7, Pattern(2, subtract)),
    (8, Pattern(1, sine)),
    (4, Pattern(1, cosine)),
    (5, Pattern(1, tanh)),
    (3, Pattern(1, negative)),
    (3, Pattern(1, square)),
    (1, Pattern(1, lambda e: power(e, 3))),
    (3, Pattern(2, lambda a, b: divide(a, add(_TWO, sine(b))))),
    (2, Pattern(2, lambda a, b: divide(a, add(_ONE, square(b))))),
    (2, Pattern(1, lambda e: exp(negative(square(e))))),
    (2, Pattern(1, lambda e: exp(sine(e)))),
    (2, Pattern(1, lambda e: log(add(_ONE, square(e))))),
    (2, Pattern(1, lambda e: sqrt(add(_ONE, square(e))))),
    (1, Pattern(2, lambda a, b: real_power(add(_ONE, square(a)), sine(b)))),
    (1, Pattern(1, lambda e: tan(tanh(e)))),
    (2, Pattern(2, maximum)),
    (2, Pattern(2, minimum)),
    (2, Pattern(1, absolute)),
    (2, Pattern(3, lambda a, b, c: where(compare("greater", a, b), multiply(a, c), b))),
    (1, Pattern(2, lambda a, b: multiply(a, sign(b)))),
    (2, Pattern(2, lambda a, b: multiply(a, call("astype", compare("less", a, b), dtype="float")))),
    (3, Pattern(2, divide, positive=1)),
    (2, Pattern(2, lambda a, x: multiply(a, log(x)), positive=1)),
    (2, Pattern(2, lambda a, x: multiply(a, sqrt(x)), positive=1)),
    (1, Pattern(2, lambda a, x: multiply(a, power(x, -2)), positive=1)),
    (1, Pattern(2, lambda a, x: multiply(a, exp(negative(x))), positive=1)),
    (1, Pattern(2, lambda e, x: real_power(x, e), positive=1)),
)
VECTORS: Table[Build] = Table(
    (3, lambda v: call("flip", v)),
    (3, lambda v: call("cumulative_sum", v)),
    (2, lambda v: divide(v, add(_ONE, total(square(v))))),
    (1, lambda v: subtract(v, call("mean", v, keepdims=True))),
)
MATRICES: Table[Build] = Table(
    (3, lambda m: call("permute_dims", m, axes=(1, 0))),
    (2, lambda m: call("matmul", m, m)),
    (1, lambda m: divide(m, add(_ONE, call("sum", square(m), axis=0)))),
    (1, lambda m: call("cumulative_sum", m, axis=1)),
)

_UPDATES: Table[Pattern | None] = Table(
    (18, Pattern(1, lambda c, p: multiply(c, p))),
    (6, Pattern(1, lambda c, p: add(c, p))),
    (8, Pattern(1, lambda c, p: sine(multiply(c, p)))),
    (9, Pattern(2, lambda c, p, q: add(multiply(c, p), q))),
    (6, Pattern(1, lambda c, p: add(multiply(c, c), p))),
    (5, Pattern(1, lambda c, p: add(sine(c), p))),
    (4, Pattern(1, lambda c, p: multiply(c, subtract(p, _TWO)))),
    (3, Pattern(1, lambda c, p: multiply(c, negative(p)))),
    (3, Pattern(2, lambda c, p, q: multiply(c, subtract(p, q)))),
    (6, Pattern(1, lambda c, x: divide(c, x), positive=1)),
    (3, Pattern(1, lambda c, p: tanh(add(c, p)))),
    (3, Pattern(2, lambda c, p, q: add(multiply(sine(c), p), q))),
    (2, Pattern(1, lambda c, p: multiply(cosine(c), p))),
    (2, Pattern(1, lambda c, p: multiply(p, exp(negative(square(c)))))),
    (2, Pattern(1, lambda c, p: divide(p, add(_ONE, square(c))))),
    (1, Pattern(1, lambda c, p: multiply(c, multiply(p, p)))),
    (1, Pattern(1, lambda c, p: maximum(multiply(c, p), p))),
    (1, Pattern(1, lambda c, p: where(compare("greater", c, p), multiply(c, p), add(c, p)))),
    (1, Pattern(1, lambda c, p: multiply(tanh(exp(sine(c))), p))),
    (1, Pattern(1, lambda c, p: power(add(c, p), 2))),
    (1, Pattern(1, lambda c, x: add(c, log(x)), positive=1)),
    (1, Pattern(1, lambda c, x: multiply(c, sqrt(x)), positive=1)),
    (1, Pattern(1, lambda c, x: real_power(x, sine(c)), positive=1)),
    (16, None),  # built from the forms above
)
"""The next value of a carry `c`. Most of the weight is on bodies from real bug reports."""

CARRIED: Table[Build] = Table(
    (5, lambda c: c),
    (2, sine),
    (1, tanh),
    (1, square),
    (1, cosine),
    (1, lambda c: divide(c, add(_TWO, sine(c)))),
    (1, lambda c: log(add(_ONE, square(c)))),
)
JOINED: Table[Build] = Table(
    (5, multiply),
    (4, add),
    (2, subtract),
    (1, maximum),
    (1, minimum),
    (1, lambda a, b: divide(a, add(_TWO, sine(b)))),
)


# Some ops alone ---------------------------------------------------------------------------------------------

_PLAIN: Table[Pattern | None] = Table(
    (2, Pattern(1, exp, positive=1)),
    (2, Pattern(1, log, positive=1)),
    (2, Pattern(1, sqrt, positive=1)),
    (2, Pattern(1, tan, positive=1)),
    (1, Pattern(1, sign)),
    (2, Pattern(3, lambda a, b, c: where(compare("greater", a, b), a, c))),
    (2, Pattern(3, lambda a, b, c: where(compare("less", a, b), a, c))),
    (1, Pattern(3, lambda a, b, c: where(compare("greater_equal", a, b), a, c))),
    (1, Pattern(3, lambda a, b, c: where(compare("less_equal", a, b), a, c))),
    (1, Pattern(2, lambda a, b: call("astype", compare("greater", a, b), dtype="float"))),
    (1, Pattern(2, lambda a, b: call("astype", compare("less", a, b), dtype="float"))),
    (1, Pattern(2, lambda a, b: call("astype", compare("greater_equal", a, b), dtype="float"))),
    (1, Pattern(2, lambda a, b: call("astype", compare("less_equal", a, b), dtype="float"))),
)
"""Used where the allowed ops leave no other pattern with one of these ops."""
_ALONE: Table[Pattern | None] = Table(
    (4, Pattern(0, sine)),
    (2, Pattern(0, cosine)),
    (2, Pattern(0, tanh)),
    (1, Pattern(0, negative)),
    (1, Pattern(0, absolute)),
)
"""The next value of a carry where no op joins it to another expression."""


_OTHERS = 3
"""So many times as often as an elementwise function of weight 1 is a pattern of weight 1 drawn."""


def _called(row: Function) -> Pattern:
    """A function of an expression that is brought into its domain, beside another one where it takes two."""
    inside = expression(row.inside)

    def build(*args: Expr) -> Expr:
        return Call(row.name, (*args[:-1], replaced(inside, args[-1])), tuple((p, 1) for p in row.params))

    return Pattern(1, lambda e: build(e)) if row.arguments == ("x",) else Pattern(2, lambda a, b: build(a, b))


@functools.cache
def _functions(names: tuple[str, ...]) -> Table[Pattern | None]:
    """`_TERMS`, and the elementwise functions of `names`."""
    rows = [(FUNCTIONS[name].weight, _called(FUNCTIONS[name])) for name in names if FUNCTIONS[name].weight]
    return Table(*((weight * _OTHERS, pattern) for weight, pattern in _TERMS.rows), *rows)


def terms(ops: frozenset[str] | None, scalar: bool) -> Table[Pattern | None]:
    """The patterns of terms, scalars or arrays, that need no op but `ops` (None: all); always with
    the leaf.
    """
    every = _functions(tuple(FUNCTIONS))
    if ops is None:
        return every
    kept = within(every, ops)
    reached: frozenset[str] = frozenset().union(*(ops_of(pattern) for _, pattern in kept.rows))
    more = within(_PLAIN, ops).where(lambda p: not ops_of(p) <= reached | {*INEQUALITIES})
    return Table(*kept.rows, *more.where(lambda p: p is not None and (scalar or p.positive < p.arity)).rows)


@functools.lru_cache(maxsize=1024)
def updates(ops: frozenset[str] | None) -> Table[Pattern | None]:
    """The patterns of updates that use only `ops` (None: all); empty where no carry can be updated."""
    if ops is None:
        return _UPDATES
    joined = bool(within(JOINED, ops).rows)
    kept = within(_UPDATES, ops).where(lambda pattern: pattern is not None or joined)
    if joined:
        return kept
    reached: frozenset[str] = frozenset().union(*(ops_of(pattern) for _, pattern in kept.rows))
    return Table(*kept.rows, *within(_ALONE, ops).where(lambda p: not ops_of(p) <= reached).rows)


def check_ops(ops: object) -> frozenset[str] | None:
    """`ops` as a set; `InvalidArgument` unless it is a tuple of ops of loop programs."""
    if ops is None:
        return None
    check_choices("ops", ops, dict.fromkeys((*LOOP_OPS, *FUNCTIONS)))
    assert isinstance(ops, tuple), "it has been checked"
    return frozenset(ops)


def check_carried(ops: tuple[str, ...] | None) -> frozenset[str] | None:
    """`check_ops`, and these ops must be able to update a float carry."""
    chosen = check_ops(ops)
    if chosen is not None and not updates(chosen).rows:
        enough = ", ".join(repr(op) for op in LOOP_OPS if updates(frozenset((op,))).rows)
        raise InvalidArgument(
            f"ops={ops!r}: these alone give a float carry no next value; add one of {enough}"
        )
    return chosen
