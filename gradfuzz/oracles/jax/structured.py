"""Programs with JAX's own loops: "jax:scan", "jax:fori_loop" and "jax:while_loop", each also without jit, and
"jax:jacobian", which has the loops of the first and computes whole Jacobians.

A derivative is traced once, for both. Compiled, several questions of `answer_all` share a compile, which
runs at each point. Not compiled (":nojit"), it runs step by step at each point (`evaluate`).

`answer` on a question about one point shares nothing: it is a plain call, of `jax.jit` with its defaults or
outside it, where JAX compiles the loops itself.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from gradfuzz.errors import EvaluationError, TripLimitError
from gradfuzz.oracles.base import Answer, Oracle, Question, Traits
from gradfuzz.oracles.emit.linalg_source import missing_op
from gradfuzz.oracles.jax import answers as jax_answers
from gradfuzz.oracles.jax.answers import Arguments, Ask, asking
from gradfuzz.oracles.jax.compile import quick_jit
from gradfuzz.oracles.jax.derivatives import Derivative
from gradfuzz.oracles.jax.evaluate import Traced, core
from gradfuzz.oracles.jax.loops import Style, loop_source
from gradfuzz.oracles.jax.trips import known_trips
from gradfuzz.programs.arithmetic.half_numpy import refused_op
from gradfuzz.programs.graphs.graph import Branch, Graph, Loop
from gradfuzz.programs.graphs.lower import lower
from gradfuzz.programs.language.precision import FORMATS, Precision
from gradfuzz.programs.language.recent import Latest
from gradfuzz.programs.language.syntax import Program

_PER_COMPILE = 8
"""This many questions share a compilation: beyond it the time per question hardly falls."""

_STRIDES: dict[Style, int] = {"scan": 2, "fori_loop": 4, "while_loop": 4}
"""A sweep's stride by style, without jit."""
_COMPILED = 4
"""Compiled questions, which take twice as long, are asked this many times less."""

_RECENT = 64
"""This many compiled questions are kept, to be asked again at other points."""


@dataclass(frozen=True, eq=False)
class LoweredProgram:
    """A program as a graph, and what is known of its loops before it runs."""

    graph: Graph
    trips: dict[Loop, int]
    loops: tuple[Loop, ...]
    error: str = ""

    @property
    def counted(self) -> bool:
        """Whether some loop suits `lax.fori_loop`."""
        return any(loop in self.trips or loop.form == "for" for loop in self.loops)

    @property
    def open_ended(self) -> bool:
        """Whether some loop's trip count is known only at run time."""
        return any(loop not in self.trips for loop in self.loops)

    @property
    def selects(self) -> bool:
        """Whether a batched run also computes what is not taken."""
        return self.open_ended or any(isinstance(node, Branch) for node in self.graph.walk())


@functools.lru_cache(maxsize=256)
def lowered_program(program: Program) -> LoweredProgram:
    graph = lower(program)
    loops = tuple(node for node in graph.walk() if isinstance(node, Loop) and node.carries)
    try:
        return LoweredProgram(graph, known_trips(graph), loops)
    except TripLimitError as error:
        return LoweredProgram(graph, {}, loops, str(error))


def program_source(program: Program, precision: Precision, style: Style, bound: int) -> str:
    """The program as JAX source, a function `f`. `bound`: as for `loop_source`."""
    known = lowered_program(program)
    return loop_source(known.graph, precision, style, known.trips, bound)


@functools.lru_cache(maxsize=256)
def function_of(
    program: Program, precision: Precision, style: Style, bound: int
) -> Callable[..., Sequence[Any]]:
    """The program as a function of all parameters that returns a tuple."""
    dtypes = {"F": np.dtype(precision).type, "C": FORMATS[precision].complex_dtype}
    names: dict[str, Any] = {**dtypes, "jax": jax, "jnp": jnp, "lax": lax, "np": np}
    exec(program_source(program, precision, style, bound), names)  # noqa: S102 - our own text, made from a typed program
    f = names["f"]
    return f if len(program.result.values) > 1 else lambda *arguments: (f(*arguments),)


@dataclass(eq=False)
class _Job:
    """A question in progress: the remaining points, how to ask about them, and the answers."""

    question: Question
    answers: list[Answer | None]
    live: list[int] = field(default_factory=list)
    bound: int = 0
    by: Derivative | None = None

    def key(self, style: Style) -> tuple[Any, ...]:
        q = self.question
        return q.program, q.precision, q.wrt, q.modes, style, self.bound, self.by

    def ask(self, style: Style) -> Ask:
        q = self.question
        return asking(function_of(q.program, q.precision, style, self.bound), q, self.by)

    def traced(self, style: Style) -> Traced:
        """The question about the traced program, traced."""
        q = self.question
        f = traced_function(q.program, q.precision, style, self.bound)
        return Traced(asking(f, q, self.by), jax_answers.arguments(q, self.live[0]))

    def arguments(self) -> list[Arguments]:
        """The question's numbers at its live points."""
        return [jax_answers.arguments(self.question, k) for k in self.live]


_traced: Latest[Traced] = Latest(256)
"""A sweep asks the ways with and without jit the same questions, one after the other."""


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
            sampling_stride=_STRIDES[style] * (_COMPILED if jit else 1) * (1 if by is None else 2),
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
        job = _Job(question, [None] * n, by=self.by)
        for k in range(n):
            try:
                if known.open_ended:
                    job.bound = max(job.bound, 1, *jax_answers.trip_counts(question, k))
                job.live.append(k)
            except EvaluationError as error:
                job.answers[k] = jax_answers.failure(error)
        if self.style != "scan":
            job.bound = 0
        return job

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
            traced = [self._trace(job) for job in group]
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
                job.answers[k] = jax_answers.answer(job.question, *found[turn][own])

    def _trace(self, job: _Job) -> Traced:
        return _traced.get(job.key(self.style), lambda: job.traced(self.style))

    # Point by point -----------------------------------------------------------------------------------------

    def _run_points(self, job: _Job, *, plain: bool) -> None:
        """Asks about each point without an answer, alone."""
        for k in job.live:
            if job.answers[k] is None:
                try:
                    results = self._alone(job, plain)(*jax_answers.arguments(job.question, k))
                    job.answers[k] = jax_answers.answer(job.question, *results)
                except Exception as error:  # noqa: BLE001 - whatever JAX raises is its answer
                    job.answers[k] = jax_answers.failure(error)

    def _alone(self, job: _Job, plain: bool) -> Callable[..., Any]:
        if self.jit:
            compiled = jax.jit if plain else quick_jit
            return self._recent.get((plain, *job.key(self.style)), lambda: compiled(job.ask(self.style)))
        if plain:
            return job.ask(self.style)
        return self._recent.get(job.key(self.style), lambda: self._trace(job).step_by_step())


@functools.lru_cache(maxsize=64)
def traced_function(
    program: Program, precision: Precision, style: Style, bound: int
) -> Callable[..., Sequence[Any]]:
    """`function_of`, traced, so that repeated differentiation does not trace the loop bodies again."""
    f = function_of(program, precision, style, bound)
    dtypes = {"float": np.dtype(precision), "int": np.dtype("int64"), "bool": np.dtype("bool")}
    inputs = [jax.ShapeDtypeStruct(p.type.shape, dtypes[p.type.dtype]) for p in program.params]
    traced: Callable[..., Sequence[Any]] = core.jaxpr_as_fun(
        jax.make_jaxpr(lambda *arguments: tuple(f(*arguments)))(*inputs)
    )
    return traced
