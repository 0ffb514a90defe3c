"""How exact an approximation is: said by the user, or measured with a tighter tolerance.

The accuracy of a function is a share: its derivative may be off by so much of the largest entry by the same
argument, beside what rounding may do.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gradfuzz.errors import UsageError
from gradfuzz.fuzzer.measuring.subject import Subject
from gradfuzz.fuzzer.tolerance.allowed import SAFETY
from gradfuzz.oracles.base import Array
from gradfuzz.programs.language.precision import FORMATS, Precision, is_float

_TIGHTER = 1e-3
"""The truth is that of the function at a tolerance of this share of its own."""

_LEAST = 64.0
"""No tolerance is made tighter than so many roundings of the dtype: below it a loop might never end."""

_AROUND = (0.75, 1.0, 1.25)
"""The values are compared at these multiples of the inputs: at one point two tolerances may give the same."""

_MOST = 0.5
"""An accuracy that is no better tells nothing: agreeing says nothing then."""


def share_of(accuracy: object) -> float:
    """The accuracy as it is given by a number; `UsageError` where it is no share."""
    share = accuracy if isinstance(accuracy, (float, np.floating)) else math.nan
    if not 0.0 < share < 1.0:
        raise UsageError(
            f"accuracy={accuracy!r}: it is a share of the derivative, above 0 and below 1, or the name of the"
            " argument that is the function's tolerance"
        )
    return float(share)


def tightened(
    f: Callable[..., Any], count: int, names: Sequence[str], precision: Precision
) -> tuple[Callable[..., Any], float]:
    """`f`, which takes `count` arguments by position, with the tolerances of these `names` made tighter, and
    the largest of them as it is. `UsageError` where it has none of that name, or its value is none.
    """
    try:
        signature = inspect.signature(f)
        bound = signature.bind(*[None] * count)
    except (TypeError, ValueError) as error:
        raise UsageError(f"accuracy={names[0]!r}: the arguments of {f!r} are not known: {error}") from error
    given = {name for name, p in signature.parameters.items() if p.kind is not p.KEYWORD_ONLY}
    given &= set(bound.arguments)
    bound.apply_defaults()
    tight, largest = {}, 0.0
    for name in names:
        if name in given or name not in bound.arguments:
            rest = ", ".join(n for n in bound.arguments if n not in given) or "none"
            why = "an argument that is differentiated" if name in given else "no argument of the function"
            raise UsageError(
                f"accuracy={name!r} names {why}; beside what is differentiated it has {rest}. A tolerance"
                f" is an argument with a default, or bound, as in functools.partial(f, {name}=1e-6)"
            )
        value = bound.arguments[name]
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = math.nan
        if not 0.0 < number < 1.0:
            raise UsageError(
                f"accuracy={name!r}: {name} is {value!r}, and a tolerance is above 0 and below 1"
            )
        tight[name] = min(number, max(_TIGHTER * number, _LEAST * FORMATS[precision].roundoff))
        largest = max(largest, number)
    return functools.partial(f, **tight), largest


def measured_accuracy(subject: Subject, tight: Subject, tolerance: float) -> float:
    """How far the derivative of `subject` may be from that of `tight`, as a share: the tolerance itself, or
    what the values are off by, of the largest of an output, whichever is more, with a margin. The derivative
    is not asked.
    """
    found = tolerance
    for factor in _AROUND:
        given = ((i.value, i.kind == "float") for i in subject.inputs)
        values = [x * x.dtype.type(factor) if moves else x for x, moves in given]
        with contextlib.suppress(Exception):  # beside the point a function may raise anything
            found = max([found, *map(_apart, subject.values(values), tight.values(values))])
    return min(SAFETY * found, _MOST)


def _apart(loose: Array, exact: Array) -> float:
    """By which share of its largest number an output differs from the exact one."""
    if not is_float(exact.dtype):
        return 0.0
    y, z = np.asarray(loose, np.float64), np.asarray(exact, np.float64)
    size = float(np.max(np.abs(z), where=np.isfinite(z), initial=0.0))
    with np.errstate(invalid="ignore"):
        off = float(np.nanmax(np.abs(y - z), initial=0.0))
    return off / size if size and math.isfinite(off) else 0.0


def with_tolerance(subject: Subject, f: Callable[..., Any]) -> Subject:
    """The subject of the same function at another tolerance."""
    return replace(subject, f=f).ready()
