"""The examples: their suites pass where the gradient is right, and where it is wrong every test fails and
names the entry.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"

ENTRIES = {
    "jax_custom_vjp": r"the derivative of rms_norm by x\[\d, \d\] is wrong",
    "torch_function": r"the derivative (of order 2 )?of huber by x\[\d, \d\] is wrong",
    "numpy_gradient": r"the derivative of loss by w\[\d\] is wrong",
    "toy_autodiff": r"the derivative of f by \w+ is wrong",
}
"""Project: what each failure says."""


def suite(project: str, *options: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short", "-rN", *options]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200"}
    done = subprocess.run(
        command,
        cwd=EXAMPLES / project,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("project", ENTRIES)
def test_the_right_version_passes(project: str) -> None:
    code, output = suite(project)
    assert code == 0, output
    passed = re.search(r"(\d+) passed", output)
    assert passed is not None
    assert int(passed[1]) >= 20


@pytest.mark.parametrize(
    "project",
    [
        *("jax_custom_vjp", "torch_function", "numpy_gradient"),
        pytest.param("toy_autodiff", marks=pytest.mark.slow),
    ],
)
def test_the_mistake_fails_every_test_and_each_names_the_entry(project: str) -> None:
    code, output = suite(project, "--mistake")
    assert code == 1, output
    assert " passed" not in output
    failed = re.search(r"(\d+) failed", output)
    assert failed is not None
    assert int(failed[1]) >= 20
    assert len(re.findall(rf"GradientMismatch: {ENTRIES[project]}", output)) == int(failed[1]), output


def test_every_project_is_in_the_table() -> None:
    projects = {path.parent.name for path in EXAMPLES.glob("*/pyproject.toml")}
    assert projects == {*ENTRIES, "plugin"}
    readme = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(\w+)` \|", readme, re.MULTILINE)) == projects
