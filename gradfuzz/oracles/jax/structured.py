"""Programs with JAX's own loops: "jax:scan", "jax:fori_loop" and "jax:while_loop", each also without jit, and
"jax:jacobian", which has the loops of the first and computes whole Jacobians.

A derivative is traced once, for both. Compiled, several questions of `answer_all` share a compile, which
runs at each point. Not compiled (":nojit"), it runs step by step at each point (`evaluate`).

`answer` on a question about one point shares nothing: it is a plain call, of `jax.jit` with its defaults or
outside it, where JAX compiles the loops itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from gradfuzz.oracles.base import Answer, Oracle, Question, Traits
from gradfuzz.oracles.emit.op_source import missing_op
from gradfuzz.oracles.jax import answers as jax_answers
from gradfuzz.oracles.jax.answers import Arguments, Ask, asking
from gradfuzz.oracles.jax.compile import quick_jit
from gradfuzz.oracles.jax.derivatives import Derivative
from gradfuzz.oracles.jax.evaluate import Traced
from gradfuzz.oracles.jax.loops import Style
from gradfuzz.oracles.jax.lowered import function_of, lowered_program, question_key, traced_question, trips_of
from gradfuzz.programs.arithmetic.half_numpy import refused_op
from gradfuzz.programs.language.recent import Latest

_PER_COMPILE = 8
"""This many questions share a compilation: beyond it the time per question hardly falls."""

_STRIDES: dict[Style, tuple[int, int]] = {"scan": (2, 8), "fori_loop": (4, 12), "while_loop": (4, 12)}
"""A sweep's strides by style, without jit and with it. Compiled questions take twice as long; they are at
least a quarter of the others, also where a way refuses many programs.
"""
_WHOLE = (4, 12)
"""The strides of whole Jacobians."""

_RECENT = 64
"""This many compiled questions are kept, to be asked again at other points."""


@dataclass(eq=False)
class _Job:
    """A question in progress: the remaining points, how to ask about them, and the answers."""

    question: Question
    answers: list[Answer | None]
    live: Sequence[int] = ()
    bound: int = 0
    by: Derivative | None = None

    def key(self, style: Style) -> tuple[Any, ...]:
        return question_key(self.question, style, self.bound, self.by)

    def ask(self, style: Style) -> Ask:
        q = self.question
        return asking(function_of(q.program, q.precision, style, self.bound), q, self.by)

    def traced(self, style: Style) -> Traced:
        return traced_question(self.question, style, self.bound, self.by)

    def arguments(self) -> list[Arguments]:
        """The question's numbers at its live points."""
        return [jax_answers.arguments(self.question, k) for k in self.live]


