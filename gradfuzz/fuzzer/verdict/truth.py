"""The reference values: asked of the references, never of a target.

`arb` answers first: it is fast and its bounds are proved. `mpmath` is asked where `arb` meets a kink, where
it measures the slopes to the left and to the right, and about everything that may become a finding: a
disagreement counts when both confirm it. There is no vote: where the two contradict each other, nothing is
judged.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

import numpy as np

from gradfuzz.fuzzer.verdict.kinks import slopes_across
from gradfuzz.oracles.base import (
    Array,
    Doubt,
    Point,
    ProbedQuestion,
    Question,
    Reference,
    Sides,
    Truth,
    output_key,
)
from gradfuzz.oracles.references.arb import ArbReference
from gradfuzz.oracles.references.finite_differences import MpmathReference
from gradfuzz.programs.language.recent import Latest, Recent


@dataclass(frozen=True, slots=True, eq=False)
class ReferenceValue:
    """A truth and the names of the references that support it."""

    truth: Truth
    references: tuple[str, ...]


_MOST_DIFFERENCES = 300
"""From this many differences on a kink is not measured: a third order of 24 entries takes ten seconds."""


_BESIDE = 2.0**-50
"""Slopes on both sides are equal up to their rounding to float64, and to their change on the way there."""


_HASHED = 2**16
"""A key holds no more bytes of an array than these."""


def _differences(question: Question) -> int:
    """About how many differences a point of a question takes."""
    if isinstance(question, ProbedQuestion):
        return int(len(question.probes) * 3**question.order)
    entries = sum(question.points[0].inputs[name].size for name in question.wrt)
    differences: int = entries * 3**question.order
    return differences


class Truths:
    """The references and their latest values, which several modes and targets ask for."""

    def __init__(
        self, fast: Reference | None = None, second: Reference | None = None, *, size: int = 512
    ) -> None:
        self._fast = fast or ArbReference()
        self._second = second or MpmathReference()
        self._cache: Latest[list[ReferenceValue]] = Latest(size)

    def quick(self, question: Question) -> list[ReferenceValue]:
        """One reference value per point, by one reference."""
        return self._cache.get(("quick", *question_key(question)), lambda: self._quick(question))

    def confirmed(self, question: Question) -> list[ReferenceValue]:
        """One reference value per point, by both references, or by one where the other has no answer.

        Where the first meets a kink, it is asked beside the point on either side, and must confirm what the
        second measured there.
        """
        return self._cache.get(("confirmed", *question_key(question)), lambda: self._confirmed(question))

    def _first(self, question: Question) -> list[ReferenceValue]:
        """What the first reference says alone; a quick answer and a confirmed one after it begin with it."""
        return self._cache.get(
            ("first", *question_key(question)),
            lambda: [ReferenceValue(truth, (self._fast.name,)) for truth in self._fast.truth(question)],
        )

    def _quick(self, question: Question) -> list[ReferenceValue]:
        reference_values = list(self._first(question))
        kinks = [k for k, reference_value in enumerate(reference_values) if reference_value.truth.kink]
        if kinks and _differences(question) <= _MOST_DIFFERENCES:
            asked = replace(question, points=tuple(question.points[k] for k in kinks))
            for k, truth in zip(kinks, self._second.truth(asked), strict=True):
                # A ball that cannot tell two sides apart is no kink where differences show none.
                reference_values[k] = self._across(question, k, ReferenceValue(truth, (self._second.name,)))
        return reference_values

    def _across(self, question: Question, place: int, reference_value: ReferenceValue) -> ReferenceValue:
        """The reference value at a kink with slopes along more directions; any other unchanged."""
        truth = reference_value.truth
        if (
            not truth.kink
            or question.order != 1
            or truth.left is None
            or isinstance(question, ProbedQuestion)
        ):
            return reference_value
        across = slopes_across(question, question.points[place], self._second)
        return replace(reference_value, truth=replace(truth, across=across))

    def _confirmed(self, question: Question) -> list[ReferenceValue]:
        names = self._fast.name, self._second.name
        reference_values = []
        truths = zip(self._first(question), self._second.truth(question), strict=True)
        for k, (first, b) in enumerate(truths):
            a = first.truth
            reference_value = _joined(a, b, names)
            if a.kink and (b.status == "ok" or b.left is not None):
                (sides,) = self._fast.sides(replace(question, points=(question.points[k],)))
                reference_value = _beside(b, sides, names)
            reference_values.append(self._across(question, k, reference_value))
        return reference_values


def _joined(a: Truth, b: Truth, names: tuple[str, str]) -> ReferenceValue:
    if a.status != "ok":
        other = b.status == "ok" or b.kink
        return ReferenceValue(b, names[1:]) if other else ReferenceValue(a, names[:1])
    if b.status != "ok":
        if b.kink:
            words = f"{names[0]} finds the point smooth, and {names[1]} does not: {b.message}"
            return ReferenceValue(Truth.unknown(Doubt.REFERENCES, words, trace=a.trace), names)
        return ReferenceValue(a, (names[0],))
    where = _contradiction(a, b)
    if where is not None:
        return ReferenceValue(Truth.unknown(Doubt.REFERENCES, where, trace=a.trace), names)
    return ReferenceValue(replace(a, left=b.left, right=b.right, side_bounds=b.side_bounds), names)


def _beside(measured: Truth, sides: Sides | None, names: tuple[str, str]) -> ReferenceValue:
    """The second reference's value at a kink of the first; confirmed if the first agrees beside the point."""
    if sides is None:
        return ReferenceValue(measured, (names[1],))
    for side, own in zip(sides, (measured.left, measured.right), strict=True):
        bounds = measured.bounds if own is None else measured.side_bounds or {}
        for name, y in (measured.gradient if own is None else own).items():
            if np.any(np.abs(y - side[name]) > bounds[name] + _BESIDE * (np.abs(y) + np.abs(side[name]))):
                words = f"they contradict each other about {name} next to the point: {side[name]} and {y}"
                return ReferenceValue(Truth.unknown(Doubt.REFERENCES, words, trace=measured.trace), names)
    return ReferenceValue(measured, names)


