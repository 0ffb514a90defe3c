"""Planted bugs in the derivative of a loop."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from gradfuzz.engine.modes.inline import emit_loop, inline, or_zeros
from gradfuzz.engine.modes.reverse import Cotangent, Pullback, ReverseMode, Tape
from gradfuzz.engine.rules.value import Value
from gradfuzz.oracles.mutants.mutant import Bugs
from gradfuzz.programs.graphs.builder import GraphBuilder
from gradfuzz.programs.graphs.graph import TEMPORARY, Atom, Checkpoint, Equation, Loop, Var
from gradfuzz.programs.language.types import INT

BUGS = Bugs()


@BUGS.planted("M1", "nx-1747", "Nx #1747", "adjoints swept in forward order")
class ForwardSweep(ReverseMode):
    """The adjoints become carries of the loop itself, which starts again from its initial state.

    Each iteration applies the body's pullback at the current state before it advances the state.
    """

    def loop(self, node: Loop, gs: Sequence[Cotangent], tape: Tape) -> list[Cotangent]:
        pull = self.pullback(node, gs, tape)
        if pull.bars_written or pull.active_stacks:
            return super().loop(node, gs, tape)  # Nx has no stacks; only the engine's own derivative loops do
        body = pull.mode.builder
        ni = len(node.initial)
        state = inline(body, node.body, pull.copies)
        bars = [*pull.sums.values(), *pull.bars.values()]
        results = emit_loop(
            self.builder,
            node,
            [tape.read(a) for a in node.inputs],
            body,
            pull.copies,
            [*state[:ni], *(v.atom for v in pull.outputs)],
            extra=((), list(zip(self.starts(node, gs, pull, tape), bars, strict=True)), ()),
            lengths=[],
        )
        return self.to_inputs(node, pull, results[ni:], tape)


@BUGS.planted("M2", "swift-78264", "Swift #78264", "adjoints in a body-first loop not reset per trip")
class ReusedAdjoint(ReverseMode):
    """In a body-first loop, the adjoints of the body are zero when the backward pass begins, and are not
    set to zero again before each iteration.

    Each iteration adds to what the iteration after it has left: in the adjoint of every value that the body
    computes, and of every read of a variable. A variable's cotangent is the sum of its reads' adjoints. Where
    three iterations of `acc*x` start at 1, the product's adjoints are 1, 1 + x and 1 + 3x + x^2 instead of 1,
    x and x^2, and the gradient is 1 + 4x + 3x^2 instead of 3x^2.

    Swift keeps an adjoint for each value in each basic block. It is the old one only in the block that the
    loop jumps back to: the body up to its first branch or inner loop. What the body computes or reads after
    that starts at zero in every iteration. Sums for closed-over values are right.
    """

    def __init__(self, builder: GraphBuilder, level: int = 0, checkpoint: Checkpoint = "none") -> None:
        super().__init__(builder, level, checkpoint)
        self.made: set[Var] = set()
        self.carries: set[Var] = set()
        self.results: set[Var] = set()
        """What the body assigns last, under the name that it is assigned to."""
        self.in_first_block = True
        self.at_the_end = True
        """Whether no cotangent has been taken yet: those of the body's outputs come first."""
        self.left: list[tuple[Var, Value]] = []

    def nested(self) -> ReverseMode:
        mode = super().nested()
        assert isinstance(mode, ReusedAdjoint), "nested keeps the class"
        mode.made, mode.carries, mode.results = self.made, self.carries, self.results
        return mode

    def take(self, var: Var) -> Cotangent:
        self.at_the_end = False
        self.in_first_block = var in self.made
        g = super().take(var)
        return self.on_top(g) if self.in_first_block else g

    def accumulate(self, var: Var, part: Cotangent) -> None:
        assigned = (
            var in self.made and var.name != TEMPORARY and not (self.at_the_end and var in self.results)
        )
        is_read = self.in_first_block and (var in self.carries or assigned)
        super().accumulate(var, self.on_top(part) if is_read else part)

    def on_top(self, g: Cotangent) -> Cotangent:
        """`g` added to what the iteration after this one has left."""
        if g is None:
            return None
        old = self.builder.input(g.type, "old_bar")
        new = self.add(self.value(old), g)
        self.left.append((old, new))
        return new

    def loop(self, node: Loop, gs: Sequence[Cotangent], tape: Tape) -> list[Cotangent]:
        if node.form != "repeat":
            return super().loop(node, gs, tape)
        first_block = itertools.takewhile(lambda n: isinstance(n, Equation), node.body.nodes)
        self.made.update(v for n in first_block for v in n.outputs)
        assigned = list(zip(node.split(node.body.inputs)[1], node.body.outputs, strict=False))
        self.carries.update(v for v, after in assigned if v is not after)
        self.results.update(after for v, after in assigned if isinstance(after, Var) and after.name == v.name)
        pull = self.pullback(node, gs, tape)
        mode, count = pull.mode, len(pull.sums) + len(pull.bars)
        assert isinstance(mode, ReusedAdjoint), "nested keeps the class"
        constants, _, stacks, _ = node.split([tape.read(a) for a in node.inputs])
        own, carries, entries, _ = node.split(pull.copies)
        bars = [*pull.sums.values(), *pull.bars.values(), *(old for old, _ in mode.left)]
        read = [*carries, *entries, *pull.bars_written.values(), mode.builder.input(INT, "k")]
        after = [*pull.outputs[:count], *(new for _, new in mode.left), *pull.outputs[count:]]
        zeros = [self.builder.zeros(old.type) for old, _ in mode.left]
        results = self.builder.loop(
            "for",
            constants=constants,
            initial=[*self.starts(node, gs, pull, tape), *zeros],
            stacks=[*tape.saved[node], *stacks, *(g.atom for g in gs[len(carries) :] if g is not None)],
            body=mode.builder.finish([*own, *bars, *read], [v.atom for v in after], "pullback"),
            reverse=True,
            checkpoint=self.stacked(),
            lengths=[node.stacks[k].type.shape[0] for k in pull.active_stacks],
        )
        return self.to_inputs(node, pull, [*results[:count], *results[len(bars) :]], tape)


