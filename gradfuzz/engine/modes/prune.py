"""Removes unneeded parts of a graph: equations, branch outputs, and loops' carries, stacks and constants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from gradfuzz.programs.graphs.graph import Branch, Equation, Graph, Loop, Node, Var

_T = TypeVar("_T")


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
        keep = sorted({g.inputs.index(v) for g in sides for v in _reads(g)})
        then, otherwise = (replace(g, inputs=_at(g.inputs, keep)) for g in sides)
        operands, outputs = _at(node.operands, keep), _at(node.outputs, places)
        return Branch(node.predicate, operands, then, otherwise, outputs)
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
    condition = node.condition
    if condition is not None:
        read |= {inputs[condition.inputs.index(v)] for v in _reads(condition)}
    kept_constants = [k for k in range(nc) if inputs[k] in read]
    kept_carries = sorted(carries)
    kept_stacks = [k for k in range(ns) if inputs[nc + ni + k] in read]
    if ns and not kept_stacks and node.count is None:
        kept_stacks = [0]  # its length is the trip count
    seen = [*kept_constants, *(nc + k for k in kept_carries)]
    taken = [*seen, *(nc + ni + k for k in kept_stacks), *range(nc + ni + ns, len(inputs))]
    return replace(
        node,
        constants=_at(node.constants, kept_constants),
        initial=_at(node.initial, kept_carries),
        stacks=_at(node.stacks, kept_stacks),
        body=replace(body, inputs=_at(inputs, taken)),
        condition=None if condition is None else replace(condition, inputs=_at(condition.inputs, seen)),
        outputs=_at(node.outputs, [*kept_carries, *written]),
    )


def _at(values: Sequence[_T], places: Sequence[int]) -> tuple[_T, ...]:
    return tuple(values[k] for k in places)
