"""Each kind of mistake on a smallest program, with the wrong number by hand, and the family as a whole."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from gradfuzz.engine import Rules, compile, derivative
from gradfuzz.errors import UnknownTargetError
from gradfuzz.oracles.mutants.mutations import MUTATIONS
from gradfuzz.oracles.mutants.registry import named
from gradfuzz.oracles.mutants.systematic import (
    EQUIVALENT,
    _all_names,
    _row,
    find,
    systematic,
    systematic_names,
)
from gradfuzz.oracles.registry import names, resolve
from gradfuzz.programs import OPS, parse

SIN, COS, TANH = math.sin, math.cos, math.tanh
A, B = np.array([[1.0, 2.0], [3.0, 5.0]]), np.array([[2.0, -1.0], [0.5, 4.0]])
W = np.array([[1.0, -2.0], [0.25, 3.0]])
CUBE = np.arange(8.0).reshape(2, 2, 2) ** 2 + 1.0

BINARY = "def f(x, y):\n    return x {} y\n"
UNARY = "def f(x):\n    return {}(x)\n"
MATRICES = 'def f(x: "float[2, 2]", y: "float[2, 2]"):\n    return matmul(x, y)\n'
SPREAD = 'def f(x, y: "float[3]"):\n    return x * y\n'
INVERSES = 'def f(x: "float[2, 1, 1]"):\n    return inv(x)\n'
ROOT = "def f(x, y):\n    return imag(exp(complex(x, y)))\n"
TURN = 'def f(x: "float[2, 2, 2]"):\n    return permute_dims(x, (1, 2, 0))\n'
JOINED = 'def f(x: "float[1]", y: "float[1]"):\n    return concat([x, y])\n'
NORM = 'def f(x: "float[1, 1]"):\n    s = svd(x)[1]\n    return s * s\n'
MEAN = 'def f(x: "float[4]"):\n    return mean(x)\n'


def gradient(text: str, rules: Rules, mode: Any, weight: Any, *inputs: Any) -> list[np.ndarray]:
    program = parse(text)
    wrt = tuple(p.name for p in program.params)
    function = compile(derivative(program, wrt=wrt, modes=(mode,), rules=rules))
    return [np.asarray(g) for g in function(*inputs, weight)[1:]]


ROWS: list[tuple[str, str, Any, tuple[Any, ...], list[Any]]] = [
    # x y at (2, 3) has the gradient (3, 2)
    ("vjp.multiply.0.sign", BINARY.format("*"), 1.0, (2.0, 3.0), [-3.0, 2.0]),
    ("vjp.multiply.1.sign", BINARY.format("*"), 1.0, (2.0, 3.0), [3.0, -2.0]),
    ("vjp.multiply.0.dropped", BINARY.format("*"), 1.0, (2.0, 3.0), [0.0, 2.0]),
    ("vjp.multiply.0.double", BINARY.format("*"), 1.0, (2.0, 3.0), [6.0, 2.0]),
    ("vjp.multiply.0.half", BINARY.format("*"), 1.0, (2.0, 3.0), [1.5, 2.0]),
    ("vjp.multiply.0.unscaled", BINARY.format("*"), 1.0, (2.0, 3.0), [1.0, 2.0]),
    ("vjp.multiply.0.swapped", BINARY.format("*"), 1.0, (2.0, 3.0), [2.0, 2.0]),
    ("jvp.multiply.1.unscaled", BINARY.format("*"), 1.0, (2.0, 3.0), [3.0, 1.0]),
    # x / y at (2, 4) has the gradient (1/4, -2/16)
    ("vjp.divide.0.exchanged", BINARY.format("/"), 1.0, (2.0, 4.0), [-2 / 16, -2 / 16]),
    ("vjp.divide.0.swapped", BINARY.format("/"), 1.0, (2.0, 4.0), [1 / 2, -2 / 16]),
    ("jvp.divide.1.exchanged", BINARY.format("/"), 1.0, (2.0, 4.0), [1 / 4, 1 / 4]),
    ("vjp.sin.0.at-result", UNARY.format("sin"), 1.0, (0.5,), [COS(SIN(0.5))]),
    ("jvp.cos.0.at-result", UNARY.format("cos"), 1.0, (0.5,), [-SIN(COS(0.5))]),
    ("vjp.tanh.0.at-operand", UNARY.format("tanh"), 1.0, (0.5,), [1 - 0.25]),
    ("jvp.exp.0.at-operand", UNARY.format("exp"), 1.0, (0.5,), [0.5]),
    # <w, x y> for a number x = 2 and y = (1, 3, 5): the cotangent of x is w_1 + 3 w_2 + 5 w_3
    (
        "vjp.multiply.0.first",
        SPREAD,
        np.array([0.5, -2.0, 4.0]),
        (2.0, np.array([1.0, 3.0, 5.0])),
        [0.5, [1.0, -4.0, 8.0]],
    ),
    (
        "vjp.multiply.0.mean",
        SPREAD,
        np.array([0.5, -2.0, 4.0]),
        (2.0, np.array([1.0, 3.0, 5.0])),
        [14.5 / 3, [1.0, -4.0, 8.0]],
    ),
    ("vjp.matmul.0.transposed", MATRICES, W, (A, B), [(W @ B.T).T, A.T @ W]),
    ("vjp.matmul.1.swapped", MATRICES, W, (A, B), [W @ B.T, B.T @ W]),
    ("vjp.matmul.0.exchanged", MATRICES, W, (A, B), [A.T @ W, A.T @ W]),
    # two numbers 2 and 4 as a batch of matrices, inverted: -w / x^2
    (
        "vjp.inv.0.batch-summed",
        INVERSES,
        np.array([[[1.0]], [[8.0]]]),
        (np.array([[[2.0]], [[4.0]]]),),
        [[[[-0.75]], [[-0.75]]]],
    ),
    (
        "vjp.inv.0.batch-reversed",
        INVERSES,
        np.array([[[1.0]], [[8.0]]]),
        (np.array([[[2.0]], [[4.0]]]),),
        [[[[-0.5]], [[-0.25]]]],
    ),
    # Im exp(x + iy) = e^x sin y has the gradient e^x (sin y, cos y), and with the slope conjugated e^x (-sin
    # y, cos y)
    ("vjp.exp.0.conjugated", ROOT, 1.0, (0.25, 0.5), [-math.exp(0.25) * SIN(0.5), math.exp(0.25) * COS(0.5)]),
    ("jvp.exp.0.conjugated", ROOT, 1.0, (0.25, 0.5), [-math.exp(0.25) * SIN(0.5), math.exp(0.25) * COS(0.5)]),
    ("vjp.permute_dims.0.uninverted", TURN, CUBE, (np.ones((2, 2, 2)),), [CUBE.transpose(1, 2, 0)]),
    ("vjp.concat.0.exchanged", JOINED, np.array([3.0, 7.0]), (np.zeros(1), np.zeros(1)), [[7.0], [7.0]]),
    # the singular value of a number x is |x|, so its square has the slope 2 x
    ("vjp.svd.s.double", NORM, np.ones(1), (np.array([[-3.0]]),), [[[-12.0]]]),
    ("jvp.svd.s.half", NORM, np.ones(1), (np.array([[-3.0]]),), [[[-3.0]]]),
    ("vjp.mean.0.unscaled", MEAN, 2.0, (np.zeros(4),), [[2.0, 2.0, 2.0, 2.0]]),
    ("jvp.mean.0.unscaled", MEAN, 2.0, (np.zeros(4),), [[2.0, 2.0, 2.0, 2.0]]),
]


@pytest.mark.parametrize(("name", "text", "weight", "inputs", "wrong"), ROWS, ids=[row[0] for row in ROWS])
def test_by_hand(name: str, text: str, weight: Any, inputs: tuple[Any, ...], wrong: list[Any]) -> None:
    row = find(name)
    assert row is not None
    (mode,) = row.modes
    for got, expected in zip(gradient(text, row.rules, mode, weight, *inputs), wrong, strict=True):
        # A handful of float64 roundings.
        np.testing.assert_allclose(got, np.asarray(expected), rtol=1e-14, atol=0)
    other = "fwd" if mode == "rev" else "rev"
    for got, right in zip(
        gradient(text, row.rules, other, weight, *inputs),
        gradient(text, Rules(), other, weight, *inputs),
        strict=True,
    ):
        assert np.array_equal(got, right), "the other mode is right"


def test_every_kind_of_mistake_is_tried_by_hand() -> None:
    assert {row[0].rpartition(".")[2] for row in ROWS} == set(MUTATIONS)


def test_what_makes_no_sense_leaves_the_rule_right() -> None:
    """Operands of different types are not exchanged, what is not square is not transposed."""
    wide = 'def f(x: "float[2, 3]", y: "float[3, 2]"):\n    return matmul(x, y)\n'
    x, y = np.arange(6.0).reshape(2, 3), np.arange(6.0).reshape(3, 2) ** 2
    for mistake in (
        "swapped",
        "exchanged",
        "transposed",
        "batch-summed",
        "batch-reversed",
        "conjugated",
        "first",
        "mean",
    ):
        row = find(f"vjp.matmul.0.{mistake}")
        assert row is not None
        for got, right in zip(gradient(wide, row.rules, "rev", W, x, y), (W @ y.T, x.T @ W), strict=True):
            np.testing.assert_allclose(got, right, rtol=1e-14, atol=0)


def test_the_family_has_every_rule() -> None:
    every = systematic_names()
    assert len(every) == len(set(every)) >= 300
    smooth = {name for name, op in OPS.items() if op.smooth}
    for kind in ("vjp", "jvp"):
        assert {name.split(".")[1] for name in every if name.startswith(kind)} == smooth


def test_asked_for_by_op() -> None:
    found = list(systematic({"sin"}))
    assert {m.ops for m in found} == {frozenset({"sin"})}
    assert {m.alias for m in found} == {name for name in systematic_names() if name.split(".")[1] == "sin"}
    assert found[0].reported == "systematic"
    assert found[0].summary == "vjp of sin, operand 0: the contribution is dropped"


def test_made_once() -> None:
    """A name stands for one class: what is compiled for it is found again."""
    assert find("vjp.sin.0.sign") is find("vjp.sin.0.sign")


def test_equivalent_ones_have_a_proof_and_are_not_in_the_family() -> None:
    assert not set(EQUIVALENT) & set(systematic_names())
    assert all(len(proof.split()) > 5 for proof in EQUIVALENT.values())
    assert set(EQUIVALENT) < set(_all_names())


@pytest.mark.parametrize("name", EQUIVALENT)
def test_an_equivalent_one_has_the_slope_of_the_engine(name: str, seed: int) -> None:
    kind, op, _, _ = name.split(".")
    mode, rng = "rev" if kind == "vjp" else "fwd", np.random.default_rng(seed)
    for _ in range(50):
        x, y = 4.0 * rng.standard_normal(2)
        program = f"def f(x, y):\n    return {op}(x, y)\n"
        right = gradient(program, Rules(), mode, 1.0, x, y)
        assert all(map(np.array_equal, gradient(program, _row(name).rules, mode, 1.0, x, y), right))


def test_the_directions_of_a_cofactor_move_at_third_order_only() -> None:
    """det of the squares of [[a, b], [c, d]] is a^2 d^2 - b^2 c^2; along a direction of ones, twice, it is 2
    d^2 + 8 a d + 2 a^2 - ...
    """
    program = parse('def f(x: "float[2, 2]"):\n    return det(x * x)\n')
    x = np.array([[1.0, 2.0], [3.0, 1.0]])
    second, third = [[6.0, -42.0], [-32.0, 6.0]], [[12.0, -32.0], [-28.0, 12.0]]
    for mode, name in (("rev", "vjp.cofactor.1.double"), ("fwd", "jvp.cofactor.1.double")):
        for modes, right in ((("rev", mode), second), (("rev", "rev", mode), third)):
            row = find(name)
            assert row is not None
            for rules, shown in ((Rules(), False), (row.rules, len(modes) == 3)):
                function = compile(derivative(program, wrt=("x",), modes=modes, rules=rules))
                got = function(x, 1.0, np.ones((2, 2)))[1]
                assert bool(np.allclose(got, right, rtol=1e-12, atol=0)) is not shown, f"{name} by {modes}"


def test_targets_by_name_that_no_list_shows() -> None:
    assert [o.name for o in resolve("mutant:vjp.sin.0.sign")] == ["mutant:vjp.sin.0.sign"]
    assert named("VJP.sin.0.sign") is find("vjp.sin.0.sign")
    assert not any("vjp" in name for name in names())
    with pytest.raises(UnknownTargetError, match=r"did you mean mutant:vjp\.sin\.0\.sign"):
        resolve("mutant:vjp.sin.0.sing")
    assert find("vjp.sin.0") is None
    assert find("nx-1747") is None
