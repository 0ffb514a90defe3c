"""The at-a-glance grids: each op in a fixed set of situations, after the status table of elixir-nx/nx #1748."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from gradfuzz.fuzzer.questions import weighted_question
from gradfuzz.oracles.base import Mode, Point, Precision, Question
from gradfuzz.strategies.dice import Plain
from gradfuzz.strategies.linalg_program import compose, point_of, statements
from gradfuzz.strategies.recipes import RECIPES, Recipe

__all__ = ["GRIDS", "Grid", "GridRow"]

Modes = tuple[Mode, ...]


@dataclass(frozen=True, slots=True)
class _Situation:
    """A column: batch axes, precision, and the derivatives asked."""

    title: str
    batch: tuple[int, ...]
    precision: Precision = "float64"
    modes: tuple[Modes, ...] = (("rev",),)


_SITUATIONS = (
    _Situation("2-D", ()),
    _Situation("batch 1", (1,)),
    _Situation("batch", (2,)),
    _Situation("rank 4", (2, 2)),
    _Situation("zero batch", (0,)),
    _Situation("float32", (2,), "float32"),
    _Situation("jvp", (2,), modes=(("fwd",),)),
    _Situation("second order", (2,), modes=(("rev", "rev"), ("fwd", "rev"), ("rev", "fwd"), ("fwd", "fwd"))),
)

_SIZES = {"square": (3, 3), "tall": (3, 2), "wide": (2, 3)}


@dataclass(frozen=True, slots=True, eq=False)
class GridRow:
    """An op in one use: what stands in the first cells, and for each column the questions."""

    op: str
    use: str
    cells: tuple[tuple[Question, ...], ...]


@dataclass(frozen=True, slots=True)
class Grid:
    """The situations in the order of the columns, the rows, and what they cover in words."""

    columns: tuple[str, ...]
    rows: Callable[[], Sequence[GridRow]]
    tried: str


def _linalg() -> Iterator[GridRow]:
    for recipe in RECIPES:
        for aspect in recipe.aspects:
            use = aspect if len(recipe.aspects) > 1 else ""
            yield GridRow(recipe.op, "; ".join(filter(None, (_text(recipe), use))), tuple(_cells(recipe, _SIZES[aspect])))


def _text(recipe: Recipe) -> str:
    kind = "" if recipe.structure == "general" else f" ({recipe.structure})"
    return (
        statements(Plain(), recipe, (3, 3)).replace(":\n", ": ").replace("\n", "; ").replace("    ", "")
        + kind
        + (f", b {recipe.second}" if recipe.second else "")
    )


def _cells(recipe: Recipe, size: tuple[int, int]) -> Iterator[tuple[Question, ...]]:
    for situation in _SITUATIONS:
        if situation.batch and recipe.second == "vectors":
            yield ()
            continue
        program = compose(Plain(), recipe, situation.batch, size)
        point = Point(point_of(Plain(), program, situation.precision))
        yield tuple(weighted_question(program.program, [point], situation.precision, modes) for modes in situation.modes)


GRIDS: dict[str, Grid] = {
    "linalg": Grid(
        tuple(situation.title for situation in _SITUATIONS),
        lambda: list(_linalg()),
        "3x3, 3x2 and 2x3 matrices with a heavy diagonal; zero batch: no matrices at all; second order in all four mixes of modes.",
    ),
}
"""By the name of the suite."""
