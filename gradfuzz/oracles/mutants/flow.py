"""Planted bugs in control flow: nested loops, early exits, loops without iterations, branches, conditions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gradfuzz.engine.modes.reverse import Cotangent, Pullback, ReverseMode, Tape
from gradfuzz.oracles.mutants.mutant import Bugs
from gradfuzz.programs.graphs.builder import constant
from gradfuzz.programs.graphs.graph import Atom, Branch, Graph, Loop, Var
from gradfuzz.programs.graphs.lower import LIVE

BUGS = Bugs()


class InLoops(ReverseMode):
    """Reverse mode that knows the loops around it."""

    around: tuple[Loop, ...] = ()
    """The loops around the graph, innermost last."""
    _below: tuple[Loop, ...] | None = None

    def nested(self) -> ReverseMode:
        mode = super().nested()
        assert isinstance(mode, InLoops), "nested keeps the class"
        mode.around = self.around if self._below is None else self._below
        return mode

    def pullback(self, node: Loop, gs: Sequence[Cotangent], tape: Tape) -> Pullback:
        self._below = (*self.around, node)
        pull = super().pullback(node, gs, tape)
        self._below = None
        return pull


@BUGS.planted(
    "M7", "nested-twice", "Warp #1293", "an inner loop's share of an outer value's adjoint counted twice"
)
class CountedTwice(InLoops):
    """What an inner loop reads from the loop around it gets the inner loop's adjoint twice."""

    def loop(self, node: Loop, gs: Sequence[Cotangent], tape: Tape) -> list[Cotangent]:
        parts = super().loop(node, gs, tape)
        if not self.around:
            return parts
        return [p if p is None or k >= len(node.constants) else self.add(p, p) for k, p in enumerate(parts)]


@BUGS.planted("M8", "early-exit", "Warp #1552", "a trip that break or continue leaves swept to its end")
class SweptToTheEnd(ReverseMode):
    """An iteration left by `break` or `continue` is swept as if it had run to its end.

    A break at the top of the body adds one iteration.
    """

    def branch(self, node: Branch, gs: Sequence[Cotangent], tape: Tape) -> list[Cotangent]:
        if isinstance(node.predicate, Var) and node.predicate.name == LIVE:
            node = replace(node, predicate=constant(True))
        return super().branch(node, gs, tape)


@BUGS.planted("M10", "never-entered", "clad #1958", "a loop that is never entered swept once")
class NeverEntered(ReverseMode):
    """Reverse over forward sweeps a loop without iterations once, from its initial state.

    Popping its empty tape gives that state.
    """

    def saving_loop(self, node: Loop, arguments: Sequence[Atom]) -> tuple[list[Atom], list[Atom]]:
        outputs, saved = super().saving_loop(node, arguments)
        pushforward = any(v.name.endswith("_dot") for v in node.body.inputs)
        if not pushforward or node.stacks or node.form == "repeat":
            return outputs, saved
        if node.form == "while":
            return outputs, super().saving_loop(replace(node, form="repeat"), arguments)[1]
        count = self.builder.emit("maximum", arguments[-1], constant(1))
        return outputs, super().saving_loop(node, [*arguments[:-1], count])[1]


@BUGS.planted("M12", "false-branch", "clad e4f1925b", "the false side of a branch not differentiated")
class FalseBranch(ReverseMode):
    """Only the true side of a branch is differentiated; the false side has no gradient."""

    ignored: Graph | None = None

    def nested(self) -> ReverseMode:
        mode = super().nested()
        assert isinstance(mode, FalseBranch), "nested keeps the class"
        mode.ignored = self.ignored
        return mode

    def branch(self, node: Branch, gs: Sequence[Cotangent], tape: Tape) -> list[Cotangent]:
        self.ignored = node.otherwise
        parts = super().branch(node, gs, tape)
        self.ignored = None
        return parts

    def forward(self, graph: Graph, inputs: Sequence[Atom], active: Sequence[bool]) -> Tape:
        kind = _Ignored if graph is self.ignored else Tape
        return kind(self, graph, inputs, active)


class _Ignored(Tape):
    """A graph that only passes on cotangents of unchanged values."""

    def backward(self, gs: Sequence[Cotangent]) -> list[Cotangent]:
        self.mode.cotangents = {}
        for atom, g in zip(self.graph.outputs, gs, strict=True):
            if isinstance(atom, Var) and self.is_active(atom):
                self.mode.accumulate(atom, g)
        return [self.mode.cotangents.get(v) for v in self.graph.inputs]


@BUGS.planted(
    "M22", "condition-read", "clad #746", "a value that the loop's condition reads loses its use in the body"
)
class OnlySteers(ReverseMode):
    """What a loop's condition reads counts as steering only: its use in the body is lost."""

    def loop(self, node: Loop, gs: Sequence[Cotangent], tape: Tape) -> list[Cotangent]:
        parts = super().loop(node, gs, tape)
        if node.condition is None:
            return parts
        tested = {a for n in node.condition.nodes for a in n.inputs}
        steering = {k for k, v in enumerate(node.condition.inputs[: len(node.constants)]) if v in tested}
        return [None if k in steering else p for k, p in enumerate(parts)]
