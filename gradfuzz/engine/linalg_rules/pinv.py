"""pinv and lstsq: P = A^+ of shape (..., n, m), and X = A^+ B, for A of (..., m, n).

Golub & Pereyra 1973, equation 4.12, at every matrix near which the rank does not change along the tangent:

    dP = -P dA P + P P^T dA^T (I - A P) + (I - P A) dA^T P^T P.

Where the rank changes, the pseudo-inverse jumps and has no derivative; that is not noticed.
"""

from __future__ import annotations

from typing import Any

from gradfuzz.engine.functions import unbroadcast
from gradfuzz.engine.linalg_rules.matrices import column, transpose
from gradfuzz.engine.linalg_rules.table import Rule, Rules
from gradfuzz.engine.value import apply

__all__ = ["FORTH", "JVP", "VJP"]


def _lstsq(a: Any, b: Any) -> Any:
    return apply("matmul", apply("pinv", a), b)


FORTH: dict[str, Rule] = {"lstsq": _lstsq}

# vjp -------------------------------------------------------------------------------------------------------------------------------------


def _pinv_vjp(g: Any, ans: Any, a: Any) -> Any:
    """A_bar = -P^T G P^T + (I - A P) G^T P P^T + P^T P G^T (I - P A), from the three terms of dP."""
    back, g_back = transpose(ans), transpose(g)
    left = g_back @ ans @ back
    right = back @ ans @ g_back
    return left - a @ (ans @ left) + right - (right @ ans) @ a - back @ g @ back


def _lstsq_vjp_a(g: Any, ans: Any, a: Any, b: Any) -> Any:
    """P_bar = X_bar B^T, with the residual R = B - A X, which is (I - A P) B."""
    x_bar, x, b = (g, ans, b) if b.ndim > 1 else (column(g), column(ans), column(b))
    p = apply("pinv", a)
    p_back = transpose(p)
    b_bar = p_back @ x_bar
    residual = b - a @ x
    hidden = x_bar - p @ (a @ x_bar)
    a_bar = residual @ transpose(p @ b_bar) + (p_back @ x) @ transpose(hidden) - b_bar @ transpose(x)
    return unbroadcast(a_bar, a.shape)


def _lstsq_vjp_b(g: Any, ans: Any, a: Any, b: Any) -> Any:
    p_back = transpose(apply("pinv", a))
    if b.ndim > 1:
        return unbroadcast(p_back @ g, b.shape)
    product = p_back @ column(g)
    return unbroadcast(apply("reshape", product, shape=product.shape[:-1]), b.shape)


VJP: Rules = {"pinv": (_pinv_vjp,), "lstsq": (_lstsq_vjp_a, _lstsq_vjp_b)}


# jvp -------------------------------------------------------------------------------------------------------------------------------------


def _pinv_jvp(t: Any, ans: Any, a: Any) -> Any:
    """The formula as it stands."""
    tall = ans @ (transpose(ans) @ transpose(t))
    wide = (transpose(t) @ transpose(ans)) @ ans
    return tall - (tall @ a) @ ans + wide - ans @ (a @ wide) - ans @ (t @ ans)


def _lstsq_jvp_a(t: Any, ans: Any, a: Any, b: Any) -> Any:
    """dX = -P dA X + P P^T dA^T (B - A X) + (I - P A) dA^T P^T X."""
    x, right = (ans, b) if b.ndim > 1 else (column(ans), column(b))
    p = apply("pinv", a)
    residual = right - a @ x
    hidden = transpose(t) @ (transpose(p) @ x)
    dot = p @ (transpose(p) @ (transpose(t) @ residual) - t @ x) + hidden - p @ (a @ hidden)
    return dot if b.ndim > 1 else apply("reshape", dot, shape=dot.shape[:-1])


JVP: Rules = {"pinv": (_pinv_jvp,), "lstsq": (_lstsq_jvp_a, lambda t, ans, a, b: apply("lstsq", a, t))}
