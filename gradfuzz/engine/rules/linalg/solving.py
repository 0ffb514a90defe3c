"""solve, triangular_solve, inv: systems of linear equations.

A of shape (..., n, n) and B of (..., n, k) with batch axes that broadcast, or B of shape (n,) for `solve`. A
must be regular; at a singular one the values are NaN, and so are the derivatives.
"""

from __future__ import annotations

from typing import Any

from gradfuzz.engine.rules.functions import conj, reshape, unbroadcast
from gradfuzz.engine.rules.linalg.matrices import Rules, adjoint, column, transpose
from gradfuzz.engine.rules.value import apply

# vjp: X = A^-1 B has B_bar = A^-H X_bar and A_bar = -B_bar X^H (Giles 2008, section 2.2.3, for products with


def _solve_vjp_b(g: Any, ans: Any, a: Any, b: Any) -> Any:
    if b.ndim > 1:
        return unbroadcast(apply("solve", adjoint(a), g), b.shape)
    if a.ndim == 2:
        return apply("solve", adjoint(a), g)
    return unbroadcast(reshape(apply("solve", adjoint(a), column(g)), g.shape), b.shape)


def _solve_vjp_a(g: Any, ans: Any, a: Any, b: Any) -> Any:
    """A vector b is one column."""
    x, x_bar = (ans, g) if b.ndim > 1 else (column(ans), column(g))
    b_bar = apply("solve", adjoint(a), x_bar)
    return unbroadcast(-(b_bar @ adjoint(x)), a.shape)


def _triangular_vjp_b(g: Any, ans: Any, a: Any, b: Any, *, transposed: Any, **how: Any) -> Any:
    return unbroadcast(apply("triangular_solve", conj(a), g, transposed=not transposed, **how), b.shape)


def _triangular_vjp_a(
    g: Any, ans: Any, a: Any, b: Any, *, lower: Any, transposed: Any, unit_diagonal: Any, left: Any
) -> Any:
    """With T = op(A): T_bar = -B_bar X^H for T X = B, and -X^H B_bar for X T = B; of A_bar, the triangle that
    is read.
    """
    how = {"lower": lower, "transposed": not transposed, "unit_diagonal": unit_diagonal, "left": left}
    b_bar = apply("triangular_solve", conj(a), g, **how)
    factors = (b_bar, conj(ans)) if left else (adjoint(ans), transpose(b_bar))
    a_bar = -(factors[1] @ transpose(factors[0]) if transposed else factors[0] @ transpose(factors[1]))
    return unbroadcast(_read(a_bar, lower, unit_diagonal), a.shape)


def _read(a: Any, lower: Any, unit_diagonal: Any) -> Any:
    """The triangle of `a` that triangular_solve reads, zeros elsewhere."""
    edge = 1 if unit_diagonal else 0
    return apply("tril", a, k=-edge) if lower else apply("triu", a, k=edge)


def _inv_vjp(g: Any, ans: Any, a: Any) -> Any:
    """A_bar = -A^-H C_bar A^-H (Giles 2008, section 2.2.3)."""
    back = adjoint(ans)
    return -(back @ g @ back)


# jvp: A X = B gives A dX = dB - dA X ------------------------------------------------------------------------


def _solve_jvp_a(t: Any, ans: Any, a: Any, b: Any) -> Any:
    if b.ndim > 1:
        return -apply("solve", a, t @ ans)
    product = t @ column(ans)
    return -reshape(apply("solve", a, product), product.shape[:-1])


def _solve_jvp_b(t: Any, ans: Any, a: Any, b: Any) -> Any:
    return apply("solve", a, t)


def _triangular_jvp_a(
    t: Any, ans: Any, a: Any, b: Any, *, lower: Any, transposed: Any, unit_diagonal: Any, left: Any
) -> Any:
    moved = _read(t, lower, unit_diagonal)
    moved = transpose(moved) if transposed else moved
    change = moved @ ans if left else ans @ moved
    how = {"lower": lower, "transposed": transposed, "unit_diagonal": unit_diagonal, "left": left}
    return -apply("triangular_solve", a, change, **how)


def _triangular_jvp_b(t: Any, ans: Any, a: Any, b: Any, **how: Any) -> Any:
    return apply("triangular_solve", a, t, **how)


def _inv_jvp(t: Any, ans: Any, a: Any) -> Any:
    """dC = -C dA C."""
    return -(ans @ (t @ ans))


VJP: Rules = {
    "solve": (_solve_vjp_a, _solve_vjp_b),
    "triangular_solve": (_triangular_vjp_a, _triangular_vjp_b),
    "inv": (_inv_vjp,),
}
JVP: Rules = {
    "solve": (_solve_jvp_a, _solve_jvp_b),
    "triangular_solve": (_triangular_jvp_a, _triangular_jvp_b),
    "inv": (_inv_jvp,),
}
