"""One entry of a gradient of many, asked of the part of the program that it reaches.

Where a layer of ten thousand entries has one that is wrong, all but a hundred of its numbers stand still, and
need not be computed in hundreds of bits to say so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from gradfuzz.fuzzer.verdict.along import products
from gradfuzz.oracles.base import Answer, Array, Point, ProbedQuestion, Question, Truth
from gradfuzz.programs.language.reach import cut, part_reached


@dataclass(frozen=True, slots=True, eq=False)
class Reached:
    """A question along one entry, and the same of the part that the entry reaches."""

    asked: ProbedQuestion
    question: ProbedQuestion

    def answer(self, answer: Answer, truth: Truth) -> Answer:
        """An answer to `asked` as one to `question`, whose values are those of its `truth`: the values of a
        part are not the program's.
        """
        values = tuple(np.asarray(y, self.asked.precision) for y in truth.values)
        return Answer("ok", values, products(self.asked, answer.gradient))


def reached(asked: ProbedQuestion) -> Reached | None:
    """The same question of the part of its program that its only probe, an entry, reaches; None where the
    order is not one, or the part is not known.
    """
    entry = _only_entry(asked.probes[0]) if len(asked.probes) == 1 else None
    if asked.order != 1 or len(asked.points) != 1 or entry is None:
        return None
    part = part_reached(asked.program, *entry)
    if part is None:
        return None
    (point,), (probe,) = asked.points, asked.probes
    inputs = {c.name: cut(np.asarray(point.inputs[c.source]), c.box) for c in part.inputs}
    moving = {c.name: cut(np.asarray(probe[c.source]), c.box) for c in part.inputs if c.source == entry[0]}
    plain = Question(
        part.program,
        (Point(inputs),),
        asked.precision,
        tuple(moving),
        asked.modes,
        tuple(_cut_weights(asked.weights[k], box) for k, box in part.outputs),
        {c.name: cut(asked.directions[c.source], c.box) for c in part.inputs if c.name in moving},
    )
    return Reached(asked, ProbedQuestion.of(plain, [moving]))


def _only_entry(probe: Mapping[str, Array]) -> tuple[str, tuple[int, ...]] | None:
    """The entry along which a probe goes by one; None where it does not."""
    places = [(name, k) for name, w in probe.items() for k in np.flatnonzero(w).tolist()]
    if len(places) != 1:
        return None
    name, place = places[0]
    index = tuple(map(int, np.unravel_index(place, np.shape(probe[name]))))
    return (name, index) if probe[name][index] == 1.0 else None


def _cut_weights(weights: Array | None, box: tuple[tuple[int, ...] | None, ...]) -> Array | None:
    return None if weights is None else cut(np.asarray(weights), box)
