"""The command `gradfuzz merge`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from gradfuzz.cli.options import (
    BASELINE,
    JOBS,
    LIMITS,
    ON_DEVICE,
    PATH,
    SHOW_SCRIPTS,
    STORE,
    VERBOSE,
    installed,
)
from gradfuzz.cli.reporting import REPORTS, STDOUT, outputs
from gradfuzz.cli.shell import click
from gradfuzz.cli.sweeping.running import Outputs, run_sweep, say_that_it_starts


@click.command(short_help="Unite the parts of a sweep.")
@click.argument("parts", nargs=-1, required=True, type=PATH, metavar="PART...")
@JOBS
@ON_DEVICE
@LIMITS
@REPORTS
@SHOW_SCRIPTS
@VERBOSE
@STORE
@click.option("--no-store", is_flag=True, help="Keep nothing.")
@BASELINE
@STDOUT
@click.pass_context
def merge(
    ctx: click.Context,
    /,
    parts: tuple[Path, ...],
    jobs: int | None,
    reports: tuple[str, ...],
    form: str,
    show_scripts: bool,
    verbose: bool,
    store: Path,
    no_store: bool,
    accepted: Path,
) -> None:
    """Unite the parts that `gradfuzz sweep ... --shard 1/4` and the like made, to the one run that the sweep
    would have been without --shard: the same findings, ids and counts.

    A PART is a store, an event stream (--report ndjson) or a JSON report of a part. Every part has to be
    there once. The targets are asked again where parts alone could not tell whether two disagreements are one
    bug. Exit codes are those of a sweep.
    """
    files = outputs(reports)
    say_that_it_starts([str(part) for part in parts])
    from gradfuzz.fuzzer.store import baseline
    from gradfuzz.fuzzer.sweep.merging import Parts, parts_in

    installed(ctx, store)
    found = Parts([part for path in parts for part in parts_in(path)])
    config = replace(found.config, jobs=jobs)
    run_sweep(
        ctx,
        config,
        Outputs(files, form, show_scripts=show_scripts, verbose=verbose),
        None if no_store else store,
        baseline.read(accepted),
        known_before=found.before,
    )
