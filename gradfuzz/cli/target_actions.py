"""What `gradfuzz targets` does beside listing: catalogues of functions, environments, and, for authors of
adapters, checks and beginnings.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradfuzz import adapters
from gradfuzz.cli.output import answer, print_json, print_page
from gradfuzz.cli.shell import CLEAN, FINDINGS, INCOMPLETE, click
from gradfuzz.errors import InstallError, UsageError, listed

if TYPE_CHECKING:
    from gradfuzz.fuzzer.results.functions import FunctionSummary
    from gradfuzz.oracles.foreign.managed import Environment


# Functions --------------------------------------------------------------------------------------------------


def functions(name: str | None, form: str, store: Path) -> None:
    """Prints every function that the library `name` offers, what becomes of it, and what the sweeps in
    `store` asked of it.
    """
    from gradfuzz.adapters.catalogue import OUTCOMES
    from gradfuzz.fuzzer.sweep.function_targets import can_be_called
    from gradfuzz.fuzzer.sweep.function_targets import functions as of_library
    from gradfuzz.oracles.catalogues import CATALOGUES, Catalogue, catalogue
    from gradfuzz.oracles.target_name import TargetName
    from gradfuzz.reports.machine import json as documents
    from gradfuzz.reports.terminal import functions as terminal

    if name is None:
        one_of = f"{', '.join(CATALOGUES)} have a catalogue"
        raise UsageError(
            f"targets functions needs a library, or a module: gradfuzz targets functions torch; {one_of}"
        )
    is_module = TargetName.of(name).library not in CATALOGUES and can_be_called(name)
    found = Catalogue(name, *of_library(name)) if is_module else catalogue(name)
    rows = [asdict(function) for function in found.functions]
    told = Counter(function.outcome for function in found.functions)
    counts = {outcome: told[outcome] for outcome in OUTCOMES}
    shown = found.target, found.version, rows, counts, _asked(found.target, found.version, store)
    answer(form, lambda: documents.functions_document(*shown), lambda: terminal.render(*shown))


def _asked(library: str, version: str, path: Path) -> Sequence[FunctionSummary]:
    """What the sweeps of this release's functions alone asked of them together; nothing without one."""
    from gradfuzz.fuzzer.results.functions import united
    from gradfuzz.fuzzer.store.runs import Store

    if not path.exists():
        return ()
    with Store(path) as store:
        return united(store.functions(library, version))


# Environments -----------------------------------------------------------------------------------------------


def install(names: Sequence[str], extra: Sequence[str], form: str) -> int:
    """Makes and prints the environment of each target, whatever fails; returns the exit code."""
    from gradfuzz.oracles.foreign import managed
    from gradfuzz.reports.common import plain

    _refuse_none(names, "install")
    for name in names:
        managed.plan(name, extra)  # a wrong name is an error before anything is installed
    rows: list[dict[str, Any]] = []
    for name in names:
        try:
            made, new = managed.install(name, lambda words: click.echo(words, err=True), extra)
        except InstallError as error:
            row: dict[str, Any] = {"target": name, "error": " ".join(str(error).split())}
            words = row["error"]
        else:
            row = _row(made) | {"new": new}
            words = f"{made.target}: {_told(made)}" + ("" if new else ", was there already")
        rows.append(row)
        if form == "terminal":
            click.echo(plain.line(words), err="error" in row)
    if form == "json":
        print_json({"environments": rows})
    return INCOMPLETE if any("error" in row for row in rows) else CLEAN


def remove(names: Sequence[str], form: str) -> int:
    """Removes the environment of each target, and returns the exit code."""
    from gradfuzz.oracles.foreign import managed
    from gradfuzz.reports.common import plain

    _refuse_none(names, "remove")
    there = {one.target: one for one in managed.everything()}
    unknown = [name for name in names if managed.find(name) is None]
    if unknown:
        told = f"those that there are: {listed(there)}" if there else "there are none"
        raise UsageError(f"{unknown[0]} has no environment in {managed.root()}; {told}")
    rows = []
    for name in names:
        made = managed.find(name)
        if made is not None:
            rows.append(_row(made))
            words = f"{made.target}: {_told(made)}, removed"
            managed.remove(name)
            if form == "terminal":
                click.echo(plain.line(words))
    if form == "json":
        print_json({"removed": rows})
    return CLEAN


def _refuse_none(names: Sequence[str], action: str) -> None:
    if not names:
        raise UsageError(f"targets {action} needs a target, as in: gradfuzz targets {action} warp==1.19.0")


def _row(made: Environment) -> dict[str, Any]:
    names = ("target", "distribution", "version", "folder", "requirements", "installer", "seconds")
    row = {name: getattr(made, name) for name in names}
    return {**row, "python": made.packages.get("python"), "bytes": made.size()}


def _told(made: Environment) -> str:
    how = f"by {made.installer} in {made.seconds:.1f} s, {made.size() / 1e6:,.0f} MB"
    python = f", with Python {made.packages['python']}" if "python" in made.packages else ""
    return f"{made.distribution} {made.version} {how}{python}, {made.folder}"


# Adapters ---------------------------------------------------------------------------------------------------


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
        return "\nThe adapter follows the protocol. An error that a sweep finds with it is the target's own."
    names = ", ".join(failed)
    return (
        f"\nThe adapter is broken: {names}. Mend it: until then an error that a sweep finds may be its own."
    )


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
