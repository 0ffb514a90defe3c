"""The command `gradfuzz report`."""

from __future__ import annotations

from pathlib import Path

from gradfuzz.cli.reporting import REPORTS, STDOUT, outputs
from gradfuzz.cli.reporting import report as write
from gradfuzz.cli.shell import click
from gradfuzz.cli.storage import STORE


@click.command(short_help="Report a recorded sweep again, in any format.")
@click.argument("source", required=False, metavar="[RUN|STORE|NDJSON]")
@REPORTS
@click.option("--show-scripts", is_flag=True, help="Print the script of each finding in full.")
@STORE
@STDOUT
def report(source: str | None, reports: tuple[str, ...], show_scripts: bool, store: Path, form: str) -> None:
    """Print the end of a recorded sweep again, and write it in other formats.

    The sweep is the RUN of this number in the store, the last run of a STORE, or that of an event stream
    (--report ndjson); the last run of .gradfuzz if none is named.
    """
    from gradfuzz.fuzzer.store import lookup

    files = outputs(reports)
    finished, review = lookup.sweep_of(str(store) if source is None else source, store)
    write(finished, review, form, files, show_scripts=show_scripts)
