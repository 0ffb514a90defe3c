"""Workflows and composite actions of GitHub, as far as this repository uses them, run step by step in bash.

Actions of others are stand-ins. Those for artifacts copy files, so that jobs hand results on; the rest take
note. What GitHub would refuse or take for empty, as an unknown input or context, is an AssertionError.
"""

from __future__ import annotations

import fnmatch
import itertools
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]

Json = Any

INPUTS = {
    "actions/checkout": set(),
    "actions/setup-python": {"python-version"},
    "actions/upload-artifact": {"name", "path", "include-hidden-files"},
    "actions/download-artifact": {"pattern", "path"},
    "github/codeql-action/upload-sarif": {"sarif_file"},
}
"""The actions of others, with those of their inputs that are used."""

_STATUS = re.compile(r"\b(?:always|success|failure|cancelled)\(\)")
_TOKEN = re.compile(r"\s*(?:(?P<text>'[^']*')|(?P<name>[A-Za-z_][\w.-]*)|(?P<sign>&&|\|\||==|!=|[!()]))")


@dataclass(frozen=True, slots=True)
class Step:
    """A step that was met: what came of it, and what another's action was given."""

    name: str
    outcome: str
    code: int = 0
    given: Mapping[str, str] = field(default_factory=dict)
    output: str = ""


