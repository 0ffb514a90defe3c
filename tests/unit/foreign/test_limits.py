"""What a target's process may take, by flags, settings and variables."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gradfuzz.cli import FINDINGS, USAGE, main
from gradfuzz.cli.options import _LIMITS
from gradfuzz.errors import UsageError
from gradfuzz.fuzzer.sweep.config import SweepConfig, rerun_command
from gradfuzz.oracles.foreign.process import ResourceLimits
from gradfuzz.oracles.foreign.resource_limits import VARIABLES, flags, limits
from gradfuzz.oracles.registry import resolve

ADAPTERS = Path(__file__).parents[3] / "gradfuzz" / "adapters"


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def slow(tmp_path: Path) -> str:
    """The target "toy" with a sine that takes a long time."""
    script = tmp_path / "slow.py"
    script.write_text(
        f"import sys, time\nsys.path.insert(0, {str(ADAPTERS)!r})\nimport kit\nfrom toy_adapter import Toy\n"
        "class Slow(Toy):\n    ops = {**Toy.ops, 'sin': lambda x: time.sleep(60)}\n"
        "kit.serve('slow', '1', [Slow()])\n",
        encoding="utf-8",
    )
    return f"cmd:{shlex.join([sys.executable, str(script)])}"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def test_nothing_said_changes_nothing() -> None:
    assert limits() is None
    assert limits(ResourceLimits(request=300.0)) == ResourceLimits(request=300.0)
    assert flags() == []


def test_what_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADFUZZ_TARGET_MEMORY", "1.5")
    monkeypatch.setenv("GRADFUZZ_TARGET_RESTARTS", "0")
    found = limits(ResourceLimits(request=300.0))
    assert found == ResourceLimits(
        request=300.0, memory=3 << 29, renewed=9 << 26, restarts=0
    )  # three eighths of the memory
    monkeypatch.setenv("GRADFUZZ_TARGET_MEMORY", "64")
    monkeypatch.setenv("GRADFUZZ_TARGET_SECONDS", "0.5")
    monkeypatch.setenv("GRADFUZZ_TARGET_START", "7")
    assert limits(ResourceLimits(request=300.0)) == ResourceLimits(
        start=7.0, request=0.5, memory=64 << 30, restarts=0
    )
    assert flags() == [
        "--target-memory",
        "64",
        "--target-seconds",
        "0.5",
        "--target-start",
        "7",
        "--target-restarts",
        "0",
    ]
    assert rerun_command(SweepConfig(("engine",))).endswith(
        "--target-memory 64 --target-seconds 0.5 --target-start 7 --target-restarts 0"
    )


@pytest.mark.parametrize(
    ("variable", "text", "words"),
    [
        (
            "GRADFUZZ_TARGET_MEMORY",
            "much",
            "GRADFUZZ_TARGET_MEMORY is 'much'; it takes a number above 0 of GiB",
        ),
        ("GRADFUZZ_TARGET_SECONDS", "0", "a number above 0 of seconds"),
        ("GRADFUZZ_TARGET_START", "inf", "a number above 0 of seconds"),
        ("GRADFUZZ_TARGET_RESTARTS", "1.5", "a whole number of processes"),
    ],
)
def test_what_is_no_limit(variable: str, text: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, text)
    with pytest.raises(UsageError, match=words):
        resolve("cmd:python")


def test_the_flags_are_the_variables() -> None:
    assert [f"GRADFUZZ_{name.removeprefix('--').replace('-', '_').upper()}" for name, *_ in _LIMITS] == list(
        VARIABLES
    )


@pytest.mark.parametrize("how", ["flag", "setting", "variable"])
def test_a_target_has_the_time_that_it_is_given(
    how: str, slow: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if how == "setting":
        (tmp_path / "pyproject.toml").write_text("[tool.gradfuzz]\ntarget-seconds = 0.3\n", encoding="utf-8")
    elif how == "variable":
        monkeypatch.setenv("GRADFUZZ_TARGET_SECONDS", "0.3")
    before = dict(os.environ)
    given = ["--target-seconds", "0.3"] if how == "flag" else []
    done = run(
        "check",
        "sin(acc)",
        "--loop",
        "for",
        "--mode",
        "fwd",
        "--trips",
        "1",
        "--only",
        slow,
        "--format",
        "json",
        *given,
    )
    assert "timed out: no answer within 0.3 seconds" in done.output
    assert dict(os.environ) == before


def test_conformance_has_them(tmp_path: Path) -> None:
    script = tmp_path / "silent.py"
    script.write_text("import time\ntime.sleep(60)\n", encoding="utf-8")
    done = run("targets", "check", shlex.join([sys.executable, str(script)]), "--target-start", "0.2")
    assert done.exit_code == FINDINGS
    assert "no answer within 0.2 seconds" in " ".join(done.output.split())


@pytest.mark.parametrize(
    "given", [("--target-memory", "0"), ("--target-restarts", "-1"), ("--target-seconds", "soon")]
)
def test_a_flag_that_says_nothing(given: tuple[str, str]) -> None:
    assert run("sweep", "engine", *given).exit_code == USAGE
