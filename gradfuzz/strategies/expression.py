"""Expressions: small, well-typed, and defined almost everywhere.

Where an op has a domain, its argument is in it by construction: a divisor is `2.0 + sin(e)` or `1.0 + e*e`, a logarithm is
of `1.0 + e*e`. The exceptions are float scalar parameters (`Scope.raw`), which are also divided by, and given to log, sqrt
and pow, as they are: `points` draws them from the domain.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from gradfuzz.programs import FLOAT, INT, Expr, Name, Type, call
from gradfuzz.programs.typecheck import expression_type
from gradfuzz.strategies.algebra import (
    absolute,
    add,
    at,
    compare,
    cosine,
    cut,
    divide,
    exp,
    integer,
    log,
    maximum,
    minimum,
    multiply,
    negative,
    number,
    power,
    real_power,
    remainder,
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
from gradfuzz.strategies.dice import Dice, Draw, Table
from gradfuzz.strategies.validation import check_int, check_shape, check_types

__all__ = ["Scope", "comparison", "entry", "expressions", "in_domain", "operand", "reduced", "term", "update"]

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Scope:
    """What an expression may read.

    `counter` is the innermost loop's counter, if it has one; where `limit` is given, the counter is below it, so that arrays at
    least that long can be indexed by the counter itself. `raw` names the float scalars whose domain the points respect. `first`
    are names to prefer, `sequence` is a vector to read by the counter.
    """

    types: Mapping[str, Type]
    counter: str | None = None
    limit: int | None = None
    raw: frozenset[str] = field(default_factory=frozenset)
    first: tuple[str, ...] = ()
    sequence: str | None = None

    def names(self, shape: Shape) -> list[str]:
        """The float names of one shape; those to prefer three times."""
        found = [n for n, t in self.types.items() if t.is_float and t.shape == shape]
        return [n for n in self.first if n in found] * 3 + found

    def vectors(self) -> list[tuple[str, int]]:
        """The float vectors with at least one entry, and their lengths."""
        return [(n, t.shape[0]) for n, t in self.types.items() if t.is_float and t.rank == 1 and t.shape[0]]

    def arrays(self) -> list[str]:
        return [n for n, t in self.types.items() if t.is_float and t.rank]

    def having(self, name: str, type_: Type, *, first: bool = False) -> Scope:
        """The scope with one more name."""
        return dataclasses.replace(self, types={**self.types, name: type_}, first=(name, *self.first) if first else self.first)

    def without(self, name: str) -> Scope:
        """The scope without `name`."""
        types = {n: t for n, t in self.types.items() if n != name}
        return dataclasses.replace(self, types=types, raw=self.raw - {name}, first=tuple(n for n in self.first if n != name))


# Leaves ----------------------------------------------------------------------------------------------------------------

NUMBERS = Table(
    *(
        (w, number(v))
        for w, v in ((6, 2.0), (4, 1.0), (5, 0.5), (3, 3.0), (2, -1.0), (2, 1.5), (2, 0.25), (1, -0.5), (1, 0.1), (1, 10.0))
    )
)

_NAMES, _ENTRIES, _COUNTERS = 62, 74, 84
"""Of a hundred operands so many are names, names or entries, names or entries or the counter; the rest are constants."""
_NAMES_BESIDE_SEQUENCE = 40
"""The same where there is a sequence: the other names give way to its entry at the counter."""


def operand(dice: Dice, scope: Scope, *, numbers: bool = False) -> Expr:
    """A scalar: a name, an entry or the sum of an array, the loop counter or (only with `numbers`) a constant.

    A name costs one draw, and everything else at least one, so that shrinking prefers names.
    """
    names, place = scope.names(()), dice.below(100)
    if scope.sequence is not None and scope.counter is not None and (place >= _NAMES_BESIDE_SEQUENCE or not names):
        return _by_counter(scope, scope.sequence, scope.counter)
    if place >= _COUNTERS:
        if numbers:
            return dice.weighted(NUMBERS)
    elif place >= _ENTRIES:
        if scope.counter is not None:
            return Name(scope.counter)
    elif place >= _NAMES and scope.arrays():
        return entry(dice, scope)
    if names:
        return Name(names[place * len(names) // _NAMES if place < _NAMES else place % len(names)])
    return entry(dice, scope) if scope.arrays() else dice.weighted(NUMBERS)


def entry(dice: Dice, scope: Scope) -> Expr:
    """A scalar made from an array of the scope: an entry, often the one the counter names, or a reduction."""
    name = dice.pick(scope.arrays())
    shape = scope.types[name].shape
    if len(shape) == 1 and shape[0]:
        length = shape[0]
        choice = dice.below(10)
        if choice < 4 and scope.counter is not None:
            return _by_counter(scope, name, scope.counter)
        if choice < 7:
            return at(name, integer(dice.below(length)))
        if choice > 7 and length > 1:  # overlapping slices of one array
            return total(multiply(cut(name, 0, length - 1), cut(name, 1, length)))
    elif shape and all(shape) and dice.chance(30):
        return at(name, *(integer(dice.below(n or 1)) for n in shape))
    return reduced(dice, Name(name))


def _by_counter(scope: Scope, name: str, counter: str) -> Expr:
    """The entry of a vector at the loop counter, taken modulo the length where the counter may be larger."""
    length = scope.types[name].shape[0] or 0
    inside = scope.limit is not None and scope.limit <= length
    return at(name, Name(counter) if inside else remainder(Name(counter), integer(length)))


def reduced(dice: Dice, array: Expr) -> Expr:
    """A scalar that all entries of `array` are in; shrinks towards the sum."""
    return dice.weighted(_REDUCTIONS)(array)


_REDUCTIONS: Table[Callable[[Expr], Expr]] = Table(
    (5, total),
    (2, lambda v: call("mean", v)),
    (2, lambda v: call("prod", v)),
    (1, lambda v: total(square(v))),
)


def in_domain(dice: Dice, scope: Scope) -> Expr:
    """A positive scalar: a parameter whose points are drawn to be so, or an expression that is positive everywhere."""
    raw = [n for n in scope.names(()) if n in scope.raw]
    if raw and dice.below(4) < 3:
        return Name(dice.pick(raw))
    return dice.weighted(_POSITIVE)(operand(dice, scope))


_POSITIVE: Table[Callable[[Expr], Expr]] = Table(
    (3, lambda e: add(number(2.0), sine(e))),
    (2, lambda e: add(number(1.0), square(e))),
    (1, lambda e: exp(sine(e))),
)


def comparison(dice: Dice, scope: Scope, a: Expr, *, exclude: str = "") -> Expr:
    """`a`, a scalar, compared with a constant or a name."""
    names = [n for n in scope.names(()) if n != exclude]
    b = Name(dice.pick(names)) if names and dice.chance(30) else dice.weighted(NUMBERS)
    return compare(dice.pick(("greater", "less", "greater_equal", "less_equal")), a, b)


# Terms -----------------------------------------------------------------------------------------------------------------

Build = Callable[..., Expr]


@dataclass(frozen=True, slots=True)
class _Form:
    """A way to make an expression from smaller ones. `positive` are how many of the last arguments have to be in the domain."""

    arity: int
    build: Build
    positive: int = 0


_ONE, _TWO = number(1.0), number(2.0)
_FORMS: Table[_Form | None] = Table(
    (26, None),  # a leaf
    (14, _Form(2, multiply)),
    (12, _Form(2, add)),
    (7, _Form(2, subtract)),
    (8, _Form(1, sine)),
    (4, _Form(1, cosine)),
    (5, _Form(1, tanh)),
    (3, _Form(1, negative)),
    (3, _Form(1, square)),
    (1, _Form(1, lambda e: power(e, 3))),
    (3, _Form(2, lambda a, b: divide(a, add(_TWO, sine(b))))),
    (2, _Form(2, lambda a, b: divide(a, add(_ONE, square(b))))),
    (2, _Form(1, lambda e: exp(negative(square(e))))),
    (2, _Form(1, lambda e: exp(sine(e)))),
    (2, _Form(1, lambda e: log(add(_ONE, square(e))))),
    (2, _Form(1, lambda e: sqrt(add(_ONE, square(e))))),
    (1, _Form(2, lambda a, b: real_power(add(_ONE, square(a)), sine(b)))),
    (1, _Form(1, lambda e: tan(tanh(e)))),
    (2, _Form(2, maximum)),
    (2, _Form(2, minimum)),
    (2, _Form(1, absolute)),
    (2, _Form(3, lambda a, b, c: where(compare("greater", a, b), multiply(a, c), b))),
    (1, _Form(2, lambda a, b: multiply(a, sign(b)))),
    (2, _Form(2, lambda a, b: multiply(a, call("astype", compare("less", a, b), dtype="float")))),
    (3, _Form(2, divide, positive=1)),
    (2, _Form(2, lambda a, x: multiply(a, log(x)), positive=1)),
    (2, _Form(2, lambda a, x: multiply(a, sqrt(x)), positive=1)),
    (1, _Form(2, lambda a, x: multiply(a, power(x, -2)), positive=1)),
    (1, _Form(2, lambda a, x: multiply(a, exp(negative(x))), positive=1)),
    (1, _Form(2, lambda e, x: real_power(x, e), positive=1)),
)
_VECTOR_FORMS: Table[Build] = Table(
    (3, lambda v: call("flip", v)),
    (3, lambda v: call("cumulative_sum", v)),
    (2, lambda v: divide(v, add(_ONE, total(square(v))))),
    (1, lambda v: subtract(v, call("mean", v, keepdims=True))),
)
_MATRIX_FORMS: Table[Build] = Table(
    (3, lambda m: call("permute_dims", m, axes=(1, 0))),
    (2, lambda m: call("matmul", m, m)),
    (1, lambda m: divide(m, add(_ONE, call("sum", square(m), axis=0)))),
    (1, lambda m: call("cumulative_sum", m, axis=1)),
)


def term(dice: Dice, scope: Scope, shape: Shape, depth: int) -> Expr:
    """An expression of exactly `shape`, at most `depth` forms deep; shrinks towards the first name."""
    form = dice.weighted(_FORMS) if depth else None
    if form is None:
        return _leaf(dice, scope, shape)
    if shape and dice.chance(20):
        inner = term(dice, scope, shape, depth - 1)
        return dice.weighted(_VECTOR_FORMS if len(shape) == 1 else _MATRIX_FORMS)(inner) if _plain(shape) else inner
    arguments = [term(dice, scope, shape, depth - 1)]
    for k in range(1, form.arity):
        if k >= form.arity - form.positive:
            arguments.append(in_domain(dice, scope))
        else:
            arguments.append(term(dice, scope, shape if shape and dice.chance(50) else (), depth - 1))
    return form.build(*arguments)


def _plain(shape: Shape) -> bool:
    """Whether the vector or matrix forms fit: a vector that is not empty, or a square matrix."""
    return (len(shape) == 1 and shape[0] > 0) or (len(shape) == 2 and shape[0] == shape[1] > 0)


def _leaf(dice: Dice, scope: Scope, shape: Shape) -> Expr:
    if not shape:
        return operand(dice, scope, numbers=True)
    names = scope.names(shape)
    if names:
        return Name(dice.pick(names))
    return call("broadcast_to", operand(dice, scope, numbers=True), shape=shape)


# Updates ---------------------------------------------------------------------------------------------------------------

_UPDATES: Table[_Form | None] = Table(
    (18, _Form(1, lambda c, p: multiply(c, p))),
    (6, _Form(1, lambda c, p: add(c, p))),
    (8, _Form(1, lambda c, p: sine(multiply(c, p)))),
    (9, _Form(2, lambda c, p, q: add(multiply(c, p), q))),
    (6, _Form(1, lambda c, p: add(multiply(c, c), p))),
    (5, _Form(1, lambda c, p: add(sine(c), p))),
    (4, _Form(1, lambda c, p: multiply(c, subtract(p, _TWO)))),
    (3, _Form(1, lambda c, p: multiply(c, negative(p)))),
    (3, _Form(2, lambda c, p, q: multiply(c, subtract(p, q)))),
    (6, _Form(1, lambda c, x: divide(c, x), positive=1)),
    (3, _Form(1, lambda c, p: tanh(add(c, p)))),
    (3, _Form(2, lambda c, p, q: add(multiply(sine(c), p), q))),
    (2, _Form(1, lambda c, p: multiply(cosine(c), p))),
    (2, _Form(1, lambda c, p: multiply(p, exp(negative(square(c)))))),
    (2, _Form(1, lambda c, p: divide(p, add(_ONE, square(c))))),
    (1, _Form(1, lambda c, p: multiply(c, multiply(p, p)))),
    (1, _Form(1, lambda c, p: maximum(multiply(c, p), p))),
    (1, _Form(1, lambda c, p: where(compare("greater", c, p), multiply(c, p), add(c, p)))),
    (1, _Form(1, lambda c, p: multiply(tanh(exp(sine(c))), p))),
    (1, _Form(1, lambda c, p: power(add(c, p), 2))),
    (1, _Form(1, lambda c, x: add(c, log(x)), positive=1)),
    (1, _Form(1, lambda c, x: multiply(c, sqrt(x)), positive=1)),
    (1, _Form(1, lambda c, x: real_power(x, sine(c)), positive=1)),
    (16, None),  # grown from the forms above
)
"""What a carry `c` becomes; most of the mass lies on the bodies that real bug reports have."""

_CARRIED: Table[Build] = Table(
    (5, lambda c: c),
    (2, sine),
    (1, tanh),
    (1, square),
    (1, cosine),
    (1, lambda c: divide(c, add(_TWO, sine(c)))),
    (1, lambda c: log(add(_ONE, square(c)))),
)
_JOINED: Table[Build] = Table(
    (5, multiply), (4, add), (2, subtract), (1, maximum), (1, minimum), (1, lambda a, b: divide(a, add(_TWO, sine(b))))
)


def update(dice: Dice, scope: Scope, carry: Expr, shape: Shape, *, depth: int = 2) -> Expr:
    """The next value of `carry`, of `shape`: it reads the carry, and usually something else; shrinks towards `carry * x`."""
    form = dice.weighted(_UPDATES)
    if form is None:
        grown = term(dice, scope, shape if shape and dice.chance(50) else (), depth)
        return dice.weighted(_JOINED)(dice.weighted(_CARRIED)(carry), grown)
    if isinstance(carry, Name):
        scope = scope.without(carry.id)
    arguments: list[Expr] = []
    for k in range(form.arity):
        if k >= form.arity - form.positive:
            arguments.append(in_domain(dice, scope))
        elif shape and scope.names(shape) and dice.chance(40):
            arguments.append(Name(dice.pick(scope.names(shape))))
        else:
            arguments.append(operand(dice, scope))
    return form.build(carry, *arguments)


# Strategies ------------------------------------------------------------------------------------------------------------


@st.composite
def expressions(
    draw: Draw,
    *,
    names: Mapping[str, Type] | None = None,
    shape: Shape = (),
    max_depth: int = 3,
    raw: tuple[str, ...] = (),
) -> Expr:
    """Float expressions of `shape` over `names` (by default the scalars x and y), at most `max_depth` forms deep.

    Each is well-typed, and finite wherever its names are moderate. An int name is used as a number. `raw` lists the float scalars
    that may be divided by, or given to log, sqrt and pow, as they are. Shrinks towards the first name.
    """
    if names is None:
        names = {"x": FLOAT, "y": FLOAT}
    check_types("names", names)
    check_int("max_depth", max_depth, 0)
    check_shape(shape)
    for name, t in names.items():
        if t.dtype == "bool" or (t.dtype == "int" and t.shape) or t.is_stack:
            raise InvalidArgument(f"names has {name!r} of type {t}: an expression reads floats and int scalars")
    for name in raw:
        if names.get(name) != FLOAT:
            raise InvalidArgument(f"raw={raw!r}: {name!r} is not a float scalar of names={dict(names)!r}")
    counters = [n for n, t in names.items() if t == INT]
    scope = Scope(names, counters[0] if counters else None, raw=frozenset(raw))
    expr = term(Dice(draw), scope, shape, max_depth)
    return expr if expression_type(expr, names).is_float else call("astype", expr, dtype="float")
