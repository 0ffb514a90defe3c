"""Expressions for the tables that programs are drawn from: patterns written as text, short constructors."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from gradfuzz.programs import Call, Const, Expr, Name, Program, Type, call, parse
from gradfuzz.programs.language.program import names_in
from gradfuzz.strategies.drawing.dice import Odds


@dataclass(frozen=True, slots=True)
class ExpressionPattern:
    """An expression in which every name is a place for another expression.

    In the tables of loops `c` is the place of the carry, and what stands at `x` must be in the domain.
    """

    expr: Expr
    places: tuple[str, ...]
    """The names in alphabetical order."""

    @property
    def arity(self) -> int:
        """The places other than the carry's."""
        return len(self.places) - ("c" in self.places)

    @property
    def positive(self) -> int:
        """How many of them, the last, must be in the domain."""
        return self.places.count("x")

    def __call__(self, *parts: Expr) -> Expr:
        """The expression with one part at each place, in the order of the places."""
        return _filled(self.expr, dict(zip(self.places, parts, strict=True)))

    def filled(self, **parts: Expr) -> Expr:
        """The same by name; a part without a place is left out."""
        return _filled(self.expr, parts)


def _filled(expr: Expr, parts: Mapping[str, Expr]) -> Expr:
    if isinstance(expr, Name):
        return parts[expr.id]
    if isinstance(expr, Call):
        return Call(expr.op, tuple([_filled(a, parts) for a in expr.args]), expr.params)
    return expr


@functools.cache
def pattern(text: str) -> ExpressionPattern:
    """The pattern that a text of the program language writes."""
    expr = parse(f"def f():\n    return {text}\n").result.values[0]
    return ExpressionPattern(expr, tuple(sorted(names_in(expr))))


def patterns(*rows: tuple[int, str]) -> Odds[ExpressionPattern]:
    """A table of patterns."""
    return Odds(*((weight, pattern(text)) for weight, text in rows))


def written(params: Mapping[str, Type], lines: Iterable[str], outputs: str) -> Program:
    """The program of some lines of text, which returns `outputs`."""
    header = ", ".join(f'{name}: "{type}"' for name, type in params.items())
    return parse(f"def f({header}):\n" + "".join(f"    {line}\n" for line in (*lines, f"return {outputs}")))


# Constructors -----------------------------------------------------------------------------------------------


def number(value: float) -> Const:
    return Const(float(value))


def numbers(*rows: tuple[int, float]) -> Odds[Const]:
    """A table of constants."""
    return Odds(*((weight, number(value)) for weight, value in rows))


def integer(value: int) -> Const:
    return Const(value)


def _op(name: str) -> Callable[..., Call]:
    return lambda *args: Call(name, args)


add, multiply, remainder = map(_op, ("add", "multiply", "remainder"))
absolute, both = map(_op, ("abs", "logical_and"))


def compare(op: str, a: Expr, b: Expr) -> Call:
    """`op` is "less", "greater_equal", ..."""
    return Call(op, (a, b))


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
