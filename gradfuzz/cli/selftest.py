"""The command `gradfuzz selftest`."""

from __future__ import annotations

from typing import Any

from gradfuzz.cli import completion
from gradfuzz.cli.options import DURATION, JOBS, SEED, names_option, whole
from gradfuzz.cli.output import FORMAT, answer
from gradfuzz.cli.shell import CLEAN, FINDINGS, INCOMPLETE, INTERRUPTED, OWN_FAULT, click, say_fault
from gradfuzz.errors import UsageError


@click.command(short_help="Plant bugs, and see whether they are found.")
@click.option(
    "--profile",
    type=click.Choice(["quick", "full"]),
    default="quick",
    help="A sample of the systematic bugs in a minute, or all of them.",
)
@SEED
@click.option("--seeds", metavar="N..M", help="All seeds from N to M instead of one.")
@click.option(
    "--max-examples",
    type=int,
    default=300,
    metavar="N",
    help="The most programs of each family that are tried for a bug.",
)
@names_option(
    "--mutant",
    "mutants",
    metavar="NAME",
    shell_complete=completion.PLANTED,
    help="Only this planted bug: nx-1747. May be repeated.",
)
@click.option("--max-time", type=DURATION, metavar="TIME", help="Start no new round after this time: 5m, 8h.")
@JOBS
@FORMAT
@click.pass_context
def selftest(ctx: click.Context, /, seed: int, seeds: str | None, form: str, **flags: Any) -> None:
    """Plant bugs in the engine, and count the programs until each is found; ask correct oracles, and count
    false alarms.

    Exit code 0 if all bugs modelled on real reports and 98 % of the systematic ones are found, without a
    false alarm; 1 if not; 3 if a time limit stopped it, 4 if gradfuzz itself failed.
    """
    from gradfuzz.fuzzer.results.score import Score
    from gradfuzz.fuzzer.sweep.selftest import SelftestConfig
    from gradfuzz.fuzzer.sweep.selftest import selftest as run
    from gradfuzz.reports.terminal import selftest as report

    for event in run(SelftestConfig(seeds=_range(seeds) if seeds else (seed,), **flags)):
        if not isinstance(event, Score):
            click.echo(report.heartbeat(event), err=True)
    assert isinstance(event, Score), "a self-test ends so"
    answer(form, lambda: report.selftest_document(event), lambda: report.selftest(event))
    for fault in event.own_faults:
        say_fault(f"gradfuzz itself failed {fault.doing}", fault.traceback)
    ended_early = INTERRUPTED if event.interrupted else OWN_FAULT if event.own_faults else INCOMPLETE
    whole = OWN_FAULT if event.own_faults else CLEAN if event.passed else FINDINGS
    ctx.exit(whole if event.complete else ended_early)


def _range(text: str) -> tuple[int, ...]:
    """The seeds of a range such as "0..9"."""
    first, dots, last = text.partition("..")
    seeds = tuple(range(whole(first, "--seeds"), whole(last if dots else first, "--seeds") + 1))
    if not seeds:
        raise UsageError(f"--seeds {text!r} is empty; write the smaller number first, as in 0..9")
    return seeds
