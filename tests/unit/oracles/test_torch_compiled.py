"""torch.compile as ways into Torch, and their scripts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gradfuzz.fuzzer.questions.weighted import plain_question
from gradfuzz.oracles.base import Point
from gradfuzz.programs import parse

pytest.importorskip("torch", reason="the torch extra is not installed")

from gradfuzz.oracles.torch.ways import script, ways
from tests.running import run_script

WAYS = {way.name: way for way in ways() if "compile" in way.name}
BACKENDS = [
    "torch:compile:eager",
    "torch:compile:aot_eager",
    pytest.param("torch:compile:inductor", marks=pytest.mark.slow),
]

PROGRAM = parse(
    'def f(x, n: "int"):\n    acc = 1.0\n    for i in range(n):\n        if acc < 0.9:\n            break\n  '
    "      acc = sin(acc * x)\n    return acc\n"
)


def truth(x: float, n: int) -> float:
    """d/dx of the loop, by the chain rule."""
    acc, slope = 1.0, 0.0
    for _ in range(n):
        if acc < 0.9:
            break
        acc, slope = np.sin(acc * x), np.cos(acc * x) * (slope * x + acc)
    return slope


@pytest.mark.parametrize("name", BACKENDS)
def test_a_compiled_loop_has_the_gradient_of_the_loop(name: str) -> None:
    points = [(1.4, 3), (0.5, 3), (1.4, 0)]
    question = plain_question(
        PROGRAM,
        [Point({"x": np.asarray(x), "n": np.asarray(n)}) for x, n in points],
        "float64",
        ("x",),
        ("rev",),
    )
    for (x, n), answer in zip(points, WAYS[name].answer(question), strict=True):
        assert answer.status == "ok", answer.message
        assert float(answer.gradient["x"]) == pytest.approx(
            truth(x, n) * float(question.weights[0]), rel=1e-14, abs=0
        )


def test_what_is_not_asked() -> None:
    point = [Point({"x": np.asarray(0.5), "n": np.asarray(1)})]
    twice, forward = (
        plain_question(PROGRAM, point, "float64", ("x",), modes) for modes in (("rev", "rev"), ("fwd",))
    )
    assert WAYS["torch:compile:eager"].supports(twice) is None
    assert WAYS["torch:compile:aot_eager"].supports(twice) == "AOTAutograd has no second reverse step"
    assert all(
        way.supports(forward) == "torch.compile is asked by reverse mode only" for way in WAYS.values()
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", BACKENDS)
@pytest.mark.parametrize(("expected", "code"), [(truth(1.4, 3), 0), (1.0, 1)])
def test_a_script_compiles_what_was_compiled(name: str, expected: float, code: int, tmp_path: Path) -> None:
    """It computes the truth by itself; what it is told to allow decides."""
    question = plain_question(
        PROGRAM, [Point({"x": np.asarray(1.4), "n": np.asarray(3)})], "float64", ("x",), ("rev",)
    )
    allowed = {"x": np.asarray(1e-12 if code == 0 else -1.0)}
    text = script(question, 0, name, {"x": np.asarray(expected)}, allowed)
    assert f'torch.compile(f, backend="{name.rpartition(":")[2]}")' in text
    done = run_script(text, tmp_path)
    assert done.returncode == code, done.stdout + done.stderr
