"""Which results a library connects with which arguments, by its own word."""

from __future__ import annotations

from collections.abc import Sequence

from gradfuzz.errors import UnsupportedError


def connected(name: str, slopes: Sequence[Sequence[object]]) -> tuple[int, ...] | None:
    """The numbers of the results that have a gradient by some argument; None where all have.

    `slopes` has a row for each result, with the gradient by each argument, or None where the library says
    that there is none. `UnsupportedError` where there is none by one of the arguments: other functions would
    take it for 0.
    """
    for k in range(len(slopes[0]) if slopes else 0):
        if all(row[k] is None for row in slopes):
            raise UnsupportedError(f"{name} returns None for the gradient by its array {k + 1}")
    found = tuple(k for k, row in enumerate(slopes) if any(slope is not None for slope in row))
    return found if len(found) < len(slopes) else None
