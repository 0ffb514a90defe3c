"""The smoke for other Pythons: each step fails where it must. That they pass is for `make smoke` to show."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gradfuzz.fuzzer.results.finding import Finding
from gradfuzz.oracles.foreign.installers import interpreters
from gradfuzz.reports.machine.json import sweep_document
from tests import smoke
from tests.report_data import call_finding, finding, finished
from tests.smoke import Smoke

CHECK = {
    "points": [
        {
            "truth": {"gradient": {"x": 0.75}},
            "answers": [
                {"oracle": "engine", "verdict": "agree"},
                {"oracle": "jax:scan", "verdict": "agree"},
            ],
        }
    ]
}


def sweep_found(*found: Finding, **changes: Any) -> dict[str, Any]:
    """The document of a sweep, as gradfuzz writes it."""
    return {**sweep_document(finished(found)), **changes}


SWEEP = {
    "targets": [{"name": "engine", "checks": 3}, {"name": "jax:scan", "checks": 2}],
    "functions": [{"name": f"jax.numpy.f{k}", "judged": 1} for k in range(4)],
}


class Fake(Smoke):
    """Answers in place of gradfuzz, and writes what a command is told to write."""

    def __init__(self, work: Path, document: dict[str, Any]) -> None:
        super().__init__(work, work)
        self.document = document

    def command(self, *arguments: str, code: object = (0,)) -> str:
        (self.work / "report.json").write_text(json.dumps(self.document), encoding="utf-8")
        return json.dumps(self.document)


def answered(**changes: str) -> dict[str, Any]:
    """A check in which JAX answers otherwise."""
    (point,) = CHECK["points"]
    answers = [point["answers"][0], {**point["answers"][1], **changes}]
    return {"points": [{**point, "answers": answers}]}


CRASH = call_finding(note="the process ends: the process ended with exit code 1", target="jax")
OURS = finding(target="engine")
THEIRS = finding(target="jax:scan")


@pytest.mark.parametrize(
    ("step", "document"),
    [
        (smoke.check, CHECK),
        (smoke.sweep, sweep_found(**SWEEP)),
        (smoke.sweep, sweep_found(THEIRS, **SWEEP)),
        (smoke.functions, sweep_found(**SWEEP)),
    ],
)
def test_what_is_right_passes(step: Callable[[Smoke], str], document: dict[str, Any], tmp_path: Path) -> None:
    assert step(Fake(tmp_path, document))


@pytest.mark.parametrize(
    ("step", "document", "words"),
    [
        (smoke.check, answered(verdict="disagree"), "disagree"),
        (smoke.check, answered(oracle="engine"), "engine"),
        (smoke.check, answered(verdict="unsupported") | {"points": []}, "expected 1"),
        (smoke.sweep, sweep_found(CRASH, **SWEEP), "a process is said to end"),
        (smoke.sweep, sweep_found(OURS, **SWEEP), "the engine is not wrong"),
        (smoke.sweep, sweep_found(**SWEEP, complete=False), "cut short"),
        (smoke.sweep, sweep_found(**SWEEP | {"targets": SWEEP["targets"][:1]}), "'engine': 3"),
        (smoke.functions, sweep_found(CRASH, **SWEEP), "softplus"),
        (smoke.functions, sweep_found(**SWEEP | {"functions": SWEEP["functions"][:2]}), "few functions"),
        (smoke.proofs, {"proofs": [{"modes": ["rev"], "outcome": "right"}]}, "'wrong', {'right'}"),
        (smoke.board, {"not": "written"}, "No such file"),
    ],
)
def test_what_is_wrong_fails(
    step: Callable[[Smoke], str], document: dict[str, Any], words: str, tmp_path: Path
) -> None:
    with pytest.raises((AssertionError, ValueError, OSError), match=words):
        step(Fake(tmp_path, document))


def test_a_command_that_ends_otherwise_fails(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    one = Smoke(tmp_path, tmp_path)
    assert one.command("-c", "print('said')") == "said\n"
    with pytest.raises(AssertionError, match="ended with 3"):
        one.command("-c", "raise SystemExit(3)", code=(0, 1))


def test_a_python_that_is_not_there_is_said(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr(smoke, "_interpreters", lambda: interpreters)
    there = interpreters.Interpreter("/usr/bin/python3.13", "3.13.0")
    monkeypatch.setattr(interpreters, "this", lambda: interpreters.Interpreter("own", "3.11.7"))
    monkeypatch.setattr(interpreters, "others", lambda: iter([there]))
    assert smoke.others() == ["/usr/bin/python3.13"]
    assert capsys.readouterr().out.startswith("Python 3.12: not found, on the path or under pyenv")


def test_it_needs_no_package() -> None:
    """It runs in a Python that has none yet."""
    code = "import sys; sys.path.insert(0, '.'); from tests import smoke; smoke.others()"
    subprocess.run([sys.executable, "-I", "-S", "-c", code], cwd=smoke.ROOT, check=True)
