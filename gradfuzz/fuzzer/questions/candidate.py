"""A program at one point with all that a question fixes: what is shrunk, and what a finding shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gradfuzz.oracles.base import Array, Mode, Point, Question
from gradfuzz.programs.language.precision import Precision
from gradfuzz.programs.language.program import Program
from gradfuzz.programs.language.typecheck import Typed


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A question with one point, taken apart. `precision` and `modes` never change while it is shrunk.

    Where all points of a question are answered in one call, `others` are the inputs of the other points, and
    `place` is the number of them that come before this one.
    """

    program: Program
    inputs: Mapping[str, Array]
    precision: Precision
    wrt: tuple[str, ...]
    modes: tuple[Mode, ...]
    weights: tuple[Array | None, ...]
    directions: Mapping[str, Array]
    others: tuple[Mapping[str, Array], ...] = ()
    place: int = 0

    @classmethod
    def of(cls, question: Question, point_index: int = 0, *, together: bool = False) -> Candidate:
        """The candidate at one point of a question; with all others where they are answered `together`."""
        points = [point.inputs for point in question.points]
        others = (*points[:point_index], *points[point_index + 1 :]) if together else ()
        return cls(
            question.program,
            question.points[point_index].inputs,
            question.precision,
            question.wrt,
            question.modes,
            question.weights,
            question.directions,
            others,
            point_index if together else 0,
        )

    def alone(self) -> Candidate:
        """The candidate without the others."""
        return replace(self, others=(), place=0)

    def question(self, points: Sequence[Mapping[str, Array]] = ()) -> Question:
        """The question at the candidate's own inputs among the others, or at `points`."""
        own = [*self.others[: self.place], self.inputs, *self.others[self.place :]]
        at = tuple(Point(inputs) for inputs in (points or own))
        return Question(self.program, at, self.precision, self.wrt, self.modes, self.weights, self.directions)

    def fitted(self, program: Program, typed: Typed) -> Candidate:
        """The candidate with another program. Inputs, weights and directions without a use are dropped, the
        others take the new shapes.

        Entries are repeated or cut off where a shape changes. Every parameter of `program` is one of this
        program's.
        """

        def fit(inputs: Mapping[str, Array]) -> dict[str, Array]:
            return {p.name: _sized(inputs[p.name], p.type.sizes) for p in program.params}

        inputs = fit(self.inputs)
        wrt = tuple(name for name in self.wrt if name in inputs)
        old = [*self.weights, *([None] * len(typed.outputs))]
        weights = tuple(
            None if not t.is_float else _sized(np.ones(()) if w is None else w, t.sizes)
            for t, w in zip(typed.outputs, old, strict=False)
        )
        along = [name for name in wrt if name in self.directions]
        directions = {name: _sized(self.directions[name], np.shape(inputs[name])) for name in along}
        fitted = replace(self, program=program, inputs=inputs, others=tuple(map(fit, self.others)))
        return replace(fitted, wrt=wrt, weights=weights, directions=directions)

    def with_input(self, name: str, value: Array) -> Candidate:
        """The candidate with another value of an input, at all points that have the same value."""
        old = self.inputs[name].tobytes()
        others = tuple(
            {**other, name: value} if other[name].tobytes() == old else other for other in self.others
        )
        return replace(self, inputs={**self.inputs, name: value}, others=others)

    def renamed(self, program: Program, names: Mapping[str, str]) -> Candidate:
        """The candidate of a program whose names have changed."""

        def named(arrays: Mapping[str, Array]) -> dict[str, Array]:
            return {names.get(k, k): v for k, v in arrays.items()}

        wrt, others = tuple(names.get(k, k) for k in self.wrt), tuple(map(named, self.others))
        inputs, directions = named(self.inputs), named(self.directions)
        return replace(self, program=program, inputs=inputs, others=others, wrt=wrt, directions=directions)

    def mapped(self, change: Callable[[Array], Array]) -> Candidate:
        """The candidate with `change` applied to every weight and direction."""
        return replace(
            self,
            weights=tuple(None if w is None else change(w) for w in self.weights),
            directions={name: change(v) for name, v in self.directions.items()},
        )

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for equal candidates."""
        return (
            self.program,
            tuple(self.inputs[p.name].tobytes() for p in self.program.params),
            (self.place, *(other[p.name].tobytes() for other in self.others for p in self.program.params)),
            self.wrt,
            tuple(None if w is None else w.tobytes() for w in self.weights),
            tuple(self.directions[name].tobytes() for name in self.wrt if name in self.directions),
        )


Draft = Candidate | Program
"""A proposal of shrinking: a candidate, or a program to which the candidate's inputs are fitted."""


def _sized(array: Array, shape: tuple[int, ...]) -> Array:
    """The leading block, which keeps a matrix's structure; entries are repeated where `shape` is larger."""
    array = np.asarray(array)
    if array.ndim == len(shape) + 1 and array.shape[0]:
        array = array[0]
    if array.ndim == len(shape) and all(n <= m for n, m in zip(shape, array.shape, strict=True)):
        return array[tuple(map(slice, shape))]
    return np.resize(array, shape)
