"""Planted bugs: the engine with one rule overridden, each after a real report.

`MUTANTS` has a row for each: its name, what is wrong, and its reports. The other modules of the package have
the rules. Bugs of loops are in `loops`, `flow` and `carries`; bugs of rules that ops share in `rules`; the
others in `linalg`, `tensor`, `complex` and `vectorize`. `systematic` makes one more for each rule, operand
and kind of mistake; those are found by name and not listed.
"""

from __future__ import annotations

from dataclasses import replace

from gradfuzz.oracles.base import Oracle
from gradfuzz.oracles.mutants.carries import CARRY_MUTANTS
from gradfuzz.oracles.mutants.complex import COMPLEX_MUTANTS
from gradfuzz.oracles.mutants.flow import FLOW_MUTANTS
from gradfuzz.oracles.mutants.linalg import LINALG_MUTANTS
from gradfuzz.oracles.mutants.loops import LOOP_MUTANTS
from gradfuzz.oracles.mutants.mutant import Mutant
from gradfuzz.oracles.mutants.rules import RULE_MUTANTS
from gradfuzz.oracles.mutants.systematic import find
from gradfuzz.oracles.mutants.tensor import TENSOR_MUTANTS
from gradfuzz.oracles.mutants.vectorize import VECTORIZE_MUTANTS

_ELSEWHERE = ("M12",)
"""Bugs of control flow that show without a loop."""


GROUPS: dict[str, tuple[Mutant, ...]] = {
    "loops": tuple(
        row if row.id in _ELSEWHERE else replace(row, ops=frozenset({"loop"}))
        for row in (*LOOP_MUTANTS, *FLOW_MUTANTS, *CARRY_MUTANTS)
    ),
    "shared rules": RULE_MUTANTS,
    "linear algebra": LINALG_MUTANTS,
    "tensors": TENSOR_MUTANTS,
    "complex numbers": COMPLEX_MUTANTS,
    "batching": VECTORIZE_MUTANTS,
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
