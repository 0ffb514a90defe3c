"""Other forms of the same derivative, which libraries use and the engine does not: their loss is allowed.

The derivative of a product over n entries is y / x_k by division; the engine multiplies the others. At higher
orders the first leaves rounding where the second is exactly 0: in it the third derivative of x_1 x_2 is no
structural zero. Likewise libraries compute the gradient of a determinant as det(a) a^-H, and the engine as
the matrix of the minors, whose derivatives do not cancel. The derivative of eigenvectors divides by the gaps
between eigenvalues off the diagonal and is 0 on it; written as 1 / (gap + I) - I it leaves the rounding of
what is added and taken away. That is allowed in proportion to the eigenvalues: a library that adds the
identity itself, however large they are, loses more. The slope of |x| is its sign; as x / |x| its derivatives
are a difference of two quotients that are equal but for rounding. JAX completes a factor of `lu` that is not
square by an identity, and divides by what it multiplies with.

Where a row grants an elementwise function what a rounding of its argument changes, its slope is granted the
same: that of acosh near 1 is 1 / sqrt(x^2 - 1) in libraries. Some rows have slopes that libraries write and
that lose more: y (1 - y) of a sigmoid y. In float64 these are allowed while half of the digits are left; an
entry that is 0 has none, and is allowed what is left of the terms that cancel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gradfuzz.engine import Rules
from gradfuzz.engine.linalg import inv
from gradfuzz.engine.modes.reverse import Cotangent, ReverseMode, Tape
from gradfuzz.engine.rules.elementwise import vjp_rules
from gradfuzz.engine.rules.functions import (
    concat,
    conj,
    cumulative_sum,
    expand_reduced,
    flip,
    mean,
    sqrt,
    where,
)
from gradfuzz.engine.rules.linalg.matrices import adjoint, expand, on_diagonal, solve_adjoint, zeros
from gradfuzz.engine.rules.value import Value, apply
from gradfuzz.engine.rules.vjp import VJP
from gradfuzz.programs.graphs.graph import Equation
from gradfuzz.programs.language.functions import FUNCTIONS, Function, for_each
from gradfuzz.programs.language.program import Program, walk
from gradfuzz.programs.language.syntax import Call

_PRODUCTS = ("prod", "cumulative_prod")
_HERMITIAN = ("eigh", "eigvalsh")


class _Otherwise(ReverseMode):
    """Differentiates products as y / x_k (its conjugate for complex ones) where x_k is not 0, determinants as
    y x^-1, |x| as x / |x|, and eigenvectors with 1 / (gap + c) - 1 / c on the diagonal, where c is the size
    of the eigenvalues.
    """

    slopes: Mapping[str, Any]
    """The rules of elementwise functions."""

    def rule(self, node: Equation, k: int, g: Value, ans: Value, args: Sequence[Value]) -> Cotangent:
        if node.op == "abs":
            return _abs(g, ans, *args)
        if node.op not in FUNCTIONS:
            return super().rule(node, k, g, ans, args)
        part: Cotangent = self.slopes[node.op][k](g, ans, *args, **dict(node.params))
        return part

    def equation(self, node: Equation, g: Value, tape: Tape) -> list[Cotangent]:
        (others, *_) = parts = super().equation(node, g, tape)
        if node.op not in (*_PRODUCTS, "det") or others is None:
            return parts
        x, y = self.value(tape.read(node.inputs[0])), self.value(tape.read(node.output))
        if node.op == "det":
            return [expand(g * conj(y)) * inv(adjoint(x))]
        params: dict[str, Any] = dict(node.params)
        if node.op == "prod":
            whole = expand_reduced(g * conj(y), x.shape, params["axis"], params["keepdims"])
        else:
            axis = params["axis"]
            whole = flip(cumulative_sum(flip(g * conj(y), axis=axis), axis=axis), axis=axis)
        zero = x == 0.0
        part = where(zero, others, whole / conj(where(zero, 1.0, x)))
        assert isinstance(part, Value), "made of values"
        return [part]

    def equation_of_several(self, node: Equation, gs: Sequence[Cotangent], tape: Tape) -> list[Cotangent]:
        if node.op == "lu":
            gs = _completed(gs, self.value(tape.read(node.inputs[0])))
        parts = super().equation_of_several(node, gs, tape)
        if node.op != "eigh" or parts[0] is None or gs[1] is None:
            return parts
        a = self.value(tape.read(node.inputs[0]))
        w, v = (apply("eigh", a, part=k) for k in (0, 1))
        size = sqrt(mean(w * w, axis=-1, keepdims=True))
        almost_zero = 1.0 / ((size + w) - w) - 1.0 / size
        n = w.shape[-1]
        diagonal = on_diagonal(apply("diagonal", adjoint(v) @ gs[1]) * almost_zero, n, n)
        total = parts[0] + v @ diagonal @ adjoint(v)
        assert isinstance(total, Value), "a sum of values is a value"
        return [total]


def _completed(gs: Sequence[Cotangent], a: Value) -> list[Cotangent]:
    """The cotangents of P, L and U, where that of a wide U is multiplied by it and divided by it again, after
    rows of the identity made a square of it; of a tall L likewise with columns.
    """
    (p_bar, l_bar, u_bar), (*batch, m, n) = gs, a.shape
    ones = zeros(a, (*batch, abs(m - n))) + 1.0
    if n > m and u_bar is not None:
        u = concat([apply("lu", a, part=2), on_diagonal(ones, n - m, n, offset=m)], axis=-2)
        u_bar = solve_adjoint(u, u_bar @ adjoint(u), lower=False, left=False)
    if m > n and l_bar is not None:
        lower = concat([apply("lu", a, part=1), on_diagonal(ones, m, m - n, offset=-n)], axis=-1)
        l_bar = solve_adjoint(lower, adjoint(lower) @ l_bar, lower=True, unit_diagonal=True)
    return [p_bar, l_bar, u_bar]


def _abs(g: Value, ans: Value, x: Value) -> Cotangent:
    part: Cotangent = g * (x / where(ans == 0.0, 1.0, ans))
    return part


_SLOPES: dict[str, Any] = dict(VJP)
"""The rules of all ops, those of elementwise functions at arguments that are rounded."""

_LOSSY: dict[str, Any] = dict(VJP)
"""The same, by the slopes of the rows that lose more."""


def _rounded(rule: Callable[..., Any]) -> Callable[..., Any]:
    """The rule at arguments that a tolerance moves: `positive` is what a rounding alone may do."""
    return lambda g, ans, *args, **params: rule(g, ans, *(apply("positive", x) for x in args), **params)


@for_each
def _enter(row: Function) -> None:
    for known, slopes in ((_SLOPES, row.slopes), (_LOSSY, row.otherwise or row.slopes)):
        rules = vjp_rules(replace(row, slopes=slopes), known)
        known[row.name] = tuple(map(_rounded, rules)) if row.conditioned else rules


class _Usual(_Otherwise):
    slopes = _SLOPES


class _Lossy(_Otherwise):
    slopes = _LOSSY


OTHERWISE, LOSSY = Rules(reverse=_Usual), Rules(reverse=_Lossy)


def written_otherwise(program: Program) -> list[Rules]:
    """The rules that differ for an op of the program from those of the engine."""
    ops = {n.op for n in walk(program) if isinstance(n, Call)}
    rows = [FUNCTIONS[op] for op in ops & FUNCTIONS.keys()]
    usual = bool(ops & {*_PRODUCTS, *_HERMITIAN, "det", "abs", "lu"}) or any(row.conditioned for row in rows)
    return [OTHERWISE] * usual + [LOSSY] * any(row.otherwise for row in rows)
