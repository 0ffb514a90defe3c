"""A call, judged: every derivative of first and second order that its function has."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gradfuzz.errors import GradfuzzError
from gradfuzz.fuzzer.calling.invocation import asked, called, quiet, values_of
from gradfuzz.fuzzer.calling.repeated import excused_call
from gradfuzz.fuzzer.measuring.measure import Asked, Inquiry, combinations
from gradfuzz.fuzzer.measuring.measured import Method
from gradfuzz.fuzzer.measuring.subject import Subject, subject_of
from gradfuzz.fuzzer.results.call import Argument, Call
from gradfuzz.fuzzer.results.finding import CheckResult, Reason, Verdict
from gradfuzz.libraries.detect import library_named
from gradfuzz.libraries.library import Library, Wanted, first_line
from gradfuzz.oracles.base import Mode
from gradfuzz.programs.language.precision import is_float

Modes = tuple[Mode, ...]

_NO_DERIVATIVE = (Reason.KINK, Reason.REFERENCES, Reason.DOMAIN, Reason.UNDEFINED)
"""Reasons why a first derivative is not known: no second one stands on it."""

COMBINATIONS: tuple[Modes, ...] = tuple(combinations(2, ("rev", "fwd")))
"""What is asked of a call: both modes, and the four mixtures of second order."""


@dataclass(frozen=True, slots=True)
class Judged:
    """The verdict on one derivative of a call, and the source of the truth."""

    modes: Modes
    case: CheckResult
    method: Method


@dataclass(frozen=True, slots=True)
class Judgement:
    """What was found out about a call."""

    call: Call
    """The call; its random numbers begin with one seed where it drew any."""
    verdicts: tuple[Judged, ...] = ()
    lacks: dict[Modes, str] = field(default_factory=dict)
    """The library's words about the derivatives that the function does not have."""
    refused: str = ""
    """Why nothing was asked: what the function raised."""
    stopped: str = ""
    """The words with which the function itself hides a value from differentiation."""

    def wrong(self) -> Iterator[Judged]:
        """What is wrong, in the order of asking."""
        return (one for one in self.verdicts if one.case.verdict.is_wrong)

    def of(self, modes: Modes) -> Judged | None:
        """The verdict in these modes, if there is one."""
        return next((one for one in self.verdicts if one.modes == modes), None)


def judged(
    call: Call,
    modes: Sequence[Modes] = COMBINATIONS,
    factors: Sequence[float] = (1.0,),
    *,
    allowed: bool = False,
) -> Judgement:
    """The verdicts on a call, in each of `modes`, with its inputs times each of `factors`. Where it is
    `allowed`, what the function hides from differentiation is a constant.
    """
    library = library_named(call.library)
    with quiet():
        found = _judged(call, library, modes, factors, allowed=allowed)
        if found is None:
            found = _judged(replace(call, seeded=True), library, modes, factors, allowed=allowed)
    return found or Judgement(call, refused="it returns other values each time, whatever the seed")


def _judged(
    call: Call, library: Library, modes: Sequence[Modes], factors: Sequence[float], *, allowed: bool
) -> Judgement | None:
    """The same, or None where the call returns other values each time."""
    try:
        arrays = [library.constant(value) for value in values_of(call)]
        followed = _followed(call, library, arrays)
        if followed == ():
            return Judgement(call, refused="the library has no derivative of anything that it returns")
        call = replace(call, results=followed or ())
        subject = subject_of(asked(call, library), arrays, None, None, library.name)
        exact = None
        if call.form == "compiled":  # the truth is that of the call itself
            exact = subject_of(called(call, library), arrays, None, None, library.name)
        inquiry = Inquiry(replace(subject, label=call.function), exact, allowed=allowed)
        if call.way:
            way = library.way(call.way)
            inquiry, modes = inquiry.by(way), [steps for steps in modes if way.takes(steps)]
    except GradfuzzError as error:
        return Judgement(call, refused=str(error))
    except Exception as error:  # noqa: BLE001 - whatever a function raises is its refusal
        return Judgement(call, refused=f"{type(error).__name__}: {first_line(error)}")
    if inquiry.unsteady or (inquiry.untraced and not call.seeded and _draws(inquiry.subject, library)):
        return None
    verdicts: list[Judged] = []
    lacks: dict[Modes, str] = {}
    failed: set[Mode] = set()
    try:
        for steps in modes:
            if len(steps) > 1 and not failed.isdisjoint({"rev", *steps}):
                continue  # it is measured on the first derivative
            for factor in (f for f in factors if f == 1.0 or inquiry.ends(f)):
                one = _asked(inquiry, steps, factor)
                if _is_refused(call, one.case, library, inquiry.oracle.failure):
                    lacks[steps] = one.case.message
                    failed.update(steps if len(steps) == 1 else ())
                    continue
                verdicts.append(Judged(steps, excused_call(call, one.case), one.method))
                if len(steps) == 1 and not _has_second(verdicts[-1]):
                    failed.update(steps)
    finally:
        subject.framework.tidy()
    return Judgement(call, tuple(verdicts), lacks, stopped=inquiry.stopped)


