"""The command `gradfuzz targets`. Its actions beside listing are in `target_actions.py`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from gradfuzz.cli import completion, target_actions
from gradfuzz.cli.options import LIMITS, REQUIREMENTS, STORE, installed
from gradfuzz.cli.output import FORMAT, answer
from gradfuzz.cli.shell import click
from gradfuzz.errors import GradfuzzError, UsageError

_LANG = click.Choice(list(target_actions.LANGUAGES))


@click.command(short_help="List targets, functions and conventions; install a release; check an adapter.")
@click.argument(
    "action",
    type=click.Choice(["list", "functions", "conventions", "install", "remove", "check", "new"]),
    default="list",
    metavar="[list|functions|conventions|install|remove|check|new]",
)
@click.argument(
    "what", nargs=-1, metavar="[NAME[==VERSION]|CMD|FOLDER]...", shell_complete=completion.TARGETS
)
@click.option(
    "--lang", default="python", show_default=False, type=_LANG, help="The language of a new adapter."
)
@REQUIREMENTS
@click.option(
    "--ways", is_flag=True, help="Load the libraries, and list every way into them with what it supports."
)
@click.option("--planted", is_flag=True, help="List the planted bugs, too.")
@LIMITS
@STORE
@FORMAT
@click.pass_context
def targets(
    ctx: click.Context,
    /,
    action: str,
    what: tuple[str, ...],
    lang: str,
    extra: tuple[str, ...],
    store: Path,
    form: str,
    ways: bool,
    planted: bool,
) -> None:
    """List the systems that this machine can ask, with versions, and what to install for the others.

    `targets conventions` prints what the engine, JAX and Torch answer where a derivative does not exist:
    kinks, ties, ends of domains; and what the documents of libraries say about calls of their functions.
    `targets install NAME[==VERSION]...` installs a library into an environment of its own beside the store,
    where sweeps find it; `targets remove` removes it. `targets check CMD` checks that an adapter follows the
    protocol: exit code 1 if not. `targets new [FOLDER]` writes an adapter to start from. `targets functions
    NAME` lists every function that a library offers, whether it is differentiable, and what the sweeps of its
    functions asked.
    """
    installed(ctx, store)
    if action in ("install", "remove"):
        installs = action == "install"
        ctx.exit(target_actions.install(what, extra, form) if installs else target_actions.remove(what, form))
    one = what[0] if what else None
    if len(what) > 1 or (what and action in ("list", "conventions")):
        raise UsageError(f"targets {action} takes no further argument, but got {what[-1]!r}")
    if action in ("check", "new"):
        ctx.exit(target_actions.check(one, form) if action == "check" else target_actions.new(one, lang))
    from gradfuzz.reports.machine import json as documents
    from gradfuzz.reports.terminal import report as terminal

    if action == "functions":
        target_actions.functions(one, form, store)
        return
    if action == "conventions":
        from gradfuzz.fuzzer.conventions.table import CONVENTIONS

        ledger = [row.document() for row in CONVENTIONS]
        answer(form, lambda: documents.conventions_document(ledger), lambda: terminal.conventions(ledger))
        return
    from gradfuzz.fuzzer.questions.abilities import abilities
    from gradfuzz.oracles import registry

    left_out = 0
    if ways:
        rows = [abilities(oracle) for name in registry.installed() for oracle in registry.resolve(name)]
        for name in registry.plug_ins():
            try:
                rows += [abilities(oracle) for oracle in registry.resolve(name, supervised=True)]
            except GradfuzzError as error:
                click.echo(f"Left out: {error}", err=True)
    else:
        there = registry.available()
        rows = [asdict(row) for row in there if planted or row.role != "mutant"]
        left_out = len(there) - len(rows)
    answer(form, lambda: documents.targets_document(rows), lambda: terminal.targets(list(map(_row, rows))))
    if left_out:
        click.echo(f"{left_out} planted bugs are left out; --planted lists them.", err=True)


def _row(row: dict[str, Any]) -> dict[str, Any]:
    """A row with its environments as part of the note: few targets have any."""
    own = row.get("environments", [])
    also = [f"in environments of their own: {', '.join(own)}"] if own else []
    return {
        key: "; ".join(filter(None, [value, *also])) if key == "note" else value
        for key, value in row.items()
        if key != "environments"
    }
