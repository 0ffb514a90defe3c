"""Systematic mutants that are not asked, as their gradient is provably right; and rare triggers."""

from __future__ import annotations

from collections.abc import Mapping

EQUIVALENT: Mapping[str, str] = {}
"""Name: why no program tells it from the engine. None so far: `systematic` omits such mistakes."""

_DIRECTION = (
    "a third order (rev, any, any) of the determinant of what is not linear: the directions of a cofactor"
    " move only there"
)

TRIGGERS: Mapping[str, str] = {
    f"{kind}.cofactor.1.{mistake}": _DIRECTION
    for kind in ("vjp", "jvp")
    for mistake in ("dropped", "sign", "double", "half")
}
"""Name: what a program needs for the mutant to show, if that is more than its op."""