class Job:
    """A job's steps, as far as they were taken, and whether the job succeeded."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.succeeded = True

    def taken(self) -> list[str]:
        return [step.name for step in self.steps if step.outcome != "skipped"]

    def step(self, name: str) -> Step:
        (found,) = (step for step in self.steps if step.name == name)
        return found


@dataclass
class Runner:
    """A machine of GitHub with `programs` before all others on its path.

    `checkout` is what the repository has, `failing` the names of steps whose action fails, `cancelled_in`
    that of the step in which the job is cancelled.
    """

    folder: Path
    programs: Path
    checkout: Path | None = None
    failing: tuple[str, ...] = ()
    cancelled_in: str = ""
    event: str = "push"
    variables: Mapping[str, str] = field(default_factory=dict)

    def workflow(self, document: Json, only: Mapping[str, Json] | None = None) -> dict[str, Job]:
        """Runs all jobs, of a matrix those that have the values of `only`."""
        jobs: dict[str, Job] = {}
        for name, body in document["jobs"].items():
            needs = body.get("needs", [])
            for needed in [needs] if isinstance(needs, str) else needs:
                assert needed in document["jobs"]
                if not all(job.succeeded for key, job in jobs.items() if key.split()[0] == needed):
                    return jobs
            for cell in _cells(body.get("strategy", {}).get("matrix", {})):
                if all(str(cell.get(key, value)) == str(value) for key, value in (only or {}).items()):
                    label = " ".join([name, *map(str, [cell["name"]] if "name" in cell else cell.values())])
                    jobs[label] = self.job(body["steps"], {"matrix": cell}, label)
        return jobs

    def job(self, steps: list[Json], contexts: Mapping[str, Json], label: str = "job") -> Job:
        workspace = self.folder / re.sub(r"\W+", "-", label)
        workspace.mkdir()
        github = {"run_number": "7", "event_name": self.event, "token": "secret", "event": {}}
        if self.event == "pull_request":
            github["event"] = {"pull_request": {"html_url": "https://github.test/pull/1"}}
        job = Job()
        self._steps(steps, {"github": github, **contexts}, workspace, job)
        return job

    def action(self, given: Mapping[str, str], label: str = "job") -> Job:
        """The action of this repository alone."""
        return self.job([{"uses": "./", "with": given}], {}, label)

    def artifacts(self) -> dict[str, list[str]]:
        """The files of each artifact."""
        return {
            place.name: sorted(p.relative_to(place).as_posix() for p in place.rglob("*") if p.is_file())
            for place in sorted((self.folder / "artifacts").glob("*"))
        }

    def _steps(self, steps: list[Json], contexts: dict[str, Json], workspace: Path, job: Job) -> bool:
        contexts = {**contexts, "steps": {}}
        succeeded, cancelled = True, False
        for step in steps:
            name = step.get("name") or step.get("uses") or step["run"]
            if not _holds(step.get("if", "success()"), contexts, succeeded=succeeded, cancelled=cancelled):
                job.steps.append(Step(name, "skipped"))
                continue
            code, outputs = self._step(step, name, contexts, workspace, job)
            outcome = "failure" if code else "success"
            if "id" in step:
                contexts["steps"][step["id"]] = {"outputs": outputs, "outcome": outcome}
            cancelled |= name == self.cancelled_in
            succeeded &= (not code or bool(step.get("continue-on-error"))) and not cancelled
        job.succeeded = succeeded
        return succeeded

    def _step(
        self, step: Json, name: str, contexts: dict[str, Json], workspace: Path, job: Job
    ) -> tuple[int, dict[str, str]]:
        if "run" in step:
            return self._run(step, name, contexts, workspace, job)
        used = step["uses"].partition("@")[0]
        given = {key: _filled(value, contexts) for key, value in step.get("with", {}).items()}
        if used == "./" or used.endswith("/gradfuzz"):
            return int(not self._composite(given, contexts, workspace, job)), {}
        assert set(given) <= INPUTS[used], used
        stand_ins: dict[str, Callable[[Mapping[str, str], Path], bool]] = {
            "actions/checkout": self._checkout,
            "actions/upload-artifact": self._upload,
            "actions/download-artifact": self._download,
        }
        done = name not in self.failing and stand_ins.get(used, lambda *_: True)(given, workspace)
        job.steps.append(Step(name, "success" if done else "failure", int(not done), given))
        return int(not done), {}

    def _composite(
        self, given: Mapping[str, str], contexts: dict[str, Json], workspace: Path, job: Job
    ) -> bool:
        action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
        assert set(given) <= set(action["inputs"])
        defaults = {name: _filled(row["default"], contexts) for name, row in action["inputs"].items()}
        inside = {
            "inputs": {**defaults, **given},
            "github": {**contexts["github"], "action_path": str(ROOT)},
        }
        return self._steps(action["runs"]["steps"], inside, workspace, job)

    def _run(
        self, step: Json, name: str, contexts: dict[str, Json], workspace: Path, job: Job
    ) -> tuple[int, dict[str, str]]:
        outputs = self.folder / "outputs"
        outputs.write_text("")
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("GRADFUZZ_", "PIP_"))}
        environment |= {"GITHUB_OUTPUT": str(outputs), **self.variables}
        environment |= {key: _filled(value, contexts) for key, value in step.get("env", {}).items()}
        environment["PATH"] = f"{self.programs}{os.pathsep}{environment['PATH']}"
        # As GitHub runs `shell: bash`.
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", _filled(step["run"], contexts)],
            cwd=workspace,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        outcome = "failure" if done.returncode else "success"
        job.steps.append(Step(name, outcome, done.returncode, output=done.stdout))
        if done.returncode:
            print(done.stdout)
        lines = outputs.read_text(encoding="utf-8").splitlines()
        return done.returncode, dict(line.split("=", 1) for line in lines)

    def _checkout(self, given: Mapping[str, str], workspace: Path) -> bool:
        if self.checkout is not None:
            shutil.copytree(self.checkout, workspace, dirs_exist_ok=True)
        return True

    def _upload(self, given: Mapping[str, str], workspace: Path) -> bool:
        """An artifact has the files below the folder that all paths share; a name is there once."""
        hidden = given.get("include-hidden-files") == "true"
        paths = [workspace / line for line in given["path"].split("\n") if line]
        base = paths[0].parent if len(paths) == 1 else workspace
        target = self.folder / "artifacts" / given["name"]
        if target.exists():
            return False
        for path in paths:
            for file in [path] if path.is_file() else path.rglob("*"):
                inside = file.relative_to(base)
                if file.is_file() and (hidden or not any(part.startswith(".") for part in inside.parts)):
                    (target / inside).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(file, target / inside)
        return True

    def _download(self, given: Mapping[str, str], workspace: Path) -> bool:
        for place in (self.folder / "artifacts").glob("*"):
            if fnmatch.fnmatchcase(place.name, given["pattern"]):
                shutil.copytree(place, workspace / given["path"] / place.name)
        return True


def _cells(matrix: Mapping[str, list[Json]]) -> Iterator[dict[str, Json]]:
    """The jobs of a matrix: its product, or what it includes."""
    if "include" in matrix:
        assert set(matrix) == {"include"}
        yield from matrix["include"]
        return
    for values in itertools.product(*matrix.values()):
        yield dict(zip(matrix, values, strict=True))


def _filled(text: Json, contexts: Mapping[str, Json]) -> str:
    """The text with its expressions evaluated, as GitHub writes what it is."""
    if isinstance(text, bool):
        return str(text).lower()
    return re.sub(r"\$\{\{(.*?)\}\}", lambda found: str(_value(found[1], contexts, {})), str(text))


def _holds(condition: Json, contexts: Mapping[str, Json], *, succeeded: bool, cancelled: bool) -> bool:
    text = str(condition)
    assert "${{" not in text
    failed = not succeeded and not cancelled
    status = {"always": True, "success": succeeded, "failure": failed, "cancelled": cancelled}
    return bool(_value(text, contexts, status)) and (succeeded or bool(_STATUS.search(text)))


def _value(text: str, contexts: Mapping[str, Json], status: Mapping[str, bool]) -> Json:
    """The value of an expression of comparisons, &&, ||, ! and the functions of status."""
    text = text.strip()
    tokens, end = [], 0
    while end < len(text):
        found = _TOKEN.match(text, end)
        assert found, f"no expression: {text[end:]}"
        tokens.append(found[found.lastgroup or ""])
        end = found.end()

    def either() -> Json:
        value = both()
        while tokens[:1] == ["||"]:
            tokens.pop(0)
            other = both()
            value = value or other
        return value

    def both() -> Json:
        value = compared()
        while tokens[:1] == ["&&"]:
            tokens.pop(0)
            other = compared()
            value = value and other
        return value

    def compared() -> Json:
        value = one()
        while tokens[:1] in (["=="], ["!="]):
            equal = tokens.pop(0) == "=="
            other = one()
            assert isinstance(value, str), f"{text}: GitHub would compare numbers"
            assert isinstance(other, str), f"{text}: GitHub would compare numbers"
            value = (value.lower() == other.lower()) == equal
        return value

    def one() -> Json:
        token = tokens.pop(0)
        if token == "!":
            return not one()
        if token == "(":
            value = either()
            assert tokens.pop(0) == ")"
            return value
        if token.startswith("'"):
            return token[1:-1]
        if tokens[:2] == ["(", ")"]:
            del tokens[:2]
            return status[token]
        return _context(token, contexts)

    value = either()
    assert not tokens, text
    return value


def _context(name: str, contexts: Mapping[str, Json]) -> Json:
    """The value of a context; what a step has not said is empty."""
    first, *rest = name.split(".")
    assert first in contexts, f"no context {name} here"
    value = contexts[first]
    for part in rest:
        if part not in value:
            assert first == "steps", f"nothing is called {name}"
            return ""
        value = value[part]
    return value
