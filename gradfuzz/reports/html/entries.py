"""A picture of the wrong entries of a gradient: a tile per matrix, a cell per entry."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup, escape

from gradfuzz.fuzzer.results.finding import FindingPoint
from gradfuzz.oracles.base import Array
from gradfuzz.reports.common import numbers
from gradfuzz.reports.html.svg import WIDTH, Canvas

_MOST_SIDE = 16
_MOST_TILES = 12
_MOST_TITLES = 24
_GAP = 18.0


@dataclass(frozen=True, slots=True)
class _Tile:
    """The last two axes of one array; `index` is the tile's index along the other axes."""

    name: str
    index: tuple[int, ...]
    depth: int
    """The rank of a tile: one or two."""
    expected: Array
    got: Array
    wrong: Array

    @property
    def title(self) -> str:
        inside = ", ".join([*map(str, self.index), *(":" for _ in range(self.depth))])
        return f"{self.name}[{inside}]" if self.index else self.name

    def where(self, row: int, column: int) -> str:
        """The name of an entry."""
        return numbers.where(self.name, (*self.index, *((row, column) if self.depth == 2 else (column,))))


def entries(point: FindingPoint, name: str) -> tuple[str, Markup] | None:
    """(caption, picture) of the arrays at `point`; None without an array or bounds, or if too large."""
    tiles = list(_tiles(point))
    if not tiles or len(tiles) > _MOST_TILES or any(max(t.expected.shape) > _MOST_SIDE for t in tiles):
        return None
    total, wrong = sum(t.wrong.size for t in tiles), sum(int(t.wrong.sum()) for t in tiles)
    where = [t.where(int(r), int(c)) for t in tiles for r, c in np.argwhere(t.wrong)]
    listed = ", ".join(where[:_MOST_TITLES]) + (", ..." if len(where) > _MOST_TITLES else "")
    placed, cell, height = _layout(tiles)
    told = f"{wrong} of {total} entries: {listed}"
    canvas = Canvas(name, "Where the derivative is wrong", told, height=height)
    titled = wrong <= _MOST_TITLES
    for k, (tile, x, y) in enumerate(placed, 1):
        _draw(canvas, tile, x, y, cell, f"{name}-{k}", titled=titled)
    share = f"{wrong} of {numbers.count(total, 'entry')}"
    return f"Where it is wrong at the clearest point: {share}, marked by a cross.", canvas.svg()


def _tiles(point: FindingPoint) -> Iterator[_Tile]:
    for name, expected in point.expected.items():
        true = np.asarray(expected)
        if true.ndim == 0 or true.size == 0 or name not in point.got or name not in point.allowed:
            continue
        got, allowed = np.asarray(point.got[name]), np.asarray(point.allowed[name])
        if not got.shape == true.shape == allowed.shape:
            continue
        with np.errstate(invalid="ignore", over="ignore"):
            wrong = ~(np.abs(got - true) <= allowed)
        flat = (1, true.shape[0]) if true.ndim == 1 else true.shape
        for index in np.ndindex(flat[:-2]):
            here = (of.reshape(flat)[index] for of in (true, got, wrong))
            yield _Tile(name, index, min(true.ndim, 2), *here)


def _layout(tiles: list[_Tile]) -> tuple[list[tuple[_Tile, float, float]], float, int]:
    """The tiles in rows, each with its left upper corner; the side of a cell, and the total height."""
    widest = max(t.expected.shape[1] for t in tiles)
    cell = max(10.0, min(26.0, (WIDTH - 12) / widest, 190 / max(t.expected.shape[0] for t in tiles)))
    placed: list[tuple[_Tile, float, float]] = []
    x, y, below = 6.0, 18.0, 18.0
    for tile in tiles:
        high, wide = (side * cell for side in tile.expected.shape)
        if x > 6.0 and x + wide > WIDTH - 6:
            x, y = 6.0, below
        placed.append((tile, x, y))
        x, below = x + wide + _GAP, max(below, y + high + 24)
    return placed, cell, math.ceil(below - 10)


def _draw(
    canvas: Canvas, tile: _Tile, left: float, top: float, cell: float, name: str, *, titled: bool
) -> None:
    """A box with a pattern of crosses over runs of wrong entries, and lines between all entries."""
    rows, columns = tile.expected.shape
    canvas.text(left, top - 5, tile.title, "start")
    wide, high, pad = columns * cell, rows * cell, cell * 0.3
    runs = "".join(
        f"M{left + first * cell:g} {top + row * cell:g}h{n * cell:g}v{cell:g}h-{n * cell:g}z"
        for row in range(rows)
        for first, n in _runs(tile.wrong[row])
    )
    if runs:
        near, far = f"{pad:.3g}", f"{cell - pad:.3g}"
        cross = f"M{near} {near}L{far} {far}M{far} {near}L{near} {far}"
        size = f'width="{cell:g}" height="{cell:g}"'
        inside = f'<rect class="tint" {size}/><path class="mark" d="{cross}"/>'
        place = f'patternUnits="userSpaceOnUse" x="{left:g}" y="{top:g}"'
        canvas.raw(f'<pattern id="{escape(name)}" {place} {size}>{inside}</pattern>')
        canvas.raw(f'<path class="wrong" fill="url(#{escape(name)})" d="{runs}"/>')
    between = "".join(f"M{left + k * cell:g} {top:g}v{high:g}" for k in range(1, columns))
    canvas.path("grid", between + "".join(f"M{left:g} {top + k * cell:g}h{wide:g}" for k in range(1, rows)))
    canvas.path("box", f"M{left:g} {top:g}h{wide:g}v{high:g}h-{wide:g}z")
    if titled:
        for row, column in np.argwhere(tile.wrong).tolist():
            x, y = left + column * cell, top + row * cell
            title = f"<title>{escape(_told(tile, row, column))}</title>"
            box = f'x="{x:g}" y="{y:g}" width="{cell:g}" height="{cell:g}"'
            canvas.raw(f'<rect class="hit" {box}>{title}</rect>')


def _runs(wrong: Array) -> Iterator[tuple[int, int]]:
    """(first, length) of each run of wrong entries."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], wrong, [False]]).astype(int)))
    yield from zip(edges[::2].tolist(), (edges[1::2] - edges[::2]).tolist(), strict=True)


def _told(tile: _Tile, row: int, column: int) -> str:
    expected, got = float(tile.expected[row, column]), float(tile.got[row, column])
    left, right = numbers.pair(expected, got)
    ratio = numbers.times(got / expected if expected else None)
    return f"{tile.where(row, column)}: expected {left}, got {right}, ratio {ratio}"
