"""The numbers of the reference `arb`: balls, and Taylor series whose coefficients are balls."""

from __future__ import annotations

from typing import TypeAlias

from flint import arb, arb_series

from gradfuzz.programs.object_namespace import UndecidedError

__all__ = ["Number", "WideError", "constant_term"]

Number: TypeAlias = arb | arb_series


class WideError(UndecidedError):
    """Undecided only because a ball is too wide: more bits may help."""


def constant_term(x: Number) -> arb:
    return x if isinstance(x, arb) else x[0]
