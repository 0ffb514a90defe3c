"""The evidence beside a finding: the figures are those of the seed report on loops (Nx #1747), or closed
forms; nothing is gradfuzz's own word.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from gradfuzz.fuzzer.findings.bodies import bodies
from gradfuzz.fuzzer.findings.curve import curve, values
from gradfuzz.fuzzer.findings.gather import gather
from gradfuzz.fuzzer.findings.prove import FindingProof, prove
from gradfuzz.fuzzer.findings.representative import finding_point
from gradfuzz.fuzzer.findings.signature import precedence, skeleton
from gradfuzz.fuzzer.findings.survey import asked, survey
from gradfuzz.fuzzer.findings.triggers import KnownTrigger
from gradfuzz.fuzzer.questions.candidate import Candidate
from gradfuzz.fuzzer.questions.loop_forms import loop_forms
from gradfuzz.fuzzer.results.evidence import Aspect, Curve, Evidence, Variant
from gradfuzz.fuzzer.results.finding import CheckResult, Class, Finding, Verdict
from gradfuzz.fuzzer.results.raw import Raw
from gradfuzz.fuzzer.results.report_card import Label
from gradfuzz.fuzzer.results.trigger import Trigger
from gradfuzz.fuzzer.sweep.shrink_queues import ShrinkQueues
from gradfuzz.fuzzer.verdict.shared import oracle
from gradfuzz.oracles.base import Answer, Mode, Oracle, Question
from gradfuzz.oracles.engine.oracle import EngineOracle
from gradfuzz.programs.language.precision import Precision
from gradfuzz.programs.language.program import Program
from gradfuzz.programs.text.loop_body import loop_program
from gradfuzz.programs.text.parse import parse
from gradfuzz.reports.machine.json import dumps, sweep_document
from tests.report_data import finding, finished

NX = "mutant:nx-1747"
"""For acc * x and n trips it returns the sum of x^(2k), k < n, where n x^(n-1) is right."""

U = 2.0**-53


def candidate(
    program: Program, *, modes: tuple[Mode, ...] = ("rev",), precision: Precision = "float64", **inputs: Any
) -> Candidate:
    arrays = {name: np.asarray(value, precision) for name, value in inputs.items()}
    ones = {name: np.ones(a.shape) for name, a in arrays.items()}
    return Candidate(program, arrays, precision, tuple(arrays), modes, (np.ones(()),), ones)


def gathered(of: Candidate, target: Oracle, ways: Sequence[Oracle] = ()) -> tuple[CheckResult, Evidence]:
    case = asked(of, target, confirm=True)
    found = survey(of, case, target, ways)
    return case, gather(of, case, found, finding_point(case).entry, target)


def evidence(of: Candidate, target: str) -> Evidence:
    return gathered(of, oracle(target))[1]


def bodies_of(of: Candidate, target: str, aspect: Aspect) -> dict[str, Variant]:
    return named(bodies(of, oracle(target)), aspect)


def curve_of(of: Candidate, target: Oracle) -> Curve:
    found = curve(of, (of.wrt[0], ()), target)
    assert found is not None
    return found


def named(variants: Sequence[Variant], aspect: Aspect) -> dict[str, Variant]:
    return {v.name if not v.at else f"{v.name} at {v.at}": v for v in variants if v.aspect is aspect}


class Engine(Oracle):
    """The engine under another name; what it says at a point, `change` may alter."""

    name, version = "changed engine", "1"

    def __init__(self, change: Any = None) -> None:
        self._change = change or (lambda _inputs, answer: answer)

    def supports(self, question: Question) -> str | None:
        return None

    def answer(self, question: Question) -> list[Answer]:
        given = EngineOracle().answer(question)
        return [
            self._change(point.inputs, answer) for point, answer in zip(question.points, given, strict=True)
        ]


# Curve ------------------------------------------------------------------------------------------------------


def test_the_curve_of_the_seed_report() -> None:
    n = 3
    found = curve_of(candidate(loop_program("acc*x", trips=n), x=0.5), oracle(NX))
    assert (found.varied, found.entry) == (("x", ()), ("x", ()))
    assert [s.x for s in found.samples] == sorted(s.x for s in found.samples)
    for s in found.samples:
        right, wrong = n * s.x ** (n - 1), math.fsum(s.x ** (2 * k) for k in range(n))
        assert abs(s.expected - right) <= s.bound + 4 * U * abs(right)
        assert s.got == pytest.approx(wrong, rel=16 * U)
        assert s.label is (Label.COINCIDENCE if right == wrong else Label.DIFFERS)
        assert s.allowed < 1e-14 * max(1.0, abs(right))
    assert [s.x for s in found.samples if s.label is Label.COINCIDENCE] == [-1.0, 1.0]  # 3 = 1 + 1 + 1
    near_zero = {s.x: s.got / s.expected for s in found.samples if s.x in (0.001, 0.01, 0.1)}
    assert near_zero == pytest.approx({0.001: 333_334, 0.01: 3_334, 0.1: 33.67}, rel=1e-4)


def test_forty_values_of_both_signs() -> None:
    own = -0.6180339887498949
    xs = values(own)
    assert 38 <= len(xs) <= 42
    assert xs == sorted(set(xs))
    assert own in xs
    assert {-x for x in xs if x != own} == {x for x in xs if x != own}
    assert {0.001, 0.01, 0.1, 0.5, 1.0, 2.0, 10.0, 100.0, 0.0} <= set(xs)


def test_where_a_wrong_region_ends_is_no_coincidence() -> None:
    def beyond_one(inputs: Any, answer: Answer) -> Answer:
        wrong = {"x": answer.gradient["x"] + (inputs["x"] > 1.0)}
        return dataclasses.replace(answer, gradient=wrong)

    found = curve_of(candidate(parse("def f(x):\n    return sin(x)\n"), x=2.0), Engine(beyond_one))
    assert {s.label for s in found.samples if s.x <= 1.0} == {Label.AGREES}
    assert {s.label for s in found.samples if s.x > 1.0} == {Label.DIFFERS}


def test_a_derivative_of_zero_tests_nothing() -> None:
    found = curve_of(candidate(parse("def f(x):\n    return x * 0.0 + 1.0\n"), x=2.0), oracle("engine"))
    assert {s.label for s in found.samples} == {Label.VACUOUS}
    found = curve_of(candidate(parse("def f(x):\n    return x * x\n"), x=2.0), oracle("engine"))
    assert {s.label for s in found.samples} == {Label.AGREES}  # at 0 it is zero, and next to it not


def test_what_cannot_be_judged_or_never_ends_is_inconclusive_and_not_asked() -> None:
    at: list[float] = []

    def heard(inputs: Any, answer: Answer) -> Answer:
        at.append(float(inputs["x"]))
        return answer

    of = candidate(
        parse("def f(x):\n    acc = log(x)\n    while acc < 3.0:\n        acc = acc + x\n    return acc\n"),
        x=0.5,
    )
    found = curve_of(of, Engine(heard))
    unasked = {s.x: s for s in found.samples if s.x not in at}
    assert {-2.0, 0.0, 0.001} <= set(unasked)  # no logarithm, twice; 10,000 trips
    assert {s.label for s in unasked.values()} == {Label.INCONCLUSIVE}
    assert all(math.isnan(s.got) and math.isnan(s.expected) for s in unasked.values())
    assert {2.0, 10.0} <= set(at)


def test_an_exception_of_the_target_is_a_crash() -> None:
    def negative(inputs: Any, answer: Answer) -> Answer:
        return Answer("error", message="ValueError: negative") if inputs["x"] < 0 else answer

    found = curve_of(candidate(parse("def f(x):\n    return x * x\n"), x=-0.5), Engine(negative))
    assert {s.label for s in found.samples if s.x < 0} == {Label.CRASHED}
    assert all(s.expected == 2 * s.x and math.isnan(s.got) for s in found.samples if s.x < 0)


# Variants ---------------------------------------------------------------------------------------------------


def test_the_table_of_bodies_of_the_seed_report() -> None:
    """Expected and got at x = 0.5, n = 3; what is not in the table follows from x + x + x, and the like."""
    table = {
        "acc + x": (3.0, 3.0, Label.AGREES),
        "acc * 2": (0.0, 0.0, Label.VACUOUS),
        "sin(acc)": (0.0, 0.0, Label.VACUOUS),
        "acc * acc": (0.0, 0.0, Label.VACUOUS),
        "acc + x^2": (3.0, 3.0, Label.AGREES),
        "acc * x": (0.75, 1.3125, Label.DIFFERS),
        "acc / x": (-48.0, -84.0, Label.DIFFERS),
        "acc + acc*x": (6.75, 8.3125, Label.DIFFERS),
    }
    found = bodies_of(candidate(loop_program("acc*x", trips=3), x=0.5), NX, Aspect.BODY)
    assert {name.partition(" at ")[2] for name in found} == {"x = 0.5, 3 trips"}
    for body, (expected, got, label) in table.items():
        row = found[f"{body} at x = 0.5, 3 trips"]
        assert (row.expected, row.got) == pytest.approx((expected, got), rel=8 * U)
        assert row.label is label
        assert row.ratio == (pytest.approx(got / expected) if expected else None)


def test_the_row_of_the_seed_report_that_has_two_trips() -> None:
    found = bodies_of(candidate(loop_program("acc*x", trips=2), x=0.5), NX, Aspect.BODY)
    row = found["sin(acc * x) at x = 0.5, 2 trips"]
    assert (row.expected, row.got) == pytest.approx((0.8920, 1.0819), abs=5e-5)


@pytest.mark.parametrize("form", ["for", "while", "repeat"])
@pytest.mark.parametrize("n", [2, 4])
def test_sign_flips(form: Any, n: int) -> None:
    """A sum of even powers is positive, times the slope -1 of -x negative; the true slopes are n (x-2)^(n-1)
    and -n (-x)^(n-1).
    """
    found = bodies_of(candidate(loop_program("acc*x", trips=n, loop=form), x=0.25), NX, Aspect.SIGN)
    for x in (0.5, 1.5):
        row = found[f"acc * (x-2) at x = {x:g}, {n} trips"]
        told = n * (x - 2) ** (n - 1), math.fsum((x - 2) ** (2 * k) for k in range(n))
        assert (row.expected, row.got) == pytest.approx(told, rel=16 * U)
        assert row.label is Label.DIFFERS
        assert row.ratio is not None
        assert row.ratio < 0
    for x in (0.3, 0.7):
        row = found[f"acc * (-x) at x = {x:g}, {n} trips"]
        told = -n * (-x) ** (n - 1), -math.fsum(x ** (2 * k) for k in range(n))
        assert (row.expected, row.got) == pytest.approx(told, rel=16 * U)


def test_bodies_are_asked_as_the_finding_was() -> None:
    of = candidate(loop_program("acc*x", trips=3), precision="float32", modes=("rev", "rev"), x=0.5)
    row = bodies_of(of, NX, Aspect.BODY)["acc * x at x = 0.5, 3 trips"]
    assert (row.expected, row.got) == pytest.approx(
        (3.0, 1.5), rel=1e-6
    )  # the seed report: 1.5 at x = 0.5, correct: 3.0


def test_a_body_that_always_leaves_has_no_body_first_form() -> None:
    text = "def f(x):\n acc = x\n for i in range(3):\n  acc = acc * x\n  break\n return acc\n"
    assert list(loop_forms(candidate(parse(text), x=0.5))) == ["for", "while"]


def test_modes_dtypes_loop_forms_and_orders_of_the_seed_report() -> None:
    found = evidence(candidate(loop_program("acc*x", trips=3), x=0.5), NX).variants
    modes, dtypes = named(found, Aspect.MODE), named(found, Aspect.DTYPE)
    assert {name: v.label for name, v in modes.items()} == {"vjp": Label.DIFFERS, "jvp": Label.AGREES}
    assert (modes["jvp"].expected, modes["jvp"].got, modes["jvp"].ratio) == (0.75, 0.75, 1.0)
    assert {name: (v.expected, v.got) for name, v in dtypes.items()} == dict.fromkeys(
        ("float64", "float32"), (0.75, 1.3125)
    )
    forms = named(found, Aspect.LOOP)
    assert {name: v.got for name, v in forms.items()} == dict.fromkeys(
        ("for loop", "while loop", "repeat loop"), 1.3125
    )
    orders = named(found, Aspect.ORDER)
    assert list(orders) == ["vjp", "reverse over reverse", "reverse over reverse over reverse"]
    assert (orders["reverse over reverse"].expected, orders["reverse over reverse"].got) == (3.0, 1.5)
    assert orders["reverse over reverse over reverse"].expected == 6.0
    assert not named(found, Aspect.WAY)  # a mutant has one way: nothing to compare
    assert not named(found, Aspect.BATCH)


def test_the_ways_into_a_library() -> None:
    case, found = gathered(candidate(loop_program("acc*x", trips=3), x=0.5), oracle(NX), [oracle("engine")])
    assert case.verdict is Verdict.DISAGREE
    ways = named(found.variants, Aspect.WAY)
    assert {name: (v.got, v.label) for name, v in ways.items()} == {
        NX: (1.3125, Label.DIFFERS),
        "engine": (0.75, Label.AGREES),
    }


def test_a_batch_of_points() -> None:
    """By y, which is shared, the sum of x y has the slope x at each point; summed over the batch where
    instances are mixed up.
    """
    one = np.ones(())
    at = {"x": np.asarray(0.5), "y": np.asarray(0.25)}
    other = {"x": np.asarray(2.0), "y": np.asarray(0.25)}
    of = Candidate(
        parse("def f(x, y):\n    return x * y\n"),
        at,
        "float64",
        ("y",),
        ("rev",),
        (one,),
        {"y": one},
        (other,),
    )
    found = evidence(of, "mutant:foreign-axis")
    rows = named(found.variants, Aspect.BATCH)
    assert list(rows) == ["batch of 1", "batch of 2", "batch of 3"]
    assert (rows["batch of 1"].expected, rows["batch of 1"].got, rows["batch of 1"].label) == (
        0.5,
        0.5,
        Label.AGREES,
    )
    assert (rows["batch of 2"].expected, rows["batch of 2"].got, rows["batch of 2"].label) == (
        0.5,
        2.5,
        Label.DIFFERS,
    )
    assert rows["batch of 3"].label is Label.DIFFERS
    assert found.curve is not None
    assert {(s.expected, s.got) for s in found.curve.samples} == {
        (0.5, 2.5)
    }  # it varies y in the whole batch


def test_a_batch_of_matrices() -> None:
    """R of a 1 x 1 matrix is the modulus of its entry: of every instance the slope is its sign."""
    of = candidate(parse('def f(x: "float[2, 1, 1]"):\n    return qr(x)[1]\n'), x=[[[0.5]], [[-2.0]]])
    of = dataclasses.replace(of, weights=(np.ones((2, 1, 1)),))
    rows = named(evidence(of, "mutant:qr-batch").variants, Aspect.BATCH)
    assert list(rows) == ["no batch axis", "batch of 1", "batch of 2", "batch of 3"]
    assert {name: v.label for name, v in rows.items()} == {
        "no batch axis": Label.AGREES,
        "batch of 1": Label.AGREES,
        "batch of 2": Label.DIFFERS,
        "batch of 3": Label.DIFFERS,
    }
    assert all(abs(v.expected or 0.0) == 1.0 for v in rows.values())


# What cannot be asked, and what must not be swallowed -------------------------------------------------------


def test_a_target_that_raises_leaves_rows_that_crashed() -> None:
    def always(_inputs: Any, _answer: Answer) -> Answer:
        return Answer("error", message="RuntimeError: no")

    case, found = gathered(candidate(loop_program("acc*x", trips=3), x=0.5), Engine(always))
    assert case.kind is Class.ERROR
    assert found.curve is not None
    assert {s.label for s in found.curve.samples} == {Label.CRASHED}
    assert {v.label for v in found.variants} == {Label.CRASHED}


def test_a_mistake_of_our_own_is_not_swallowed() -> None:
    def broken(_inputs: Any, _answer: Answer) -> Answer:
        raise TypeError("a mistake")

    of = candidate(parse("def f(x):\n    return x * x\n"), x=0.5)
    case = asked(of, oracle("engine"), confirm=True)
    found = survey(of, case, oracle("engine"), [])
    with pytest.raises(TypeError, match="a mistake"):
        gather(of, case, found, ("x", ()), Engine(broken))


def test_a_wrong_value_is_shown_as_a_value() -> None:
    def doubled(_inputs: Any, answer: Answer) -> Answer:
        return dataclasses.replace(answer, values=tuple(2 * y for y in answer.values))

    case, found = gathered(candidate(loop_program("acc*x", trips=2), x=0.5), Engine(doubled))
    assert case.kind is Class.WRONG_PRIMAL
    assert found.curve is not None
    assert (found.curve.varied, found.curve.entry) == (("x", ()), ("output 0", ()))
    assert all(
        (s.expected, s.got) == pytest.approx((s.x**2, 2 * s.x**2), rel=8 * U) for s in found.curve.samples
    )
    assert {s.label for s in found.curve.samples if s.x} == {Label.DIFFERS}
    row = named(found.variants, Aspect.BODY)["acc * 2 at x = 0.5, 2 trips"]
    assert (row.expected, row.got, row.label) == (4.0, 8.0, Label.DIFFERS)


# In a sweep -------------------------------------------------------------------------------------------------


def met(modes: tuple[Mode, ...] = ("rev",), index: int = 3) -> Raw:
    of = candidate(loop_program("acc*x", trips=3), modes=modes, x=0.5)
    return Raw(asked(of, oracle(NX)), "loops", index)


def test_evidence_is_gathered_for_what_will_be_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gradfuzz.fuzzer.findings.prove.diagnose", lambda *_: None)
    first = prove(met()).finding
    assert first is not None
    assert first.evidence is not None
    leading = KnownTrigger(precedence(first, 3), Trigger.of(first.program), first.id)
    bones = skeleton(first.program)
    later = prove(met(index=4), {bones: leading}).finding
    assert later is not None
    assert later.evidence is None  # the first one gives the numbers
    earlier = prove(met(index=2), {bones: leading}).finding
    assert earlier is not None
    assert earlier.evidence is not None


def test_the_queues_know_what_leads() -> None:
    shrink_queues = ShrinkQueues()
    raw = met()
    shrink_queues.add(raw)
    ((queue, _),) = shrink_queues.ready()
    assert shrink_queues.known(queue) == {}
    some: Finding = dataclasses.replace(finding(0), program=raw.case.question.program)
    shrink_queues.settled(raw, FindingProof(some))
    (known,) = shrink_queues.known(queue).items()
    assert known == (
        skeleton(some.program),
        KnownTrigger(precedence(some, 3), Trigger.of(some.program), some.id),
    )
    shrink_queues.settled(dataclasses.replace(raw, index=1), FindingProof(some))
    shrink_queues.settled(dataclasses.replace(raw, index=2), FindingProof(some))
    (leading,) = shrink_queues.known(queue).values()
    assert leading.precedence == precedence(some, 1)


def test_the_json_document_has_it() -> None:
    proved = prove(met()).finding
    assert proved is not None
    made = dataclasses.replace(finished(), findings=(proved,))
    document = json.loads(dumps(sweep_document(made)))
    assert document["tested"] == {kind: dict(counts) for kind, counts in made.tested.items()}
    assert document["conventions"] == dict(made.conventions)
    assert document["environment"]["numpy"] == made.environment["numpy"]
    (found,) = document["findings"]
    assert found["ports"] == dict(proved.ports)
    shown = found["evidence"]
    assert shown["curve"]["varied"] == shown["curve"]["entry"] == {"input": "x", "index": []}
    (at_one,) = (s for s in shown["curve"]["samples"] if s["x"] == 1.0)
    assert at_one["label"] == "agrees by coincidence"
    assert {v["aspect"] for v in shown["variants"]} == {
        "mode",
        "dtype",
        "loop form",
        "order",
        "loop body",
        "sign",
    }
