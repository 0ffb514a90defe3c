"""The tables of a finding: its three points, and which changes affect the answer."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gradfuzz.fuzzer.results.evidence import Aspect, Curve, Sample, Variant
from gradfuzz.fuzzer.results.finding import Class, Finding, FindingPoint
from gradfuzz.fuzzer.results.report_card import Label
from gradfuzz.reports.common import numbers


@dataclass(frozen=True, slots=True)
class Mark:
    """A word, a decorative sign before it, the name of its style, and what the word means."""

    word: str
    sign: str
    style: str
    meaning: str


_COINCIDENCE = "right here, wrong at neighbouring points of the same program"
_VACUOUS = "the true derivative is zero here and all around, so that an agreement says nothing"
_WORDS = {Label.CRASHED: "no answer", Label.VACUOUS: "tests nothing"}
"""The labels that people read in other words than records have."""

_MARKS = {
    label: Mark(_WORDS.get(label, label.value), sign, style, meaning)
    for label, sign, style, meaning in (
        (Label.DIFFERS, "✕", "differs", "the answer is wrong by more than rounding allows"),
        (Label.AGREES, "✓", "agrees", "the answer is right"),
        (Label.COINCIDENCE, "≈", "coincidence", _COINCIDENCE),
        (Label.VACUOUS, "○", "vacuous", _VACUOUS),
        (Label.INCONCLUSIVE, "?", "vacuous", "the references cannot tell"),
        (Label.UNSUPPORTED, "–", "vacuous", "the target cannot be asked this"),
        (Label.CRASHED, "!", "differs", "an exception, a crash, a hang, or out of memory"),
    )
}


@dataclass(frozen=True, slots=True)
class PointRow:
    """A row of the table of points."""

    names: str
    inputs: str
    by: str
    expected: str
    bound: str
    got: str
    ratio: str
    times_allowed: str


@dataclass(frozen=True, slots=True)
class VariantRow:
    """A row of a table of variants. `group` is the aspect in a table with several aspects."""

    group: str
    name: str
    at: str
    expected: str
    bound: str
    got: str
    ratio: str
    mark: Mark
    flipped: bool
    """Whether the answer has another sign than the truth, whatever its size."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of one kind. `first` heads the names; `at`: whether a row is not at the smallest point."""

    title: str
    caption: str
    first: str
    rows: tuple[VariantRow, ...]
    at: bool
    grouped: bool


def points(finding: Finding) -> tuple[PointRow, ...]:
    """The three points; points with equal rows share one."""
    merged: dict[tuple[str, ...], list[str]] = {}
    shown = {"smallest": finding.smallest, "clearest": finding.clearest, "worst": finding.worst}
    for kind, point in shown.items():
        merged.setdefault(_point(point, finding), []).append(kind)
    return tuple(
        PointRow("all three" if len(names) == 3 else " and ".join(names), *row)
        for row, names in merged.items()
    )


def _point(point: FindingPoint, finding: Finding) -> tuple[str, ...]:
    name, index = point.entry
    if finding.kind in (Class.WRONG_SHAPE, Class.WRONG_DTYPE):
        return numbers.inputs(point.inputs), name, *_malformed(point, finding)
    expected, got = numbers.pair(point.entry_expected, point.entry_got)
    if math.isnan(point.entry_got) and not point.got:
        got = "nothing"
    if math.isnan(point.entry_expected):
        given = point.inputs.get(name)
        expected = "an empty array" if given is not None and given.size == 0 else "an answer"
    bound = numbers.bound(float(point.bound[name][index])) if name in point.bound else ""
    times = "" if math.isinf(point.error_over_allowed) else f"{numbers.factor(point.error_over_allowed)}×"
    ratio = numbers.times(point.ratio)
    return numbers.inputs(point.inputs), numbers.where(name, index), expected, bound, got, ratio, times


