"""pinv and lstsq: P = A^+ of shape (..., n, m), and X = A^+ B, for A of (..., m, n).

Golub & Pereyra 1973, equation 4.12, at every matrix near which the rank does not change along the tangent:

    dP = -P dA P + P P^H dA^H (I - A P) + (I - P A) dA^H P^H P.

Where the rank changes, the pseudo-inverse jumps and has no derivative; that is not noticed.
"""

from __future__ import annotations

from typing import Any

from gradfuzz.engine.rules.functions import unbroadcast
from gradfuzz.engine.rules.linalg.matrices import Rule, Rules, adjoint, column
from gradfuzz.engine.rules.value import apply


def _lstsq(a: Any, b: Any) -> Any:
    return apply("matmul", apply("pinv", a), b)


FORTH: dict[str, Rule] = {"lstsq": _lstsq}

# vjp --------------------------------------------------------------------------------------------------------


def _pinv_vjp(g: Any, ans: Any, a: Any) -> Any:
    """A_bar = -P^H G P^H + (I - A P) G^H P P^H + P^H P G^H (I - P A), from the three terms of dP."""
    back, g_back = adjoint(ans), adjoint(g)
    left = g_back @ ans @ back
    right = back @ ans @ g_back
    return left - a @ (ans @ left) + right - (right @ ans) @ a - back @ g @ back


def _lstsq_vjp_a(g: Any, ans: Any, a: Any, b: Any) -> Any:
    """P_bar = X_bar B^H, with the residual R = B - A X, which is (I - A P) B."""
    x_bar, x, b = (g, ans, b) if b.ndim > 1 else (column(g), column(ans), column(b))
    p = apply("pinv", a)
    p_back = adjoint(p)
    b_bar = p_back @ x_bar
    residual = b - a @ x
    hidden = x_bar - p @ (a @ x_bar)
    a_bar = residual @ adjoint(p @ b_bar) + (p_back @ x) @ adjoint(hidden) - b_bar @ adjoint(x)
    return unbroadcast(a_bar, a.shape)


def _lstsq_vjp_b(g: Any, ans: Any, a: Any, b: Any) -> Any:
    p_back = adjoint(apply("pinv", a))
    if b.ndim > 1:
        return unbroadcast(p_back @ g, b.shape)
    product = p_back @ column(g)
    return unbroadcast(apply("reshape", product, shape=product.shape[:-1]), b.shape)


VJP: Rules = {"pinv": (_pinv_vjp,), "lstsq": (_lstsq_vjp_a, _lstsq_vjp_b)}


# jvp --------------------------------------------------------------------------------------------------------


def _pinv_jvp(t: Any, ans: Any, a: Any) -> Any:
    """The formula as it stands."""
    tall = ans @ (adjoint(ans) @ adjoint(t))
    wide = (adjoint(t) @ adjoint(ans)) @ ans
    return tall - (tall @ a) @ ans + wide - ans @ (a @ wide) - ans @ (t @ ans)


def _lstsq_jvp_a(t: Any, ans: Any, a: Any, b: Any) -> Any:
    """dX = -P dA X + P P^H dA^H (B - A X) + (I - P A) dA^H P^H X."""
    x, right = (ans, b) if b.ndim > 1 else (column(ans), column(b))
    p = apply("pinv", a)
    residual = right - a @ x
    hidden = adjoint(t) @ (adjoint(p) @ x)
    dot = p @ (adjoint(p) @ (adjoint(t) @ residual) - t @ x) + hidden - p @ (a @ hidden)
    return dot if b.ndim > 1 else apply("reshape", dot, shape=dot.shape[:-1])


JVP: Rules = {"pinv": (_pinv_jvp,), "lstsq": (_lstsq_jvp_a, lambda t, ans, a, b: apply("lstsq", a, t))}
