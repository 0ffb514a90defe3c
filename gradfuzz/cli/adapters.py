"""`gradfuzz targets check` and `gradfuzz targets new`, for authors of adapters."""

from __future__ import annotations

import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

from gradfuzz import adapters
from gradfuzz.cli.output import print_json, print_page
from gradfuzz.cli.shell import CLEAN, FINDINGS, click
from gradfuzz.errors import UsageError


@dataclass(frozen=True, slots=True)
class Beginning:
    """The start of a new adapter: the kit and a working example."""

    files: tuple[str, ...]
    """The last file is the script."""
    start: str
    """The command that starts the script."""
    build: str = ""
    """A command to run once before."""


LANGUAGES = {
    "python": Beginning(("kit.py", "toy_adapter.py"), "python {script}"),
    "elixir": Beginning(("kit.exs", "toy_adapter.exs"), "elixir {script}"),
    "js": Beginning(("kit.js", "toy_adapter.js"), "node {script}"),
    "cpp": Beginning(("kit.hpp", "toy_adapter.cpp"), "{program}", "g++ -std=c++17 -O1 {script} -o {program}"),
    "swift": Beginning(("swift_adapter.swift",), "{program}", "swiftc -O {script} -o {program}"),
}
"""Languages in which `targets new` writes an adapter."""


def check(command: str | None, form: str) -> int:
    """Checks the adapter that `command` starts, prints the result, and returns the exit code."""
    from rich.text import Text

    from gradfuzz.oracles.foreign.conformance import conformance
    from gradfuzz.oracles.target_name import TargetName

    if not command:
        example = "gradfuzz targets check 'python my_adapter.py'"
        raise UsageError(f"targets check needs a command, as in: {example}")
    command = TargetName.of(command).command or command
    found = []
    for row in conformance(command):
        found.append(row)
        if form != "json":
            print_page(Text(f"{row.name:<18}{'ok' if row.passed else 'FAILED':<8}{row.words}"))
    failed = [row.name for row in found if not row.passed]
    if form == "json":
        print_json({"command": command, "passed": not failed, "checks": [asdict(row) for row in found]})
    else:
        print_page(Text(_verdict(failed)))
    return FINDINGS if failed else CLEAN


def _verdict(failed: list[str]) -> str:
    if not failed:
        return "\nThe adapter keeps to the protocol. What a sweep finds with it is the target's."
    return f"\nThe adapter is broken: {', '.join(failed)}. What a sweep finds with it proves nothing yet."


def new(folder: str | None, lang: str) -> int:
    """Writes a new adapter into `folder` (None: the current one), and overwrites nothing."""
    target, beginning = Path(folder or "."), LANGUAGES[lang]
    there = [name for name in beginning.files if (target / name).exists()]
    if there:
        found = target / there[0]
        raise UsageError(f"{found} exists already, and nothing is overwritten; name another folder")
    try:
        target.mkdir(parents=True, exist_ok=True)
        for name in beginning.files:
            shutil.copyfile(adapters.path(name), target / name)
    except OSError as error:
        raise UsageError(f"the folder {str(target)!r} cannot be written: {error}") from error
    script = target / beginning.files[-1]
    program = script.with_suffix("") if script.is_absolute() else f"./{script.with_suffix('')}"
    build, start = (t.format(script=script, program=program) for t in (beginning.build, beginning.start))
    steps = f"{build} && gradfuzz targets check {start}" if build else f"gradfuzz targets check '{start}'"
    click.echo(f"Wrote {', '.join(str(target / name) for name in beginning.files)}. Now: {steps}")
    return CLEAN
