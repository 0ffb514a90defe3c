"""Forward mode: a graph with tangents beside its values."""

from __future__ import annotations

from collections.abc import Sequence

from gradfuzz.engine.modes.inline import apply_rule, emit_loop, or_zeros, primal, values
from gradfuzz.engine.rules.functions import broadcast_to
from gradfuzz.engine.rules.jvp import JVP
from gradfuzz.engine.rules.value import Value
from gradfuzz.errors import NotDifferentiableError
from gradfuzz.programs.graphs.builder import GraphBuilder
from gradfuzz.programs.graphs.graph import Atom, Branch, Constant, Equation, Graph, Loop, Var
from gradfuzz.programs.language.ops import OPS

Tangent = Value | None
"""None: zero, known while the graph is built."""


class ForwardMode:
    """Pushes tangents through a graph, node by node. The rules of a mutant override a method."""

    def __init__(self, builder: GraphBuilder, level: int = 0) -> None:
        self.builder = builder
        self.level = level

    def run(
        self, graph: Graph, inputs: Sequence[Atom], tangents: Sequence[Tangent]
    ) -> tuple[list[Atom], list[Tangent]]:
        """The outputs of `graph` at `inputs`, and their tangents."""
        primal: dict[Var, Atom] = dict(zip(graph.inputs, inputs, strict=True))
        tangent: dict[Var, Tangent] = dict(zip(graph.inputs, tangents, strict=True))

        def read(atom: Atom) -> Atom:
            return atom if isinstance(atom, Constant) else primal[atom]

        def slope(atom: Atom) -> Tangent:
            return None if isinstance(atom, Constant) else tangent.get(atom)

        for node in graph.nodes:
            arguments, slopes = [read(a) for a in node.inputs], [slope(a) for a in node.inputs]
            if isinstance(node, Equation):
                outputs, out_slopes = self.equation(node, arguments, slopes)
            elif isinstance(node, Loop):
                outputs, out_slopes = self.loop(node, arguments, slopes)
            else:
                outputs, out_slopes = self.branch(node, arguments, slopes)
            primal.update(zip(node.outputs, outputs, strict=True))
            tangent.update(zip(node.outputs, out_slopes, strict=True))
        return [read(a) for a in graph.outputs], [slope(a) for a in graph.outputs]

    def value(self, atom: Atom) -> Value:
        return Value(self.builder, atom, self.level)

    def equation(
        self, node: Equation, arguments: list[Atom], tangents: list[Tangent]
    ) -> tuple[list[Atom], list[Tangent]]:
        active = [k for k, t in enumerate(tangents) if t is not None]
        if active:
            ans = self.value(primal(self, node, arguments))
        else:
            ans = self.value(self.builder.emit_as(node.output.name, node.op, *arguments, **dict(node.params)))
        if not active or not node.output.type.is_inexact:
            return [ans.atom], [None]
        if not OPS[node.op].smooth:
            return [ans.atom], [None]
        if node.op not in JVP:
            raise NotDifferentiableError(
                f"no forward rule for {node.op}; give it a line in engine/rules/jvp.py"
            )
        args = [self.value(a) for a in arguments]
        total: Tangent = None
        for k in active:
            part = self.rule(node, k, tangents[k], ans, args)
            if part is None:
                continue
            if part.shape != ans.shape:
                part = broadcast_to(part, ans.shape)
            total = part if total is None else total + part
        return [ans.atom], [total]

    def rule(self, node: Equation, k: int, t: Tangent, ans: Value, args: Sequence[Value]) -> Tangent:
        """The rule's tangent of the result along the tangent of argument `k`, before broadcasting."""
        return apply_rule(JVP, node.op, k, (t, ans, *args), dict(node.params))

    def loop(
        self, node: Loop, arguments: list[Atom], tangents: list[Tangent]
    ) -> tuple[list[Atom], list[Tangent]]:
        """A loop with more carries: the tangents of the carries that can be nonzero, found as a fixpoint."""
        nc, ni, ns = len(node.constants), len(node.initial), len(node.stacks)
        constants, initial, stacks = (
            arguments[:nc],
            arguments[nc : nc + ni],
            arguments[nc + ni : nc + ni + ns],
        )
        t_constants, t_initial, t_stacks = (
            tangents[:nc],
            tangents[nc : nc + ni],
            tangents[nc + ni : nc + ni + ns],
        )
        moving = {k for k, t in enumerate(t_initial) if t is not None}
        while True:
            body = type(self)(GraphBuilder(simplify=True), self.level + 1)
            copies = [body.builder.input(v.type, v.name) for v in node.body.inputs]
            dots = {
                k: body.builder.input(copies[k].type, f"{copies[k].name}_dot")
                for k in range(nc + ni + ns)
                if (k < nc and t_constants[k] is not None)
                or (nc <= k < nc + ni and k - nc in moving)
                or (k >= nc + ni and t_stacks[k - nc - ni] is not None)
            }
            outputs, slopes = body.run(
                node.body, copies, [body.value(dots[k]) if k in dots else None for k in range(len(copies))]
            )
            now = {k for k in range(ni) if slopes[k] is not None}
            if now <= moving:
                break
            moving |= now
        order = sorted(moving)
        new_carries = [or_zeros(body, slopes[k], copies[nc + k]) for k in order]
        new_written = [(k, s) for k, s in enumerate(slopes[ni:]) if s is not None]
        dot_constants = [k for k in dots if k < nc]
        dot_stacks = [k for k in dots if k >= nc + ni]
        results = emit_loop(
            self.builder,
            node,
            constants=[*constants, *(t_constants[k].atom for k in dot_constants)],  # type: ignore[union-attr]
            initial=[*initial, *(or_zeros(self, t_initial[k], initial[k]).atom for k in order)],
            stacks=[*stacks, *(t_stacks[k - nc - ni].atom for k in dot_stacks)],  # type: ignore[union-attr]
            count=arguments[-1] if node.count is not None else None,
            body=body.builder,
            inputs=[
                *copies[:nc],
                *(dots[k] for k in dot_constants),
                *copies[nc : nc + ni],
                *(dots[nc + k] for k in order),
                *copies[nc + ni : nc + ni + ns],
                *(dots[k] for k in dot_stacks),
                *copies[nc + ni + ns :],
            ],
            outputs=[
                *outputs[:ni],
                *(v.atom for v in new_carries),
                *outputs[ni:],
                *(s.atom for _, s in new_written),
            ],
            extra_constants=len(dot_constants),
            extra_carries=len(order),
            lengths=[*node.lengths, *(node.lengths[k] for k, _ in new_written)],
        )
        total, written = len(initial) + len(order), len(outputs) - ni
        out_slopes: list[Tangent] = [None] * len(node.outputs)
        for position, k in enumerate(order):
            out_slopes[k] = self.value(results[ni + position])
        for position, (k, _) in enumerate(new_written):
            out_slopes[ni + k] = self.value(results[total + written + position])
        return [*results[:ni], *results[total : total + written]], out_slopes

    def branch(
        self, node: Branch, arguments: list[Atom], tangents: list[Tangent]
    ) -> tuple[list[Atom], list[Tangent]]:
        operands, dots = arguments[1:], [t for t in tangents[1:] if t is not None]
        sides = []
        for graph in (node.then, node.otherwise):
            side = type(self)(GraphBuilder(simplify=True), self.level + 1)
            copies = [side.builder.input(v.type, v.name) for v in graph.inputs]
            seeds = [side.builder.input(t.type, "t_dot") for t in dots]
            supply = iter(seeds)
            outputs, slopes = side.run(
                graph, copies, [None if t is None else side.value(next(supply)) for t in tangents[1:]]
            )
            sides.append((side, [*copies, *seeds], outputs, slopes))
        needed = [k for k in range(len(node.outputs)) if any(s[3][k] is not None for s in sides)]
        graphs = []
        for side, inputs, outputs, slopes in sides:
            filled = [or_zeros(side, slopes[k], node.outputs[k]).atom for k in needed]
            graphs.append(side.builder.finish(inputs, [*outputs, *filled]))
        names = [v.name for v in node.outputs]
        all_names = [*names, *(f"{names[k]}_dot" for k in needed)]
        results = self.builder.branch(
            arguments[0], [*operands, *(t.atom for t in dots)], graphs[0], graphs[1], all_names
        )
        out_slopes: list[Tangent] = [None] * len(names)
        for position, k in enumerate(needed):
            out_slopes[k] = values(self, results)[len(names) + position]
        return list(results[: len(names)]), out_slopes


def pushforward(graph: Graph, moving: Sequence[int]) -> Graph:
    """`graph` with tangents of the inputs at `moving` as further inputs, and of outputs as outputs."""
    builder = GraphBuilder(simplify=True)
    inputs = [builder.input(v.type, v.name) for v in graph.inputs]
    dots = {k: builder.input(graph.inputs[k].type, f"{graph.inputs[k].name}_dot") for k in moving}
    mode = ForwardMode(builder)
    values, slopes = mode.run(
        graph, inputs, [mode.value(dots[k]) if k in dots else None for k in range(len(inputs))]
    )
    filled = [or_zeros(mode, s, a).atom for s, a in zip(slopes, values, strict=True)]
    return builder.finish([*inputs, *dots.values()], [*values, *filled], f"jvp_{graph.name}")
