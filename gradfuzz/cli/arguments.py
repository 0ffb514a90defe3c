"""What stands behind a flag, read."""

from __future__ import annotations

from gradfuzz.errors import UsageError


def names_in(text: str) -> tuple[str, ...]:
    """The parts between commas."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def whole(text: str, flag: str) -> int:
    """An integer. `UsageError` names the flag."""
    try:
        return int(text)
    except ValueError:
        raise UsageError(f"{flag} {text!r} is no whole number") from None
