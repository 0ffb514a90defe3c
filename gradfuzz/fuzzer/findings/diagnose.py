"""Which planted bug a finding behaves like.

Every mutant is asked what the target was asked: the shrunk program at the finding's points and at further
ones, in the other modes and loop forms that were tried, and the program as it was drawn. A mutant that gives
the target's answers everywhere, also where the target is right, names the probable cause. That is a likeness,
not a proof: the target need not be written like the engine. An answer in another dtype than was asked for is
another bug: it speaks neither for a mutant nor against one, and beside it no cause is certain. So is a rule
that is wrong by less than rounding shows: every mutant that is right looks like it. A mutant is
not even possible if its op does not stand in the shrunk program, or if it answers otherwise about an op of
that program alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gradfuzz.fuzzer.findings.applied_rules import applied_rules, concerns
from gradfuzz.fuzzer.findings.survey import answered, asked
from gradfuzz.fuzzer.questions.candidate import Candidate
from gradfuzz.fuzzer.questions.loop_forms import Loop
from gradfuzz.fuzzer.results.finding import Cause, CheckResult, Class, Likelihood, Verdict
from gradfuzz.fuzzer.results.trigger import OF_PARTS
from gradfuzz.fuzzer.shrinking.standards import standards
from gradfuzz.fuzzer.tolerance.allowed import Tolerance
from gradfuzz.fuzzer.verdict.classify import CLEAR
from gradfuzz.fuzzer.verdict.shared import evaluator
from gradfuzz.oracles.base import Answer, Array, Oracle
from gradfuzz.oracles.mutants.mutant import Mutant
from gradfuzz.oracles.mutants.registry import MUTANTS
from gradfuzz.oracles.mutants.systematic import systematic
from gradfuzz.programs.language.program import walk

_TELLING = (Verdict.DISAGREE, Verdict.CRASHED, Verdict.AGREE)
"""Verdicts that tell something about the target. At a kink, legal answers differ."""

_ENOUGH = 3
"""This many wrong answers a mutant must reproduce before it is certain."""

_MOST_QUESTIONS = 6
"""At most this many questions are asked of a target to tell mutants apart."""

_APART = 1e-3
"""Errors that differ by a smaller share than this count as the same evidence."""


@dataclass(frozen=True, slots=True, eq=False)
class Witness:
    """What the target answered about a candidate, and the verdict. `drawn`: before it was shrunk; `alone`:
    about one of its ops on parameters alone.
    """

    candidate: Candidate
    case: CheckResult
    drawn: bool = False
    alone: bool = False


def diagnose(witnesses: Sequence[Witness], target: Oracle) -> Cause | None:
    """The mutant that gives the answers of `target`, or None. The first witness is the finding's smallest.

    Where several mutants fit, the target is asked about small programs with a loop on which they differ.
    """
    # No mutant is wrong like this: such an answer tells of another bug, whatever its numbers.
    other = [w for w in witnesses if w.case.kind in (Class.WRONG_DTYPE, Class.WRONG_RULE)]
    telling = [w for w in witnesses if w.case.verdict in _TELLING and w not in other]
    if not telling or not telling[0].case.verdict.is_wrong or witnesses[0] in other:
        return None
    telling.sort(key=lambda w: not w.case.verdict.is_wrong)  # wrong ones first: most mutants fail there
    shrunk = [w for w in telling if not (w.drawn or w.alone) and w.case.verdict.is_wrong][:_ENOUGH]
    needed = [*shrunk, *(w for w in telling if w.alone)]
    suspects = _suspects(witnesses[0].candidate, target.traits.batched)
    alike = [mutant for mutant in suspects if _says_the_same(mutant, needed)]
    everywhere = [m for m in alike if _says_the_same(m, [w for w in telling if w not in needed])]
    everywhere = _told_apart(everywhere, witnesses[0].candidate, target)
    if everywhere:
        only = len(everywhere) == 1 and not other and _conclusive(telling)
        return _cause(everywhere, Likelihood.CERTAIN if only else Likelihood.LIKELY)
    return _cause(alike, Likelihood.POSSIBLE) if alike else None


def _told_apart(mutants: list[Mutant], like: Candidate, target: Oracle) -> list[Mutant]:
    """The mutants that agree with the target on standard programs that tell them apart, asked like `like`."""
    if not any(isinstance(node, Loop) for node in walk(like.program)):
        return mutants
    questions = _MOST_QUESTIONS
    for candidate in standards(like):
        if len(mutants) < 2 or not questions:
            break
        (tolerance,) = evaluator().tolerances(candidate.alone().question())
        answers = [answered(candidate, mutant.oracle()) for mutant in mutants]
        if (
            tolerance.reason is not None
            or all(_same(answers[0], answer, tolerance) for answer in answers[1:])
            or target.supports(candidate.question()) is not None
        ):
            continue
        questions -= 1
        case = asked(candidate, target)
        if case.verdict in _TELLING:
            pairs = zip(mutants, answers, strict=True)
            mutants = [m for m, answer in pairs if _same(answer, case.answer, tolerance)]
    return mutants


def _cause(mutants: Sequence[Mutant], likelihood: Likelihood) -> Cause:
    first, *others = sorted(mutants, key=lambda m: bool(m.ops) and m.ops <= OF_PARTS)
    return Cause(first.alias, likelihood, first.summary, first.reported, tuple(m.alias for m in others))


def _conclusive(telling: Sequence[Witness]) -> bool:
    """Whether the evidence is enough: different errors, one of them on the program as it was drawn."""
    wrong = [w for w in telling if w.case.verdict.is_wrong]
    if not any(w.drawn for w in wrong):
        return False
    errors: list[float] = []
    for w in wrong:
        expected, got = w.case.expected, w.case.got
        if expected is None or got is None or not np.isfinite(got):
            continue
        error = got - expected
        if all(abs(error - other) > _APART * abs(other) for other in errors):
            errors.append(error)
    return len(errors) >= _ENOUGH


# Suspects ---------------------------------------------------------------------------------------------------


def _suspects(smallest: Candidate, together: bool) -> Iterator[Mutant]:
    """Mutants that can be wrong about a candidate: those after real reports, then one rule at a time."""
    question = smallest.alone().question()
    applied = applied_rules(question)
    own = {op for _, op, _ in applied_rules(replace(question, modes=question.modes[:1]))}
    for mutant in itertools.chain(MUTANTS, systematic({op for _, op, _ in applied})):
        in_it = not mutant.ops or not own.isdisjoint(mutant.ops) or mutant.order > 1
        if in_it and (together or mutant.batched is None) and concerns(mutant, applied):
            yield mutant


# Likeness ---------------------------------------------------------------------------------------------------


def _says_the_same(mutant: Mutant, witnesses: Sequence[Witness]) -> bool:
    oracle = mutant.oracle()
    return all(_agrees(answered(w.candidate, oracle), w) for w in witnesses)


def _agrees(said: Answer, witness: Witness) -> bool:
    """Whether a mutant's answer is the target's."""
    (tolerance,) = evaluator().tolerances(witness.candidate.alone().question())
    return tolerance.reason is None and _same(said, witness.case.answer, tolerance)


def _same(said: Answer, given: Answer, tolerance: Tolerance) -> bool:
    """Whether two answers are the same up to rounding."""
    if said.status != given.status or len(said.values) != len(given.values):
        return False
    if said.status != "ok":
        return said.message == given.message
    pairs = [
        *zip(given.values, said.values, tolerance.value_noise, strict=True),
        *((g, said.gradient[name], tolerance.noise[name]) for name, g in given.gradient.items()),
    ]
    return all(_near(np.asarray(a), np.asarray(b), noise, tolerance) for a, b, noise in pairs)


def _near(a: Array, b: Array, noise: Array, tolerance: Tolerance) -> bool:
    if a.shape != b.shape:
        return False
    a, b = a.astype(np.float64), b.astype(np.float64)
    finite = np.isfinite(a) & np.isfinite(b)
    size = np.where(finite, np.maximum(np.abs(a), np.abs(b)), 0.0)
    allowed = CLEAR / 2 * tolerance.allowed(size, noise, np.zeros(a.shape))
    with np.errstate(invalid="ignore"):
        near = np.where(finite, np.abs(a - b) <= allowed, (a == b) | (np.isnan(a) & np.isnan(b)))
    return bool(np.all(near))
