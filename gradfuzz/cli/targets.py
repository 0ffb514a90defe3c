"""The command `gradfuzz targets`. Its actions for those who write an adapter are in `adapters.py`."""

from __future__ import annotations

from dataclasses import asdict

from gradfuzz.cli.output import FORMAT, print_json, print_page
from gradfuzz.cli.shell import click
from gradfuzz.errors import UsageError

__all__ = ["targets"]


@click.command(short_help="List who can be asked here, and the conventions; check an adapter.")
@click.argument(
    "action", type=click.Choice(["list", "conventions", "check", "new"]), default="list", metavar="[list|conventions|check|new]"
)
@click.argument("what", required=False, metavar="[CMD|FOLDER]")
@click.option("--lang", default="python", type=click.Choice(["python"]), help="The language of a new adapter.")
@click.option("--ways", is_flag=True, help="Load the libraries, and list every way into them with what it can.")
@FORMAT
@click.pass_context
def targets(ctx: click.Context, /, action: str, what: str | None, lang: str, form: str, ways: bool) -> None:
    """List who can be asked here, with versions, and what would have to be installed for the rest.

    `targets conventions` prints what the engine, JAX and Torch answer where a derivative does not exist: kinks, ties, ends of domains.
    `targets check CMD` checks an adapter by the protocol: exit code 1 where it is broken. `targets new [FOLDER]` writes one to begin with.
    """
    if action in ("check", "new"):
        from gradfuzz.cli import adapters

        ctx.exit(adapters.check(what, form) if action == "check" else adapters.new(what, lang))
    if what is not None:
        raise UsageError(f"targets {action} takes nothing more, but there is {what!r}")
    from gradfuzz.reports import json as documents
    from gradfuzz.reports import terminal

    if action == "conventions":
        from gradfuzz.fuzzer.conventions import CONVENTIONS

        ledger = [row.document() for row in CONVENTIONS]
        if form == "json":
            print_json(documents.conventions_document(ledger))
        else:
            print_page(terminal.conventions(ledger))
        return
    from gradfuzz.fuzzer.abilities import abilities
    from gradfuzz.oracles import registry

    if ways:
        rows = [abilities(oracle) for name in registry.installed() for oracle in registry.resolve(name)]
    else:
        rows = [asdict(row) for row in registry.available()]
    if form == "json":
        print_json(documents.targets_document(rows))
    else:
        print_page(terminal.targets(rows))
