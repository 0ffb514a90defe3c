"""JAX's answers against the truth, what it declines, and what a reproducer does."""

from __future__ import annotations

import functools
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradfuzz.errors import MissingExtraError
from gradfuzz.oracles.base import Mode, Point, Question
from gradfuzz.oracles.jax.ways import script, ways
from gradfuzz.oracles.references.arb import ArbReference
from gradfuzz.oracles.target_name import RULE
from gradfuzz.programs.text.parse import parse
from tests.asked_programs import Values, asked
from tests.asked_programs import assert_true as near_the_truth

jax = pytest.importorskip("jax", reason="the jax extra is not installed")

from jax.interpreters import ad  # noqa: E402 - after JAX is known to be there

from gradfuzz.oracles.jax import answers as jax_answers  # noqa: E402
from tests.running import run_script  # noqa: E402

WAYS = {oracle.name: oracle for oracle in ways()}
LOOPS = ("jax:scan", "jax:fori_loop", "jax:while_loop")

question = functools.partial(asked, weight=-0.5)
assert_true = functools.partial(near_the_truth, roundings=128)


PROGRAMS: dict[str, tuple[str, tuple[str, ...], tuple[Values, ...]]] = {
    "product": (
        "def f(x):\n acc = 1.0\n for i in range(3):\n  acc = acc*x\n return acc\n",
        ("x",),
        ({"x": 0.5}, {"x": -1.25}, {"x": 0.0}, {"x": 1e-12}),
    ),
    "several inputs": (
        (
            "def f(x, y):\n acc = y\n for i in range(5):\n  t = acc*x\n  acc = sin(t) + y/3\n return acc,"
            " acc*x + exp(y), 7\n"
        ),
        ("x", "y"),
        ({"x": 0.5, "y": 1.5}, {"x": 0.75, "y": 0.25}),
    ),
    "one of two inputs": (
        "def f(x, y):\n acc = 1.0\n for i in range(3):\n  acc = acc*x + y*i\n return acc\n",
        ("y",),
        ({"x": 0.5, "y": 1.5}, {"x": 2.0, "y": 0.25}),
    ),
    "arrays": (
        (
            'def f(x, v: "float[3]"):\n acc = v\n for i in range(3):\n  acc[i] = acc[i]*x + sum(v)\n  v ='
            " tanh(acc)*v[i]\n return acc, v @ acc\n"
        ),
        ("v", "x"),
        ({"x": 0.5, "v": [1.0, -0.5, 0.25]}, {"x": -2.0, "v": [0.125, 0.5, 0.75]}),
    ),
    "a counter": (
        "def f(x):\n acc = 1.0\n i = 0\n while i < 4:\n  acc = cos(acc*x) + i\n  i = i + 1\n return acc, i\n",
        ("x",),
        ({"x": 0.5}, {"x": 1.25}),
    ),
    "a loop that stops by value": (
        "def f(x, y):\n acc = y\n while acc < 10.0:\n  acc = acc*(1.5 + x*x)\n return acc\n",
        ("x", "y"),
        ({"x": 0.5, "y": 1.0}, {"x": 1.75, "y": 0.3}, {"x": 0.5, "y": 11.0}),
    ),
    "body first": (
        (
            "def f(x):\n acc = x\n while True:\n  t = acc*x\n  acc = t + 1.5\n  if not acc < 4.0:\n   break\n"
            " return acc*t\n"
        ),
        ("x",),
        ({"x": 0.75}, {"x": 2.0}),
    ),
    "break and continue": (
        (
            'def f(x, n: "int"):\n acc = x\n for i in range(n):\n  if i == 1:\n   continue\n  if acc > 3.0:\n'
            "   break\n  acc = acc*x + i\n return acc\n"
        ),
        ("x",),
        ({"x": 1.5, "n": 9}, {"x": 0.25, "n": 4}, {"x": 0.25, "n": 0}),
    ),
    "a branch": (
        (
            "def f(x, y):\n acc = x\n for i in range(4):\n  if acc > 0.45:\n   acc = acc*x\n  else:\n   acc ="
            " acc + y*i\n return acc\n"
        ),
        ("x", "y"),
        ({"x": 0.5, "y": 0.3}, {"x": 0.9, "y": 2.0}),
    ),
    "nested": (
        (
            "def f(x, y):\n acc = x\n for i in range(3):\n  for j in range(i):\n   acc = acc*x + y\n  acc ="
            " sin(acc)\n return acc\n"
        ),
        ("x", "y"),
        ({"x": 0.5, "y": 0.3}, {"x": 1.5, "y": -0.5}),
    ),
    "no trips": (
        "def f(x):\n acc = x*x\n for i in range(0):\n  acc = acc*x\n return acc*x\n",
        ("x",),
        ({"x": 0.5}, {"x": -3.0}),
    ),
}
MODES = [modes for order in (1, 2) for modes in itertools.product(("rev", "fwd"), repeat=order)]
THIRD: tuple[tuple[Mode, ...], ...] = (("rev", "rev", "rev"), ("fwd", "rev", "fwd"), ("fwd", "fwd", "fwd"))


