"""Libraries of Node, by npm."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gradfuzz.errors import UsageError
from gradfuzz.oracles.foreign.installers.commands import (
    FORMS,
    failure,
    in_order,
    output,
    run,
)
from gradfuzz.oracles.foreign.installers.language import Language


def _requirement(distribution: str, specifier: str) -> str:
    if "~=" in specifier or "!=" in specifier:
        raise UsageError(f"npm does not know {specifier!r}; {FORMS}")
    return f"{distribution}@{specifier.removeprefix('==').replace(',', ' ')}" if specifier else distribution


def _install(folder: Path, requirements: Sequence[str], log: Path) -> str:
    folder.mkdir(parents=True)
    if not run(["npm", "install", "--prefix", str(folder), "--no-audit", "--no-fund", *requirements], log):
        raise failure(requirements, log)
    return "npm"


def _version(folder: Path, distribution: str) -> str | None:
    package = _node_json(folder, f"{distribution}/package.json")
    return None if package is None else str(package.get("version"))


def _packages(folder: Path) -> dict[str, str]:
    found = (_node_json(folder, ".package-lock.json") or {}).get("packages", {})
    return {place.removeprefix("node_modules/"): p.get("version", "") for place, p in found.items() if place}


def _node_json(folder: Path, name: str) -> dict[str, Any] | None:
    """What a file of the folder's modules contains; None where it cannot be read."""
    try:
        known: dict[str, Any] = json.loads((folder / "node_modules" / name).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return known


def _command(folder: Path, script: Path) -> list[str]:
    return ["env", f"NODE_PATH={folder / 'node_modules'}", "node", str(script)]


def _releases(distribution: str) -> list[str]:
    told = json.loads(output(["npm", "view", distribution, "versions", "--json"], distribution))
    return in_order([told] if isinstance(told, str) else told)


NODE = Language(_requirement, _install, _version, _packages, _command, _releases)
