"""Reverse mode: a graph, then its nodes from last to first, with cotangents.

The derivative of a loop is a loop. The first saves every carry at the start of every iteration on a stack.
The second reads the stacks from the last iteration to the first, computes the body again from what was saved,
and pulls the cotangents of the carries back through it. Cotangents of values made in the body start anew in
every iteration; those of closed-over values are summed over the iterations; those of the initial values are
the carries' cotangents at the end. What no derivative needs is pruned afterwards.

With a `checkpoint` the stacks are not kept but computed again as they are read
(`programs.graphs.rematerialize`); the graphs are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gradfuzz.engine.modes.inline import apply_rule, copy_node, emit_loop, inline, or_zeros, primal
from gradfuzz.engine.rules.functions import real, unbroadcast
from gradfuzz.engine.rules.value import Value, apply
from gradfuzz.engine.rules.vjp import VJP, VJP_SEVERAL
from gradfuzz.errors import NotDifferentiableError, UsageError
from gradfuzz.programs.graphs.builder import GraphBuilder
from gradfuzz.programs.graphs.graph import Atom, Branch, Checkpoint, Equation, Graph, Loop, Node, Var
from gradfuzz.programs.language.ops import OPS
from gradfuzz.programs.language.types import INT

Cotangent = Value | None
"""None: zero, known while the graph is built."""


def checked(checkpoint: Checkpoint) -> Checkpoint:
    """`checkpoint` itself. Raises `UsageError` unless it is "none", "sqrt" or a positive int."""
    if checkpoint in ("none", "sqrt"):
        return checkpoint
    if isinstance(checkpoint, int) and not isinstance(checkpoint, bool) and checkpoint > 0:
        return checkpoint
    allowed = "'none', 'sqrt' or a positive int, the number of states that are kept"
    raise UsageError(f"checkpoint={checkpoint!r}; it is {allowed}")


class ReverseMode:
    """Pulls cotangents back through a graph. The rules of a mutant override a method.

    `checkpoint` says how stacks are kept (`graph.Loop`). "sqrt" applies to every stack. An int applies to
    loops that read no stacks: those of a program, and of its derivatives by forward mode. Backward loops that
    are differentiated again keep every entry, because computing theirs would jump about in stacks that are
    cheap to read in one direction only. A loop that was made with a checkpoint keeps it when it is
    differentiated with "none".
    """

    def __init__(self, builder: GraphBuilder, level: int = 0, checkpoint: Checkpoint = "none") -> None:
        self.builder = builder
        self.level = level
        self.checkpoint = checkpoint
        self.cotangents: dict[Var, Value] = {}

    def nested(self) -> ReverseMode:
        """The same rules for an inner graph."""
        return type(self)(GraphBuilder(simplify=True), self.level + 1, self.checkpoint)

    def value(self, atom: Atom) -> Value:
        return Value(self.builder, atom, self.level)

    def forward(self, graph: Graph, inputs: Sequence[Atom], active: Sequence[bool]) -> Tape:
        """Runs `graph`, keeping what the backward pass needs. `active`: the inputs to be differentiated."""
        return Tape(self, graph, inputs, active)

    def accumulate(self, var: Var, part: Cotangent) -> None:
        """Adds to the cotangent of a value of the differentiated graph."""
        if part is not None:
            old = self.cotangents.get(var)
            self.cotangents[var] = part if old is None else self.add(old, part)

    def take(self, var: Var) -> Cotangent:
        """The complete cotangent of `var`, after all its uses were visited."""
        return self.cotangents.pop(var, None)

    def add(self, a: Value, b: Value) -> Value:
        """The sum of two cotangents; stacks are added entry by entry."""
        if not a.type.is_stack:
            total = a + b
            assert isinstance(total, Value), "a sum of values is a value"
            return total
        inner = GraphBuilder()
        x, y = inner.input(a.type.element(), "a"), inner.input(a.type.element(), "b")
        index = inner.input(INT, "k")
        body = inner.finish([x, y, index], [inner.emit("add", x, y)])
        stacks, kept = [a.atom, b.atom], self.stacked()
        (result,) = self.builder.loop(
            "for", constants=[], initial=[], stacks=stacks, body=body, checkpoint=kept
        )
        return self.value(result)

    # One method per node ------------------------------------------------------------------------------------

    def equation(self, node: Equation, g: Value, tape: Tape) -> list[Cotangent]:
        if not OPS[node.op].smooth:
            return [None] * len(node.inputs)
        if node.op not in VJP:
            place = "engine/rules/vjp.py"
            raise NotDifferentiableError(f"no reverse rule for {node.op}; give it a line in {place}")
        ans = self.value(tape.read(node.output))
        args = [self.value(tape.read(a)) for a in node.inputs]
        parts: list[Cotangent] = []
        for k, atom in enumerate(node.inputs):
            if not tape.is_active(atom):
                parts.append(None)
                continue
            part = self.rule(node, k, g, ans, args)
            parts.append(None if part is None else unbroadcast(_like(part, args[k]), args[k].shape))
        return parts

    def rule(self, node: Equation, k: int, g: Value, ans: Value, args: Sequence[Value]) -> Cotangent:
        """The rule's cotangent of argument `k`, before broadcasting is undone."""
        return apply_rule(VJP, node.op, k, (g, ans, *args), dict(node.params))

    def equation_of_several(self, node: Equation, gs: Sequence[Cotangent], tape: Tape) -> list[Cotangent]:
        """The same for all results of one computation; the rule gets a cotangent or None for each."""
        rule = VJP_SEVERAL.get(node.op)
        if rule is None:
            place = "engine/rules/linalg"
            raise NotDifferentiableError(f"no reverse rule for {node.op}; give it a line in {place}")
        args = [self.value(tape.read(a)) for a in node.inputs]
        params = {name: value for name, value in node.params if name != "part"}
        ans = tuple(apply(node.op, *args, **params, part=k) for k in range(len(gs)))
        parts = rule(gs, ans, *args, **params)
        parts = [None if part is None else _like(part, a) for part, a in zip(parts, args, strict=True)]
        return [part if tape.is_active(atom) else None for part, atom in zip(parts, node.inputs, strict=True)]

    def branch(self, node: Branch, gs: Sequence[Cotangent], tape: Tape) -> list[Cotangent]:
        """The branch in the backward pass; each side runs its graph again."""
        arguments = [tape.read(a) for a in node.inputs]
        seeds = [g for g in gs if g is not None]
        active = [tape.is_active(a) for a in node.operands]
        sides = []
        for graph in (node.then, node.otherwise):
            side = self.nested()
            copies = [side.builder.input(v.type, v.name) for v in graph.inputs]
            bars = [side.builder.input(g.type, "g") for g in seeds]
            supply = iter(bars)
            inner = side.forward(graph, copies, active)
            parts = inner.backward([None if g is None else side.value(next(supply)) for g in gs])
            sides.append((side, [*copies, *bars], parts))
        needed = [k for k in range(len(active)) if any(s[2][k] is not None for s in sides)]
        graphs = []
        for side, inputs, parts in sides:
            filled = [or_zeros(side, parts[k], node.operands[k]).atom for k in needed]
            graphs.append(side.builder.finish(inputs, filled))
        names = [f"{a.name}_bar" if isinstance(a, Var) else "bar" for a in (node.operands[k] for k in needed)]
        operands = [*arguments[1:], *(g.atom for g in seeds)]
        results = self.builder.branch(arguments[0], operands, graphs[0], graphs[1], names) if needed else ()
        out: list[Cotangent] = [None] * len(node.inputs)
        for k, result in zip(needed, results, strict=True):
            out[1 + k] = self.value(result)
        return out

    def stacked(self) -> Checkpoint:
        """The checkpoint of a loop that reads stacks."""
        return "sqrt" if self.checkpoint == "sqrt" else "none"

    def saving_loop(self, node: Loop, arguments: Sequence[Atom]) -> tuple[list[Atom], list[Atom]]:
        """`node` in the forward pass: its outputs, and a stack of each of its carries."""
        body, count = GraphBuilder(), len(node.outputs)
        kept = self.stacked() if node.stacks else self.checkpoint
        copies = [body.input(v.type, v.name) for v in node.body.inputs]
        carries = node.split(copies)[1]
        results = emit_loop(
            self.builder,
            node,
            arguments,
            body,
            copies,
            [*inline(body, node.body, copies), *carries],
            checkpoint=node.checkpoint if kept == "none" else kept,
            lengths=[*node.lengths, *[None] * len(carries)],
        )
        return list(results[:count]), list(results[count:])

    def loop(self, node: Loop, gs: Sequence[Cotangent], tape: Tape) -> list[Cotangent]:
        """The loop in the backward pass."""
        pull = self.pullback(node, gs, tape)
        constants, _, stacks, _ = node.split([tape.read(a) for a in node.inputs])
        own, carries, entries, index = node.split(pull.copies)
        written = [g.atom for g in gs[len(node.initial) :] if g is not None]
        inputs = [
            *(*own, *pull.sums.values(), *pull.bars.values()),
            *(*carries, *entries, *pull.bars_written.values()),
            *(index or [pull.mode.builder.input(INT, "k")]),
        ]
        results = self.builder.loop(
            "for",
            constants=constants,
            initial=self.starts(node, gs, pull, tape),
            stacks=[*tape.saved[node], *stacks, *written],
            body=pull.mode.builder.finish(inputs, [v.atom for v in pull.outputs], "pullback"),
            reverse=not node.reverse,
            checkpoint=self.stacked(),
            lengths=[node.stacks[k].type.shape[0] for k in pull.active_stacks],
        )
        return self.to_inputs(node, pull, results, tape)

    def starts(self, node: Loop, gs: Sequence[Cotangent], pull: Pullback, tape: Tape) -> list[Atom]:
        """What the sums of cotangents, and the cotangents of the carries, are before a backward loop."""
        sums = [or_zeros(self, None, node.constants[k]) for k in pull.constants]
        return [v.atom for v in (*sums, *(or_zeros(self, gs[k], node.initial[k]) for k in pull.moving))]

    def to_inputs(self, node: Loop, pull: Pullback, results: Sequence[Var], tape: Tape) -> list[Cotangent]:
        """The results of a backward loop, as cotangents of the forward loop's inputs."""
        nc, ni = len(node.constants), len(node.initial)
        supply = iter(results)
        out: list[Cotangent] = [None] * len(node.inputs)
        for k in pull.constants:
            out[k] = self.value(next(supply))
        for k in pull.moving:
            bar = self.value(next(supply))
            if tape.is_active(node.initial[k]):
                out[nc + k] = bar
        for k in pull.active_stacks:
            out[nc + ni + k] = self.value(next(supply))
        return out

    def pullback(self, node: Loop, gs: Sequence[Cotangent], tape: Tape) -> Pullback:
        """The body of the backward loop; which carries have a cotangent is a fixpoint."""
        ni = len(node.initial)
        moving = {k for k in range(ni) if gs[k] is not None}
        while True:
            pull = Pullback(self.nested(), node, gs, tape, sorted(moving))
            if pull.reached <= moving:
                return pull
            moving |= pull.reached