def about(program: str, modes: tuple[Mode, ...], precision: str = "float64") -> Question:
    text, wrt, points = PROGRAMS[program]
    return question(text, *points, wrt=wrt, modes=modes, precision=precision)


@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize("modes", MODES, ids="-".join)
@pytest.mark.parametrize("program", PROGRAMS)
def test_step_by_step(program: str, modes: tuple[Mode, ...], precision: str) -> None:
    q = about(program, modes, precision)
    answered = []
    for name in LOOPS:
        way = WAYS[f"{name}:nojit"]
        answers = way.answer(q)
        if way.supports(q) is None:
            assert_true(q, answers)
            answered.append(name)
        else:
            assert {a.status for a in answers} == {"unsupported"}
    assert "jax:scan" in answered


@pytest.mark.parametrize("modes", THIRD, ids="-".join)
def test_third_order(modes: tuple[Mode, ...]) -> None:
    for program in ("several inputs", "a loop that stops by value"):
        q = about(program, modes)
        assert_true(q, WAYS["jax:scan:nojit"].answer(q))


@pytest.mark.parametrize("name", LOOPS)
def test_compiled(name: str) -> None:
    way = WAYS[name]
    mixed = [about(p, MODES[k % len(MODES)], ("float64", "float32")[k % 2]) for k, p in enumerate(PROGRAMS)]
    if name != "jax:scan":
        mixed = [
            about(p, ("fwd",))
            for p in ("product", "a loop that stops by value", "body first", "break and continue", "nested")
        ]
    for q, answers in zip(mixed, way.answer_all(mixed), strict=True):
        if way.supports(q) is None:
            assert_true(q, answers)
        else:
            assert {a.status for a in answers} == {"unsupported"}


@pytest.mark.parametrize(
    ("program", "modes", "precision"),
    [
        ("several inputs", ("rev",), "float32"),
        ("several inputs", ("fwd", "rev"), "float64"),
        ("arrays", ("rev",), "float64"),
        ("body first", ("rev", "fwd"), "float32"),
        ("break and continue", ("fwd",), "float64"),
    ],
)
def test_unrolled(program: str, modes: tuple[Mode, ...], precision: str) -> None:
    q = about(program, modes, precision)
    assert_true(q, WAYS["jax:unrolled"].answer(q))


@pytest.mark.parametrize("way", WAYS)
def test_one_point(way: str) -> None:
    text = "def f(x):\n acc = 1.0\n for i in range(3):\n  acc = acc*(x - 2)\n return acc\n"
    q = question(text, {"x": 0.5}, modes=("fwd",))
    (answer,) = WAYS[way].answer(q)
    assert (answer.values[0], answer.gradient["x"]) == (-3.375, 6.75)


@pytest.mark.parametrize("way", [way for way in WAYS if RULE not in way])
def test_the_value_alone(way: str) -> None:
    q = question(
        "def f(x):\n acc = x\n for i in range(3):\n  acc = acc*2 + i\n return acc, i0\n".replace(
            "i0", "acc > 20.0"
        ),
        {"x": 1.0},
        {"x": 4.0},
        modes=(),
    )
    answers = WAYS[way].answer(q)
    assert [(float(a.values[0]), bool(a.values[1])) for a in answers] == [(12.0, False), (36.0, True)]
    assert [a.gradient for a in answers] == [{}, {}]


def test_a_dead_branch_does_not_poison_a_batch() -> None:
    text = "def f(x):\n if x > 0.0:\n  y = sqrt(x)\n else:\n  y = 3.0*x\n return y\n"
    q = question(text, {"x": -1.0}, {"x": 4.0}, {"x": 0.0})
    for way in ("jax:scan", "jax:scan:nojit"):
        assert [float(a.gradient["x"]) for a in WAYS[way].answer(q)] == [3.0, 0.25, 3.0]


