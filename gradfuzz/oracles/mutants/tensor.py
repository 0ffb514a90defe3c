"""Planted bugs in tensor rules: right in the plainest case.

They are wrong where indices repeat, axes have equal lengths, or two forward modes are nested.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradfuzz.engine import any, where
from gradfuzz.engine import sum as total
from gradfuzz.engine.modes.forward import ForwardMode, Tangent
from gradfuzz.engine.modes.reverse import Cotangent, ReverseMode, Tape
from gradfuzz.engine.rules.functions import cumulative_sum, reshape
from gradfuzz.engine.rules.jvp import JVP
from gradfuzz.engine.rules.value import Value
from gradfuzz.engine.rules.vjp import VJP
from gradfuzz.oracles.mutants.mutant import Bugs, recorded
from gradfuzz.programs.graphs.graph import Atom, Equation
from gradfuzz.programs.language.ops import OPS

BUGS = Bugs()


@BUGS.planted("M11", "clip-squared", "Nx #1779", "the cotangent of clip applied twice")
class _Squared(ReverseMode):
    """The rule of `clip` masks the cotangent and multiplies by it again."""

    def equation(self, node: Equation, g: Value, tape: Tape) -> list[Cotangent]:
        return super().equation(node, recorded(g * g) if node.op == "clip" else g, tape)


@BUGS.planted(
    "M20", "forward-over-forward", "torch #196698", "what forward mode saves is constant to forward mode"
)
class _SavedByForward(ForwardMode):
    """Values saved by forward mode count as constants when forward mode differentiates again."""

    def equation(
        self, node: Equation, arguments: list[Atom], tangents: list[Tangent]
    ) -> tuple[list[Atom], list[Tangent]]:
        values, slopes = super().equation(node, arguments, tangents)
        if node.output.name.endswith(_SAVED):
            return values, [None]
        if node.op not in _SAVING or slopes[0] is None:
            return values, slopes
        ans, name = self.value(values[0]), f"{node.output.name}{_SAVED}"
        saved = self.value(self.builder.emit_as(name, "broadcast_to", ans.atom, shape=ans.shape))
        rule: Any = JVP[node.op]
        return values, [rule[0](tangents[0], saved, *map(self.value, arguments), **dict(node.params))]


_SAVED = "_saved"
_SAVING = ("exp", "tanh", "softmax", "logsumexp")
"""Ops whose forward rule reads the value."""


@BUGS.planted("T1", "take-overwrites", "common", "cotangents of repeated indices overwrite each other")
class _Overwriting(ReverseMode):
    """Cotangents of one entry of `take` overwrite each other: only the last of equal indices counts."""

    def equation(self, node: Equation, g: Value, tape: Tape) -> list[Cotangent]:
        if node.op != "take" or 0 in g.shape:
            return super().equation(node, g, tape)
        x, indices = (self.value(tape.read(a)) for a in node.inputs)
        shape, count = indices.shape, int(np.prod(indices.shape, dtype=int))
        again = reshape(indices, (count, 1)) == reshape(indices, (1, count))
        later = any(again & np.triu(np.ones((count, count), bool), 1), axis=1)
        after = x.ndim - 1 - int(dict(node.params)["axis"]) % x.ndim  # type: ignore[arg-type]
        kept = reshape(where(later, 0.0, 1.0), (*shape, *[1] * after))
        return super().equation(node, recorded(g * kept), tape)


@BUGS.planted("T2", "cumulative-unflipped", "Nx #1731", "gradient of cumulative_sum summed from the front")
class _Unflipped(ReverseMode):
    """The cotangent of a cumulative sum is summed from the front instead of the back."""

    def equation(self, node: Equation, g: Value, tape: Tape) -> list[Cotangent]:
        if node.op != "cumulative_sum":
            return super().equation(node, g, tape)
        return [recorded(cumulative_sum(g, axis=dict(node.params)["axis"]))]  # type: ignore[arg-type]


@BUGS.planted(
    "T3", "unbroadcast-axes", "Nx #1731", "broadcasting undone along the wrong axes, where they fit"
)
class _WrongAxes(ReverseMode):
    """A broadcast operand's missing axes are taken for the last instead of the first if sizes allow it."""

    def equation(self, node: Equation, g: Value, tape: Tape) -> list[Cotangent]:
        parts = super().equation(node, g, tape)
        rules = VJP[node.op] if OPS[node.op].kind == "arithmetic" else ()
        if not rules or not isinstance(rules, tuple):
            return parts
        ans, args = self.value(tape.read(node.output)), [self.value(tape.read(a)) for a in node.inputs]
        for k, part in enumerate(parts):
            if part is None or part.ndim in (0, g.ndim) or g.shape[: part.ndim] != part.shape:
                continue
            whole = rules[k](g, ans, *args, **dict(node.params))
            if whole.shape == g.shape:
                parts[k] = recorded(total(whole, axis=tuple(range(part.ndim, g.ndim))))
        return parts
