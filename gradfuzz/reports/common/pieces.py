"""The pieces of terminal pages. Text is printed literally: no markup, no emoji, no control characters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import IO

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.syntax import Syntax
from rich.text import Text

UNSIZED = 110
"""The width of text for a file or a pipe, where no width is known."""

STYLES: dict[str, str] = {
    "disagree": "bold red",
    "differs": "bold red",
    "agree": "green",
    "agrees": "green",
    "agrees by coincidence": "yellow",
    "crashed": "magenta",
    "no answer": "magenta",
    "wrong": "bold red",
    "error": "magenta",
    "ok": "green",
    "inconclusive": "yellow",
    "tests nothing": "dim",
    "unsupported": "dim",
}
"""Colours of verdicts and labels. The word itself is always printed."""


def console(file: IO[str], *, width: int | None = None) -> Console:
    """A console on `file`; rich obeys NO_COLOR, TERM and COLUMNS."""
    result = Console(file=file, width=width, highlight=False, markup=False, emoji=False, soft_wrap=False)
    if width is None and not result.is_terminal and "COLUMNS" not in result._environ:  # noqa: SLF001 - what rich itself has read
        result = Console(file=file, width=UNSIZED, highlight=False, markup=False, emoji=False)
    return result


def show(to: Console, what: RenderableType) -> None:
    """Prints `what`; without trailing blanks where the output is not a terminal."""
    if to.is_terminal:
        to.print(what)
        return
    with to.capture() as captured:
        to.print(what)
    to.file.writelines(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def program(text: str) -> RenderableType:
    """A program or a script, highlighted where colours are shown. The background is the terminal's."""
    return Padding(
        Syntax(text.rstrip(), "python", theme="ansi_dark", background_color="default", word_wrap=True), (0, 2)
    )


def headed(heading: str, lines: Iterable[str]) -> list[RenderableType]:
    """A heading, and the lines below it; nothing without lines."""
    shown = [Text(line, overflow="fold") for line in lines]
    return [Text(heading), *shown] if shown else []


def paragraph(text: str, style: str = "") -> RenderableType:
    """Indented words."""
    return Padding(Text(text, style=style, overflow="fold"), (0, 2))
