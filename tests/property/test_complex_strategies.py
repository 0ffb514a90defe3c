"""What holds for every complex program that is drawn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis.errors import InvalidArgument

from gradfuzz.programs import Call, Program, parse, to_text, typecheck, walk
from gradfuzz.programs.arithmetic.numpy_namespace import NumpyNamespace
from gradfuzz.programs.evaluation.interpret import interpret
from gradfuzz.programs.text.json_form import from_json, to_json
from gradfuzz.strategies import FAMILIES, GeneratedCase, draw_many
from gradfuzz.strategies.complex.program import OPS, complex_cases

CASES = 800


@pytest.fixture(scope="module")
def drawn() -> list[GeneratedCase]:
    return draw_many(complex_cases(), CASES, 0)


def test_programs_take_and_return_floats_and_are_complex_inside(drawn: list[GeneratedCase]) -> None:
    for case in drawn:
        typed = typecheck(case.program)
        assert all(p.type.is_float for p in case.program.params)
        assert all(t.is_float for t in typed.outputs)
        assert any(t.is_complex for t in typed.variables.values()) or "eig" in to_text(case.program)
        assert parse(to_text(case.program)) == case.program
        assert from_json(to_json(case.program)) == case.program


def test_points_are_in_the_domain(drawn: list[GeneratedCase]) -> None:
    finite = 0
    for case in drawn:
        for point in case.points:
            values = interpret(case.program, point, NumpyNamespace("float64"))
            finite += all(bool(np.all(np.isfinite(v))) for v in values)
    assert finite >= 0.98 * sum(len(c.points) for c in drawn)


def test_every_goal_is_reached(drawn: list[GeneratedCase]) -> None:
    family = FAMILIES["complex"]
    assert sorted(set(family.goals) - {goal for case in drawn for goal in family.reached(case)}) == []


def test_programs_are_drawn_again_from_the_same_seed() -> None:
    once, again = (draw_many(complex_cases(max_side=3), 20, 7) for _ in range(2))
    for a, b in zip(once, again, strict=True):
        assert (a.program, a.wrt, a.precision, a.modes) == (b.program, b.wrt, b.precision, b.modes)
        for p, q in zip(a.points, b.points, strict=True):
            assert {n: v.tobytes() for n, v in p.items()} == {n: v.tobytes() for n, v in q.items()}


def test_ops_choose_programs() -> None:
    programs: list[Program] = [c.program for c in draw_many(complex_cases(ops=("eigvals",)), 20, 0)]
    assert all("eigvals(a)" in to_text(p) for p in programs)


@pytest.mark.parametrize(
    "wrong",
    [{"ops": ("cosine",)}, {"ops": ()}, {"precisions": ("bfloat16",)}, {"max_side": 1}, {"max_order": 4}],
    ids=str,
)
def test_wrong_arguments_are_named(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidArgument, match=str(next(iter(wrong)))):
        draw_many(complex_cases(**wrong), 1, 0)  # type: ignore[arg-type]


def test_all_ops_that_only_complex_numbers_need_are_drawn(drawn: list[GeneratedCase]) -> None:
    found = {n.op for case in drawn for n in walk(case.program) if isinstance(n, Call)}
    assert {"complex", "conj", "real", "imag", "abs", "eig", "eigvals"} <= found
    assert set(OPS) <= found
