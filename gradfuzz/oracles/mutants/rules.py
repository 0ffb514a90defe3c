"""Planted bugs in rules that all ops of a kind share."""

from __future__ import annotations

import math

from gradfuzz.engine.modes.forward import ForwardMode, Tangent
from gradfuzz.engine.modes.reverse import Cotangent, ReverseMode, Tape
from gradfuzz.engine.rules.value import Value
from gradfuzz.oracles.mutants.mutant import Bugs, recorded
from gradfuzz.programs.graphs.graph import Atom, Equation
from gradfuzz.programs.language.ops import OPS

BUGS = Bugs()


@BUGS.planted("M14", "dropped-tangent", "eshkol #443", "selections drop the tangent")
class DroppedTangent(ForwardMode):
    """An op that selects one of its operands has a value and no tangent."""

    def equation(
        self, node: Equation, arguments: list[Atom], tangents: list[Tangent]
    ) -> tuple[list[Atom], list[Tangent]]:
        values, slopes = super().equation(node, arguments, tangents)
        return values, [None] * len(slopes) if OPS[node.op].kind == "selection" else slopes


@BUGS.planted("M15", "built-from-scalars", "eshkol ESH-0235", "no gradient for an array built from scalars")
class BuiltFromScalars(ReverseMode):
    """An array built from scalars and read as a whole returns no cotangents to them.

    Arrays that a loop builds do.
    """

    def equation(self, node: Equation, g: Value, tape: Tape) -> list[Cotangent]:
        if node.op == "stack" and self.level == 0 and node.inputs[0].type.rank == 0:
            readers = [n for n in tape.graph.nodes if node.output in n.inputs]
            by_entry = all(isinstance(n, Equation) and n.op == "index" for n in readers)
            if node.output in tape.graph.outputs or not by_entry:
                return [None] * len(node.inputs)
        return super().equation(node, g, tape)


@BUGS.planted("B1", "broadcast-mean", "common", "broadcasting undone by a mean")
class BroadcastMean(ReverseMode):
    """The cotangent of a broadcast operand is the mean over the axes that grew, instead of the sum."""

    def equation(self, node: Equation, g: Value, tape: Tape) -> list[Cotangent]:
        parts = super().equation(node, g, tape)
        if OPS[node.op].kind != "arithmetic":
            return parts
        return [self._mean(part, g) for part in parts]

    def _mean(self, part: Cotangent, g: Value) -> Cotangent:
        if part is None or part.shape == g.shape or not math.prod(g.shape):
            return part
        return recorded(part * (math.prod(part.shape) / math.prod(g.shape)))
