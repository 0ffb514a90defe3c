"""Incomplete gamma and beta functions, as sums of series whose terms are all positive.

So many terms are added that those left out are less than 2^-1024 of the sum, which is finer than the finest
precision of the references. Where a series would need more, nothing is said.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import gradfuzz.engine as engine
from gradfuzz.engine.rules.value import Operand, apply
from gradfuzz.tracing.common.compositions import as_kind, recorded, spread

_GAMMA_REACH, _GAMMA_TERMS = 32.0, 500
"""For x < 32 the terms behind the 500th add less than (32 e / 500)^500 < 2^-1200 to the sum, which is at
least 1.
"""

_BETA_REACH, _BETA_TERMS = 8.0, 1200
"""For x <= 1/2 and a + b < 8 the terms of number k are less than (1 + k)^8 / 2^k."""


def _summed(terms: int, step: Callable[..., tuple[Any, ...]], start: tuple[Any, ...]) -> Any:
    """The state after so many steps, each of which takes its number as a float, and the state."""
    return engine.fori_loop(0, terms, lambda k, state: step(as_kind(k, "float"), *state), start)


def _together(*operands: Operand) -> list[Any]:
    shape = np.broadcast_shapes(*map(np.shape, operands))
    return [spread(recorded(as_kind(o, "float")), shape) for o in operands]


def _all(*conditions: Operand) -> Any:
    held = conditions[0]
    for condition in conditions[1:]:
        held = apply("logical_and", held, condition)
    return held


def _where(here: Operand, x: Operand) -> Any:
    """`x`, and outside of every domain in the entries where `here` is false."""
    return x + engine.log(engine.where(here, 1.0, -1.0))


def _lower_gamma(a: Operand, x: Operand) -> tuple[Any, Any]:
    """The regularized lower incomplete gamma function and its derivative by `a`, for a > 0 and 0 < x < 32:
    x^a e^-x / gamma(a + 1) (1 + x / (a + 1) + x^2 / ((a + 1) (a + 2)) + ...) (DLMF 8.7.1).
    """
    a, x = _together(a, x)
    here = _all(apply("less", 0.0, a), apply("less", 0.0, x), apply("less", x, _GAMMA_REACH))
    a, x = engine.where(here, a, 1.0), engine.where(here, x, 1.0)
    zeros = recorded(np.zeros(np.shape(a))) if np.shape(a) else recorded(0.0)

    def step(k: Any, term: Any, total: Any, harmonic: Any, slope: Any) -> tuple[Any, ...]:
        next_one = term * x / (a + (k + 1.0))
        more = harmonic + 1.0 / (a + (k + 1.0))
        return next_one, total + next_one, more, slope + next_one * more

    _, total, _, slope = _summed(_GAMMA_TERMS, step, (zeros + 1.0, zeros + 1.0, zeros, zeros))
    before = engine.exp(a * engine.log(x) - x - apply("lgamma", a + 1.0))
    by_a = before * (total * (engine.log(x) - apply("digamma", a + 1.0)) - slope)
    return _where(here, before * total), _where(here, by_a)


def igamma(a: Operand, x: Operand) -> Any:
    """The regularized lower incomplete gamma function."""
    return _lower_gamma(a, x)[0]


def igammac(a: Operand, x: Operand) -> Any:
    """What the lower one lacks to 1."""
    return 1.0 - igamma(a, x)


def igamma_grad_a(a: Operand, x: Operand) -> Any:
    """The derivative of the lower one by `a`."""
    return _lower_gamma(a, x)[1]


def random_gamma_grad(a: Operand, x: Operand) -> Any:
    """How a sample x of the gamma distribution moves with `a`: the lower one stays as it is."""
    a, x = _together(a, x)
    here = _all(apply("less", 0.0, a), apply("less", 0.0, x))
    p, z = engine.where(here, a, 1.0), engine.where(here, x, 1.0)
    density = engine.exp((p - 1.0) * engine.log(z) - z - apply("lgamma", p))
    return -igamma_grad_a(a, x) / density


def betainc(a: Operand, b: Operand, x: Operand) -> Any:
    """The regularized incomplete beta function, for a, b > 0 with a + b < 8 and 0 < x < 1, from the nearer
    end on: x^a (1 - x)^b / (a B(a, b)) (1 + (a + b) x / (a + 1) + ...) (DLMF 8.17.8).
    """
    a, b, x = _together(a, b, x)
    here = _all(
        *(apply("less", 0.0, o) for o in (a, b, x)),
        apply("less", x, 1.0),
        apply("less", a + b, _BETA_REACH),
    )
    a, b, x = engine.where(here, a, 1.0), engine.where(here, b, 1.0), engine.where(here, x, 0.25)
    far = apply("less", 0.5, x)
    p, q = engine.where(far, b, a), engine.where(far, a, b)
    z = engine.where(far, 1.0 - x, x)
    ones = recorded(np.ones(np.shape(a))) if np.shape(a) else recorded(1.0)

    def step(k: Any, term: Any, total: Any) -> tuple[Any, ...]:
        next_one = term * z * (p + q + k) / (p + 1.0 + k)
        return next_one, total + next_one

    _, total = _summed(_BETA_TERMS, step, (ones, ones))
    logarithm = apply("lgamma", p + q) - apply("lgamma", p + 1.0) - apply("lgamma", q)
    found = engine.exp(p * engine.log(z) + q * apply("log1p", -z) + logarithm) * total
    return _where(here, engine.where(far, 1.0 - found, found))


def polygamma(orders: Any, x: Operand) -> Any:
    """Derivatives of the digamma function, of orders that are constant whole numbers."""
    shape = np.broadcast_shapes(np.shape(orders), np.shape(x))
    x, orders = spread(x, shape), np.broadcast_to(orders, shape)
    found: Any = None
    for n in np.unique(orders).astype(int).tolist():
        one = apply("polygamma", x, n=n) if n else apply("digamma", x)
        found = one if found is None else engine.where(orders == n, one, found)
    return found


def zeta(s: Any, q: Operand) -> Any:
    """The Hurwitz zeta function of constant whole numbers s > 1, and of q: (-1)^s polygamma(s - 1, q) /
    (s - 1)! (DLMF 25.11.12).
    """
    orders = np.asarray(s).astype(int)
    factors = np.array([(-1.0) ** n / math.factorial(n - 1) for n in orders.ravel()]).reshape(orders.shape)
    return polygamma(orders - 1, q) * factors
