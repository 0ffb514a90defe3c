"""Planted bugs in the rules of complex numbers: right for real ones, wrong in a conjugate."""

from __future__ import annotations

from typing import ClassVar

from gradfuzz.engine import conj
from gradfuzz.engine.modes.reverse import Cotangent, ReverseMode, Tape
from gradfuzz.engine.rules.value import Value
from gradfuzz.oracles.mutants.mutant import Bugs, recorded
from gradfuzz.programs.graphs.graph import Equation

BUGS = Bugs()


class _Unconjugated(ReverseMode):
    """One op pulls back by its other operand itself instead of the conjugate."""

    op: ClassVar[str]

    def equation(self, node: Equation, g: Value, tape: Tape) -> list[Cotangent]:
        if node.op != self.op or not g.type.is_complex:
            return super().equation(node, g, tape)
        # The rule multiplies by a conjugate. Between two more conjugations it multiplies by the operand
        # itself.
        return [None if p is None else _conj(p) for p in super().equation(node, _conj(g), tape)]


@BUGS.planted("C1", "conjugate-forgotten", "common", "products pull back by the factor, not its conjugate")
class _Products(_Unconjugated):
    op = "multiply"


@BUGS.planted("C2", "adjoint-transposed", "common", "matrix products pull back by the transpose")
class _MatrixProducts(_Unconjugated):
    op = "matmul"


@BUGS.planted("C3", "modulus-conjugate", "common", "the gradient of the modulus conjugated")
class _Modulus(ReverseMode):
    """The modulus grows along conj(z) / |z|, which is right for real z."""

    def equation(self, node: Equation, g: Value, tape: Tape) -> list[Cotangent]:
        (part, *rest) = super().equation(node, g, tape)
        if node.op != "abs" or part is None or not part.type.is_complex:
            return [part, *rest]
        return [_conj(part)]


def _conj(z: Value) -> Value:
    return recorded(conj(z))
