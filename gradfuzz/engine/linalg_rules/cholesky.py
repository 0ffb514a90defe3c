"""cholesky of matrices (..., n, n): L L^T = (A + A^T) / 2 with L lower, or U^T U with U = L^T.

As a function of the symmetric part of A its gradient is symmetric. Phi takes the lower triangle of a matrix and halves the diagonal.
"""

from __future__ import annotations

from typing import Any

from gradfuzz.engine.linalg_rules.matrices import symmetric_part, transpose
from gradfuzz.engine.linalg_rules.table import Rules
from gradfuzz.engine.value import apply

__all__ = ["JVP", "VJP"]


def _cholesky_vjp(g: Any, ans: Any, a: Any, *, upper: bool) -> Any:
    """A_bar = L^-T sym(Phi(L^T L_bar)) L^-1 (Murray 2016, equations 9 and 10)."""
    lower, l_bar = (transpose(ans), transpose(g)) if upper else (ans, g)
    inner = transpose(lower) @ apply("tril", l_bar)
    whole = 0.5 * (apply("tril", inner) + transpose(apply("tril", inner, k=-1)))
    left = apply("triangular_solve", lower, whole, lower=True, transposed=True)
    return symmetric_part(apply("triangular_solve", lower, left, lower=True, left=False))


def _cholesky_jvp(t: Any, ans: Any, a: Any, *, upper: bool) -> Any:
    """dL = L Phi(L^-1 dA L^-T) (Murray 2016, equation 8)."""
    factor = transpose(ans) if upper else ans
    half = apply("triangular_solve", factor, 0.5 * (t + transpose(t)))
    inner = apply("triangular_solve", factor, half, transposed=True, left=False)
    lower_dot = factor @ (0.5 * (apply("tril", inner) + apply("tril", inner, k=-1)))
    return transpose(lower_dot) if upper else lower_dot


VJP: Rules = {"cholesky": (_cholesky_vjp,)}
JVP: Rules = {"cholesky": (_cholesky_jvp,)}
