"""Faults of gradfuzz's own: exceptions that nobody raised on purpose, and right targets that it accused.

One is caught at the finding, the batch or the report where it came up, and kept with its traceback. The rest
goes on. An exception of a library is no such fault: it is the library's answer, and caught where it is asked.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from gradfuzz.errors import GradfuzzError, NotDifferentiableError, ProgramError, UntraceableError

S = TypeVar("S")
T = TypeVar("T")

_OF_PROGRAMS = (ProgramError, NotDifferentiableError, UntraceableError)
"""Nobody wrote the programs of a sweep: where such an error ends a piece of work, gradfuzz is to blame."""


@dataclass(frozen=True, slots=True)
class OwnFault:
    """An exception of gradfuzz; or a finding whose own script calls the target right."""

    doing: str
    """What could not be done: "shrinking", "the html report"."""
    error: str
    """As in "ZeroDivisionError: Fraction(1, 0)"."""
    traceback: str
    """Of an accusation what the check said, what the script said, and the script."""

    @staticmethod
    def of(doing: str, error: Exception) -> OwnFault:
        """The fault that an exception is."""
        words = " ".join("".join(traceback.format_exception_only(error)).split())
        return OwnFault(doing, words, "".join(traceback.format_exception(error)))


def attempt(doing: str, f: Callable[..., T], /, *args: Any, **kwargs: Any) -> T | OwnFault:
    """The result of `f`, or the fault in its place. Raises what is told on purpose."""
    try:
        return f(*args, **kwargs)
    except Exception as error:  # noqa: BLE001 - this is where faults are caught
        return own_fault(doing, error)


def own_fault(doing: str, error: Exception) -> OwnFault:
    """The exception as a fault; raised again where it is told on purpose."""
    if isinstance(error, GradfuzzError) and not isinstance(error, _OF_PROGRAMS):
        raise error
    return OwnFault.of(doing, error)


class Attempts:
    """Does what may fail, and collects the faults."""

    def __init__(self) -> None:
        self.faults: list[OwnFault] = []

    def __call__(self, doing: str, instead: S, f: Callable[..., T], /, *args: Any, **kwargs: Any) -> T | S:
        """The result of `f`, or `instead` of one."""
        result = attempt(doing, f, *args, **kwargs)
        if isinstance(result, OwnFault):
            self.keep(result)
            return instead
        return result

    def keep(self, fault: OwnFault) -> None:
        """Adds a fault, once."""
        if fault not in self.faults:
            self.faults.append(fault)
