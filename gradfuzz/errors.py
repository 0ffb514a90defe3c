"""Every error gradfuzz raises on purpose, under one root.

    GradfuzzError
    ├── ProgramError              a program that cannot be used
    │   ├── ProgramSyntaxError    the text or JSON is not in the language
    │   ├── ProgramTypeError      names, dtypes or shapes do not fit
    │   └── EvaluationError       the program cannot be evaluated at this point
    │       ├── DomainError       an operation left its domain (log of -1, index 7 of 3)
    │       ├── PrecisionError    the working precision has no such op (a QR decomposition in float16)
    │       └── TripLimitError    a loop ran longer than the trip limit
    ├── NotDifferentiableError    a derivative was asked of something that has none here
    ├── UntraceableError          a function of a library that cannot be said as a program
    ├── UnknownTargetError        no oracle of that name
    │   └── SilentTargetError     what was started for it says no hello
    ├── MissingExtraError         the oracle's library is not installed
    ├── PluginError               an oracle of another distribution that cannot be used
    ├── InstallError              a target's environment cannot be made
    ├── ProtocolError             a message between gradfuzz and an adapter that is none
    ├── TargetProcessError        the process of a target died, hung, or broke the protocol
    ├── RecordError               a recorded or exported document that cannot be read
    ├── StoreError                a store or a report that cannot be opened or written
    └── UsageError                an option or argument that makes no sense
        └── UnsupportedError      a derivative that a target or function has no way to give

A message says what went wrong, with which value, why, and what to do instead.
"""

from __future__ import annotations

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
    "SilentTargetError",
    "StoreError",
    "TripLimitError",
    "UnknownTargetError",
    "UnsupportedError",
    "UntraceableError",
    "UsageError",
]


class GradfuzzError(Exception):
    """The root of all errors that gradfuzz raises on purpose."""


class ProgramError(GradfuzzError):
    """A program that cannot be used. `line` is 1-based, 0 where there is no text."""

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
    """A derivative was asked of something that has none here."""


class UntraceableError(GradfuzzError):
    """A function of a library that cannot be said as a program: `reason` names the primitive, and what about
    it.

    `detached` says that the function hides a value from differentiation on purpose (stop_gradient, detach),
    so that its gradient may well be meant to differ from the derivative of what it computes.
    """

    def __init__(self, reason: str, *, detached: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.detached = detached


class UnknownTargetError(GradfuzzError):
    """No oracle goes by that name."""


class SilentTargetError(UnknownTargetError):
    """What was started for a target says no hello."""


class MissingExtraError(GradfuzzError):
    """The library behind an oracle is not installed."""


class PluginError(GradfuzzError):
    """An oracle of another distribution, found by its entry point, cannot be used."""


class InstallError(GradfuzzError):
    """The environment of a target cannot be made: no such release, no index to be reached, no space."""


class RecordError(GradfuzzError):
    """A document that was recorded or exported, and cannot be read: not JSON, of another schema, or with a
    field that makes no sense.
    """


class StoreError(GradfuzzError):
    """A store or a report that cannot be opened or written: no space, no permission, no such file, somebody
    else writes.
    """


class ProtocolError(GradfuzzError):
    """A line that is no message of the protocol, or one that does not belong where it came."""


class TargetProcessError(GradfuzzError):
    """The process of a target died, hung, took too much or broke the protocol. `kind` is one of those of
    `oracles.foreign.process`.

    `stderr` is the end of what the process wrote there.
    """

    def __init__(self, kind: str, message: str, stderr: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.stderr = stderr

    def __reduce__(self) -> tuple[type[TargetProcessError], tuple[str, str, str]]:
        return type(self), (self.kind, str(self), self.stderr)


class UsageError(GradfuzzError):
    """An option or an argument that makes no sense."""


class UnsupportedError(UsageError):
    """A derivative was asked for that the target, or the function, has no way to give."""
