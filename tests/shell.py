"""Commands as somebody types them, Python in processes of its own, and what is seen on a terminal."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from gradfuzz.cli import CLEAN, USAGE, main
from gradfuzz.errors import UsageError

ROOT = Path(__file__).parents[1]
PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider")
SNAPSHOTS = ROOT / "tests" / "snapshots"


def run(*arguments: str, exit_code: int | None = CLEAN) -> Result:
    """A command that ends with this exit code (None: any), and not by an exception."""
    result = CliRunner().invoke(main, arguments)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert exit_code in (None, result.exit_code), result.output
    return result


def config_of(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Any:
    """The configuration that a sweep of the engine would run with."""
    heard: list[Any] = []

    def refuse(config: object, _memo: object) -> object:
        heard.append(config)
        raise UsageError("heard")

    monkeypatch.setattr("gradfuzz.fuzzer.sweep.plans.sweep", refuse)
    run("sweep", "engine", *arguments, exit_code=USAGE)
    return heard[0]


def python(
    *arguments: str | Path,
    cwd: Path | None = None,
    path: Iterable[Path] = (ROOT,),
    exit_code: int | None = None,
    **variables: str,
) -> subprocess.CompletedProcess[str]:
    """Python in a process of its own, which imports what lies in these folders, and ends with this exit code
    (None: any).
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path)), **variables}
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert exit_code in (None, done.returncode), done.stdout + done.stderr
    return done


def printed(what: object, width: int = 100) -> str:
    """What a terminal of this width shows."""
    out = io.StringIO()
    Console(file=out, width=width, highlight=False).print(what)
    return out.getvalue()


def assert_kept(name: str, text: str) -> None:
    """The text, but for blanks at the ends of its lines, is the one in tests/snapshots.

    GRADFUZZ_WRITE_SNAPSHOTS=1 writes it anew.
    """
    path, shown = SNAPSHOTS / f"{name}.txt", "".join(f"{line.rstrip()}\n" for line in text.splitlines())
    if os.environ.get("GRADFUZZ_WRITE_SNAPSHOTS"):
        path.write_text(shown, encoding="utf-8")
    assert shown == path.read_text(encoding="utf-8")