def _like(part: Value, argument: Value) -> Value:
    """A cotangent of `argument` in its dtype: for a real one, the real part."""
    if argument.type.is_complex:
        return Value(part.builder, part.builder.to(part.atom, "complex"), part.level)
    result: Value = part if part.type.is_float else real(part)
    return result


class Pullback:
    """One iteration of a backward loop.

    `outputs` are, in order, the sums of the constants' cotangents, the carries' cotangents before the
    iteration, and the cotangents of the entries read from stacks.
    """

    def __init__(
        self, mode: ReverseMode, node: Loop, gs: Sequence[Cotangent], tape: Tape, moving: list[int]
    ) -> None:
        nc, ni, ns = len(node.constants), len(node.initial), len(node.stacks)
        self.mode, self.moving = mode, moving
        new = mode.builder.input
        self.copies = [new(v.type, v.name) for v in node.body.inputs]
        self.bars = {k: new(self.copies[nc + k].type, f"{self.copies[nc + k].name}_bar") for k in moving}
        written = {k: g.type.element() for k, g in enumerate(gs) if k >= ni and g is not None}
        self.bars_written = {k: new(entry, "written_bar") for k, entry in written.items()}
        active = [
            *(tape.is_active(a) for a in node.constants),
            *tape.active_carries[node],
            *(tape.is_active(a) for a in node.stacks),
            *([False] if node.form == "for" else []),
        ]
        bars = {**self.bars, **self.bars_written}
        seeds = [mode.value(bars[k]) if k in bars else None for k in range(len(gs))]
        parts = mode.forward(node.body, self.copies, active).backward(seeds)
        self.reached = {k for k in range(ni) if parts[nc + k] is not None}
        self.constants = [k for k in range(nc) if parts[k] is not None]
        self.sums = {k: new(self.copies[k].type, f"{self.copies[k].name}_bar") for k in self.constants}
        self.active_stacks = [k for k in range(ns) if parts[nc + ni + k] is not None]
        self.outputs = [mode.value(self.sums[k]) + parts[k] for k in self.constants]
        self.outputs += [or_zeros(mode, parts[nc + k], self.copies[nc + k]) for k in moving]
        self.outputs += [part for part in parts[nc + ni : nc + ni + ns] if part is not None]


