"""Division by gaps between eigenvalues or singular values, closed under differentiation.

`divide_by_gaps(k, x, y)` is k_ij / (y_j - x_i). Where a gap is within rounding of 0, what it divides decides:
0 stays 0, anything else is NaN. So a loss that does not depend on what a repeated eigenvalue leaves open is
differentiated right, and one that does is never given a number.
"""

from __future__ import annotations

from typing import Any

from gradfuzz.engine.rules.functions import conj, sum
from gradfuzz.engine.rules.linalg.matrices import Rules, zeros
from gradfuzz.engine.rules.value import apply


def divide_by_gaps(k: Any, x: Any, y: Any, *, hollow: bool = False) -> Any:
    """k_ij / (y_j - x_i) for k of shape (..., m, n), x of (..., m) and y of (..., n); `hollow`: 0 on the
    diagonal.
    """
    return apply("divide_by_gaps", k, x, y, hollow=hollow)


def zero_or_nan(k: Any) -> Any:
    """Matrices of zeros where `k` is 0, and of NaN where it is not."""
    x, y = zeros(k, k.shape[:-1]), zeros(k, (*k.shape[:-2], k.shape[-1]))
    return apply("divide_by_gaps", k, x, y, hollow=False)


# Q_ij = K_ij / (y_j - x_i): dQ_ij = dK_ij / (y_j - x_i) - (dy_j - dx_i) Q_ij / (y_j - x_i) ------------------


def _vjp_x(g: Any, ans: Any, k: Any, x: Any, y: Any, *, hollow: bool) -> Any:
    return sum(divide_by_gaps(g * conj(ans), conj(x), conj(y), hollow=hollow), axis=-1)


def _vjp_y(g: Any, ans: Any, k: Any, x: Any, y: Any, *, hollow: bool) -> Any:
    return -sum(divide_by_gaps(g * conj(ans), conj(x), conj(y), hollow=hollow), axis=-2)


def _jvp_x(t: Any, ans: Any, k: Any, x: Any, y: Any, *, hollow: bool) -> Any:
    tangents = apply("reshape", t, shape=(*t.shape, 1))
    return apply("divide_by_gaps", tangents * ans, x, y, hollow=hollow)


def _jvp_y(t: Any, ans: Any, k: Any, x: Any, y: Any, *, hollow: bool) -> Any:
    tangents = apply("reshape", t, shape=(*t.shape[:-1], 1, t.shape[-1]))
    return -apply("divide_by_gaps", ans * tangents, x, y, hollow=hollow)


def _vjp_k(g: Any, ans: Any, k: Any, x: Any, y: Any, *, hollow: bool) -> Any:
    return divide_by_gaps(g, conj(x), conj(y), hollow=hollow)


def _jvp_k(t: Any, ans: Any, k: Any, x: Any, y: Any, *, hollow: bool) -> Any:
    return apply("divide_by_gaps", t, x, y, hollow=hollow)


VJP: Rules = {"divide_by_gaps": (_vjp_k, _vjp_x, _vjp_y)}
JVP: Rules = {"divide_by_gaps": (_jvp_k, _jvp_x, _jvp_y)}
