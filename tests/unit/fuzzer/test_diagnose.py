"""Diagnosis, clusters and ranking: a mutant is recognised by its answers, and nothing is called certain that
others explain as well.
"""

from __future__ import annotations

import dataclasses
import random
from typing import Any

import numpy as np
import pytest

from gradfuzz.fuzzer.findings.clusters import clusters
from gradfuzz.fuzzer.findings.diagnose import Witness, diagnose
from gradfuzz.fuzzer.findings.prove import FindingProof, prove
from gradfuzz.fuzzer.findings.signature import precedence
from gradfuzz.fuzzer.findings.survey import asked
from gradfuzz.fuzzer.questions.candidate import Candidate
from gradfuzz.fuzzer.results.finding import Cause, Class, Finding, FindingPoint, Likelihood, Verdict
from gradfuzz.fuzzer.results.ranking import rank
from gradfuzz.fuzzer.results.raw import Raw
from gradfuzz.fuzzer.sweep.batch import WorkItem, run
from gradfuzz.fuzzer.sweep.totals import Totals
from gradfuzz.fuzzer.verdict.shared import oracle
from gradfuzz.oracles.base import Mode, Oracle
from gradfuzz.programs.language.program import Program
from gradfuzz.programs.text.loop_body import loop_program
from gradfuzz.programs.text.parse import parse

POWER = loop_program("acc*x", trips=3)
"""Returns x**3; the adjoints swept in forward order give 1 + x + x*x... for 3 x**2, which differs at every x
but 1.
"""


def witness(
    program: Program, x: float, target: Oracle, *, modes: tuple[Mode, ...] = ("rev",), drawn: bool = False
) -> Witness:
    one = np.ones(())
    candidate = Candidate(program, {"x": np.asarray(x)}, "float64", ("x",), modes, (one,), {"x": one})
    return Witness(candidate, asked(candidate, target), drawn)


def told(
    target: str,
    program: Program = POWER,
    *,
    drawn: Program = POWER,
    points: tuple[float, ...] = (0.5, 2.0, -0.5, 1.7),
) -> Any:
    asked_of = oracle(target)
    witnesses = [witness(program, x, asked_of) for x in points]
    return diagnose([*witnesses, witness(drawn, 1.25, asked_of, drawn=True)], asked_of)


def test_a_planted_bug_is_named_by_its_answers() -> None:
    cause = told("mutant:nx-1747")
    assert cause is not None
    assert (cause.mutant, cause.reported) == ("nx-1747", "Nx #1747")
    assert cause.summary == "adjoints swept in forward order"


def test_a_right_target_has_no_cause() -> None:
    assert told("engine") is None


def test_right_numbers_in_another_dtype_have_no_cause() -> None:
    """Whoever is right would explain them."""
    target = oracle("engine")
    wrong = witness(POWER, 0.5, target)
    case = dataclasses.replace(wrong.case, verdict=Verdict.DISAGREE, kind=Class.WRONG_DTYPE)
    assert diagnose([dataclasses.replace(wrong, case=case)], target) is None


@pytest.mark.parametrize("other_bug", [True, False])
def test_answers_in_another_dtype_are_another_bug(other_bug: bool) -> None:
    """As in Nx at a53bbaed, whose gradients of loops in float64 come back as noise in float32."""
    target = oracle("mutant:nx-1747")
    witnesses = [witness(POWER, x, target) for x in (0.5, 2.0, -0.5, 1.7)]
    drawn = witness(POWER, 1.25, target, drawn=True)
    noise = witness(POWER, 0.75, target)
    answer = dataclasses.replace(noise.case.answer, gradient={"x": np.asarray(3e-44, np.float32)})
    kind = Class.WRONG_DTYPE if other_bug else Class.WRONG_VALUE
    case = dataclasses.replace(noise.case, verdict=Verdict.DISAGREE, kind=kind, answer=answer)
    noise = dataclasses.replace(noise, case=case)
    certain = diagnose([*witnesses, drawn], target)
    cause = diagnose([*witnesses, noise, drawn], target)
    assert certain is not None
    assert cause is not None
    assert (certain.mutant, certain.likelihood) == ("nx-1747", Likelihood.CERTAIN)
    assert cause.mutant == "nx-1747"
    assert cause.likelihood is (Likelihood.LIKELY if other_bug else Likelihood.POSSIBLE)
    assert diagnose([noise, *witnesses], target) is None or not other_bug


def test_too_little_is_never_certain() -> None:
    """One wrong number may be anybody's."""
    cause = told("mutant:nx-1747", points=(2.0,), drawn=parse("def f(x):\n    return x\n"))
    assert cause is not None
    assert cause.likelihood is not Likelihood.CERTAIN


