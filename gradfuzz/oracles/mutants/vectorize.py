"""Planted bugs of batching: each instance alone is right, several together are wrong."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from gradfuzz.engine import Rules, Value
from gradfuzz.engine.batching.batch import Batching, Lane
from gradfuzz.oracles.engine.batched import EngineVectorize, EngineVmap
from gradfuzz.oracles.mutants.mutant import Mutant
from gradfuzz.programs.graphs.graph import Loop


class DoneLane(Batching):
    """V2. A backward loop has no mask: the adjoint of a finished lane goes through all iterations."""

    def trip(
        self, node: Loop, parts: object, live: Value, inputs: Sequence[Lane]
    ) -> tuple[list[Lane], list[Lane]]:
        if not node.reverse:
            return super().trip(node, parts, live, inputs)  # type: ignore[arg-type]
        outputs = self.run(node.body, inputs)
        ni = len(node.initial)
        return [self.spread(o) for o in outputs[:ni]], outputs[ni:]


_FOREIGN_AXIS = functools.partial(EngineVectorize, aligned=False)
_DONE_LANE = functools.partial(EngineVmap, rules=DoneLane)

_V1 = "a gradient is summed over the axes of the other inputs"
_V2 = "on the way back an instance that has ended takes the trips of the others"

BUGS = (
    Mutant("V1", "foreign-axis", _V1, "Nx #1731", Rules(), _FOREIGN_AXIS),
    Mutant("V2", "done-lane", _V2, "common", Rules(), _DONE_LANE),
)