def test_a_question_about_one_point_is_not_batched(monkeypatch: pytest.MonkeyPatch) -> None:
    q = question("def f(x):\n if x > 0.0:\n  y = x*x\n else:\n  y = 3.0*x\n return y\n", {"x": 2.0})

    def refuse(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("vmap was used")

    monkeypatch.setattr(jax, "vmap", refuse)
    for way in ("jax:scan", "jax:scan:nojit", "jax:unrolled"):
        assert float(WAYS[way].answer(q)[0].gradient["x"]) == 4.0
    assert float(WAYS["jax:scan"].answer_all([q, q])[1][0].gradient["x"]) == 4.0


@pytest.fixture
def clean_caches() -> Iterator[None]:
    """JAX remembers the derivatives that it has worked out, wrong ones too."""
    yield
    jax.clear_caches()


@pytest.mark.usefixtures("clean_caches")
def test_a_wrong_rule_in_jax_shows_in_every_way(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(primals: Any, tangents: Any, **params: Any) -> Any:
        return jax.lax.tanh_p.bind(*primals, **params), jax.lax.mul(tangents[0], jax.lax.tanh(primals[0]))

    monkeypatch.setitem(ad.primitive_jvps, jax.lax.tanh_p, wrong)
    for way in ways():
        text = "def f(x):\n acc = x\n for i in range(1):\n  acc = tanh(acc)*1.125\n return acc\n"
        q = question(text, {"x": 0.5}, {"x": 1.0}, modes=("fwd",) if "while" in way.name else ("rev",))
        gradients = [float(a.gradient["x"]) for a in way.answer(q)]
        np.testing.assert_allclose(gradients, 1.125 * np.tanh([0.5, 1.0]), rtol=1e-15)


# What JAX has no way to do ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("way", "program", "modes", "reason"),
    [
        ("jax:while_loop", "product", ("rev",), "no reverse mode for lax.while_loop"),
        ("jax:while_loop:nojit", "product", ("fwd", "rev"), "no reverse mode"),
        ("jax:fori_loop", "nested", ("rev",), "known only at run time"),
        ("jax:fori_loop", "body first", ("fwd",), "no loop of the program is counted"),
        ("jax:fori_loop", "product", ("rev",), None),
        ("jax:fori_loop", "a counter", ("rev",), None),
        ("jax:fori_loop", "nested", ("fwd",), None),
        ("jax:scan", "body first", ("rev", "rev"), None),
        ("jax:unrolled", "body first", ("rev", "rev"), None),
    ],
)
def test_what_is_supported(way: str, program: str, modes: tuple[Mode, ...], reason: str | None) -> None:
    said = WAYS[way].supports(about(program, modes))
    assert said == reason if reason is None else said is not None and reason in said


def test_a_loop_that_never_ends() -> None:
    endless = question(
        "def f(x):\n while x > 0.0:\n  x = x*1.0\n return x\n", {"x": 1.0}, {"x": -1.0}, modes=("fwd",)
    )
    long = question(
        "def f(x):\n for i in range(20000):\n  x = x*1.0\n return x\n", {"x": 1.0}, modes=("fwd",)
    )
    for name, way in WAYS.items():
        (answer,) = way.answer(long)
        is_told = way.supports(long) is None and RULE not in name  # of the way, and of its rules no more
        assert answer.status == ("error" if is_told else "unsupported")
        if way.supports(endless) is None:
            first, second = way.answer(endless)
            assert first.status == ("unsupported" if RULE in name else "error"), name
            assert RULE in name or "TripLimitError" in first.message
            assert float(second.gradient["x"]) == 1.0


def test_too_many_trips_for_single_operations() -> None:
    q = question("def f(x):\n for i in range(5000):\n  x = x + 1.0\n return x\n", {"x": 1.0})
    assert WAYS["jax:unrolled"].answer(q)[0].status == "unsupported"
    assert float(WAYS["jax:scan:nojit"].answer_all([q, q])[1][0].gradient["x"]) == 1.0


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ValueError("bad\nworse"), "error"),
        (NotImplementedError("no rule"), "error"),
        (ValueError("Reverse-mode differentiation does not work for lax.while_loop"), "error"),
        (NotImplementedError("Singular value decomposition JVP not implemented for full matrices"), "error"),
    ],
)
def test_what_is_raised_is_an_answer(monkeypatch: pytest.MonkeyPatch, error: Exception, status: str) -> None:
    def fail(*args: Any) -> None:
        raise error

    monkeypatch.setattr(jax_answers, "derivative", fail)
    q = question("def f(x):\n for i in range(3):\n  x = x*1.75\n return x\n", {"x": 1.0}, {"x": 2.0})
    for way in ("jax:scan", "jax:scan:nojit", "jax:unrolled"):
        answers = WAYS[way].answer(q)
        assert [a.status for a in answers] == [status, status]
        assert answers[0].message == f"{type(error).__name__}: {str(error).splitlines()[0]}"


