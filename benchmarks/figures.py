"""What the plots of the documents share: one look, and files that are the same in every run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

__all__ = ["COLOURS", "axes", "save"]

COLOURS = ("#000000", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f")
"""Told apart with any kind of colour vision: Okabe and Ito 2008, grey in place of the yellow that white
swallows.
"""


def axes(rows: int, columns: int, *, size: tuple[float, float], **options: Any) -> tuple[Any, Sequence[Any]]:
    """A figure on white, as a page may be dark, and its axes row by row. `size` is in inches."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    matplotlib.rcParams.update(
        {
            "svg.hashsalt": "gradfuzz",
            "svg.fonttype": "path",
            "font.size": 9,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "grid.color": "#dddddd",
            "legend.frameon": False,
        }
    )
    figure, grid = pyplot.subplots(
        rows, columns, figsize=size, layout="constrained", facecolor="white", squeeze=False, **options
    )
    return figure, list(grid.ravel())


def save(figure: Any, path: Path) -> None:
    """As SVG without a date."""
    figure.savefig(path, metadata={"Date": None, "Creator": None})
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("".join(f"{line.rstrip()}\n" for line in lines), encoding="utf-8")
