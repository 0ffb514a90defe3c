"""The command `gradfuzz report`."""

from __future__ import annotations

from pathlib import Path

from gradfuzz.cli.options.arguments import SHOW_SCRIPTS
from gradfuzz.cli.options.storage import STORE
from gradfuzz.cli.reporting import REPORTS, STDOUT, outputs
from gradfuzz.cli.reporting import report as write
from gradfuzz.cli.shell import click


@click.command(short_help="Report a recorded sweep again, in any format.")
@click.argument("source", required=False, metavar="[RUN|STORE|NDJSON]")
@REPORTS
@SHOW_SCRIPTS
@STORE
@STDOUT
def report(source: str | None, reports: tuple[str, ...], show_scripts: bool, store: Path, form: str) -> None:
    """Print the report of a recorded sweep again, and write it in other formats.

    The source is the number of a RUN in the store, a STORE (its last run), or an event stream (--report
    ndjson). Without a source it is the last run of .gradfuzz.
    """
    from gradfuzz.fuzzer.store import lookup

    files = outputs(reports)
    finished, review = lookup.sweep_of(str(store) if source is None else source, store)
    write(finished, review, form, files, show_scripts=show_scripts)
