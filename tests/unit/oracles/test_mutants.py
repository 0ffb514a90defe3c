"""The planted bugs do what the reports say, no more and no less."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradfuzz.engine import Rules, compile, derivative
from gradfuzz.errors import UnknownTargetError
from gradfuzz.oracles.mutants.registry import MUTANTS
from gradfuzz.oracles.registry import available, names, resolve
from gradfuzz.programs import FLOAT, Program, loop_program, parse

GOLDEN = json.loads((Path(__file__).parents[2] / "data" / "nx_while.json").read_text())
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


def _near(got: float, recorded: float) -> bool:
    """Equal to the rounding of a handful of float32 operations: the recording and the mutant order them
    differently.
    """
    return abs(got - recorded) <= 8 * 2.0**-24 * max(abs(got), abs(recorded), 2.0**-10)


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
