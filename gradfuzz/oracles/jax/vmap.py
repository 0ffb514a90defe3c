"""JAX on all points of a question in one call: "jax:vmap", also without jit, and "jax:grad_of_vmap".

An input that is equal at all points is shared (`in_axes` None), the others are mapped; points on a grid of
two axes are two nested `jax.vmap`. Each instance ends its loops by itself.

Under `vmap` a `lax.cond` on batched data computes both sides and selects, so an infinity on the side not
taken makes a NaN of a gradient. JAX's documentation says so; such an answer is inconclusive.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal

import jax
import numpy as np

from gradfuzz.oracles.base import Answer, Array, Oracle, Question, Traits
from gradfuzz.oracles.emit.op_source import missing_op
from gradfuzz.oracles.engine.summed import of_a_sum
from gradfuzz.oracles.jax import answers as jax_answers
from gradfuzz.oracles.jax.answers import Arguments, Arrays, Ask, asking
from gradfuzz.oracles.jax.compile import quick_jit
from gradfuzz.oracles.jax.evaluate import Traced
from gradfuzz.oracles.jax.loops import Style
from gradfuzz.oracles.jax.lowered import (
    lowered_program,
    question_key,
    traced_function,
    traced_question,
    trips_of,
)
from gradfuzz.programs.evaluation.layout import Layout, layout_of
from gradfuzz.programs.language.recent import Latest

Kind = Literal["vmap", "grad_of_vmap"]
Compiling = Callable[[Callable[..., Any]], Callable[..., Any]]

_RECENT = 64
"""This many mapped questions are kept, to be asked again at other points."""

_SELECTED = (
    "vmap computes both sides of a branch and selects, and the gradient of the side that is not taken is"
    " infinite there"
)


def style_of(question: Question) -> Style:
    """The style of a question's loops: `lax.while_loop` where that has the modes and makes a difference."""
    known = lowered_program(question.program)
    return "while_loop" if "rev" not in question.modes and known.open_ended else "scan"


class Vmap(Oracle):
    """`kind` says whether the derivative is mapped, or the mapped function differentiated."""

    version = jax.__version__
    traits = Traits()

    def __init__(self, kind: Kind, *, jit: bool = False) -> None:
        self.name = f"jax:{kind}" if jit or kind == "grad_of_vmap" else f"jax:{kind}:nojit"
        self.traits = Traits(
            batched=True,
            supports_many=True,
            recompiles_per_shape=True,
            secondary=self.name.endswith(":nojit"),
            sampling_stride=12 if jit else 4,
        )
        self.kind = kind
        self.jit = jit
        self._recent: Latest[Callable[..., Any]] = Latest(_RECENT)

    def supports(self, question: Question) -> str | None:
        if question.modes and not question.wrt:
            return "there is no input to differentiate"
        return missing_op(question.program, "jax")

    def answer(self, question: Question) -> list[Answer]:
        return self._answered(question, jax.jit)

    def answer_all(self, questions: Sequence[Question]) -> list[list[Answer]]:
        return [self._answered(question, quick_jit) for question in questions]

    def _answered(self, question: Question, compiling: Compiling) -> list[Answer]:
        reason = self.supports(question)
        if reason is not None:
            return [Answer("unsupported", message=reason) for _ in question.points]
        known = lowered_program(question.program)
        if known.error:
            return [Answer("error", message=f"TripLimitError: {known.error}") for _ in question.points]
        trips = trips_of(question)
        live = [k for k in range(len(question.points)) if k not in trips.failures]
        running = replace(question, points=tuple(question.points[k] for k in live))
        together = self._together(running, trips.bound, compiling) if live else []
        answers = {**trips.failures, **dict(zip(live, together, strict=True))}
        found = [answers[k] for k in range(len(question.points))]
        return [_checked(answer) for answer in found] if known.selects else found

    def _together(self, question: Question, bound: int, compiling: Compiling) -> list[Answer]:
        """The answers at points where the program runs; uncounted loops have at most `bound` iterations."""
        points = range(len(question.points))
        try:
            with np.errstate(all="ignore"):
                found = self._whole(question, bound, compiling)
        except Exception as error:  # noqa: BLE001 - whatever JAX raises is its answer
            return [jax_answers.failure(error, question) for _ in points]
        places = [(k, _layout(question).instance(k)) for k in points]
        answers = [
            jax_answers.answer(question, k, *([a[at] for a in arrays] for arrays in found))
            for k, at in places
        ]
        return answers if self.kind == "vmap" else of_a_sum(answers)

    def _whole(self, question: Question, bound: int, compiling: Compiling) -> tuple[Arrays, Arrays]:
        """The outputs and the gradient with all batch axes in front."""
        style = style_of(question)
        bound = bound if style == "scan" else 0
        layout = _layout(question)
        arguments = (_shared if self.kind == "vmap" else _spread)(question, layout)

        def function() -> Callable[..., Any]:
            f = traced_function(question.program, question.precision, style, bound)
            if self.kind == "grad_of_vmap":
                ask = _of_mapped(f, question, layout)
            elif compiling is jax.jit:
                ask = _mapped(asking(f, question), question, layout)
            else:
                ask = _mapped(traced_question(question, style, bound), question, layout)
            return compiling(ask) if self.jit else Traced(ask, arguments).step_by_step

        key = *question_key(question, style, bound), *layout.sizes.items(), *layout.axes.items(), compiling
        results = self._recent.get(key, function)(*arguments)
        outputs, gradient = jax.device_get(results) if self.jit else results
        return tuple(np.asarray(y) for y in outputs), tuple(np.asarray(g) for g in gradient)


