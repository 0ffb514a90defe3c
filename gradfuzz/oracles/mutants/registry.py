"""The planted bugs by name. The systematic ones are found and not listed."""

from __future__ import annotations

from dataclasses import replace

from gradfuzz.oracles.base import Oracle
from gradfuzz.oracles.mutants import carries, flow, linalg, loops, rules, tensor, vectorize
from gradfuzz.oracles.mutants import complex as complex_numbers
from gradfuzz.oracles.mutants.mutant import Mutant
from gradfuzz.oracles.mutants.systematic import find

_ELSEWHERE = ("M12",)
"""Bugs of control flow that show without a loop."""


GROUPS: dict[str, tuple[Mutant, ...]] = {
    "loops": tuple(
        row if row.id in _ELSEWHERE else replace(row, ops=frozenset({"loop"}))
        for row in (*loops.BUGS, *flow.BUGS, *carries.BUGS)
    ),
    "shared rules": tuple(rules.BUGS),
    "linear algebra": tuple(linalg.BUGS),
    "tensors": tuple(tensor.BUGS),
    "complex numbers": tuple(complex_numbers.BUGS),
    "batching": vectorize.BUGS,
}
"""Mutants after real reports, by topic."""

MUTANTS: tuple[Mutant, ...] = tuple(row for rows in GROUPS.values() for row in rows)
"""All listed mutants."""


def named(name: str) -> Mutant | None:
    """The planted bug with this id, alias or systematic name; None without one."""
    for row in MUTANTS:
        if name.lower() in (row.id.lower(), row.alias):
            return row
    return find(name.lower())


def mutant(name: str) -> Oracle | None:
    """The oracle `mutant:NAME`; None for an unknown name."""
    row = named(name)
    return None if row is None else row.oracle(f"mutant:{name}")
