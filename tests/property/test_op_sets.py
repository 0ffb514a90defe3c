"""Programs of some ops alone: nothing else occurs in them, and each op that is asked for does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from gradfuzz.programs import FLOAT, INT, Block, Call, Expr, Program, Type, parse, to_text, typecheck, walk
from gradfuzz.programs.language.functions import FUNCTIONS
from gradfuzz.programs.language.typecheck import expression_type
from gradfuzz.strategies import draw_many, expressions, loop_bodies, loops, points, programs
from gradfuzz.strategies.drawing.op_set import COMPARISONS, LOOP_OPS
from gradfuzz.strategies.inputs.point import defined

SETS: tuple[tuple[str, ...], ...] = (
    ("add", "multiply", "sin"),
    ("multiply",),
    ("subtract", "negative"),
    ("divide", "tanh"),
    ("sin", "cos"),
    ("pow", "sin"),
    ("maximum", "where", "greater_equal", "less"),
    ("add", "less", "multiply", "exp", "log", "sqrt", "tan", "abs", "sign"),
    ("multiply", "index"),
    ("add", "multiply", "index", "index_update", "remainder"),
    ("multiply", "sum", "matmul", "permute_dims"),
    ("add", "less", "logical_and", "multiply", "mean", "broadcast_to"),
    ("add", "prod", "stack", "index", "flip", "equal"),
    ("minimum", "astype", "less_equal", "integer_pow", "cumulative_sum", "sum", "concat", "reshape"),
)
VECTORS = {
    "x": FLOAT,
    "v": Type("float", (3,)),
    "m": Type("float", (2, 2)),
    "e": Type("float", (0,)),
    "n": INT,
}


def ops_in(drawn: Program | Block | Expr) -> set[str]:
    return {node.op for node in walk(drawn) if isinstance(node, Call)}


@pytest.mark.slow
@pytest.mark.parametrize("ops", SETS, ids="-".join)
def test_only_these_ops_occur(ops: tuple[str, ...], seed: int) -> None:
    drawn = draw_many(loops(ops=ops), 200, seed)
    for program in drawn:
        assert ops_in(program) <= set(ops), to_text(program)
        assert typecheck(program).outputs
        assert parse(to_text(program)) == program
        assert any(p.type.is_float for p in program.params)
    valued = [
        defined(program, point) for program in drawn[:30] for point in draw_many(points(program), 1, seed)
    ]
    assert sum(valued) >= 27


@pytest.mark.parametrize("ops", SETS, ids="-".join)
def test_bodies_and_expressions_too(ops: tuple[str, ...], seed: int) -> None:
    types = {name: t for name, t in VECTORS.items() if t.is_float}
    bodies = loop_bodies(
        carries={"h": Type("float", (3,)), "acc": FLOAT}, names=types, exits=("break", "continue"), ops=ops
    )
    drawn: list[Any] = [*draw_many(loop_bodies(ops=ops), 60, seed), *draw_many(bodies, 60, seed)]
    for shape in ((), (3,), (2, 2), (4,), (0,)):
        for expr in draw_many(expressions(names=VECTORS, shape=shape, raw=("x",), ops=ops), 40, seed):
            assert expression_type(expr, VECTORS) == Type("float", shape)
            drawn.append(expr)
    assert set().union(*map(ops_in, drawn)) <= set(ops)


@pytest.mark.parametrize("op", LOOP_OPS)
def test_every_op_is_drawn_that_is_asked_for(op: str) -> None:
    """With a few others that many need."""
    ops = tuple({"multiply", "index", "sum", "less", "where", "stack", op})
    assert any(
        op in ops_in(program) for seed in range(20) for program in draw_many(loops(ops=ops), 100, seed)
    )


def test_all_ops_are_those_of_no_set(seed: int) -> None:
    every = tuple(dict.fromkeys((*LOOP_OPS, *FUNCTIONS)))
    assert draw_many(loops(ops=every), 100, seed) == draw_many(loops(), 100, seed)
    assert set().union(*map(ops_in, draw_many(loops(), 1000, 0))) <= set(every)


@pytest.mark.parametrize(
    "ops", [("divide", "tanh"), ("pow", "sin", "cos"), ("sqrt", "add"), ("exp", "subtract")], ids="-".join
)
def test_every_op_is_drawn_even_of_very_few(ops: tuple[str, ...]) -> None:
    assert set().union(*map(ops_in, draw_many(loops(ops=ops), 200, 0))) == set(ops)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: loops(ops=()), "ops=() give a tuple 'multiply' more"),
        (lambda: loops(ops=("sine",)), "ops=('sine',) 'sin'"),
        (lambda: loops(ops=("cholesky", "add")), "'cholesky' 'cosh' more"),
        (lambda: loops(ops="add"), "ops='add' tuple"),
        (lambda: loops(ops=["add"]), "ops=['add'] tuple"),
        (lambda: loops(ops=COMPARISONS), "ops=('greater', no next value add one of 'multiply'"),
        (lambda: loop_bodies(ops=("exp", "sum")), "ops=('exp', 'sum') 'add'"),
        (lambda: expressions(ops=("less",)), "ops=('less',) 'sin'"),
        (lambda: loops(ops=("multiply", "add"), forms=("while", "repeat")), "'while' 'repeat' 'add' 'less'"),
        (
            lambda: programs(ops=("multiply",)),
            "ops=('multiply',) families=('loops', only families=(\"loops\",)",
        ),
    ],
)
def test_a_set_that_cannot_be_is_named(make: Callable[[], st.SearchStrategy[Any]], words: str) -> None:
    @given(make())
    def draws(_: Any) -> None: ...

    with pytest.raises(InvalidArgument) as caught:
        draws()
    for word in words.split():
        assert word in str(caught.value)


def test_nothing_else_is_drawn_by_programs(seed: int) -> None:
    drawn = draw_many(programs(families=("loops",), ops=("add", "sin")), 50, seed)
    assert all(ops_in(p) <= {"add", "sin"} for p in drawn)


@pytest.mark.parametrize(
    "ops", [("multiply",), ("sin",), ("add", "multiply", "sin", "index", "less")], ids="-".join
)
def test_hypothesis_finds_nothing_unhealthy(ops: tuple[str, ...]) -> None:
    """No filter, nothing slow, no large draws; and the call that a strategy shows makes it again."""
    strategy = loops(ops=ops)

    @settings(max_examples=50, database=None, derandomize=True, suppress_health_check=())
    @given(strategy)
    def draws(program: Program) -> None:
        assert ops_in(program) <= set(ops)

    draws()
    assert repr(strategy) == f"loops(ops={ops!r})"
    assert draw_many(eval(repr(strategy), {"loops": loops}), 5, 1) == draw_many(strategy, 5, 1)
