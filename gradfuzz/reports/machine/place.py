"""The file and line that a finding is about.

Code scanning shows a finding at a file of the repository. That is the adapter where the target's command
names one, and the module of a function of one's own. A library lies elsewhere, so its findings are at their
scripts, or in the store where there is no script. Files are looked for below the current directory, which in
CI is the repository.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from gradfuzz.fuzzer.results.finding import Finding
from gradfuzz.oracles.target_name import TargetName
from gradfuzz.reports.common.scripts import FOLDER


class Place(NamedTuple):
    """A line of a file; the path is relative, with slashes."""

    path: str
    line: int = 1


def place(finding: Finding) -> Place:
    """Where the finding is shown."""
    command = TargetName.of(finding.target).command
    found = _adapter(command) if command else _function(finding.call.function) if finding.call else None
    kept = FOLDER / f"{finding.id}.py" if finding.script else FOLDER.with_name("store.sqlite")
    return found or Place(kept.as_posix())


def _adapter(command: str) -> Place | None:
    """The first file that the command names."""
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    return next((Place(path) for path in map(_below, words) if path), None)


def _function(name: str) -> Place | None:
    """The definition of `package.module.function`."""
    last = re.escape(name.rpartition(".")[2])
    for path in filter(None, map(_below, _modules(name))):
        text = Path(path).read_text(encoding="utf-8", errors="replace")
        defined = re.search(rf"^[ \t]*def {last}\b", text, re.MULTILINE)
        return Place(path, text.count("\n", 0, defined.start()) + 1 if defined else 1)
    return None


def _modules(name: str) -> Iterator[str]:
    """The files that may define it, the innermost module first."""
    parts = name.split(".")[:-1]
    for many in range(len(parts), 0, -1):
        for root in ("", "src/"):
            module = root + "/".join(parts[:many])
            yield from (f"{module}.py", f"{module}/__init__.py")


def _below(path: str) -> str:
    """The path as one below the current directory; empty where there is no such file."""
    try:
        file = Path(path).resolve()
        return file.relative_to(Path.cwd()).as_posix() if file.is_file() else ""
    except (OSError, ValueError):
        return ""
