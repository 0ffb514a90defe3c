"""lu of matrices (..., m, n): A = P L U with L of shape (m, k), unit lower, and U of (k, n), upper, k =
min(m, n).

P is constant between changes of pivots. Assumed: the first k pivots are not 0. The square case as in Seeger
et al. 2017 for its factors: with F = L^-1 P^T dA U^-1, the lower part of F moves L and the rest moves U.
Where A is tall, the further rows of P^T A are L2 U; where it is wide, its further columns are L U2.
"""

from __future__ import annotations

from typing import Any

from gradfuzz.engine.rules.functions import concat
from gradfuzz.engine.rules.linalg.matrices import (
    Rule,
    Rules,
    adjoint,
    below,
    columns,
    rows,
    solve_adjoint,
    transpose,
    zeros,
)
from gradfuzz.engine.rules.value import apply

# vjp --------------------------------------------------------------------------------------------------------


def _lu_vjp(gs: Any, ans: Any, a: Any) -> Any:
    (_, l_bar, u_bar), (p, lower, upper) = gs, ans
    if l_bar is None and u_bar is None:
        return [None]
    *_, m, n = a.shape
    k = min(m, n)
    l1, u1 = rows(lower, 0, k), columns(upper, 0, k)
    l1_bar = None if l_bar is None else below(rows(l_bar, 0, k))
    u1_bar = None if u_bar is None else apply("triu", columns(u_bar, 0, k))
    further: Any = None
    if m > k and l_bar is not None:
        further = solve_adjoint(u1, rows(l_bar, k, m), lower=False, left=False)
        u1_bar = _minus(u1_bar, apply("triu", adjoint(rows(lower, k, m)) @ further))
    if n > k and u_bar is not None:
        further = solve_adjoint(l1, columns(u_bar, k, n), lower=True, unit_diagonal=True)
        l1_bar = _minus(l1_bar, below(further @ adjoint(columns(upper, k, n))))
    main = _square_vjp(l1_bar, u1_bar, l1, u1)
    if max(m, n) > k:
        if further is None:
            further = zeros(main, (*a.shape[:-2], m - k, n) if m > k else (*a.shape[:-2], m, n - k))
        main = concat([main, further], axis=-2 if m > k else -1)
    return [p @ main]


def _minus(x: Any, y: Any) -> Any:
    return -y if x is None else x - y


def _square_vjp(l_bar: Any, u_bar: Any, lower: Any, upper: Any) -> Any:
    """L^-H (tril(L^H L_bar, -1) + triu(U_bar U^H)) U^-H."""
    parts = []
    if l_bar is not None:
        parts.append(below(adjoint(lower) @ l_bar))
    if u_bar is not None:
        parts.append(apply("triu", u_bar @ adjoint(upper)))
    inner = parts[0] if len(parts) == 1 else parts[0] + parts[1]
    left = solve_adjoint(lower, inner, lower=True, unit_diagonal=True)
    return solve_adjoint(upper, left, lower=False, left=False)


VJP_SEVERAL: dict[str, Rule] = {"lu": _lu_vjp}


# jvp --------------------------------------------------------------------------------------------------------


def _lu_jvp(t: Any, ans: Any, a: Any, *, part: int) -> Any:
    if part == 0:
        return None
    p, lower, upper = (apply("lu", a, part=k) for k in range(3))
    *_, m, n = a.shape
    k = min(m, n)
    permuted = transpose(p) @ t
    l1, u1 = rows(lower, 0, k), columns(upper, 0, k)
    scaled = apply("triangular_solve", l1, columns(rows(permuted, 0, k), 0, k), unit_diagonal=True)
    f = apply("triangular_solve", u1, scaled, lower=False, left=False)
    if part == 1:
        l_dot = l1 @ apply("tril", f, k=-1)
        if m == k:
            return l_dot
        change = rows(permuted, k, m) - rows(lower, k, m) @ (apply("triu", f) @ u1)
        return concat([l_dot, apply("triangular_solve", u1, change, lower=False, left=False)], axis=-2)
    u_dot = apply("triu", f) @ u1
    if n == k:
        return u_dot
    change = columns(permuted, k, n) - l1 @ (apply("tril", f, k=-1) @ columns(upper, k, n))
    return concat([u_dot, apply("triangular_solve", l1, change, unit_diagonal=True)], axis=-1)


JVP: Rules = {"lu": (_lu_jvp,)}
