"""The command `gradfuzz report`."""

from __future__ import annotations

from pathlib import Path

from gradfuzz.cli.options import SHOW_SCRIPTS, STORE, VERBOSE
from gradfuzz.cli.reporting import REPORTS, STDOUT, outputs
from gradfuzz.cli.reporting import report as write
from gradfuzz.cli.shell import CLEAN, OWN_FAULT, click
from gradfuzz.errors import UsageError


@click.command(short_help="Report a recorded sweep again, in any format.")
@click.argument("sources", nargs=-1, metavar="[RUN|STORE|NDJSON]")
@REPORTS
@SHOW_SCRIPTS
@VERBOSE
@STORE
@STDOUT
@click.pass_context
def report(
    ctx: click.Context,
    /,
    sources: tuple[str, ...],
    reports: tuple[str, ...],
    show_scripts: bool,
    verbose: bool,
    store: Path,
    form: str,
) -> None:
    """Print the report of a recorded sweep again, and write it in other formats.

    The source is the number of a RUN in the store, a STORE (its last run), or an event stream (--report
    ndjson). Without a source it is the last run of .gradfuzz.
    """
    from gradfuzz.fuzzer.store import lookup

    if len(sources) > 1:
        several = f"{sources[0]} and {sources[1]}" + (" and more" if len(sources) > 2 else "")
        advice = "report each by itself; `gradfuzz diff A B` compares two"
        raise UsageError(f"a report is of one sweep, and here are {several}; {advice}")
    files = outputs(reports)
    finished, review = lookup.sweep_of(sources[0] if sources else str(store), store)
    failed = write(finished, review, form, files, show_scripts=show_scripts, verbose=verbose)
    ctx.exit(OWN_FAULT if failed else CLEAN)