def test_a_mutant_that_is_wrong_where_the_target_is_right_is_only_possible() -> None:
    """Two bugs that give the same numbers to one program differ on another, where this target is right."""
    target = oracle("mutant:stale-primal")
    wrong = [witness(POWER, x, target) for x in (0.5, 2.0, -0.5)]
    right = witness(POWER, 1.7, oracle("engine"))
    cause = diagnose([*wrong, right], target)
    assert cause is None or cause.likelihood is Likelihood.POSSIBLE


@pytest.mark.parametrize(
    ("alias", "family"),
    [
        ("nx-1747", "loops"),
        ("stale-primal", "loops"),
        ("swift-78264", "loops"),
        pytest.param("qr-batch", "linalg", marks=pytest.mark.slow),
        ("conjugate-forgotten", "complex"),
    ],
)
def test_a_finding_names_the_bug_that_was_planted(alias: str, family: str) -> None:
    for number in range(10):
        batch = run(WorkItem(number, number * 16, 16, family, 3, (f"mutant:{alias}",), orders=(1,)))
        proofs = [proof for raw in batch.raws[:1] if (proof := prove(raw)).finding is not None]
        if proofs:
            break
    finding = proofs[0].finding
    assert finding is not None
    assert finding.cause is not None
    assert finding.cause.mutant == alias


# Clusters and ranking ---------------------------------------------------------------------------------------


def a_finding(
    name: str, program: str = "def f(x):\n    return sin(x)\n", *, at: float = 0.5, **changes: Any
) -> Finding:
    x, none = np.asarray(at), {"x": np.zeros(())}
    point = FindingPoint(
        {"x": x}, {"x": np.ones(())}, {"x": np.zeros(())}, none, ("x", ()), 1.0, 0.0, 0.0, 1e9
    )
    made = parse(program)
    finding = Finding(
        id=name,
        target="torch:eager",
        version="2",
        check="vjp",
        kind=Class.WRONG_VALUE,
        family="loops",
        precision="float64",
        modes=("rev",),
        wrt=("x",),
        program=made,
        original=made,
        weights=(np.ones(()),),
        directions={},
        smallest=point,
        clearest=point,
        worst=point,
        seen=1,
        references=("arb", "mpmath"),
        reproduced=(5, 5),
    )
    return dataclasses.replace(finding, **changes)


def like(mutant: str, likelihood: Likelihood = Likelihood.CERTAIN, *also: str) -> Cause:
    return Cause(mutant, likelihood, f"what {mutant} does", "a report", also)


def grouped(*findings: Finding) -> list[tuple[str, ...]]:
    return [c.findings for c in clusters(findings)]


def test_findings_of_one_cause_are_one_cluster() -> None:
    a, b, c = (
        a_finding("a", cause=like("m")),
        a_finding("b", "def f(x):\n    return exp(x)\n", cause=like("m")),
        a_finding("c", cause=like("n")),
    )
    assert grouped(a, c, b) == [("a", "b"), ("c",)]
    assert clusters([a, b])[0].label == "torch: what m does"


def test_where_several_bugs_would_do_the_one_that_explains_most_decides() -> None:
    a = a_finding("a", cause=like("m", Likelihood.LIKELY, "n"))
    b = a_finding("b", cause=like("n"))
    assert grouped(a, b) == [("a", "b")]
    assert grouped(a, a_finding("c", target="jax:scan", cause=like("n"))) == [("a",), ("c",)]


def test_without_a_cause_ops_and_check_decide() -> None:
    a = a_finding("a", "def f(x):\n    return sin(x) + 1.0\n")
    b = a_finding("b", "def f(x):\n    return 2.0 * sin(x)\n")
    assert grouped(a, b, dataclasses.replace(b, id="c", check="jvp")) == [("a", "b"), ("c",)]


def test_other_dtypes_stand_together_whatever_the_op() -> None:
    a = a_finding("a", "def f(x):\n    return sin(x)\n", kind=Class.WRONG_DTYPE)
    b = a_finding("b", "def f(x):\n    return exp(x)\n", kind=Class.WRONG_DTYPE)
    assert grouped(a, b) == [("a", "b")]


def test_errors_stand_together_by_their_words() -> None:
    a, b, c = (
        a_finding(name, kind=Class.ERROR, note=f"{message}. Wrong in all ways.")
        for name, message in [
            ("a", "RuntimeError: size 3 at 0"),
            ("b", "RuntimeError: size 12 at 1"),
            ("c", "IndexError: size 3 at 0"),
        ]
    )
    assert grouped(a, b, c) == [("a", "b"), ("c",)]


