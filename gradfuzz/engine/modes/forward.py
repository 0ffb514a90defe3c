"""Forward mode: a graph with tangents beside its values."""

from __future__ import annotations

from collections.abc import Sequence

from gradfuzz.engine.modes.inline import apply_rule, copy_node, emit_loop, or_zeros, primal
from gradfuzz.engine.rules.functions import broadcast_to
from gradfuzz.engine.rules.jvp import JVP
from gradfuzz.engine.rules.value import Value
from gradfuzz.errors import NotDifferentiableError
from gradfuzz.programs.graphs.builder import GraphBuilder
from gradfuzz.programs.graphs.graph import Atom, Branch, Constant, Equation, Graph, Loop, Var
from gradfuzz.programs.language.ops import OPS

Tangent = Value | None
"""None: zero, known while the graph is built."""
Pushed = tuple[list[Atom], list[Tangent]]
"""Values and their tangents."""


class ForwardMode:
    """Pushes tangents through a graph, node by node. The rules of a mutant override a method."""

    def __init__(self, builder: GraphBuilder, level: int = 0) -> None:
        self.builder = builder
        self.level = level

    def nested(self) -> ForwardMode:
        """The same rules for an inner graph."""
        return type(self)(GraphBuilder(simplify=True), self.level + 1)

    def run(self, graph: Graph, inputs: Sequence[Atom], tangents: Sequence[Tangent]) -> Pushed:
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

    def equation(self, node: Equation, arguments: list[Atom], tangents: list[Tangent]) -> Pushed:
        active = [k for k, t in enumerate(tangents) if t is not None]
        if not active:
            return list(copy_node(self.builder, node, arguments)), [None]
        ans = self.value(primal(self, node, arguments))
        if not node.output.type.is_inexact or not OPS[node.op].smooth:
            return [ans.atom], [None]
        if node.op not in JVP:
            place = "engine/rules/jvp.py"
            raise NotDifferentiableError(f"no forward rule for {node.op}; give it a line in {place}")
        args = [self.value(a) for a in arguments]
        total: Tangent = None
        for k in active:
            part = self.rule(node, k, tangents[k], ans, args)
            if part is not None:
                part = part if part.shape == ans.shape else broadcast_to(part, ans.shape)
                total = part if total is None else total + part
        return [ans.atom], [total]

    def rule(self, node: Equation, k: int, t: Tangent, ans: Value, args: Sequence[Value]) -> Tangent:
        """The rule's tangent of the result along the tangent of argument `k`, before broadcasting."""
        return apply_rule(JVP, node.op, k, (t, ans, *args), dict(node.params))

    def loop(self, node: Loop, arguments: list[Atom], tangents: list[Tangent]) -> Pushed:
        """A loop with more carries: the tangents of the carries that can be nonzero, found as a fixpoint."""
        nc, ni = len(node.constants), len(node.initial)
        moving = {k for k, t in enumerate(tangents) if t is not None}
        while True:
            body = self.nested()
            copies = [body.builder.input(v.type, v.name) for v in node.body.inputs]
            dots = {k: body.builder.input(copies[k].type, f"{copies[k].name}_dot") for k in sorted(moving)}
            seeds = [body.value(dots[k]) if k in dots else None for k in range(len(copies))]
            outputs, slopes = body.run(node.body, copies, seeds)
            now = {nc + k for k in range(ni) if slopes[k] is not None}
            if now <= moving:
                break
            moving |= now
        extra = [
            [(or_zeros(self, tangents[k], arguments[k]).atom, dots[k]) for k in part if k in dots]
            for part in node.split(range(len(copies)))[:3]
        ]
        carried = [k for k in range(ni) if nc + k in dots]
        written = [k for k in range(ni, len(slopes)) if slopes[k] is not None]
        more = [or_zeros(body, slopes[k], outputs[k]).atom for k in [*carried, *written]]
        n = len(carried)
        results = emit_loop(
            self.builder,
            node,
            arguments,
            body.builder,
            copies,
            [*outputs[:ni], *more[:n], *outputs[ni:], *more[n:]],
            extra=(extra[0], extra[1], extra[2]),
            lengths=[*node.lengths, *(node.lengths[k - ni] for k in written)],
        )
        end = n + len(outputs)
        out: list[Tangent] = [None] * len(outputs)
        for k, dot in zip([*carried, *written], [*results[ni : ni + n], *results[end:]], strict=True):
            out[k] = self.value(dot)
        return [*results[:ni], *results[ni + n : end]], out

    def branch(self, node: Branch, arguments: list[Atom], tangents: list[Tangent]) -> Pushed:
        operands, dots = arguments[1:], [t for t in tangents[1:] if t is not None]
        sides = []
        for graph in (node.then, node.otherwise):
            side = self.nested()
            copies = [side.builder.input(v.type, v.name) for v in graph.inputs]
            seeds = [side.builder.input(t.type, "t_dot") for t in dots]
            supply = iter(seeds)
            given = [None if t is None else side.value(next(supply)) for t in tangents[1:]]
            outputs, slopes = side.run(graph, copies, given)
            sides.append((side, [*copies, *seeds], outputs, slopes))
        needed = [k for k in range(len(node.outputs)) if any(s[3][k] is not None for s in sides)]
        graphs = []
        for side, inputs, outputs, slopes in sides:
            filled = [or_zeros(side, slopes[k], node.outputs[k]).atom for k in needed]
            graphs.append(side.builder.finish(inputs, [*outputs, *filled]))
        names = [v.name for v in node.outputs]
        all_names = [*names, *(f"{names[k]}_dot" for k in needed)]
        taken = [*operands, *(t.atom for t in dots)]
        results = self.builder.branch(arguments[0], taken, graphs[0], graphs[1], all_names)
        out_slopes: list[Tangent] = [None] * len(names)
        for position, k in enumerate(needed):
            out_slopes[k] = self.value(results[len(names) + position])
        return list(results[: len(names)]), out_slopes


def pushforward(graph: Graph, moving: Sequence[int]) -> Graph:
    """`graph` with tangents of the inputs at `moving` as further inputs, and of outputs as outputs."""
    builder = GraphBuilder(simplify=True)
    inputs = [builder.input(v.type, v.name) for v in graph.inputs]
    dots = {k: builder.input(graph.inputs[k].type, f"{graph.inputs[k].name}_dot") for k in moving}
    mode = ForwardMode(builder)
    seeds = [mode.value(dots[k]) if k in dots else None for k in range(len(inputs))]
    values, slopes = mode.run(graph, inputs, seeds)
    filled = [or_zeros(mode, s, a).atom for s, a in zip(slopes, values, strict=True)]
    return builder.finish([*inputs, *dots.values()], [*values, *filled], f"jvp_{graph.name}")
