"""trace, diagonal, tril, triu, outer, kron, einsum: linear in each argument, so the forward rule is the op
itself.
"""

from __future__ import annotations

from typing import Any

from gradfuzz.engine.rules.functions import broadcast_to, conj, permute_dims, reshape, unbroadcast
from gradfuzz.engine.rules.linalg.matrices import Rules, column, on_diagonal, transpose
from gradfuzz.engine.rules.value import apply
from gradfuzz.programs.language.linalg_rules import diagonal_length

# vjp --------------------------------------------------------------------------------------------------------


def _trace_vjp(g: Any, ans: Any, x: Any, *, offset: int) -> Any:
    *batch, m, n = x.shape
    spread = broadcast_to(column(g), (*batch, diagonal_length(m, n, offset)))
    return on_diagonal(spread, m, n, offset)


def _diagonal_vjp(g: Any, ans: Any, x: Any, *, offset: int) -> Any:
    *_, m, n = x.shape
    return on_diagonal(g, m, n, offset)


def _kron_entries(g: Any, a: Any, b: Any) -> Any:
    """A cotangent of kron(a, b), of shape (..., m p, n q), with the indices of a before those of b: (..., m
    n, p q).
    """
    (m, n), (p, q), batch = a.shape[-2:], b.shape[-2:], g.shape[:-2]
    r = len(batch)
    order = (*range(r), r, r + 2, r + 1, r + 3)
    return reshape(permute_dims(reshape(g, (*batch, m, p, n, q)), order), (*batch, m * n, p * q))


def _kron_vjp_a(g: Any, ans: Any, a: Any, b: Any) -> Any:
    *batch, p, q = b.shape
    product = _kron_entries(g, a, b) @ reshape(conj(b), (*batch, p * q, 1))
    return unbroadcast(reshape(product, (*product.shape[:-2], *a.shape[-2:])), a.shape)


def _kron_vjp_b(g: Any, ans: Any, a: Any, b: Any) -> Any:
    *batch, m, n = a.shape
    product = transpose(_kron_entries(g, a, b)) @ reshape(conj(a), (*batch, m * n, 1))
    return unbroadcast(reshape(product, (*product.shape[:-2], *b.shape[-2:])), b.shape)


def _einsum_vjp(k: int, g: Any, ans: Any, *xs: Any, subscripts: str) -> Any:
    """The sum over all letters but those of operand k; a letter that only operand k has was summed, and is
    spread again.
    """
    left, _, out = subscripts.replace(" ", "").partition("->")
    terms = left.split(",")
    own = "".join(dict.fromkeys(terms[k]))
    others = [(term, conj(x)) for j, (term, x) in enumerate(zip(terms, xs, strict=True)) if j != k]
    found = "".join(c for c in own if c in out or any(c in term for term, _ in others))
    joined = ",".join([out, *(term for term, _ in others)])
    part = apply("einsum", g, *[x for _, x in others], subscripts=f"{joined}->{found}")
    sizes = dict(zip(terms[k], xs[k].shape, strict=True))
    if found != own:
        part = reshape(part, tuple(sizes[c] if c in found else 1 for c in own))
        part = broadcast_to(part, tuple(sizes[c] for c in own))
    return _repeat_letters(part, own, terms[k])


def _repeat_letters(x: Any, letters: str, term: str) -> Any:
    """`x`, with one axis per letter, on the diagonals of an array with the axes of `term`."""
    axes = letters
    for c in letters:
        for _ in range(term.count(c) - 1):
            place = axes.index(c)
            last = permute_dims(x, (*(j for j in range(x.ndim) if j != place), place))
            n = x.shape[place]
            x = on_diagonal(last, n, n)
            axes = axes[:place] + axes[place + 1 :] + c + c
    order: list[int] = []
    for c in term:
        order.append(next(j for j, d in enumerate(axes) if d == c and j not in order))
    return x if order == list(range(x.ndim)) else permute_dims(x, tuple(order))


VJP: Rules = {
    "trace": (_trace_vjp,),
    "diagonal": (_diagonal_vjp,),
    "tril": (lambda g, ans, x, *, k: apply("tril", g, k=k),),
    "triu": (lambda g, ans, x, *, k: apply("triu", g, k=k),),
    "outer": (lambda g, ans, a, b: g @ conj(b), lambda g, ans, a, b: conj(a) @ g),
    "kron": (_kron_vjp_a, _kron_vjp_b),
    "einsum": _einsum_vjp,
}


# jvp --------------------------------------------------------------------------------------------------------


def _linear(op: str) -> Any:
    return lambda t, ans, x, **params: apply(op, t, **params)


def _bilinear(op: str) -> Any:
    return (lambda t, ans, a, b: apply(op, t, b), lambda t, ans, a, b: apply(op, a, t))


def _einsum_jvp(k: int, t: Any, ans: Any, *xs: Any, subscripts: str) -> Any:
    return apply("einsum", *[t if j == k else x for j, x in enumerate(xs)], subscripts=subscripts)


JVP: Rules = {
    "trace": (_linear("trace"),),
    "diagonal": (_linear("diagonal"),),
    "tril": (_linear("tril"),),
    "triu": (_linear("triu"),),
    "outer": _bilinear("outer"),
    "kron": _bilinear("kron"),
    "einsum": _einsum_jvp,
}
