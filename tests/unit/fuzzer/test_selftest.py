"""The self-test: which mutants are asked, what kills them, what is counted, and what people see of it."""

from __future__ import annotations

import dataclasses
import functools
import json
from typing import Any

import numpy as np
import pytest

from gradfuzz.cli import CLEAN, FINDINGS, INCOMPLETE, USAGE
from gradfuzz.errors import UnknownTargetError, UsageError
from gradfuzz.fuzzer.findings.applied_rules import applied_rules, concerns
from gradfuzz.fuzzer.questions.weighted import questions, weighted_question
from gradfuzz.fuzzer.results.finding import Class
from gradfuzz.fuzzer.results.score import (
    JVP_RULES,
    VJP_RULES,
    Group,
    MutantScore,
    OracleScore,
    Score,
    SelftestProgress,
)
from gradfuzz.fuzzer.sweep import selftest as module
from gradfuzz.fuzzer.sweep.batch import WorkItem, drawn
from gradfuzz.fuzzer.sweep.kills import ORDERS, Ordeal, Record, _deeper, _kills, kills
from gradfuzz.fuzzer.sweep.selftest import SelftestConfig, selftest
from gradfuzz.oracles.base import Point, Question
from gradfuzz.oracles.engine.oracle import EngineOracle
from gradfuzz.oracles.mutants.registry import MUTANTS, named
from gradfuzz.oracles.mutants.systematic import systematic_names
from gradfuzz.programs import parse
from gradfuzz.reports.terminal import selftest as report
from tests import shell
from tests.shell import assert_kept, printed


def question(text: str, *modes: Any) -> Question:
    program = parse(text)
    inputs = {p.name: np.full(p.type.sizes, 0.5) for p in program.params}
    return weighted_question(program, [Point(inputs)], "float64", modes)


# Which mutants are asked ------------------------------------------------------------------------------------


def test_the_rules_that_a_question_applies() -> None:
    product = "def f(x, y):\n    return sin(x * y)\n"
    assert applied_rules(question(product, "rev")) == {("rev", "multiply", ""), ("rev", "sin", "")}
    second = {op for mode, op, _ in applied_rules(question(product, "fwd", "rev")) if mode == "rev"}
    assert {"cos", "multiply", "add"} <= second, "the slope is cos(x y) (y dx + x dy)"
    assert "sin" not in second
    looped = "def f(x):\n    acc = 1.0\n    for i in range(2):\n        acc = acc * x\n    return acc\n"
    assert ("rev", "loop", "") in applied_rules(question(looped, "rev"))
    stacked = 'def f(x: "float[2, 3, 3]", y: "float[3, 3]"):\n    return matmul(x, y)\n'
    assert applied_rules(question(stacked, "rev")) == {
        ("rev", "matmul", n) for n in ("", "broadcast", "square", "batch")
    }


@pytest.mark.parametrize(
    ("name", "text", "mode", "asked"),
    [
        ("vjp.sin.0.sign", "def f(x):\n    return sin(x)\n", "rev", True),
        ("vjp.sin.0.sign", "def f(x):\n    return sin(x)\n", "fwd", False),
        ("vjp.sin.0.sign", "def f(x):\n    return cos(x)\n", "rev", False),
        ("vjp.sin.0.conjugated", "def f(x):\n    return sin(x)\n", "rev", False),
        ("vjp.sin.0.conjugated", "def f(x):\n    return real(sin(complex(x, 1.0)))\n", "rev", True),
        ("nx-1747", "def f(x):\n    return sin(x)\n", "rev", False),
    ],
)
def test_who_is_asked(name: str, text: str, mode: Any, asked: bool) -> None:
    mutant = named(name)
    assert mutant is not None
    assert concerns(mutant, applied_rules(question(text, mode))) is asked


