"""Special functions and whole numbers, composed of ops so that they are exact to far more digits than a precision has.

They take recording values. Where a series is not good enough the program leaves the domain of an op: then nothing is said about a gradient.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.special

from gradfuzz import engine
from gradfuzz.engine.value import Operand, apply
from gradfuzz.testing.compositions import as_kind, recorded

__all__ = ["digamma", "erf", "erfc", "floor", "inside", "lgamma", "truncated"]

_REACH = 7.0
"""How far from 0 the series of erf is summed; erf differs from 1 by less than 1e-22 there."""
_TERMS = 230
_SHIFT = 20
"""Stirling's series is used at arguments of 20 and more."""


def inside(holds: Operand, x: Operand) -> Any:
    """`x`, and outside of every domain where one of the bools `holds` is false."""
    met = engine.all(holds) if np.shape(holds) else holds
    return x + engine.cond(met, lambda: recorded(0.0), lambda: engine.log(recorded(-1.0)))


def erf(x: Operand) -> Any:
    """2 / sqrt(pi) x exp(-x^2) times the sum of (2 x^2)^n / (2n + 1)!!, all of whose terms are positive (Abramowitz and Stegun 7.1.6)."""
    x = inside(apply("less_equal", engine.abs(x), _REACH), x)
    twice = 2.0 * x * x

    def step(n: Operand, state: tuple[Operand, Operand]) -> tuple[Any, Any]:
        term = state[0] * (twice / (2.0 * n + 3.0))
        return term, state[1] + term

    one = 1.0 + 0.0 * x
    total = engine.fori_loop(0, _TERMS, step, (one, one))[1]
    pi = 4.0 * engine.imag(engine.log(engine.complex(recorded(1.0), 1.0)))
    return 2.0 * x * engine.exp(-(x * x)) * total / engine.sqrt(pi)


def erfc(x: Operand) -> Any:
    """1 - erf(x)."""
    return 1.0 - erf(x)


def _bernoulli(count: int) -> Sequence[Fraction]:
    """The Bernoulli numbers B2, B4, ..., of which SciPy's are rounded."""
    return [Fraction(float(b)).limit_denominator(3000) for b in scipy.special.bernoulli(2 * count)[2::2]]


def _shifted(x: Operand) -> tuple[Any, list[Any]]:
    """x + 20 for x > 0, and the numbers x, x + 1, ... that lie before it."""
    return x + float(_SHIFT), [x + float(k) if k else x for k in range(_SHIFT)]


def lgamma(x: Operand) -> Any:
    """The logarithm of the gamma function of x > 0, by Stirling's series (Abramowitz and Stegun 6.1.41) at x + 20."""
    z, before = _shifted(x)
    pi = 4.0 * engine.imag(engine.log(engine.complex(recorded(1.0), 1.0)))
    result = (z - 0.5) * engine.log(z) - z + engine.log(2.0 * pi) / 2.0
    for k, b in enumerate(_bernoulli(12), 1):
        result = result + _ratio(b / (2 * k * (2 * k - 1))) / apply("integer_pow", z, n=2 * k - 1)
    for factor in before:
        result = result - engine.log(factor)
    return result


def digamma(x: Operand) -> Any:
    """The derivative of `lgamma`, for x > 0 (Abramowitz and Stegun 6.3.18)."""
    z, before = _shifted(x)
    result = engine.log(z) - 0.5 / z
    for k, b in enumerate(_bernoulli(12), 1):
        result = result - _ratio(b / (2 * k)) / apply("integer_pow", z, n=2 * k)
    for factor in before:
        result = result - 1.0 / engine.where(apply("greater", factor, 0.0), factor, engine.log(factor))
    return result


def _ratio(value: Fraction) -> Any:
    """A fraction that is divided where the program runs, and so rounded nowhere else."""
    return recorded(float(value.numerator)) / float(value.denominator)


def _whole(x: Operand, bits: int) -> Any:
    """The greatest int that is no greater than x, found bit by bit, for x of less than 2^bits. It has no derivative."""
    x = inside(apply("less", engine.abs(x), math.ldexp(1.0, bits)), x)
    steps = np.array([1 << k for k in range(bits, -1, -1)])

    def step(i: Operand, found: Operand) -> Any:
        more = found + apply("index", steps, i, pattern=("at",))
        return engine.where(apply("less_equal", more, x), more, found)

    return engine.fori_loop(0, bits + 1, step, np.full(np.shape(x), -(1 << bits)))


def floor(x: Operand, bits: int) -> Any:
    """The greatest whole number that is no greater than x, as a float; `bits` are those of the significand of its format."""
    return as_kind(_whole(x, bits), "float")


def truncated(x: Operand, bits: int) -> Any:
    """x rounded towards 0, as an int."""
    return engine.where(apply("less", x, 0.0), -_whole(-x, bits), _whole(x, bits))
