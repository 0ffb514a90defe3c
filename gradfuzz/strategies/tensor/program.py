"""The strategy for tensor programs: one to three recipes in sequence, in loops or not; points with ties."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from gradfuzz.errors import EvaluationError
from gradfuzz.programs import Program, Type, typecheck
from gradfuzz.programs.arithmetic.numpy_namespace import NumpyNamespace
from gradfuzz.programs.evaluation.interpret import arguments_of, interpret
from gradfuzz.programs.language.precision import Precision
from gradfuzz.strategies.drawing.algebra import written
from gradfuzz.strategies.drawing.dice import Dice, Draw, Odds, Plain
from gradfuzz.strategies.drawing.shape import MAX_ENTRIES, Shape, draw_array
from gradfuzz.strategies.drawing.validation import check_choices
from gradfuzz.strategies.inputs.point import PRECISIONS, Inputs
from gradfuzz.strategies.loop.case import GeneratedCase, check_asked, draw_modes, draw_precision
from gradfuzz.strategies.loop.statistics import observed
from gradfuzz.strategies.tensor.blanks import BlankArgument, Operand, TensorBlanks, fits
from gradfuzz.strategies.tensor.recipes import TENSOR_OPS, TENSOR_RECIPES, TensorRecipe, Want

_BEFORE = Odds(
    *((52, "{}"), (10, "0.5 * {}"), (8, "-{}"), (10, "{} * {}"), (8, "sin({})")),
    *((6, "log1p({} * {})"), (6, "expm1(0.25 * {})")),
)
_AFTER = Odds((50, "{}"), (14, "sin({})"), (14, "{} * {}"), (10, "tanh({})"), (12, "sum({})"))
_STAGES = Odds((45, 1), (35, 2), (20, 3))
_REPEATED = Odds((40, "sin({})"), (30, "0.5 * {}"), (30, "tanh({})"))
"""An op around a recipe in a loop, so that the carry stays small."""
_TRIPS = (2, 1, 3, 0)
ByOp = Mapping[str, tuple[TensorRecipe, ...]]
"""The recipes of each op."""
_WANTS: tuple[Want, ...] = get_args(Want)
_WORD = re.compile(r"\w+")
_DRAWS = 4
"""How often a program is redrawn whose outputs do not depend on the inputs to differentiate."""


@dataclass(frozen=True, slots=True)
class TensorProgram:
    """A tensor program, the shape of each parameter, and the bound of each int parameter."""

    program: Program
    recipes: tuple[TensorRecipe, ...]
    arguments: Mapping[str, BlankArgument] = field(default_factory=dict)

    @property
    def floats(self) -> tuple[str, ...]:
        """The parameters that can be differentiated."""
        return tuple(name for name, a in self.arguments.items() if a.below is None)


class _Draft:
    """A program while it is written."""

    def __init__(self, dice: Dice, shape: Shape, operand: Operand | None = None) -> None:
        self.dice = dice
        self.operand = operand
        self.arguments: dict[str, BlankArgument] = {"a": BlankArgument(shape)}
        self.lines: list[str] = []
        self.shapes: dict[str, Shape] = {"a": shape}
        self.recipes: list[TensorRecipe] = []

    def parameter(self, argument: BlankArgument) -> str:
        """A new parameter; sometimes an existing one of the same shape."""
        known = [name for name, a in self.arguments.items() if a == argument and name != "a"]
        if known and self.dice.chance(25):
            return self.dice.pick(known)
        letters = "bcdegh" if argument.below is None else "kmnpq"
        name: str = next(
            x for x in (*letters, *(f"{letters[0]}{n}" for n in range(9))) if x not in self.arguments
        )
        self.arguments[name] = argument
        return name

    def assign(self, name: str, text: str) -> None:
        """Adds lines that compute `name`."""
        lines = text.splitlines()
        known = {**self.arguments, **{value: BlankArgument(shape) for value, shape in self.shapes.items()}}
        read = {word: known[word] for word in _WORD.findall(text) if word in known}
        self.shapes[name] = typecheck(_program(read, lines, name)).outputs[0].sizes
        self.lines += lines

    def stage(self, x: str, y: str, recipe: TensorRecipe, *, trips: int | None = None) -> None:
        """Computes `y` from `x` by a recipe. With `trips`, a loop applies the recipe to `y` each time."""
        self.recipes.append(recipe)
        given = x if trips is None else y, self.shapes[x], y, self.parameter, self.operand
        filled = TensorBlanks(self.dice, *given).fill(recipe.text)
        if trips is not None:
            body = self.dice.weighted(_REPEATED).format(f"({filled})")
            filled = f"{y} = {x}\nfor i in range({trips}):\n    {y} = {body}"
        elif "{y}" not in recipe.text:
            filled = f"{y} = {filled}"
        self.assign(y, filled)

    def finished(self, outputs: str) -> TensorProgram:
        program = _program(self.arguments, self.lines, outputs)
        return TensorProgram(program, tuple(self.recipes), self.arguments)


def _program(arguments: Mapping[str, BlankArgument], lines: Sequence[str], outputs: str) -> Program:
    types = {name: Type("float" if a.below is None else "int", a.shape) for name, a in arguments.items()}
    return written(types, lines, outputs)


def compose_tensor(
    dice: Dice, recipe: TensorRecipe, shape: Shape, operand: Operand | None = None
) -> TensorProgram:
    """The program of one recipe alone for an array of `shape`. `dice` decides what the recipe leaves open."""
    draft = _Draft(dice, shape, operand)
    draft.stage("a", "y", recipe)
    return draft.finished("y")


def _shape(dice: Dice, recipe: TensorRecipe, *, empty: bool) -> Shape:
    """A shape from which the recipe can start."""
    if recipe.want == "image":
        spatial = (4, 1) if dice.chance(15) else (3, 3) if dice.chance(30) else (4 - dice.below(2),)
        return (dice.pick((1, 2, 0) if empty else (1, 2)), dice.pick((1, 2)), *spatial)
    shape = draw_array(dice, empty=empty)
    if not fits(recipe.want, shape):
        shape = tuple(n or 2 for n in shape) or (3,)
    return shape


def _draw(dice: Dice, recipes: ByOp, *, empty: bool) -> TensorProgram:
    for _ in range(_DRAWS):
        program = _drawn(dice, recipes, empty=empty)
        if not is_constant(program):
            return program
    return compose_tensor(Plain(), next(r for r in TENSOR_RECIPES if r.op == "multiply"), (3,))


def _drawn(dice: Dice, recipes: ByOp, *, empty: bool) -> TensorProgram:
    first = _pick(dice, recipes)
    draft = _Draft(dice, _shape(dice, first, empty=empty))
    x = "a"
    before = dice.weighted(_BEFORE)
    if before != "{}":
        x = "s"
        draft.assign("s", f"s = {before.format('a', 'a')}")
    names = [x]
    for name in ("t", "u", "v")[: dice.weighted(_STAGES)]:
        recipe = first if name == "t" else _next(dice, draft.shapes[names[-1]])
        trips = dice.pick(_TRIPS) if recipe.keeps and dice.chance(22) else None
        draft.stage(names[-1], name, recipe, trips=trips)
        names.append(name)
    outputs = [dice.weighted(_AFTER).format(*[names[-1]] * 2)]
    if dice.chance(30):  # a further value from the first one, returned or not
        draft.stage(x, "w", _next(dice, draft.shapes[x]))
        if dice.chance(60):
            outputs.append("w")
    elif len(names) > 2 and dice.chance(25):
        outputs.append(names[1])
    return draft.finished(", ".join(outputs))


def _next(dice: Dice, shape: Shape) -> TensorRecipe:
    """A recipe that fits; a large array gets none that makes it larger."""
    wants = tuple(want for want in _WANTS if fits(want, shape))
    return _pick(dice, _fitting(wants, large=math.prod(shape) > MAX_ENTRIES))


@functools.cache
def _fitting(wants: tuple[Want, ...], *, large: bool) -> ByOp:
    return _by_op(tuple(r for r in TENSOR_RECIPES if r.want in wants and not (large and r.op in _GROWING)))


@functools.cache
def _beginnings(ops: tuple[str, ...] | None) -> ByOp:
    return _by_op(_checked(ops))


def _by_op(recipes: tuple[TensorRecipe, ...]) -> ByOp:
    return {op: tuple(r for r in recipes if r.op == op) for op in dict.fromkeys(r.op for r in recipes)}


def _pick(dice: Dice, recipes: ByOp) -> TensorRecipe:
    """An op, all equally likely, then one of its recipes."""
    return dice.pick(recipes[dice.pick(_ops(tuple(recipes)))])


@functools.cache
def _ops(ops: tuple[str, ...]) -> tuple[str, ...]:
    return (*ops, *(op for op in ops if op in _OFTENER))


_OFTENER = ("clip", "conv", "einsum", "permute_dims")
"""Ops that are drawn more often, as more can go wrong: three operands, strides and padding, many subscripts,
many orders.
"""

_GROWING = ("stack", "concat", "broadcast_to", "take", "conv", "einsum")


# Points -----------------------------------------------------------------------------------------------------

Kind = Literal["steps", "fractions", "ties", "equal", "zeros", "large", "small"]
_KINDS: Odds[Kind] = Odds(
    (34, "steps"), (22, "fractions"), (18, "ties"), (6, "equal"), (12, "zeros"), (4, "large"), (4, "small")
)
"""steps: distinct multiples of 1/8; fractions: any numbers; ties: few values, many times; equal: one value;
zeros: steps with zeros; large, small: steps far from 1.
"""
_FEW = (0.5, -1.0, 1.5, 0.25)
_FLOAT64 = NumpyNamespace("float64")
_SCALES: Mapping[str, float] = {"large": 24.0, "small": 2.0**-20}


def tensor_point(
    dice: Dice, program: TensorProgram, precision: Precision, kind: Kind | None = None
) -> Inputs:
    """Arrays for the parameters, all of one kind (None: drawn). "ties" has ties between arrays, too."""
    which = dice.weighted(_KINDS) if kind is None else kind
    rng = np.random.default_rng(dice.below(1 << 16))
    inputs: dict[str, npt.NDArray[Any]] = {}
    for name, argument in program.arguments.items():
        if argument.below is not None:
            inputs[name] = rng.integers(0, argument.below, argument.shape)
        else:
            inputs[name] = np.asarray(_floats(rng, which, argument.shape), precision)
    return inputs


def _floats(rng: np.random.Generator, kind: Kind, shape: Shape) -> npt.NDArray[np.float64]:
    size = math.prod(shape)
    if kind == "ties":
        return rng.choice(_FEW, shape)
    if kind == "equal":
        return np.full(shape, rng.choice(_FEW))
    if kind == "fractions":
        return rng.uniform(-2.0, 2.0, shape)
    steps = np.array([k for k in range(-max(13, size), max(14, size + 1)) if k], np.float64)
    values: npt.NDArray[np.float64] = rng.permutation(steps)[:size].reshape(shape) / 8
    if kind == "zeros" and size:
        values.reshape(-1)[rng.choice(size, min(size, int(rng.integers(1, 3))), replace=False)] = 0.0
    return values * _SCALES.get(kind, 1.0)


def is_constant(program: TensorProgram, wrt: tuple[str, ...] | None = None) -> bool:
    """Whether no output depends on the parameters `wrt` (None: all that can be differentiated), judged at two
    points without ties.

    The sum of a softmax is one example. Where a parameter, or every output, is empty, the answer is False.
    """
    rng = np.random.default_rng(0)
    inputs = {
        name: rng.integers(0, a.below, a.shape) if a.below is not None else rng.uniform(-1.5, 1.5, a.shape)
        for name, a in program.arguments.items()
    }
    names = program.floats if wrt is None else wrt
    if any(0 in program.arguments[name].shape for name in names):
        return False
    moved = {
        name: v + rng.uniform(-0.25, 0.25, v.shape) if name in names else v for name, v in inputs.items()
    }
    try:
        here, there = (_values(program.program, at) for at in (inputs, moved))
    except EvaluationError:
        return False
    pairs = [(a, b) for a, b in zip(here, there, strict=True) if np.size(a)]
    return bool(pairs) and all(np.allclose(a, b, rtol=1e-9, atol=1e-12) for a, b in pairs)


def _values(program: Program, inputs: Inputs) -> tuple[Any, ...]:
    return tuple(interpret(program, arguments_of(inputs), _FLOAT64))


# Strategies -------------------------------------------------------------------------------------------------


def _checked(ops: tuple[str, ...] | None) -> tuple[TensorRecipe, ...]:
    if ops is not None:
        check_choices("ops", ops, TENSOR_OPS)
    return tuple(r for r in TENSOR_RECIPES if ops is None or r.op in ops)


@st.composite
def tensor_programs(draw: Draw, *, ops: tuple[str, ...] | None = None, empty: bool = True) -> Program:
    """Tensor programs: one op or a few on arrays of rank 0 to 4, in loops or not, whose outputs depend on a
    parameter.

    `ops`: the ops that the programs start with (None: all). `empty`: allow axes of size 0. Shrinks towards
    the sum of a 2 x 2 array.
    """
    return observed(_draw(Dice(draw), _beginnings(ops), empty=empty).program, "tensor")


@st.composite
def tensor_cases(
    draw: Draw,
    *,
    ops: tuple[str, ...] | None = None,
    precisions: tuple[Precision, ...] = PRECISIONS,
    max_order: int = 2,
    empty: bool = True,
    points: int | None = None,
) -> GeneratedCase:
    """Cases over `tensor_programs`, at points with ties, zeros and equal entries among ordinary ones.

    `points`: how many (None: one or two). Shrinks towards the gradient of the sum of a 2 x 2 array in the
    first of `precisions`.
    """
    check_asked(precisions, max_order)
    dice = Dice(draw)
    program = _draw(dice, _beginnings(ops), empty=empty)
    observed(program.program, "tensor")
    precision = draw_precision(dice, precisions, 30)
    names = program.floats
    wrt = names if len(names) == 1 or not dice.chance(40) else (dice.pick(names),)
    wrt = names if wrt != names and is_constant(program, wrt) else wrt
    modes = draw_modes(dice, max_order)
    drawn = [tensor_point(dice, program, precision) for _ in range(points or 1 + dice.chance(50))]
    return GeneratedCase(program.program, tuple(drawn), wrt, precision, modes)
