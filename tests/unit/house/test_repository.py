"""What GitHub and pre-commit read in this repository: workflows, issue forms, hooks. They fit their published
schemas, and their shell lines run. The action has tests of its own, in tests/cluster.
"""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.github_actions import ROOT, Runner
from tests.published_schemas import faults

WORKFLOWS = ROOT / ".github" / "workflows"
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("[!c]*.yml"))
GUIDE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def read(path: Path) -> Any:
    """The document; YAML 1.1 takes the key `on` for true, GitHub does not."""
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    return {"on" if key is True else key: value for key, value in document.items()}


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("action.yml", "GitHub Action"),
        (".github/workflows/test.yml", "GitHub Workflow"),
        (".github/workflows/nightly.yml", "GitHub Workflow"),
        (".github/ISSUE_TEMPLATE/config.yml", "GitHub Issue Template configuration"),
        *((path.relative_to(ROOT).as_posix(), "GitHub issue forms") for path in FORMS),
        (".pre-commit-config.yaml", ".pre-commit-config.yml"),
    ],
)
def test_it_fits_its_schema(path: str, name: str) -> None:
    assert faults(name, read(ROOT / path)) == []


# Workflows --------------------------------------------------------------------------------------------------


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    """A machine on which make, gradfuzz and pip do nothing but write down their words."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("make", "gradfuzz", "python"):
        program = programs / name
        program.write_text(f'#!/bin/bash\nprintf "%s\\n" "$@" >> {name}.words\n', encoding="utf-8")
        program.chmod(0o755)
    machine = tmp_path / "machine"
    machine.mkdir()
    return Runner(machine, programs)


def pythons() -> list[str]:
    """Those of which the package says that it runs there."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    rows = "\n".join(settings["project"]["classifiers"])
    known = re.findall(r"^Programming Language :: Python :: (3\.\d+)$", rows, re.MULTILINE)
    assert settings["project"]["requires-python"] == f">={known[0]}"
    assert settings["tool"]["mypy"]["python_version"] == known[0]
    assert settings["tool"]["ruff"]["target-version"] == f"py{known[0].replace('.', '')}"
    return known


def test_the_workflow_of_tests(runner: Runner) -> None:
    """With a stand-in for make: the suite runs itself on every Python."""
    document = read(WORKFLOWS / "test.yml")
    jobs = runner.workflow(document)
    assert list(jobs) == [f"test {version}" for version in pythons()]
    for job in jobs.values():
        assert job.taken() == ["actions/checkout@v5", "actions/setup-python@v6", "Test"]
        assert job.succeeded
    given = [job.steps[1].given["python-version"] for job in jobs.values()]
    assert given == pythons()
    for version in given:
        folder = runner.folder / f"test-{version.replace('.', '-')}"
        assert (folder / "make.words").read_text(encoding="utf-8") == "test\n"


def test_the_guide_names_the_pythons() -> None:
    *others, last = pythons()
    assert f"Python {', '.join(others)} and {last}" in GUIDE


def test_the_nightly_workflow(runner: Runner) -> None:
    """What each job asks for, of a stand-in for gradfuzz; tests/cluster runs the action with the real one."""
    jobs = runner.workflow(read(WORKFLOWS / "nightly.yml"))
    asked = {}
    for name, job in jobs.items():
        assert job.succeeded
        words = (runner.folder / name.replace(" ", "-") / "gradfuzz.words").read_text(encoding="utf-8")
        asked[name.removeprefix("sweep ")] = words.splitlines()
        assert job.steps[1].given["python-version"] in pythons()
    programs = ["--family", "loops,linalg,tensor,complex", "--seed", "7", "--max-examples", "1000"]
    functions = ["--family", "functions", "--seed", "7", "--max-examples", "6"]
    assert {name: words[:8] for name, words in asked.items()} == {
        "engine": ["sweep", "engine", *programs],
        "jax": ["sweep", "jax", *programs],
        "torch": ["sweep", "torch", *programs],
        "jax-functions": ["sweep", "jax", *functions],
        "torch-functions": ["sweep", "torch", *functions],
    }
    for name in asked:
        installed = (runner.folder / f"sweep-{name}" / "python.words").read_text(encoding="utf-8")
        library = name.partition("-")[0].replace("engine", "")
        assert installed.split() == ["-m", "pip", "install", "--quiet", *library.split(), str(ROOT)]