def _contradiction(a: Truth, b: Truth) -> str | None:
    """Where two truths are farther apart than their bounds allow, in words; else None."""
    outputs = enumerate(zip(a.values, b.values, a.value_bounds, b.value_bounds, strict=True))
    rows = [(output_key(k), y, z, p + q) for k, (y, z, p, q) in outputs]
    rows += [(n, a.gradient[n], b.gradient[n], a.bounds[n] + b.bounds[n]) for n in a.gradient]
    for name, y, z, bound in rows:
        if np.any(np.abs(y - z) > bound):
            return f"they contradict each other about {name}: {y} and {z}"
    return None


def question_key(question: Question, *, probes: bool = True) -> tuple[object, ...]:
    """Equal for questions with the same truth: of the modes only their number counts. Without `probes`, for
    those of the same gradient.
    """
    along = [name for name in question.wrt if name in question.directions and question.order > 1]
    asked = question.probes if probes and isinstance(question, ProbedQuestion) else ()
    return (
        *(question.program, question.precision, question.wrt, question.order),
        tuple(_inputs.get(p)[q.name] for p in question.points for q in question.program.params),
        tuple(None if w is None else _bytes(w) for w in question.weights),
        tuple(_bytes(question.directions[name]) for name in along),
        tuple(_bytes(array) for probe in asked for array in probe.values()),
    )


def _bytes(array: Array) -> bytes:
    """What tells an array from others: its bytes, or a hash of many."""
    if array.nbytes <= _HASHED:
        return array.tobytes()
    return hashlib.sha1(np.ascontiguousarray(array).data, usedforsecurity=False).digest()


def _of_inputs(point: Point) -> dict[str, bytes]:
    return {name: _bytes(x) for name, x in point.inputs.items()}


_inputs = Recent(_of_inputs, 8)
