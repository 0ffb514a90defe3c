"""The command `gradfuzz show`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gradfuzz.cli import completion
from gradfuzz.cli.options import STORE
from gradfuzz.cli.output import FORMAT, print_json, print_page
from gradfuzz.cli.shell import click
from gradfuzz.errors import UsageError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from gradfuzz.fuzzer.results.finding import Finding


OWN = ("short", "python", "native", "pytest", "issue", "json")
"""What a finding can be shown as, besides the dialects."""


class ShownForm(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.4 on
    """One of OWN, or a dialect. The table of dialects is read when somebody asks, as it loads NumPy."""

    name = "form"

    @property
    def _choice(self) -> click.Choice[str]:
        from gradfuzz.oracles.dialect_table import DIALECTS

        return click.Choice((*OWN, *DIALECTS))

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str | None:
        return self._choice.get_metavar(param, ctx)

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return self._choice.convert(value, param, ctx)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return self._choice.shell_complete(ctx, param, incomplete)


@click.command(short_help="Show a recorded finding, or a script of it.")
@click.argument("id", shell_complete=completion.IDS)
@click.option(
    "--as",
    "dialect",
    type=ShownForm(),
    help=(
        "Print this and nothing else: a few lines that print got and expected (short), the target's own"
        " script (native, or python where it is one), the same"
        " question to another system, a test for pytest, the text of an issue, or the record for `gradfuzz"
        " replay`."
    ),
)
@click.option("--full", is_flag=True, help="With tables of variants and the whole script.")
@STORE
@FORMAT
def show(id: str, dialect: str | None, full: bool, store: Path, form: str) -> None:
    """Show the recorded finding with this ID, of which the first digits are enough."""
    from gradfuzz.fuzzer.results.known_reports import reports_of
    from gradfuzz.fuzzer.results.records import to_document
    from gradfuzz.fuzzer.store import lookup
    from gradfuzz.fuzzer.store.runs import Store

    with Store(store) as opened:
        finding = lookup.recorded(opened, id)
    if dialect == "json" or (dialect is None and form == "json"):
        print_json({**to_document(finding), "reported": [report.link for report in reports_of(finding)]})
    elif dialect is not None:
        click.echo(_text(finding, dialect), nl=False)
        if dialect == "issue":
            _note(finding)
    else:
        from gradfuzz.reports.terminal import block

        print_page(block.finding(finding, show_script=True) if full else block.page(finding))


def _note(finding: Finding) -> None:
    """What the tracker says to people before they file, on stderr."""
    from gradfuzz.oracles.target_name import TargetName
    from gradfuzz.reports.markdown.trackers import TRACKERS

    tracker = TRACKERS.get(TargetName.of(finding.target).library)
    if tracker is not None and tracker.note:
        click.echo(f"{tracker.repository}: {tracker.note}", err=True)


def _text(finding: Finding, dialect: str) -> str:
    """The text that --as prints; a `UsageError` if the finding lacks it names those it has."""
    if dialect == "issue":
        from gradfuzz.reports.markdown.issue import issue

        return issue(finding)
    scripts = {"native": finding.script, **finding.ports}
    scripts.setdefault("python", finding.script or finding.ports.get("jax", ""))
    text = scripts.get(dialect)
    if not text:
        there = ", ".join(name for name, script in scripts.items() if script)
        raise UsageError(
            f"{finding.id} has no {dialect} script; it has {there or 'none at all'}, and --as issue and json"
        )
    return text if text.endswith("\n") else f"{text}\n"
