"""Planted bugs of batching: each instance alone is right, several together are wrong.

| name | alias | what is wrong | reported as |
|---|---|---|---|
| V1 | foreign-axis | a gradient is summed over the named axes of the other inputs | Nx #1731 |
| V2 | done-lane | on the way back a finished instance takes the iterations of the others | common |
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gradfuzz.engine import Value
from gradfuzz.engine.batching.batch import Batching, Lane
from gradfuzz.oracles.base import Oracle
from gradfuzz.oracles.engine.batched import EngineVectorize, EngineVmap
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


def _foreign_axis(name: str) -> Oracle:
    return EngineVectorize(name, aligned=False)


def _done_lane(name: str) -> Oracle:
    return EngineVmap(name, DoneLane)


VECTORIZE_MUTANTS: tuple[tuple[str, str, str, str, Callable[[str], Oracle]], ...] = (
    (
        "V1",
        "foreign-axis",
        "a gradient is summed over the axes of the other inputs",
        "Nx #1731",
        _foreign_axis,
    ),
    (
        "V2",
        "done-lane",
        "on the way back an instance that has ended takes the trips of the others",
        "common",
        _done_lane,
    ),
)
"""Id, alias, summary, report, and a function that makes the oracle of a name."""