class Tape:
    """A graph after its forward pass: every value, what is active, and what the loops saved."""

    def __init__(
        self, mode: ReverseMode, graph: Graph, inputs: Sequence[Atom], active: Sequence[bool]
    ) -> None:
        self.mode = mode
        self.graph = graph
        self.known: dict[Var, Atom] = dict(zip(graph.inputs, inputs, strict=True))
        moving = zip(graph.inputs, active, strict=True)
        self.active: set[Var] = {v for v, a in moving if a and v.type.is_inexact}
        self.saved: dict[Node, list[Atom]] = {}
        self.active_carries: dict[Node, list[bool]] = {}
        for node in graph.nodes:
            arguments = [self.read(a) for a in node.inputs]
            outputs: Sequence[Atom]
            given = [self.is_active(a) for a in node.inputs]
            moved = active_outputs(node, given)
            if isinstance(node, Loop) and any(given):
                self.active_carries[node] = moved[: len(node.initial)]
                outputs, self.saved[node] = mode.saving_loop(node, arguments)
            elif isinstance(node, Equation) and moved[0]:
                outputs = [primal(mode, node, arguments)]
            else:
                outputs = copy_node(mode.builder, node, arguments)
            self.known.update(zip(node.outputs, outputs, strict=True))
            self.active.update(v for v, a in zip(node.outputs, moved, strict=True) if a)
        self.outputs = [self.read(a) for a in graph.outputs]

    def read(self, atom: Atom) -> Atom:
        """A value of the graph as it is in the builder."""
        return self.known[atom] if isinstance(atom, Var) else atom

    def is_active(self, atom: Atom) -> bool:
        """Whether `atom` depends differentiably on a differentiated input."""
        return isinstance(atom, Var) and atom in self.active

    def backward(self, gs: Sequence[Cotangent]) -> list[Cotangent]:
        """The cotangents of the graph's inputs, given those of its outputs."""
        mode = self.mode
        mode.cotangents = {}
        groups = self._groups()
        for atom, g in zip(self.graph.outputs, gs, strict=True):
            if isinstance(atom, Var) and atom in self.active:
                mode.accumulate(atom, g)
        for node in reversed(self.graph.nodes):
            pulled = [mode.take(v) for v in node.outputs]
            parts: list[Cotangent]
            if isinstance(node, Equation) and node in groups:
                group = groups[node]
                group.receive(mode, node, pulled[0])
                if group.first is not node or all(g is None for g in group.gs):
                    continue
                parts = mode.equation_of_several(node, group.gs, self)
            elif all(g is None for g in pulled):
                continue
            elif isinstance(node, Equation):
                (g,) = pulled
                assert g is not None, "not all are None"
                parts = mode.equation(node, g, self)
            elif isinstance(node, Loop):
                parts = mode.loop(node, pulled, self)
            else:
                parts = mode.branch(node, pulled, self)
            for atom, part in zip(node.inputs, parts, strict=True):
                if self.is_active(atom) and isinstance(atom, Var):
                    mode.accumulate(atom, part)
        return [mode.cotangents.get(v) for v in self.graph.inputs]

    def _groups(self) -> dict[Equation, _Group]:
        """Groups the equations that are results of one computation with several results."""
        known: dict[tuple[object, ...], _Group] = {}
        result: dict[Equation, _Group] = {}
        for node in self.graph.nodes:
            if isinstance(node, Equation) and OPS[node.op].parts:
                params = tuple(item for item in node.params if item[0] != "part")
                group = _Group(node, [None] * len(OPS[node.op].parts))
                result[node] = known.setdefault((node.op, node.inputs, params), group)
        return result


