"""The plots of a finding: its curve, and the entries that are wrong. They compute only pixels."""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup

from gradfuzz.fuzzer.results.evidence import Curve, Sample
from gradfuzz.fuzzer.results.finding import Finding
from gradfuzz.fuzzer.results.report_card import Label
from gradfuzz.reports.common import numbers
from gradfuzz.reports.html.entries import entries
from gradfuzz.reports.html.scales import symlog
from gradfuzz.reports.html.svg import BOTTOM, LEFT, RIGHT, TOP, Canvas

Figure = tuple[str, Markup]
"""The sentence below a plot, and the plot."""


def figures(finding: Finding, name: str) -> tuple[Figure, ...]:
    """All plots with evidence. `name` is the prefix of the ids of their titles."""
    curve = finding.evidence.curve if finding.evidence else None
    shown = [_values(curve, f"{name}-curve")] if curve and len(_finite(curve.samples)) > 1 else []
    grid = entries(finding.clearest, f"{name}-entries")
    return (*shown, *([grid] if grid else []))


def _finite(samples: Sequence[Sample]) -> list[Sample]:
    return [s for s in samples if math.isfinite(s.expected)]


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
    canvas.legend((("ring", "expected"), ("dot", "got")))
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
    return caption, canvas.svg()


def _missing(sample: Sample) -> bool:
    """Whether there is no answer to plot; an answer that is not finite counts as one."""
    return sample.label in (Label.INCONCLUSIVE, Label.CRASHED) and math.isnan(sample.got)
