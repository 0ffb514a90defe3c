"""Status grids: each op in a fixed set of situations, after the status table of elixir-nx/nx #1748."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from gradfuzz.errors import ProgramTypeError, UsageError, listed
from gradfuzz.fuzzer.questions.vectorize_grid import (
    FIRST_ORDER,
    SECOND_ORDER,
    SITUATIONS,
    Mixes,
    Nth,
    instances,
    vectorized_rows,
)
from gradfuzz.fuzzer.questions.weighted import weighted_question
from gradfuzz.oracles.base import Point, Question
from gradfuzz.programs.language.precision import Precision
from gradfuzz.programs.language.program import Program, to_text
from gradfuzz.strategies.complex.program import complex_point, compose_complex
from gradfuzz.strategies.complex.recipes import COMPLEX_RECIPES, ComplexRecipe
from gradfuzz.strategies.drawing.dice import Plain
from gradfuzz.strategies.drawing.shape import Shape
from gradfuzz.strategies.inputs.point import Inputs
from gradfuzz.strategies.linalg.program import MatrixBlanks, compose, point_of
from gradfuzz.strategies.linalg.recipes import RECIPES, Recipe
from gradfuzz.strategies.tensor.blanks import Operand, fits
from gradfuzz.strategies.tensor.program import Kind, compose_tensor, tensor_point
from gradfuzz.strategies.tensor.recipes import TENSOR_RECIPES, TensorRecipe

R = TypeVar("R", Recipe, ComplexRecipe, TensorRecipe)


@dataclass(frozen=True, slots=True)
class _Situation:
    """A column: batch axes, precision, and the derivatives asked."""

    title: str
    batch: tuple[int, ...] = ()
    precision: Precision = "float64"
    modes: Mixes = (("rev",),)

    def questions(self, program: Program, inputs: Inputs) -> tuple[Question, ...]:
        """What is asked of a program at a point."""
        at = [Point(inputs)]
        return tuple(weighted_question(program, at, self.precision, modes) for modes in self.modes)


_SITUATIONS = (
    _Situation("2-D", ()),
    _Situation("batch 1", (1,)),
    _Situation("batch", (2,)),
    _Situation("rank 4", (2, 2)),
    _Situation("zero batch", (0,)),
    _Situation("float32", (2,), "float32"),
    _Situation("jvp", (2,), modes=(("fwd",),)),
    _Situation("second order", (2,), modes=SECOND_ORDER),
)

_SIZES = {"square": (3, 3), "tall": (3, 2), "wide": (2, 3)}


@dataclass(frozen=True, slots=True, eq=False)
class GridRow:
    """An op in one use: what its first cells show, and the questions of each column."""

    op: str
    use: str
    cells: tuple[tuple[Question, ...], ...]


@dataclass(frozen=True, slots=True)
class Grid:
    """The situations in the order of the columns, the rows, and what they cover in words."""

    columns: tuple[str, ...]
    rows: Callable[..., Iterable[GridRow]]
    """All rows. Where `names` is given, it takes a collection of ops and makes only the rows about these."""
    tried: str
    together: frozenset[str] = frozenset()
    """The columns whose questions have several points, for one vectorized call."""
    names: Callable[[], Sequence[str]] | None = None
    """The ops of the rows, where they are known without making the rows."""

    def ops(self) -> list[str]:
        """The ops of the rows, in their order."""
        return list(dict.fromkeys(self.names() if self.names else (row.op for row in self.rows())))

    def about(self, ops: Sequence[str] | None = None) -> list[GridRow]:
        """All rows, or those about `ops`. Raises `UsageError` for an op without a row."""
        if ops is None:
            return list(self.rows())
        known = sorted(self.ops())
        for op in ops:
            if op not in known:
                raise UsageError(f"no row of this suite is about {op!r}; the ops are {listed(known, op)}")
        return [row for row in (self.rows(ops) if self.names else self.rows()) if row.op in ops]


_VECTORIZED = "vectorized"

_COLUMNS = (
    *("2-D", "batch 1", "batch", "rank 4", "zero batch", "broadcast", "float32", "complex"),
    *("jvp", "second order", _VECTORIZED),
)


def _wanted(recipes: Sequence[R], ops: Collection[str] | None) -> list[R]:
    return [recipe for recipe in recipes if ops is None or recipe.op in ops]


def _linalg(ops: Collection[str] | None = None) -> Iterator[GridRow]:
    seen: set[str] = set()
    for recipe in _wanted(RECIPES, ops):
        for aspect in recipe.aspects:
            size = tuple(n + max(0, recipe.least - min(_SIZES[aspect])) for n in _SIZES[aspect])
            named = aspect if len(recipe.aspects) > 1 else ""
            sized = f"{size[0]}x{size[1]}" if size != _SIZES[aspect] else ""
            use = "; ".join(filter(None, (_text(recipe), named, sized)))
            cells = dict(_cells(recipe, (size[0], size[1])))
            if recipe.op not in seen:
                cells["complex"] = _complex_column(recipe.op)
            seen.add(recipe.op)
            yield GridRow(recipe.op, use, tuple(cells.get(column, ()) for column in _COLUMNS))


def _text(recipe: Recipe) -> str:
    text = (
        MatrixBlanks(Plain(), (3, 3))
        .fill(recipe.lines)
        .replace(":\n", ": ")
        .replace("\n", "; ")
        .replace("    ", "")
    )
    kind = "" if recipe.structure == "general" else f" ({recipe.structure})"
    return text + kind + (f", b {recipe.second}" if recipe.second else "")


def _cells(recipe: Recipe, size: tuple[int, int]) -> Iterator[tuple[str, tuple[Question, ...]]]:
    """All columns but "complex"; vectors have no batch axes."""
    for situation in _SITUATIONS:
        if situation.batch and recipe.second == "vectors":
            continue
        program = compose(Plain(), recipe, situation.batch, size)
        inputs = point_of(Plain(), program, situation.precision)
        yield situation.title, situation.questions(program.program, inputs)
    if recipe.second not in ("", "vectors"):
        yield "broadcast", tuple(_broadcast(recipe, size))
    single = compose(Plain(), recipe, (), size)
    yield _VECTORIZED, instances(single.program, [point_of(Nth(k), single, "float64") for k in (0, 1)])


_OPERANDS: tuple[tuple[Shape, Shape], ...] = (((2,), ()), ((), (2,)), ((2, 1), (2,)))
"""Batch axes of a and of b: b has none, a has none, b has fewer and both stretch."""


def _broadcast(recipe: Recipe, size: tuple[int, int]) -> Iterator[Question]:
    """Operands with different batch axes, where that type-checks: a loop's carry must keep its shape."""
    for first, second in _OPERANDS:
        program = compose(Plain(), recipe, first, size, second=second)
        with contextlib.suppress(ProgramTypeError):
            yield from _Situation("broadcast").questions(
                program.program, point_of(Plain(), program, "float64")
            )


