"""The errors that gradfuzz raises on purpose, under one root.

    GradfuzzError
    ├── ProgramError              a program that cannot be used
    │   ├── ProgramSyntaxError    the text or JSON is not in the language
    │   ├── ProgramTypeError      names, dtypes or shapes do not fit
    │   └── EvaluationError       the program cannot be evaluated at this point
    │       ├── DomainError       an operation left its domain (log of -1, index 7 of 3)
    │       ├── PrecisionError    the working precision has no such op (a QR decomposition in float16)
    │       └── TripLimitError    a loop ran longer than the trip limit
    ├── NotDifferentiableError    a derivative that does not exist or has no rule
    ├── UntraceableError          a function of a library that cannot be expressed as a program
    ├── UnknownTargetError        no oracle of that name
    │   └── SilentTargetError     a target's process sends no hello
    ├── MissingExtraError         the oracle's library is not installed
    ├── PluginError               an oracle of another distribution that cannot be used
    ├── InstallError              a target's environment cannot be made
    ├── ProtocolError             an invalid message between gradfuzz and an adapter
    ├── TargetProcessError        the process of a target died, hung, or broke the protocol
    ├── WorkerDiedError           a piece of work after which the worker was dead, every time
    ├── RecordError               a recorded or exported document that cannot be read
    ├── StoreError                a store or a report that cannot be opened or written
    └── UsageError                an invalid option or argument
        └── UnsupportedError      a derivative that a target or function cannot compute

A message says what went wrong, with which value, why, and what to do instead. A few errors that one module
raises and catches are defined there. `listed` writes the names that there are, `did_you_mean` the nearest.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

__all__ = [
    "DomainError",
    "EvaluationError",
    "GradfuzzError",
    "InstallError",
    "MissingExtraError",
    "NotDifferentiableError",
    "PluginError",
    "PrecisionError",
    "ProgramError",
    "ProgramSyntaxError",
    "ProgramTypeError",
    "RecordError",
    "SideEffectError",
    "SilentTargetError",
    "StoreError",
    "TripLimitError",
    "UnknownTargetError",
    "UnsupportedError",
    "UntraceableError",
    "UsageError",
    "WorkerDiedError",
    "did_you_mean",
    "listed",
]


class GradfuzzError(Exception):
    """The root of the errors that gradfuzz raises on purpose."""


class ProgramError(GradfuzzError):
    """A program that cannot be used. `line` counts from 1; 0 where there is no text."""

    def __init__(self, message: str, *, line: int = 0) -> None:
        super().__init__(f"line {line}: {message}" if line else message)
        self.line = line


class ProgramSyntaxError(ProgramError):
    """Text or JSON that is not in the program language."""


class ProgramTypeError(ProgramError):
    """Names, dtypes or shapes that do not fit."""


class EvaluationError(ProgramError):
    """A well-typed program that cannot be evaluated at this point."""


class DomainError(EvaluationError):
    """An operation was asked for a value outside its domain."""


class PrecisionError(EvaluationError):
    """An op that does not exist in the working precision."""


class TripLimitError(EvaluationError):
    """A loop ran longer than the trip limit."""


class NotDifferentiableError(GradfuzzError):
    """A derivative does not exist here, or has no rule."""


class SideEffectError(GradfuzzError):
    """A derivative changes its arguments, or is another one when it is asked a second time, or of one of
    several results alone.
    """


class UntraceableError(GradfuzzError):
    """A library's function that no program can express; `reason` names the primitive and the problem.

    `detached` says that its gradient may be meant to differ from the derivative of its value: by a
    convention of the library, or where it is `stopped`, in words of its own (stop_gradient, detach, no_grad).
    `program` is what such a function computes all the same, None where that is not known. `local` says why
    that may hold next to the arguments alone: Python was told numbers of them. It is "" elsewhere. `unseen`
    says that Python decides where autograd does not look, as in the loop of a solver.
    """

    def __init__(self, reason: str, *, detached: bool = False, stopped: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.detached = detached or stopped
        self.stopped = stopped
        self.program: Any = None
        self.local = ""
        self.unseen = False

    def beside(self, other: UntraceableError) -> UntraceableError:
        """The same of a function that is no program either, for the reason of `other`."""
        both = f"{self.reason}; {other.reason}"
        return UntraceableError(both, detached=self.detached, stopped=self.stopped)


class UnknownTargetError(GradfuzzError):
    """No oracle has that name."""


class SilentTargetError(UnknownTargetError):
    """A target's process sends no hello."""


class MissingExtraError(GradfuzzError):
    """The library behind an oracle is not installed."""


class PluginError(GradfuzzError):
    """An oracle of another distribution, found by its entry point, cannot be used."""


class InstallError(GradfuzzError):
    """The environment of a target cannot be made: no such release, no reachable index, no space."""


class RecordError(GradfuzzError):
    """A recorded or exported document cannot be read: not JSON, another schema, or an invalid field."""


class StoreError(GradfuzzError):
    """A store or a report cannot be opened or written: no space, no permission, no such file, or in use."""


class ProtocolError(GradfuzzError):
    """An invalid message of the protocol, or one out of place."""


class TargetProcessError(GradfuzzError):
    """The process of a target died, hung, exceeded a limit or broke the protocol.

    `kind` is one of those of `oracles.foreign.process`; `stderr` is the end of the process's stderr.
    """

    def __init__(self, kind: str, message: str, stderr: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.stderr = stderr

    def __reduce__(self) -> tuple[type[TargetProcessError], tuple[str, str, str]]:
        return type(self), (self.kind, str(self), self.stderr)


class WorkerDiedError(GradfuzzError):
    """The workers that did a piece of work died, one after the other."""


class UsageError(GradfuzzError):
    """An invalid option or argument."""


class UnsupportedError(UsageError):
    """A derivative that the target or the function cannot compute."""


# Names in messages ------------------------------------------------------------------------------------------

_MOST = 8
"""The most names in a message; the rest is counted."""

_ALIKE = 0.5
"""Names with this share of letters in common go first."""


def listed(known: Iterable[str], name: str = "") -> str:
    """The names that there are: "a, b, c". Of a long list the nearest to `name` first, and how many more
    there are; "none" for an empty one.
    """
    names = list(dict.fromkeys(map(str, known)))
    if len(names) <= _MOST:
        return ", ".join(names) or "none"
    nearest = difflib.get_close_matches(name, names, n=_MOST, cutoff=_ALIKE)
    first = list(dict.fromkeys([*nearest, *names]))[:_MOST]
    return f"{', '.join(first)} and {len(names) - _MOST} more"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint for a misspelt name, to be put after a message: "; did you mean 'torch'?", or nothing."""
    near = difflib.get_close_matches(str(name), list(dict.fromkeys(known)), n=3, cutoff=0.6)
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
