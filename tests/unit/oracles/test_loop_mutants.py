"""The planted bugs of control flow, of carries and of built arrays: what each needs, what it answers there by
hand, and that it is right elsewhere.
"""

from __future__ import annotations

import numpy as np
import pytest

from gradfuzz.engine import Rules, compile, derivative
from gradfuzz.engine.api.derivative import Mode
from gradfuzz.engine.modes.forward import ForwardMode
from gradfuzz.oracles.mutants.registry import MUTANTS
from gradfuzz.programs import parse

RULES = {m.id: m.rules for m in MUTANTS}
REV: tuple[Mode, ...] = ("rev",)
FWD_REV: tuple[Mode, ...] = ("fwd", "rev")

NESTED = """
def f(x):
    acc = 1.0
    for i in range(2):
        for j in range(1):
            acc = acc * x
        acc = acc * x
    return acc
"""
NOT_NESTED = """
def f(x):
    acc = 1.0
    for i in range(2):
        acc = acc * x
    for j in range(2):
        acc = acc * x
    return acc
"""
SKIPPED = """
def f(x):
    acc = 1.0
    for i in range(2):
        if i == 1:
            continue
        acc = acc * x
    return acc
"""
LEFT_FIRST = SKIPPED.replace("range(2)", "range(3)").replace("continue", "break")
LEFT_LAST = """
def f(x):
    acc = 1.0
    for i in range(3):
        acc = acc * x
        if i == 1:
            break
    return acc
"""
TURNED = """
def f(x, y):
    h = stack([x, y])
    for i in range(1):
        h = stack([h[1], h[0]])
    return h[0] + 3.0 * h[1]
"""
POWER = """
def f(x, n: "int"):
    acc = x
    for i in range(n):
        acc = acc * x
    return acc * acc
"""
WHILE = """
def f(x, n: "int"):
    acc = x
    i = 0
    while i < n:
        acc = acc * x
        i = i + 1
    return acc * acc
"""
SIDES = """
def f(x):
    acc = 1.0
    for i in range(2):
        if i == 0:
            acc = acc * x
        else:
            acc = acc + x * x
    return acc
"""
ONE_SIDE = """
def f(x):
    acc = 1.0
    for i in range(2):
        if i == 0:
            acc = acc * x
    return acc
"""
CHAINED = """
def f(x):
    acc = 1.0
    for i in range(2):
        acc = acc * x
    for j in range(1):
        acc = acc + 1.0
    return acc
"""
OWN_CARRY = """
def f(x):
    acc = 1.0
    for i in range(2):
        acc = acc * x
    b = 1.0
    for j in range(1):
        b = b + acc
    return b
"""
MIXED = """
def f(x):
    acc = x
    h = array([1.0, 2.0, 3.0])
    for i in range(2):
        acc = acc * x
        h = h * 2.0
    return acc + sum(h)
"""
DROPPED = """
def f(x):
    acc = 1.0
    b = 1.0
    for i in range(2):
        acc = acc * b
        b = b * x
    return acc
"""
TESTED = """
def f(x):
    acc = 1.0
    while acc < x:
        acc = acc + x * x
    return acc * x
"""
BUILT = "def f(x, y):\n    h = stack([x, y])\n    return sum(h * h)\n"
CLIPPED = "def f(v: 'float[2]'):\n    return sum(3.0 * clip(v, 0.0, 1.0))\n"

Row = tuple[str, str, tuple[object, ...], tuple[Mode, ...], tuple[object, ...], tuple[object, ...]]

SHOWN: list[Row] = [
    # f = x^4, half of it by the inner loop: 2x^3 + 2 * 2x^3 against 4x^3
    ("M7", NESTED, (0.5,), REV, (0.75,), (0.5,)),
    # f = x; the trip that is left is swept with acc = x, so another x, and x times what comes before it: x +
    # x against 1
    ("M8", SKIPPED, (0.25,), REV, (0.5,), (1.0,)),
    ("M8", LEFT_FIRST, (0.25,), REV, (0.5,), (1.0,)),
    # f = y + 3x; h[1] first: its 3 joins the 1 of h[0], and both go to y
    ("M9", TURNED, (0.5, 0.25), REV, (0.0, 4.0), (3.0, 1.0)),
    # f = x^2; the body swept at acc = x, its tangent 1: twice 4x against 2
    ("M10", POWER, (0.5, 0), FWD_REV, (4.0,), (2.0,)),
    ("M10", WHILE, (0.5, 0), FWD_REV, (4.0,), (2.0,)),
    # what reaches clip is 3, of which the second entry's is masked: 3 * 3
    ("M11", CLIPPED, (np.array([0.5, 2.0]),), REV, ([9.0, 0.0],), ([3.0, 0.0],)),
    # f = x + x^2; the last trip takes the false side and nothing comes back
    ("M12", SIDES, (0.5,), REV, (0.0,), (2.0,)),
    ("M15", BUILT, (0.5, 0.25), REV, (0.0, 0.0), (1.0, 0.5)),
    # f = x^2 + 1; the first trip finds that instead of 1: x + (x^2 + 1) x against 2x
    ("M17", CHAINED, (0.5,), REV, (1.125,), (1.0,)),
    # f = x^3 + ..., next to an array of three: 9x^2 against 3x^2
    ("M18", MIXED, (0.5,), REV, (2.25,), (0.75,)),
    # f = x, all of it through b
    ("M21", DROPPED, (0.5,), REV, (0.0,), (1.0,)),
    # one trip, f = (1 + x^2) x; the use in the body is lost: 1 + x^2 against 1 + 3x^2
    ("M22", TESTED, (1.5,), REV, (3.25,), (7.75,)),
]

