"""cholesky of matrices (..., n, n): L L^H = (A + A^H) / 2 with L lower and its diagonal real, or U^H U with U
= L^H.

As a function of the Hermitian part of A its gradient is Hermitian. Phi takes the lower triangle of a matrix
and halves the diagonal.
"""

from __future__ import annotations

from typing import Any

from gradfuzz.engine.rules.linalg.matrices import Rules, adjoint, half_of_lower, hermitian_part, solve_adjoint
from gradfuzz.engine.rules.value import apply


def _cholesky_vjp(g: Any, ans: Any, a: Any, *, upper: bool) -> Any:
    """A_bar = L^-H herm(Phi(L^H L_bar)) L^-1 (Murray 2016, equations 9 and 10); herm drops what the diagonal
    of L_bar has in imaginary parts.
    """
    lower, l_bar = (adjoint(ans), adjoint(g)) if upper else (ans, g)
    inner = adjoint(lower) @ apply("tril", l_bar)
    whole = 0.5 * (apply("tril", inner) + adjoint(apply("tril", inner, k=-1)))
    left = solve_adjoint(lower, whole, lower=True)
    return hermitian_part(apply("triangular_solve", lower, left, lower=True, left=False))


def _cholesky_jvp(t: Any, ans: Any, a: Any, *, upper: bool) -> Any:
    """dL = L Phi(L^-1 dA L^-H) (Murray 2016, equation 8)."""
    factor = adjoint(ans) if upper else ans
    half = apply("triangular_solve", factor, hermitian_part(t))
    inner = solve_adjoint(factor, half, left=False)
    lower_dot = factor @ half_of_lower(inner)
    return adjoint(lower_dot) if upper else lower_dot


VJP: Rules = {"cholesky": (_cholesky_vjp,)}
JVP: Rules = {"cholesky": (_cholesky_jvp,)}
