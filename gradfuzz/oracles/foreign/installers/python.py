"""Libraries of Python, by uv or by venv and pip."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from packaging.utils import canonicalize_name
from packaging.version import Version

from gradfuzz.errors import InstallError
from gradfuzz.oracles.foreign.installers.commands import (
    NAME_THEM,
    failure,
    listed,
    output,
    remove,
    run,
)
from gradfuzz.oracles.foreign.installers.language import Language

_SHARES_PIP = Version("22.3")
"""From this release on pip can install into other environments, so these need no pip of their own."""


def _python(folder: Path) -> Path:
    return folder / "bin" / "python"


def _install(folder: Path, requirements: Sequence[str], log: Path) -> str:
    """Uses uv if available; otherwise, or where uv fails (it reads no pip configuration), pip."""
    python, here = str(_python(folder)), sys.executable
    uv = shutil.which("uv")
    if uv is not None:
        made = run([uv, "venv", "--python", here, str(folder)], log)
        if made and run([uv, "pip", "install", "--python", python, *requirements], log):
            return "uv"
        remove(folder)
    venv, pip = ["venv"], [python, "-m", "pip"]
    if _pip_is_here():
        venv, pip = ["venv", "--without-pip"], [here, "-m", "pip", "--python", python]
    made = run([here, "-m", *venv, str(folder)], log)
    if made and run([*pip, "install", "--no-compile", *requirements], log):
        return "pip"
    raise failure(requirements, log)


def _pip_is_here() -> bool:
    found = importlib.util.find_spec("pip") is not None
    return found and Version(importlib.metadata.version("pip")) >= _SHARES_PIP


def _version(folder: Path, distribution: str) -> str | None:
    """Also None where the environment's interpreter is gone."""
    if not _python(folder).exists():
        return None
    found = next(iter(importlib.metadata.distributions(name=distribution, path=_places(folder))), None)
    return None if found is None else found.version


def _places(folder: Path) -> list[str]:
    return [str(place) for place in folder.glob("lib/python*/site-packages")]


def _packages(folder: Path) -> dict[str, str]:
    found = importlib.metadata.distributions(path=_places(folder))
    return dict(sorted({canonicalize_name(one.name): one.version for one in found}.items()))


def _releases(distribution: str) -> list[str]:
    if importlib.util.find_spec("pip") is None:
        raise InstallError(f"the releases of {distribution} cannot be listed without pip; {NAME_THEM}")
    command = [sys.executable, "-m", "pip", "index", "versions", "--pre", distribution]
    return listed(output(command, distribution), "Available versions:")


PYTHON = Language(
    lambda distribution, specifier: f"{distribution}{specifier}",
    _install,
    _version,
    _packages,
    lambda folder, script: [str(_python(folder)), "-E", "-s", str(script)],
    _releases,
)
