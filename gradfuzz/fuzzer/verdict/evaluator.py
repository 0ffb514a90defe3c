"""The evaluator: judges answers by truth and tolerance, and caches both by question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gradfuzz.fuzzer.results.finding import CheckResult, Reason, Verdict
from gradfuzz.fuzzer.tolerance.allowed import TRIPS, Tolerance, tolerances, wide_tolerances
from gradfuzz.fuzzer.verdict.along import (
    MANY,
    Probe,
    entries_of,
    farthest,
    noise_of,
    probed,
    told,
    wide_along,
)
from gradfuzz.fuzzer.verdict.classify import CLEAR
from gradfuzz.fuzzer.verdict.judge import joined, judge, plainly_right
from gradfuzz.fuzzer.verdict.large import REFERENCES, Large, is_large, split
from gradfuzz.fuzzer.verdict.truth import ReferenceValue, Truths, question_key
from gradfuzz.oracles.base import ALONG, Answer, ProbedQuestion, Question
from gradfuzz.programs.language.recent import Latest


class Evaluator:
    """The references and their latest values. Loops beyond `trip_limit` iterations are not judged. An
    `accuracy` is granted beside rounding (`Tolerance.of_approximation`).
    """

    def __init__(
        self,
        truths: Truths | None = None,
        *,
        trip_limit: int = TRIPS,
        size: int = 512,
        accuracy: float = 0.0,
    ) -> None:
        self.truths = truths or Truths()
        self.accuracy = accuracy
        self._trip_limit = trip_limit
        self._tolerances: Latest[list[Tolerance]] = Latest(size)
        self._large: Latest[Large] = Latest(4)
        self._probes: Latest[Sequence[Probe]] = Latest(2)

    def tolerances(self, question: Question) -> list[Tolerance]:
        """One tolerance per point, cached across modes."""
        key = question_key(question, probes=False)

        def narrow() -> list[Tolerance]:
            return self._granted(question, tolerances(question, trip_limit=self._trip_limit))

        return self._tolerances.get(key, narrow)

    def probed(self, question: Question) -> ProbedQuestion:
        """A question of one point along directions, the same across modes."""
        key = question_key(question, probes=False)
        probes = self._probes.get(key, lambda: probed(question, *self.tolerances(question)).probes)
        return ProbedQuestion.of(question, probes)

    def _granted(self, question: Question, found: list[Tolerance]) -> list[Tolerance]:
        """The tolerances with the accuracy that is granted, along directions as well."""
        if not self.accuracy:
            return found
        wide = [tolerance.of_approximation(self.accuracy) for tolerance in found]
        for k, (one, other) in enumerate(zip(found, wide, strict=True)):
            if ALONG in one.noise:
                pairs = {n: (one.noise[n], other.noise[n]) for n in question.wrt}
                more = {n: np.where(np.isinf(wider), wider, wider - own) for n, (own, wider) in pairs.items()}
                sums = noise_of(question, replace(one, gradient={}, noise=more))[ALONG]
                wide[k] = replace(other, noise={**other.noise, ALONG: one.noise[ALONG] + sums})
        return wide

    def _wide_tolerance(self, question: Question, place: int, *, lines: bool = False) -> Tolerance:
        """The widest tolerance at one point, which takes many runs and is seldom needed at the others."""
        alone = replace(question, points=(question.points[place],))
        many = isinstance(question, ProbedQuestion) and (lines or entries_of(question) > MANY)

        def wide() -> list[Tolerance]:
            if many:
                return self._granted(alone, wide_along(alone, trip_limit=self._trip_limit))
            reverse = None if self.accuracy else [self.tolerances(question)[place]]
            is_short = entries_of(question) <= MANY  # forward mode makes a gradient entry by entry
            limit = self._trip_limit
            found = wide_tolerances(alone, trip_limit=limit, forward=is_short, reverse=reverse)
            return self._granted(alone, found)

        (found,) = self._tolerances.get((question.modes, *question_key(alone, probes=many)), wide)
        return found

    def is_partial(self, question: Question, place: int) -> bool:
        """Whether some form of the derivative loses an unknown amount at point `place` of the question."""
        return self._wide_tolerance(question, place).partial

    def is_extreme(self, question: Question, place: int) -> bool:
        """Whether some form of the derivative may leave the range of the dtype at point `place`."""
        return self._wide_tolerance(question, place).extreme

    def reference_values(self, question: Question, *, confirm: bool = False) -> list[ReferenceValue]:
        """One reference value per point; with `confirm` by both references."""
        if is_large(question):
            return [self._of_large(one, confirm=confirm) for one in split(question)]
        return self.truths.confirmed(question) if confirm else self.truths.quick(question)

    def _of_large(self, question: Question, *, confirm: bool) -> ReferenceValue:
        return ReferenceValue(self._large_of(question).truth(question, confirm=confirm), REFERENCES)

    def _large_of(self, question: Question) -> Large:
        """Without the accuracy that is granted: that is no doubt about the truth."""
        own = tolerances(question, trip_limit=self._trip_limit) if self.accuracy else None
        (tolerance,) = own or self.tolerances(question)
        key = question_key(question, probes=False)
        return self._large.get(key, lambda: Large(question.plain, tolerance))

    def decided_otherwise(self, oracle: str, question: Question, answer: Answer) -> CheckResult | None:
        """Agreement with the derivative for other decisions, of those that rounding leaves open at the only
        point of a question; None where there is none.
        """
        (own,) = self.tolerances(question)
        others = Large(question, own).others_taken(answer) if own.open else ()
        if not others:
            return None
        (tolerance,) = tolerances(question, trip_limit=self._trip_limit, others=others)
        if tolerance.reason is not None:
            return None
        asked = probed(question, tolerance)
        case = judge(oracle, asked, 0, answer, Large(question, tolerance).unconfirmed(asked), tolerance)
        if case.verdict is not Verdict.AGREE or farthest(case, tolerance, CLEAR) is not None:
            return None
        turned = f"with {len(others)} of them turned the answer is right"
        message = f"rounding may turn {len(own.open)} comparisons, and {turned}"
        return replace(told(case), references=REFERENCES, message=message)

    def judgeable(self, question: Question) -> list[int]:
        """The points at which answers can be judged: with a truth, or a kink with slopes on both sides."""
        truths = (reference_value.truth for reference_value in self.reference_values(question))
        judged = (truth.status == "ok" or (truth.kink and question.order == 1) for truth in truths)
        return [k for k, judgeable in enumerate(judged) if judgeable]

    def cases(
        self,
        oracle: str,
        question: Question,
        answers: Sequence[Answer],
        *,
        at: Sequence[int] | None = None,
        confirm: bool = False,
        thorough: bool = False,
        widen: bool = True,
        lines: bool = False,
    ) -> list[CheckResult]:
        """The verdicts on one oracle's answers to `question`, one per point, or only for points `at`.

        `confirm` asks both references, which must agree about what is called wrong. An answer that is right
        to the last bits is not measured further unless `thorough`; one that seems wrong is measured again
        with the widest tolerance, unless `widen` is False; one that is right to the last bits is right where
        nobody knows how far rounding goes. With `lines` the widest is that of `wide_along`,
        as where the entries are many.
        """
        reference_values = self.reference_values(question, confirm=confirm)
        found = []
        for k, answer in zip(range(len(question.points)) if at is None else at, answers, strict=True):
            truth = reference_values[k].truth
            case = None if thorough else plainly_right(oracle, question, k, answer, truth)
            if case is None:
                tolerance = self.tolerances(question)[k]
                case = judge(oracle, question, k, answer, truth, tolerance)
                near_miss = case.reason is Reason.NOISE and (case.error_over_allowed or 0.0) > 1.0
                if widen and (near_miss or case.verdict is Verdict.DISAGREE):
                    tolerance = self._wide_tolerance(question, k, lines=lines)
                    case = judge(oracle, question, k, answer, truth, tolerance)
                case = joined(case, truth, tolerance)
            if thorough and case.verdict is Verdict.INCONCLUSIVE:
                case = plainly_right(oracle, question, k, answer, truth) or case
            case = replace(case, references=(*reference_values[k].references, *case.references))
            if confirm and is_large(question):
                case = self._large_of(split(question)[k]).upheld(case)
            found.append(_supported(case) if confirm else case)
        return found


def _supported(case: CheckResult) -> CheckResult:
    """The case; inconclusive where only one reference supports a wrong number."""
    of_numbers = case.verdict is Verdict.DISAGREE and case.kind is not None and case.kind.of_numbers
    if not of_numbers or len(case.references) > 1:
        return case
    message = f"only {case.references[0]} knows the answer here, and both references must know it"
    return case.unsettled(Reason.REFERENCES, message)
