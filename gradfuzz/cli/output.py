"""Output of results to stdout and files."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from gradfuzz.cli.shell import click
from gradfuzz.errors import StoreError, UsageError

if TYPE_CHECKING:
    from rich.console import Console, RenderableType


FORMAT = click.option(
    "--format",
    "form",
    type=click.Choice(["terminal", "json"]),
    default="terminal",
    help="What stdout gets: text for people, or exactly one JSON document.",
)


def console(file: IO[str]) -> Console:
    from gradfuzz.reports.common import pieces

    return pieces.console(file)


def print_page(what: RenderableType, file: IO[str] | None = None) -> None:
    from gradfuzz.reports.common.pieces import show

    show(console(file or sys.stdout), what)


def answer(form: str, document: Callable[[], Mapping[str, Any]], page: Callable[[], RenderableType]) -> None:
    """Prints the document or the page, as --format asks."""
    if form == "json":
        print_json(document())
    else:
        print_page(page())


def print_json(document: Mapping[str, Any], file: IO[str] | None = None) -> None:
    from gradfuzz.reports.machine.json import dumps

    print(dumps(document), file=file or sys.stdout)


@contextlib.contextmanager
def writing(path: Path | str | None, what: str = "", advice: str = "") -> Iterator[None]:
    """`StoreError` where `path`, which is `what`, cannot be written. Without a path the error names it."""
    try:
        yield
    except OSError as error:
        why = f"{error.strerror or error}{advice}"
        raise StoreError(f"{path or error.filename}{what} cannot be written: {why}") from error


def check_writable(file: Path, flag: str) -> None:
    """Raises `UsageError` or `StoreError`, which name the flag, if a file cannot be written. To be asked
    before the work that fills it. What the file holds stays.
    """
    with writing(f"{flag}: {str(file)!r}", advice="; give another path"):
        if not file.parent.is_dir():
            raise UsageError(f"{flag}: the folder {str(file.parent)!r} does not exist; make it first")
        if file.is_dir():
            raise UsageError(f"{flag}: {str(file)!r} is a folder; name a file in it")
        if not file.exists():
            file.touch(exist_ok=False)  # whether that works, only the attempt says: a root may write all
            file.unlink()
        elif stat.S_ISREG(file.stat().st_mode):
            file.open("ab").close()
        elif not os.access(file, os.W_OK):  # a pipe: opening it would wait for its reader
            raise PermissionError(None, "Permission denied")
