"""eig and eigvals of matrices (..., n, n): A V = V diag(w), the columns of V of length 1. All results are
complex, also of a real A.

With H = V^-1 dA V: dw = diag(H), and dV = V C with C_ij = H_ij / (w_j - w_i) off the diagonal (Giles 2008,
section 3.1; Boeddeker et al. 2017 for complex matrices). The diagonal of C keeps the length and the phase of
each vector: v^H dv = 0. A phase is LAPACK's choice; the rules are right for what does not depend on it.

Repeated eigenvalues as in `eigh`: what uses the values alone is right for every function in which the
repeated ones may change places, if the matrix has a basis of eigenvectors. Where it has none, V is singular,
and so the derivatives are large or NaN.
"""

from __future__ import annotations

from typing import Any

from gradfuzz.engine.rules.functions import conj, sum
from gradfuzz.engine.rules.linalg.gaps import divide_by_gaps
from gradfuzz.engine.rules.linalg.matrices import Rule, Rules, adjoint, column, on_diagonal, row
from gradfuzz.engine.rules.value import apply

FORTH: dict[str, Rule] = {"eigvals": lambda a: apply("eig", a, part=0)}

# vjp: A_bar = V^-H (diag(w_bar) + H_bar) V^H ----------------------------------------------------------------


def _eig_vjp(gs: Any, ans: Any, a: Any) -> Any:
    """H_bar_ij = C_bar_ij / conj(w_j - w_i), with C_bar = V^H V_bar - V^H V diag(V^H V_bar): the last term
    because C_jj = -(V^H V C)_jj.
    """
    (w_bar, v_bar), (w, v) = gs, ans
    if v_bar is None:
        return [_values_vjp(w_bar, v)]
    back = adjoint(v)
    lengths = row(sum(conj(v) * v_bar, axis=-2))
    inner = divide_by_gaps(back @ v_bar - (back @ v) * lengths, conj(w), conj(w), hollow=True)
    if w_bar is not None:
        n = w.shape[-1]
        inner = inner + on_diagonal(w_bar, n, n)
    return [apply("solve", back, inner @ back)]


def _values_vjp(w_bar: Any, v: Any) -> Any:
    back = adjoint(v)
    return apply("solve", back, column(w_bar) * back)


VJP: Rules = {"eigvals": (lambda g, ans, a: _values_vjp(g, apply("eig", a, part=1)),)}
VJP_SEVERAL: dict[str, Rule] = {"eig": _eig_vjp}


# jvp --------------------------------------------------------------------------------------------------------


def _in_basis(t: Any, v: Any) -> Any:
    return apply("solve", v, t @ v)


def _eig_jvp(t: Any, ans: Any, a: Any, *, part: int) -> Any:
    w, v = (apply("eig", a, part=k) for k in (0, 1))
    h = _in_basis(t, v)
    if part == 0:
        return apply("diagonal", h)
    moved = v @ apply("divide_by_gaps", h, w, w, hollow=True)
    return moved - v * row(sum(conj(v) * moved, axis=-2))


def _eigvals_jvp(t: Any, ans: Any, a: Any) -> Any:
    return apply("diagonal", _in_basis(t, apply("eig", a, part=1)))


JVP: Rules = {"eig": (_eig_jvp,), "eigvals": (_eigvals_jvp,)}
