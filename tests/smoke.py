"""A short run of each part of gradfuzz with another Python and the newest JAX that it can have.

`make smoke PYTHON=python3.12` takes that Python; `.ci/run` takes each of the Pythons that gradfuzz declares
and the machine has, but for the one that runs the tests. The environment is build/smoke-3.12. It has Torch
where `--with torch` was said once: for most Pythons that is some gigabytes, and CI does without.

Every step says what it looks at. It needs no package, for it runs before there is one.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).parents[1]

PROOFS = """
import jax
import jax.numpy as jnp


def right(x):
    return jnp.sin(x) * x


@jax.custom_vjp
def wrong(x):
    return jnp.sin(x)


wrong.defvjp(lambda x: (jnp.sin(x), x), lambda x, g: (-g * jnp.cos(x),))
"""
"""The derivative of the sine is the cosine, without a sign."""

GRADIENTS = """
import jax.numpy as jnp
import numpy as np
import rules
from gradfuzz import GradientMismatch, check_gradient

check_gradient(lambda x: jnp.sum(rules.right(x)), np.array([0.5, 2.0]))
try:
    check_gradient(rules.wrong, 0.5)
except GradientMismatch:
    print("right and wrong are told apart")
"""


_NO_ANSWER = re.compile(r"the process ends|start:|exited:|gone:|flood:|SIG[A-Z]+:|signal \d+:")
"""How the note of a finding begins that says that a process ended."""


class Smoke:
    """An environment of one Python, and an empty folder to work in."""

    def __init__(self, home: Path, work: Path) -> None:
        self.python = home / "bin" / "python"
        self.work = work
        (work / "rules.py").write_text(PROOFS, encoding="utf-8")

    def run(self, *arguments: str, code: Sequence[int] = (0,)) -> str:
        """What gradfuzz prints. It must end with one of these exit codes."""
        return self.command("-m", "gradfuzz", *arguments, code=code)

    def command(self, *arguments: str, code: Sequence[int] = (0,)) -> str:
        done = subprocess.run(
            [str(self.python), *arguments], cwd=self.work, capture_output=True, text=True, check=False
        )
        said = f"{' '.join(arguments)} ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
        assert done.returncode in code, said
        return done.stdout

    def report(self, *arguments: str) -> dict[str, Any]:
        """The document of a sweep that was whole, with or without findings."""
        self.run("sweep", *arguments, "--format", "concise", "--report", "json=report.json", code=(0, 1))
        document: dict[str, Any] = json.loads((self.work / "report.json").read_text(encoding="utf-8"))
        ended = [one["program"] for one in document["findings"] if _NO_ANSWER.match(one["note"])]
        assert not ended, f"a process is said to end at these: {ended}"
        assert document["complete"], "the sweep was cut short"
        return document


def check(smoke: Smoke) -> str:
    text = smoke.run(
        *("check", "acc*x", "--trips", "3", "--at", "x=0.5", "--only", "engine", "--only", "jax"),
        *("--format", "json"),
    )
    (point,) = json.loads(text)["points"]
    assert point["truth"]["gradient"] == {"x": 0.75}, "three times the square of a half"
    systems = {answer["oracle"].partition(":")[0] for answer in point["answers"]}
    assert systems == {"engine", "jax"}, systems
    wrong = [answer for answer in point["answers"] if answer["verdict"] not in ("agree", "unsupported")]
    assert not wrong, wrong
    agree = sum(answer["verdict"] == "agree" for answer in point["answers"])
    assert agree >= len(point["answers"]) / 2, point["answers"]
    return f"{agree} answers"


def sweep(smoke: Smoke) -> str:
    document = smoke.report("engine", "jax", "--max-examples", "4")
    checks = {target["name"]: target["checks"] for target in document["targets"]}
    assert min(checks["engine"], sum(n for name, n in checks.items() if name.startswith("jax"))) > 0, checks
    wrong = [one["program"] for one in document["findings"] if one["target"].startswith("engine")]
    assert not wrong, f"the engine is not wrong: {wrong}"
    return f"{sum(checks.values())} checks"


def functions(smoke: Smoke) -> str:
    document = smoke.report("jax", "--family", "functions", "--max-examples", "2", "--shard", "1/150")
    judged = [one["name"] for one in document["functions"] if one["judged"]]
    assert len(judged) >= 3, f"few functions were asked: {judged}"
    return f"{len(judged)} functions"


def gradients(smoke: Smoke) -> str:
    said = smoke.command("-c", GRADIENTS).strip()
    assert said == "right and wrong are told apart", said
    return said


def proofs(smoke: Smoke) -> str:
    for name, outcome, code in (("right", "right", 0), ("wrong", "wrong rule", 1)):
        document = json.loads(smoke.run("prove", f"rules:{name}", "--format", "json", code=(code,)))
        outcomes = {one["outcome"] for one in document["proofs"] if one["modes"] == ["rev"]}
        assert outcomes == {outcome}, (name, outcomes)
    return "one rule is right, one is wrong"


def reports(smoke: Smoke) -> str:
    files = ("--report", "html=report.html", "--report", "sarif=report.sarif")
    smoke.run("report", *files, "--format", "concise", code=(0, 1))
    page = (smoke.work / "report.html").read_text(encoding="utf-8")
    assert "</html>" in page
    assert "jax" in page
    assert json.loads((smoke.work / "report.sarif").read_text(encoding="utf-8"))["runs"]
    return f"{len(page):,} characters of HTML"


def board(smoke: Smoke) -> str:
    smoke.run("board", "--out", "site")
    version = smoke.command("-c", "import jax; print(jax.__version__)").strip()
    page = (smoke.work / "site" / "index.html").read_text(encoding="utf-8")
    assert "engine" in page
    assert version in page, f"the board does not name JAX {version}"
    return f"with JAX {version}"


STEPS: tuple[Callable[[Smoke], str], ...] = (check, sweep, functions, gradients, proofs, reports, board)


def smoked(python: str, extras: Sequence[str]) -> bool:
    """Whether every step went as it must, in a Python."""
    series = _said(python, "import sys; print('%d.%d' % sys.version_info[:2])")
    home = ROOT / "build" / f"smoke-{series}"
    begun = time.monotonic()
    if not (home / "bin" / "python").exists():
        subprocess.run([python, "-m", "venv", str(home)], check=True)
    install = [str(home / "bin" / "python"), "-m", "pip", "install", "--disable-pip-version-check", "--quiet"]
    subprocess.run([*install, "--upgrade", "--editable", str(ROOT), "jax", *extras], check=True)
    print(f"Python {series}: installed in {time.monotonic() - begun:.0f} s into {home.relative_to(ROOT)}")
    right = True
    with tempfile.TemporaryDirectory(prefix="gradfuzz-smoke-") as work:
        smoke = Smoke(home, Path(work))
        for step in STEPS:
            started = time.monotonic()
            try:
                said = step(smoke)
            except (AssertionError, ValueError, OSError) as error:
                right, said = False, f"WRONG: {error}"
            print(
                f"Python {series}: {step.__name__}: {said} ({time.monotonic() - started:.0f} s)", flush=True
            )
    return right


def others() -> list[str]:
    """The other Pythons that gradfuzz declares and this machine has. Says which of them it has not."""
    interpreters = _interpreters()
    found = list(interpreters.others())
    there = {one.series for one in (interpreters.this(), *found)}
    for series in interpreters.SERIES:
        if series not in there:
            print(f"Python {series}: not found, on the path or under pyenv; nothing was run with it")
    return [one.path for one in found]


def _interpreters() -> ModuleType:
    """The module of gradfuzz by its file, for its neighbours import packages."""
    path = ROOT / "gradfuzz" / "oracles" / "foreign" / "installers" / "interpreters.py"
    spec = importlib.util.spec_from_file_location("interpreters", path)
    assert spec is not None and spec.loader is not None, path  # noqa: PT018
    module = sys.modules["interpreters"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _said(python: str, code: str) -> str:
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.smoke", description=__doc__)
    parser.add_argument("pythons", nargs="*", help="which Pythons; this one if none is named")
    parser.add_argument(
        "--others", action="store_true", help="all others that there are, in place of this one"
    )
    parser.add_argument(
        "--with", dest="extras", action="append", default=[], help="installed beside JAX: torch"
    )
    said = parser.parse_args()
    pythons = others() if said.others else said.pythons or [sys.executable]
    wrong = [python for python in pythons if not smoked(python, said.extras)]
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
