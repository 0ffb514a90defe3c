"""The strategy for complex programs: complex numbers inside, float parameters and float results.

A complex array is built from two float parameters, its real and its imaginary part. It leaves the program as
two outputs. So a gradient means the same to every library, whatever its sign convention for complex
gradients.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from gradfuzz.programs import Program, Type
from gradfuzz.programs.language.precision import Precision
from gradfuzz.strategies.complex.recipes import COMPLEX_RECIPES, ComplexRecipe
from gradfuzz.strategies.drawing.algebra import written
from gradfuzz.strategies.drawing.dice import Dice, Draw, Odds
from gradfuzz.strategies.drawing.shape import Shape, draw_batch, draw_size
from gradfuzz.strategies.drawing.validation import check_choices, check_int, reject
from gradfuzz.strategies.inputs.complex_matrix import ComplexStructure, draw_complex_matrix
from gradfuzz.strategies.inputs.matrix import draw_matrix
from gradfuzz.strategies.inputs.point import Inputs
from gradfuzz.strategies.linalg.program import MatrixBlanks, second_shape
from gradfuzz.strategies.loop.case import GeneratedCase, check_asked, draw_modes, draw_precision
from gradfuzz.strategies.loop.statistics import observed

_SHAPES: Odds[Shape] = Odds(
    (50, ()), (20, (2,)), (10, (3,)), (8, (2, 2)), (6, (1,)), (4, (2, 1, 3)), (2, (0,))
)
"""Shapes of arrays that are used entry by entry."""
_TOUCHING = 3
"""The largest side of matrices with repeated values, whose reference needs differences (slow)."""
_LARGE = 20
"""Programs with larger inputs get one point only."""


@dataclass(frozen=True, slots=True)
class ComplexProgram:
    """A complex program, the shapes of its float parameters, and the structure that matrix `a` needs."""

    program: Program
    recipe: ComplexRecipe
    shapes: Mapping[str, Shape] = field(default_factory=dict)
    structure: ComplexStructure = "general"


def compose_complex(
    dice: Dice, recipe: ComplexRecipe, batch: Shape, size: tuple[int, int] | None
) -> ComplexProgram:
    """The program of a recipe for matrices of `size`, or (None) for arrays of the shape `batch`."""
    shape = batch if size is None else (*batch, *size)
    structure = recipe.structure
    fitting = [h for h in recipe.hostile if h == "singular" or size is None or size[0] == size[1]]
    if fitting and dice.chance(30):
        structure = dice.pick(fitting)
    arrays = {"a": shape}
    if recipe.second:
        arrays["b"] = second_shape(dice, recipe.second, batch, size or ())
    shapes: dict[str, Shape] = {}
    lines: list[str] = []
    for name, own in arrays.items():
        if recipe.real and name == "a":
            shapes[name] = own
        else:
            shapes |= {f"{name}_re": own, f"{name}_im": own}
            lines.append(f"{name} = complex({name}_re, {name}_im)")
    lines += MatrixBlanks(dice, shape).fill(recipe.lines).splitlines()
    outputs = [MatrixBlanks(dice, shape).fill(text) for text in recipe.reals]
    for k, text in enumerate(recipe.outputs):
        value = MatrixBlanks(dice, shape).fill(text)
        if not value.isidentifier():
            lines.append(f"out{k} = {value}")
            value = f"out{k}"
        outputs += [f"real({value})", f"imag({value})"]
    kept = [text for k, text in enumerate(outputs) if k == 0 or not dice.chance(30)]
    types = {name: Type("float", own) for name, own in shapes.items()}
    return ComplexProgram(written(types, lines, ", ".join(kept)), recipe, shapes, structure)


def complex_point(dice: Dice, program: ComplexProgram, precision: Precision) -> Inputs:
    """Matrices with the structure that the program needs, else with a heavy diagonal or a given condition
    number.

    Entries that are used one by one are multiples of 1/8; at the simplest draw neighbours differ.
    """
    inputs: dict[str, npt.NDArray[Any]] = {}
    apart = itertools.cycle((0, 3, 1, 4, 2))
    for name, shape in program.shapes.items():
        if name in inputs:
            continue
        if len(shape) > 1 and program.recipe.aspects and name == "a":
            inputs[name] = draw_matrix(dice, shape, "general", precision)
        elif len(shape) > 1 and program.recipe.aspects:
            structure = program.structure if name == "a_re" else "general"
            inputs[name], inputs[f"{name[0]}_im"] = draw_complex_matrix(dice, shape, structure, precision)
        else:
            entries = [
                (1 + dice.below(16) + next(apart)) * (-1) ** dice.below(2) / 8
                for _ in range(math.prod(shape))
            ]
            inputs[name] = np.array(entries, precision).reshape(shape)
    return inputs


def _drawn(dice: Dice, recipes: tuple[ComplexRecipe, ...], max_side: int) -> ComplexProgram:
    recipe = dice.pick(recipes)
    if not recipe.aspects:
        return compose_complex(dice, recipe, dice.weighted(_SHAPES), None)
    batch = draw_batch(dice)
    if recipe.structure != "general":
        batch, max_side = batch[-1:], min(max_side, _TOUCHING)
    return compose_complex(dice, recipe, batch, draw_size(dice, dice.pick(recipe.aspects), max_side, batch))


OPS = tuple(dict.fromkeys(recipe.op for recipe in COMPLEX_RECIPES))
"""The ops that the programs are about."""


def _checked(ops: tuple[str, ...] | None, max_side: int) -> tuple[ComplexRecipe, ...]:
    if ops is not None:
        check_choices("ops", ops, OPS)
    check_int("max_side", max_side, 2)
    return _recipes(ops)


@functools.cache
def _recipes(ops: tuple[str, ...] | None) -> tuple[ComplexRecipe, ...]:
    return tuple(r for r in COMPLEX_RECIPES if ops is None or r.op in ops)


@st.composite
def complex_programs(draw: Draw, *, ops: tuple[str, ...] | None = None, max_side: int = 4) -> Program:
    """Programs with complex numbers inside, of float parameters and float results: entrywise ops in loops,
    reductions, linear algebra.

    `ops`: the ops that the programs are about (None: all). Shrinks towards a product of two complex scalars.
    """
    return observed(_drawn(Dice(draw), _checked(ops, max_side), max_side).program, "complex")


@st.composite
def complex_cases(
    draw: Draw,
    *,
    ops: tuple[str, ...] | None = None,
    precisions: tuple[Precision, ...] = ("float64", "float32"),
    max_side: int = 4,
    max_order: int = 2,
) -> GeneratedCase:
    """Cases over `complex_programs`, on matrices with sides up to `max_side`.

    `ops`: the ops that the programs are about (None: all). A "float32" program computes with pairs of
    float32. Shrinks towards a product of two complex scalars.
    """
    recipes = _checked(ops, max_side)
    if not precisions or any(p not in ("float32", "float64") for p in precisions):
        reject(
            f"precisions={precisions!r}: give 'float64', 'float32' or both; complex numbers are pairs of"
            " these"
        )
    check_asked(precisions, max_order)
    dice = Dice(draw)
    program = _drawn(dice, recipes, max_side)
    observed(program.program, "complex")
    precision = draw_precision(dice, precisions, 30)
    names = tuple(program.shapes)
    wrt = names if not dice.chance(30) else tuple(n for n in names if n.startswith(dice.pick(names)[0]))
    modes = draw_modes(dice, max_order)
    count = 1 if sum(map(math.prod, program.shapes.values())) > _LARGE or not dice.chance(60) else 3
    points = tuple(complex_point(dice, program, precision) for _ in range(count))
    return GeneratedCase(program.program, points, wrt, precision, modes)
