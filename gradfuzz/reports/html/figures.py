"""The plots of a finding, from its evidence. They compute only pixels and the quotient error / allowed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from gradfuzz.fuzzer.results.evidence import Adjoints, Curve, Differences, Evidence, Sample
from gradfuzz.fuzzer.results.finding import Finding
from gradfuzz.fuzzer.results.report_card import Label
from gradfuzz.reports.common import numbers, tables
from gradfuzz.reports.html.entries import entries
from gradfuzz.reports.html.scales import linear, log, symlog
from gradfuzz.reports.html.svg import BOTTOM, LEFT, RIGHT, TOP, Canvas, Pixel

_FLOOR = 1e-3
"""Errors of this many times the allowed error or fewer, and 0, are drawn at the bottom."""

_EXPECTED_AND_GOT = (("ring", "ring", "expected"), ("dot", "dot", "got"))


@dataclass(frozen=True, slots=True)
class Figure:
    """A plot and the sentence below it."""

    caption: str
    svg: Markup


def figures(finding: Finding, name: str) -> tuple[Figure, ...]:
    """All plots with evidence. `name` is the prefix of the ids of their titles."""
    shown = list(_of_evidence(finding.evidence, name)) if finding.evidence else []
    grid = entries(finding.clearest, f"{name}-entries")
    return (*shown, *([Figure(*grid)] if grid else []))


def _of_evidence(evidence: Evidence, name: str) -> Iterator[Figure]:
    if evidence.curve is not None and len(_finite(evidence.curve.samples)) > 1:
        yield _values(evidence.curve, f"{name}-curve")
        if any(_times_allowed(sample) is not None for sample in evidence.curve.samples):
            yield _errors(evidence.curve, f"{name}-error")
    if evidence.differences is not None and evidence.differences.steps:
        yield _steps(evidence.differences, f"{name}-steps")
    if evidence.adjoints is not None and len(evidence.adjoints.expected) > 1:
        yield _adjoints(evidence.adjoints, f"{name}-adjoints")


def _finite(samples: Sequence[Sample]) -> list[Sample]:
    return [s for s in samples if math.isfinite(s.expected)]


# The curve --------------------------------------------------------------------------------------------------


def _values(curve: Curve, name: str) -> Figure:
    by, varied = numbers.where(*curve.entry), numbers.where(*curve.varied)
    samples = _finite(curve.samples)
    told = [s for s in samples if s.label is not Label.UNSUPPORTED and not _missing(s)]
    x = symlog([s.x for s in samples], LEFT, RIGHT)
    y = symlog([v for s in samples for v in (s.expected, s.got)], BOTTOM, TOP)
    differ = sum(s.label is Label.DIFFERS for s in samples)
    canvas = Canvas(
        name,
        f"Derivative by {by} against {varied}: expected and got",
        f"{varied} goes from {numbers.number(samples[0].x)} to {numbers.number(samples[-1].x)}; "
        f"the answer differs from the truth at {differ} of {len(samples)} values.",
    )
    canvas.axes(x, y, varied, f"derivative by {by}")
    canvas.legend(_EXPECTED_AND_GOT)
    canvas.line("expected", [(x(s.x), y(s.expected)) for s in samples])
    canvas.line("got", [(x(s.x), y(s.got)) if math.isfinite(s.got) else None for s in told])
    canvas.dots("ring", [(x(s.x), y(s.expected)) for s in samples])
    canvas.dots("dot", [(x(s.x), y(s.got)) for s in told if math.isfinite(s.got)])
    broken = [(x(s.x), float(TOP)) for s in told if not math.isfinite(s.got)]
    canvas.crosses("cross", broken)
    caption = (
        f"Expected and got as {varied} varies, everything else as at the smallest point; symmetric log axes."
    )
    if broken:
        caption += f" Crosses at the top: not a finite number ({len(broken)})."
    return Figure(caption, canvas.svg())


def _missing(sample: Sample) -> bool:
    """Whether there is no answer to plot; an answer that is not finite counts as one."""
    return sample.label in (Label.INCONCLUSIVE, Label.CRASHED) and math.isnan(sample.got)


def _errors(curve: Curve, name: str) -> Figure:
    varied = numbers.where(*curve.varied)
    rows = [(s.x, times) for s in curve.samples if s.x and (times := _times_allowed(s)) is not None]
    x = log([abs(v) for v, _ in rows], LEFT, RIGHT)
    y = log([*(times for _, times in rows), _FLOOR, 10.0], BOTTOM, TOP, least=_FLOOR)
    above = sum(times > 1 for _, times in rows)
    canvas = Canvas(
        name,
        f"Error in units of what is allowed against |{varied}|",
        f"{above} of {len(rows)} errors are larger than what rounding allows; "
        f"the largest is {numbers.factor(max((t for _, t in rows), default=0.0))} times as large.",
    )
    canvas.axes(x, y, f"|{varied}|", "error / allowed")
    negative = any(v < 0 for v, _ in rows) and any(v > 0 for v, _ in rows)
    if negative:
        canvas.legend((("dot", "dot", f"{varied} > 0"), ("ring", "ring of-got", f"{varied} < 0")))
    canvas.line("allowed", [(LEFT, y(1.0)), (RIGHT, y(1.0))])
    canvas.text(RIGHT - 2, y(1.0) - 4, "allowed", "end")
    canvas.dots("ring of-got", [(x(abs(v)), y(t)) for v, t in rows if v < 0 and negative])
    canvas.dots("dot", [(x(abs(v)), y(t)) for v, t in rows if v > 0 or not negative])
    caption = "Error over what rounding allows. A right answer stays below the line;"
    return Figure(f"{caption} what is at the bottom is exact.", canvas.svg())


def _times_allowed(sample: Sample) -> float | None:
    """The quotient error / allowed.

    None without an error; the largest float where the answer is not finite or the allowed error is 0.
    """
    if not (math.isfinite(sample.expected) and math.isfinite(sample.allowed)) or _missing(sample):
        return None
    error = abs(sample.got - sample.expected)
    if error == 0:
        return 0.0
    if not math.isfinite(error) or sample.allowed <= 0:
        return 1e300 if sample.allowed > 0 else None
    return min(error / sample.allowed, 1e300)


# Steps and adjoints -----------------------------------------------------------------------------------------


def _steps(differences: Differences, name: str) -> Figure:
    steps = [step for step in differences.steps if step.h > 0 and math.isfinite(step.error)]
    wrong = differences.target_error
    least = min((s.error for s in steps if s.error > 0), default=1e-17)
    x = log([s.h for s in steps], LEFT, RIGHT)
    y = log([*(s.error for s in steps), *([wrong] if wrong > 0 else [])], BOTTOM, TOP, least=least)
    told = tables.differences(differences)
    canvas = Canvas(name, "Error of central differences against their step", told)
    canvas.axes(x, y, "step h", "error")
    canvas.legend((("ring", "ring", "differences"), ("dash", "target", "target")))
    if math.isfinite(wrong):
        canvas.line("target", [(LEFT, y(wrong)), (RIGHT, y(wrong))])
    canvas.line("expected", [(x(s.h), y(s.error)) for s in steps])
    canvas.dots("ring", [(x(s.h), y(s.error)) for s in steps])
    return Figure(told, canvas.svg())


def _adjoints(adjoints: Adjoints, name: str) -> Figure:
    pairs = list(zip(adjoints.expected, adjoints.got, strict=False))
    x = linear(0.0, float(max(len(pairs) - 1, 1)), LEFT, RIGHT)
    y = symlog([v for pair in pairs for v in pair], BOTTOM, TOP)
    canvas = Canvas(
        name,
        f"Derivative by {adjoints.carry} as it enters each trip: expected and got",
        "; ".join(
            f"trip {k}: expected {numbers.number(e, 4)}, got {numbers.number(g, 4)}"
            for k, (e, g) in enumerate(pairs[:16])
        ),
    )
    canvas.axes(x, y, "trip", f"derivative by {adjoints.carry}")
    canvas.legend(_EXPECTED_AND_GOT)

    def places(values: Sequence[float]) -> list[Pixel]:
        return [(x(k), y(v)) for k, v in enumerate(values) if math.isfinite(v)]

    expected, got = places([e for e, _ in pairs]), places([g for _, g in pairs])
    canvas.line("expected", expected)
    canvas.line("got", got)
    canvas.dots("ring", expected)
    canvas.dots("dot", got)
    caption = (
        f"The derivative by {adjoints.carry} as it enters each trip of the loop, counted from 0: the way back"
        " runs from right to left."
    )
    return Figure(caption, canvas.svg())
