"""Planted bugs: the engine with one rule overridden, each after a real report.

`MUTANTS` has a row for each: its name, what is wrong, and the reports of it. The modules beside this one hold
the rules. Bugs of loops are in `loops`, `flow` and `carries`; those of rules that ops share in `rules`; the
others in `linalg`, `tensor`, `complex` and `vectorize`. `systematic` makes one more for each rule, operand
and kind of mistake. Those are found by name and not listed.
"""

from __future__ import annotations

from dataclasses import replace

from gradfuzz.engine import Rules
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


def _about(row: Mutant) -> Mutant:
    """The row with the op that its rules name as the wrong one."""
    op: str = getattr(row.rules.reverse, "op", "")
    return replace(row, ops=frozenset({op})) if op else row


GROUPS: dict[str, tuple[Mutant, ...]] = {
    "loops": tuple(
        row if row.id in _ELSEWHERE else replace(row, ops=frozenset({"loop"}))
        for row in (*LOOP_MUTANTS, *FLOW_MUTANTS, *CARRY_MUTANTS)
    ),
    "shared rules": RULE_MUTANTS,
    "linear algebra": tuple(_about(Mutant(*row)) for row in LINALG_MUTANTS),
    "tensors": tuple(_about(Mutant(*row)) for row in TENSOR_MUTANTS),
    "complex numbers": tuple(_about(Mutant(*row)) for row in COMPLEX_MUTANTS),
    "batching": tuple(Mutant(*row[:4], Rules(), row[4]) for row in VECTORIZE_MUTANTS),
}
"""Those after real reports, by what they are about."""

MUTANTS: tuple[Mutant, ...] = tuple(row for rows in GROUPS.values() for row in rows)
"""All of them."""


def named(name: str) -> Mutant | None:
    """The planted bug of a name: the id or alias of one of the list, or the name of a systematic one."""
    for row in MUTANTS:
        if name.lower() in (row.id.lower(), row.alias):
            return row
    return find(name.lower())


def mutant(name: str) -> Oracle | None:
    """The oracle `mutant:NAME`; None where there is none."""
    row = named(name)
    return None if row is None else row.oracle(f"mutant:{name}")
