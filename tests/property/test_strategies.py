"""What holds for everything the strategies draw."""

from __future__ import annotations

import time

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.errors import InvalidArgument

from gradfuzz.programs import (
    FLOAT,
    INT,
    OPS,
    Call,
    Const,
    For,
    Name,
    Param,
    Program,
    Repeat,
    Type,
    While,
    parse,
    to_text,
    typecheck,
    walk,
)
from gradfuzz.programs.arithmetic.numpy_namespace import NumpyNamespace
from gradfuzz.programs.evaluation.interpret import interpret
from gradfuzz.programs.language.syntax import Assign, Break, Continue, If, Return
from gradfuzz.programs.language.typecheck import expression_type
from gradfuzz.programs.text.json_form import from_json, to_json
from gradfuzz.strategies import (
    FAMILIES,
    GeneratedCase,
    cases,
    draw_many,
    expressions,
    loop_bodies,
    loops,
    points,
    programs,
)
from gradfuzz.strategies.inputs.point import defined
from gradfuzz.strategies.loop.facts import ProgramFacts
from tests.shell import python

PROGRAMS = 1000
CASES = 600


@pytest.fixture(scope="module")
def drawn() -> list[Program]:
    return draw_many(loops(), PROGRAMS, 0)


@pytest.fixture(scope="module")
def asked() -> list[GeneratedCase]:
    return draw_many(cases(), CASES, 0)


def ops(program: Program) -> int:
    return sum(isinstance(n, Call) and n.op != "index" for n in walk(program))


# Programs ---------------------------------------------------------------------------------------------------


def test_programs_typecheck_and_are_their_own_text_and_json(drawn: list[Program]) -> None:
    for program in drawn:
        assert typecheck(program).outputs
        assert parse(to_text(program)) == program
        assert from_json(to_json(program)) == program


@pytest.mark.slow
def test_programs_have_a_loop_and_a_float_input_and_read_every_input(drawn: list[Program]) -> None:
    for program in drawn:
        assert any(isinstance(n, (For, While, Repeat)) for n in walk(program))
        assert any(p.type.is_float for p in program.params)
        assert {p.name for p in program.params} <= {n.id for n in walk(program) if isinstance(n, Name)}