def test_the_extra_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'gradfuzz\[jax\]'"):
        ways()


# Reproducers ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("way", "program", "modes", "precision"),
    [
        ("jax:scan", "break and continue", ("rev",), "float64"),
        ("jax:fori_loop:nojit", "arrays", ("fwd", "rev"), "float32"),
        ("jax:while_loop", "several inputs", ("fwd",), "float64"),
        ("jax:unrolled", "break and continue", (), "float64"),
    ],
)
def test_a_script_that_is_right(
    way: str, program: str, modes: tuple[Mode, ...], precision: str, tmp_path: Path
) -> None:
    q = about(program, modes, precision)
    (truth,) = ArbReference().truth(
        Question(q.program, q.points[:1], q.precision, q.wrt, q.modes, q.weights, q.directions)
    )
    source = script(q, 0, way, truth.gradient or {f"output {k}": v for k, v in enumerate(truth.values)})
    done = run_script(source, tmp_path, "-W", "error")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "right"


def test_a_script_that_is_wrong(tmp_path: Path) -> None:
    q = about("several inputs", ("rev",))
    source = script(q, 0, "jax:scan", ArbReference().truth(q)[0].gradient)
    assert "jnp.sin(" in source
    done = run_script(
        source.replace("jnp.sin(", "jnp.cos("), tmp_path, "-W", "error"
    )  # as good as a wrong derivative
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "wrong"


def test_products_along_the_last_axis_step_by_step() -> None:
    """The derivative of a product permutes axes inside a reshape."""
    program = parse('def f(x: "float[3, 2]"):\n    return prod(x, axis=1)\n')
    x = np.array([[2.0, 3.0], [5.0, 7.0], [11.0, 13.0]])
    ones, along = np.ones(3), np.ones((3, 2))
    points = (Point({"x": x}), Point({"x": 2.0 * x}))
    for mode in ("rev", "fwd"):
        for oracle in ways():
            asked = Question(program, points, "float64", ("x",), (mode,), (ones,), {"x": along})  # type: ignore[arg-type]
            if oracle.supports(asked) is not None:
                continue
            first, second = oracle.answer(asked)
            assert np.array_equal(first.values[0], [6.0, 35.0, 143.0]), oracle.name
            assert np.array_equal(first.gradient["x"], x[:, ::-1]), oracle.name
            assert np.array_equal(second.gradient["x"], 2.0 * x[:, ::-1]), oracle.name


def test_a_name_that_a_release_lacks_is_no_error_of_jax() -> None:
    with pytest.raises(AttributeError) as missing:
        jax.numpy.linalg.frobnicate  # noqa: B018 - it raises
    asked = about("product", ("rev",))
    found = jax_answers.failure(missing.value, asked)
    assert found.status == "unsupported"
    assert "jax.numpy.linalg" in found.message
    assert "frobnicate" in found.message
    with pytest.raises(AttributeError) as other:
        None.frobnicate  # type: ignore[attr-defined]  # noqa: B018 - it raises
    assert jax_answers.failure(other.value, asked).status == "error"


@pytest.mark.parametrize("way", ["jax:scan", "jax:fori_loop:nojit", "jax:unrolled", "jax:vmap"])
@pytest.mark.parametrize(("precision", "size"), [("float64", 2.0**20), ("float32", 2.0**19.5)])
def test_matrices_beyond_the_squarings_of_expm_are_unsupported(way: str, precision: str, size: float) -> None:
    """`jax.scipy.linalg.expm` returns NaN where it needs more than 16 squarings: it documents that."""
    exponential = 'def f(x: "float[2, 2]"):\n    for i in range(1):\n        x = expm(-x)\n    return x\n'
    at = [{"x": scale * np.eye(2)} for scale in (size, 1.0)]
    too_large, near = WAYS[way].answer(question(exponential, *at, precision=precision))
    assert (too_large.status, near.status) == ("unsupported", "ok")
    assert "max_squarings" in too_large.message


def test_a_nan_that_expm_does_not_explain_is_an_answer() -> None:
    exponential = 'def f(x: "float[2, 2]"):\n    return sqrt(expm(x) - 10.0)\n'
    (answer,) = WAYS["jax:scan"].answer(question(exponential, {"x": np.eye(2)}))
    assert answer.status == "ok"
    assert np.isnan(answer.values[0]).any()
