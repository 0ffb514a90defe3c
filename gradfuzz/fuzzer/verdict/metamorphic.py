"""Metamorphic variants: questions whose answers follow from another answer, without a reference.

    other modes    the same derivative by another mix of reverse and forward mode
    scaled         cotangents times -2: the gradient times -2
    permuted       the instances of a batch in another order: the gradients in that order
    stacked        each instance of a batch alone: the gradients stacked, those of an operand that all share
                   added up
    transposed     a matrix whose transpose gives the same results, or their transposes: the gradient
                   transposed
    unread         other entries in a triangle that is not read: the same gradient, and zeros there
    reordered      for an oracle that answers all points in one call: the points in another order

What a program does with a batch axis or a triangle is seen from its values: a relation is taken to hold where
it holds up to rounding for the values at two points, one of them of ordinary size. So a variant that
contradicts is no finding yet: the references decide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gradfuzz.errors import EvaluationError, ProgramError
from gradfuzz.fuzzer.questions.axes import without_axis
from gradfuzz.oracles.base import Answer, Array, Mode, Point, Question
from gradfuzz.programs.arithmetic.numpy_namespace import NumpyNamespace
from gradfuzz.programs.evaluation.interpret import arguments_of, interpret
from gradfuzz.programs.language.precision import is_float
from gradfuzz.programs.language.program import Program
from gradfuzz.programs.language.typecheck import typecheck

Change = Callable[[Array], Array]
Inputs = Mapping[str, Array]

_SCALE = -2.0
"""A power of two: scaling by it rounds nothing."""

_NEAR = 1e-9
"""Values are equal within this share of the largest, both computed in float64."""

_TRIPS = 64
"""A program with longer loops has no variants that depend on its values."""


@dataclass(frozen=True, slots=True, eq=False)
class MetamorphicVariant:
    """Questions with as many points as the first. `back` maps one answer to each, at the same point, to an
    answer to the first question.

    `order` gives the point of the questions for each point of the first, where their order differs.
    """

    relation: str
    questions: tuple[Question, ...]
    back: Callable[[Sequence[Answer]], Answer]
    order: tuple[int, ...] | None = None


# The same points --------------------------------------------------------------------------------------------


def _other_modes(question: Question) -> Iterator[MetamorphicVariant]:
    other: dict[Mode, Mode] = {"rev": "fwd", "fwd": "rev"}
    for k in range(question.order):
        modes = tuple(other[m] if j >= k else m for j, m in enumerate(question.modes))
        yield MetamorphicVariant("other modes", (replace(question, modes=modes),), _first)


def _first(answers: Sequence[Answer]) -> Answer:
    return answers[0]


def _scaled(question: Question) -> Iterator[MetamorphicVariant]:
    weights = tuple(None if w is None else w * _SCALE for w in question.weights)

    def back(answers: Sequence[Answer]) -> Answer:
        (answer,) = answers
        with np.errstate(all="ignore"):
            return replace(answer, gradient={name: _divided(g) for name, g in answer.gradient.items()})

    yield MetamorphicVariant("scaled", (replace(question, weights=weights),), back)


def _divided(gradient: Array) -> Array:
    result: Array = np.asarray(gradient / np.asarray(_SCALE, np.asarray(gradient).dtype))
    return result


def _reordered(question: Question) -> Iterator[MetamorphicVariant]:
    count = len(question.points)
    if count < 2:
        return
    order = (*range(1, count), 0)
    places = tuple((k - 1) % count for k in range(count))
    asked = replace(question, points=tuple(question.points[k] for k in order))
    yield MetamorphicVariant("reordered", (asked,), _first, places)


# Other points -----------------------------------------------------------------------------------------------


def _permuted(question: Question) -> Iterator[MetamorphicVariant]:
    sizes = {name: v.shape[0] for name, v in question.points[0].inputs.items() if v.ndim}
    for n in sorted({n for n in sizes.values() if n > 1}):
        names = [name for name, m in sizes.items() if m == n]
        for chosen in dict.fromkeys([tuple(names), *((name,) for name in names)]):
            there, back = dict.fromkeys(chosen, _rolled), dict.fromkeys(chosen, _unrolled)
            variant = _moved(question, "permuted", there, back, _rolls)
            if variant is not None:
                yield variant
                break


def _rolled(x: Array) -> Array:
    return np.roll(x, 1, axis=0)


def _unrolled(x: Array) -> Array:
    return np.roll(x, -1, axis=0)


_SAME: tuple[Change, Change] = (np.asarray, np.asarray)
_rolls = ((_rolled, _unrolled), _SAME)
_transposes = (_SAME, (lambda x: np.swapaxes(x, -1, -2),) * 2)


def _transposed(question: Question) -> Iterator[MetamorphicVariant]:
    for name in _square(question):
        flip = {name: lambda x: np.swapaxes(x, -1, -2)}
        variant = _moved(question, "transposed", flip, flip, _transposes)
        if variant is not None:
            yield variant


def _square(question: Question) -> list[str]:
    """The differentiated inputs that are square matrices with more than one entry, or stacks of them."""
    shapes = {name: question.points[0].inputs[name].shape for name in question.wrt}
    return [name for name, s in shapes.items() if len(s) > 1 and s[-1] == s[-2] > 1 and 0 not in s]


def _unread(question: Question) -> Iterator[MetamorphicVariant]:
    for name in _square(question):
        for kept in (np.tril, np.triu):

            def other(x: Array, kept: Any = kept) -> Array:
                """The transposed entries in the other triangle, with their signs changed."""
                mirrored: Array = np.where(kept(np.ones(x.shape, bool)), x, -np.swapaxes(x, -1, -2))
                return mirrored

            variant = _moved(question, "unread", {name: other}, {name: kept}, (_SAME,))
            if variant is not None:
                yield variant
                break


def _moved(
    question: Question,
    relation: str,
    there: Mapping[str, Change],
    back: Mapping[str, Change],
    results: Sequence[tuple[Change, Change]],
) -> MetamorphicVariant | None:
    """The variant at inputs changed by `there`, with gradients changed by `back`; None if outputs differ.

    `results` are the possible changes of an output, each with its inverse. Directions change as the inputs
    do.
    """
    chosen = _outputs(question, there, results)
    if chosen is None:
        return None
    points = tuple(Point(_changed(point.inputs, there)) for point in question.points)
    pairs = zip(question.weights, chosen, strict=True)
    weights = tuple(None if w is None else change(w) for w, (change, _) in pairs)
    directions = _changed(question.directions, {name: there[name] for name in there if relation != "unread"})

    def answered(answers: Sequence[Answer]) -> Answer:
        (answer,) = answers
        if answer.status != "ok":
            return answer
        values = tuple(inverse(np.asarray(y)) for y, (_, inverse) in zip(answer.values, chosen, strict=False))
        return replace(answer, values=values, gradient=_changed(answer.gradient, back))

    asked = replace(question, points=points, weights=weights, directions=directions)
    return MetamorphicVariant(relation, (asked,), answered)


def _changed(arrays: Inputs, changes: Mapping[str, Change]) -> dict[str, Array]:
    return {name: changes[name](np.asarray(v)) if name in changes else v for name, v in arrays.items()}


def _outputs(
    question: Question, there: Mapping[str, Change], results: Sequence[tuple[Change, Change]]
) -> list[tuple[Change, Change]] | None:
    """How each output changes when the inputs change by `there`; None where one has none of the changes."""
    chosen: list[list[tuple[Change, Change]]] = [list(results) for _ in question.weights]
    for inputs in _samples(question.points[0].inputs):
        before, after = _values(question.program, inputs), _values(question.program, _changed(inputs, there))
        if before is None or after is None:
            return None
        rows = zip(chosen, before, after, strict=True)
        chosen = [[way for way in ways if _alike(_applied(way[0], x), y)] for ways, x, y in rows]
    return [ways[0] for ways in chosen] if all(chosen) else None


def _applied(change: Change, x: Array) -> Array | None:
    """The changed array; None where `x` lacks the axes."""
    try:
        return change(x)
    except ValueError:
        return None


def _samples(inputs: Inputs) -> list[Inputs]:
    """The inputs in float64, and ordinary ones near by without symmetries, where no relation is chance."""
    exact = {name: v.astype(np.float64) if is_float(v.dtype) else v for name, v in inputs.items()}
    rng = np.random.default_rng(0)
    return [exact, {name: _ordinary(v, rng) if is_float(v.dtype) else v for name, v in exact.items()}]


def _ordinary(x: Array, rng: np.random.Generator) -> Array:
    """`x` scaled so that its largest entry is between 1/2 and 1, with up to 1/16 added to each."""
    _, exponent = np.frexp(np.abs(x).max(initial=0.0))
    result: Array = np.ldexp(x, -exponent) + rng.uniform(-1, 1, x.shape) / 16
    return result


def _values(program: Program, inputs: Inputs) -> list[Array] | None:
    """The outputs in float64; None where the program fails or an output is not finite."""
    with np.errstate(all="ignore"):
        try:
            outputs = interpret(program, arguments_of(inputs), NumpyNamespace("float64"), trip_limit=_TRIPS)
            found = [np.asarray(y) for y in outputs]
        except EvaluationError:
            return None
    return found if all(np.all(np.isfinite(y)) for y in found) else None


def _alike(x: Array | None, y: Array) -> bool:
    if x is None or x.shape != y.shape:
        return False
    largest = float(np.abs(y).max(initial=0.0)) if y.dtype != bool else 1.0
    return bool(np.all(np.abs(x.astype(np.float64) - y.astype(np.float64)) <= _NEAR * largest))


# Each instance alone ----------------------------------------------------------------------------------------


def _stacked(question: Question) -> Iterator[MetamorphicVariant]:
    """The program without the leading axis of its arrays of highest rank, for each instance alone."""
    program, inputs = question.program, question.points[0].inputs
    rank = max((p.type.rank for p in program.params), default=0)
    n = next((p.type.sizes[0] for p in program.params if p.type.rank == rank > 0), 0)
    single = without_axis(program, rank, 0, aligned=False)
    batched = [p.name for p in program.params if p.type.rank == rank]
    if n < 2 or any(inputs[name].shape[0] != n for name in batched):
        return
    try:
        shapes = [t.sizes for t in typecheck(single).outputs]
    except ProgramError:
        return
    whole = [() if w is None else w.shape for w in question.weights]
    if any(w is None for w in question.weights) or whole != [(n, *s) for s in shapes]:
        return
    if not all(_stacks(program, single, sample, batched, n) for sample in _samples(inputs)):
        return

    def back(answers: Sequence[Answer]) -> Answer:
        bad = next((answer for answer in answers if answer.status != "ok"), None)
        if bad is not None:
            return bad
        columns = zip(*(answer.values for answer in answers), strict=True)
        values = tuple(np.stack([np.asarray(y) for y in column]) for column in columns)
        names = answers[0].gradient
        gradient = {name: [np.asarray(answer.gradient[name]) for answer in answers] for name in names}
        joined = {
            name: np.stack(g) if name in batched else np.sum(g, axis=0, dtype=g[0].dtype)
            for name, g in gradient.items()
        }
        return Answer("ok", values, joined)

    parts = []
    for k in range(n):
        points = tuple(Point(_instance(point.inputs, batched, k)) for point in question.points)
        weights = tuple(None if w is None else w[k] for w in question.weights)
        directions = _instance(question.directions, batched, k)
        parts.append(replace(question, program=single, points=points, weights=weights, directions=directions))
    yield MetamorphicVariant("stacked", tuple(parts), back)


def _instance(arrays: Inputs, batched: Sequence[str], k: int) -> dict[str, Array]:
    return {name: np.asarray(v[k]) if name in batched else v for name, v in arrays.items()}


def _stacks(program: Program, single: Program, inputs: Inputs, batched: Sequence[str], n: int) -> bool:
    whole = _values(program, inputs)
    parts = [_values(single, _instance(inputs, batched, k)) for k in range(n)]
    if whole is None or any(part is None for part in parts):
        return False
    columns = zip(*filter(None, parts), strict=True)
    return all(_alike(np.stack(column), y) for column, y in zip(columns, whole, strict=True))


Relation = Callable[[Question], Iterator[MetamorphicVariant]]
"""The metamorphic variants of a question about a derivative at one or more points."""

_RELATIONS: Mapping[str, Relation] = {
    "other modes": _other_modes,
    "scaled": _scaled,
    "permuted": _permuted,
    "stacked": _stacked,
    "transposed": _transposed,
    "unread": _unread,
}


def relations(*, together: bool = False) -> Mapping[str, Relation]:
    """The relations by name. `together`: for an oracle that answers all points in one call."""
    return {**_RELATIONS, "reordered": _reordered} if together else _RELATIONS
