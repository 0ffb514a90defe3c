"""The command `gradfuzz sweep`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gradfuzz.cli import completion
from gradfuzz.cli.options import (
    BASELINE,
    DURATION,
    JOBS,
    LIMITS,
    ON_DEVICE,
    SEED,
    SHOW_SCRIPTS,
    STORE,
    VERBOSE,
    installed,
    names_option,
    part_in,
    whole,
)
from gradfuzz.cli.reporting import REPORTS, STDOUT, outputs
from gradfuzz.cli.shell import click
from gradfuzz.cli.sweeping.running import Outputs, run_sweep, say_that_it_starts, usual
from gradfuzz.errors import UsageError


@click.command(short_help="Draw programs and judge what targets say.")
@click.argument("targets", nargs=-1, metavar="[TARGET]...", shell_complete=completion.TARGETS)
@names_option(
    "--family",
    default=["loops"],
    metavar="F,...",
    shell_complete=completion.FAMILIES,
    help="Kinds of programs.",
)
@names_option(
    "--checks",
    default=["value", "vjp", "jvp", "twins"],
    metavar="C,...",
    help="What is checked. With twins alone, the references are asked only where two answers differ.",
)
@names_option("--dtypes", default=["float64", "float32"], metavar="D,...", help="Working precisions.")
@names_option("--orders", default=["1", "2", "3"], metavar="N,...", help="Orders of derivatives.")
@click.option(
    "--max-examples",
    type=int,
    metavar="N",
    help=(
        "Programs for each target and family; 96 if not given. Calls of each function; 6 if not given, and at"
        " most 6 where programs are drawn, too."
    ),
)
@click.option(
    "--max-time", type=DURATION, metavar="TIME", help="End, with a report, after this time: 90, 90s, 5m, 8h."
)
@click.option(
    "--calls",
    default="",
    show_default=False,
    metavar="FILE",
    help="A file of calls from `gradfuzz record`, which are judged first. The family is then functions.",
)
@click.option(
    "--trust",
    is_flag=True,
    help="Run the code that the file of --calls names or contains: only for a file that you trust.",
)
@click.option("--no-shrink", is_flag=True, help="Show the programs and calls of findings as they were drawn.")
@SEED
@JOBS
@click.option(
    "--cluster",
    default="",
    metavar="PLACE",
    help="Let a Dask cluster do the work: local:4, tcp://HOST:PORT, or a scheduler's file.",
)
@click.option(
    "--shard", default="", metavar="K/N", help="Judge part K of N alone; `gradfuzz merge` unites them."
)
@click.option("--apart", is_flag=True, help="Draw programs for each system by itself.")
@ON_DEVICE
@LIMITS
@REPORTS
@SHOW_SCRIPTS
@VERBOSE
@STORE
@click.option("--no-store", is_flag=True, help="Keep nothing: no findings, no scripts, nothing to resume.")
@click.option("--resume", is_flag=True, help="Continue the last unfinished sweep with these settings.")
@BASELINE
@STDOUT
@click.pass_context
def sweep(
    ctx: click.Context,
    /,
    targets: tuple[str, ...],
    reports: tuple[str, ...],
    form: str,
    show_scripts: bool,
    verbose: bool,
    store: Path,
    no_store: bool,
    resume: bool,
    accepted: Path,
    **flags: Any,
) -> None:
    """Draw programs and judge the answers of each TARGET; all installed targets if none is named.

    A TARGET may name a release, as in warp==1.19.0: it gets an environment of its own, made before the sweep
    begins. Findings are kept in .gradfuzz, for `gradfuzz show`, `replay`, `diff` and `report`. Exit code 1
    with findings that the baseline does not accept, 2 if a target raises whatever it is asked, 3 if a time
    limit or a full disk left it incomplete, 4 if gradfuzz itself failed, whatever else was found, 130 after
    Ctrl-C, which keeps the findings so far.
    """
    if resume and no_store:
        raise UsageError("--resume needs the store, which --no-store leaves out; give one of them")
    files = outputs(reports)
    say_that_it_starts(targets)
    from gradfuzz.fuzzer.store import baseline
    from gradfuzz.fuzzer.sweep.config import SweepConfig

    installed(ctx, store, targets)
    families = _each(flags["family"])
    if flags["calls"] and ctx.get_parameter_source("family") is click.core.ParameterSource.DEFAULT:
        families = ("functions",)
    if flags["trust"]:
        os.environ["GRADFUZZ_TRUST"] = "1"  # that of the processes that call functions, too
    most, targets_of_all = usual(families)
    config = SweepConfig(
        targets=targets or tuple(targets_of_all()),
        families=families,
        seed=flags["seed"],
        max_examples=most if flags["max_examples"] is None else flags["max_examples"],
        max_time=flags["max_time"],
        precisions=_each(flags["dtypes"]),  # type: ignore[arg-type]  # the sweep says which there are
        orders=tuple(whole(part, "--orders") for part in _each(flags["orders"])),
        checks=_each(flags["checks"]),
        jobs=flags["jobs"],
        cluster=flags["cluster"],
        shard=part_in(flags["shard"]),
        apart=flags["apart"],
        calls=flags["calls"],
        shrink=not flags["no_shrink"],
    )
    run_sweep(
        ctx,
        config,
        Outputs(files, form, show_scripts=show_scripts, verbose=verbose),
        None if no_store else store,
        baseline.read(accepted),
        resume=resume,
    )


def _each(names: Iterable[str]) -> tuple[str, ...]:
    """Each name once."""
    return tuple(dict.fromkeys(names))
