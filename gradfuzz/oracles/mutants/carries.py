"""Planted bugs in loop carries: vector components, shared buffers, scalars next to arrays, unused ones."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from gradfuzz.engine.modes.reverse import Cotangent, Pullback, ReverseMode, Tape
from gradfuzz.oracles.mutants.flow import InLoops
from gradfuzz.oracles.mutants.mutant import Bugs, recorded
from gradfuzz.programs.graphs.builder import GraphBuilder, constant
from gradfuzz.programs.graphs.graph import Atom, Equation, Graph, Loop, Var
from gradfuzz.programs.language.types import INT

BUGS = Bugs()


@BUGS.planted("M9", "vector-components", "Quadrants #797")
class MixedComponents(InLoops):
    """The sweep treats a vector carry rebuilt from its components as assigned in place, one by one."""

    summary = "components of a rebuilt vector swept as if assigned one after the other"

    def forward(self, graph: Graph, inputs: Sequence[Atom], active: Sequence[bool]) -> Tape:
        kind = _InPlace if self.around and graph is self.around[-1].body else Tape
        return kind(self, graph, inputs, active)


class _InPlace(Tape):
    """The body of a loop whose rebuilt vectors are swept component by component, last one first."""

    def backward(self, gs: Sequence[Cotangent]) -> list[Cotangent]:
        assert isinstance(self.mode, InLoops), "who makes this tape"
        node = self.mode.around[-1]
        nc = len(node.constants)
        made = {n.output: n for n in self.graph.nodes if isinstance(n, Equation) and n.op == "stack"}
        carries = enumerate(self.graph.outputs[: len(node.initial)])
        rebuilt = [k for k, v in carries if v in made and v.type.rank == 1]
        parts = super().backward([None if k in rebuilt else g for k, g in enumerate(gs)])
        for k in rebuilt:
            bar = gs[k]
            for component in reversed(range(self.graph.outputs[k].type.sizes[0])):
                if bar is None:
                    break
                unit = np.eye(bar.shape[0])[component]
                pulled = super().backward([bar * unit if j == k else None for j in range(len(gs))])
                bar, pulled[nc + k] = self._sum(bar * (1.0 - unit), pulled[nc + k]), None
                parts = [self._sum(p, q) for p, q in zip(parts, pulled, strict=True)]
            parts[nc + k] = self._sum(parts[nc + k], bar)
        return parts

    def _sum(self, a: Cotangent, b: Cotangent) -> Cotangent:
        return b if a is None else a if b is None else self.mode.add(a, b)


@BUGS.planted("M17", "shared-buffer", "torch #153679")
class SharedBuffer(ReverseMode):
    """A loop that continues with an earlier loop's carry overwrites the first state that one saved."""

    summary = "the first saved state of a loop overwritten by the loop that goes on with its carry"

    def loop(self, node: Loop, gs: Sequence[Cotangent], tape: Tape) -> list[Cotangent]:
        for k, carry in enumerate(node.carries):
            later = next((n for n in tape.graph.nodes if isinstance(n, Loop) and carry in n.initial), None)
            if later is not None and carry.type.is_inexact:
                final = tape.read(later.carries[later.initial.index(carry)])
                tape.saved[node][k] = self._overwritten(tape.saved[node][k], final)
        return super().loop(node, gs, tape)

    def _overwritten(self, stack: Atom, value: Atom) -> Atom:
        """A stack with `value` in place of its first entry."""
        assert isinstance(stack, Var), "a saved stack is a value"
        body = GraphBuilder()
        other, entry = body.input(value.type, "other"), body.input(value.type, "entry")
        index = body.input(INT, "k")
        chosen = body.emit("where", body.emit("equal", index, constant(0)), other, entry)
        (result,) = self.builder.loop(
            "for",
            constants=[value],
            initial=[],
            stacks=[stack],
            body=body.finish([other, entry, index], [chosen], "overwrite"),
        )
        return result


@BUGS.planted("M18", "wide-scalar", "drjit #536")
class WideScalar(ReverseMode):
    """The adjoint of a scalar carry next to an array has the array's width.

    Dr.Jit stops with an error there. Summed over the width, the adjoint counts once for every entry.
    """

    summary = "adjoint of a scalar carry counted once per entry of the array carry next to it"

    def loop(self, node: Loop, gs: Sequence[Cotangent], tape: Tape) -> list[Cotangent]:
        widths = [math.prod(v.type.sizes) for v in node.carries if v.type.is_inexact and v.type.shape]
        if widths and not _is_a_way_back(node):
            scalars = {k for k, v in enumerate(node.carries) if v.type.rank == 0}
            wide = float(widths[0])
            gs = [recorded(g * wide) if g is not None and k in scalars else g for k, g in enumerate(gs)]
        return super().loop(node, gs, tape)


@BUGS.planted("M21", "unused-output", "torch #172568")
class UnusedOutput(ReverseMode):
    """A carry of the program that is not read after the loop has no adjoint inside it either."""

    summary = "a carry that is not read after the loop has no adjoint inside it"

    def pullback(self, node: Loop, gs: Sequence[Cotangent], tape: Tape) -> Pullback:
        read = {a for n in tape.graph.nodes for a in n.inputs} | set(tape.graph.outputs)
        unused = {k for k, v in enumerate(node.carries) if v not in read and not v.name.endswith("_dot")}
        if not unused or _is_a_way_back(node):
            return super().pullback(node, gs, tape)
        moving = {k for k in range(len(node.initial)) if gs[k] is not None}
        while True:
            pull = Pullback(self.nested(), node, gs, tape, sorted(moving))
            if pull.reached - unused <= moving:
                return pull
            moving |= pull.reached - unused


def _is_a_way_back(node: Loop) -> bool:
    """Whether a loop was made by reverse mode; otherwise it is the program's own or carries its tangents."""
    return node.body.name == "pullback"