@BUGS.planted("M3", "stale-primal", "Paddle #27814", "the last trip's values used in every step back")
class StalePrimal(ReverseMode):
    """Every step back reads the carries as the last iteration found them."""

    def saving_loop(self, node: Loop, arguments: Sequence[Atom]) -> tuple[list[Atom], list[Atom]]:
        outputs, saved = super().saving_loop(node, arguments)
        return outputs, [self._repeat_last(s) for s in saved]

    def _repeat_last(self, stack: Atom) -> Atom:
        """A stack of the same length that repeats the last entry."""
        assert isinstance(stack, Var), "a saved stack is a value"
        entry = stack.type.element()
        last = GraphBuilder()
        old, new, index = last.input(entry, "old"), last.input(entry, "new"), last.input(INT, "k")
        (final,) = self.builder.loop(
            "for",
            constants=[],
            initial=[self.builder.zeros(entry)],
            stacks=[stack],
            body=last.finish([old, new, index], [new], "last"),
        )
        fill = GraphBuilder()
        value, each, index = fill.input(entry, "value"), fill.input(entry, "each"), fill.input(INT, "k")
        (result,) = self.builder.loop(
            "for",
            constants=[final],
            initial=[],
            stacks=[stack],
            body=fill.finish([value, each, index], [value], "fill"),
        )
        return result


@BUGS.planted("M4", "last-trip-only", "torch #184528", "carry cotangent dropped, only the last trip counts")
class LastTripOnly(ReverseMode):
    """If the initial carry is not differentiated, the carry's cotangent ends with the iteration."""

    def pullback(self, node: Loop, gs: Sequence[Cotangent], tape: Tape) -> Pullback:
        pull = super().pullback(node, gs, tape)
        first = len(pull.constants)
        for position, k in enumerate(pull.moving):
            if not tape.is_active(node.initial[k]):
                pull.outputs[first + position] = or_zeros(pull.mode, None, node.initial[k])
        return pull


@BUGS.planted("M5", "initial-value", "clad #474", "adjoint of the loop's initial value missing")
class NoInitialValue(ReverseMode):
    """The carries' cotangents are dropped when the sweep reaches the initial values."""

    def loop(self, node: Loop, gs: Sequence[Cotangent], tape: Tape) -> list[Cotangent]:
        parts = super().loop(node, gs, tape)
        first = len(node.constants)
        return [None if first <= k < first + len(node.initial) else p for k, p in enumerate(parts)]


@BUGS.planted(
    "M6", "used-after", "Warp #1694", "use after the loop of a value from before it loses its adjoint"
)
class ForgottenUse(ReverseMode):
    """Cotangents from uses after the loop are lost for values made before it."""

    def loop(self, node: Loop, gs: Sequence[Cotangent], tape: Tape) -> list[Cotangent]:
        parts = super().loop(node, gs, tape)
        self.cotangents.clear()
        return parts
