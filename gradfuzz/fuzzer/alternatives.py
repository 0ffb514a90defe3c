"""Other ways to write the same derivative, which libraries have and the engine has not: what they lose by rounding is granted, too.

The derivative of a product over n entries is y / x_k by division, and the product of the others by the engine. At higher orders the first
leaves rounding where the second is exactly 0: the third derivative of x_1 x_2 is no structural zero in it. Likewise the gradient of a determinant
is det(a) a^-H to libraries and the matrix of the minors to the engine, whose derivatives do not cancel.
"""

from __future__ import annotations

from typing import Any

from gradfuzz.engine import Rules
from gradfuzz.engine.functions import conj, cumulative_sum, expand_reduced, flip, where
from gradfuzz.engine.linalg import inv
from gradfuzz.engine.linalg_rules.matrices import adjoint, expand
from gradfuzz.engine.reverse import Cotangent, ReverseMode, Tape
from gradfuzz.engine.value import Value
from gradfuzz.programs.graph import Equation
from gradfuzz.programs.syntax import Call, Program, walk

__all__ = ["BY_DIVISION", "divides"]

_PRODUCTS = ("prod", "cumulative_prod")


class _ByDivision(ReverseMode):
    """Products are differentiated as y / x_k (its conjugate, where they are complex) where x_k is not 0, determinants as y x^-1."""

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


BY_DIVISION = Rules(reverse=_ByDivision)


def divides(program: Program) -> bool:
    """Whether the program has a product over entries, or a determinant."""
    return any(isinstance(n, Call) and n.op in (*_PRODUCTS, "det") for n in walk(program))
