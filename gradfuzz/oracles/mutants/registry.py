"""Planted bugs: the engine with one rule overridden, each after a real report.

| name | alias | what is wrong | reported as |
|---|---|---|---|
| M1 | nx-1747 | adjoints swept in forward order | Nx #1747 |
| M2 | swift-78264 | the adjoint of a value made in a body-first loop lives on into the next trip | Swift #78264 |
| M3 | stale-primal | the last trip's values used in every step back | Paddle #27814, clad #1865, Quadrants #502, Warp #1552 |
| M4 | last-trip-only | the carry's cotangent is dropped between trips | torch #184528, swift-apis #394 |
| M5 | initial-value | the adjoint of the loop's initial value is missing | clad #474, Swift #27796 |
| M6 | used-after | a value from before the loop loses the adjoint of its use after it | Warp #1694, #1740 |
| M7 | nested-twice | an inner loop's share of the adjoint of an outer value is counted twice | Warp #1293 |
| M8 | early-exit | a trip that break or continue leaves is swept to its end: one trip too many | Warp #1552, jax #5900 |
| M9 | vector-components | the components of a rebuilt vector are swept as if assigned one after the other | Quadrants #797 |
| M10 | never-entered | reverse over forward sweeps a loop that was never entered once | clad #1958 |
| M11 | clip-squared | the cotangent of clip is applied twice | Nx #1779 |
| M12 | false-branch | the false side of a branch is not differentiated | clad e4f1925b |
| M14 | dropped-tangent | selections drop the tangent in forward mode | eshkol #443 |
| M15 | built-from-scalars | an array built from scalars has no gradient | eshkol ESH-0235 |
| M17 | shared-buffer | the first state that a loop saved is overwritten by the loop that goes on with its carry | torch #153679 |
| M18 | wide-scalar | the adjoint of a scalar carry counts once per entry of the array carry next to it | drjit #536 |
| M21 | unused-output | a carry that is not read after the loop has no adjoint inside it | torch #172568 |
| M22 | condition-read | a value that the loop's condition reads loses its use in the body | clad #746 |
| - | broadcast-mean | broadcasting is undone by a mean instead of a sum | common |

Those of loops are in `loop_mutants`, `flow_mutants` and `carry_mutants`, those of the rules that ops share in `rule_mutants`, those in linear algebra in `linalg_mutants`, in tensor
ops in `tensor_mutants`, in complex numbers in `complex_mutants`, in batching in `vectorize_mutants`. Those of
`systematic_mutants`, one for each rule, operand and kind of mistake, are found by name and not listed.
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