def _layout(question: Question) -> Layout:
    return layout_of([point.inputs for point in question.points])


def _columns(question: Question, layout: Layout) -> tuple[Array, ...]:
    names = [p.name for p in question.program.params]
    rows = [jax_answers.inputs(question, k) for k in range(len(question.points))]
    points = [dict(zip(names, row, strict=True)) for row in rows]
    return tuple(layout.column(points, name) for name in names)


def _shared(question: Question, layout: Layout) -> Arguments:
    """What the mapped derivative takes: one array of weights and directions for all instances."""
    return _columns(question, layout), jax_answers.weights(question), jax_answers.directions(question)


def _spread(question: Question, layout: Layout) -> Arguments:
    """What the derivative of the mapped function takes: weights and directions for each instance."""

    def spread(array: Array | None) -> Array | None:
        return None if array is None else np.broadcast_to(array, (*layout.shape, *array.shape))

    weights = tuple(spread(w) for w in jax_answers.weights(question))
    directions = tuple(spread(v) for v in jax_answers.directions(question))
    return _columns(question, _aligned(question, layout)), weights, directions


def _aligned(question: Question, layout: Layout) -> Layout:
    """The layout in which differentiated inputs have all axes."""
    return Layout(layout.sizes, {**layout.axes, **dict.fromkeys(question.wrt, tuple(layout.sizes))})


def _mapped(ask: Ask, question: Question, layout: Layout) -> Ask:
    """The derivative of one instance, mapped."""
    for axis in reversed(layout.sizes):
        ask = jax.vmap(ask, in_axes=(_in_axes(question, layout, axis), None, None))
    return ask


def _of_mapped(f: Callable[..., Any], question: Question, layout: Layout) -> Ask:
    """The derivative of the mapped function."""
    aligned = _aligned(question, layout)
    for axis in reversed(layout.sizes):
        f = jax.vmap(f, in_axes=_in_axes(question, aligned, axis))
    return asking(f, question)


def _in_axes(question: Question, layout: Layout, axis: str) -> tuple[int | None, ...]:
    return tuple(0 if axis in layout.axes[p.name] else None for p in question.program.params)


def _checked(answer: Answer) -> Answer:
    finite = all(np.all(np.isfinite(y)) for y in answer.values)
    if finite and not all(np.all(np.isfinite(g)) for g in answer.gradient.values()):
        return Answer("inconclusive", message=_SELECTED)
    return answer
