"""The Pythons of this machine that gradfuzz runs on. It needs no package: CI asks it before there is one."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SERIES = ("3.11", "3.12", "3.13")
"""The Pythons that gradfuzz is tested on, as the classifiers in pyproject.toml say."""

_SAYS_ITS_VERSION = "import ensurepip, platform, venv; print(platform.python_version())"
"""Fails in a Python that makes no environments; Debian's has them in a package of their own."""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python that can make environments."""

    path: str
    version: str

    @property
    def series(self) -> str:
        return series(self.version)


def series(version: str) -> str:
    """3.12 of 3.12.1."""
    return ".".join(version.split(".")[:2])


def this() -> Interpreter:
    """The Python that runs gradfuzz."""
    return Interpreter(sys.executable, platform.python_version())


def others() -> Iterator[Interpreter]:
    """One Python of each other series: newer ones first, from the nearest on."""
    own = _numbers(this().series)
    newer = [one for one in SERIES if _numbers(one) > own]
    older = [one for one in SERIES if _numbers(one) < own]
    for wanted in (*newer, *reversed(older)):
        if (found := find(wanted)) is not None:
            yield found


def find(wanted: str) -> Interpreter | None:
    """The first Python of a series that works: on the path, or under pyenv.

    A name on the path may be pyenv's stand-in for a Python that is not chosen, which only fails.
    """
    for path in _candidates(wanted):
        version = _version(path)
        if series(version) == wanted:
            return Interpreter(str(path), version)
    return None


def _candidates(wanted: str) -> list[Path]:
    found = [Path(folder, f"python{wanted}") for folder in os.get_exec_path()]
    under = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    pattern = re.compile(rf"{re.escape(wanted)}\.\d+")
    versions = [place for place in under.glob(f"{wanted}.*") if pattern.fullmatch(place.name)]
    versions.sort(key=lambda place: _numbers(place.name), reverse=True)
    found += [place / "bin" / "python" for place in versions]
    return [path for path in found if os.access(path, os.X_OK)]


def _version(path: Path) -> str:
    """Nothing where it does not run, or makes no environments."""
    command = [str(path), "-I", "-c", _SAYS_ITS_VERSION]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - a Python
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))
