"""Libraries of Python, by uv or by venv and pip."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import itertools
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from gradfuzz.errors import InstallError
from gradfuzz.oracles.foreign.installers import interpreters
from gradfuzz.oracles.foreign.installers.commands import (
    NAME_THEM,
    failure,
    in_order,
    lacks_release,
    listed,
    output,
    remove,
    run,
    said,
)
from gradfuzz.oracles.foreign.installers.interpreters import Interpreter, series
from gradfuzz.oracles.foreign.installers.language import Language

_AVAILABLE = "Available versions:"
_LEFT_OUT = re.compile(r"(\S+) Requires-Python ([^;\n]+)")
_REFUSED = re.compile(r"requires a different Python: \S+ not in '([^']+)'")
"""What pip says of releases for other Pythons, of an index and of files."""

_SHARES_PIP = Version("22.3")
"""From this release on pip can install into other environments, so these need no pip of their own."""


def _python(folder: Path) -> Path:
    return folder / "bin" / "python"


def _install(folder: Path, requirements: Sequence[str], log: Path) -> str:
    """Takes the Python that runs gradfuzz, or else the nearest other one that there is such a release for."""
    tried: list[str] = []
    for interpreter in itertools.chain([interpreters.this()], interpreters.others()):
        tried.append(interpreter.version)
        installer = _made(interpreter, folder, requirements, log)
        if installer is not None:
            return installer
        if not lacks_release(log):
            raise failure(requirements, log)
        remove(folder)
    raise failure(requirements, log, _other_python(requirements[0], tried, log))


def _made(interpreter: Interpreter, folder: Path, requirements: Sequence[str], log: Path) -> str | None:
    """The installer that succeeded: uv if available; otherwise, or where uv fails (it reads no pip
    configuration), pip.
    """
    uv = shutil.which("uv")
    if uv is not None:
        made = run([uv, "venv", "--python", interpreter.path, str(folder)], log)
        if made and run([*_uv(uv, folder), *requirements], log):
            return "uv"
        remove(folder)
    without = ["--without-pip"] if interpreter == interpreters.this() and _pip_is_here() else []
    made = run([interpreter.path, "-m", "venv", *without, str(folder)], log)
    return "pip" if made and run([*_pip(folder), *requirements], log) else None


def _uv(uv: str, folder: Path) -> list[str]:
    return [uv, "pip", "install", "--python", str(_python(folder))]


def _pip(folder: Path) -> list[str]:
    """The environment's own pip, or else this one."""
    python = str(_python(folder))
    own = any(Path(place, "pip").exists() for place in _places(folder))
    return [
        *([python, "-m", "pip"] if own else [sys.executable, "-m", "pip", "--python", python]),
        "install",
        "--no-compile",
    ]


def _other_python(requirement: str, tried: Sequence[str], log: Path) -> str | None:
    """Which Python the release needs, if pip says that it left it out because of that; how to have it."""
    wanted = Requirement(requirement).specifier
    text = log.read_text(encoding="utf-8", errors="replace")
    needs = [
        python for release, python in _LEFT_OUT.findall(text) if wanted.contains(release, prereleases=True)
    ]
    needs += _REFUSED.findall(text)
    if not needs:
        return None
    why = f"{requirement} needs Python {needs[-1]}, and here gradfuzz found {', '.join(tried)}."
    fitting = [one for one in interpreters.SERIES if _fits(one, needs[-1])]
    if not fitting:
        return f"{why} gradfuzz runs on {', '.join(interpreters.SERIES)}: name another release."
    return f"{why} Install Python {fitting[0]}, on the path as python{fitting[0]} or under pyenv."


def _fits(python: str, needs: str) -> bool:
    """Old releases say what they need in forms that are not valid any more, and need an old Python."""
    try:
        return SpecifierSet(needs).contains(f"{python}.99")
    except InvalidSpecifier:
        return False


def _complete(folder: Path, requirements: Sequence[str], log: Path) -> None:
    """Installs which of these an environment of another Python lacks, as far as they can be had.

    An environment of the same Python is lent them.
    """
    there = _distributions(folder)
    lacking = [needs for needs in requirements if canonicalize_name(Requirement(needs).name) not in there]
    if series(_python_version(folder)) == interpreters.this().series or not lacking:
        return
    kept = folder / "kept.txt"  # what the library came with stays as it is
    kept.write_text("".join(f"{name}=={version}\n" for name, version in there.items()), encoding="utf-8")
    uv = shutil.which("uv")
    if uv is None or not run([*_uv(uv, folder), "--constraint", str(kept), *lacking], log):
        run([*_pip(folder), "--constraint", str(kept), *lacking], log)


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
    return {"python": _python_version(folder), **_distributions(folder)}


def _distributions(folder: Path) -> dict[str, str]:
    found = importlib.metadata.distributions(path=_places(folder))
    return dict(sorted({canonicalize_name(one.name): one.version for one in found}.items()))


def _python_version(folder: Path) -> str:
    """As venv ("version = 3.12.1") or uv ("version_info = 3.12.1") wrote it down."""
    lines = (folder / "pyvenv.cfg").read_text(encoding="utf-8").splitlines()
    about = {key.strip(): value.strip() for key, _, value in (line.partition("=") for line in lines)}
    return about.get("version_info") or about["version"]


def _releases(distribution: str) -> list[str]:
    """For any of the Pythons that an environment may have."""
    if importlib.util.find_spec("pip") is None:
        raise InstallError(f"the releases of {distribution} cannot be listed without pip; {NAME_THEM}")
    command = [sys.executable, "-m", "pip", "index", "versions", "--pre"]
    found = listed(output([*command, distribution], distribution), _AVAILABLE)
    for other in interpreters.others():
        found += listed(said([*command, "--python-version", other.series, distribution]), _AVAILABLE)
    return in_order(found)


PYTHON = Language(
    lambda distribution, specifier: f"{distribution}{specifier}",
    _install,
    _version,
    _packages,
    lambda folder, script: [str(_python(folder)), "-E", "-s", str(script)],
    _releases,
    complete=_complete,
)
