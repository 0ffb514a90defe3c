"""Special functions and whole numbers, composed of ops so that they are exact to far more digits than a
precision has.

They take recording values. Where a series is not good enough the program leaves the domain of an op: then
nothing is said about a gradient.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.special

import gradfuzz.engine as engine
from gradfuzz.engine.rules.value import ACTIVE, Operand, Value, apply
from gradfuzz.programs.graphs.graph import Equation
from gradfuzz.testing.tracing.compositions import as_kind, recorded

_REACH = 7.0
"""How far from 0 erf is computed; it differs from 1 by less than 1e-22 there."""
_NODES = 64
"""Nodes of the quadrature for erf: its error is below 1e-26."""
_SHIFT = 20
"""Stirling's series is used at arguments of 20 and more."""


def inside(holds: Operand, x: Operand) -> Any:
    """`x`, and outside of every domain where one of the bools `holds` is false."""
    met = engine.all(holds) if np.shape(holds) else holds
    return x + engine.cond(met, lambda: recorded(0.0), lambda: engine.log(recorded(-1.0)))


def erf(x: Operand) -> Any:
    """2 / sqrt(pi) x times the integral of exp(-x^2 t^2) over t from 0 to 1, by Gauss-Legendre quadrature: a
    sum of positive terms, none of them small.
    """
    x = inside(apply("less_equal", engine.abs(x), _REACH), x)
    nodes, weights = (_in_pieces(numbers) for numbers in zip(*_quadrature(), strict=True))
    scaled = engine.reshape(x, (*np.shape(x), 1)) * nodes
    return 2.0 * x * engine.sum(weights * engine.exp(-(scaled * scaled)), axis=-1) / engine.sqrt(pi())


@functools.cache
def _quadrature() -> list[tuple[Decimal, Decimal]]:
    """The positive nodes of the Gauss-Legendre quadrature over [-1, 1] and their weights, to 40 digits
    (Abramowitz and Stegun 25.4.29).
    """
    found = []
    with localcontext(prec=50):
        for start in np.polynomial.legendre.leggauss(_NODES)[0]:
            if start < 0:
                continue
            node = Decimal(float(start))
            for _ in range(3):
                value, slope = _legendre(node)
                node -= value / slope
            found.append((node, 2 / ((1 - node * node) * _legendre(node)[1] ** 2)))
    return found


def _legendre(x: Decimal) -> tuple[Decimal, Decimal]:
    """The Legendre polynomial of degree 64 and its slope, by their recurrences."""
    before, value = Decimal(1), x
    for n in range(2, _NODES + 1):
        before, value = value, ((2 * n - 1) * x * value - (n - 1) * before) / n
    return value, _NODES * (x * value - before) / (x * x - 1)


def _in_pieces(numbers: Sequence[Decimal]) -> Any:
    """Numbers as a sum of arrays of which float32 holds each, so that no precision rounds more than
    the sum.
    """
    pieces = []
    with localcontext(prec=60):
        rest = list(numbers)
        for _ in range(4):
            piece = [float(np.float32(float(r))) for r in rest]
            pieces.append(recorded(np.array(piece)))
            rest = [r - Decimal(p) for r, p in zip(rest, piece, strict=True)]
    return sum(pieces[1:], pieces[0])


def pi() -> Any:
    """pi, which no format holds: four times the angle of 1 + i."""
    return 4.0 * engine.imag(engine.log(engine.complex(recorded(1.0), 1.0)))


def erfc(x: Operand) -> Any:
    """1 - erf(x)."""
    return 1.0 - erf(x)


def _bernoulli(count: int) -> Sequence[Fraction]:
    """The Bernoulli numbers B2, B4, ..., of which SciPy's are rounded."""
    return [Fraction(float(b)).limit_denominator(3000) for b in scipy.special.bernoulli(2 * count)[2::2]]


def _shifted(x: Operand) -> tuple[Any, list[Any]]:
    """x + 20 for x > 0, and the numbers x, x + 1, ... that lie before it."""
    return x + float(_SHIFT), [x + float(k) if k else x for k in range(_SHIFT)]


def _series(z: Operand, terms: Sequence[Fraction]) -> Any:
    """The sum of terms[k] / z^(2k), for k from 0."""
    small = 1.0 / (z * z)
    total = _ratio(terms[-1])
    for term in reversed(terms[:-1]):
        total = total * small + _ratio(term)
    return total


def lgamma(x: Operand) -> Any:
    """The logarithm of the gamma function of x > 0, by Stirling's series (Abramowitz and Stegun 6.1.41) at x
    + 20.
    """
    z, before = _shifted(x)
    rest = _series(z, [b / (2 * k * (2 * k - 1)) for k, b in enumerate(_bernoulli(12), 1)]) / z
    result = (z - 0.5) * engine.log(z) - z + engine.log(2.0 * pi()) / 2.0 + rest
    for factor in before:
        result = result - engine.log(factor)
    return result


def digamma(x: Operand) -> Any:
    """The derivative of `lgamma`, for x > 0 (Abramowitz and Stegun 6.3.18)."""
    z, before = _shifted(inside(apply("greater", x, 0.0), x))
    rest = _series(z, [b / (2 * k) for k, b in enumerate(_bernoulli(12), 1)]) / (z * z)
    result = engine.log(z) - 0.5 / z - rest
    for factor in before:
        result = result - 1.0 / factor
    return result


def _ratio(value: Fraction) -> Any:
    """A fraction that is divided where the program runs, and so rounded nowhere else."""
    return recorded(float(value.numerator)) / float(value.denominator)


def _whole(x: Operand, bits: int) -> Any:
    """The greatest int that is no greater than x, found bit by bit, for x of less than 2^bits. It has no
    derivative.
    """
    x = inside(apply("less", engine.abs(x), math.ldexp(1.0, bits)), x)
    steps = np.array([1 << k for k in range(bits, -1, -1)])

    def step(i: Operand, found: Operand) -> Any:
        more = found + apply("index", steps, i, pattern=("at",))
        return engine.where(apply("less_equal", more, x), more, found)

    return engine.fori_loop(0, bits + 1, step, np.full(np.shape(x), -(1 << bits)))


def floor(x: Operand, bits: int) -> Any:
    """The greatest whole number that is no greater than x, as a float; `bits` are those of the significand of
    its format.
    """
    return as_kind(_whole(x, bits), "float")


def ceil(x: Operand, bits: int) -> Any:
    """The least whole number that is no less than x, as a float."""
    return as_kind(-_whole(-x, bits), "float")


def truncated(x: Operand, bits: int) -> Any:
    """x rounded towards 0, as an int. A float that was an int is that int: no comparison could tell it from
    one that is just less.
    """
    before = _int_of(x)
    return (
        engine.where(apply("less", x, 0.0), -_whole(-x, bits), _whole(x, bits)) if before is None else before
    )


def _int_of(x: Operand) -> Value | None:
    """The int that was converted to the float `x`; None where it is computed otherwise."""
    if not isinstance(x, Value):
        return None
    for level, builder in enumerate(ACTIVE.get(), 1):
        for node in builder.nodes:
            if (
                isinstance(node, Equation)
                and node.output is x.atom
                and node.op == "astype"
                and node.inputs[0].type.dtype == "int"
            ):
                return Value(builder, node.inputs[0], level)
    return None
