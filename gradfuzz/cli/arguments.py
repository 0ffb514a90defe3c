"""Parsers for the values of flags."""

from __future__ import annotations

from gradfuzz.errors import UsageError


def names_in(text: str) -> tuple[str, ...]:
    """The parts of a comma-separated list."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def whole(text: str, flag: str) -> int:
    """An integer; a `UsageError` names the flag."""
    try:
        return int(text)
    except ValueError:
        raise UsageError(f"{flag} {text!r} is not a whole number") from None
