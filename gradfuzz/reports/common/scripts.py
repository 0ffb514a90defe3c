"""The standalone scripts of findings and of report cards, written to files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from gradfuzz.errors import UsageError
from gradfuzz.fuzzer.results.finding import Finding
from gradfuzz.fuzzer.results.report_card import ProbeCell, ProbeReport

FOLDER = Path(".gradfuzz") / "scripts"
"""The default folder, below the current directory."""


def write_scripts(findings: Iterable[Finding], folder: Path = FOLDER) -> dict[str, Path]:
    """Writes `folder`/GF-....py for each finding with a script, replacing files; the paths by finding id."""
    paths: dict[str, Path] = {}
    for finding in findings:
        if finding.script:
            folder.mkdir(parents=True, exist_ok=True)
            paths[finding.id] = folder / f"{finding.id}.py"
            paths[finding.id].write_text(finding.script, encoding="utf-8")
    return paths


def check_folder(folder: Path) -> None:
    """`UsageError` where `folder` cannot be written (it may be new): known before hours of work."""
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        why = f"{str(there)!r} is not a folder that can be written to"
        raise UsageError(f"scripts cannot be written to {str(folder)!r}: {why}")


def write_probe_scripts(report: ProbeReport, folder: Path) -> dict[int, Path]:
    """Writes a file for each cell with a script; the paths by the cell's number. Files are replaced."""
    paths: dict[int, Path] = {}
    for number, cell in enumerate(report.cells, 1):
        if cell.script:
            path = folder / _file_name(report.suite, number, cell)
            try:
                folder.mkdir(parents=True, exist_ok=True)
                path.write_text(cell.script, encoding="utf-8")
            except OSError as error:
                raise UsageError(f"scripts cannot be written to {str(folder)!r}: {error}") from error
            paths[number] = path
    return paths


def _file_name(suite: str, number: int, cell: ProbeCell) -> str:
    """As in "linalg-03-det-torch-eager-second-order.py"."""
    parts = f"{suite} {number:02d} {cell.op} {cell.ways[0]} {cell.column}"
    return re.sub(r"[^\w.]+", "-", parts) + ".py"


def script_of(report: ProbeReport, number: int) -> str:
    """The script of the cell with this number; `UsageError` if it has none."""
    if not 1 <= number <= len(report.cells):
        numbers = f"the numbers go from 1 to {len(report.cells)}"
        why = numbers if report.cells else "no cell is wrong or an error"
        raise UsageError(f"there is no script {number}: {why}")
    script = report.cells[number - 1].script
    if not script:
        raise UsageError(f"there is no script {number}: for {report.target} none can be written")
    return script