# Complex numbers --------------------------------------------------------------------------------------------


def _complex_column(op: str) -> tuple[Question, ...]:
    """All questions about an op with complex matrices, in both modes."""
    both = _Situation("complex", (2,), modes=FIRST_ORDER)
    return tuple(q for recipe in _wanted(COMPLEX_RECIPES, [op]) for q in _complex_cell(recipe, both))


def _complex(ops: Collection[str] | None = None) -> Iterator[GridRow]:
    for recipe in _wanted(COMPLEX_RECIPES, ops):
        single = compose_complex(Plain(), recipe, (), _complex_size(recipe))
        lines = [line for line in _statements(single.program) if not re.search(r"complex\([ab]_re", line)]
        use = _on_one_line(lines) + (", a real" if recipe.real else "")
        together = instances(single.program, [complex_point(Nth(k), single, "float64") for k in (0, 1)])
        cells = (_complex_cell(recipe, situation) for situation in _SITUATIONS)
        yield GridRow(recipe.op, use, (*cells, together))


def _statements(program: Program) -> list[str]:
    """The lines between the head and the return."""
    return [line.strip() for line in to_text(program).splitlines()[1:-1]]


def _on_one_line(statements: Sequence[str]) -> str:
    return "; ".join(statements).replace(":;", ":")


def _complex_size(recipe: ComplexRecipe) -> tuple[int, int] | None:
    return _SIZES[recipe.aspects[0]] if recipe.aspects else None


def _complex_cell(recipe: ComplexRecipe, situation: _Situation) -> tuple[Question, ...]:
    program = compose_complex(Plain(), recipe, situation.batch, _complex_size(recipe))
    return situation.questions(program.program, complex_point(Plain(), program, situation.precision))


# Tensor ops -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _TensorSituation(_Situation):
    """A column with shapes of the first array, of which the first that fits is taken; `image` is for conv."""

    shapes: tuple[tuple[int, ...], ...] = ((2, 3),)
    image: tuple[int, ...] = (2, 1, 4)
    operands: tuple[Operand, ...] = ("same",)
    kinds: tuple[Kind, ...] = ("fractions",)


