"""The command `gradfuzz findings`."""

from __future__ import annotations

import datetime
import itertools
from pathlib import Path

from gradfuzz.cli.options import BASELINE, STORE, names_option
from gradfuzz.cli.output import FORMAT, answer
from gradfuzz.cli.shell import click


@click.command(short_help="List the recorded findings.")
@names_option("--op", metavar="GLOB,...", help="Only those that need such an op or loop: 'conv*', 'while'.")
@names_option("--target", metavar="GLOB,...", help="Only those of such targets: 'torch*'.")
@names_option("--class", "kind", metavar="GLOB,...", help="Only those of such a class: 'sign_flip'.")
@STORE
@BASELINE
@FORMAT
def findings(
    op: tuple[str, ...],
    target: tuple[str, ...],
    kind: tuple[str, ...],
    store: Path,
    accepted: Path,
    form: str,
) -> None:
    """List the findings that the store has, those of the newest run first. Those that are fixed are left out.
    Of several globs of a flag one must fit.

    `open` is a finding that nobody accepts, `known` one that the baseline accepts, `expired` one that it
    accepted once. `gradfuzz show ID` shows one.
    """
    from gradfuzz.fuzzer.results.review import Pattern
    from gradfuzz.fuzzer.store import baseline
    from gradfuzz.fuzzer.store.runs import Store
    from gradfuzz.reports.machine import json as documents
    from gradfuzz.reports.terminal import report as terminal

    known = baseline.read(accepted)
    globs = itertools.product(target or (None,), op or (None,), kind or (None,))
    wanted = [Pattern(None, one, of, None, like) for one, of, like in globs]
    with Store(store) as opened:
        records = [r for r in opened.recorded() if any(baseline.fits(r.finding, one) for one in wanted)]
    today = datetime.datetime.now(datetime.UTC).date()
    standing = baseline.standing(known, [record.finding for record in records], today)
    states = {
        entry.id: word
        for word, entries in zip(("known", "expired"), standing, strict=True)
        for entry in entries
    }
    rows = [
        (record.finding, states.get(record.finding.id, "open"), record.run, record.first[:10])
        for record in records
    ]
    if rows or form == "json":
        answer(form, lambda: documents.findings_document(rows), lambda: terminal.listing(rows))
    else:
        some = any((op, target, kind))
        click.echo("No recorded finding fits." if some else "No finding is recorded.", err=True)
