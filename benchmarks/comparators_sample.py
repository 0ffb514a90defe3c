"""The sample of `comparators`: gradients that are right and wrong, and who accuses which."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from benchmarks.foreign_checks import CHECKS, Array, Subject
from gradfuzz.engine import compile
from gradfuzz.errors import GradfuzzError
from gradfuzz.fuzzer.questions.weighted import questions
from gradfuzz.fuzzer.results.finding import Verdict
from gradfuzz.fuzzer.verdict.evaluator import Evaluator
from gradfuzz.oracles.base import Answer, Oracle, Question, Truth
from gradfuzz.oracles.engine.oracle import EngineOracle
from gradfuzz.oracles.mutants.registry import MUTANTS, Mutant
from gradfuzz.oracles.registry import resolve
from gradfuzz.programs.evaluation.interpret import TRIP_LIMIT
from gradfuzz.programs.graphs.lower import lower
from gradfuzz.programs.language.precision import Precision
from gradfuzz.strategies import GeneratedCase, cases, draw_many, linalg_cases

SCALES = (1.0, 1e-2, 1e-4, 1e-8)
DTYPES: tuple[Precision, ...] = ("float64", "float32")
FAMILIES = ("loops", "linalg")
JUDGE = "gradfuzz"

ORDINARY = (1e-2, 1e2)
"""The sizes of all inputs that are not 0: steps of finite differences are made for these."""

WRONG = 1e-2
"""The least error of a wrong gradient, in units of the largest entry."""

BANDS = (0.1, 1.0)
"""Where the errors of wrong gradients are parted, in the same units."""


# Right and wrong --------------------------------------------------------------------------------------------


def is_right(gradient: dict[str, Array], truth: Truth, precision: str) -> bool:
    """Whether every entry has half of the digits of `precision`; one that is 0 has to be 0."""
    share = float(np.sqrt(np.finfo(precision).eps / 2))
    with np.errstate(all="ignore"):
        pairs = [(np.asarray(g, np.float64), truth.gradient[name]) for name, g in gradient.items()]
        return all(bool(np.all(np.abs(g - true) <= share * np.abs(true))) for g, true in pairs)


def size(truth: Truth) -> float:
    """The largest entry of the true gradient."""
    return max(float(np.max(np.abs(true), initial=0.0)) for true in truth.gradient.values())


def wrongness(gradient: dict[str, Array], truth: Truth) -> float:
    """The largest error of an entry in units of the largest entry; infinite where one is not finite.

    0 where the true gradient vanishes, and for a gradient of the wrong shape, which every library refuses by
    itself.
    """
    largest = size(truth)
    if largest == 0.0 or any(np.shape(g) != truth.gradient[name].shape for name, g in gradient.items()):
        return 0.0
    with np.errstate(all="ignore"):
        errors = [np.abs(np.asarray(g, np.float64) - truth.gradient[name]) for name, g in gradient.items()]
    if not all(np.isfinite(e).all() for e in errors):
        return float("inf")
    return max(float(np.max(e, initial=0.0)) for e in errors) / largest


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A question at one point, who answers it rightly, and a planted bug that is wrong there, by how much."""

    question: Question
    right: Oracle
    mutant: Mutant
    error: float
    size: float
    """The largest entry of the true gradient."""


# The sample -------------------------------------------------------------------------------------------------


def drawn_cases(family: str, precision: Precision, count: int, seed: int) -> list[GeneratedCase]:
    """Cases of one point each, without huge and tiny numbers."""
    strategy = (
        cases(precisions=(precision,), max_points=1, extremes=False)
        if family == "loops"
        else linalg_cases(precisions=(precision,), points=1, empty=False)
    )
    return draw_many(strategy, count, f"{seed}/comparators/{family}/{precision}")


def is_ordinary(question: Question) -> bool:
    sizes = [
        np.abs(np.asarray(v, np.float64))
        for p in question.points
        for v in p.inputs.values()
        if v.dtype.kind == "f"
    ]
    low, high = ORDINARY
    return all(bool(np.all((s == 0.0) | ((s >= low) & (s <= high)))) for s in sizes)


