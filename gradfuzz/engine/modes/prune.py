"""Removes unneeded parts of a graph: equations, branch outputs, and loops' carries, stacks and constants."""

from __future__ import annotations

from collections.abc import Sequence

from gradfuzz.programs.graphs.graph import Atom, Branch, Equation, Graph, Loop, Node, Var


def prune(graph: Graph) -> Graph:
    """The same function with fewer nodes; inputs and outputs stay."""
    return _restrict(graph, range(len(graph.outputs)))


def _restrict(graph: Graph, outputs: Sequence[int]) -> Graph:
    """`graph` with only some of its outputs, and what they need."""
    wanted = tuple(graph.outputs[k] for k in outputs)
    live = {a for a in wanted if isinstance(a, Var)}
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        if live.isdisjoint(node.outputs):
            continue
        smaller = _smaller(node, live)
        kept.append(smaller)
        live.update([a for a in smaller.inputs if isinstance(a, Var)])
    return Graph(graph.inputs, tuple(reversed(kept)), wanted, graph.name)


def _reads(graph: Graph) -> set[Var]:
    """The inputs that `graph` reads."""
    used = {a for a in graph.outputs if isinstance(a, Var)}
    for node in graph.nodes:
        used.update(a for a in node.inputs if isinstance(a, Var))
    return used & set(graph.inputs)


def _smaller(node: Node, live: set[Var]) -> Node:
    if isinstance(node, Equation):
        return node
    if isinstance(node, Branch):
        places = [k for k, v in enumerate(node.outputs) if v in live]
        sides = [_restrict(g, places) for g in (node.then, node.otherwise)]
        used = [_reads(g) for g in sides]
        keep = [
            k
            for k in range(len(node.operands))
            if any(g.inputs[k] in u for g, u in zip(sides, used, strict=True))
        ]
        then, otherwise = (Graph(tuple(g.inputs[k] for k in keep), g.nodes, g.outputs, g.name) for g in sides)
        return Branch(
            node.predicate,
            tuple(node.operands[k] for k in keep),
            then,
            otherwise,
            tuple(node.outputs[k] for k in places),
        )
    return _smaller_loop(node, live)


def _smaller_loop(node: Loop, live: set[Var]) -> Loop:
    nc, ni, ns = len(node.constants), len(node.initial), len(node.stacks)
    inputs = node.body.inputs
    carries = {k for k, v in enumerate(node.carries) if v in live}
    if node.condition is not None:
        tested = _reads(node.condition)
        carries |= {k for k in range(ni) if node.condition.inputs[nc + k] in tested}
    written = [ni + k for k, v in enumerate(node.written) if v in live]
    while True:
        body = _restrict(node.body, [*sorted(carries), *written])
        read = _reads(body)
        more = {k for k in range(ni) if inputs[nc + k] in read}
        if more <= carries:
            break
        carries |= more
    used = read | (_reads(node.condition) if node.condition is not None else set())
    keep_constants = [
        k
        for k in range(nc)
        if inputs[k] in used or (node.condition is not None and node.condition.inputs[k] in used)
    ]
    keep_stacks = [k for k in range(ns) if inputs[nc + ni + k] in read]
    if ns and not keep_stacks and node.count is None:
        keep_stacks = [0]  # its length is the trip count
    keep_carries = sorted(carries)

    def pick(values: Sequence[Var], *, body: bool) -> tuple[Var, ...]:
        chosen = [values[k] for k in keep_constants] + [values[nc + k] for k in keep_carries]
        if body:
            chosen += [values[nc + ni + k] for k in keep_stacks] + list(values[nc + ni + ns :])
        return tuple(chosen)

    condition = node.condition
    if condition is not None:
        condition = Graph(
            pick(condition.inputs, body=False), condition.nodes, condition.outputs, condition.name
        )
    constants: tuple[Atom, ...] = tuple(node.constants[k] for k in keep_constants)
    return Loop(
        node.form,
        constants,
        tuple(node.initial[k] for k in keep_carries),
        tuple(node.stacks[k] for k in keep_stacks),
        Graph(pick(inputs, body=True), body.nodes, body.outputs, body.name),
        condition,
        node.count,
        tuple(node.outputs[k] for k in [*keep_carries, *written]),
        node.reverse,
        node.checkpoint,
    )
