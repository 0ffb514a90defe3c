"""The standalone scripts of findings as files, so that they can be run and sent on."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from gradfuzz.fuzzer.finding import Finding

__all__ = ["FOLDER", "write_scripts"]

FOLDER = Path(".gradfuzz") / "scripts"
"""Where they go, below the current directory."""


def write_scripts(findings: Iterable[Finding], folder: Path = FOLDER) -> dict[str, Path]:
    """`folder`/GF-....py for each finding that has a script; the paths by finding id. A file of that name is replaced."""
    paths: dict[str, Path] = {}
    for finding in findings:
        if finding.script:
            folder.mkdir(parents=True, exist_ok=True)
            paths[finding.id] = folder / f"{finding.id}.py"
            paths[finding.id].write_text(finding.script, encoding="utf-8")
    return paths
