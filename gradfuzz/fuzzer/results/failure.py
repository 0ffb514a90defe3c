"""What it was where a target gave no answer: four words, the same in every report."""

from __future__ import annotations

import enum
import re


class Failure(enum.Enum):
    """How a question ended that has no answer."""

    EXCEPTION = "exception"
    """The library raised, and went on."""
    CRASH = "crash"
    """The process ended, by a signal or by itself, or sent what is no reply."""
    HANG = "hang"
    """No answer in time."""
    OUT_OF_MEMORY = "out of memory"
    """The process took more memory than it may, or the library said that there is none."""


ENDS = "the process ends"
"""How the note of a finding begins at whose call the process ended, or never ended."""

_BEGINNINGS = (
    (Failure.OUT_OF_MEMORY, rf"({ENDS}: )?out of memory|_?\w*MemoryError\b|\w*OutOfMemory\w*\b"),
    (Failure.HANG, rf"({ENDS}: )?no answer|timed out|half a line"),
    (
        Failure.CRASH,
        rf"start:|SIG[A-Z]+:|signal \d+:|exited:|{ENDS}:|flood:|gone:|protocol:|wrong id:",
    ),
)
"""How the messages begin: of `oracles.foreign.process` and `worker`, of sweeps of functions, of Python."""


def failure_of(message: str) -> Failure:
    """Which failure a message tells of."""
    return next((one for one, words in _BEGINNINGS if re.match(words, message)), Failure.EXCEPTION)
