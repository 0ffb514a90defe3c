"""The assertion that fails."""

from __future__ import annotations

from gradfuzz.testing.measured import Measured

__all__ = ["GradientMismatch"]


class GradientMismatch(AssertionError):  # noqa: N818 - it is no error of gradfuzz, and reads as what it is
    """A gradient is wrong. `measured` has all that is known about it."""

    def __init__(self, message: str, measured: Measured | None = None) -> None:
        super().__init__(message)
        self.measured = measured