def test_ordinary_inputs_come_first_and_absurd_ones_last() -> None:
    ordinary = a_finding("ordinary", at=0.5)
    zero = a_finding("zero", at=0.0, seen=2)
    far = a_finding("far", at=1e5, kind=Class.SIGN_FLIP)
    absurd = a_finding("absurd", at=1e-170, kind=Class.SIGN_FLIP)
    huge = a_finding("huge", "def f(x):\n    return x * 1e200\n", kind=Class.RATIO_BLOWUP)
    flaky = a_finding("flaky", reproduced=(3, 5), kind=Class.SIGN_FLIP)
    found = sorted([absurd, far, flaky, huge, ordinary, zero], key=rank)
    assert [f.id for f in found] == ["zero", "ordinary", "flaky", "far", "absurd", "huge"]


def order(n: int) -> dict[str, Any]:
    """The fields of a finding about reverse mode, n times."""
    return {"modes": ("rev",) * n, "check": "vjp" if n == 1 else f"order {n}"}


RANKED = (
    a_finding("first order, other sign", kind=Class.SIGN_FLIP),
    a_finding("first order, often seen", seen=9),
    a_finding("forward mode is as common", modes=("fwd",), check="jvp", seen=8),
    a_finding("first order", seen=2),
    a_finding("first order, id of the same rank", seen=2),
    a_finding("in float32", precision="float32"),
    a_finding("in half precision, often seen", precision="bfloat16", seen=90),
    a_finding("in the other half precision", precision="float16", seen=80),
    a_finding("the value", kind=Class.WRONG_PRIMAL, modes=("rev", "rev"), check="value"),
    a_finding("solve", "def f(x):\n    return solve(x, x)\n", kind=Class.MISSING, **order(2)),
    a_finding("slogdet", "def f(x):\n    return slogdet(x)[1]\n", kind=Class.SIGN_FLIP, **order(3)),
    a_finding("crash", kind=Class.ERROR, seen=99),
    a_finding("crash, second order", kind=Class.ERROR, **order(2)),
    a_finding("lost digits, often seen", kind=Class.PRECISION, seen=99),
    a_finding("flaky", kind=Class.SIGN_FLIP, reproduced=(4, 5)),
    a_finding("large", at=1e3, kind=Class.SIGN_FLIP),
    a_finding("absurd", at=1e-170, kind=Class.SIGN_FLIP),
)


@pytest.mark.parametrize("seed", range(5))
def test_low_orders_come_first_then_classes_then_precisions(seed: int) -> None:
    found = list(RANKED)
    random.Random(seed).shuffle(found)
    assert [f.id for f in sorted(found, key=rank)] == [f.id for f in RANKED]


def test_the_class_comes_before_the_precision_and_after_the_order() -> None:
    half = a_finding("half", kind=Class.SIGN_FLIP, precision="float16")
    second = a_finding("second", kind=Class.SIGN_FLIP, **order(2))
    assert rank(half) < rank(a_finding("value")) < rank(second)
    assert precedence(half, 9) < precedence(a_finding("value"), 0) < precedence(second, 0)


def test_of_equally_serious_findings_the_one_met_first_precedes() -> None:
    some = a_finding("some")
    assert precedence(some, 3) < precedence(dataclasses.replace(some, seen=9), 4)
    assert precedence(some, 4) < precedence(dataclasses.replace(some, precision="float16"), 3)
    assert precedence(some, 4) < precedence(dataclasses.replace(some, target="torch:func"), 3)


@pytest.mark.parametrize("crash", [True, False])
@pytest.mark.parametrize("low_first", [True, False])
def test_the_lowest_order_gives_the_numbers_and_a_crash_does_not(crash: bool, low_first: bool) -> None:
    """Whichever is met first."""
    low = a_finding("f" * 64, at=0.5)
    high = a_finding("f" * 64, at=0.25, kind=Class.SIGN_FLIP, **order(2))
    if crash:
        low, high = high, a_finding("f" * 64, at=2.0, kind=Class.ERROR)
    totals = Totals([("torch:eager", "2")], ["loops"])
    case = witness(POWER, 0.5, oracle("mutant:nx-1747")).case
    for index, finding in enumerate([low, high] if low_first else [high, low]):
        totals.settle(Raw(case, "loops", index), FindingProof(finding))
    (merged,) = totals.findings()
    assert (merged.kind, merged.modes, merged.smallest) == (low.kind, low.modes, low.smallest)
    assert merged.seen == 2
    assert merged.note == f"Also {high.kind.value} as {high.check} of torch:eager."
