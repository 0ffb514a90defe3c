"""The command `gradfuzz targets`."""

from __future__ import annotations

from dataclasses import asdict

from gradfuzz.cli.output import FORMAT, print_json, print_page
from gradfuzz.cli.shell import click

__all__ = ["targets"]


@click.command(short_help="List who can be asked here, and the conventions.")
@click.argument("action", type=click.Choice(["list", "conventions"]), default="list", metavar="[list|conventions]")
@click.option("--ways", is_flag=True, help="Load the libraries, and list every way into them with what it can.")
@FORMAT
def targets(action: str, form: str, ways: bool) -> None:
    """List who can be asked here, with versions, and what would have to be installed for the rest.

    `targets conventions` prints what the engine, JAX and Torch answer where a derivative does not exist: kinks, ties, ends of domains.
    """
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
