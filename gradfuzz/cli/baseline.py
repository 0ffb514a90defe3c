"""The command `gradfuzz baseline`."""

from __future__ import annotations

import datetime
from pathlib import Path

from gradfuzz.cli import completion
from gradfuzz.cli.options import BASELINE, STORE
from gradfuzz.cli.output import FORMAT, print_json
from gradfuzz.cli.shell import click
from gradfuzz.errors import UsageError


@click.command(short_help="Accept findings for now, with a reason.")
@click.argument(
    "action", type=click.Choice(["list", "add", "remove"]), default="list", metavar="[list|add|remove]"
)
@click.argument("id", required=False, shell_complete=completion.IDS)
@click.option("--op", metavar="GLOB", help="A rule: an op or loop that the shrunk program needs.")
@click.option("--target", metavar="GLOB", help="A rule: the target, as in 'torch*'.")
@click.option("--cause", metavar="GLOB", help="A rule: the planted bug that is probably the cause.")
@click.option("--class", "kind", metavar="GLOB", help="A rule: the class of the finding.")
@click.option("--reason", metavar="TEXT", help="Why the finding is accepted.")
@click.option("--link", default="", show_default=False, metavar="URL", help="Where the finding is reported.")
@click.option("--expires", metavar="DATE", help="The first day on which it counts again: 2027-03-01.")
@STORE
@BASELINE
@FORMAT
def baseline(
    action: str,
    id: str | None,
    op: str | None,
    target: str | None,
    cause: str | None,
    kind: str | None,
    reason: str | None,
    link: str,
    expires: str | None,
    store: Path,
    accepted: Path,
    form: str,
) -> None:
    """List the accepted findings, add a recorded one, or remove one.

    The baseline is gradfuzz-baseline.json, a file to commit. A sweep still shows accepted findings, but they
    do not cause exit code 1. An expired entry accepts nothing; an entry whose finding is fixed is reported as
    stale.

    A rule accepts all findings that fit it: give globs for one or more of --op, --target, --cause and
    --class, or for the ID. A finding must fit all of them. The same globs remove the rule.
    """
    from gradfuzz.fuzzer.results.review import BaselineEntry, Pattern, Rule
    from gradfuzz.fuzzer.store import baseline as file
    from gradfuzz.fuzzer.store import lookup
    from gradfuzz.fuzzer.store.runs import Store
    from gradfuzz.reports.common import plain
    from gradfuzz.reports.machine import json as documents

    known = file.read(accepted)
    if action == "list":
        entries = [item.entry for item in known.accepted]
        if form == "json":
            print_json(documents.baseline_document(entries, known.rules))
            return
        named: list[tuple[str, BaselineEntry | Rule]] = [(f"{e.id} {e.target}", e) for e in entries]
        named += [(file.in_words(rule.accept), rule) for rule in known.rules]
        for name, entry in named:
            until = f"; until {entry.expires}" if entry.expires else ""
            link = f"; {entry.link}" if entry.link else ""
            click.echo(plain.line(f"{name}: {entry.reason}{link}{until}"))
        return
    if _is_glob(id) or any((op, target, cause, kind)):
        accept = Pattern(_whole(id), target or None, op or None, cause or None, kind or None)
        if action == "add":
            rule = file.rule_of(accept, reason or "", link, _day(expires))
            file.write(file.with_rule(known, rule), accepted)
            click.echo(f"Accepted in {accepted}: {file.in_words(accept)}.", err=True)
        else:
            file.write(file.without_rule(known, accept), accepted)
            click.echo(f"No longer accepted in {accepted}: {file.in_words(accept)}.", err=True)
        return
    if id is None:
        command = f"gradfuzz baseline {action}"
        raise UsageError(f"`{command}` needs the id of a finding: {command} GF-7c1e")
    if action == "add":
        if reason is None:
            raise UsageError("a baseline entry needs a reason: --reason 'reported, see the link'")
        with Store(store) as opened:
            finding = lookup.recorded(opened, id)
        entry = file.entry_of(finding, reason, link, _day(expires))
        file.write(file.added(known, finding, entry), accepted)
        click.echo(f"{entry.id} is accepted in {accepted}.", err=True)
    else:
        by_id = {item.entry.id: item.entry for item in known.accepted}
        entry = by_id[lookup.chosen(id, list(by_id), str(accepted))]
        file.write(file.removed(known, entry), accepted)
        click.echo(f"{entry.id} is no longer accepted in {accepted}.", err=True)


def _is_glob(id: str | None) -> bool:
    return id is not None and any(mark in id for mark in "*?[")


def _whole(id: str | None) -> str | None:
    """The id, or the glob for ids, with "GF-", which may be left out."""
    if not id or id.startswith(("*", "?", "[", "GF-")):
        return id or None
    return f"GF-{id.lower().removeprefix('gf-')}"


def _day(text: str | None) -> datetime.date | None:
    if text is None:
        return None
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise UsageError(f"--expires {text!r} is not a date; write it as 2027-03-01") from None
