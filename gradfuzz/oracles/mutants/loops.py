"""Planted bugs in the derivative of a loop."""

from __future__ import annotations

from collections.abc import Sequence

from gradfuzz.engine import Rules
from gradfuzz.engine.modes.inline import emit_loop, inline, or_zeros
from gradfuzz.engine.modes.reverse import Cotangent, Pullback, ReverseMode, Tape
from gradfuzz.engine.rules.value import Value
from gradfuzz.oracles.mutants.mutant import Mutant
from gradfuzz.programs.graphs.builder import GraphBuilder
from gradfuzz.programs.graphs.graph import Atom, Checkpoint, Equation, Loop, Var
from gradfuzz.programs.language.types import INT


class ForwardSweep(ReverseMode):
    """M1. The adjoints become carries of the loop itself, which starts again from its initial state.

    Each iteration applies the body's pullback at the current state before it advances the state.
    """

    def loop(self, node: Loop, gs: Sequence[Cotangent], tape: Tape) -> list[Cotangent]:
        nc, ni, ns = len(node.constants), len(node.initial), len(node.stacks)
        arguments = [tape.read(a) for a in node.inputs]
        pull = self.pullback(node, gs, tape)
        if pull.bars_written or pull.active_stacks:
            return super().loop(node, gs, tape)  # Nx has no stacks; only the engine's own derivative loops do
        body = pull.mode.builder
        state = inline(body, node.body, pull.copies)
        bars = [*pull.sums.values(), *pull.bars.values()]
        starts = [or_zeros(self, None, arguments[k]).atom for k in pull.constants]
        starts += [or_zeros(self, gs[k], arguments[nc + k]).atom for k in pull.moving]
        results = emit_loop(
            self.builder,
            node,
            constants=arguments[:nc],
            initial=[*arguments[nc : nc + ni], *starts],
            stacks=arguments[nc + ni : nc + ni + ns],
            count=arguments[-1] if node.count is not None else None,
            body=body,
            inputs=[*pull.copies[: nc + ni], *bars, *pull.copies[nc + ni :]],
            outputs=[*state[:ni], *(v.atom for v in pull.outputs)],
            extra_carries=len(bars),
            lengths=[node.stacks[k].type.shape[0] for k in pull.active_stacks],
        )[ni:]
        return self.to_inputs(node, pull, results, tape)


class ReusedAdjoint(ReverseMode):
    """M2. In a body-first loop, adjoints of values made in the body are not reset between iterations back."""

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
        nc, ni, ns = len(node.constants), len(node.initial), len(node.stacks)
        arguments = [tape.read(a) for a in node.inputs]
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
        entries = [*pull.copies[nc : nc + ni + ns], *pull.bars_written.values()]
        index = mode.builder.input(INT, "k")
        carried = [*pull.sums.values(), *pull.bars.values(), *old.values()]
        after = [mode.left[v].atom for v in kept]
        n_sums, n_bars = len(pull.sums), len(pull.bars)
        outs = [v.atom for v in pull.outputs]
        results = self.builder.loop(
            "for",
            constants=arguments[:nc],
            initial=[
                *(or_zeros(self, None, arguments[k]).atom for k in pull.constants),
                *(or_zeros(self, gs[k], arguments[nc + k]).atom for k in pull.moving),
                *(self.builder.zeros(v.type) for v in kept),
            ],
            stacks=[
                s
                for s in [
                    *tape.saved[node],
                    *arguments[nc + ni : nc + ni + ns],
                    *(gs[ni + k].atom for k in pull.bars_written),  # type: ignore[union-attr]
                ]
                if isinstance(s, Var)
            ],
            body=mode.builder.finish(
                [*pull.copies[:nc], *carried, *entries, index],
                [*outs[: n_sums + n_bars], *after, *outs[n_sums + n_bars :]],
                "pullback",
            ),
            reverse=True,
        )
        return self.to_inputs(
            node, pull, [*results[: n_sums + n_bars], *results[n_sums + n_bars + len(kept) :]], tape
        )


class StalePrimal(ReverseMode):
    """M3. Every step back reads the carries as the last iteration found them."""

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

    def pullback(self, node: Loop, gs: Sequence[Cotangent], tape: Tape) -> Pullback:
        pull = super().pullback(node, gs, tape)
        first = len(pull.constants)
        for position, k in enumerate(pull.moving):
            if not tape.is_active(node.initial[k]):
                pull.outputs[first + position] = or_zeros(pull.mode, None, node.initial[k])
        return pull


class NoInitialValue(ReverseMode):
    """M5. The carries' cotangents are dropped when the sweep reaches the initial values."""

    def loop(self, node: Loop, gs: Sequence[Cotangent], tape: Tape) -> list[Cotangent]:
        parts = super().loop(node, gs, tape)
        first = len(node.constants)
        return [None if first <= k < first + len(node.initial) else p for k, p in enumerate(parts)]


class ForgottenUse(ReverseMode):
    """M6. Cotangents from uses after the loop are lost for values made before it."""

    def loop(self, node: Loop, gs: Sequence[Cotangent], tape: Tape) -> list[Cotangent]:
        parts = super().loop(node, gs, tape)
        self.cotangents.clear()
        return parts


LOOP_MUTANTS: tuple[Mutant, ...] = (
    Mutant("M1", "nx-1747", "adjoints swept in forward order", "Nx #1747", Rules(reverse=ForwardSweep)),
    Mutant(
        "M2",
        "swift-78264",
        "adjoint of a value made in the body not reset per trip",
        "Swift #78264",
        Rules(reverse=ReusedAdjoint),
    ),
    Mutant(
        "M3",
        "stale-primal",
        "the last trip's values used in every step back",
        "Paddle #27814",
        Rules(reverse=StalePrimal),
    ),
    Mutant(
        "M4",
        "last-trip-only",
        "carry cotangent dropped, only the last trip counts",
        "torch #184528",
        Rules(reverse=LastTripOnly),
    ),
    Mutant(
        "M5",
        "initial-value",
        "adjoint of the loop's initial value missing",
        "clad #474",
        Rules(reverse=NoInitialValue),
    ),
    Mutant(
        "M6",
        "used-after",
        "use after the loop of a value from before it loses its adjoint",
        "Warp #1694",
        Rules(reverse=ForgottenUse),
    ),
)
