"""A planted bug of loops shows in the situations that the goals name for it, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest

from gradfuzz.fuzzer.questions.weighted import questions
from gradfuzz.oracles.base import Answer
from gradfuzz.oracles.mutants.registry import MUTANTS
from gradfuzz.oracles.registry import resolve
from gradfuzz.strategies import GOALS, cases, draw_many, triggers

NUMBERS = {"M7", "M8", "M9", "M10", "M12", "M15", "M17", "M18", "M21", "M22"}
TRIGGERS = {
    m.alias: {goal.name for goal in GOALS if m.id in goal.mutants} for m in MUTANTS if m.id in NUMBERS
}


def same(answer: Answer, other: Answer) -> bool:
    """To the last bit."""
    pairs = [
        *zip(answer.values, other.values, strict=True),
        *((answer.gradient[n], g) for n, g in other.gradient.items()),
    ]
    return answer.status == other.status and all(np.array_equal(a, b, equal_nan=True) for a, b in pairs)


def check(programs: int, seed: str) -> None:
    """Orders one and two, in all modes; at order three the duplicated loop of M10 adds its cotangents in
    another order.
    """
    (engine,) = resolve("engine")
    oracles = {name: resolve(f"mutant:{name}")[0] for name in TRIGGERS}
    for index, case in enumerate(draw_many(cases(min_points=2, max_points=2), programs, seed)):
        reached = triggers(case)
        for question in questions(case, index, 0, orders=(1, 2)):
            answers = engine.answer(question)
            for name in (n for n, goals in TRIGGERS.items() if not goals & reached):
                given = oracles[name].answer(question)
                assert all(map(same, given, answers)), f"mutant:{name} {question.modes}\n{question.program}"


def test_every_one_has_a_goal() -> None:
    assert len(TRIGGERS) == len(NUMBERS)
    assert all(TRIGGERS.values())


def test_right_without_its_trigger(seed: int) -> None:
    check(10, f"triggers/{seed}")


@pytest.mark.slow
def test_right_without_its_trigger_in_many_programs(seed: int) -> None:
    check(300, f"more triggers/{seed}")