ELSEWHERE: list[tuple[str, str, tuple[object, ...], tuple[Mode, ...], tuple[object, ...]]] = [
    ("M7", NOT_NESTED, (0.5,), REV, (0.5,)),
    ("M8", LEFT_LAST, (0.25,), REV, (0.5,)),
    ("M8", ONE_SIDE, (0.25,), REV, (1.0,)),
    ("M9", TURNED.replace("[h[1], h[0]]", "[2.0 * h[0], h[1] * h[1]]"), (0.5, 0.25), REV, (2.0, 1.5)),
    ("M9", TURNED.replace("    for i in range(1):\n    ", ""), (0.5, 0.25), REV, (3.0, 1.0)),
    ("M10", POWER, (0.5, 0), REV, (1.0,)),
    ("M10", POWER, (0.5, 0), ("rev", "rev"), (2.0,)),
    ("M10", POWER, (0.5, 1), FWD_REV, (3.0,)),
    ("M10", WHILE, (0.5, 1), FWD_REV, (3.0,)),
    ("M11", CLIPPED.replace("3.0 * ", ""), (np.array([0.5, 2.0]),), REV, ([1.0, 0.0],)),
    ("M12", ONE_SIDE, (0.5,), REV, (1.0,)),
    ("M12", SIDES.replace("i == 0", "i < 2"), (0.5,), REV, (1.0,)),
    ("M12", LEFT_FIRST, (0.25,), REV, (1.0,)),
    ("M15", "def f(v: 'float[2]'):\n    return sum(v * v)\n", (np.array([0.5, 0.25]),), REV, ([1.0, 0.5],)),
    ("M15", "def f(x):\n    return sum(broadcast_to(x, (2,)))\n", (0.5,), REV, (2.0,)),
    ("M15", "def f(x, y):\n    h = stack([x, y])\n    return h[0] * h[1]\n", (0.5, 0.25), REV, (0.25, 0.5)),
    ("M17", OWN_CARRY, (0.5,), REV, (1.0,)),
    ("M17", NOT_NESTED.replace("    for j in range(2):\n        acc = acc * x\n", ""), (0.5,), REV, (1.0,)),
    ("M18", MIXED.replace("[1.0, 2.0, 3.0]", "[1.0]"), (0.5,), REV, (0.75,)),
    ("M18", MIXED.replace("array([1.0, 2.0, 3.0])", "1.0"), (0.5,), REV, (0.75,)),
    ("M21", DROPPED.replace("return acc", "return acc + b"), (0.5,), REV, (2.0,)),
    ("M22", TESTED.replace("acc < x", "acc < 3.0"), (1.5,), REV, (7.75,)),
    ("M22", TESTED.replace("x * x", "1.0"), (1.5,), REV, (2.0,)),
]


def _answer(
    text: str, rules: Rules, inputs: tuple[object, ...], modes: tuple[Mode, ...]
) -> tuple[float, tuple[object, ...]]:
    """The value, and the gradient with weights and directions of one."""
    program = parse(text)
    names = tuple(p.name for p in program.params if p.type.is_float)
    directions = [1.0] * len(names) if len(modes) > 1 else []
    value, *gradient = compile(derivative(program, wrt=names, modes=modes, rules=rules))(
        *inputs, 1.0, *directions
    )
    return value, tuple(np.asarray(g).tolist() for g in gradient)


@pytest.mark.parametrize(
    ("mutant", "text", "inputs", "modes", "wrong", "right"),
    SHOWN,
    ids=lambda v: v if str(v)[:1] == "M" else "",
)
def test_what_a_planted_bug_answers(
    mutant: str,
    text: str,
    inputs: tuple[object, ...],
    modes: tuple[Mode, ...],
    wrong: tuple[object, ...],
    right: tuple[object, ...],
) -> None:
    value, gradient = _answer(text, RULES[mutant], inputs, modes)
    assert gradient == wrong
    assert (value, right) == _answer(text, Rules(), inputs, modes)


@pytest.mark.parametrize(
    ("mutant", "text", "inputs", "modes", "right"), ELSEWHERE, ids=lambda v: v if str(v)[:1] == "M" else ""
)
def test_what_it_does_not_touch(
    mutant: str, text: str, inputs: tuple[object, ...], modes: tuple[Mode, ...], right: tuple[object, ...]
) -> None:
    assert _answer(text, RULES[mutant], inputs, modes)[1] == right
    assert _answer(text, Rules(), inputs, modes)[1] == right


def test_forward_mode_knows_nothing_of_them() -> None:
    assert all(RULES[row[0]].forward is ForwardMode for row in SHOWN)
