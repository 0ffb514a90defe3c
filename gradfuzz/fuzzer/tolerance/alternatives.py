"""Other forms of the same derivative, which libraries use and the engine does not: their loss is allowed.

The derivative of a product over n entries is y / x_k by division; the engine multiplies the others. At higher
orders the first leaves rounding where the second is exactly 0: in it the third derivative of x_1 x_2 is no
structural zero. Likewise libraries compute the gradient of a determinant as det(a) a^-H, and the engine as
the matrix of the minors, whose derivatives do not cancel. The derivative of eigenvectors divides by the gaps
between eigenvalues off the diagonal and is 0 on it; written as 1 / (gap + I) - I it leaves the rounding of
what is added and taken away. That is allowed in proportion to the eigenvalues: a library that adds the
identity itself, however large they are, loses more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradfuzz.engine import Rules
from gradfuzz.engine.linalg import inv
from gradfuzz.engine.modes.reverse import Cotangent, ReverseMode, Tape
from gradfuzz.engine.rules.functions import conj, cumulative_sum, expand_reduced, flip, mean, sqrt, where
from gradfuzz.engine.rules.linalg.matrices import adjoint, expand, on_diagonal
from gradfuzz.engine.rules.value import Value, apply
from gradfuzz.programs.graphs.graph import Equation
from gradfuzz.programs.language.syntax import Call, Program, walk

_PRODUCTS = ("prod", "cumulative_prod")
_HERMITIAN = ("eigh", "eigvalsh")


class _Otherwise(ReverseMode):
    """Differentiates products as y / x_k (its conjugate for complex ones) where x_k is not 0, determinants as
    y x^-1, and eigenvectors with 1 / (gap + c) - 1 / c on the diagonal, where c is the size of the
    eigenvalues.
    """

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


OTHERWISE = Rules(reverse=_Otherwise)


def written_otherwise(program: Program) -> bool:
    """Whether the program has an op whose derivative some library writes in a form that loses more."""
    return any(isinstance(n, Call) and n.op in (*_PRODUCTS, *_HERMITIAN, "det") for n in walk(program))