@dataclass(frozen=True, slots=True)
class _Group:
    """The results of one computation: complete when the backward pass reaches the first of them."""

    first: Equation
    gs: list[Cotangent]

    def receive(self, mode: ReverseMode, node: Equation, g: Cotangent) -> None:
        part = dict(node.params)["part"]
        assert isinstance(part, int), "the type rule lets no other part through"
        old = self.gs[part]
        self.gs[part] = g if old is None else old if g is None else mode.add(old, g)


def active_outputs(node: Node, active: Sequence[bool]) -> list[bool]:
    """Which outputs of `node` depend on the inputs marked active."""
    if isinstance(node, Equation):
        return [any(active) and node.output.type.is_inexact and node.op != "sign"]
    if isinstance(node, Branch):
        sides = [graph_activity(g, active[1:]) for g in (node.then, node.otherwise)]
        return [a or b for a, b in zip(*sides, strict=True)]
    constants, initial, stacks, _ = node.split(active)
    carried = [a and t.type.is_inexact for a, t in zip(initial, node.initial, strict=True)]
    counter = [False] if node.form == "for" else []
    while True:
        outputs = graph_activity(node.body, [*constants, *carried, *stacks, *counter])
        after = [a or b for a, b in zip(carried, outputs, strict=False)]
        if after == carried:
            return [*carried, *outputs[len(carried) :]]
        carried = after


def graph_activity(graph: Graph, active: Sequence[bool]) -> list[bool]:
    """Which outputs of `graph` depend on the inputs marked active."""
    known = {v for v, a in zip(graph.inputs, active, strict=True) if a and v.type.is_inexact}
    for node in graph.nodes:
        moved = active_outputs(node, [isinstance(a, Var) and a in known for a in node.inputs])
        known.update(v for v, a in zip(node.outputs, moved, strict=True) if a)
    return [isinstance(a, Var) and a in known for a in graph.outputs]
