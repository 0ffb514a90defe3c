"""Flags that several commands have, and parsers for the values of flags."""

from __future__ import annotations

from pathlib import Path

from gradfuzz.cli.shell import click
from gradfuzz.errors import UsageError

PATH = click.Path(path_type=Path)
"""The type of a flag that names a file or folder."""


def names_in(text: str) -> tuple[str, ...]:
    """The parts of a comma-separated list."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def whole(text: str, flag: str) -> int:
    """An integer; a `UsageError` names the flag."""
    try:
        return int(text)
    except ValueError:
        raise UsageError(f"{flag} {text!r} is not a whole number") from None


def part_in(text: str) -> tuple[int, int] | None:
    """The part and the number of parts in "2/4"; None where there is no text."""
    if not text:
        return None
    part, sign, parts = text.partition("/")
    if not (sign and part.isdecimal() and parts.isdecimal()):
        raise UsageError(f"--shard {text!r} names no part; 2/4 is the second of four")
    return int(part), int(parts)


SEED = click.option("--seed", type=int, default=0, help="The same seed draws the same programs.")
JOBS = click.option("--jobs", type=int, metavar="N", help="Worker processes; chosen if not given.")
SHOW_SCRIPTS = click.option("--show-scripts", is_flag=True, help="Print the script of each finding in full.")
REQUIREMENTS = click.option(
    "--with",
    "extra",
    multiple=True,
    metavar="REQUIREMENT",
    help="Install this, too ('numpy<2'). May be repeated.",
)
