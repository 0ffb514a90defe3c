"""What Python asks of JAX's numbers while it decides, and what the arguments say.

`jax.grad` of a function that is not compiled has numbers to decide by, and a trace has none. So the function
is traced up to its first question, what leads to that is computed, and the function is traced again with the
answer, up to the next one that no guess foresaw. Bools that decide are results of the jaxpr, since they say
where it holds. Any other number is a constant in it.
"""

from __future__ import annotations

import contextlib
import functools
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax
from jax.extend import core

from gradfuzz.tracing.common.compositions import MOST_DECISIONS, too_many

_QUESTIONS: dict[str, Callable[[Any], Any]] = {
    "__bool__": bool,
    "__int__": int,
    "__index__": operator.index,
    "__float__": float,
}
"""The methods by which Python asks, and what answers with a number."""

_UNDECIDED = (jax.errors.ConcretizationTypeError, jax.errors.TracerIntegerConversionError)
"""What JAX raises where a trace has no number."""


@dataclass(frozen=True, slots=True)
class Decided:
    """A jaxpr at arguments. Its first results are bools, and it holds where they are `sides`; `is_local` says
    that it has other numbers of the arguments as constants, and `unseen` that Python asked inside of a
    function with a rule of its own.
    """

    closed: Any
    sides: tuple[bool, ...] = ()
    is_local: bool = False
    unseen: bool = False


class _Unanswered(BaseException):
    """A question that has no answer yet. No function catches it."""


def decided(
    f: Callable[..., Any], shapes: Sequence[Any], args: Sequence[Any], *, derivative: bool
) -> Decided:
    """The jaxpr of `f`, which may decide by the numbers `args` of these `shapes`. Raises what tracing raises.

    Where it does, and is no `derivative`, what has a rule of its own is traced as part of `f`: JAX would
    trace that without numbers.
    """
    with contextlib.suppress(*_UNDECIDED):
        return Decided(jax.make_jaxpr(f)(*shapes))
    answers: list[Any] = []
    while len(answers) <= MOST_DECISIONS:
        asked = _Asked(answers, derivative=derivative)

        def answered(*xs: Any, asked: _Asked = asked) -> Any:
            try:
                with asked.instead_of_jax():
                    result = f(*xs)
            except (_Unanswered, Exception):  # a guess may lead anywhere
                if asked.is_answered:
                    raise
                return asked.tracers
            return (asked.bools(), result) if asked.is_answered else asked.tracers

        closed = jax.make_jaxpr(answered)(*shapes)
        if asked.is_answered:
            pairs = zip(asked.methods, asked.told, strict=True)
            sides = tuple(told for method, told in pairs if method == "__bool__")
            return Decided(closed, sides, len(sides) < len(asked.told), asked.unseen)
        values = core.jaxpr_as_fun(closed)(*map(jax.numpy.asarray, args))
        for k in range(len(answers), len(values)):
            answers.append(_QUESTIONS[asked.methods[k]](values[k]))
            if k == len(asked.told) or answers[k] != asked.told[k]:
                break
    raise too_many()


class _Asked:
    """What Python asks of tracers in turn, and what it is told: answers, or guesses by the last of them.

    A loop goes on more often than it ends.
    """

    def __init__(self, answers: Sequence[Any], *, derivative: bool) -> None:
        self.answers = tuple(answers)
        self.derivative = derivative
        self.inside = 0
        """In so many functions with rules of their own it is now."""
        self.unseen = False
        self.methods: list[str] = []
        self.tracers: list[Any] = []
        self.told: list[Any] = []

    @property
    def is_answered(self) -> bool:
        """Whether nothing was guessed."""
        return len(self.methods) <= len(self.answers)

    def bools(self) -> list[Any]:
        """The tracers of which Python asked for a bool, as such."""
        pairs = zip(self.methods, self.tracers, strict=True)
        return [(x if x.dtype == bool else x != 0).reshape(()) for m, x in pairs if m == "__bool__"]

    def answer(self, method: str, tracer: Any) -> Any:
        while hasattr(tracer, "primal"):  # in a derivative
            tracer = tracer.primal
        self.unseen = self.unseen or self.inside > 0
        k, count = len(self.methods), len(self.answers)
        self.methods.append(method)
        self.tracers.append(tracer)
        if k >= count and (k >= 2 * count or method != "__bool__" or self.methods[count - 1] != method):
            raise _Unanswered
        self.told.append(self.answers[min(k, count - 1)])
        return self.told[k]

    @contextlib.contextmanager
    def instead_of_jax(self) -> Iterator[None]:
        """Tracers without a number answer Python so, where JAX would raise."""
        ruled = () if self.derivative else (jax.custom_vjp, jax.custom_jvp)
        makers = {
            **{(jax.core.Tracer, name): self._answering for name in _QUESTIONS},
            **{(kind, "__call__"): self._without_rule for kind in ruled},
        }
        plain = {(kind, name): getattr(kind, name) for kind, name in makers}
        try:
            for (kind, name), maker in makers.items():
                setattr(kind, name, maker(name, plain[kind, name]))
            yield
        finally:
            for (kind, name), own in plain.items():
                setattr(kind, name, own)

    def _answering(self, method: str, plain: Callable[[Any], Any]) -> Callable[[Any], Any]:
        @functools.wraps(plain)
        def answer(tracer: Any) -> Any:
            try:
                return plain(tracer)
            except _UNDECIDED:
                return self.answer(method, tracer)

        return answer

    def _without_rule(self, _: str, plain: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(plain)
        def call(ruled: Any, *args: Any, **options: Any) -> Any:
            function = ruled.__wrapped__
            if getattr(function, "__module__", "").partition(".")[0] == "jax":  # none of them asks
                return plain(ruled, *args, **options)
            self.inside += 1
            try:
                return function(*args, **options)
            finally:
                self.inside -= 1

        return call
