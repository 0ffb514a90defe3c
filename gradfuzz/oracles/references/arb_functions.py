"""The functions that rows name in ball arithmetic, of balls and of power series.

A row's text has `x`, `y`, its static parameters, `pi`, and the functions of this module. FLINT has series of
many functions, and of others the value alone: then the series is an expression of those that it has, and its
first coefficient, which could cancel, is FLINT's own value. No rule of differentiation is applied: where a
text has the derivative of a function, its coefficients are those of FLINT's series of that function.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable
from typing import Any

import flint
from flint import acb_series, arb, arb_series

from gradfuzz.errors import DomainError
from gradfuzz.oracles.references.arb_numbers import Number, WideError, constant_term
from gradfuzz.programs.arithmetic.object_namespace import UndecidedError
from gradfuzz.programs.language.functions import FUNCTIONS, Function


def call(row: Function, args: tuple[Number, ...], params: dict[str, int]) -> Number:
    """A function of real balls or series, all of them inside its domain."""
    function, wants_pi = _compiled(row.name)
    return function(*args, **params, pi=arb.pi()) if wants_pi else function(*args, **params)


@functools.cache
def _compiled(name: str) -> tuple[Callable[..., Number], bool]:
    """The text of a row as a function of its arguments and parameters, and whether it takes `pi`, too."""
    row = FUNCTIONS[name]
    text = row.arb or f"{name}({', '.join(row.arguments)})"
    wants_pi = re.search(r"\bpi\b", text) is not None
    names = (*row.arguments, *row.params, *(["pi"] if wants_pi else []))
    code = compile(f"lambda {', '.join(names)}: {text}", f"<arb {name}>", "eval")
    return eval(code, {**_NAMES, "__builtins__": {}}), wants_pi  # noqa: S307 - a text of the table


def exact(name: str, x: Number, series: Number) -> Number:
    """`series`, its constant term replaced by FLINT's own function of the constant term of x."""
    here = getattr(constant_term(x), name)()
    if isinstance(series, arb):
        return here
    return arb_series([here, *(series[k] for k in range(1, flint.ctx.cap))])


def _own(name: str) -> Callable[[Number], Number]:
    """FLINT's function of balls and of series."""
    return lambda x: getattr(arb(x) if isinstance(x, int) else x, name)()


def _coefficients(function: Callable[[Number], Number], here: arb, count: int) -> list[arb]:
    """The first coefficients of a function's series around `here`."""
    before = flint.ctx.cap
    flint.ctx.cap = count
    try:
        series = function(arb_series([here, 1]))
        return [series[k] for k in range(count)]
    finally:
        flint.ctx.cap = before


def _at(coefficients: list[arb], x: Number) -> Number:
    """The series with these coefficients around the constant term of x, at x."""
    if isinstance(x, arb):
        return coefficients[0]
    step = x - constant_term(x)
    result: Number = arb_series([coefficients[-1]])
    for coefficient in reversed(coefficients[:-1]):
        result = result * step + coefficient
    return result


def derivative(function: Callable[[Number], Number], order: int = 1) -> Callable[[Number], Number]:
    """A derivative of a function that FLINT has series of."""

    def slope(x: Number) -> Number:
        found = _coefficients(function, constant_term(x), flint.ctx.cap + order)
        factors = [math.perm(k + order, order) for k in range(flint.ctx.cap)]
        return _at([found[k + order] * factor for k, factor in enumerate(factors)], x)

    return slope


def inverse(function: Callable[[Number], Number], value: str) -> Callable[[Number], Number]:
    """The inverse of a function that FLINT has series of; `value` names FLINT's own value of it."""

    def undone(x: Number) -> Number:
        here = getattr(constant_term(x), value)()
        if isinstance(x, arb):
            return here
        around = _coefficients(function, here, max(flint.ctx.cap, 2))
        back = arb_series([0, *around[1:]]).reversion()
        return _at([here, *(back[k] for k in range(1, flint.ctx.cap))], x)

    return undone


def odd(function: Callable[[Number], Number]) -> Callable[[Number], Number]:
    """An odd function, computed on its positive side, where nothing cancels."""

    def folded(x: Number) -> Number:
        here = constant_term(x)
        if here < 0:
            return -function(-x)
        return function(x)

    return folded


def atan2(x: Number, y: Number) -> Number:
    """The angle of the point (y, x): FLINT's at the point itself, and from there by the turn."""
    x0, y0 = constant_term(x), constant_term(y)
    here = arb.atan2(x0, y0)
    if x0.contains(0) and not y0 > 0:
        raise UndecidedError(f"atan2 of {x0.str(5)} and {y0.str(5)} jumps or has no value", tie=True)
    if isinstance(x, arb) and isinstance(y, arb):
        return here
    square = y * y0 + x * x0
    if constant_term(square).contains(0):  # the square of a wide ball is wider than that
        raise WideError(f"atan2 of {x0.str(5)} and {y0.str(5)}: the bounds are too wide to divide by")
    return here + ((x * y0 - y * x0) / square).atan()


def logaddexp(x: Number, y: Number) -> Number:
    """log(exp(x) + exp(y)), from the greater one on."""
    if constant_term(y) > constant_term(x):
        x, y = y, x
    return x + (1 + (y - x).exp()).log()


def lgamma(x: Number) -> Number:
    """log |gamma(x)|: FLINT's for a positive x, and Euler's reflection of it for a negative one."""
    if constant_term(x) > 0:
        return x.lgamma()
    turn = x.sin_pi()
    if constant_term(turn).contains(0):
        pole = constant_term(turn).is_exact()
        message = f"lgamma of {constant_term(x).str(5)}; it has poles at 0, -1, -2, ..."
        raise DomainError(message) if pole else WideError(message)
    return (arb.pi() / (-turn if constant_term(turn) < 0 else turn)).log() - lgamma(1 - x)


def bessel(x: Number, n: int, sign: int) -> Number:
    """J (`sign` -1) or I (1) of order n, by FLINT's hypergeometric series (DLMF 10.16.9, 10.39.9)."""
    size = abs(n)
    square = acb_series(x if isinstance(x, arb_series) else [x]) ** 2 / 4
    found = acb_series.hypgeom([], [acb_series([size + 1])], sign * square)
    cap = flint.ctx.cap if isinstance(x, arb_series) else 1
    series = arb_series([found[k].real for k in range(cap)]) * (x / 2) ** size / math.factorial(size)
    turned = series * sign**size if n < 0 else series
    result: Number = turned if isinstance(x, arb_series) else turned[0]
    return result


def size(x: Number) -> Number:
    """The absolute value, where the sign is known."""
    here = constant_term(x)
    if here.contains(0):
        raise UndecidedError(f"the sign of {here.str(5)} is not known", tie=True)
    return -x if here < 0 else x


_NAMES: dict[str, Any] = {
    **{name: _own(name) for name in ("sin", "cos", "tan", "exp", "log", "sqrt", "rsqrt", "asin", "acos")},
    **{name: _own(name) for name in ("atan", "erf", "erfc", "erfi", "gamma", "sin_pi", "cos_pi")},
    "odd": odd,
    "atan2": atan2,
    "bessel": bessel,
    "derivative": derivative,
    "exact": exact,
    "inverse": inverse,
    "lgamma": lgamma,
    "logaddexp": logaddexp,
    "size": size,
}
