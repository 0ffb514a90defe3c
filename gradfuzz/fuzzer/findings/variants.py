"""The target's answers with one thing changed: the survey's, other orders, batches and loop bodies."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

from gradfuzz.fuzzer.findings.batches import batches
from gradfuzz.fuzzer.findings.bodies import bodies
from gradfuzz.fuzzer.findings.curve import is_costly
from gradfuzz.fuzzer.findings.survey import Tried, asked, tried
from gradfuzz.fuzzer.questions.candidate import Candidate
from gradfuzz.fuzzer.questions.loop_forms import ends
from gradfuzz.fuzzer.results.evidence import Aspect, Variant
from gradfuzz.fuzzer.results.finding import CheckResult, Verdict
from gradfuzz.fuzzer.results.report_card import Label
from gradfuzz.fuzzer.verdict.classify import ratio_of
from gradfuzz.fuzzer.verdict.labels import VERDICTS, Entry, answered_entry, neighbours, true_entry
from gradfuzz.fuzzer.verdict.shared import evaluator, oracle
from gradfuzz.oracles.base import Mode, Oracle, Truth, check_name

_STEPS: tuple[Mode, ...] = ("rev", "fwd")

_MOST_DIRECTIONS = 300
"""A truth of third order takes time with the cube of the number of entries."""


def variants(
    candidate: Candidate, smallest: CheckResult, surveyed: Sequence[Tried], entry: Entry, target: Oracle
) -> tuple[Variant, ...]:
    """All variants, by what is changed; what cannot be changed is left out.

    `smallest` is the verdict on the candidate, `entry` the entry that a finding shows.
    """
    orders, others = _orders(candidate, smallest, target), batches(candidate, smallest, target)
    outcomes = [*surveyed, *orders, *others]
    several = {o.aspect for o in outcomes if o.case is not smallest}
    shown = (_variant(o, entry, target) for o in outcomes if o.aspect in several)
    return (*shown, *bodies(candidate, target))


# Other orders -----------------------------------------------------------------------------------------------


def _orders(candidate: Candidate, smallest: CheckResult, target: Oracle) -> Iterator[Tried]:
    entries = sum(candidate.inputs[name].size for name in candidate.wrt)
    for order in (1, 2) if is_costly(target) else (1, 2, 3):
        if order == len(candidate.modes):
            yield Tried(Aspect.ORDER, check_name(candidate.modes), candidate, smallest)
        elif candidate.wrt and entries**order <= _MOST_DIRECTIONS:
            modes = _modes_of(order, candidate, target)
            if modes is not None:
                yield tried(Aspect.ORDER, check_name(modes), replace(candidate, modes=modes), target)


def _modes_of(order: int, candidate: Candidate, target: Oracle) -> tuple[Mode, ...] | None:
    """The first modes of this order that the target supports; those that begin like the candidate's first."""
    own = candidate.modes[:order]
    choices = sorted(itertools.product(_STEPS, repeat=order), key=lambda modes: modes[: len(own)] != own)
    return next((m for m in choices if target.supports(replace(candidate, modes=m).question()) is None), None)


# Rows -------------------------------------------------------------------------------------------------------


def _variant(found: Tried, entry: Entry, target: Oracle) -> Variant:
    """An outcome with its label and its worst entry's numbers; the finding's entry where nothing differs."""
    case = found.case
    if case.verdict is Verdict.DISAGREE and case.worst is not None and case.expected is not None:
        _, bound = true_entry(case.truth, case.worst) or (None, None)
        numbers = case.expected, bound, case.got, case.ratio
        return Variant(found.aspect, found.name, "", *numbers, Label.DIFFERS)
    shown = entry if case.worst is None or true_entry(case.truth, entry) is not None else case.worst
    expected, bound = true_entry(case.truth, shown) or (None, None)
    got = answered_entry(case.answer, shown)
    ratio = None if expected is None or got is None else ratio_of(expected, got)
    return Variant(found.aspect, found.name, "", expected, bound, got, ratio, _label(found, target))


def _label(found: Tried, target: Oracle) -> Label:
    """The verdict's label; of agreement, a coincidence beside a wrong point, vacuous at a zero truth."""
    label = VERDICTS[found.case.verdict]
    way = target if found.case.oracle == target.name else oracle(found.case.oracle)
    if label is not Label.AGREES or found.case.truth is None or is_costly(way):
        return label
    near = []
    for inputs in neighbours(found.candidate.inputs, found.candidate.wrt):
        candidate = found.candidate
        for name in candidate.wrt:
            candidate = candidate.with_input(name, inputs[name])
        if ends(candidate) and evaluator().judgeable(candidate.alone().question()):
            near.append(asked(candidate, way))
    if any(case.verdict.is_wrong for case in near):
        return Label.COINCIDENCE
    truths = [found.case.truth, *(c.truth for c in near if c.truth is not None and c.truth.status == "ok")]
    return Label.VACUOUS if all(_is_zero(truth) for truth in truths) else label


def _is_zero(truth: Truth) -> bool:
    """Whether a derivative was asked for and all of it is zero up to its bound."""
    slopes = [(slope, truth.bounds[name]) for name, slope in truth.gradient.items() if slope.size]
    return bool(slopes) and all(bool((abs(slope) <= bound).all()) for slope, bound in slopes)
