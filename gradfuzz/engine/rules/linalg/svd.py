"""svd and svdvals of matrices (..., m, n): A = U diag(s) V^H, s descending, k = min(m, n) of them.

Townsend 2016, "Differentiating the singular value decomposition". His F_ij = 1 / (s_j^2 - s_i^2) appears here
split,

    (p s_j + q s_i) / (s_j^2 - s_i^2) = ((p + q) / (s_j - s_i) + (p - q) / (s_j + s_i)) / 2,

so that nothing is squared. Of complex matrices a pair of vectors has a common phase, which the rules let
alone: right for what does not depend on it. Against each other their phases turn by Im(u^H dA v) / s (Wan &
Zhang 2019), which is the second quotient on the diagonal. What uses the singular values alone needs no F: it
is right wherever the function is smooth. What uses vectors assumes distinct values, and values above 0 for
the parts outside the smaller space; where they are not, what divides by such a gap is 0 for 0, and NaN
otherwise (see `gaps`). That is also so for second derivatives of functions of the values alone.

With full_matrices the further vectors, of U where m > n, of V where m < n, are a basis of the complement. One
such vector has a derivative; of several, only what does not depend on the basis has one: the cotangent of A
is NaN unless U2^H U2_bar is exactly Hermitian, the tangents of the further vectors are NaN unless that of A
is 0.
"""

from __future__ import annotations

from typing import Any

from gradfuzz.engine.rules.functions import concat, conj, is_complex, real, sum
from gradfuzz.engine.rules.linalg.gaps import divide_by_gaps, zero_or_nan
from gradfuzz.engine.rules.linalg.matrices import (
    Rule,
    Rules,
    adjoint,
    columns,
    expand,
    on_diagonal,
    row,
    to_dtype_of,
    zeros,
)
from gradfuzz.engine.rules.value import apply

FORTH: dict[str, Rule] = {"svdvals": lambda a: apply("svd", a, full_matrices=False, part=1)}

# vjp --------------------------------------------------------------------------------------------------------


def _svd_vjp(gs: Any, ans: Any, a: Any, *, full_matrices: bool) -> Any:
    (u_bar, s_bar, vh_bar), (u, s, vh) = gs, ans
    if u_bar is None and vh_bar is None:
        k = s.shape[-1]
        return [_values_vjp(s_bar, columns(u, 0, k), columns(adjoint(vh), 0, k))]
    v, v_bar = adjoint(vh), None if vh_bar is None else adjoint(vh_bar)
    return [_vectors_vjp(u_bar, s_bar, v_bar, u, s, v)]


def _values_vjp(s_bar: Any, u: Any, v: Any) -> Any:
    return (u * row(s_bar)) @ adjoint(v)


def _vectors_vjp(u_bar: Any, s_bar: Any, v_bar: Any, u: Any, s: Any, v: Any) -> Any:
    """A_bar = U1 M V1^H, and what lies outside the k-dimensional spaces of U1 and V1.

    M = herm(P_ij / (s_j - s_i)) + skew(N_ij / (s_j + s_i)) + diag(s_bar), with P and N the sum and the
    difference of U1^H U1_bar and V1^H V1_bar.
    """
    k = s.shape[-1]
    u1, v1 = columns(u, 0, k), columns(v, 0, k)
    turn_u, outside_u = _split(u_bar, u, u1, s)
    turn_v, outside_v = _split(v_bar, v, v1, s)
    if turn_u is None or turn_v is None:
        total = turn_v if turn_u is None else turn_u
        difference = -turn_v if turn_u is None else turn_u
    else:
        total, difference = turn_u + turn_v, turn_u - turn_v
    even = divide_by_gaps(total, s, s, hollow=True)
    odd = divide_by_gaps(difference, -s, s, hollow=not is_complex(difference))
    inner = 0.5 * (even + adjoint(even) + odd - adjoint(odd))
    if s_bar is not None:
        inner = inner + on_diagonal(s_bar, k, k)
    result = u1 @ inner @ adjoint(v1)
    if outside_u is not None:
        result = result + outside_u @ adjoint(v1)
    return result if outside_v is None else result + u1 @ adjoint(outside_v)


