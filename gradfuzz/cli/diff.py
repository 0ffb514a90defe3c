"""The command `gradfuzz diff`."""

from __future__ import annotations

from pathlib import Path

from gradfuzz.cli.options import STORE
from gradfuzz.cli.output import FORMAT, print_json
from gradfuzz.cli.shell import CLEAN, FINDINGS, click


@click.command(short_help="Compare the findings of two sweeps.")
@click.argument("before", metavar="A")
@click.argument("after", metavar="B")
@STORE
@FORMAT
@click.pass_context
def diff(ctx: click.Context, /, before: str, after: str, store: Path, form: str) -> None:
    """Show which findings of B are new compared with A, which have changed, are gone, and are in both.

    A and B are numbers of runs in the store, JSON documents of sweeps, event streams, or folders of findings.
    A finding has changed where one mistake has another class than before. Exit code 1 if one is new, or
    changed so that it is another finding.
    """
    from gradfuzz.fuzzer.store import lookup
    from gradfuzz.fuzzer.store.run_diff import difference
    from gradfuzz.reports.common import plain, words
    from gradfuzz.reports.terminal.concise import line

    sides = {text: lookup.compared(text, store) for text in (before, after)}
    incomplete = [text for text, side in sides.items() if side.complete is False]
    result = difference(sides[before].findings, sides[after].findings)
    parts = {
        "new": result.new,
        "changed": tuple(change.after for change in result.changed),
        "gone": result.gone,
        "still there": result.still,
    }
    if form == "json":
        ids = {name.split()[0]: [finding.id for finding in found] for name, found in parts.items()}
        print_json({**ids, "incomplete": incomplete})
    else:
        for text in incomplete:
            what = f"run {text}" if text.isdecimal() else text
            click.echo(
                plain.line(f"{what} is incomplete: a finding that it lacks may not have been looked for")
            )
        earlier = {change.after.id: change.before for change in result.changed}
        for name, found in parts.items():
            click.echo(f"{name}: {len(found)}")
            for finding in plain.inert(found):
                was = f" (was {words.class_of(earlier[finding.id])})" if name == "changed" else ""
                click.echo(f"  {line(finding)}{was}")
    ctx.exit(FINDINGS if result.worse else CLEAN)
