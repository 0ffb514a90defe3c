"""The command `gradfuzz replay`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gradfuzz.cli import completion
from gradfuzz.cli.options import LIMITS, ON_DEVICE, STORE, installed
from gradfuzz.cli.output import FORMAT, print_json
from gradfuzz.cli.shell import CLEAN, FINDINGS, INCOMPLETE, OWN_FAULT, click, say_fault

if TYPE_CHECKING:
    from gradfuzz.fuzzer.results.finding import Finding


@click.command(short_help="Ask again about recorded findings.")
@click.argument("sources", nargs=-1, metavar="[ID|FILE|DIR]...", shell_complete=completion.IDS)
@STORE
@ON_DEVICE
@LIMITS
@FORMAT
@click.pass_context
def replay(ctx: click.Context, /, sources: tuple[str, ...], store: Path, form: str) -> None:
    """Ask the targets again about recorded findings (all if none is named), and print FIXED, FAILED or ERROR
    for each.

    A FILE is the output of `gradfuzz show ID --format json`, or the JSON document of a sweep; a DIR holds
    such files. Exit code 0 if all are fixed, 1 if one is not, 3 if one could not be asked,
    4 if gradfuzz itself failed at one.
    """
    from gradfuzz.fuzzer.results.replayed import Status
    from gradfuzz.fuzzer.sweep.replaying import replay_all
    from gradfuzz.reports.common import plain, words

    installed(ctx, store)
    chosen = findings(sources, store)
    statuses = []
    broken = False
    rows = []
    for outcome in replay_all(chosen):
        finding, status = outcome.finding, outcome.status
        statuses.append(status)
        if (fault := outcome.own_fault) is not None:
            broken = True
            say_fault(f"gradfuzz itself failed {fault.doing}", fault.traceback)
        row = {"id": finding.id, "target": finding.target, "status": status.value}
        rows.append({**row, "message": outcome.message})
        if form == "terminal":
            asked = f"{finding.id} {finding.target} {words.asked(finding)}"
            click.echo(plain.line(f"{status.value:<6} {asked}: {outcome.message}"))
    if form == "json":
        print_json({"replayed": rows, **{status.value.lower(): statuses.count(status) for status in Status}})
    elif not chosen:
        click.echo("No finding is recorded.", err=True)
    worst = FINDINGS if Status.FAILED in statuses else INCOMPLETE if Status.ERROR in statuses else CLEAN
    ctx.exit(OWN_FAULT if broken else worst)


def findings(sources: tuple[str, ...], path: Path) -> list[Finding]:
    """The findings that the arguments name, each once."""
    from gradfuzz.fuzzer.store import lookup
    from gradfuzz.fuzzer.store.runs import Store

    if not sources:
        with Store(path) as store:
            return [record.finding for record in store.recorded()]
    found: list[Finding] = []
    for source in sources:
        if lookup.is_path(source):
            found += lookup.findings_in(Path(source), path)
        else:
            with Store(path) as store:
                found.append(lookup.recorded(store, source))
    return found
