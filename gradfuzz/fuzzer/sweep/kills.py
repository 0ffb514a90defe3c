"""Which planted bugs the programs of one batch kill. It is the unit of work of a self-test.

A program kills a mutant where the evaluator finds the mutant's answer wrong, as in a sweep. An answer equal
to the engine's is right, so the references are asked only where a mutant differs from the engine.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from gradfuzz.fuzzer.findings.applied_rules import applied_rules, concerns
from gradfuzz.fuzzer.sweep.cases import drawn
from gradfuzz.fuzzer.sweep.work_item import WorkItem
from gradfuzz.fuzzer.verdict.metamorphic_checks import like_engine
from gradfuzz.fuzzer.verdict.shared import evaluator
from gradfuzz.oracles.base import Mode, Question
from gradfuzz.oracles.mutants.mutant import Mutant
from gradfuzz.oracles.mutants.registry import named
from gradfuzz.strategies import FAMILIES

ORDERS = (1, 2)
"""Orders of the derivatives that every program is asked about. Higher ones only those mutants need that have
an order of their own."""


@dataclass(frozen=True, slots=True)
class Ordeal:
    """A batch of programs, and the mutants that are asked about them. `order` names no oracles."""

    item: WorkItem
    mutants: tuple[str, ...]


@dataclass(slots=True)
class Record:
    """What happened to one mutant: its questions, its differences from the engine, and their verdicts."""

    asked: int = 0
    different: int = 0
    verdicts: Counter[str] = field(default_factory=Counter)

    def add(self, other: Record) -> None:
        """Adds `other` to this."""
        self.asked += other.asked
        self.different += other.different
        self.verdicts.update(other.verdicts)


@dataclass(frozen=True, slots=True)
class Kills:
    """The result of an ordeal. `killed`: by name, how many programs of the stream it took."""

    item: WorkItem
    killed: Mapping[str, int]
    records: Mapping[str, Record]


def kills(ordeal: Ordeal) -> Kills:
    """Draws the programs and asks the mutants, program by program; a killed mutant is not asked again.

    Mutants that answer all points together are asked only in families about that.
    """
    item = ordeal.item
    together = FAMILIES[item.family].together
    known = [found for name in ordeal.mutants if (found := named(name)) is not None]
    records = {mutant.alias: Record() for mutant in known}
    killed: dict[str, int] = {}
    alive = [mutant for mutant in known if together or mutant.batched is None]
    for index, draw in enumerate(drawn(item), item.first):
        asked, used = item.questions(draw, index), set[str]()
        while asked:
            for question in asked:
                applied = applied_rules(question)
                used.update(op for _, op, _ in applied)
                for mutant in alive:
                    name = mutant.alias
                    if name in killed or not concerns(mutant, applied):
                        continue
                    if _kills(question, mutant, records[name]):
                        killed[name] = index + 1
            alive = [mutant for mutant in alive if mutant.alias not in killed]
            asked = _deeper(asked, [mutant for mutant in alive if mutant.ops & used])
    return Kills(item, killed, records)


def _deeper(asked: Sequence[Question], alive: Sequence[Mutant]) -> list[Question]:
    """The next order in every mix of modes, if one of these mutants needs a higher one than was asked."""
    order = 1 + max(len(question.modes) for question in asked)
    if not any(mutant.order >= order for mutant in alive):
        return []
    modes: tuple[Mode, ...] = ("rev", "fwd")
    return [replace(asked[0], modes=mix) for mix in itertools.product(modes, repeat=order)]


def _kills(question: Question, mutant: Mutant, record: Record) -> bool:
    tolerances = evaluator().tolerances(question)
    fair = [k for k, tolerance in enumerate(tolerances) if tolerance.reason is None]
    if not fair:
        return False
    target = mutant.oracle()
    part = replace(question, points=tuple(question.points[k] for k in fair))
    record.asked += 1
    given = dict(zip(fair, target.answer(part), strict=True))
    different = [k for k in fair if not like_engine(given[k], tolerances[k])]
    record.different += bool(different)
    if not different:
        return False
    cases = evaluator().cases(target.name, question, [given[k] for k in different], at=different)
    if any(case.verdict.is_wrong for case in cases):
        return True
    record.verdicts.update((case.reason or case.verdict).value for case in cases)
    return False
