"""`--store` and `--baseline`: the folder of findings and environments, and the file of accepted findings."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from gradfuzz.cli.options.arguments import PATH
from gradfuzz.cli.shell import click

STORE = click.option(
    "--store",
    type=PATH,
    default=Path(".gradfuzz") / "store.sqlite",
    metavar="PATH",
    help="Where findings are kept.",
)

BASELINE = click.option(
    "--baseline",
    "accepted",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("gradfuzz-baseline.json"),
    metavar="PATH",
    help="The file of the findings that are accepted for now.",
)


def installed(ctx: click.Context, store: Path, targets: Iterable[str] = ()) -> None:
    """Activates the environments beside `store`, and makes the missing ones of `targets`.

    `InstallError` where one cannot be made.
    """
    from gradfuzz.oracles.foreign import managed

    ctx.with_resource(managed.beside(store))
    for target in managed.missing(targets):
        managed.install(target, lambda words: click.echo(words, err=True))
