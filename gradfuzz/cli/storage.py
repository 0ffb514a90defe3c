"""`--store` and `--baseline`: where findings are kept, and which of them are accepted."""

from __future__ import annotations

from pathlib import Path

from gradfuzz.cli.shell import click

__all__ = ["BASELINE", "STORE"]

STORE = click.option(
    "--store",
    type=click.Path(path_type=Path),
    default=Path(".gradfuzz") / "store.sqlite",
    show_default=True,
    metavar="PATH",
    help="Where findings are kept.",
)

BASELINE = click.option(
    "--baseline",
    "accepted",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("gradfuzz-baseline.json"),
    show_default=True,
    metavar="PATH",
    help="The file of the findings that are accepted for now.",
)
