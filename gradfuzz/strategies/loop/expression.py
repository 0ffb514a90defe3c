"""Expressions: small, well-typed, and defined almost everywhere.

Where an op has a domain, its argument is in it by construction: a divisor is `2.0 + sin(e)` or `1.0 + e*e`,
the argument of a logarithm is `1.0 + e*e`. The exceptions are float scalar parameters (`Scope.raw`):
expressions also divide by them, and pass them to log, sqrt and pow directly. `points` draws them from the
domain.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from hypothesis import strategies as st

from gradfuzz.programs import FLOAT, INT, ArrayConst, Expr, Name, Type, call
from gradfuzz.programs.language.typecheck import expression_type
from gradfuzz.strategies.drawing.algebra import at, compare, cut, integer, multiply, number, remainder, total
from gradfuzz.strategies.drawing.dice import Dice, Draw
from gradfuzz.strategies.drawing.op_set import INEQUALITIES, chosen, offers, preferred, uses
from gradfuzz.strategies.drawing.validation import check_int, check_shape, check_types, reject
from gradfuzz.strategies.loop.patterns import (
    CARRIED,
    JOINED,
    MATRICES,
    NUMBERS,
    POSITIVE,
    REDUCTIONS,
    VECTORS,
    check_ops,
    terms,
    updates,
)

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Scope:
    """What an expression may read.

    `counter` is the innermost loop's counter, if it has one. With `limit` the counter is below it, so that it
    can index arrays of at least that length. `raw` names the float scalars whose domain the points respect.
    `first` are preferred names, `sequence` is a vector to read at the counter.
    """

    types: Mapping[str, Type]
    counter: str | None = None
    limit: int | None = None
    raw: frozenset[str] = field(default_factory=frozenset)
    first: tuple[str, ...] = ()
    sequence: str | None = None

    def names(self, shape: Shape) -> list[str]:
        """The float names of one shape; preferred names occur three times."""
        found = [n for n, t in self.types.items() if t.is_float and t.shape == shape]
        return [n for n in self.first if n in found] * 3 + found

    def vectors(self) -> list[tuple[str, int]]:
        """The float vectors that are not empty, with their lengths."""
        return [(n, t.shape[0]) for n, t in self.types.items() if t.is_float and t.rank == 1 and t.shape[0]]

    def arrays(self) -> list[str]:
        return [n for n, t in self.types.items() if t.is_float and t.rank]

    def having(self, name: str, type_: Type, *, first: bool = False) -> Scope:
        """The scope with one more name."""
        preferred = (name, *self.first) if first else self.first
        return dataclasses.replace(self, types={**self.types, name: type_}, first=preferred)

    def without(self, name: str) -> Scope:
        """The scope without `name`."""
        types = {n: t for n, t in self.types.items() if n != name}
        first = tuple(n for n in self.first if n != name)
        return dataclasses.replace(self, types=types, raw=self.raw - {name}, first=first)


# Leaves -----------------------------------------------------------------------------------------------------

_NAMES, _ENTRIES, _COUNTERS = 62, 74, 84
"""Thresholds in percent for an operand: a name below the first, an entry below the second, the counter below
the third, else a constant.
"""
_NAMES_BESIDE_SEQUENCE = 40
"""The first threshold where there is a sequence: its entry at the counter takes the share of other names."""


def operand(dice: Dice, scope: Scope, *, numbers: bool = False) -> Expr:
    """A scalar: a name, an entry or the sum of an array, the loop counter or (only with `numbers`) a
    constant.

    A name costs one draw, and everything else at least one, so that shrinking prefers names.
    """
    names, place = scope.names(()), dice.below(100)
    arrays = _readable(dice, scope)
    beside = place < _NAMES_BESIDE_SEQUENCE and names
    if scope.sequence is not None and scope.counter is not None and not beside:
        return _by_counter(dice, scope, scope.sequence, scope.counter)
    if place >= _COUNTERS:
        if numbers:
            return dice.weighted(NUMBERS)
    elif place >= _ENTRIES:
        if scope.counter is not None and dice.has("astype"):  # an int among floats needs a conversion
            return Name(scope.counter)
    elif place >= _NAMES and arrays:
        return _entry(dice, scope, arrays)
    if names:
        return Name(names[place * len(names) // _NAMES if place < _NAMES else place % len(names)])
    return _entry(dice, scope, arrays) if arrays else dice.weighted(NUMBERS)


def _readable(dice: Dice, scope: Scope) -> list[str]:
    """The arrays that the ops can reduce to a scalar."""
    return [name for name in scope.arrays() if makes_scalar(dice, scope.types[name])]


def makes_scalar(dice: Dice, type_: Type) -> bool:
    """Whether the ops can make a scalar of a float of type `type_`."""
    return not type_.shape or offers(dice, REDUCTIONS) or (dice.has("index") and all(type_.sizes))


def _entry(dice: Dice, scope: Scope, arrays: list[str]) -> Expr:
    """A scalar made from one of `arrays`: an entry, often the one at the counter, or a reduction."""
    name = dice.pick(arrays)
    shape = scope.types[name].sizes
    if not dice.has("index"):
        return reduced(dice, Name(name))
    if not offers(dice, REDUCTIONS):
        if len(shape) == 1 and scope.counter is not None and dice.chance(50):
            return _by_counter(dice, scope, name, scope.counter)
        return at(name, *(integer(dice.below(n)) for n in shape))
    if len(shape) == 1 and shape[0]:
        length = shape[0]
        choice = dice.below(10)
        if choice < 4 and scope.counter is not None:
            return _by_counter(dice, scope, name, scope.counter)
        if choice < 7:
            return at(name, integer(dice.below(length)))
        if choice > 7 and length > 1 and dice.has("sum", "multiply"):  # overlapping slices of one array
            return total(multiply(cut(name, 0, length - 1), cut(name, 1, length)))
    elif shape and all(shape) and dice.chance(30):
        return at(name, *(integer(dice.below(n or 1)) for n in shape))
    return reduced(dice, Name(name))


def _by_counter(dice: Dice, scope: Scope, name: str, counter: str) -> Expr:
    """The entry of a vector at the loop counter, modulo the length if needed and possible, else the last."""
    length = scope.types[name].shape[0] or 0
    inside = scope.limit is not None and scope.limit <= length
    if inside or dice.has("remainder"):
        return at(name, Name(counter) if inside else remainder(Name(counter), integer(length)))
    return at(name, integer(length - 1))


def reduced(dice: Dice, array: Expr) -> Expr:
    """A scalar that depends on all entries of `array`; shrinks towards the sum."""
    return chosen(dice, REDUCTIONS)(array)


def in_domain(dice: Dice, scope: Scope) -> Expr:
    """A positive scalar: a parameter with positive points, or an expression that is positive everywhere."""
    raw = [n for n in scope.names(()) if n in scope.raw]
    made = offers(dice, POSITIVE)
    if raw and (dice.below(4) < 3 or not made):
        return Name(dice.pick(raw))
    return chosen(dice, POSITIVE)(operand(dice, scope)) if made else number(2.0)


def comparison(dice: Dice, scope: Scope, a: Expr, *, exclude: str = "") -> Expr:
    """`a`, a scalar, compared with a constant or a name."""
    names = [n for n in scope.names(()) if n != exclude]
    b = Name(dice.pick(names)) if names and dice.chance(30) else dice.weighted(NUMBERS)
    return compare(dice.pick(dice.having(INEQUALITIES)), a, b)


# Terms ------------------------------------------------------------------------------------------------------


def term(dice: Dice, scope: Scope, shape: Shape, depth: int) -> Expr:
    """An expression of exactly `shape`, nested at most `depth` forms deep; shrinks towards the first name."""
    form = preferred(dice, terms(dice.ops, not shape)) if depth else None
    if form is None:
        return _leaf(dice, scope, shape)
    table = VECTORS if len(shape) == 1 else MATRICES
    if shape and dice.chance(80 if dice.about is not None and uses(table, dice.about) else 20):
        inner = term(dice, scope, shape, depth - 1)
        return chosen(dice, table)(inner) if _plain(shape) and offers(dice, table) else inner
    arguments = [] if form.arity == form.positive else [term(dice, scope, shape, depth - 1)]
    for k in range(len(arguments), form.arity):
        if k >= form.arity - form.positive:
            arguments.append(in_domain(dice, scope))
        else:
            arguments.append(term(dice, scope, shape if shape and dice.chance(50) else (), depth - 1))
    return form(*arguments)


def _plain(shape: Shape) -> bool:
    """Whether the vector or matrix forms fit: a vector that is not empty, or a square matrix."""
    return (len(shape) == 1 and shape[0] > 0) or (len(shape) == 2 and shape[0] == shape[1] > 0)


def _leaf(dice: Dice, scope: Scope, shape: Shape) -> Expr:
    if not shape:
        return operand(dice, scope, numbers=True)
    names = scope.names(shape)
    if names:
        return Name(dice.pick(names))
    if not dice.has("broadcast_to"):
        return ArrayConst("float", shape, (dice.weighted(NUMBERS),) * math.prod(shape))
    return call("broadcast_to", operand(dice, scope, numbers=True), shape=shape)


# Updates ----------------------------------------------------------------------------------------------------


def update(dice: Dice, scope: Scope, carry: Expr, shape: Shape, *, depth: int = 2) -> Expr:
    """The next value of `carry`, which reads the carry and usually more. Shrinks towards `carry * x`."""
    forms = updates(dice.ops)
    built = forms.where(lambda form: form is None)
    if built.rows and dice.about is not None and not uses(forms, dice.about):
        forms = built
    form = preferred(dice, forms)
    if form is None:
        grown = term(dice, scope, shape if shape and dice.chance(50) else (), depth)
        return chosen(dice, JOINED)(chosen(dice, CARRIED)(carry), grown)
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
    return form(carry, *arguments)


# Strategies -------------------------------------------------------------------------------------------------


@st.composite
def expressions(
    draw: Draw,
    *,
    names: Mapping[str, Type] | None = None,
    shape: Shape = (),
    max_depth: int = 3,
    raw: tuple[str, ...] = (),
    ops: tuple[str, ...] | None = None,
) -> Expr:
    """Float expressions of `shape` over `names` (by default the scalars x and y), nested at most `max_depth`
    forms deep.

    Each is well-typed, and finite wherever its names are moderate. An int name is used as a number. `raw`
    lists the float scalars that the expression may divide by, or pass directly to log, sqrt and pow. `ops`:
    the only ops to use (None: all). Without `astype` no int name is read; without `remainder` an int name
    indexes only where it is surely in range. Shrinks towards the first name.
    """
    if names is None:
        names = {"x": FLOAT, "y": FLOAT}
    check_types("names", names)
    check_int("max_depth", max_depth, 0)
    check_shape(shape)
    for name, t in names.items():
        if t.dtype == "bool" or (t.dtype == "int" and t.shape) or t.is_stack:
            reject(f"names has {name!r} of type {t}: an expression reads floats and int scalars")
    for name in raw:
        if names.get(name) != FLOAT:
            reject(f"raw={raw!r}: {name!r} is not a float scalar of names={dict(names)!r}")
    allowed = check_ops(ops)
    if len(terms(allowed, scalar=True).rows) == 1:
        advice = "add 'multiply', 'add' or 'sin', for example"
        reject(f"ops={ops!r}: no expression of floats can be made of these alone; {advice}")
    counters = [n for n, t in names.items() if t == INT]
    scope = Scope(names, counters[0] if counters else None, raw=frozenset(raw))
    expr = term(Dice(draw, allowed), scope, shape, max_depth)
    return expr if expression_type(expr, names).is_float else call("astype", expr, dtype="float")
