"""What every assertion does about a test: its frames, its time, and lists that were meant as arrays."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from types import FrameType, TracebackType
from typing import Any, ParamSpec, TypeVar

from gradfuzz.errors import GradfuzzError, UsageError
from gradfuzz.testing.leading import untimed

P = ParamSpec("P")
T = TypeVar("T")

_HOME = __name__.partition(".")[0]


def assertion(check: Callable[P, T]) -> Callable[P, T]:
    """The check as tests call it.

    Its time does not count towards Hypothesis's deadline. What gradfuzz raises on purpose has no frames of
    gradfuzz. An error about a list of numbers says that a list is several arguments.
    """

    @functools.wraps(check)
    def asserted(*args: P.args, **kwargs: P.kwargs) -> T:
        __tracebackhide__ = True
        try:
            with untimed():
                return check(*args, **kwargs)
        except Exception as error:
            if words := _about_lists(args[1:]):
                if isinstance(error, UsageError):
                    error.args = (f"{error}; {words}",)
                elif not isinstance(error, AssertionError):
                    error.add_note(words)
            if isinstance(error, GradfuzzError):
                raise error.with_traceback(None)  # noqa: B904 - it is the error itself
            raise

    return asserted


def theirs(error: BaseException) -> BaseException:
    """An error of a user's function without the frames of gradfuzz."""
    frames: list[TracebackType] = []
    entry = error.__traceback__
    while entry is not None:
        frames.append(entry)
        entry = entry.tb_next
    kept = None
    for entry in reversed(frames):
        if not _is_ours(entry.tb_frame):
            kept = TracebackType(kept, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return error.with_traceback(kept)


def level() -> int:
    """The `stacklevel` of a warning, for the function that warns: that of the first caller outside of
    gradfuzz.
    """
    count, frame = 0, inspect.currentframe()
    while frame is not None and _is_ours(frame):
        count, frame = count + 1, frame.f_back
    return count


def _is_ours(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0] == _HOME


def _about_lists(args: Sequence[Any]) -> str:
    """A sentence about the first argument that is a list of numbers; empty without one. A tuple is as likely
    to be a shape.
    """
    for place, arg in enumerate(args, 1):
        if isinstance(arg, list) and arg and (kind := _numbers(arg)):
            what = f"argument {place} is a list of {kind} and no array"
            return f"{what}: each number is an argument of its own; pass np.array({_short(arg)}) for an array"
    return ""


def _numbers(values: Sequence[Any]) -> str:
    """What a list consists of, if that is numbers or lists of them."""
    if all(isinstance(value, (int, float, complex)) for value in values):
        return "numbers"
    rows = all(isinstance(value, (list, tuple)) and value and _numbers(value) for value in values)
    return "lists of numbers" if rows else ""


def _short(values: Sequence[Any]) -> str:
    text = repr(values)
    return text if len(text) <= _LONGEST else "..."


_LONGEST = 60
"""The most characters of a list in a message."""
