"""Layouts of points, and the ways that answer all points of a question in one call: each instance gets its
own derivative.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradfuzz.fuzzer.findings.reproducer import reproducer
from gradfuzz.fuzzer.questions.candidate import Candidate
from gradfuzz.fuzzer.questions.weighted import plain_question, weighted_question
from gradfuzz.fuzzer.verdict.checking import check_question
from gradfuzz.oracles.base import Mode, Point, Question
from gradfuzz.oracles.registry import resolve
from gradfuzz.programs import parse
from gradfuzz.programs.evaluation.layout import layout_of
from tests.running import run_script

WHILE = parse("def f(x):\n    acc = 1.0\n    while acc < 3.0:\n        acc = acc * x\n    return acc\n")
PRODUCT = parse("def f(x, y):\n    return sin(x) * y\n")
MATRICES = parse('def f(a: "float[2, 2]", b: "float[2]"):\n    return solve(a, b)\n')

ENGINE = ("engine:vectorize", "engine:vmap")
JAX = ("jax:vmap", "jax:vmap:nojit", "jax:grad_of_vmap")
TORCH = ("torch:vmap", "torch:grad_of_vmap")
LIBRARIES = tuple(
    pytest.param(
        way,
        marks=pytest.mark.skipif(
            importlib.util.find_spec(way.partition(":")[0]) is None, reason="not installed"
        ),
    )
    for way in (*JAX, *TORCH)
)
WAYS = (*ENGINE, *LIBRARIES)
MODES: tuple[tuple[Mode, ...], ...] = (("rev",), ("fwd",))


def points(*rows: dict[str, Any]) -> tuple[Point, ...]:
    return tuple(Point({name: np.asarray(value) for name, value in row.items()}) for row in rows)


def question(
    program: Any, at: tuple[Point, ...], modes: tuple[Mode, ...], wrt: tuple[str, ...] | None = None
) -> Question:
    return plain_question(program, at, "float64", wrt, modes)


def gradients(way: str, q: Question) -> list[dict[str, np.ndarray]]:
    (oracle,) = resolve(way)
    assert oracle.traits.batched
    assert oracle.supports(q) is None
    answers = oracle.answer(q)
    assert [a.status for a in answers] == ["ok"] * len(q.points), answers[0].message
    return [dict(a.gradient) for a in answers]


# Layouts ----------------------------------------------------------------------------------------------------


def arrays(**values: float) -> dict[str, np.ndarray]:
    return {name: np.asarray(value) for name, value in values.items()}


def test_an_input_that_is_the_same_everywhere_is_shared() -> None:
    layout = layout_of([arrays(x=1.0, y=2.0), arrays(x=3.0, y=2.0), arrays(x=4.0, y=2.0)])
    assert layout.sizes == {"a": 3}
    assert layout.axes == {"x": ("a",), "y": ()}
    assert layout.instance(2) == (2,)


def test_a_grid_has_two_axes() -> None:
    at = [arrays(x=x, y=y, z=x + y, w=7.0) for x in (1.0, 2.0) for y in (3.0, 4.0, 5.0)]
    layout = layout_of(at)
    assert layout.sizes == {"a": 2, "b": 3}
    assert layout.axes == {"x": ("a",), "y": ("b",), "z": ("a", "b"), "w": ()}
    assert layout.instance(4) == (1, 1)
    np.testing.assert_array_equal(layout.column(at, "x"), [1.0, 2.0])
    np.testing.assert_array_equal(layout.column(at, "y"), [3.0, 4.0, 5.0])
    np.testing.assert_array_equal(layout.column(at, "z"), [[4.0, 5.0, 6.0], [5.0, 6.0, 7.0]])


@pytest.mark.parametrize("count", [1, 3])
def test_where_nothing_varies_everything_is_a_batch(count: int) -> None:
    layout = layout_of([arrays(x=1.0, y=2.0)] * count)
    assert layout.sizes == {"a": count}
    assert layout.axes == {"x": ("a",), "y": ("a",)}


def test_bits_decide_what_is_the_same() -> None:
    assert layout_of([arrays(x=0.0, y=1.0), arrays(x=-0.0, y=1.0)]).axes == {"x": ("a",), "y": ()}
    assert layout_of([arrays(x=np.nan, y=1.0), arrays(x=np.nan, y=2.0)]).axes == {"x": (), "y": ("a",)}


# Ways -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("modes", MODES)
@pytest.mark.parametrize("way", [*ENGINE, *LIBRARIES[: len(JAX)]])
def test_every_instance_takes_its_own_trips(way: str, modes: tuple[Mode, ...]) -> None:
    """x^2 at 2, x^3 at 1.5, x at 3."""
    got = gradients(way, question(WHILE, points({"x": 2.0}, {"x": 1.5}, {"x": 3.0}), modes))
    np.testing.assert_allclose([g["x"] for g in got], [2 * 2.0, 3 * 1.5**2, 1.0], rtol=1e-15)


@pytest.mark.parametrize("modes", MODES)
@pytest.mark.parametrize("way", WAYS)
def test_a_gradient_sums_over_no_foreign_axis(way: str, modes: tuple[Mode, ...]) -> None:
    grid = [(x, y) for x in (0.5, 1.25) for y in (2.0, 3.0, -1.0)]
    got = gradients(way, question(PRODUCT, points(*({"x": x, "y": y} for x, y in grid)), modes))
    np.testing.assert_allclose([g["x"] for g in got], [np.cos(x) * y for x, y in grid], rtol=1e-15)
    np.testing.assert_allclose([g["y"] for g in got], [np.sin(x) for x, _ in grid], rtol=1e-15)


@pytest.mark.parametrize("way", WAYS)
def test_a_shared_input_has_a_gradient_for_each_instance(way: str) -> None:
    """x is differentiated and the same for all, y varies and is captured."""
    q = question(PRODUCT, points({"x": 0.5, "y": 2.0}, {"x": 0.5, "y": 3.0}), ("rev",), ("x",))
    np.testing.assert_allclose(
        [g["x"] for g in gradients(way, q)], [2 * np.cos(0.5), 3 * np.cos(0.5)], rtol=1e-15
    )


@pytest.mark.parametrize("way", WAYS)
def test_second_order(way: str) -> None:
    """Along (1, 1) the second derivative of sin(x) y is (-sin(x) y + cos(x), cos(x))."""
    at = [(0.5, 2.0), (1.25, 3.0)]
    got = gradients(way, question(PRODUCT, points(*({"x": x, "y": y} for x, y in at)), ("rev", "fwd")))
    np.testing.assert_allclose([g["x"] for g in got], [np.cos(x) - np.sin(x) * y for x, y in at], rtol=4e-15)
    np.testing.assert_allclose([g["y"] for g in got], [np.cos(x) for x, _ in at], rtol=4e-15)


@pytest.mark.parametrize("way", WAYS)
def test_matrices(way: str) -> None:
    """The sum of inv(a) b: by b, inv(a)^T 1; by a, minus that times x^T."""
    rng = np.random.default_rng(0)
    rows = [
        {"a": rng.integers(-3, 4, (2, 2)) / 4 + 2 * np.eye(2), "b": rng.integers(-3, 4, 2) / 2}
        for _ in range(3)
    ]
    for g, row in zip(gradients(way, question(MATRICES, points(*rows), ("rev",))), rows, strict=True):
        by_b = np.linalg.inv(row["a"]).T @ np.ones(2)
        np.testing.assert_allclose(g["b"], by_b, rtol=1e-13)
        np.testing.assert_allclose(
            g["a"], -np.outer(by_b, np.linalg.solve(row["a"], row["b"])), rtol=1e-13, atol=1e-15
        )


@pytest.mark.parametrize("way", LIBRARIES[-len(TORCH) :])
def test_torch_says_that_it_cannot_decide_by_what_differs(way: str) -> None:
    (oracle,) = resolve(way)
    answers = oracle.answer(question(WHILE, points({"x": 2.0}, {"x": 1.5}), ("rev",)))
    assert {a.status for a in answers} == {"unsupported"}


@pytest.mark.parametrize("way", WAYS)
def test_a_batch_of_one(way: str) -> None:
    (got,) = gradients(way, question(PRODUCT, points({"x": 0.5, "y": 2.0}), ("rev",)))
    np.testing.assert_allclose([got["x"], got["y"]], [2 * np.cos(0.5), np.sin(0.5)], rtol=1e-15)


@pytest.mark.parametrize("way", LIBRARIES[: len(JAX)])
@pytest.mark.parametrize("modes", MODES)
def test_a_product_of_each_row(way: str, modes: tuple[Mode, ...]) -> None:
    """JAX reads the rows of a batch by a reshape that transposes."""
    q = question(
        parse('def f(x: "float[2]"):\n    return prod(x)\n'),
        points({"x": [0.5, 0.25]}, {"x": [1.5, 2.0]}),
        modes,
    )
    (oracle,) = resolve(way)
    answers = oracle.answer(q)
    assert [a.values[0] for a in answers] == [0.125, 3.0]
    assert [a.gradient["x"].tolist() for a in answers] == [[0.25, 0.5], [2.0, 1.5]]


# Jacobians --------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("modes", [("rev",), ("fwd",), ("rev", "fwd"), ("fwd", "rev")])
@pytest.mark.parametrize(
    "way",
    [
        pytest.param(
            f"{library}:jacobian{more}",
            marks=pytest.mark.skipif(importlib.util.find_spec(library) is None, reason="no"),
        )
        for library, more in (("jax", ":nojit"), ("torch", ""))
    ],
)
def test_whole_jacobians(way: str, modes: tuple[Mode, ...]) -> None:
    """The sum of x^3 and its second derivative along (1, 1)."""
    program = parse('def f(x: "float[2]"):\n    return x * x * x\n')
    (oracle,) = resolve(way)
    (answer,) = oracle.answer(question(program, points({"x": [0.5, 2.0]}), modes))
    expected = [3 * 0.25, 3 * 4.0] if len(modes) == 1 else [6 * 0.5, 6 * 2.0]
    np.testing.assert_allclose(answer.gradient["x"], expected, rtol=1e-15)


# Reproducers ------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("way", LIBRARIES)
def test_a_reproducer_makes_the_vectorized_call(way: str, tmp_path: Path) -> None:
    """Right answers: the script exits with 0, and knows nothing of gradfuzz."""
    library = importlib.import_module(f"gradfuzz.oracles.{way.partition(':')[0]}.ways")
    q = question(PRODUCT, points(*({"x": x, "y": y} for x in (0.5, 1.25) for y in (2.0, 3.0))), ("rev",))
    expected = gradients(way, q)[1]
    text = library.script(q, 1, way, expected)
    assert "vmap" in text
    done = run_script(text, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["jax:jacobian", "torch:jacobian"])
def test_whole_jacobians_are_refused_where_they_are_too_large(name: str) -> None:
    pytest.importorskip(name.partition(":")[0])
    (oracle,) = resolve(name)
    program = parse('def f(x: "float[6, 6]"):\n    return sin(x)\n')
    point = Point({"x": np.ones((6, 6))})
    assert oracle.supports(weighted_question(program, [point], "float64", ("rev", "fwd"))) is None
    refusal = oracle.supports(weighted_question(program, [point], "float64", ("rev", "fwd", "rev")))
    assert refusal == "whole Jacobians of order 3 have more than 10,000 entries here"


@pytest.mark.parametrize("mode", ["rev", "fwd"])
@pytest.mark.parametrize("way", LIBRARIES)
def test_a_point_that_overflows_says_nothing_about_the_others(way: str, mode: Mode) -> None:
    """Forward mode of a sum of 1/x multiplies the other point's infinite slope by 0: NaN at 0.5, where the
    slope is -4.
    """
    q = question(parse("def f(x):\n    return 1.0 / x\n"), points({"x": 0.5}, {"x": 5e-324}), (mode,))
    (oracle,) = resolve(way)
    here, beyond = oracle.answer(q)
    assert np.isinf(beyond.values[0])
    assert here.status == "inconclusive" or here.gradient["x"] == -4.0
    if "grad_of" not in way or mode == "rev":
        assert here.status == "ok"


def test_the_script_about_an_input_without_entries_runs_the_function(tmp_path: Path) -> None:
    """Torch 2.13 cannot map this solve, and raises."""
    pytest.importorskip("torch")
    program = parse('def f(x: "float[0, 1, 1]", y: "float[1]"):\n    return solve(x, y)\n')
    at = points(*({"x": np.zeros((0, 1, 1)), "y": [y]} for y in (0.5, 0.75)))
    (way,), asked = resolve("torch:vmap"), question(program, at, ("fwd",), ("x",))
    case, _ = check_question(asked, [way]).cases
    done = run_script(reproducer(Candidate.of(asked, together=True), case, way), tmp_path)
    assert (case.verdict.value == "crashed") is (done.returncode == 1), done.stdout


def test_the_script_about_an_output_of_another_shape_compares_the_outputs(tmp_path: Path) -> None:
    """Torch 2.13 maps lstsq of a vector to a matrix of one column; the derivative has the right number."""
    pytest.importorskip("torch")
    program = parse('def f(x: "float[1, 1]", y: "float[1]"):\n    return lstsq(x, y)\n')
    (way,) = resolve("torch:grad_of_vmap")
    asked = question(program, points({"x": [[0.5]], "y": [0.5]}), ("fwd",), ("x",))
    (case,) = check_question(asked, [way]).cases
    done = run_script(reproducer(Candidate.of(asked, together=True), case, way), tmp_path)
    assert (case.verdict.value == "disagree") is (done.returncode == 1), done.stdout
    if done.returncode:
        assert "output 0: the shape is (1, 1), not (1,)" in done.stdout