@pytest.mark.parametrize("family", ["loops", "linalg", "tensor", "complex"])
def test_who_is_not_asked_says_what_the_engine_says(family: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    (draw,) = drawn(WorkItem(1, 4, 1, family, seed, ()))
    asked = questions(draw, 4, seed, orders=(1, 2))
    chosen = asked[int(rng.integers(len(asked)))]
    applied = applied_rules(chosen)
    right = EngineOracle().answer(chosen)
    sample = [m for name in rng.choice(systematic_names(), 20) if (m := named(str(name))) is not None]
    for mutant in [*(m for m in MUTANTS if m.batched is None), *sample]:
        if concerns(mutant, applied):
            continue
        for ours, theirs in zip(mutant.oracle().answer(chosen), right, strict=True):
            assert ours.status == theirs.status
            for name, g in theirs.gradient.items():
                assert np.array_equal(ours.gradient[name], g, equal_nan=True), f"{mutant.alias} by {name}"


# What kills them --------------------------------------------------------------------------------------------


def item(family: str = "loops", *, number: int = 0, first: int = 0, count: int = 4) -> WorkItem:
    return WorkItem(number, first, count, family, 0, (), orders=ORDERS)


def test_a_batch_kills_what_is_wrong_and_spares_what_is_not_there() -> None:
    found = kills(Ordeal(item(), ("nx-1747", "vjp.multiply.0.sign", "vjp.expm.0.sign", "cholesky-batch")))
    assert set(found.killed) == {"nx-1747", "vjp.multiply.0.sign"}
    assert all(1 <= n <= 4 for n in found.killed.values())
    assert found.records["vjp.expm.0.sign"].asked == found.records["cholesky-batch"].asked == 0


def test_a_third_order_is_asked_where_a_mutant_needs_it() -> None:
    cubic = question('def f(x: "float[2, 2]"):\n    return det(x * x)\n', "rev", "fwd")
    one, other = named("jvp.cofactor.1.double"), named("jvp.cofactor.0.double")
    assert one is not None
    assert other is not None
    assert _deeper([cubic], [other]) == []
    asked = _deeper([cubic], [one, other])
    assert len({q.modes for q in asked}) == len(asked) == 8
    assert {len(q.modes) for q in asked} == {3}
    assert any(_kills(q, one, Record()) for q in asked)


def test_mutants_of_batching_are_asked_in_the_family_that_is_about_it() -> None:
    assert kills(Ordeal(item(), ("foreign-axis",))).records["foreign-axis"].asked == 0
    assert kills(Ordeal(item("vectorize", count=2), ("foreign-axis",))).records["foreign-axis"].asked > 0


def test_what_is_right_is_never_killed() -> None:
    """A mutant whose mistake changes nothing: the conjugate of a real slope, asked although it does not
    concern the programs.
    """
    row = named("vjp.multiply.0.conjugated")
    assert row is not None
    asked = [q for k, d in enumerate(drawn(item())) for q in questions(d, k, 0, orders=(1,))]
    for q in asked:
        for ours, theirs in zip(row.oracle().answer(q), EngineOracle().answer(q), strict=True):
            assert all(
                np.array_equal(ours.gradient[n], g, equal_nan=True) for n, g in theirs.gradient.items()
            )


def test_programs_are_counted_in_the_family_where_they_are_fewest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FAMILIES", {"loops": None, "complex": None})
    score = last(
        SelftestConfig(mutants=("vjp.multiply.0.sign", "nx-1747"), seeds=(0, 1), max_examples=16, jobs=1)
    )
    by_family = [
        kills(Ordeal(item(family), ("vjp.multiply.0.sign",))).killed for family in ("loops", "complex")
    ]
    product, loop = score.mutants
    assert product.programs[0] == min(found["vjp.multiply.0.sign"] for found in by_family)
    assert set(loop.programs) == {0, 1}
    assert score.complete
    assert score.passed
    assert score.correct == (), "named mutants are asked alone"


def last(config: SelftestConfig) -> Score:
    *before, score = selftest(config)
    assert isinstance(score, Score)
    assert all(isinstance(event, SelftestProgress) for event in before)
    return score


@pytest.mark.slow
def test_the_score_does_not_depend_on_the_number_of_jobs() -> None:
    names = ("nx-1747", "qr-batch", "vjp.matmul.1.transposed", "jvp.divide.1.exchanged", "vjp.conv.1.half")
    here, there = (last(SelftestConfig(mutants=names, max_examples=16, jobs=jobs)) for jobs in (1, 2))
    assert here.mutants == there.mutants


@pytest.mark.slow
def test_the_sample_of_a_minute_is_found() -> None:
    score = last(SelftestConfig())
    assert score.passed, [m.name for m in score.survivors]


def test_a_survivor_has_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FAMILIES", {"loops": None})
    score = last(SelftestConfig(mutants=("vjp.expm.0.batch-summed",), max_examples=2, jobs=1))
    (survivor,) = score.survivors
    assert survivor.reason == "never asked: no program drawn has expm with batch axes in reverse mode"
    assert survivor.programs_to_kill is None
    assert not score.passed


def test_a_time_limit_leaves_it_incomplete() -> None:
    score = last(SelftestConfig(mutants=("nx-1747",), max_time=1e-9, jobs=1))
    assert not score.complete
    assert score.mutants[0].programs == {0: None}


def test_the_quick_profile_asks_a_spread_sample() -> None:
    quick, full = (module._mutants(SelftestConfig(profile)) for profile in ("quick", "full"))
    assert {m.alias for m in full} == {*(m.alias for m in MUTANTS), *systematic_names()}
    sample = [m for m in quick if m.reported == "systematic"]
    assert len(sample) >= 100
    mistakes = {m.alias.rpartition(".")[2] for m in sample}
    assert mistakes >= {
        "dropped",
        "sign",
        "double",
        "half",
        "unscaled",
        "swapped",
        "exchanged",
        "conjugated",
        "transposed",
        "mean",
    }
    assert len({op for m in sample for op in m.ops}) >= 60


@pytest.mark.parametrize(
    ("config", "error", "message"),
    [
        (SelftestConfig("slow"), UsageError, "unknown profile 'slow'"),  # type: ignore[arg-type]
        (SelftestConfig(max_examples=0), UsageError, "max_examples is 0"),
        (SelftestConfig(jobs=0), UsageError, "jobs is 0"),
        (SelftestConfig(seeds=()), UsageError, "number of seeds is 0"),
        (SelftestConfig(mutants=("nx-1774",)), UnknownTargetError, "did you mean mutant:nx-1747"),
    ],
)
def test_what_cannot_be_tested_says_so(config: SelftestConfig, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        next(iter(selftest(config)))


# False alarms -----------------------------------------------------------------------------------------------


ENDED = "Its script did not run to its end: it exits with 125."


@dataclasses.dataclass(frozen=True)
class Told:
    """As much of a finding as it takes to doubt it."""

    references: tuple[str, ...]
    script: str
    kind: Class = Class.WRONG_VALUE
    note: str = ""


@pytest.mark.parametrize(
    ("told", "doubt"),
    [
        (Told(("arb", "mpmath"), "a script", note="By forward mode it is right."), ""),
        (Told(("mpmath",), "a script"), "only one reference says so"),
        (Told(("arb",), "a script", Class.ERROR), ""),
        (Told(("arb", "mpmath"), ""), "there is no script that shows it"),
        (
            Told(("arb", "mpmath"), "a script", note=f"Alone. {ENDED}"),
            ENDED,
        ),
    ],
)
def test_a_finding_has_to_be_borne_out(told: Any, doubt: str) -> None:
    assert module._doubt(told) == doubt


# What people see --------------------------------------------------------------------------------------------

SCORE = Score(
    profile="full",
    seeds=(0, 1),
    max_examples=300,
    seconds=312.4,
    mutants=(
        MutantScore("mutant:nx-1747", "loops", "adjoints swept in forward order", {0: 2, 1: 3}),
        MutantScore("mutant:swift-78264", "loops", "adjoint not reset per trip", {0: 5, 1: 21}),
        MutantScore(
            "mutant:vjp.sin.0.sign", VJP_RULES, "vjp of sin, operand 0: the sign is flipped", {0: 1, 1: 1}
        ),
        MutantScore(
            "mutant:jvp.conv.1.half",
            JVP_RULES,
            "jvp of conv, operand 1: a factor of 2 is missing",
            {0: 40, 1: None},
            "why",
        ),
    ),
    correct=(
        OracleScore("engine", "0.1.0", checks=900, inconclusive=9, findings=0, false_alarms=0),
        OracleScore(
            "jax",
            "0.10.2",
            checks=400,
            inconclusive=4,
            findings=1,
            false_alarms=1,
            alarms=("GF-1, sign_flip: no",),
        ),
    ),
    complete=True,
    interrupted=False,
    rerun="gradfuzz selftest --profile full --seeds 0..1",
    equivalent={"vjp.real.0.conjugated": "the cotangent is real"},
)


def test_counts() -> None:
    assert SCORE.killed == 3
    assert SCORE.false_alarms == 1
    assert not SCORE.passed
    assert SCORE.groups == (
        Group("loops", 2, 2, 4.0, 21),
        Group(VJP_RULES, 1, 1, 1.0, 1),
        Group(JVP_RULES, 0, 1, 40, 40),
        Group("all", 3, 4, 3, 40),
    )


@pytest.mark.parametrize(("killed", "total", "passed"), [(98, 100, True), (97, 100, False)])
def test_two_in_a_hundred_systematic_ones_may_survive(killed: int, total: int, passed: bool) -> None:
    rows = [MutantScore(f"mutant:{k}", VJP_RULES, "", {0: 1 if k < killed else None}) for k in range(total)]
    assert dataclasses.replace(SCORE, mutants=tuple(rows), correct=()).passed is passed
    one = MutantScore("mutant:m", "loops", "", {0: None})
    assert not dataclasses.replace(SCORE, mutants=(*rows, one), correct=()).passed, (
        "none after a real report may"
    )


@pytest.mark.parametrize("width", [110, 60])
def test_what_people_see(width: int) -> None:
    assert_kept(f"selftest_{width}", printed(report.selftest(SCORE), width))


run = functools.partial(shell.run, "selftest", "--jobs", "1", exit_code=None)


def test_the_document() -> None:
    result = run("--mutant", "nx-1747", "--max-examples", "4", "--format", "json")
    assert result.exit_code == CLEAN
    document = json.loads(result.stdout)
    (row,) = document["mutants"]
    assert {
        "name": "mutant:nx-1747",
        "killed": True,
        "programs_to_kill": row["by_seed"]["0"],
    }.items() <= row.items()
    assert (document["killed"], document["total"], document["correct"], document["passed"]) == (
        1,
        1,
        [],
        True,
    )
    assert (
        document["rerun"]
        == "gradfuzz selftest --profile quick --seed 0 --max-examples 4 --mutant nx-1747 --jobs 1"
    )
    assert report.selftest_document(SCORE)["correct"][1]["false_alarms"] == 1
    json.dumps(report.selftest_document(SCORE), allow_nan=False)


def test_exit_codes() -> None:
    assert run("--mutant", "vjp.cofactor.1.sign", "--max-examples", "1").exit_code == FINDINGS
    assert run("--mutant", "nx-1747", "--max-time", "1e-9").exit_code == INCOMPLETE
    for wrong in (("--mutant", "nx-1774"), ("--seeds", "3..1"), ("--seeds", "a..b"), ("--max-examples", "0")):
        assert run(*wrong).exit_code == USAGE, wrong
