"""A program at one point with all that a question fixes: what is shrunk, and what a finding shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gradfuzz.oracles.base import Array, Mode, Point, Precision, Question
from gradfuzz.programs.syntax import Program
from gradfuzz.programs.typecheck import Typed

__all__ = ["Draft", "Specimen"]


@dataclass(frozen=True, slots=True, eq=False)
class Specimen:
    """A question with one point, taken apart. `precision` and `modes` never change while it is shrunk."""

    program: Program
    inputs: Mapping[str, Array]
    precision: Precision
    wrt: tuple[str, ...]
    modes: tuple[Mode, ...]
    weights: tuple[Array | None, ...]
    directions: Mapping[str, Array]

    @classmethod
    def of(cls, question: Question, point_index: int = 0) -> Specimen:
        """The specimen at one point of a question."""
        return cls(
            question.program,
            question.points[point_index].inputs,
            question.precision,
            question.wrt,
            question.modes,
            question.weights,
            question.directions,
        )

    def question(self, points: Sequence[Mapping[str, Array]] = ()) -> Question:
        """The question at the specimen's own inputs, or at `points`."""
        at = tuple(Point(inputs) for inputs in (points or [self.inputs]))
        return Question(self.program, at, self.precision, self.wrt, self.modes, self.weights, self.directions)

    def fitted(self, program: Program, typed: Typed) -> Specimen:
        """The specimen with another program: inputs, weights and directions that are left over go, and the rest take the new shapes.

        Entries are repeated or cut off where a shape changes. `program` has no parameter that this one lacks.
        """
        inputs = {p.name: _sized(self.inputs[p.name], p.type.sizes) for p in program.params}
        wrt = tuple(name for name in self.wrt if name in inputs)
        old = [*self.weights, *([None] * len(typed.outputs))]
        weights = tuple(
            None if not t.is_float else _sized(np.ones(()) if w is None else w, t.sizes)
            for t, w in zip(typed.outputs, old, strict=False)
        )
        directions = {name: _sized(self.directions[name], np.shape(inputs[name])) for name in wrt if name in self.directions}
        return replace(self, program=program, inputs=inputs, wrt=wrt, weights=weights, directions=directions)

    def renamed(self, program: Program, names: Mapping[str, str]) -> Specimen:
        """The specimen of a program whose names have changed."""

        def name(old: str) -> str:
            return names.get(old, old)

        return replace(
            self,
            program=program,
            inputs={name(k): v for k, v in self.inputs.items()},
            wrt=tuple(map(name, self.wrt)),
            directions={name(k): v for k, v in self.directions.items()},
        )

    def mapped(self, change: Callable[[Array], Array]) -> Specimen:
        """The specimen with `change` applied to every weight and direction."""
        return replace(
            self,
            weights=tuple(None if w is None else change(w) for w in self.weights),
            directions={name: change(v) for name, v in self.directions.items()},
        )

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for equal specimens."""
        return (
            self.program,
            tuple(self.inputs[p.name].tobytes() for p in self.program.params),
            self.wrt,
            tuple(None if w is None else w.tobytes() for w in self.weights),
            tuple(self.directions[name].tobytes() for name in self.wrt if name in self.directions),
        )


Draft = Specimen | Program
"""A candidate of shrinking: a whole specimen, or a program to which inputs, weights and directions have yet to be fitted."""


def _sized(array: Array, shape: tuple[int, ...]) -> Array:
    """The leading block of `array`, which keeps a matrix's structure, or its entries over and over where `shape` is larger."""
    array = np.asarray(array)
    if array.ndim == len(shape) + 1 and array.shape[0]:
        array = array[0]
    if array.ndim == len(shape) and all(n <= m for n, m in zip(shape, array.shape, strict=True)):
        return array[tuple(map(slice, shape))]
    return np.resize(array, shape)
