"""The planted bugs do what the reports say, no more and no less."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradfuzz.engine import Rules, compile, derivative
from gradfuzz.errors import UnknownTargetError
from gradfuzz.oracles.mutants.registry import MUTANTS
from gradfuzz.oracles.registry import available, names, resolve
from gradfuzz.programs import FLOAT, Program, Type, loop_program, parse
from gradfuzz.testing.check import check_program

DATA = Path(__file__).parents[2] / "data"
GOLDEN = json.loads((DATA / "nx_while.json").read_text())
SWIFT = [
    (case, list(rows))
    for case, rows in itertools.groupby(
        json.loads((DATA / "swift_loops.json").read_text())["rows"], key=lambda row: tuple(row[:4])
    )
]
"""Each loop that Swift was asked about (its body, form, start and trips), and the rows of its points."""
RULES = {m.id: m.rules for m in MUTANTS}


def _gradient(
    program: Program, rules: Rules, *inputs: float, precision: Any = "float64", order: int = 1
) -> Any:
    names = tuple(p.name for p in program.params)
    extra = [1.0] if order == 1 else [1.0] * (1 + len(names))
    function = compile(
        derivative(program, wrt=names, modes=("rev",) * order, rules=rules), precision=precision
    )
    return function(*inputs, *extra)[1:]


def _program(row: dict[str, Any], **options: Any) -> Program:
    start, _, body = row["body"].rpartition(": ")
    init = {"acc": "x"} if start else None
    return loop_program(body.replace("^", "**"), trips=row["n"], init=init, params={"x": FLOAT}, **options)


def _near(got: float, recorded: float, unit: float = 2.0**-24) -> bool:
    """Equal to the rounding of a handful of operations, of float32 unless `unit` says otherwise: the
    recording and the mutant order them differently.
    """
    return abs(got - recorded) <= 8 * unit * max(abs(got), abs(recorded), 2.0**-10)


@pytest.mark.parametrize("row", GOLDEN["rows"], ids=lambda r: f"{r['body']} x={r['x']} n={r['n']}")
def test_m1_is_what_nx_returned(row: dict[str, Any]) -> None:
    assert _near(_gradient(_program(row), RULES["M1"], row["x"], precision="float32")[0], row["nx_gradient"])
    assert _near(
        _gradient(_program(row), Rules(), row["x"], precision="float32")[0], row["nx_fixed_gradient"]
    )


def test_m1_at_second_order_and_per_variable() -> None:
    for row in GOLDEN["second_order"]:
        got = _gradient(loop_program("acc*x", trips=row["n"]), RULES["M1"], row["x"], order=2)[0]
        assert _near(got, row["second"])
    for row in GOLDEN["per_variable"]:
        got = _gradient(loop_program(row["body"], trips=row["n"]), RULES["M1"], row["x"], row["y"])
        assert all(_near(g, r) for g, r in zip(got, row["grad_x_grad_y"], strict=True))


def test_swift_was_asked_about_all_three_forms() -> None:
    assert sum(len(rows) for _, rows in SWIFT) == 936
    assert {case[1] for case, _ in SWIFT} == {"repeat", "while", "for"}


@pytest.mark.parametrize(
    ("case", "rows"), SWIFT, ids=lambda c: " ".join(map(str, c)) if type(c) is tuple else ""
)
def test_m2_is_what_swift_returned(case: tuple[Any, ...], rows: list[list[Any]]) -> None:
    """The references prove what the engine answers to the same questions."""
    body, form, start, trips = case
    init = {"acc": "x"} if start == "x" else None
    program = loop_program(body, trips=trips, loop=form, init=init, params={"x": FLOAT})
    for *_, x, _, swift, _ in rows:
        assert _near(_gradient(program, RULES["M2"], x)[0], swift, 2.0**-53)
    check_program(program, "engine", *({"x": row[4]} for row in rows), modes="rev", strict=True)


@pytest.mark.parametrize(
    ("mutant", "text", "x", "wrong", "right"),
    [
        # M2 at n = 2, adj(t) of the first trip back is 1 and stays: x_bar = x + (1 + x) against 2x
        ("M2", "acc*x", 0.5, 2.0, 1.0),
        # M3: both steps back read acc = x, the last trip's: x_bar = x + x * x against 2x
        ("M3", "acc*x", 0.5, 0.75, 1.0),
        # M4: only the last trip counts: x_bar = x
        ("M4", "acc*x", 0.5, 0.5, 1.0),
    ],
)
def test_two_trips_by_hand(mutant: str, text: str, x: float, wrong: float, right: float) -> None:
    program = loop_program(text, trips=2, loop="repeat")
    assert _gradient(program, RULES[mutant], x)[0] == wrong
    assert _gradient(program, Rules(), x)[0] == right


@pytest.mark.parametrize("loop", ["for", "while"])
@pytest.mark.parametrize("text", ["acc*x", "t = acc*x; acc = sin(t) + t"])
def test_m2_is_right_where_the_test_comes_first(loop: Any, text: str) -> None:
    program = loop_program(text, trips=3, loop=loop)
    assert _gradient(program, RULES["M2"], 0.5) == _gradient(program, Rules(), 0.5)


def test_m2_in_arrays_is_what_it_is_in_their_entries() -> None:
    program = loop_program("acc*x", trips=3, loop="repeat", params={"x": Type("float", (2,))})
    function = compile(derivative(program, wrt=("x",), modes=("rev",), rules=RULES["M2"]))
    x = np.asarray([0.5, -1.5])
    assert (function(x, np.ones(2))[1] == 1 + 4 * x + 3 * x * x).all(), "3 x^2 is right"


@pytest.mark.parametrize(
    ("body", "swift"),
    [
        (
            "t = acc * x; acc = t * x",
            [(1.0, -2.5), (2.5, -12.8125), (5.6875, -58.310546875), (12.9375, -259.41650390625)],
        ),
        (
            "t = acc * x; u = t + sin(t); acc = u * t",
            [
                (1.9182168195493894, -3.843137572349672),
                (6.396836591432185, -45.42755521480379),
                (10.32666238762741, -3234.616847683011),
                (11.03440622909161, -1162829.0790378186),
            ],
        ),
    ],
)
def test_m2_reads_the_names_of_a_body_as_swift_does(body: str, swift: list[tuple[float, float]]) -> None:
    """What Swift 6.0.3 returned at 0.5 and -1.25, for one to four trips."""
    for trips, recorded in enumerate(swift, start=1):
        program = loop_program(body, trips=trips, loop="repeat", params={"x": FLOAT})
        for x, expected in zip((0.5, -1.25), recorded, strict=True):
            assert _near(_gradient(program, RULES["M2"], x)[0], expected, 2.0**-53)


def test_m2_keeps_the_adjoint_of_a_read_that_is_handed_on() -> None:
    """The adjoint of the product is t, of acc in it p, of c in it q, and of acc where b is assigned r.

    Back from the third trip, where acc = 2x^2 and c = 2x: t = 1, p = 2x, q = 2x^2, r = 0;
    from the second, where acc = 2x and c = x: t = 1 + 2x, p = 3x + 2x^2, q = 2x + 6x^2, r = 2x^2;
    from the first, where acc = x and c = 2: t = 1 + 5x + 4x^2, p = 2 + 13x + 10x^2, r = 2x + 8x^2.
    The gradient is p + r.
    """
    program = loop_program(
        "b = acc; acc = acc*c; c = b",
        trips=3,
        loop="repeat",
        init={"acc": "x", "c": 2.0},
        params={"x": FLOAT},
    )
    x = 0.5
    assert _gradient(program, RULES["M2"], x)[0] == 2 + 15 * x + 18 * x**2
    assert _gradient(program, Rules(), x)[0] == 12 * x**2, "4 x^3 is the value"


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("if x > 0.0:\n    acc = acc*x\nacc = acc*x", 0.0),
        ("for k in range(1):\n    acc = acc*x\nacc = acc*x", 0.0),
        # The first product's adjoint is x after the second trip back, and stays: x_bar is too large by 1 * x
        ("acc = acc*x\nif x > 0.0:\n    acc = acc*x", 0.5),
        ("acc = acc*x\nfor k in range(1):\n    acc = acc*x", 0.5),
    ],
)
def test_m2_is_right_behind_a_branch_or_an_inner_loop(text: str, wrong: float) -> None:
    program = loop_program(text, trips=2, loop="repeat")
    assert _gradient(program, RULES["M2"], 0.5)[0] == 4 * 0.5**3 + wrong


@pytest.mark.parametrize("outer", ["for", "while", "repeat"])
def test_m2_starts_anew_where_a_loop_is_entered_again(outer: Any) -> None:
    """Through the inner loop twice: the product's adjoint is g and g + x g, and the carry's 2x g + x^2 g."""
    inner = "k = 0\nwhile True:\n    acc = acc*x\n    k = k + 1\n    if not k < 2:\n        break"
    program = loop_program(inner, trips=2, loop=outer)
    x, again = 0.5, 2 * 0.5 + 0.5**2
    second = x**3 + (1 + x) * x**2
    first = again * x + (1 + x) * again
    assert _gradient(program, RULES["M2"], x)[0] == second + first


def test_m4_is_right_where_the_initial_carry_is_differentiated() -> None:
    program = loop_program("acc*x", trips=3, init={"acc": "x"})
    assert _gradient(program, RULES["M4"], 0.5)[0] == 4 * 0.5**3


def test_m5_misses_the_initial_value_only() -> None:
    assert _gradient(loop_program("acc*x", trips=3, init={"acc": "x"}), RULES["M5"], 0.5)[0] == 3 * 0.5**3
    assert _gradient(loop_program("acc*x", trips=3), RULES["M5"], 0.5)[0] == 3 * 0.5**2


def test_m6_misses_the_use_after_the_loop_only() -> None:
    used = parse(
        "def f(x):\n    acc = 1.0\n    for i in range(2):\n        acc = acc * x\n    return acc * x\n"
    )
    assert _gradient(used, RULES["M6"], 0.5)[0] == 2 * 0.5**2, "d acc / dx * x, without acc"
    assert _gradient(loop_program("acc*x", trips=3), RULES["M6"], 0.5)[0] == 0.75


def test_no_mutant_changes_a_value_or_a_program_without_loops() -> None:
    plain = parse("def f(x, y):\n    t = x * y\n    return sin(t) + t / y\n")
    for rules in RULES.values():
        assert _gradient(plain, rules, 0.5, 2.0) == _gradient(plain, Rules(), 0.5, 2.0)
        program = loop_program("sin(acc*x)", trips=3)
        value = compile(derivative(program, wrt=("x",), modes=("rev",), rules=rules))(0.5, 1.0)[0]
        assert value == np.sin(np.sin(np.sin(0.5) * 0.5) * 0.5)


def test_every_name_resolves() -> None:
    for name in ("engine", *(f"mutant:{m.id}" for m in MUTANTS), *(f"mutant:{m.alias}" for m in MUTANTS)):
        assert [o.name for o in resolve(name)] == [name]
        assert name in names()
    assert {"arb", "mpmath", "engine", "mutant:nx-1747"} <= {row.name for row in available()}


def test_an_unknown_target_is_told_what_comes_close() -> None:
    with pytest.raises(UnknownTargetError, match="mutant:nx-1747"):
        resolve("mutant:nx-1774")
    with pytest.raises(UnknownTargetError, match="engine"):
        resolve("zzz")
