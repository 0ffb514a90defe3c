"""What shrinking asks about a disagreement: is a smaller candidate still clearly wrong, in the same class?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from gradfuzz.fuzzer.questions.candidate import Candidate
from gradfuzz.fuzzer.questions.loop_forms import Loop, ends
from gradfuzz.fuzzer.results.finding import FINITE, CheckResult, Class, Verdict
from gradfuzz.fuzzer.results.raw import said
from gradfuzz.fuzzer.shrinking.shrink import Interest, operations, shrink
from gradfuzz.fuzzer.shrinking.standards import standards
from gradfuzz.fuzzer.verdict.metamorphic_checks import like_engine
from gradfuzz.fuzzer.verdict.rounding import sustained
from gradfuzz.fuzzer.verdict.shared import evaluator
from gradfuzz.oracles.base import Oracle
from gradfuzz.programs.language.program import Program, walk

_BUDGET, _SLOW_BUDGET = 800, 40
"""How many candidates shrinking may try: a slow oracle compiles each of them."""

_BATCH = 12
"""How many candidates are asked about at once, where an oracle has a cheaper way for many."""


_SMALL = 4
"""A program of one loop and at most this many operations needs no further shrinking."""


def same_kind(case: CheckResult, kind: Class, message: str) -> bool:
    """Whether a case is wrong in the same way. A crash must say the same. A wrong number shows more
    than one that has lost digits.
    """
    if kind is Class.ERROR:
        return case.verdict is Verdict.CRASHED and said(case.message) == said(message)
    if kind in (Class.PRECISION, Class.WRONG_RULE) and case.kind in FINITE:
        return case.verdict is Verdict.DISAGREE
    return case.verdict is Verdict.DISAGREE and case.kind is kind


def smallest_alike(first: Candidate, met: CheckResult, target: Oracle) -> Iterator[Candidate]:
    """The shrunk candidate, wrong in the class of `met`; where it is still large, a shrunk standard program
    that is wrong in that class.

    Larger candidates from the way there follow, farther and farther back, in case the truth at the smallest
    is not confirmed. The last is `first` itself.
    """
    trial = _Trial(target, met)
    yield _smallest(first, trial, target)
    back = 1
    while back <= len(trial.accepted):
        yield trial.accepted[-back]
        back *= 2
    yield first


def _smallest(first: Candidate, trial: _Trial, target: Oracle) -> Candidate:
    budget = _SLOW_BUDGET if target.traits.slow else _BUDGET
    ahead = target.traits.at_once
    batch = _BATCH if target.traits.supports_many and ahead == 1 else 1
    candidate = shrink(first, trial.interesting, budget=budget, batch=batch, ahead=ahead).candidate
    if _is_small(candidate.program):
        return candidate
    candidates = list(standards(candidate))
    held = zip(candidates, trial.interesting(candidates), strict=True)
    wrong = next((standard for standard, holds in held if holds is Interest.YES), None)
    if wrong is None:
        return candidate
    return shrink(wrong, trial.interesting, budget=budget // 4, batch=batch, ahead=ahead).candidate


def _is_small(program: Program) -> bool:
    loops = sum(isinstance(node, Loop) for node in walk(program))
    return loops <= 1 and operations(program) <= _SMALL


class _Trial:
    """Asks whether candidates still disagree clearly and in the same class."""

    def __init__(self, target: Oracle, met: CheckResult) -> None:
        assert met.kind is not None, "a disagreement has a class"
        self._target = target
        self._kind = met.kind
        self._message = met.message
        self.accepted: list[Candidate] = []
        """All interesting candidates, in the order in which they were tried."""

    def interesting(self, candidates: Sequence[Candidate]) -> list[Interest]:
        """Cheap tests first: the engine's tolerance, the target, a comparison with the engine, the truth. An
        error that may be rounding is not interesting, since it would not be confirmed.
        """
        result = [Interest.NO] * len(candidates)
        ready = []
        for k, candidate in enumerate(candidates):
            question = candidate.question()
            if self._target.supports(question) is None and self._fair(candidate):
                ready.append((k, candidate, question))
        answers = self._target.answer_all([question for *_, question in ready])
        for (k, candidate, _), given in zip(ready, answers, strict=True):
            question, answer = candidate.alone().question(), given[candidate.place]
            (tolerance,) = evaluator().tolerances(question)
            if self._target.name != "engine" and like_engine(answer, tolerance):
                continue
            (case,) = evaluator().cases(self._target.name, question, [answer])
            result[k] = self._interest(case)
            if result[k] is Interest.YES:
                about = candidate.question(), candidate.place, self._target, evaluator()
                result[k] = self._interest(sustained(case, *about))
        self.accepted += [s for s, holds in zip(candidates, result, strict=True) if holds is Interest.YES]
        return result

    def _interest(self, case: CheckResult) -> Interest:
        if same_kind(case, self._kind, self._message):
            return Interest.YES
        wrong = case.verdict is Verdict.DISAGREE and case.kind in FINITE and self._kind in FINITE
        return Interest.NEARLY if wrong else Interest.NO

    def _fair(self, candidate: Candidate) -> bool:
        alone = candidate.alone()
        points = [replace(alone, inputs=inputs) for inputs in (candidate.inputs, *candidate.others)]
        return all(ends(p) and evaluator().tolerances(p.question())[0].reason is None for p in points)
