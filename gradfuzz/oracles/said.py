"""What an exception of a library says: the line that tells what happened.

Adapters choose it by themselves, as they run where gradfuzz is not installed; this is their choice for
whatever is called in gradfuzz's own processes.
"""

from __future__ import annotations

from gradfuzz.adapters import kit


def spoken(error: BaseException) -> BaseException:
    """The exception that says what happened, where `error` points to one above it ("see above")."""
    found: BaseException = kit.spoken(error)
    return found


def telling(message: str) -> str:
    """The first line of a message, or behind a heading ("In user code:") the line with the error."""
    return str(kit.telling(message))