def test_every_nightly_option_is_one_of_a_sweep() -> None:
    """The families, too: the stand-in above takes anything."""
    from gradfuzz.cli.sweeping.sweep import sweep
    from gradfuzz.strategies import FAMILIES

    document = read(WORKFLOWS / "nightly.yml")
    (given,) = [step["with"] for step in document["jobs"]["sweep"]["steps"] if step["uses"] == "./"]
    flags = {flag for parameter in sweep.params for flag in parameter.opts}
    assert set(re.findall(r"--[a-z-]+", given["options"])) <= flags
    rows = document["jobs"]["sweep"]["strategy"]["matrix"]["include"]
    families = {family for row in rows for family in row["family"].split(",")}
    assert families <= {*FAMILIES, "functions"}


# Issue forms ------------------------------------------------------------------------------------------------


def test_there_is_a_form_for_each_kind_of_issue() -> None:
    names = [read(path)["name"] for path in FORMS]
    assert names == ["A false alarm", "A missed bug", "A new adapter"]


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_form_keeps_what_its_schema_cannot_say(path: Path) -> None:
    """ "Common validation errors when creating issue forms", in GitHub's documentation."""
    form = read(path)
    fields = [element for element in form["body"] if element["type"] != "markdown"]
    assert fields, "a form has a field"
    for key in ("id", "label"):
        found = [row.get(key) or row["attributes"][key] for row in fields]
        assert len(set(found)) == len(found), key
    assert all(re.fullmatch(r"[\w-]+", row["id"]) for row in fields)
    for row in fields:
        options = row["attributes"].get("options", [])
        labels = [option if isinstance(option, str) else option["label"] for option in options]
        assert len(set(labels)) == len(labels)
        assert not {"none"} & {label.lower() for label in labels}, "GitHub adds that one"


@pytest.mark.parametrize("path", [*FORMS, ROOT / "SECURITY.md", FORMS[0].with_name("config.yml")])
def test_a_link_leads_into_the_repository(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for file in re.findall(r"https://github\.com/OWNER/gradfuzz/blob/main/([^)\s]+)", text):
        assert (ROOT / file).is_file(), file
    for link in re.findall(r"https://github\.com/[^)\s`]+", text):
        assert link.startswith("https://github.com/OWNER/gradfuzz/"), link
    for command in re.findall(r"`gradfuzz ([a-z]+(?: [a-z]+)?)", text):
        assert any(line.startswith(f"gradfuzz {command}") for line in COMMANDS), command


COMMANDS = re.findall(r"`(gradfuzz [^`]*)`", (ROOT / "docs" / "commands.md").read_text(encoding="utf-8"))


# Hooks ------------------------------------------------------------------------------------------------------


def test_the_hook_is_make_lint(runner: Runner) -> None:
    """So it cannot check something else. That `make lint` is the linters is seen without running them."""
    (repository,) = read(ROOT / ".pre-commit-config.yaml")["repos"]
    (hook,) = repository["hooks"]
    job = runner.job([{"run": hook["entry"]}], {})
    assert job.succeeded
    assert (runner.folder / "job" / "make.words").read_text(encoding="utf-8") == "lint\n"
    told = subprocess.run(
        ["make", "--no-print-directory", "--always-make", "--dry-run", "lint", "READY="],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    commands = [line.removeprefix(".venv/bin/") for line in told.splitlines()]
    assert commands == ["ruff check .", "ruff format --check .", "mypy"]


@pytest.mark.parametrize(
    ("path", "checked"), [("gradfuzz/errors.py", True), ("pyproject.toml", True), ("docs/nx.md", False)]
)
def test_the_hook_looks_at_what_is_linted(path: str, checked: bool) -> None:
    (hook,) = read(ROOT / ".pre-commit-config.yaml")["repos"][0]["hooks"]
    assert bool(re.search(hook["files"], path)) == checked
