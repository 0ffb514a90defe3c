"""The strategy for matrix programs: recipe, shape, steps before and after, points of the right structure."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from hypothesis import strategies as st

from gradfuzz.programs import Program, Type
from gradfuzz.programs.language.precision import Precision
from gradfuzz.strategies.drawing.algebra import written
from gradfuzz.strategies.drawing.blanks import Blanks
from gradfuzz.strategies.drawing.dice import Dice, Draw, Odds
from gradfuzz.strategies.drawing.shape import Shape, draw_batch, draw_other_batch, draw_size
from gradfuzz.strategies.drawing.validation import check_choices, check_int
from gradfuzz.strategies.inputs.matrix import RECTANGULAR, Structure, draw_matrix
from gradfuzz.strategies.inputs.point import PRECISIONS, Inputs
from gradfuzz.strategies.linalg.recipes import RECIPES, WEIGHTS, Recipe
from gradfuzz.strategies.loop.case import GeneratedCase, check_asked, draw_modes, draw_precision
from gradfuzz.strategies.loop.statistics import observed

NORMS = ("'fro'", "'nuc'", "1", "2", "'inf'", "-1", "-2", "'-inf'")
NORM_ORDERS = ("2", "1", "3", "'inf'", "'-inf'", "-1")
POWERS = (2, 3, 1, 0, -1, -2)
"""Values for blanks of recipes: orders of `matrix_norm` and `vector_norm`, exponents of `matrix_power`."""
_BEFORE = Odds((60, "{}"), (14, "{} * 0.5"), (14, "-{}"), (12, "{} * {}"))
_TOTAL = 12
"""The percentage of programs that return the plain sum of all results."""
SUM_OF_ALL = "sum_of_all"
"""The name of that sum in a program's text."""
_AFTER = Odds((50, "{}"), (14, "sin({})"), (14, "{} * {}"), (12, "tanh({})"), (10, "sum({})"))


@dataclass(frozen=True, slots=True)
class LinalgProgram:
    """A matrix program, and the shape and structure that a point needs, by parameter."""

    program: Program
    recipe: Recipe
    arguments: Mapping[str, tuple[Shape, Structure]] = field(default_factory=dict)


@functools.cache
def _recipes(ops: tuple[str, ...]) -> Odds[tuple[Recipe, ...]]:
    """The recipes of each op in `ops`."""
    return Odds(*((WEIGHTS[op], tuple(r for r in RECIPES if r.op == op)) for op in ops))


def _program(dice: Dice, ops: tuple[str, ...], max_side: int, empty: bool) -> LinalgProgram:
    rows: tuple[Recipe, ...] = dice.weighted(_recipes(ops))
    recipe = dice.pick(rows)
    batch: Shape = ()
    if recipe.second != "vectors":
        batch = draw_batch(dice, empty=empty, least=recipe.second == "broadcast")
    size = draw_size(dice, dice.pick(recipe.aspects), max_side, batch, least=recipe.least)
    return compose(dice, recipe, batch, size, total=dice.chance(_TOTAL))


def compose(
    dice: Dice,
    recipe: Recipe,
    batch: Shape,
    size: tuple[int, int],
    *,
    second: Shape | None = None,
    total: bool = False,
) -> LinalgProgram:
    """The program of a recipe for stacks of matrices of `size`. `dice` decides what the recipe leaves open.

    `second`: the batch axes of b (None: the recipe decides). `total`: return the plain sum of all results.
    """
    shapes: dict[str, Shape] = {"a": size[:1] if recipe.second == "vectors" else (*batch, *size)}
    if recipe.second:
        shapes["b"] = second_shape(dice, recipe.second, batch, size)
        if second is not None:
            shapes["b"] = (*second, *second_shape(dice, recipe.second, (), size)[-2:])
    structure = recipe.structure
    fitting = [h for h in recipe.hostile if h in RECTANGULAR or size[0] == size[1]]
    if fitting and not total and dice.chance(30):
        structure = dice.pick(fitting)
    text = MatrixBlanks(dice, shapes["a"]).fill(recipe.lines)
    before = dice.weighted(_BEFORE) if structure == "general" and recipe.second != "vectors" else "{}"
    lines = [] if before == "{}" else [f"a = {before.format('a', 'a')}"]
    lines += text.splitlines()
    if total:
        lines += MatrixBlanks(dice, shapes["a"]).fill(recipe.aligned).splitlines()
        summands = recipe.results or recipe.outputs
        sums = [f"sum({MatrixBlanks(dice, shapes['a']).fill(y)})" for y in summands]
        lines.append(f"{SUM_OF_ALL} = {' + '.join(sums)}")
        outputs = SUM_OF_ALL
    else:
        outputs = ", ".join(_outputs(dice, recipe, shapes["a"]))
    program = written({name: Type("float", shape) for name, shape in shapes.items()}, lines, outputs)
    structures: dict[str, Structure] = {"a": structure, "b": "general"}
    return LinalgProgram(program, recipe, {k: (s, structures[k]) for k, s in shapes.items()})


def _outputs(dice: Dice, recipe: Recipe, shape: Shape) -> list[str]:
    """All or some of the recipe's outputs, without those that are constant."""
    after = dice.weighted(_AFTER)
    moving = [o for o in recipe.outputs if not _is_constant(recipe, o, shape, after)]
    kept = [o for k, o in enumerate(moving) if k == 0 or not dice.chance(40)]
    return [after.format(*[MatrixBlanks(dice, shape).fill(o)] * 2) for o in kept]


