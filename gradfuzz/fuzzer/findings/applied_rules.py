"""Which derivative rules a question uses: a mutant of any other rule gives the engine's answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from gradfuzz.engine import Rules, derivative
from gradfuzz.engine.modes.forward import ForwardMode, Tangent
from gradfuzz.engine.modes.reverse import Cotangent, ReverseMode, Tape
from gradfuzz.engine.rules.value import Value
from gradfuzz.errors import GradfuzzError
from gradfuzz.oracles.base import Mode, Question
from gradfuzz.oracles.mutants.mutant import Mutant, Need
from gradfuzz.programs.graphs.graph import Atom, Equation, Loop

Applied = frozenset[tuple[Mode, str, Need]]
"""A mode, an op or "loop", and a property of the op's equation. Each op also has the property ""."""


def concerns(mutant: Mutant, applied: Applied) -> bool:
    """Whether the mutant can differ from the engine where these rules are applied."""
    if not mutant.ops:
        return any(mode in mutant.modes for mode, _, _ in applied)
    return any((mode, op, mutant.needs) in applied for mode in mutant.modes for op in mutant.ops)


def applied_rules(question: Question) -> Applied:
    """The rules that make the derivative, including those of the inner derivatives at higher order."""
    found: set[tuple[Mode, str, Need]] = set()
    forward = type("Forward", (_Forward,), {"found": found})
    reverse = type("Reverse", (_Reverse,), {"found": found})
    rules = Rules(forward=forward, reverse=reverse)
    try:
        derivative(question.program, wrt=question.wrt, modes=question.modes, rules=rules)
    except GradfuzzError:
        return frozenset()
    return frozenset(found)


def _has(node: Equation) -> Iterator[Need]:
    yield ""
    types = [a.type for a in node.inputs]
    if any(t.is_complex for t in (*types, node.output.type)):
        yield "complex"
    if any(t.shape != node.output.type.shape for t in types):
        yield "broadcast"
    if any(len(t.shape) > 1 and t.shape[-1] == t.shape[-2] != 1 for t in (*types, node.output.type)):
        yield "square"
    if any(len(t.shape) > 2 for t in types):
        yield "batch"


class _Reverse(ReverseMode):
    found: ClassVar[set[tuple[Mode, str, Need]]]

    def equation(self, node: Equation, g: Value, tape: Tape) -> list[Cotangent]:
        self.found.update(("rev", node.op, need) for need in _has(node))
        return super().equation(node, g, tape)

    def equation_of_several(self, node: Equation, gs: Sequence[Cotangent], tape: Tape) -> list[Cotangent]:
        self.found.update(("rev", node.op, need) for need in _has(node))
        return super().equation_of_several(node, gs, tape)

    def loop(self, node: Loop, gs: Sequence[Cotangent], tape: Tape) -> list[Cotangent]:
        self.found.add(("rev", "loop", ""))
        return super().loop(node, gs, tape)


class _Forward(ForwardMode):
    found: ClassVar[set[tuple[Mode, str, Need]]]

    def rule(self, node: Equation, k: int, t: Tangent, ans: Value, args: Sequence[Value]) -> Tangent:
        self.found.update(("fwd", node.op, need) for need in _has(node))
        return super().rule(node, k, t, ans, args)

    def loop(
        self, node: Loop, arguments: list[Atom], tangents: list[Tangent]
    ) -> tuple[list[Atom], list[Tangent]]:
        self.found.add(("fwd", "loop", ""))
        return super().loop(node, arguments, tangents)
