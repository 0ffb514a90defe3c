"""Output of results to stdout and files."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import IO, TYPE_CHECKING, Any

from gradfuzz.cli.shell import click

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
