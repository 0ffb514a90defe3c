"""qr of matrices (..., m, n), m >= n ("tall") or m < n ("wide"): A = Q R with a real diagonal of R.

Assumed: the first min(m, n) columns of A are independent. Mode "complete" equals "reduced" for wide and
square matrices. For a tall one, R has zero rows below, and Q has m - n further columns Q2. They span the
complement of the columns of A; which basis of it they are, is not a function of A unless m - n = 1. So what
depends on Q2 beyond that has no derivative, and is NaN:

- the cotangent of A where Q2^H Q2_bar is not exactly Hermitian,
- the tangent of Q2, wherever that of A is not 0 and m - n > 1.

R and the first n columns of Q keep their derivatives.
"""

from __future__ import annotations

from typing import Any

from gradfuzz.engine.rules.functions import concat, is_complex, sum
from gradfuzz.engine.rules.linalg.gaps import zero_or_nan
from gradfuzz.engine.rules.linalg.matrices import (
    Rule,
    Rules,
    adjoint,
    below,
    columns,
    expand,
    half_of_lower,
    rows,
    solve_adjoint,
    to_dtype_of,
    zeros,
)
from gradfuzz.engine.rules.value import apply

# vjp --------------------------------------------------------------------------------------------------------


def _qr_vjp(gs: Any, ans: Any, a: Any, *, mode: str) -> Any:
    (q_bar, r_bar), (q, r) = gs, ans
    *_, m, n = a.shape
    if m < n:
        return [_wide_vjp(q_bar, r_bar, q, r, a)]
    if mode == "reduced" or m == n:
        return [_tall_vjp(q_bar, r_bar, q, r)]
    first, last, top = columns(q, 0, n), columns(q, n, m), rows(r, 0, n)
    q1_bar = None if q_bar is None else columns(q_bar, 0, n)
    r1_bar = None if r_bar is None else rows(r_bar, 0, n)
    if q_bar is not None:
        q1_bar = q1_bar - _completion_vjp(columns(q_bar, n, m), first, last)
    return [_tall_vjp(q1_bar, r1_bar, first, top)]


def _tall_vjp(q_bar: Any, r_bar: Any, q: Any, r: Any) -> Any:
    """A_bar = (Q_bar + Q copyltu(M)) R^-H with M = R R_bar^H - Q_bar^H Q (Walter & Lehmann 2010; Seeger et
    al. 2017, section 3.3).

    copyltu copies the lower triangle, conjugated, over the upper one, and keeps the real part of the
    diagonal.
    """
    mixed: Any = None
    if r_bar is not None:
        mixed = r @ adjoint(apply("triu", r_bar))
    if q_bar is not None:
        mixed = -(adjoint(q_bar) @ q) if mixed is None else mixed - adjoint(q_bar) @ q
    if is_complex(mixed):
        half = half_of_lower(mixed)
        whole = q @ (half + adjoint(half))
    else:
        whole = q @ (apply("tril", mixed) + adjoint(below(mixed)))
    if q_bar is not None:
        whole = whole + q_bar
    return solve_adjoint(r, whole, lower=False, left=False)


def _wide_vjp(q_bar: Any, r_bar: Any, q: Any, r: Any, a: Any) -> Any:
    """A = [X | Y], R = [U | V]: X = Q U, and V = Q^H Y passes cotangents to Y and to Q (Roberts & Roberts
    2020).
    """
    *_, m, n = a.shape
    u, y = columns(r, 0, m), columns(a, m, n)
    if r_bar is None:
        return concat([_tall_vjp(q_bar, None, q, u), zeros(q, y.shape)], axis=-1)
    u_bar, v_bar = columns(r_bar, 0, m), columns(r_bar, m, n)
    through_v = y @ adjoint(v_bar)
    x_bar = _tall_vjp(through_v if q_bar is None else q_bar + through_v, u_bar, q, u)
    return concat([x_bar, q @ v_bar], axis=-1)


def _completion_vjp(q2_bar: Any, q1: Any, q2: Any) -> Any:
    """Q2 stays orthogonal to Q1: dQ2 = -Q1 dQ1^H Q2, so -Q1_bar = Q2 Q2_bar^H Q1; a rotation within Q2 must
    not matter.
    """
    between = adjoint(q2_bar) @ q1
    within = adjoint(q2) @ q2_bar
    if q2.shape[-1] > 1:
        between = between + expand(sum(zero_or_nan(within - adjoint(within)), axis=(-2, -1)))
    return q2 @ between


VJP_SEVERAL: dict[str, Rule] = {"qr": _qr_vjp}


# jvp --------------------------------------------------------------------------------------------------------


def _qr_jvp(t: Any, ans: Any, a: Any, *, mode: str, part: int) -> Any:
    *_, m, n = a.shape
    q, r = (apply("qr", a, mode=mode, part=k) for k in (0, 1))
    k = min(m, n)
    first, top = columns(q, 0, k), columns(rows(r, 0, k), 0, k)
    q_dot, u_dot = _square_jvp(columns(t, 0, k), first, top, want_q=part == 0 or m < n)
    if part == 1:
        if m < n:  # Y = Q V
            v_dot = adjoint(q) @ (columns(t, m, n) - q_dot @ columns(r, m, n))
            return concat([u_dot, v_dot], axis=-1)
        return (
            u_dot if r.shape[-2] == k else concat([u_dot, zeros(u_dot, (*r.shape[:-2], m - k, n))], axis=-2)
        )
    return (
        q_dot
        if q.shape[-1] == k
        else concat([q_dot, _completion_jvp(q_dot, t, first, columns(q, k, m))], axis=-1)
    )


def _square_jvp(t: Any, q: Any, r: Any, *, want_q: bool) -> tuple[Any, Any]:
    """With B = Q^H dA R^-1 and the skew-Hermitian W that has the lower triangle of B and the imaginary part
    of its diagonal (Walter & Lehmann 2010, section 3.1, where all is real).

    dR = (B - W) R, and dQ = Q W + (I - Q Q^H) dA R^-1.
    """
    quotient = apply("triangular_solve", r, t, lower=False, left=False)
    b = adjoint(q) @ quotient
    turn = half_of_lower(b) if is_complex(b) else below(b)
    turn = turn - adjoint(turn)
    return quotient - q @ (b - turn) if want_q else None, (apply("triu", b - turn)) @ r


def _completion_jvp(q1_dot: Any, t: Any, q1: Any, q2: Any) -> Any:
    """Q2^H Q1 = 0 holds on: Q1^H dQ2 = -dQ1^H Q2. The rest is a rotation within Q2."""
    q2_dot = -(q1 @ (adjoint(q1_dot) @ q2))
    if q2.shape[-1] > 1:
        moved = to_dtype_of(t, sum(abs(t), axis=(-2, -1)))
        q2_dot = q2_dot + zero_or_nan(expand(moved))
    return q2_dot


JVP: Rules = {"qr": (_qr_jvp,)}