def _malformed(point: FindingPoint, finding: Finding) -> tuple[str, ...]:
    """Expected, bound, got, ratio and error of an answer that has another shape or dtype: no numbers."""
    name, _ = point.entry
    given, answer = point.inputs.get(name), point.got.get(name)
    if finding.kind is Class.WRONG_DTYPE:
        return finding.precision, "", "nothing" if answer is None else answer.dtype.name, "-", ""
    right = "" if given is None else f"shape {given.shape}"
    return right, "", "nothing" if answer is None else f"shape {answer.shape}", "-", ""


_BODIES = "The same loop with other bodies. In each row the derivative by the varied input is compared."
_SIGNS = "Bodies with a negative true derivative, or a negative answer."
_PROPERTIES = "The same question with one thing changed; at the smallest point where no other is named."
_ONE_ASPECT = (Aspect.BODY, Aspect.SIGN)
_ASPECTS: tuple[tuple[tuple[Aspect, ...], str, str, str], ...] = (
    ((Aspect.BODY,), "Loop bodies", _BODIES, "body"),
    ((Aspect.SIGN,), "Signs", _SIGNS, "body"),
    (tuple(a for a in Aspect if a not in _ONE_ASPECT), "Properties", _PROPERTIES, "changed to"),
)


def tables(variants: Sequence[Variant]) -> tuple[Table, ...]:
    """Three tables: bodies, signs, and all other properties."""
    made = []
    for aspects, title, caption, first in _ASPECTS:
        rows = tuple(_variant(v) for aspect in aspects for v in variants if v.aspect is aspect)
        if rows:
            made.append(Table(title, caption, first, rows, any(row.at for row in rows), len(aspects) > 1))
    return tuple(made)


def _variant(variant: Variant) -> VariantRow:
    agree = variant.label is not Label.DIFFERS
    expected, got, bound = variant.expected, variant.got, variant.bound
    left, right = ("" if value is None else numbers.number(value) for value in (expected, got))
    ratio = ""
    if expected is not None and got is not None:
        left, right = numbers.pair(expected, got, agree=agree)
        ratio = numbers.times(variant.ratio, agree=agree)
    return VariantRow(
        group=variant.aspect.value,
        name=variant.name,
        at=variant.at,
        expected=left,
        bound="" if bound is None else numbers.bound(bound),
        got=right,
        ratio=ratio,
        mark=_MARKS[variant.label],
        flipped=not agree and (variant.ratio or 0.0) < 0,
    )


def spoken(label: str) -> str:
    """The word for a label of a record."""
    return next((mark.word for one, mark in _MARKS.items() if one.value == label), label)


def labels(variants: Iterable[Variant | Sample]) -> tuple[Mark, ...]:
    """The marks of the labels that occur, in the order of the labels."""
    there = {variant.label for variant in variants}
    return tuple(_MARKS[label] for label in Label if label in there)


# Curves -----------------------------------------------------------------------------------------------------

_TYPICAL = (-2.0, -0.5, 0.001, 0.01, 0.1, 0.5, 1.0, 2.0, 10.0)
"""The table of a curve shows the samples nearest to these."""


def along(curve: Curve) -> Table | None:
    """A few samples of a curve, the table "near zero" of a report; None where fewer than two were judged."""
    judged = [sample for sample in curve.samples if math.isfinite(sample.expected)]
    chosen = {_nearest(judged, x) for x in _TYPICAL} if judged else set()
    if len(chosen) < 2:
        return None
    varied, entry = numbers.where(*curve.varied), numbers.where(*curve.entry)
    rows = tuple(_sample(sample) for sample in judged if sample in chosen)
    caption = f"The derivative by {entry}; all else as at the smallest point."
    return Table(f"Where {varied} varies", caption, varied, rows, at=False, grouped=False)


def _nearest(samples: Sequence[Sample], x: float) -> Sample:
    def distance(sample: Sample) -> tuple[bool, float]:
        ratio = sample.x / x
        return ratio <= 0, abs(math.log(ratio)) if ratio > 0 else 0.0

    return min(samples, key=distance)


def _sample(s: Sample) -> VariantRow:
    ratio = s.got / s.expected if s.expected and math.isfinite(s.got) else None
    name = numbers.number(s.x)
    return _variant(Variant(Aspect.BODY, name, "", s.expected, s.bound, s.got, ratio, s.label))
