"""The command `gradfuzz diff`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gradfuzz.cli.options.storage import STORE
from gradfuzz.cli.output import FORMAT, print_json
from gradfuzz.cli.shell import CLEAN, FINDINGS, click

if TYPE_CHECKING:
    from gradfuzz.fuzzer.results.finding import Finding


@click.command(short_help="Compare the findings of two sweeps.")
@click.argument("before", metavar="A")
@click.argument("after", metavar="B")
@STORE
@FORMAT
@click.pass_context
def diff(ctx: click.Context, /, before: str, after: str, store: Path, form: str) -> None:
    """Show which findings of B are new compared with A, which are gone, and which are in both.

    A and B are numbers of runs in the store, JSON documents of sweeps, event streams, or folders of findings.
    Exit code 1 if one is new.
    """
    from gradfuzz.fuzzer.store.run_diff import difference
    from gradfuzz.reports.common import plain
    from gradfuzz.reports.terminal.concise import line

    result = difference(_findings(before, store), _findings(after, store))
    parts = {"new": result.new, "gone": result.gone, "still there": result.still}
    if form == "json":
        print_json({name.split()[0]: [finding.id for finding in found] for name, found in parts.items()})
    else:
        for name, findings in parts.items():
            click.echo(f"{name}: {len(findings)}")
            for finding in findings:
                click.echo(f"  {line(plain.inert(finding))}")
    ctx.exit(FINDINGS if result.new else CLEAN)


def _findings(text: str, store: Path) -> tuple[Finding, ...]:
    from gradfuzz.fuzzer.store import lookup

    if lookup.is_path(text):
        return tuple(lookup.findings_in(Path(text)))
    return lookup.sweep_of(text, store)[0].findings
