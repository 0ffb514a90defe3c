"""The command `gradfuzz bisect`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gradfuzz.cli import completion
from gradfuzz.cli.options import REQUIREMENTS, STORE, installed, names_option
from gradfuzz.cli.output import FORMAT, answer
from gradfuzz.cli.replay import findings
from gradfuzz.cli.shell import CLEAN, FINDINGS, INCOMPLETE, click
from gradfuzz.errors import UsageError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from gradfuzz.fuzzer.results.finding import Finding
    from gradfuzz.fuzzer.sweep.bisecting import Bisection


@click.command(short_help="Find the release in which a finding appeared or was fixed.")
@click.argument("source", metavar="ID|FILE", shell_complete=completion.IDS)
@names_option(
    "--versions", required=True, metavar="A..B", help="The releases: all from A to B, or just 1.0,1.1,1.2."
)
@REQUIREMENTS
@click.option("--discard", is_flag=True, help="Remove each new environment once its release has been asked.")
@STORE
@FORMAT
@click.pass_context
def bisect(
    ctx: click.Context,
    /,
    source: str,
    versions: tuple[str, ...],
    extra: tuple[str, ...],
    discard: bool,
    store: Path,
    form: str,
) -> None:
    """Find the release of a library in which a finding appeared or was fixed, by asking as few releases as
    possible.

    Each release gets an environment of its own beside the store. A release that cannot be installed or asked
    is skipped and reported. Exit code 1 if the newest release with an answer is wrong, 3 if none has an
    answer.
    """
    from gradfuzz.fuzzer.results.replayed import Status
    from gradfuzz.fuzzer.sweep.bisecting import Said, asker
    from gradfuzz.fuzzer.sweep.bisecting import bisect as search
    from gradfuzz.oracles.foreign.releases import releases
    from gradfuzz.oracles.target_name import TargetName
    from gradfuzz.reports.common import plain

    installed(ctx, store)
    found = findings((source,), store)
    if len(found) != 1:
        raise UsageError(f"{source} holds {len(found)} findings; name one of them by its id")
    (finding,) = found
    library = TargetName.of(finding.target).library
    candidates = releases(library, ",".join(versions))
    ask = asker(finding, lambda words: click.echo(words, err=True), extra, discard=discard)

    def told(version: str) -> Said:
        said = ask(version)
        click.echo(plain.line(f"{library} {version} {_WORDS[said.status.value]}"), err=True)
        return said

    result = search(candidates, told)
    answer(form, lambda: _document(finding, library, result), lambda: _page(finding, library, result))
    newest = result.told[-1].status if result.told else Status.ERROR
    ctx.exit({Status.FIXED: CLEAN, Status.FAILED: FINDINGS, Status.ERROR: INCOMPLETE}[newest])


_WORDS = {"FIXED": "is right", "FAILED": "is wrong", "ERROR": "cannot tell"}


def _page(finding: Finding, library: str, result: Bisection) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    from gradfuzz.reports.common import plain, words
    from gradfuzz.reports.terminal.sheet import Sheet

    table = Sheet(library, "", "what was said")
    for said in result.asked:
        table.add_row(*map(plain.line, (said.version, _WORDS[said.status.value], said.message)))
    asked = f"{len(result.asked)} of {len(result.releases)} releases were asked."
    heading = Text(plain.line(words.title(finding)), style="bold")
    return Group(heading, table, Text(""), Text(f"{result.words} {asked}"))


def _document(finding: Finding, library: str, result: Bisection) -> dict[str, object]:
    return {
        "id": finding.id,
        "target": finding.target,
        "library": library,
        "releases": list(result.releases),
        "asked": [
            {"version": s.version, "status": s.status.value, "message": s.message} for s in result.asked
        ],
        "changes": [
            {
                "what": "came" if c.came else "went",
                "release": c.after,
                "before": c.before,
                "untold": list(c.untold),
                "others": list(c.others),
            }
            for c in result.changes
        ],
        "words": result.words,
    }
