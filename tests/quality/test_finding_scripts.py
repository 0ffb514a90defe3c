"""The scripts of findings do what they say: a finding's own shows the bug, its test fails, and ports to right
libraries are right.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import runpy
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradfuzz.fuzzer.findings.reproducer import ports, reproducer, reproducer_input
from gradfuzz.fuzzer.findings.survey import asked
from gradfuzz.fuzzer.questions.candidate import Candidate
from gradfuzz.fuzzer.questions.weighted import plain_question
from gradfuzz.fuzzer.results.events import FindingFound
from gradfuzz.fuzzer.results.finding import Verdict
from gradfuzz.fuzzer.sweep import SweepConfig, sweep
from gradfuzz.fuzzer.verdict.shared import oracle
from gradfuzz.oracles.base import Mode, Point
from gradfuzz.oracles.dialect_table import DIALECTS, dialect
from gradfuzz.programs import parse

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")

ROOT = Path(__file__).parents[2]
PYTHON = ("jax", "torch", "autograd")
CANNOT = 125
"""The exit code where a library that is right raises: autograd lacks derivatives, and torch has no reverse
over forward of some ops.
"""

POWER = "def f(x):\n    acc = 1.0\n    for i in range(3):\n        acc = acc * x\n    return acc\n"
REPEAT = (
    "def f(x):\n    acc = x\n    i = 0\n    while True:\n        acc = acc * x\n        i = i + 1\n"
    "        if not i < 2:\n            break\n    return acc\n"
)
TINY = "def f(x):\n    return minimum(1e-20 * x, x)\n"
LU = 'def f(a: "float[2, 2, 2]"):\n    p, l, u = lu(a)\n    return l, u\n'
TAKE = 'def f(v: "float[3]"):\n    return take(v * v, array([0, 0, 2]), axis=0)\n'
COMPLEX = "def f(x, y):\n    z = complex(x, y)\n    return real(exp(z) * z)\n"
BATCH = "def f(x, y):\n    return x * y\n"
MATRICES = [[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]]

Inputs = tuple[Mapping[str, Any], ...]
WRONG: dict[str, tuple[str, str, tuple[Mode, ...], Inputs]] = {
    "loops, for": ("mutant:nx-1747", POWER, ("rev",), ({"x": 0.5},)),
    "loops, second order": ("mutant:nx-1747", POWER, ("rev", "rev"), ({"x": 0.5},)),
    "loops, repeat": ("mutant:swift-78264", REPEAT, ("rev",), ({"x": 0.5},)),
    "linalg": ("mutant:lu-batch", LU, ("rev",), ({"a": MATRICES},)),
    "tensor": ("mutant:take-overwrites", TAKE, ("rev",), ({"v": [1.0, 2.0, 3.0]},)),
    "complex": ("mutant:conjugate-forgotten", COMPLEX, ("rev",), ({"x": 0.5, "y": 2.0},)),
    "vectorize": (
        "mutant:foreign-axis",
        BATCH,
        ("rev",),
        tuple({"x": x, "y": y} for x in (2.0, 5.0) for y in (3.0, 4.0)),
    ),
    "torch, while_loop": ("torch:while_loop", POWER, ("rev",), ({"x": 0.5},)),
    "torch, minimum": ("torch:eager", TINY, ("fwd",), ({"x": 1.0},)),
}
"""Target, program, modes, the points: at each of them the target is wrong."""


def run(text: str, path: Path) -> tuple[Any, str]:
    """The exit code of a script and what it prints, without another interpreter."""
    path.write_text(text, encoding="utf-8")
    printed = io.StringIO()
    with (
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(printed),
        pytest.raises(SystemExit) as end,
    ):
        runpy.run_path(str(path), run_name="__main__")
    return end.value.code, printed.getvalue()


def check(script: str, others: Mapping[str, str], target: str, folder: Path) -> None:
    """Runs every Python script of a finding; its test is left in `folder`."""
    path = folder / "script.py"
    code, printed = run(script, path)
    assert code == 1, printed
    for system in PYTHON:
        if system in others:
            code, printed = run(others[system], path)
            assert code == 0 or (code == CANNOT and "no answer" in printed), (
                f"{target} in {system}:\n{others[system]}\n{printed}"
            )
    path.unlink()
    name = others["pytest"].partition("def test_gf_")[2].partition("(")[0]
    (folder / f"test_{name}_{len(list(folder.iterdir()))}.py").write_text(others["pytest"], encoding="utf-8")


def check_tests(folder: Path) -> None:
    """Every test in the folder fails, and says what was expected and what was got."""
    files = list(folder.glob("test_*.py"))
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(folder),
        "--tb=line",
        str(folder),
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment)
    assert f"{len(files)} failed" in done.stdout, done.stdout[-3000:]
    assert "passed" not in done.stdout
    assert "error" not in done.stdout.splitlines()[-1]
    assert done.stdout.count("AssertionError: ") >= len(files)


def candidate_of(text: str, modes: tuple[Mode, ...], inputs: Inputs, *, together: bool) -> Candidate:
    program = parse(text)
    points = [Point({name: np.asarray(v, float) for name, v in point.items()}) for point in inputs]
    return Candidate.of(plain_question(program, points, "float64", None, modes), together=together)


@pytest.mark.slow
def test_every_script_of_a_wrong_answer(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("jax")
    said: set[str] = set()
    for name, (target_name, text, modes, inputs) in WRONG.items():
        target = oracle(target_name)
        candidate = candidate_of(text, modes, inputs, together=target.traits.batched)
        case = asked(candidate, target)
        assert case.verdict is Verdict.DISAGREE, f"{name}: {case.verdict}, {case.message}"
        script = reproducer(candidate, case, target)
        others = ports(candidate, case, target, script, "0123456789abcdef")
        own, shown = target_name.partition(":")[0], reproducer_input(candidate, case, target)
        reasons = [name for name in DIALECTS if name != own and dialect(name).unsupported(shown) is not None]
        assert set(others) | set(reasons) | {own} >= {*DIALECTS, "pytest"}
        assert not set(others) & set(reasons)
        assert own not in others
        assert "def test_gf_01234567():" in others["pytest"]
        check(script, others, name, tmp_path)
        said |= set(others)
    check_tests(tmp_path)
    assert said == {*DIALECTS, "pytest", "short"}


SWEEPS: Mapping[str, tuple[str, ...]] = {
    "loops": ("nx-1747", "swift-78264", "shared-buffer"),
    "linalg": ("lu-batch", "inv-batch"),
    "tensor": ("take-overwrites", "clip-squared"),
    "complex": ("conjugate-forgotten", "modulus-conjugate"),
    "vectorize": ("foreign-axis", "done-lane"),
}
"""Family -> planted bugs."""
MAX_PROGRAMS = 200
ENOUGH = 6
"""Findings of a family."""


@pytest.mark.slow
@pytest.mark.parametrize("family", SWEEPS)
def test_every_script_of_every_finding_of_a_sweep(family: str, seed: int, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("jax")
    targets = tuple(f"mutant:{name}" for name in SWEEPS[family])
    events = sweep(SweepConfig(targets, families=(family,), seed=seed, max_examples=MAX_PROGRAMS, jobs=1))
    found = list(
        itertools.islice((event.finding for event in events if isinstance(event, FindingFound)), ENOUGH)
    )
    assert found
    for finding in found:
        check(finding.script, finding.ports, f"{finding.id} {finding.target}\n{finding.program}", tmp_path)
    check_tests(tmp_path)
