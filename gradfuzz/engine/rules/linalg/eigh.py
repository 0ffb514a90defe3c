"""eigh and eigvalsh of matrices (..., n, n): (A + A^H) / 2 = V diag(w) V^H, w ascending.

As functions of the Hermitian part of A their gradients are Hermitian. Giles 2008, section 3.1, with F_ij = 1
/ (w_j - w_i) off the diagonal. Complex vectors have any phase: the rules keep v^H dv = 0, which is right for
what does not depend on it.

Repeated eigenvalues, which are those within rounding of each other: what uses the values alone is
differentiated without F. It is right for every function in which the repeated ones may change places, such as
their sum; a function of a single one of them has a kink there, and gets the slope that belongs to LAPACK's
basis. What uses the vectors is right where nothing depends on the basis of the repeated eigenspace in a way
that the rule can see: a zero stays zero. Otherwise it is NaN; so is the second derivative of values alone,
unless it does not mix that eigenspace.
"""

from __future__ import annotations

from typing import Any

from gradfuzz.engine.rules.functions import real
from gradfuzz.engine.rules.linalg.gaps import divide_by_gaps
from gradfuzz.engine.rules.linalg.matrices import Rule, Rules, adjoint, hermitian_part, on_diagonal, row
from gradfuzz.engine.rules.value import apply

FORTH: dict[str, Rule] = {"eigvalsh": lambda a: apply("eigh", a, part=0)}

# vjp: A_bar = V (diag(w_bar) + F o (V^H V_bar)) V^H ---------------------------------------------------------


def _eigh_vjp(gs: Any, ans: Any, a: Any) -> Any:
    (w_bar, v_bar), (w, v) = gs, ans
    if v_bar is None:
        return [_values_vjp(w_bar, v)]
    inner = divide_by_gaps(adjoint(v) @ v_bar, w, w, hollow=True)
    if w_bar is not None:
        n = w.shape[-1]
        inner = inner + on_diagonal(w_bar, n, n)
    return [hermitian_part(v @ inner @ adjoint(v))]


def _values_vjp(w_bar: Any, v: Any) -> Any:
    return (v * row(w_bar)) @ adjoint(v)


VJP: Rules = {"eigvalsh": (lambda g, ans, a: _values_vjp(g, apply("eigh", a, part=1)),)}
VJP_SEVERAL: dict[str, Rule] = {"eigh": _eigh_vjp}


# jvp: with H = V^H dA V, dw = diag(H) and dV = V (F o H) ----------------------------------------------------


def _in_basis(t: Any, v: Any) -> Any:
    return adjoint(v) @ hermitian_part(t) @ v


def _eigh_jvp(t: Any, ans: Any, a: Any, *, part: int) -> Any:
    w, v = (apply("eigh", a, part=k) for k in (0, 1))
    h = _in_basis(t, v)
    return real(apply("diagonal", h)) if part == 0 else v @ apply("divide_by_gaps", h, w, w, hollow=True)


def _eigvalsh_jvp(t: Any, ans: Any, a: Any) -> Any:
    return real(apply("diagonal", _in_basis(t, apply("eigh", a, part=1))))


JVP: Rules = {"eigh": (_eigh_jvp,), "eigvalsh": (_eigvalsh_jvp,)}