def _is_constant(recipe: Recipe, output: str, shape: Shape, after: str) -> bool:
    """Whether an output does not depend on the matrix.

    Such are the squares of an orthonormal factor where they are summed or stand alone, and every output of
    factors with one entry.
    """
    if recipe.op == "lu" and shape[-2] == 1:
        return not re.search(r"\bu\b", output)
    read = [factor for factor in recipe.factors if re.search(rf"\b{factor}\b", output)]
    if shape[-2:] == (1, 1):
        return bool(read) and not re.search(r"\b[rsw]\b", output)
    if not read or output != f"{read[0]} * {read[0]}":
        return False
    return after.startswith("sum(") or shape[-1 if read[0] == "vh" else -2] == 1


def second_shape(dice: Dice, second: str, batch: Shape, size: Shape) -> Shape:
    """The shape of the second parameter, where the first is of stacks of matrices of `size`."""
    columns = 1 + (dice.below(3) + 1) % 3
    match second:
        case "same":
            return (*batch, *size)
        case "vectors":
            return (size[0] if dice.chance(40) else columns,)
        case "vector":
            return size[:1]
        case "broadcast":
            return (*draw_other_batch(dice, batch), size[0], columns)
        case "left":
            return (*batch, columns, size[1])
        case "inner":
            return (*batch, size[1], columns)
        case "any":
            return (*batch, *draw_size(dice, "tall", 3, batch))
    return (*batch, size[0], columns)


class MatrixBlanks(Blanks):
    """The blanks of a recipe whose first parameter has `shape`."""

    rows: ClassVar[Mapping[str, Callable[..., object]]] = {
        "norm": lambda b: b.dice.pick(NORMS),
        "order": lambda b: b.dice.pick(NORM_ORDERS[: 3 if 0 in b.shape else None]),
        "axis": lambda b: b.dice.pick(("None", "-1", "0")),
        "n": lambda b: b.dice.pick(POWERS),
        "p": lambda b: b.dice.pick(POWERS[:4]),
        "k": lambda b: b.dice.pick((0, 1, -1)),
        "trips": lambda b: b.dice.pick((1, 2, 0, 3)),
        "d": lambda b: f"array({[_apart(b.dice, k) for k in range(min(b.shape[-2:]))]})",
        "eye": lambda b: np.eye(b.shape[-2]).tolist(),
        "T": lambda b, of: _transposed(of, b.shape),
        "H": lambda b, of: f"conj({_transposed(of, b.shape)})",
        "row": lambda b, of: f"reshape({of}, {(*b.shape[:-2], 1, min(b.shape[-2:]))})",
        "head": lambda b, of: f"{of}[{', '.join(f'0:{n}' for n in (*b.shape[:-2], 1, min(b.shape[-2:])))}]",
    }


def _apart(dice: Dice, k: int) -> float:
    """The `k`-th of a sequence of numbers with random signs and distinct absolute values."""
    sign = -1 if dice.below(2) else 1
    return sign * (4 + dice.below(3) + 3 * k) / 8


def _transposed(name: str, shape: Shape) -> str:
    """The text of `name`, an array like one of `shape`, with the last two axes swapped."""
    return f"permute_dims({name}, axes={(*range(len(shape) - 2), len(shape) - 1, len(shape) - 2)})"


def point_of(dice: Dice, program: LinalgProgram, precision: Precision) -> Inputs:
    """Matrices of the shapes and structures that the program needs."""
    inputs = {}
    for name, (shape, structure) in program.arguments.items():
        if len(shape) > 1:
            inputs[name] = draw_matrix(dice, shape, structure, precision)
        else:
            inputs[name] = draw_matrix(dice, (*shape, 1), "general", precision).reshape(shape)
    return inputs


OPS = tuple(dict.fromkeys(recipe.op for recipe in RECIPES))
"""The ops that the programs are about."""


def _checked(ops: tuple[str, ...] | None, max_side: int) -> tuple[str, ...]:
    if ops is not None:
        check_choices("ops", ops, OPS)
    check_int("max_side", max_side, 2)
    return OPS if ops is None else ops


@st.composite
def linalg_programs(
    draw: Draw, *, ops: tuple[str, ...] | None = None, max_side: int = 6, empty: bool = True
) -> Program:
    """Matrix programs: one op or a few, on stacks of matrices with sides up to `max_side`. The outputs do not
    depend on the signs that a decomposition is free to choose.

    `ops`: the ops that the programs are about (None: all). `empty`: allow empty batches. Shrinks towards
    `inv` of a 2 x 2 matrix.
    """
    return observed(_program(Dice(draw), _checked(ops, max_side), max_side, empty).program, "linalg")


@st.composite
def linalg_cases(
    draw: Draw,
    *,
    ops: tuple[str, ...] | None = None,
    precisions: tuple[Precision, ...] = PRECISIONS,
    max_side: int = 6,
    max_order: int = 2,
    empty: bool = True,
    points: int | None = None,
) -> GeneratedCase:
    """Cases over `linalg_programs`, with points of the structure that the program is defined for.

    `points`: how many (None: one, sometimes two). Shrinks towards the gradient of `inv` of a 2 x 2 matrix in
    the first of `precisions`.
    """
    check_asked(precisions, max_order)
    dice = Dice(draw)
    program = _program(dice, _checked(ops, max_side), max_side, empty)
    observed(program.program, "linalg")
    precision = draw_precision(dice, precisions, 30)
    names = tuple(program.arguments)
    wrt = names if len(names) == 1 or not dice.chance(40) else (dice.pick(names),)
    modes = draw_modes(dice, max_order)
    count = points or (1 if math.prod(program.arguments["a"][0]) > _LARGE or not dice.chance(40) else 2)
    drawn = tuple(point_of(dice, program, precision) for _ in range(count))
    return GeneratedCase(program.program, drawn, wrt, precision, modes)


_LARGE = 20
"""Programs with larger inputs get one point only."""
