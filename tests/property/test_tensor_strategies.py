"""Tensor programs are well-typed and finite, depend on what is differentiated, reach every goal, and are
nothing but their seed.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis.errors import InvalidArgument

from gradfuzz.programs import Call, parse, to_text, typecheck, walk
from gradfuzz.programs.arithmetic.numpy_namespace import NumpyNamespace
from gradfuzz.programs.evaluation.interpret import interpret
from gradfuzz.strategies import FAMILIES, GeneratedCase, draw_many, tensor_cases, tensor_programs
from gradfuzz.strategies.drawing.dice import Plain
from gradfuzz.strategies.drawing.shape import draw_array
from gradfuzz.strategies.tensor.blanks import BlankArgument, fits
from gradfuzz.strategies.tensor.program import TensorProgram, compose_tensor, is_constant, tensor_point
from gradfuzz.strategies.tensor.recipes import TENSOR_OPS, TENSOR_RECIPES, TensorRecipe

CASES = 800


@pytest.fixture(scope="module")
def drawn() -> list[GeneratedCase]:
    return draw_many(tensor_cases(precisions=("float64", "float32")), CASES, 0)


def outputs(case: GeneratedCase, point: Any) -> tuple[Any, ...]:
    inputs = {name: v[()] if v.dtype.kind == "f" else v if v.shape else v.item() for name, v in point.items()}
    return tuple(interpret(case.program, inputs, NumpyNamespace(case.precision)))


def test_programs_are_well_typed_and_finite(drawn: list[GeneratedCase]) -> None:
    finite = points = 0
    for case in drawn:
        typed = typecheck(case.program)
        assert parse(to_text(case.program)) == case.program
        for point in case.points:
            assert [(p.name, p.type.sizes) for p in case.program.params] == [
                (n, v.shape) for n, v in point.items()
            ]
            values = outputs(case, point)
            assert [np.shape(y) for y in values] == [t.shape for t in typed.outputs]
            finite += all(bool(np.all(np.isfinite(y))) for y in values)
            points += 1
    assert finite >= 0.98 * points


def test_no_draw_is_thrown_away(drawn: list[GeneratedCase]) -> None:
    assert len(drawn) == CASES
    assert len({to_text(case.program) for case in drawn}) > 0.9 * CASES


def test_every_goal_is_reached(drawn: list[GeneratedCase]) -> None:
    family = FAMILIES["tensor"]
    counts = Counter(goal for case in drawn for goal in family.reached(case))
    assert set(counts) == set(family.goals)


def test_every_op_of_the_recipes_is_in_their_text() -> None:
    for recipe in TENSOR_RECIPES:
        program = compose_tensor(Plain(), recipe, (2, 1, 4) if recipe.op == "conv" else (2, 3)).program
        assert recipe.op in {n.op for n in walk(program) if isinstance(n, Call)}, recipe.text


def test_shapes_of_arrays(seed: int) -> None:
    shapes = {draw_array(dice) for dice in (_Random(seed + k) for k in range(400))}
    assert {len(s) for s in shapes} == {0, 1, 2, 3, 4}
    assert any(0 in s for s in shapes)
    assert all(0 not in draw_array(_Random(seed + k), empty=False) for k in range(50))


class _Random(Plain):
    """Decisions from NumPy's generator."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._rng = np.random.default_rng(seed)

    def below(self, n: int) -> int:
        return int(self._rng.integers(n))


@pytest.mark.parametrize("recipe", TENSOR_RECIPES, ids=lambda r: f"{r.op}: {r.text.splitlines()[0][:40]}")
def test_recipes_fit_every_shape_that_they_want(recipe: TensorRecipe, seed: int) -> None:
    for k in range(12):
        dice = _Random(seed + k)
        shape = draw_array(dice)
        if recipe.op == "conv":
            shape = (1, 2, *shape[:2], 3)[:4]
        if fits(recipe.want, shape):
            program = compose_tensor(dice, recipe, shape)
            y = typecheck(program.program).outputs[0].sizes
            assert y == shape or not recipe.keeps
            tensor_point(dice, program, "float64")


def test_what_is_constant_is_known() -> None:
    def program(text: str, **arguments: BlankArgument) -> TensorProgram:
        return TensorProgram(parse(text), (), arguments)

    one = BlankArgument((3,))
    assert is_constant(program('def f(a: "float[3]"):\n    return sum(softmax(a))', a=one))
    assert is_constant(program('def f(a: "float[3]"):\n    return where(a > 0.0, 1.0, 1.0)', a=one))
    assert not is_constant(program('def f(a: "float[3]"):\n    return softmax(a)', a=one))
    both = program('def f(a: "float[3]", b: "float[3]"):\n    return a * 0.0 + b', a=one, b=one)
    assert is_constant(both, ("a",))
    assert not is_constant(both, ("a", "b"))


def test_the_objective_of_a_case_is_not_constant(drawn: list[GeneratedCase]) -> None:
    """At the points themselves a selection may pass nothing on; over a whole draw that is rare."""
    still, rng = 0, np.random.default_rng(0)
    for case in drawn[:300]:
        moved = {
            name: v + rng.uniform(-0.25, 0.25, v.shape).astype(v.dtype) if name in case.wrt else v
            for name, v in case.points[0].items()
        }
        pairs = list(zip(outputs(case, case.points[0]), outputs(case, moved), strict=True))
        has_entries = all(v.size for n, v in moved.items() if n in case.wrt) and any(
            np.size(y) for y, _ in pairs
        )
        still += has_entries and all(np.array_equal(a, b, equal_nan=True) for a, b in pairs)
    assert still <= 15


def test_a_shorter_stream_is_the_beginning_of_a_longer_one(drawn: list[GeneratedCase]) -> None:
    again = draw_many(tensor_cases(precisions=("float64", "float32")), 20, 0)
    assert [to_text(c.program) for c in again] == [to_text(c.program) for c in drawn[:20]]
    for a, b in zip(again, drawn, strict=False):
        assert all(np.array_equal(a.points[0][n], b.points[0][n]) for n in a.points[0])


def test_a_program_about_given_ops(seed: int) -> None:
    for program in draw_many(tensor_programs(ops=("conv", "sort"), empty=False), 30, seed):
        assert {"conv", "sort"} & {n.op for n in walk(program) if isinstance(n, Call)}
        assert all(n != 0 for p in program.params for n in p.type.shape)


def test_what_cannot_be_is_said() -> None:
    for wrong in (
        lambda: tensor_programs(ops=("inv",)),
        lambda: tensor_programs(ops=()),
        lambda: tensor_cases(max_order=4),
        lambda: tensor_cases(precisions=()),
    ):
        with pytest.raises(InvalidArgument):
            draw_many(wrong(), 1, 0)
    assert len(TENSOR_OPS) > 40
