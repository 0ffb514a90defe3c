"""Structures: drawn by their form, changed in one part, made, and written into a script."""

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pytest

from gradfuzz.fuzzer.calling.drawing.structures import Drawing, mixed, structure
from gradfuzz.fuzzer.calling.invocation import called
from gradfuzz.fuzzer.findings.calls.code import expression
from gradfuzz.fuzzer.results.call import Argument, Call
from gradfuzz.libraries.detect import library_named
from gradfuzz.strategies.drawing.dice import Seeded

SEEDS = range(40)


class Axes(NamedTuple):
    first: tuple[int, ...]
    second: tuple[tuple[int, int], ...] = ()


def lists(axes: bool) -> Iterator[tuple[int, ...]]:
    yield from ((0,), (1, 0)) if axes else ((5,),)


def drawn(form: str, seed: int, *, is_axes: bool = True) -> Argument:
    array = Argument(array=np.ones(2))
    return structure(form, Drawing(Seeded(str(seed)), (2, 3, 4), is_axes, lists, lambda: array))


def test_tuples_are_literals_of_their_form() -> None:
    found = {ast.literal_eval(drawn("(([int], [int]), int)", seed).literal or "") for seed in SEEDS}
    assert {value[0] for value in found} == {(a, b) for a in ((), (0,), (1, 0)) for b in ((), (0,), (1, 0))}
    assert {value[1] for value in found} == {-1, 0, 1, -2, 2}


def test_a_list_of_pairs_has_often_one_for_each_axis() -> None:
    lengths = [len(ast.literal_eval(drawn("[(int, int)]", seed).literal or "")) for seed in SEEDS]
    assert set(lengths) == {0, 1, 2, 3}
    assert max(set(lengths), key=lengths.count) in (1, 3)


def test_a_structure_with_an_array_is_a_list_of_arguments() -> None:
    array, flag = drawn("(array, bool)", 0).items or ()
    assert array.array is not None
    assert flag.literal in ("True", "False")


def test_a_record_is_made_and_written_as_its_name_says() -> None:
    found = drawn(f"{__name__}.Axes(first=[int])", 3)
    assert found.literal is not None
    assert re.fullmatch(rf"record:{re.escape(__name__)}\.Axes\(first=\(.*\)\)", found.literal)


def test_a_change_is_one_part() -> None:
    old, new = "((0,), (1,), 2)", "((5,), (6,), 7)"
    found = {mixed(Seeded(str(seed)), old, new) for seed in SEEDS}
    assert found == {new, "((5,), (1,), 2)", "((0,), (6,), 2)", "((0,), (1,), 7)"}


def test_a_change_of_a_record_is_one_field() -> None:
    old, new = "record:a.B(x=(0,), y=(1,))", "record:a.B(x=(2, 3), y=(4, 5))"
    found = {mixed(Seeded(str(seed)), old, new) for seed in SEEDS}
    assert found == {new, "record:a.B(x=(2, 3), y=(1,))", "record:a.B(x=(0,), y=(4, 5))"}


def test_what_has_another_form_is_replaced() -> None:
    assert mixed(Seeded("1"), "(0, 1)", "(2,)") == "(2,)"
    assert mixed(Seeded("1"), None, "(2,)") == "(2,)"


def test_a_call_with_a_record_is_made() -> None:
    pytest.importorskip("jax")
    library = library_named("jax")
    numbers = (
        "jax.lax.GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,))"
    )
    call = Call(
        "jax",
        "jax.lax.gather",
        (
            Argument(array=np.arange(6.0).reshape(3, 2)),
            Argument(array=np.array([[2], [0]])),
            Argument(literal=f"record:{numbers}"),
            Argument(literal="(1, 2)"),
        ),
    )
    (rows,) = called(call, library)(library.array(np.arange(6.0).reshape(3, 2)))
    np.testing.assert_array_equal(rows, [[4.0, 5.0], [0.0, 1.0]])
    assert expression(call) == f"jax.lax.gather(x0, jnp.array([[2], [0]], jnp.int64), {numbers}, (1, 2))"