class Structured(Oracle):
    """One of JAX's loop constructs, with or without jit. `name` and `by` define another derivative."""

    traits = Traits()

    def __init__(self, style: Style, jit: bool = True, name: str = "", by: Derivative | None = None) -> None:
        self.name = f"jax:{name or style}" if jit else f"jax:{name or style}:nojit"
        self.version = jax.__version__
        self.traits = Traits(
            supports_many=True,
            recompiles_per_shape=True,
            secondary=not jit,
            sampling_stride=(_STRIDES[style] if by is None else _WHOLE)[jit],
        )
        self.style = style
        self.jit = jit
        self.by = by
        self._recent: Latest[Callable[..., Any]] = Latest(_RECENT)

    def supports(self, question: Question) -> str | None:
        known = lowered_program(question.program)
        if question.modes and not question.wrt:
            return "there is no input to differentiate"
        if self.style == "fori_loop" and not known.counted:
            return "no loop of the program is counted; lax.fori_loop is for counted loops"
        if self.style == "while_loop" and not known.loops:
            return "the program has no loop"
        if "rev" in question.modes and self.style == "while_loop":
            return "JAX has no reverse mode for lax.while_loop"
        if "rev" in question.modes and self.style == "fori_loop" and known.open_ended:
            loops = "lax.fori_loop or lax.while_loop with a trip count known only at run time"
            return f"JAX has no reverse mode for {loops}"
        if self.by is not None and question.too_many_slopes is not None:
            return question.too_many_slopes
        return missing_op(question.program, "jax") or refused_op(question.program, question.precision)

    def answer(self, question: Question) -> list[Answer]:
        (answers,) = self._answers([question], alone=len(question.points) == 1)
        return answers

    def answer_all(self, questions: Sequence[Question]) -> list[list[Answer]]:
        return self._answers(questions, alone=False)

    def _answers(self, questions: Sequence[Question], *, alone: bool) -> list[list[Answer]]:
        """With `alone`, nothing is shared between points or questions."""
        with np.errstate(all="ignore"):
            jobs = [self._job(q) for q in questions]
            if self.jit and not alone:
                self._run_together([job for job in jobs if job.live])
            for job in jobs:
                self._run_points(job, plain=alone)
        return [[a for a in job.answers if a is not None] for job in jobs]

    def _job(self, question: Question) -> _Job:
        """The job; points that need no answer from JAX are already answered."""
        n = len(question.points)
        reason = self.supports(question)
        if reason is not None:
            return _Job(question, [Answer("unsupported", message=reason)] * n)
        known = lowered_program(question.program)
        if known.error:
            return _Job(question, [Answer("error", message=f"TripLimitError: {known.error}")] * n)
        trips = trips_of(question)
        answers = [trips.failures.get(k) for k in range(n)]
        live = [k for k in range(n) if answers[k] is None]
        return _Job(question, answers, live, trips.bound if self.style == "scan" else 0, self.by)

    # Compiled -----------------------------------------------------------------------------------------------

    def _run_together(self, jobs: list[_Job]) -> None:
        """Asks several jobs per compile. Failures are left to `_run_points`."""
        groups = [jobs[k : k + _PER_COMPILE] for k in range(0, len(jobs), _PER_COMPILE)]
        with ThreadPoolExecutor(2) as pool:
            columns = [[job.arguments() for job in group] for group in groups]
            running = [self._start(*each, pool) for each in zip(groups, columns, strict=True)]
            for group, own, started in zip(groups, columns, running, strict=True):
                self._finish(group, own, started)

    def _start(
        self, group: list[_Job], columns: list[list[Arguments]], pool: ThreadPoolExecutor
    ) -> Future[Callable[..., Any]] | None:
        """Traces here and compiles in the pool, so that the next group is traced meanwhile."""
        try:
            traced = [job.traced(self.style) for job in group]
            together = quick_jit(lambda *each: [f(*a) for f, a in zip(traced, each, strict=True)])
            lowered = together.lower(*(column[0] for column in columns))
        except Exception:  # noqa: BLE001 - whatever JAX raises is the answer of one of the questions
            return None
        return pool.submit(lowered.compile)

    def _finish(
        self,
        group: list[_Job],
        columns: list[list[Arguments]],
        started: Future[Callable[..., Any]] | None,
    ) -> None:
        """Runs at the first points of all jobs, then at the second, ...; the last of a job stands in for
        those that it has not.
        """
        turns = [[c[min(k, len(c) - 1)] for c in columns] for k in range(max(map(len, columns)))]
        found = []
        try:
            found = [jax.device_get(started.result()(*each)) for each in turns if started is not None]
        except Exception:  # noqa: BLE001 - see above
            found = []
        if not found:
            for job in group if len(group) > 1 else ():
                self._run_together([job])
            return
        for own, job in enumerate(group):
            for turn, k in enumerate(job.live):
                job.answers[k] = jax_answers.answer(job.question, k, *found[turn][own])

    # Point by point -----------------------------------------------------------------------------------------

    def _run_points(self, job: _Job, *, plain: bool) -> None:
        """Asks about each point without an answer, alone."""
        rest = [k for k in job.live if job.answers[k] is None]
        if not rest:
            return
        try:
            run = self._alone(job, plain)
        except Exception as error:  # noqa: BLE001 - whatever JAX raises is its answer
            for k in rest:
                job.answers[k] = jax_answers.failure(error, job.question)
            return
        for k in rest:
            try:
                results = run(*jax_answers.arguments(job.question, k))
                job.answers[k] = jax_answers.answer(job.question, k, *results)
            except Exception as error:  # noqa: BLE001 - whatever JAX raises is its answer
                job.answers[k] = jax_answers.failure(error, job.question)

    def _alone(self, job: _Job, plain: bool) -> Callable[..., Any]:
        if self.jit:
            compiled = jax.jit if plain else quick_jit
            return self._recent.get((plain, *job.key(self.style)), lambda: compiled(job.ask(self.style)))
        if plain:
            return job.ask(self.style)
        return job.traced(self.style).step_by_step