def candidates(
    family: str, precision: Precision, wanted: int, seed: int, dropped: Counter[str]
) -> Iterator[Candidate]:
    """The first `wanted` programs with an ordinary point at which both references stand behind the truth, the
    engine is right and a mutant is wrong.

    Each takes one mutant, at random of those that are wrong there. `dropped` counts the others by what they
    lack.
    """
    evaluator, engine, found = Evaluator(), EngineOracle(), 0
    (torch,) = resolve("torch:eager")
    for index, case in enumerate(drawn_cases(family, precision, 8 * wanted, seed)):
        if found == wanted:
            return
        asked = questions(case, index, seed, precisions=(precision,), orders=(1,), checks=("vjp",))
        if not asked or not is_ordinary(asked[0]):
            dropped["an ordinary point"] += 1
            continue
        question = asked[0]
        (value,) = evaluator.reference_values(question, confirm=True)
        truth = value.truth
        if truth.status != "ok" or len(value.references) < 2:
            dropped["a truth that both references confirm"] += 1
            continue
        (answer,) = engine.answer(question)
        if answer.status != "ok" or not is_right(dict(answer.gradient), truth, precision):
            dropped["half of the digits in every entry"] += 1
            continue
        order = np.random.default_rng([seed, index]).permutation(len(MUTANTS))
        chosen = next(filter(None, (_wrong(question, MUTANTS[k], truth) for k in order)), None)
        if chosen is None:
            dropped["a planted bug that shows"] += 1
            continue
        found += 1
        mutant, error = chosen
        (own,) = torch.answer(question) if found % 2 and torch.supports(question) is None else (answer,)
        told = own is not answer and own.status == "ok"
        by_torch = told and is_right(dict(own.gradient), truth, precision)
        yield Candidate(question, torch if by_torch else engine, mutant, error, size(truth))


def _wrong(question: Question, mutant: Mutant, truth: Truth) -> tuple[Mutant, float] | None:
    """The mutant and its error where it is plainly wrong."""
    if mutant.batched is not None:
        return None
    (answer,) = mutant.oracle().answer(_in_mode(question, mutant))
    error = wrongness(dict(answer.gradient), truth) if answer.status == "ok" else 0.0
    return (mutant, error) if error >= WRONG else None


def _in_mode(question: Question, mutant: Mutant) -> Question:
    """A bug of forward mode shows in the gradient that forward mode builds, direction by direction."""
    return question if "rev" in mutant.modes else replace(question, modes=("fwd",))


def scaled(question: Question, scale: float) -> Question:
    """The same question with the weights of its outputs, and so its value, times `scale`."""
    weights = [
        None if w is None else (w * scale).astype(question.precision).astype(np.float64)
        for w in question.weights
    ]
    return replace(question, weights=tuple(weights))


# What the comparators are shown -----------------------------------------------------------------------------


def subject(question: Question, oracle: Oracle) -> Subject:
    """The sum of all outputs times their weights, as NumPy computes it, with the gradient that `oracle`
    claims for it.
    """
    (point,) = question.points
    names = [p.name for p in question.program.params]
    functions: dict[str, Any] = {}

    def value(*xs: Array) -> Any:
        dtype = xs[0].dtype.name
        if dtype not in functions:
            functions[dtype] = compile(lower(question.program), precision=dtype, trip_limit=TRIP_LIMIT)
        inputs = dict(point.inputs) | dict(zip(question.wrt, xs, strict=True))
        number = xs[0].dtype.type
        try:
            outputs = functions[dtype](*(inputs[name] for name in names))
        except GradfuzzError:
            return number(np.nan)
        with np.errstate(all="ignore"):
            parts = [
                np.sum(np.asarray(w, dtype) * np.asarray(y, dtype))
                for w, y in zip(question.weights, outputs, strict=True)
                if w is not None
            ]
            return number(sum(parts))

    def gradient(seed: float, *xs: Array) -> tuple[Array, ...]:
        here = replace(point, inputs=dict(point.inputs) | dict(zip(question.wrt, xs, strict=True)))
        weights = tuple(None if w is None else w * seed for w in question.weights)
        asked = replace(question, points=(here,), precision=xs[0].dtype.name, weights=weights)
        (answer,) = oracle.answer(asked)
        if answer.status != "ok":
            return tuple(np.full_like(x, np.nan) for x in xs)
        return tuple(np.asarray(answer.gradient[name]) for name in question.wrt)

    return Subject(tuple(np.array(point.inputs[name]) for name in question.wrt), value, gradient)


