"""A derivative as a function of one entry of one input, everything else as at the smallest point."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from gradfuzz.fuzzer.questions.candidate import Candidate
from gradfuzz.fuzzer.questions.loop_forms import ends
from gradfuzz.fuzzer.results.evidence import Curve, Sample
from gradfuzz.fuzzer.results.finding import CheckResult
from gradfuzz.fuzzer.results.report_card import Label
from gradfuzz.fuzzer.tolerance.allowed import Tolerance
from gradfuzz.fuzzer.verdict.labels import Entry, answered_entry, entry_label, is_vacuous, true_entry
from gradfuzz.fuzzer.verdict.shared import evaluator
from gradfuzz.oracles.base import Answer, Oracle
from gradfuzz.programs.language.precision import is_float

_SIZES = (0.001, 0.0022, 0.0046, 0.01, 0.022, 0.046, 0.1, 0.22, 0.46, 1.0, 2.2, 4.6, 10.0, 22.0, 46.0, 100.0)
"""Three to a decade."""

_ROUND = (0.5, 1.5, 2.0)

_COSTLY_STEP, _COSTLY_TOGETHER_STEP = 3, 6
"""A slow target is asked at every third value, or at every sixth where each value is a call of its own."""

_MANY_DIRECTIONS = 64
"""With more entries than this, to the power of the order, the truth is slow too."""

_TELLING = (Label.AGREES, Label.DIFFERS, Label.CRASHED)


def is_costly(target: Oracle) -> bool:
    """Whether every answer is slow: it is compiled, or run op by op without being compiled."""
    return target.traits.slow or target.traits.secondary


def values(own: float) -> list[float]:
    """About forty values, ascending: zero, both signs of sizes from 1/1000 to 100, and `own`."""
    sizes = (*_SIZES, *_ROUND)
    return sorted({0.0, own, *sizes, *(-size for size in sizes)})


def curve(candidate: Candidate, entry: Entry, target: Oracle) -> Curve | None:
    """The derivative's `entry` along itself, or along the first input's first entry if it is no input's.

    None without such an entry. An unnamed entry is taken to be the input's. Points without a truth, or at
    which a loop runs long, are inconclusive, and the target is not asked there.
    """
    varied = _varied(candidate, entry)
    if varied is None:
        return None
    name, index = varied
    entry = entry if entry[0] else varied
    own = float(candidate.inputs[name][index])
    step = _step(candidate, target)
    dtype = candidate.inputs[name].dtype
    xs = sorted({float(dtype.type(x)) for x in (*values(own)[::step], own)})
    asked = _asked([_at(candidate, name, index, x) for x in xs], entry, target)
    labelled = zip(xs, asked, _with_neighbours(asked, entry), strict=True)
    samples = [Sample(x, *numbers, label) for x, (_, numbers, _), label in labelled]
    return Curve(varied, entry, tuple(samples))


def _step(candidate: Candidate, target: Oracle) -> int:
    if is_costly(target) and target.traits.batched:
        return _COSTLY_TOGETHER_STEP
    entries = sum(candidate.inputs[name].size for name in candidate.wrt)
    return _COSTLY_STEP if is_costly(target) or entries ** len(candidate.modes) > _MANY_DIRECTIONS else 1


def _varied(candidate: Candidate, entry: Entry) -> Entry | None:
    if entry[0] in candidate.wrt and len(entry[1]) == candidate.inputs[entry[0]].ndim:
        return entry
    inputs = candidate.inputs
    floats = (*candidate.wrt, *(p.name for p in candidate.program.params if is_float(inputs[p.name].dtype)))
    return next(((name, (0,) * inputs[name].ndim) for name in floats if inputs[name].size), None)


def _at(candidate: Candidate, name: str, index: tuple[int, ...], x: float) -> Candidate:
    value = np.array(candidate.inputs[name])
    value[index] = x
    return candidate.with_input(name, value)


# Asking -----------------------------------------------------------------------------------------------------

_Numbers = tuple[float, float, float, float]
"""Expected, bound, got, allowed."""


_Asked = tuple[Label, _Numbers, CheckResult | None]


def _asked(candidates: Sequence[Candidate], entry: Entry, target: Oracle) -> list[_Asked]:
    """For each candidate its label before neighbours are considered, its numbers and its verdict if any."""
    result: list[_Asked] = [(Label.INCONCLUSIVE, (math.nan,) * 4, None)] * len(candidates)
    soon = [k for k, candidate in enumerate(candidates) if ends(candidate)]
    if not soon:
        return result
    question = candidates[0].alone().question([candidates[k].inputs for k in soon])
    fair = evaluator().judgeable(question)
    answers = _answers([candidates[soon[k]] for k in fair], target)
    cases = evaluator().cases(target.name, question, answers, at=fair, thorough=True)
    for k, case in zip(fair, cases, strict=True):
        numbers = _numbers(case, entry, evaluator().tolerances(question)[k])
        result[soon[k]] = entry_label(case, entry), numbers, case
    return result


def _answers(candidates: Sequence[Candidate], target: Oracle) -> list[Answer]:
    if not candidates:
        return []
    if target.traits.batched:
        given = target.answer_all([candidate.question() for candidate in candidates])
        return [answers[candidate.place] for candidate, answers in zip(candidates, given, strict=True)]
    return target.answer(candidates[0].alone().question([candidate.inputs for candidate in candidates]))


def _numbers(case: CheckResult, entry: Entry, tolerance: Tolerance) -> _Numbers:
    expected, bound = true_entry(case.truth, entry) or (math.nan, math.nan)
    got = answered_entry(case.answer, entry)
    allowed = _allowed(case, entry, tolerance, expected, bound)
    return expected, bound, math.nan if got is None else got, allowed


def _allowed(case: CheckResult, entry: Entry, tolerance: Tolerance, expected: float, bound: float) -> float:
    name, index = entry
    if name in case.allowed:
        return float(case.allowed[name][index])
    if name in tolerance.noise and not math.isnan(expected):
        return float(tolerance.allowed(np.asarray(expected), tolerance.noise[name][index], np.asarray(bound)))
    return math.nan


# Neighbours -------------------------------------------------------------------------------------------------


def _with_neighbours(asked: Sequence[_Asked], entry: Entry) -> list[Label]:
    """The labels. Samples that agree are vacuous where the truth is zero there and beside it, and a
    coincidence where both conclusive neighbours differ.
    """
    labels, cases = [label for label, *_ in asked], [case for *_, case in asked]
    result = list(labels)
    for k, (label, case) in enumerate(zip(labels, cases, strict=True)):
        if label is not Label.AGREES or case is None:
            continue
        truths = [c.truth for c in cases[max(0, k - 1) : k + 2] if c is not None and c.truth is not None]
        near = [truth for truth in truths if truth.status == "ok"]
        if entry[0] in case.question.wrt and is_vacuous(near, entry):
            result[k] = Label.VACUOUS
        below = [other for other in labels[:k][::-1] if other in _TELLING][:2]
        above = [other for other in labels[k + 1 :] if other in _TELLING][:2]
        # At an end of the curve, take two neighbours on the one side.
        beside = [*below[:1], *above[:1]] if below and above else [*below, *above]
        if len(beside) == 2 and Label.AGREES not in beside:
            result[k] = Label.COINCIDENCE
    return result
