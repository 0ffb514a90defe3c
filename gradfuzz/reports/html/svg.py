"""Plots as SVG text: a frame with axes, lines, dots, a legend. Class names select colours of the page's
style.

A dot is a line of length zero with round ends, so that many dots are one short path.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from markupsafe import Markup, escape

from gradfuzz.reports.html.scales import Scale, power

Pixel = tuple[float, float]

WIDTH, HEIGHT = 360, 236
LEFT, RIGHT, TOP, BOTTOM = 46, 348, 30, 198
"""The frame's sides inside the picture, in pixels."""


class Canvas:
    """The drawn parts, in order. `name` makes the ids of title and description unique on the page."""

    def __init__(self, name: str, title: str, description: str, *, height: int = HEIGHT) -> None:
        self._name, self._height = name, height
        self._title, self._description = title, description
        self._parts: list[str] = []

    def axes(self, x: Scale, y: Scale, across: str, up: str) -> None:
        """Hair lines at the ticks with their values, a line at y = 0, and the axis labels."""
        grid = "".join(f"M{LEFT} {_px(y(v))}H{RIGHT}" for v in y.ticks) + "".join(
            f"M{_px(x(v))} {TOP}V{BOTTOM}" for v in x.ticks
        )
        self.path("grid", grid)
        if 0.0 in y.ticks:
            self.path("zero", f"M{LEFT} {_px(y(0.0))}H{RIGHT}")
        for v in y.ticks:
            self.text(LEFT - 6, y(v) + 3.5, power(v), "end")
        for v in x.ticks:
            self.text(x(v), BOTTOM + 15, power(v), "middle")
        self.text((LEFT + RIGHT) / 2, BOTTOM + 31, across, "middle", "name")
        self.text(6, 14, up, "start", "name")

    def legend(self, items: Sequence[tuple[str, str]]) -> None:
        """Items (class, words), to the right above the frame."""
        right = float(RIGHT)
        for kind, words in reversed(items):
            right -= 6.2 * len(words)
            self.text(right, 14, words, "start")
            right -= 22
            self._parts.append(f'<g transform="translate({_px(right)} 10.5)">')
            (self.rings if kind == "ring" else self.path)(kind, "M8 0h0")
            self._parts.append("</g>")
            right -= 10

    def line(self, kind: str, points: Iterable[Pixel | None]) -> None:
        """A line through the points, interrupted at None."""
        d, pen = [], "M"
        for point in points:
            if point is None:
                pen = "M"
            else:
                d.append(f"{pen}{_px(point[0])} {_px(point[1])}")
                pen = "L"
        self.path(kind, "".join(d))

    def dots(self, kind: str, points: Iterable[Pixel]) -> None:
        """Filled dots, or rings."""
        d = "".join(f"M{_px(x)} {_px(y)}h0" for x, y in points)
        (self.rings if kind == "ring" else self.path)(kind, d)

    def rings(self, kind: str, d: str) -> None:
        """Dots with smaller dots in the page's colour on them."""
        self.path(kind, d)
        self.path("hole", d)

    def crosses(self, kind: str, points: Iterable[Pixel]) -> None:
        self.path(kind, "".join(f"M{_px(x - 3)} {_px(y - 3)}l6 6m0-6l-6 6" for x, y in points))

    def path(self, kind: str, d: str) -> None:
        """A path, unless it is empty."""
        if d:
            self._parts.append(f'<path class="{kind}" d="{d}"/>')

    def text(self, x: float, y: float, words: str, anchor: str, kind: str = "") -> None:
        named = f' class="{kind}"' if kind else ""
        where = "" if anchor == "start" else f' text-anchor="{anchor}"'
        self._parts.append(f'<text x="{_px(x)}" y="{_px(y)}"{where}{named}>{escape(words)}</text>')

    def raw(self, part: str) -> None:
        """A piece of SVG that is already escaped."""
        self._parts.append(part)

    def svg(self) -> Markup:
        """The picture, with a title and a description for screen readers."""
        t, d = f"{self._name}-t", f"{self._name}-d"
        box, label = f"0 0 {WIDTH} {self._height}", f"{escape(t)} {escape(d)}"
        head = f'<svg class="plot" role="img" viewBox="{box}" aria-labelledby="{label}">'
        told = f'<title id="{escape(t)}">{escape(self._title)}</title>'
        told += f'<desc id="{escape(d)}">{escape(self._description)}</desc>'
        return Markup(f"{head}{told}{''.join(self._parts)}</svg>")  # noqa: S704 - every text in it has been escaped


def _px(value: float) -> str:
    """A pixel with at most one decimal."""
    if not math.isfinite(value):
        value = 0.0
    return f"{value:.1f}".removesuffix(".0").replace("-0.", "-.") or "0"
