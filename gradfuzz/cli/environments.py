"""`gradfuzz targets install` and `gradfuzz targets remove`: the environments of targets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gradfuzz.cli.output import print_json
from gradfuzz.cli.shell import CLEAN, INCOMPLETE, click
from gradfuzz.errors import InstallError, UsageError, listed

if TYPE_CHECKING:
    from gradfuzz.oracles.foreign.managed import Environment


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
