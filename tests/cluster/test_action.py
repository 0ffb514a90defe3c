"""The GitHub Action, run step by step in a shell: four parts, merged."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parents[2]
yaml = pytest.importorskip("yaml")

OPTIONS = "--max-examples 64 --orders 1 --dtypes float64 --jobs 1 --seed 3"
TARGETS = "engine mutant:nx-1747"


def action() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    return found


def steps_of(inputs: dict[str, str]) -> list[dict[str, Any]]:
    """The steps whose condition holds: comparisons of inputs with texts, joined by &&."""
    known = {name: str(row["default"]) for name, row in action()["inputs"].items()} | inputs
    known["github.event_name"] = "push"

    def holds(condition: str) -> bool:
        results = []
        for part in condition.split("&&"):
            match = re.fullmatch(r"\s*(?:inputs\.)?([\w.]+) (==|!=) '(\w*)'\s*", part)
            assert match is not None, part
            results.append((known[match[1]] == match[3]) == (match[2] == "=="))
        return all(results)

    return [step for step in action()["runs"]["steps"] if holds(step.get("if", "parts != 'none'"))]


def run(inputs: dict[str, str], folder: Path, install: str = "") -> tuple[int, list[str]]:
    """The exit code of the first step that fails, or 0, and the names of the steps that were taken.

    Steps that use other actions are left out: they upload. `install` is the folder of programs to use where
    gradfuzz is not to be installed.
    """
    known = {name: str(row["default"]) for name, row in action()["inputs"].items()} | inputs
    outputs = folder / "outputs"
    outputs.touch()
    taken = []
    for step in steps_of(inputs):
        if "run" not in step or (install and step["name"] == "Install gradfuzz"):
            continue
        code = dict(line.split("=") for line in outputs.read_text(encoding="utf-8").splitlines())
        values = {f"inputs.{name}": value for name, value in known.items()}
        values |= {"github.action_path": str(ROOT), "steps.whole.outputs.code": code.get("code", "")}

        def value(text: str, values: dict[str, str] = values) -> str:
            return re.sub(r"\$\{\{ ([\w.]+) \}\}", lambda found: values[found[1]], text)

        environment = {**os.environ, "GITHUB_OUTPUT": str(outputs)}
        environment |= {name: value(text) for name, text in step.get("env", {}).items()}
        environment["PATH"] = f"{install or folder / 'venv' / 'bin'}{os.pathsep}{environment['PATH']}"
        # As GitHub runs `shell: bash`.
        command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]]
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        taken.append(step["name"])
        if done.returncode:
            print(done.stdout, done.stderr)
            return done.returncode, taken
    return 0, taken


def test_every_input_is_described_and_used() -> None:
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    for name, row in action()["inputs"].items():
        assert row["description"]
        assert f"inputs.{name}" in text, name
    for step in action()["runs"]["steps"]:
        assert "${{" not in step.get("run", ""), "what users write never becomes a part of a script"


def test_which_steps_are_taken() -> None:
    part, whole = steps_of({"shard": "1/4"}), steps_of({"parts": "parts"})
    assert [step["name"] for step in part] == ["Install gradfuzz", "Sweep one part", "Keep the part"]
    assert [step["name"] for step in whole] == [
        "Install gradfuzz",
        "Sweep, or merge the parts",
        "Send the findings to code scanning",
        "Keep the reports",
        "Say how it ended",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("targets", [TARGETS, "engine"])
def test_four_parts_make_the_sweep(targets: str, tmp_path: Path) -> None:
    """With findings the last step fails, by exit code 1."""
    programs = str(Path(sys.executable).parent)
    for number in range(1, 5):
        inputs = {"targets": targets, "options": OPTIONS, "shard": f"{number}/4"}
        assert run(inputs, tmp_path, programs) == (0, ["Sweep one part"])
    parts = tmp_path / "parts"
    parts.mkdir()
    for file in tmp_path.glob("gradfuzz-part-*.ndjson"):
        file.rename(parts / file.name)
    assert len(list(parts.iterdir())) == 4
    code, taken = run({"parts": "parts"}, tmp_path, programs)
    assert taken == ["Sweep, or merge the parts", "Say how it ended"]
    assert code == (1 if targets == TARGETS else 0)
    sarif = json.loads((tmp_path / "gradfuzz.sarif").read_text(encoding="utf-8"))
    cases = ElementTree.parse(tmp_path / "gradfuzz.xml").getroot()
    whole = tmp_path / "whole"
    whole.mkdir()
    code, _ = run({"targets": targets, "options": OPTIONS}, whole, programs)
    assert code == (1 if targets == TARGETS else 0)
    other = json.loads((whole / "gradfuzz.sarif").read_text(encoding="utf-8"))
    assert [r["partialFingerprints"] for r in sarif["runs"][0]["results"]] == [
        r["partialFingerprints"] for r in other["runs"][0]["results"]
    ]
    alone = ElementTree.parse(whole / "gradfuzz.xml").getroot()
    assert [case.get("name") for case in cases.iter("testcase")] == [
        case.get("name") for case in alone.iter("testcase")
    ]


@pytest.mark.slow
def test_a_part_that_is_missing_is_an_error(tmp_path: Path) -> None:
    programs = str(Path(sys.executable).parent)
    inputs = {"targets": "engine", "options": OPTIONS, "shard": "1/4"}
    run(inputs, tmp_path, programs)
    code, taken = run({"parts": "."}, tmp_path, programs)
    assert (code, taken[-1]) == (2, "Say how it ended")