def _split(u_bar: Any, u: Any, u1: Any, s: Any) -> tuple[Any, Any]:
    """U1^H U1_bar; and (I - U1 U1^H) U1_bar diag(s)^-1, where U1 is not square, with what the further columns
    of U add.

    Those, U2, stay orthogonal to U1: dU2 = -U1 dU1^H U2, which is U2 U2_bar^H U1 off U1_bar.
    """
    if u_bar is None:
        return None, None
    m, k = u1.shape[-2:]
    u1_bar = columns(u_bar, 0, k)
    turn = adjoint(u1) @ u1_bar
    if m == k:
        return turn, None
    if u.shape[-1] == k:
        outside = u1_bar - u1 @ turn
        return turn, divide_by_gaps(outside, zeros(s, outside.shape[:-1]), s)
    u2, u2_bar = columns(u, k, m), columns(u_bar, k, m)
    between = adjoint(u2) @ u1_bar - adjoint(u2_bar) @ u1
    if m - k > 1:
        within = adjoint(u2) @ u2_bar
        between = between + expand(sum(zero_or_nan(within - adjoint(within)), axis=(-2, -1)))
    return turn, u2 @ divide_by_gaps(between, zeros(s, between.shape[:-1]), s)


def _svdvals_vjp(g: Any, ans: Any, a: Any) -> Any:
    u, vh = (apply("svd", a, full_matrices=False, part=k) for k in (0, 2))
    return _values_vjp(g, u, adjoint(vh))


VJP: Rules = {"svdvals": (_svdvals_vjp,)}
VJP_SEVERAL: dict[str, Rule] = {"svd": _svd_vjp}


# jvp --------------------------------------------------------------------------------------------------------


def _svd_jvp(t: Any, ans: Any, a: Any, *, full_matrices: bool, part: int) -> Any:
    """With H = U1^H dA V1: ds = diag(H), and U1^H dU1, V1^H dV1 from H and H^H (Townsend 2016, equations 16
    to 18).
    """
    u, s, vh = (apply("svd", a, full_matrices=full_matrices, part=k) for k in range(3))
    k = s.shape[-1]
    v = adjoint(vh)
    left, right = columns(u, 0, k), columns(v, 0, k)
    h = adjoint(left) @ t @ right
    if part == 1:
        return real(apply("diagonal", h))
    even = apply("divide_by_gaps", h + adjoint(h), s, s, hollow=True)
    odd = apply("divide_by_gaps", h - adjoint(h), -s, s, hollow=not is_complex(h))
    if part == 0:
        return _basis_jvp(t, t @ right, u, left, 0.5 * (even + odd), s)
    return adjoint(_basis_jvp(t, adjoint(t) @ left, v, right, 0.5 * (even - odd), s))


def _basis_jvp(t: Any, image: Any, basis: Any, first: Any, turn: Any, s: Any) -> Any:
    """The tangent of U (or V): `turn` within U1, image = dA V1 (or dA^H U1) divided by s out of it, and U2
    kept orthogonal to U1.
    """
    m, k = first.shape[-2:]
    dot = first @ turn
    if m == k:
        return dot
    outer = image - first @ (adjoint(first) @ image)
    dot = dot + apply("divide_by_gaps", outer, zeros(s, outer.shape[:-1]), s, hollow=False)
    if basis.shape[-1] == k:
        return dot
    further = columns(basis, k, m)
    further_dot = -(first @ (adjoint(dot) @ further))
    if m - k > 1:
        further_dot = further_dot + zero_or_nan(expand(to_dtype_of(t, sum(abs(t), axis=(-2, -1)))))
    return concat([dot, further_dot], axis=-1)


def _svdvals_jvp(t: Any, ans: Any, a: Any) -> Any:
    u, vh = (apply("svd", a, full_matrices=False, part=k) for k in (0, 2))
    return sum(real(conj(u) * (t @ adjoint(vh))), axis=-2)


JVP: Rules = {"svd": (_svd_jvp,), "svdvals": (_svdvals_jvp,)}
