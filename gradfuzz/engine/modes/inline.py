"""Common parts of both modes: applying a rule of a table, copying nodes and loops into another graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from gradfuzz.engine.rules.linalg import FORTH
from gradfuzz.engine.rules.value import Value
from gradfuzz.programs.graphs.builder import GraphBuilder
from gradfuzz.programs.graphs.graph import Atom, Constant, Equation, Graph, Loop, Node, Var


def apply_rule(
    table: Mapping[str, Sequence[Callable[..., Any]] | Callable[..., Any]],
    op: str,
    k: int,
    given: Sequence[Any],
    params: Mapping[str, Any],
) -> Value | None:
    """The rule of `op` for argument `k` applied to the cotangent or tangent, the result and the arguments."""
    rules = table[op]
    part: Value | None = rules(k, *given, **params) if callable(rules) else rules[k](*given, **params)
    return part


class _Mode(Protocol):
    builder: GraphBuilder
    level: int

    def value(self, atom: Atom) -> Value: ...


def or_zeros(mode: _Mode, value: Value | None, like: Atom) -> Value:
    """`value`, or if it is None a zero of the type of `like`."""
    return mode.value(mode.builder.zeros(like.type.tangent())) if value is None else value


def inline(builder: GraphBuilder, graph: Graph, inputs: Sequence[Atom]) -> list[Atom]:
    """The outputs of `graph` at `inputs`, its nodes copied into `builder`."""
    known: dict[Var, Atom] = dict(zip(graph.inputs, inputs, strict=True))

    def read(atom: Atom) -> Atom:
        return atom if isinstance(atom, Constant) else known[atom]

    for node in graph.nodes:
        known.update(zip(node.outputs, copy_node(builder, node, [read(a) for a in node.inputs]), strict=True))
    return [read(a) for a in graph.outputs]


def primal(mode: _Mode, node: Equation, arguments: Sequence[Atom]) -> Atom:
    """The value of an op whose derivative is also needed."""
    params = dict(node.params)
    value = FORTH[node.op](*map(mode.value, arguments), **params) if node.op in FORTH else None
    return copy_node(mode.builder, node, arguments)[0] if value is None else value.atom


def copy_node(builder: GraphBuilder, node: Node, arguments: Sequence[Atom]) -> Sequence[Atom]:
    """`node` in `builder` with other arguments."""
    if isinstance(node, Equation):
        return [builder.emit_as(node.output.name, node.op, *arguments, **dict(node.params))]
    if not isinstance(node, Loop):
        names = [v.name for v in node.outputs]
        return builder.branch(arguments[0], arguments[1:], node.then, node.otherwise, names)
    return builder.loop_as(node, arguments)


Extra = Sequence[tuple[Atom, Var]]
"""Further arguments of a loop: each outside, and as an input of the body."""


def emit_loop(
    builder: GraphBuilder,
    node: Loop,
    arguments: Sequence[Atom],
    body: GraphBuilder,
    inputs: Sequence[Var],
    outputs: Sequence[Atom],
    *,
    extra: tuple[Extra, Extra, Extra] = ((), (), ()),
    **changes: Any,
) -> tuple[Var, ...]:
    """`node` with another body, which takes `inputs` in place of its own, and with `extra` constants, carries
    and stacks after its own, unseen by its condition. `changes` are those of `GraphBuilder.loop_as`.
    """
    more = [[inside for _, inside in part] for part in extra]
    constants, initial, stacks = (
        [*own, *(outside for outside, _ in part)]
        for own, part in zip(node.split(arguments), extra, strict=False)
    )
    condition = node.condition
    if condition is not None:
        spare, last = ([Var(v.type, v.name) for v in part] for part in more[:2])
        nc = len(node.constants)
        seen = (*condition.inputs[:nc], *spare, *condition.inputs[nc:], *last)
        condition = Graph(seen, condition.nodes, condition.outputs, condition.name)
    taken = [v for own, part in zip(node.split(inputs), [*more, []], strict=True) for v in (*own, *part)]
    built = {"body": body.finish(taken, outputs, node.body.name), "condition": condition, **changes}
    return builder.loop_as(node, arguments, constants=constants, initial=initial, stacks=stacks, **built)
