"""What do the strategies shrink to?"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, find, settings

from gradfuzz.programs import Assign, Break, Call, Continue, Name, Program, parse, walk
from gradfuzz.programs.language.printer import expression_text
from gradfuzz.programs.language.program import to_text
from gradfuzz.strategies import cases, draw_many, expressions, loop_bodies, loops, points
from gradfuzz.strategies.loop.facts import LoopFacts, ProgramFacts

SETTINGS = settings(
    report_multiple_bugs=False,
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=2000,
    suppress_health_check=list(HealthCheck),
)


def ops(program: Program) -> int:
    return sum(isinstance(n, Call) and n.op != "index" for n in walk(program))


def times_parameter(loop: LoopFacts) -> bool:
    """The body multiplies the carry by a parameter."""
    return any(
        c.op == "multiply" and Name("acc") in c.args and {Name("x"), Name("y")} & set(c.args)
        for c in loop.calls
    )


def any_loop(test: Callable[[LoopFacts], object]) -> Callable[[Program], bool]:
    return lambda program: any(test(loop) for loop in ProgramFacts(program).loops)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wanted", "most_loops", "most_trips", "most_ops"),
    [
        pytest.param(any_loop(times_parameter), 1, 0, 1, id="carry times a parameter"),
        pytest.param(
            any_loop(lambda x: times_parameter(x) and isinstance(x.count, int) and x.count >= 2),
            1,
            2,
            1,
            id="twice",
        ),
        pytest.param(any_loop(lambda x: x.leaves(Break)), 1, 0, 3, id="break"),
        pytest.param(any_loop(lambda x: x.leaves(Continue)), 1, 0, 3, id="continue"),
        pytest.param(any_loop(lambda x: x.outer is not None), 2, 0, 3, id="nested"),
        pytest.param(
            any_loop(lambda x: x.form == "repeat" and x.temporaries), 1, 1, 4, id="repeat with a temporary"
        ),
        pytest.param(any_loop(lambda x: x.by_value), 1, 8, 4, id="stops by value"),
        pytest.param(any_loop(lambda x: x.by_counter("index")), 1, 1, 2, id="reads by the counter"),
        pytest.param(any_loop(lambda x: any(c.op == "stack" for c in x.calls)), 1, 0, 4, id="vector rebuilt"),
    ],
)
def test_programs_shrink_to_little_more_than_what_is_wanted(
    wanted: Callable[[Program], bool], most_loops: int, most_trips: int, most_ops: int
) -> None:
    program = find(loops(), wanted, settings=SETTINGS)
    print(to_text(program))
    counts = [loop.count for loop in ProgramFacts(program).loops]
    assert len(counts) <= most_loops
    assert all(isinstance(n, int) and n <= most_trips for n in counts)
    steps = sum(
        not isinstance(n, str) and loop.form != "for"
        for n, loop in zip(counts, ProgramFacts(program).loops, strict=True)
    )
    assert ops(program) - 2 * steps <= most_ops, "the counter of a while loop takes two ops"


def test_the_simplest_draws() -> None:
    (program,) = draw_many(loops(min_trips=3), 1, 0)
    assert (
        to_text(program)
        == "def f(x):\n    acc = 1.0\n    for i in range(3):\n        acc = acc * x\n    return acc\n"
    )
    (body,) = draw_many(loop_bodies(), 1, 0)
    assert body == (Assign("acc", Call("multiply", (Name("acc"), Name("x")))),)
    assert draw_many(expressions(), 1, 0) == [Name("x")]


def test_an_op_shrinks_to_itself_on_a_name() -> None:
    expr = find(
        expressions(),
        lambda e: any(isinstance(n, Call) and n.op == "log" for n in walk(e)),
        settings=SETTINGS,
    )
    assert expression_text(expr) in ("log(1.0 + x * x)", "x * log(exp(sin(x)))", "x * log(2.0 + sin(x))")


def test_points_shrink_to_one_half() -> None:
    program = parse('def f(x, v: "float[2]", n: "int"):\n    return x + sum(v) * n')
    point = find(points(program), lambda p: p["n"] > 1, settings=SETTINGS)
    assert {name: value.tolist() for name, value in point.items()} == {"x": 0.5, "v": [0.5, 0.5], "n": 2}
    negative = find(points(program), lambda p: p["x"] < 0, settings=SETTINGS)
    assert negative["x"] == -0.5


@pytest.mark.slow
def test_cases_shrink_to_one_point_in_reverse_mode() -> None:
    case = find(
        cases(programs=loops(max_loops=1, arrays=False)),
        lambda c: len(c.program.params) == 2,
        settings=SETTINGS,
    )
    assert len(case.points) == 1
    assert case.modes == ("rev",)
    assert case.precision == "float64"
    assert set(case.wrt) == {p.name for p in case.program.params if p.type.is_float}
