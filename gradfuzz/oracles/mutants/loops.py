"""Planted bugs in the derivative of a loop."""

from __future__ import annotations

from collections.abc import Sequence

from gradfuzz.engine.modes.inline import emit_loop, inline, or_zeros
from gradfuzz.engine.modes.reverse import Cotangent, Pullback, ReverseMode, Tape
from gradfuzz.engine.rules.value import Value
from gradfuzz.oracles.mutants.mutant import Mutant, planted
from gradfuzz.programs.graphs.builder import GraphBuilder
from gradfuzz.programs.graphs.graph import Atom, Checkpoint, Equation, Loop, Var
from gradfuzz.programs.language.types import INT


class ForwardSweep(ReverseMode):
    """M1. The adjoints become carries of the loop itself, which starts again from its initial state.

    Each iteration applies the body's pullback at the current state before it advances the state.
    """

    summary = "adjoints swept in forward order"

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


class ReusedAdjoint(ReverseMode):
    """M2. In a body-first loop, adjoints of values made in the body are not reset between iterations back."""

    summary = "adjoint of a value made in the body not reset per trip"

    def __init__(self, builder: GraphBuilder, level: int = 0, checkpoint: Checkpoint = "none") -> None:
        super().__init__(builder, level, checkpoint)
        self.stale: dict[Var, Value] = {}
        self.left: dict[Var, Value] = {}

    def take(self, var: Var) -> Cotangent:
        g = super().take(var)
        if var in self.stale:
            g = self.stale[var] if g is None else self.stale[var] + g
        if g is not None:
            self.left[var] = g
        return g

    def loop(self, node: Loop, gs: Sequence[Cotangent], tape: Tape) -> list[Cotangent]:
        if node.form != "repeat":
            return super().loop(node, gs, tape)
        made = [n.output for n in node.body.nodes if isinstance(n, Equation) and n.output.type.is_float]
        first = super().pullback(node, gs, tape)
        kept = [v for v in made if isinstance(first.mode, ReusedAdjoint) and v in first.mode.left]
        moving = set(first.moving)
        while True:
            mode = self.nested()
            assert isinstance(mode, ReusedAdjoint), "nested keeps the class"
            old = {v: mode.builder.input(v.type, f"{v.name}_stale") for v in kept}
            mode.stale = {v: mode.value(a) for v, a in old.items()}
            pull = Pullback(mode, node, gs, tape, sorted(moving))
            if pull.reached <= moving:
                break
            moving |= pull.reached
        constants, _, stacks, _ = node.split([tape.read(a) for a in node.inputs])
        own, carries, entries, _ = node.split(pull.copies)
        bars = [*pull.sums.values(), *pull.bars.values()]
        outs, n = [v.atom for v in pull.outputs], len(bars)
        written = [g.atom for g in gs[len(node.initial) :] if g is not None]
        inputs = [
            *(*own, *bars, *old.values()),
            *(*carries, *entries, *pull.bars_written.values(), mode.builder.input(INT, "k")),
        ]
        after = [*outs[:n], *(mode.left[v].atom for v in kept), *outs[n:]]
        results = self.builder.loop(
            "for",
            constants=constants,
            initial=[*self.starts(node, gs, pull, tape), *(self.builder.zeros(v.type) for v in kept)],
            stacks=[*tape.saved[node], *stacks, *written],
            body=mode.builder.finish(inputs, after, "pullback"),
            reverse=True,
        )
        return self.to_inputs(node, pull, [*results[:n], *results[n + len(kept) :]], tape)


class StalePrimal(ReverseMode):
    """M3. Every step back reads the carries as the last iteration found them."""

    summary = "the last trip's values used in every step back"

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


class LastTripOnly(ReverseMode):
    """M4. If the initial carry is not differentiated, the carry's cotangent ends with the iteration."""

    summary = "carry cotangent dropped, only the last trip counts"

    def pullback(self, node: Loop, gs: Sequence[Cotangent], tape: Tape) -> Pullback:
        pull = super().pullback(node, gs, tape)
        first = len(pull.constants)
        for position, k in enumerate(pull.moving):
            if not tape.is_active(node.initial[k]):
                pull.outputs[first + position] = or_zeros(pull.mode, None, node.initial[k])
        return pull


class NoInitialValue(ReverseMode):
    """M5. The carries' cotangents are dropped when the sweep reaches the initial values."""

    summary = "adjoint of the loop's initial value missing"

    def loop(self, node: Loop, gs: Sequence[Cotangent], tape: Tape) -> list[Cotangent]:
        parts = super().loop(node, gs, tape)
        first = len(node.constants)
        return [None if first <= k < first + len(node.initial) else p for k, p in enumerate(parts)]


class ForgottenUse(ReverseMode):
    """M6. Cotangents from uses after the loop are lost for values made before it."""

    summary = "use after the loop of a value from before it loses its adjoint"

    def loop(self, node: Loop, gs: Sequence[Cotangent], tape: Tape) -> list[Cotangent]:
        parts = super().loop(node, gs, tape)
        self.cotangents.clear()
        return parts


LOOP_MUTANTS: tuple[Mutant, ...] = (
    planted(ForwardSweep, "M1", "nx-1747", "Nx #1747"),
    planted(ReusedAdjoint, "M2", "swift-78264", "Swift #78264"),
    planted(StalePrimal, "M3", "stale-primal", "Paddle #27814"),
    planted(LastTripOnly, "M4", "last-trip-only", "torch #184528"),
    planted(NoInitialValue, "M5", "initial-value", "clad #474"),
    planted(ForgottenUse, "M6", "used-after", "Warp #1694"),
)
