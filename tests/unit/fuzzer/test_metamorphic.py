"""Metamorphic variants: their answers follow from the first one by the references too, and what contradicts
them is found without asking about the rest.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from gradfuzz.fuzzer.questions.weighted import by_references, mode_lists, weighted_question
from gradfuzz.fuzzer.results.finding import CheckResult, Verdict
from gradfuzz.fuzzer.sweep import batch
from gradfuzz.fuzzer.sweep.batch import WorkItem, run
from gradfuzz.fuzzer.verdict.evaluator import Evaluator
from gradfuzz.fuzzer.verdict.metamorphic import MetamorphicVariant, relations
from gradfuzz.fuzzer.verdict.metamorphic_checks import variant_cases
from gradfuzz.fuzzer.verdict.truth import Truths
from gradfuzz.oracles.base import Answer, Mode, Point, Question, Truth
from gradfuzz.oracles.engine.oracle import EngineOracle
from gradfuzz.programs import parse
from gradfuzz.programs.language.typecheck import typecheck

PROGRAMS = {
    "inv": 'def f(a: "float[2, 2, 2]"):\n    return inv(a)\n',
    "inv of a transpose": 'def f(a: "float[2, 2, 2]"):\n    return inv(permute_dims(a, axes=(0, 2, 1)))\n',
    "shared": 'def f(a: "float[3, 2, 2]", b: "float[2, 3]"):\n    return matmul(a, b)\n',
    "det": 'def f(a: "float[2, 2]"):\n    return det(a)\n',
    "triangular": 'def f(a: "float[2, 2]", b: "float[2, 1]"):\n    return triangular_solve(a, b)\n',
    "sum": 'def f(x: "float[3]"):\n    return sum(sin(x))\n',
    "cumulative": 'def f(x: "float[3]"):\n    return cumulative_sum(x, axis=0)\n',
    "scalar": "def f(x, y):\n    return sin(x) * y\n",
    "loop": (
        'def f(a: "float[2, 2, 2]"):\n    y = a\n    for i in range(2):\n        y = matmul(y, a)\n   '
        " return y\n"
    ),
}
THERE_ARE = {
    "inv": {"permuted", "stacked", "transposed"},
    "inv of a transpose": {"permuted", "stacked", "transposed"},
    "shared": {"permuted", "stacked"},
    "det": {"transposed"},
    "triangular": {"unread"},
    "sum": {"permuted"},
    "cumulative": set(),
    "scalar": set(),
    "loop": {"permuted", "stacked", "transposed"},
}
"""Besides other modes and scaled, which there always are."""


def question_about(name: str, modes: Sequence[Mode] = ("rev",), points: int = 2) -> Question:
    program = parse(PROGRAMS[name])
    rng = np.random.default_rng(len(name))
    drawn = [
        Point(
            {
                p.name: (
                    rng.integers(-8, 9, p.type.sizes) / 8 + np.eye(*p.type.sizes[-2:]) * 2
                    if p.type.rank > 1
                    else rng.uniform(0.5, 1.5, p.type.sizes)
                )
                for p in program.params
            }
        )
        for _ in range(points)
    ]
    return weighted_question(program, drawn, "float64", tuple(modes))


def variants_of(question: Question, *, together: bool = False) -> dict[str, list[MetamorphicVariant]]:
    return {
        name: found
        for name, relation in relations(together=together).items()
        if (found := list(relation(question)))
    }


def as_answer(truth: Truth) -> Answer:
    assert truth.status == "ok", truth.message
    return Answer("ok", truth.values, truth.gradient)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("modes", [("rev",), ("fwd", "rev")])
def test_the_answer_follows_from_the_variants(name: str, modes: tuple[Mode, ...]) -> None:
    """What the references say of the variants, put together, is what they say of the first question."""
    truths, question = Truths(), question_about(name, modes)
    found = variants_of(question, together=True)
    assert found.keys() == THERE_ARE[name] | {"other modes", "scaled", "reordered"}
    for variant in (t for ts in found.values() for t in ts):
        assert all(typecheck(q.program) for q in variant.questions)
        others = [truths.quick(q) for q in variant.questions]
        for k, reference_value in enumerate(truths.quick(question)):
            place = k if variant.order is None else variant.order[k]
            mapped = variant.back([as_answer(reference_values[place].truth) for reference_values in others])
            for got, y in zip(mapped.values, reference_value.truth.values, strict=True):
                assert np.allclose(got, y, rtol=1e-13, atol=0), variant.relation
            for x, g in reference_value.truth.gradient.items():
                assert np.allclose(mapped.gradient[x], g, rtol=1e-12, atol=1e-14), variant.relation


def test_variants_differ_from_what_they_are_variants_of() -> None:
    """Other points, other weights or other modes: nothing is asked twice."""
    for name in PROGRAMS:
        question = question_about(name)
        for variant in (t for ts in variants_of(question).values() for t in ts):
            for q in variant.questions:
                points = [
                    (a.inputs[x], b.inputs[x])
                    for a, b in zip(q.points, question.points, strict=True)
                    for x in a.inputs
                ]
                weights = zip(q.weights, question.weights, strict=True)
                same = all(np.array_equal(x, y) for x, y in points) and all(
                    np.array_equal(v, w) for v, w in weights
                )  # type: ignore[arg-type]
                assert not same or q.modes != question.modes, variant.relation


class Bent(EngineOracle):
    """The engine, but for one entry of the gradient where a condition holds."""

    def __init__(self, bent: object) -> None:
        super().__init__()
        self.name = "engine"
        self._bent = bent

    def answer(self, question: Question) -> list[Answer]:
        answers = super().answer(question)
        return [self._changed(question, p, a) for p, a in zip(question.points, answers, strict=True)]

    def _changed(self, question: Question, point: Point, answer: Answer) -> Answer:
        assert callable(self._bent)
        if not self._bent(question, point):
            return answer
        name, *_ = question.wrt
        wrong = answer.gradient[name].copy()
        wrong.flat[0] += 1.0
        return Answer("ok", answer.values, {**answer.gradient, name: wrong})


BENT = {
    "other modes": ("inv", lambda q, p: q.modes == ("fwd",)),
    "scaled": ("scalar", lambda q, p: q.weights[0] < -1.0 or q.weights[0] > 1.0),
    "permuted": ("inv", lambda q, p: p.inputs["a"][0, 0, 0] > p.inputs["a"][-1, 0, 0]),
    "stacked": ("inv", lambda q, p: p.inputs["a"].ndim == 3),
    "transposed": ("det", lambda q, p: p.inputs["a"][0, 1] > p.inputs["a"][1, 0]),
    "unread": (
        "triangular",
        lambda q, p: p.inputs["a"][0, 1] != p.inputs["a"][1, 0] and p.inputs["a"][0, 1] < 0,
    ),
}


@pytest.mark.parametrize("relation", BENT)
def test_what_contradicts_its_variant_is_judged(relation: str) -> None:
    name, bent = BENT[relation]
    oracle, evaluator = Bent(bent), Evaluator()
    found: list[CheckResult] = []
    for seed_points in range(2, 6):
        question = question_about(name, points=seed_points)
        answers = oracle.answer(question)
        cases = [
            CheckResult("engine", question, p, None, a, Verdict.AGREE)
            for p, a in zip(question.points, answers, strict=True)
        ]
        skipped = frozenset(relations()) - {relation}
        found += variant_cases(evaluator, oracle, question, answers, cases, 0, skipped)
    assert Verdict.DISAGREE in {case.verdict for case in found}
    right = EngineOracle()
    answers = right.answer(question)
    cases = [
        CheckResult("engine", question, p, None, a, Verdict.AGREE)
        for p, a in zip(question.points, answers, strict=True)
    ]
    verdicts = {
        case.verdict for case in variant_cases(evaluator, right, question, answers, cases, 0, skipped)
    }
    assert verdicts == {Verdict.AGREE}


def test_no_reference_is_asked_while_all_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Truths, question: Question) -> list[object]:
        raise AssertionError(f"a reference was asked about {question.program}")

    monkeypatch.setattr(Truths, "quick", refuse)
    batch.evaluator.cache_clear()
    for family in ("linalg", "loops"):
        done = run(WorkItem(3, 0, 6, family, 5, ("engine",), orders=(1, 2), checks=("twins",)))
        counts = done.counts["engine"]
        assert counts.verdicts[Verdict.AGREE] > 0.8 * counts.checks > 0
        assert not done.raws
    batch.evaluator.cache_clear()


@pytest.mark.parametrize("name", ["qr-batch", "inv-batch", "solve-batch"])
def test_a_planted_bug_is_met_by_variants_alone(name: str) -> None:
    for number in range(1, 8):
        done = run(WorkItem(number, 0, 40, "linalg", 1, (f"mutant:{name}",), orders=(1,), checks=("twins",)))
        if any(raw.case.verdict is Verdict.DISAGREE for raw in done.raws):
            return
    pytest.fail("280 programs do not show it")


def test_which_checks_ask_the_references() -> None:
    rev, fwd = (question_about("det", modes) for modes in (("rev",), ("fwd",)))
    assert mode_lists(0, (1,), ("twins",)) == [("rev",), ("fwd",)]
    assert mode_lists(0, (1,), ("value", "twins")) == [(), ("rev",), ("fwd",)]
    assert mode_lists(0, (1,), ("vjp", "twins")) == [("rev",)]
    assert not by_references(rev, ("value", "twins"))
    assert by_references(rev, ("vjp", "twins"))
    assert not by_references(fwd, ("vjp", "twins"))
