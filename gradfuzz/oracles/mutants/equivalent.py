"""Systematic mutants that nobody is asked about, each with the proof that its gradient is right; and those
whose trigger is seldom drawn.
"""

from __future__ import annotations

from collections.abc import Mapping

EQUIVALENT: Mapping[str, str] = {}
"""Name: why no program can tell it from the engine. So far there is none: where a mistake cannot matter,
`systematic_mutants` does not make it.
"""

_DIRECTION = (
    "a third order (rev, any, any) of the determinant of what is not linear: the directions of a cofactor"
    " move only there"
)

TRIGGERS: Mapping[str, str] = {
    f"{kind}.cofactor.1.{mistake}": _DIRECTION
    for kind in ("vjp", "jvp")
    for mistake in ("dropped", "sign", "double", "half")
}
"""Name: what a program must have for the mutant to show, where that is more than its op."""
