"""The command `gradfuzz baseline`."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from gradfuzz.cli import completion
from gradfuzz.cli.options import BASELINE, STORE
from gradfuzz.cli.output import FORMAT, print_json
from gradfuzz.cli.shell import click
from gradfuzz.errors import UsageError

if TYPE_CHECKING:
    from gradfuzz.fuzzer.results.review import Baseline, BaselineEntry, Rule


@click.command(short_help="Accept findings for now, with a reason.")
@click.argument(
    "action", type=click.Choice(["list", "add", "remove"]), default="list", metavar="[list|add|remove]"
)
@click.argument("ids", nargs=-1, metavar="[ID]...", shell_complete=completion.IDS)
@click.option("--all", "everything", is_flag=True, help="All recorded findings, or those that fit the rule.")
@click.option("--op", metavar="GLOB", help="A rule: an op or loop that the shrunk program needs.")
@click.option("--target", metavar="GLOB", help="A rule: the target, as in 'torch*'.")
@click.option("--function", metavar="GLOB", help="A rule: the library's function that is called.")
@click.option("--cause", metavar="GLOB", help="A rule: the library's rule, or the planted bug, to blame.")
@click.option("--report", metavar="GLOB", help="A rule: a known report, as in 'pytorch#192540'.")
@click.option("--class", "kind", metavar="GLOB", help="A rule: the class of the finding.")
@click.option("--reason", metavar="TEXT", help="Why the finding is accepted.")
@click.option("--link", default="", show_default=False, metavar="URL", help="Where the finding is reported.")
@click.option("--expires", metavar="DATE", help="The first day on which it counts again: 2027-03-01.")
@STORE
@BASELINE
@FORMAT
def baseline(
    action: str,
    ids: tuple[str, ...],
    everything: bool,
    op: str | None,
    target: str | None,
    function: str | None,
    cause: str | None,
    report: str | None,
    kind: str | None,
    reason: str | None,
    link: str,
    expires: str | None,
    store: Path,
    accepted: Path,
    form: str,
) -> None:
    """List the accepted findings, add recorded ones, or remove some.

    The baseline is gradfuzz-baseline.json, a file to commit. A sweep still shows accepted findings, but they
    do not cause exit code 1. An expired entry accepts nothing; an entry whose finding is fixed is reported as
    stale.

    A rule accepts all findings that fit it, also those to come: give globs for one or more of --op, --target,
    --function, --cause, --class and --report, or for the ID. A finding must fit all of them. The same globs
    remove the rule. With --all the findings that are recorded now are accepted, one by one.
    """
    from gradfuzz.fuzzer.results.review import Pattern
    from gradfuzz.fuzzer.store import baseline as file
    from gradfuzz.fuzzer.store import lookup
    from gradfuzz.fuzzer.store.runs import Store

    known = file.read(accepted)
    if action == "list":
        _list(known, form)
        return
    glob = ids[0] if len(ids) == 1 and _is_glob(ids[0]) else None
    accept = Pattern(_whole(glob), *(word or None for word in (target, op, cause, kind, function, report)))
    by_rule = accept != Pattern()
    if by_rule and ids and glob is None:
        raise UsageError("ids and a rule cannot be given together; give the ids, or the rule")
    command = f"gradfuzz baseline {action}"
    if not (ids or by_rule or everything):
        raise UsageError(f"`{command}` needs the id of a finding: {command} GF-7c1e")
    if action == "remove":
        if everything:
            raise UsageError(f"`{command}` has no --all; delete {accepted}, and nothing is accepted")
        if by_rule:
            file.write(file.without_rule(known, accept), accepted)
            click.echo(f"No longer accepted in {accepted}: {file.in_words(accept)}.", err=True)
            return
        by_id = {item.entry.id: item.entry for item in known.accepted}
        for id in ids:
            entry = by_id[lookup.chosen(id, list(by_id), str(accepted))]
            known = file.removed(known, entry)
            click.echo(f"{entry.id} is no longer accepted in {accepted}.", err=True)
        file.write(known, accepted)
        return
    if reason is None:
        raise UsageError("a baseline entry needs a reason: --reason 'reported, see the link'")
    rule = file.rule_of(accept, reason, link, _day(expires)) if by_rule else None
    with Store(store) as opened:
        recorded = [one.finding for one in opened.recorded()] if by_rule or everything else []
        if rule is not None:
            file.check_rule(rule, recorded)
        if rule is not None and not everything:
            file.write(file.with_rule(known, rule), accepted)
            click.echo(f"Accepted in {accepted}: {file.in_words(accept)}.", err=True)
            return
        found = [one for one in recorded if file.fits(one, accept)] if everything else []
        found = [one for one in found if not any(file.matches(item, one) for item in known.accepted)]
        found += [lookup.recorded(opened, id) for id in ids if id != glob]
    if not found:
        raise UsageError(f"no finding is recorded in {store} that could be accepted")
    for finding in found:
        known = file.added(known, finding, file.entry_of(finding, reason, link, _day(expires)))
    file.write(known, accepted)
    told = f"{found[0].id} is" if len(found) == 1 else f"{len(found)} findings are"
    click.echo(f"{told} accepted in {accepted}.", err=True)


def _list(known: Baseline, form: str) -> None:
    """Prints what is accepted."""
    from gradfuzz.fuzzer.store import baseline as file
    from gradfuzz.reports.common import plain
    from gradfuzz.reports.machine import json as documents

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


def _is_glob(id: str) -> bool:
    return any(mark in id for mark in "*?[")


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