# Counting ---------------------------------------------------------------------------------------------------


@dataclass
class Tally:
    """What a comparator said to the right and to the wrong gradients."""

    right: int = 0
    alarms: int = 0
    wrong: int = 0
    passed: int = 0
    """Wrong ones that it lets pass, or does not judge."""
    unjudged: Counter[str] = field(default_factory=Counter)
    """How many of the "right" and of the "wrong" ones it says nothing of."""
    bands: Counter[tuple[int, bool]] = field(default_factory=Counter)
    """Wrong ones by the band of their error, and whether they pass."""

    def add_right(self, verdict: bool | None) -> None:
        """True: it passes, False: an alarm, None: not judged."""
        self.right += 1
        self.alarms += verdict is False
        self.unjudged["right"] += verdict is None

    def add_wrong(self, verdict: bool | None, error: float) -> None:
        self.wrong += 1
        self.passed += verdict is not False
        self.unjudged["wrong"] += verdict is None
        self.bands[sum(error >= b for b in BANDS), verdict is not False] += 1


Key = tuple[str, str, str, float]
"""Comparator, dtype, family, scale."""


def judged(evaluator: Evaluator, question: Question, oracle: Oracle) -> bool | None:
    """gradfuzz's own verdict on the oracle's gradient."""
    answers: list[Answer] = oracle.answer(question)
    (case,) = evaluator.cases(oracle.name, question, answers)
    if case.verdict in (Verdict.AGREE, Verdict.CONVENTION):
        return True
    return False if case.verdict.is_wrong else None


def compare(candidate: Candidate, family: str, tallies: dict[Key, Tally], evaluator: Evaluator) -> None:
    """Show both gradients to every comparator, at all scales."""
    bug = candidate.mutant.oracle()
    for scale in SCALES:
        question = scaled(candidate.question, scale)
        wrong_question = _in_mode(question, candidate.mutant)
        right, wrong = subject(question, candidate.right), subject(wrong_question, bug)

        def tally(name: str, question: Question = question, scale: float = scale) -> Tally:
            return tallies.setdefault((name, question.precision, family, scale), Tally())

        tally(JUDGE).add_right(judged(evaluator, question, candidate.right))
        tally(JUDGE).add_wrong(judged(evaluator, wrong_question, bug), candidate.error)
        for name, (check, dtypes) in CHECKS.items():
            if question.precision in dtypes:
                tally(name).add_right(check(right))
                tally(name).add_wrong(check(wrong), candidate.error)


@dataclass
class Sample:
    """What was compared: points by dtype and family, mutants, the sizes of the gradients, and what the other
    drawn programs lack.
    """

    points: Counter[tuple[str, str]] = field(default_factory=Counter)
    mutants: Counter[str] = field(default_factory=Counter)
    by_torch: int = 0
    sizes: list[float] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)

    def add(self, candidate: Candidate, family: str) -> None:
        self.points[candidate.question.precision, family] += 1
        self.mutants[f"{candidate.mutant.id} {candidate.mutant.alias}"] += 1
        self.by_torch += candidate.right.name.startswith("torch")
        self.sizes.append(candidate.size)

    def join(self, other: Sample) -> None:
        self.points.update(other.points)
        self.mutants.update(other.mutants)
        self.by_torch += other.by_torch
        self.sizes += other.sizes
        self.dropped.update(other.dropped)


def compared(family: str, precision: Precision, points: int, seed: int) -> tuple[dict[Key, Tally], Sample]:
    """The part of one family and dtype."""
    tallies: dict[Key, Tally] = {}
    sample, evaluator = Sample(), Evaluator()
    for candidate in candidates(family, precision, points, seed, sample.dropped):
        sample.add(candidate, family)
        compare(candidate, family, tallies, evaluator)
    return tallies, sample
