"""The result of a self-test: how many programs each planted bug survives, and false alarms."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gradfuzz.fuzzer.results.own_fault import OwnFault

VJP_RULES, JVP_RULES = "vjp rules", "jvp rules"
"""The groups of the systematic mutants."""

SYSTEMATIC_SHARE = 0.98
"""The share of the systematic mutants that must be killed; mutants after real reports must all be."""


@dataclass(frozen=True, slots=True)
class MutantScore:
    """The result for one planted bug."""

    name: str
    """As a target: "mutant:nx-1747"."""
    group: str
    summary: str
    programs: Mapping[int, int | None]
    """By seed: programs of one family needed to kill it, in its best family; None where it survives all."""
    reason: str = ""
    """For a survivor: what was missing."""

    @property
    def killed(self) -> bool:
        """Whether it was killed with every seed."""
        return all(n is not None for n in self.programs.values())

    @property
    def programs_to_kill(self) -> int | None:
        """The number with the seed that needed most; None for a survivor."""
        found = [n for n in self.programs.values() if n is not None]
        return max(found) if len(found) == len(self.programs) else None


@dataclass(frozen=True, slots=True)
class OracleScore:
    """The result for one library that should be right."""

    oracle: str
    version: str
    checks: int
    inconclusive: int
    findings: int
    """Confirmed findings: real bugs of the library."""
    false_alarms: int
    """Findings that the second reference or the finding's own script does not confirm."""
    alarms: tuple[str, ...] = ()
    """The false alarms in words."""


@dataclass(frozen=True, slots=True)
class Group:
    """Planted bugs that are counted together."""

    name: str
    killed: int
    total: int
    median: float | None
    """Programs to kill, over mutants and seeds."""
    worst: int | None


@dataclass(frozen=True, slots=True)
class Score:
    """The last event of a self-test."""

    profile: str
    seeds: tuple[int, ...]
    max_examples: int
    seconds: float
    mutants: tuple[MutantScore, ...]
    correct: tuple[OracleScore, ...]
    complete: bool
    """False where a time limit or an interrupt ended it early."""
    interrupted: bool
    rerun: str
    equivalent: Mapping[str, str] = field(default_factory=dict)
    """Systematic mutants that were not asked because they are right, with the proof of each."""
    own_faults: tuple[OwnFault, ...] = ()
    """Where gradfuzz itself failed: what that would have asked is missing."""

    @property
    def killed(self) -> int:
        return sum(m.killed for m in self.mutants)

    @property
    def survivors(self) -> tuple[MutantScore, ...]:
        return tuple(m for m in self.mutants if not m.killed)

    @property
    def false_alarms(self) -> int:
        return sum(o.false_alarms for o in self.correct)

    @property
    def passed(self) -> bool:
        """Every named bug killed, nearly every systematic one, and no false alarm."""
        rest = [m.killed for m in self.mutants if m.group in (VJP_RULES, JVP_RULES)]
        named = [m.killed for m in self.mutants if m.group not in (VJP_RULES, JVP_RULES)]
        return all(named) and sum(rest) >= SYSTEMATIC_SHARE * len(rest) and not self.false_alarms

    @property
    def groups(self) -> tuple[Group, ...]:
        """The mutants by group, and all together if there are several groups."""
        names = list(dict.fromkeys(m.group for m in self.mutants))
        found = [_group(name, [m for m in self.mutants if m.group == name]) for name in names]
        return (*found, _group("all", self.mutants)) if len(found) > 1 else tuple(found)


def _group(name: str, mutants: Sequence[MutantScore]) -> Group:
    needed = [n for m in mutants for n in m.programs.values() if n is not None]
    median = statistics.median(needed) if needed else None
    return Group(name, sum(m.killed for m in mutants), len(mutants), median, max(needed, default=None))


@dataclass(frozen=True, slots=True)
class SelftestProgress:
    """Comes after every round."""

    seconds: float
    programs: int
    """Of each family and seed."""
    killed: int
    total: int
    doing: str
