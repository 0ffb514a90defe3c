"""Systematic mutants that are not asked, as their gradient is provably right."""

from __future__ import annotations

from collections.abc import Mapping

_SYMMETRIC = "the slope by x is sign(x) sign(y), which stays the same when x and y are exchanged"
_CONSTANT = "the slope by x is 1, wherever x and y are"

EQUIVALENT: Mapping[str, str] = {
    f"{kind}.{op}.0.swapped": proof
    for kind in ("vjp", "jvp")
    for op, proof in (("copysign", _SYMMETRIC), ("fmod", _CONSTANT))
}
"""Name: why no program tells it from the engine."""
