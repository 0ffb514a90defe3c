"""What one entry of an answer says about a target, and what the neighbouring points add.

An entry is of an input's gradient, as in ("x", (0,)), or of an output, as in ("output 0", ()).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from gradfuzz.fuzzer.results.finding import CheckResult, Class, Verdict
from gradfuzz.fuzzer.results.report_card import Label
from gradfuzz.fuzzer.verdict.classify import CLEAR, classify_entry
from gradfuzz.oracles.base import Answer, Array, Truth, output_index
from gradfuzz.programs.language.precision import is_float

Entry = tuple[str, tuple[int, ...]]

VERDICTS: Mapping[Verdict, Label] = {
    Verdict.DISAGREE: Label.DIFFERS,
    Verdict.AGREE: Label.AGREES,
    Verdict.CONVENTION: Label.INCONCLUSIVE,
    Verdict.INCONCLUSIVE: Label.INCONCLUSIVE,
    Verdict.UNSUPPORTED: Label.UNSUPPORTED,
    Verdict.CRASHED: Label.CRASHED,
}

_STEPS = (-0.125, 0.125)
"""The distance of neighbouring points: enough to leave a coincidence, and to stay in most domains."""


def neighbours(inputs: Mapping[str, Array], wrt: Sequence[str]) -> Iterator[Mapping[str, Array]]:
    """The inputs with all entries of those in `wrt` moved by a step, once down and once up."""
    for step in _STEPS:
        yield {
            name: (value.astype(np.float64) + step).astype(value.dtype)
            if name in wrt and is_float(value.dtype)
            else value
            for name, value in inputs.items()
        }


def true_entry(truth: Truth | None, entry: Entry) -> tuple[float, float] | None:
    """The true value of an entry and its bound; None without a truth."""
    if truth is None:
        return None
    name, index = entry
    value = _at(_named(name, truth.values, truth.gradient), index)
    bound = _at(_named(name, truth.value_bounds, truth.bounds), index)
    return None if value is None or bound is None else (value, bound)


def answered_entry(answer: Answer, entry: Entry) -> float | None:
    """An answer's value of an entry; None where it has none."""
    name, index = entry
    return _at(_named(name, answer.values, answer.gradient), index)


def _named(name: str, values: Sequence[Array], gradient: Mapping[str, Array]) -> Array | None:
    place = output_index(name)
    if place is None:
        return gradient.get(name)
    return values[place] if place < len(values) else None


def _at(value: Array | None, index: tuple[int, ...]) -> float | None:
    if value is None or np.ndim(value) != len(index):
        return None
    inside = all(k < n for k, n in zip(index, np.shape(value), strict=True))
    return float(np.real(np.asarray(value)[index])) if inside else None


def entry_label(case: CheckResult, entry: Entry) -> Label:
    """The label of one entry: by the verdict on the answer and, where entries differ, by its own error."""
    name, index = entry
    if case.verdict is not Verdict.DISAGREE or name not in case.allowed:
        return VERDICTS[case.verdict]
    got, true = answered_entry(case.answer, entry), true_entry(case.truth, entry)
    if true is None:
        return VERDICTS[case.verdict]
    if got is None:
        return Label.DIFFERS
    return Label.AGREES if abs(got - true[0]) <= CLEAR * float(case.allowed[name][index]) else Label.DIFFERS


def entry_class(case: CheckResult, entry: Entry) -> Class | None:
    """The class of the entry's error, which may differ from that of the worst entry."""
    name, index = entry
    got, true = answered_entry(case.answer, entry), true_entry(case.truth, entry)
    if got is None or true is None or name not in case.allowed:
        return case.kind
    allowed = float(case.allowed[name][index])
    return classify_entry(true[0], got, allowed, case.question.precision)


def is_vacuous(truths: Sequence[Truth], entry: Entry) -> bool:
    """Whether the true derivative is zero in all `truths` up to their bounds: agreement means nothing."""
    found = [true_entry(truth, entry) if truth.status == "ok" else None for truth in truths]
    return all(true is not None and abs(true[0]) <= true[1] for true in found)