def test_programs_are_small(drawn: list[Program]) -> None:
    sizes = sorted(ops(p) for p in drawn)
    print(
        f"ops per program: median {sizes[len(sizes) // 2]}, 9 of 10 up to {sizes[len(sizes) * 9 // 10]}, most"
        f" {sizes[-1]}"
    )
    assert sizes[len(sizes) // 2] <= 8
    assert sizes[len(sizes) * 9 // 10] <= 18
    assert sum(len(ProgramFacts(p).loops) == 1 for p in drawn) > 0.75 * len(drawn)


def test_programs_are_rarely_drawn_twice(drawn: list[Program]) -> None:
    assert len(set(drawn)) > 0.9 * len(drawn)


NOT_DRAWN = {"cofactor", "divide_by_gaps"}
"""The engine's own, in derivatives only."""


def test_every_op_is_drawn(drawn: list[Program], asked: list[GeneratedCase]) -> None:
    others = [
        c
        for name in FAMILIES
        if name != "loops"
        for c in draw_many(FAMILIES[name].cases(("float64",)), 500, 1)
    ]
    found = {
        n.op
        for p in [*drawn, *(c.program for c in [*asked, *others])]
        for n in walk(p)
        if isinstance(n, Call)
    }
    more = draw_many(loops(), 1200, 1) if found < set(OPS) - NOT_DRAWN else []
    found |= {n.op for p in more for n in walk(p) if isinstance(n, Call)}
    assert found == set(OPS) - NOT_DRAWN


@given(
    st.data(),
    st.integers(0, 6),
    st.integers(0, 11),
    st.sampled_from([("for",), ("while",), ("repeat",), ("for", "while", "repeat")]),
)
@settings(max_examples=150)
def test_trips_and_forms_keep_to_their_bounds(
    data: st.DataObject, least: int, more: int, forms: tuple[str, ...]
) -> None:
    most = max(least + more, 1)
    program = data.draw(loops(min_trips=least, max_trips=most, forms=forms, run_time=False, by_value=False))
    facts = ProgramFacts(program)
    for loop in facts.loops:
        assert loop.form in forms
        if loop.outer is None and isinstance(loop.count, int):
            assert min(least, 3 if loop is not facts.top[0] else least) <= loop.count <= most
        assert loop.count not in facts.ints
        assert not loop.by_value or loop.leaves(Break)


@given(st.data())
@settings(max_examples=150)
def test_what_is_switched_off_is_not_drawn(data: st.DataObject) -> None:
    program = data.draw(
        loops(
            max_params=2,
            max_loops=1,
            max_outputs=1,
            arrays=False,
            branches=False,
            exits=False,
            run_time=False,
            by_value=False,
        )
    )
    types = typecheck(program).variables
    assert len(program.params) <= 2
    assert len(ProgramFacts(program).loops) == 1
    assert len(program.result.values) == 1
    assert all(not t.shape for t in types.values())
    assert all(p.type == FLOAT for p in program.params)
    assert not any(isinstance(n, (If, Break, Continue)) for n in walk(program))


def test_one_parameter_is_enough() -> None:
    for program in draw_many(loops(max_params=1), 300, 0):
        assert sum(p.type.is_float for p in program.params) == 1


@given(st.data(), st.booleans())
@settings(max_examples=100)
def test_bodies_fit_the_loop_they_are_put_in(data: st.DataObject, vector: bool) -> None:
    carries = {"acc": FLOAT, "h": Type("float", (3,))} if vector else {"acc": FLOAT}
    body = data.draw(loop_bodies(carries=carries, limit=3, exits=("break", "continue")))
    assert {s.target for s in walk(body) if isinstance(s, Assign)} >= set(carries)
    start = tuple(Assign(n, Name(f"{n}0")) for n in carries)
    params = (*(Param(f"{n}0", t) for n, t in carries.items()), Param("x", FLOAT), Param("y", FLOAT))
    typecheck(
        Program("f", params, (*start, For("i", Const(3), body), Return(tuple(Name(n) for n in carries))))
    )


@given(st.data(), st.sampled_from([(), (2,), (3,), (2, 2), (2, 3)]), st.integers(0, 3))
@settings(max_examples=150)
def test_expressions_have_their_shape_and_a_finite_value(
    data: st.DataObject, shape: tuple[int, ...], depth: int
) -> None:
    names = {"x": FLOAT, "v": Type("float", (3,)), "m": Type("float", (2, 2)), "i": INT}
    expr = data.draw(expressions(names=names, shape=shape, max_depth=depth))
    assert expression_type(expr, names) == Type("float", shape)
    inputs = {
        "x": np.float64(0.7),
        "v": np.array([0.5, -1.5, 2.0]),
        "m": np.array([[0.5, 1.0], [0.25, -2.0]]),
        "i": 2,
    }
    program = Program("f", tuple(Param(n, t) for n, t in names.items()), (Return((expr,)),))
    assert np.all(np.isfinite(interpret(program, inputs, NumpyNamespace("float64"))[0]))


# Points -----------------------------------------------------------------------------------------------------


def test_nearly_every_point_is_in_the_domain_and_every_loop_ends(asked: list[GeneratedCase]) -> None:
    places = [(c.program, p) for c in asked for p in c.points]
    good = sum(defined(program, inputs) for program, inputs in places)
    print(f"finite in float64 at {good} of {len(places)} points")
    assert good >= 0.98 * len(places)


def test_points_have_the_types_of_the_parameters(asked: list[GeneratedCase]) -> None:
    for case in asked:
        for inputs in case.points:
            assert list(inputs) == [p.name for p in case.program.params]
            for p in case.program.params:
                assert inputs[p.name].shape == p.type.shape
                assert inputs[p.name].dtype == (case.precision if p.type.is_float else np.int64)


def test_case_asks_for_float_inputs_in_their_order(asked: list[GeneratedCase]) -> None:
    for case in asked:
        floats = [p.name for p in case.program.params if p.type.is_float]
        assert case.wrt
        assert [n for n in floats if n in case.wrt] == list(case.wrt)
        assert 1 <= len(case.points) <= 4
        assert set(case.modes) <= {"fwd", "rev"}
        assert 1 <= len(case.modes) <= 3


@given(st.data(), st.sampled_from(["float32", "float64", "bfloat16", "float16"]))
def test_a_parameter_keeps_to_the_domain_of_the_ops_that_read_it(data: st.DataObject, precision: str) -> None:
    program = parse("def f(a, b, c, d, e):\n    return log(a) + sqrt(b) * c ** 0.5 + 1.0 / d + e ** -2")
    inputs = data.draw(points(program, precision=precision))
    assert inputs["a"] > 0
    assert inputs["b"] > 0
    assert inputs["c"] > 0
    assert inputs["d"] != 0
    assert inputs["e"] != 0


@given(st.data())
def test_a_trip_count_stays_inside_the_arrays_that_the_counter_indexes(data: st.DataObject) -> None:
    program = parse(
        'def f(v: "float[3]", w: "float[5]", n: "int", flag: "bool"):\n'
        "    acc = 1.0\n"
        "    for i in range(n):\n"
        "        acc = acc * v[i] + w[i]\n"
        "    if flag:\n"
        "        acc = acc * 2.0\n"
        "    return acc"
    )
    inputs = data.draw(points(program))
    assert 0 <= inputs["n"] <= 3
    assert inputs["flag"].dtype == np.bool_
    assert defined(program, inputs)


# Streams ----------------------------------------------------------------------------------------------------

DIGEST = """
import hashlib
from gradfuzz.strategies import cases, draw_many
drawn = draw_many(cases(), 60, 7)
inputs = [[(n, v.dtype, v.tolist()) for p in c.points for n, v in p.items()] for c in drawn]
text = repr([(str(c.program), here, c.wrt, c.modes) for c, here in zip(drawn, inputs)])
print(hashlib.sha256(text.encode()).hexdigest())
"""


def test_draws_depend_on_nothing_but_the_seed() -> None:
    digests = set()
    for hash_seed, extra in (("1", ""), ("2", "import json, sqlite3, gradfuzz.oracles.base\n")):
        digests.add(python("-c", extra + DIGEST, exit_code=0, PYTHONHASHSEED=hash_seed).stdout)
    assert len(digests) == 1


def test_a_shorter_stream_is_the_beginning_of_a_longer_one(drawn: list[Program]) -> None:
    assert draw_many(loops(), 25, 0) == drawn[:25]
    assert draw_many(loops(), 25, 1)[1:] != drawn[1:25]
    assert draw_many(loops(), 0, 0) == []
    assert len(drawn) == PROGRAMS


def test_any_strategy_gives_a_stream() -> None:
    even = st.integers(0, 99).filter(lambda n: n % 2 == 0)
    lists = st.lists(st.sampled_from("abc") | even.map(str), max_size=5)
    drawn = draw_many(lists, 50, 0)
    assert len(drawn) == 50
    assert drawn[0] == []
    assert len({*map(tuple, drawn)}) > 10
    assert all(x in ("a", "b", "c") or int(x) % 2 == 0 for entries in drawn for x in entries)
    assert draw_many(even, 9, 1)[0] == 0
    assert draw_many(st.integers(1, 9).filter(lambda n: n > 9), 3, 0) == []


@given(st.integers(1, 4))
@settings(max_examples=4)
def test_streams_may_be_drawn_inside_a_test(n: int) -> None:
    assert draw_many(programs(), n, 3) == draw_many(programs(), 4, 3)[:n]


def test_drawing_is_cheap() -> None:
    start = time.process_time()
    draw_many(cases(), 300, 5)
    each = (time.process_time() - start) / 300
    print(f"{each * 1000:.1f} ms per case")
    assert each < 0.05, "ten times what it took when this was written"


# Arguments --------------------------------------------------------------------------------------------------

PROGRAM = parse("def f(x):\n    return x")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: loops(min_trips=4, max_trips=2), "min_trips=4, max_trips=2"),
        (lambda: loops(min_trips=-1), "min_trips=-1"),
        (lambda: loops(forms=()), r"forms=\(\)"),
        (lambda: loops(forms=("until",)), "until"),
        (lambda: loops(forms=("repeat",), max_trips=0), "max_trips=0"),
        (lambda: loops(max_params=0), "max_params=0"),
        (lambda: loops(max_loops=0), "max_loops=0"),
        (lambda: loops(max_outputs=0), "max_outputs=0"),
        (lambda: loop_bodies(carries={}), r"carries=\{\}"),
        (lambda: loop_bodies(carries={"x": FLOAT}), "share x"),
        (lambda: loop_bodies(names={"k": INT}), "counter"),
        (lambda: loop_bodies(max_temporaries=-1), "max_temporaries=-1"),
        (lambda: loop_bodies(exits=("return",)), "return"),
        (lambda: expressions(max_depth=-1), "max_depth=-1"),
        (lambda: expressions(names={"b": Type("bool")}), "'b' of type bool"),
        (lambda: expressions(raw=("z",)), "'z'"),
        (lambda: expressions(shape=(-1,)), r"shape=\(-1,\)"),
        (lambda: points(PROGRAM, precision="float8"), "float8"),
        (lambda: points(PROGRAM, max_trips=-2), "max_trips=-2"),
        (lambda: cases(min_points=3, max_points=2), "min_points=3, max_points=2"),
        (lambda: cases(precisions=()), r"precisions=\(\)"),
        (lambda: cases(max_order=4), "max_order=4"),
        (lambda: draw_many(loops(), -1, 0), "count=-1"),
    ],
)
def test_impossible_arguments_are_named(make: object, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        draw_many(make(), 1, 0)  # type: ignore[operator]


def test_a_strategy_shows_the_call_that_rebuilds_it() -> None:
    strategy = loops(max_trips=3, forms=("for",))
    again = eval(repr(strategy), {"loops": loops})
    assert repr(again) == repr(strategy)
    assert draw_many(again, 20, 0) == draw_many(strategy, 20, 0)
    assert (
        repr(cases(programs=loops(max_trips=3), max_order=1))
        == "cases(programs=loops(max_trips=3), max_order=1)"
    )