def _draws(subject: Subject, library: Library) -> bool:
    """Whether a call changes the state of the random numbers, or another one differs from it in a bit."""
    values, before = [i.value for i in subject.inputs], library.random_state()
    one, after, other = subject.values(values), library.random_state(), subject.values(values)
    same = (np.array_equal(x, y, equal_nan=is_float(x.dtype)) for x, y in zip(one, other, strict=True))
    return before != after or not all(same)


def _followed(call: Call, library: Library, arrays: Sequence[Any]) -> tuple[int, ...] | None:
    """The results that the library differentiates; None where it is all of them, or the gradient raises: that
    is found out when it is asked for.
    """
    try:
        return library.followed(called(replace(call, results=()), library), arrays)
    except GradfuzzError:
        raise
    except Exception:  # noqa: BLE001 - whatever a gradient raises
        return None


def judged_by_some(call: Call, first: int, modes: Sequence[Modes] = COMBINATIONS) -> Judgement:
    """The verdicts on a call. Where it has no derivative by all its arrays, by one of them, the first from
    number `first` on that has one.
    """
    whole = judged(call, modes)
    if whole.verdicts:
        return whole
    count = sum(1 for _ in call.differentiated())
    for k in range(count if count > 1 else 0):
        one = judged(by_one(call, (first + k) % count), modes)
        if one.verdicts:
            return one
    return whole


def by_one(call: Call, number: int) -> Call:
    """The call with all its differentiated arrays constant but the one of this number."""
    chosen = next(itertools.islice(call.differentiated(), number, None))

    def fixed(argument: Argument) -> Argument:
        return replace(argument, constant=argument.is_differentiated and argument is not chosen)

    return call.changed(fixed)


def made(call: Call, begins: Callable[[Modes], None]) -> None:
    """Makes a call, and asks for its first derivatives; nothing is judged, and no exception is raised.

    `begins` is told what is asked next: () is the value.
    """
    with quiet(), contextlib.suppress(Exception), np.errstate(all="ignore"):
        begins(())
        derivative = _derivative(call)
        for mode in ("rev", "fwd"):
            begins((mode,))
            with contextlib.suppress(Exception):
                derivative((mode,))


def raises(call: Call, modes: Modes) -> bool:
    """Whether a call has a value, and its derivative raises; nothing is judged."""
    with quiet(), np.errstate(all="ignore"):
        try:
            derivative = _derivative(call)
        except Exception:  # noqa: BLE001 - the call itself is refused
            return False
        try:
            derivative(modes)
        except Exception:  # noqa: BLE001 - whatever it raises is the answer
            return True
    return False


def _derivative(call: Call) -> Callable[[Modes], object]:
    """The derivative of the sum of what a call returns, by modes. Raises what the call raises."""
    library = library_named(call.library)
    arrays = [library.constant(value) for value in values_of(call)]
    subject = subject_of(asked(call, library), arrays, None, None, library.name)
    subject = replace(subject, way=library.way(call.way) if call.way else None)
    values = [i.value for i in subject.inputs]
    weights = [np.ones(np.shape(y)) if is_float(y.dtype) else None for y in subject.values(values)]
    directions = [np.ones(values[k].shape) for k in subject.wrt]
    return lambda modes: subject.derivative(values, Wanted(weights, directions, modes))


def _has_second(one: Judged) -> bool:
    """Whether more can be asked where a first derivative was judged so: nothing stands on a wrong one, on one
    at a kink, or on one that is not known, or not of each entry.
    """
    case, bounds = one.case, {} if one.case.truth is None else one.case.truth.bounds
    if one.method != "traced" and any(np.any(np.isinf(bound)) for bound in bounds.values()):
        return False
    return not (case.verdict.is_wrong or case.verdict is Verdict.CONVENTION or case.reason in _NO_DERIVATIVE)


def _is_refused(call: Call, case: CheckResult, library: Library, error: Exception | None) -> bool:
    """Whether the library says that it does not have the derivative; `error` was raised last."""
    if case.verdict is Verdict.CRASHED:
        own = library.way(call.way).refusals if call.way else ()
        return library.refuses(case.message, error) or any(words in case.message for words in own)
    return case.verdict is Verdict.UNSUPPORTED


def _asked(inquiry: Inquiry, modes: Modes, factor: float) -> Asked:
    with np.errstate(all="ignore"):
        return inquiry.ask(modes, factor)