_TENSOR_SITUATIONS = (
    _TensorSituation("2-D"),
    _TensorSituation("size 1", shapes=((1, 1),), image=(1, 1, 1)),
    _TensorSituation("rank 4", shapes=((2, 1, 2, 3),), image=(1, 2, 3, 3)),
    _TensorSituation("zero size", shapes=((0, 3), (2, 0)), image=(0, 1, 4)),
    _TensorSituation("broadcast", operands=("scalar", "fewer axes", "ones", "more axes")),
    _TensorSituation("float32", precision="float32"),
    _TensorSituation("jvp", modes=(("fwd",),)),
    _TensorSituation("second order", modes=SECOND_ORDER),
    _TensorSituation("ties", kinds=("ties", "equal"), modes=FIRST_ORDER),
)


def _tensor(ops: Collection[str] | None = None) -> Iterator[GridRow]:
    for recipe in _wanted(TENSOR_RECIPES, ops):
        single = compose_tensor(Plain(), recipe, _fitting(recipe, _TENSOR_SITUATIONS[0])[0])
        lines = _statements(single.program)
        use = lines[0].removeprefix("y = ") if len(lines) == 1 else _on_one_line(lines)
        points = [tensor_point(Nth(k), single, "float64", "fractions") for k in (0, 1)]
        together = instances(single.program, points)
        cells = (tuple(_tensor_cell(recipe, situation)) for situation in _TENSOR_SITUATIONS)
        yield GridRow(recipe.op, use, (*cells, together))


def _fitting(recipe: TensorRecipe, situation: _TensorSituation) -> list[tuple[int, ...]]:
    """The situation's shapes that the recipe can begin with."""
    return [
        shape
        for shape in (situation.image, *situation.shapes)
        if fits(recipe.want, shape) and (recipe.op == "conv") == (shape == situation.image)
    ]


def _tensor_cell(recipe: TensorRecipe, situation: _TensorSituation) -> Iterator[Question]:
    if situation.title == "broadcast" and not recipe.broadcasts:
        return
    for shape in _fitting(recipe, situation)[:1]:
        for operand in situation.operands:
            program = compose_tensor(Plain(), recipe, shape, operand)
            for kind in situation.kinds:
                inputs = tensor_point(Plain(), program, situation.precision, kind)
                yield from situation.questions(program.program, inputs)


GRIDS: dict[str, Grid] = {
    "linalg": Grid(
        _COLUMNS,
        _linalg,
        "3x3, 3x2 and 2x3 matrices with a heavy diagonal; zero batch: no matrices at all; second order in all"
        " four mixes of modes; broadcast: b without batch axes, a without, and both stretched; complex: the"
        " first row of the op in the suite complex, on a batch, in both modes; vectorized: the 2-D"
        " program for two instances in one call, by vjp and by jvp, where a way has such calls.",
        frozenset({_VECTORIZED}),
        lambda: [recipe.op for recipe in RECIPES],
    ),
    "complex": Grid(
        ("single", *(situation.title for situation in _SITUATIONS[1:]), _VECTORIZED),
        _complex,
        "complex scalars and 3x3 matrices with a heavy diagonal, made of real and imaginary parts; the other"
        " columns as in the suite linalg.",
        frozenset({_VECTORIZED}),
        lambda: [recipe.op for recipe in COMPLEX_RECIPES],
    ),
    "tensor": Grid(
        (*(situation.title for situation in _TENSOR_SITUATIONS), _VECTORIZED),
        _tensor,
        "arrays of 2x3, 1x1, 2x1x2x3, and 0x3 or 2x0 (conv: 2x1x4, 1x1x1, 1x2x3x3, 0x1x4); broadcast: the"
        " other operand a scalar, with fewer axes, with an axis of 1, with an axis more; ties: few different"
        " entries, and all equal; second order in all four mixes of modes; vectorized: as in the suite"
        " linalg.",
        frozenset({_VECTORIZED}),
        lambda: [recipe.op for recipe in TENSOR_RECIPES],
    ),
    "vectorize": Grid(
        SITUATIONS,
        lambda: (GridRow(*row) for row in vectorized_rows()),
        "two instances along one axis; two axes of two: the first input along one, the others along the"
        " other; shared: the first input is the same for all; second order in all four mixes of modes; trips"
        " differ: three instances, by vjp and by jvp.",
        frozenset(SITUATIONS),
    ),
}
"""By the name of the suite."""
