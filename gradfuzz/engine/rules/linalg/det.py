"""det and slogdet of matrices (..., n, n).

The determinant is a polynomial, so it has derivatives of every order at every matrix, singular ones included.
The cofactor matrix is its gradient; `cofactor(a, e1, ..., ek)` is that matrix differentiated along e1, ...,
ek. As the derivatives of det are symmetric,

    d <G, cofactor(a, e1, ..., ek)> / d a   = cofactor(a, e1, ..., ek, G)
    d <G, cofactor(a, e1, ..., ek)> / d e_j = cofactor(a, e1, ..., ek without e_j, G).

For complex ones <G, C> is Re sum(conj(G) C), so G and the results are conjugated. log det has the
differential trace(A^-1 dA) (Giles 2008, section 2.2.5), at regular matrices only: its real part is that of
log |det|, its imaginary part turns the sign det / |det|. The sign of a real determinant is constant between
singular matrices.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradfuzz.engine.rules.functions import complex, conj, imag, is_complex, real, reshape, sum, where
from gradfuzz.engine.rules.linalg.matrices import Rule, Rules, adjoint, expand
from gradfuzz.engine.rules.value import apply

# vjp --------------------------------------------------------------------------------------------------------


def _cofactor_vjp(k: int, g: Any, ans: Any, a: Any, *directions: Any) -> Any:
    others = directions if k == 0 else (*directions[: k - 1], *directions[k:])
    return conj(apply("cofactor", a, *others, conj(g)))


def _slogdet_vjp(gs: Any, ans: Any, a: Any) -> Any:
    """A_bar = (g + i Im(conj(sign) sign_bar)) A^-H."""
    sign_bar, g = gs
    if is_complex(a) and sign_bar is not None:
        g = complex(0.0 if g is None else g, imag(conj(ans[0]) * sign_bar))
    return [None if g is None else expand(g) * adjoint(apply("inv", a))]


VJP: Rules = {"det": (lambda g, ans, a: expand(g) * conj(apply("cofactor", a)),), "cofactor": _cofactor_vjp}
VJP_SEVERAL: dict[str, Rule] = {"slogdet": _slogdet_vjp}


# jvp --------------------------------------------------------------------------------------------------------


def _det_jvp(t: Any, ans: Any, a: Any) -> Any:
    """det is linear in every column: the sum of the determinants with one column replaced by that of the
    tangent.
    """
    *batch, n, _ = a.shape
    if n == 0:
        return None
    replaced = np.eye(n, dtype=bool)[:, np.newaxis, :]
    copies = where(replaced, reshape(t, (*batch, 1, n, n)), reshape(a, (*batch, 1, n, n)))
    return sum(apply("det", copies), axis=-1)


def _cofactor_jvp(k: int, t: Any, ans: Any, a: Any, *directions: Any) -> Any:
    """Linear in each direction; along a, one derivative more."""
    if k == 0:
        return apply("cofactor", a, t, *directions)
    return apply("cofactor", a, *[t if j == k else e for j, e in enumerate(directions, 1)])


def _slogdet_jvp(t: Any, ans: Any, a: Any, *, part: int) -> Any:
    """d log det A = trace(A^-1 dA)."""
    if part == 0 and not is_complex(a):
        return None
    slope = apply("trace", apply("solve", a, t))
    return real(slope) if part == 1 else ans * complex(0.0, imag(slope))


JVP: Rules = {"det": (_det_jvp,), "cofactor": _cofactor_jvp, "slogdet": (_slogdet_jvp,)}
