"""The command `gradfuzz probe`."""

from __future__ import annotations

from pathlib import Path

from gradfuzz.cli import completion
from gradfuzz.cli.options import DURATION, LIMITS, ON_DEVICE, PATH, names_option
from gradfuzz.cli.output import FORMAT, answer
from gradfuzz.cli.shell import click


@click.command(short_help="Print a report card of one target.")
@click.argument("target", shell_complete=completion.TARGETS)
@click.option(
    "--suite", default="loops", shell_complete=completion.SUITES, help="The canonical cases to ask about."
)
@names_option("--op", metavar="OP,...", help="Only the rows of a status table about these ops or functions.")
@click.option("--scripts", "folder", type=PATH, metavar="FOLDER", help="Write a script for each wrong cell.")
@click.option(
    "--script",
    "number",
    type=int,
    metavar="N",
    help="Print the script of the wrong cell number N, and nothing else.",
)
@click.option("--max-time", type=DURATION, metavar="TIME", help="Ask nothing new after this time: 90s, 5m.")
@ON_DEVICE
@LIMITS
@FORMAT
def probe(
    target: str,
    suite: str,
    op: tuple[str, ...],
    folder: Path | None,
    number: int | None,
    max_time: float | None,
    form: str,
) -> None:
    """Ask TARGET about a fixed grid of canonical cases, and print a report card.

    A row that agrees by coincidence is wrong at a neighbouring point. A row tests nothing where the true
    derivative is zero all around. The suites of ops (linalg, complex, tensor, vectorize) print a word per
    cell. Wrong cells are numbered, and each has a script that shows the error without gradfuzz. The suite
    functions calls every function of a library, or of your own module, and prints a word per derivative.
    """
    from gradfuzz.fuzzer.probe.report import probe as report_card
    from gradfuzz.fuzzer.results.functions import FAMILY
    from gradfuzz.oracles import registry
    from gradfuzz.reports.common import scripts
    from gradfuzz.reports.machine import json as documents
    from gradfuzz.reports.terminal import report as terminal

    if folder is not None:
        scripts.check_folder(folder)
    ops = op or None

    def tell(doing: str) -> None:
        click.echo(doing, err=True)

    if suite == FAMILY:
        from gradfuzz.fuzzer.sweep.card import card

        report = card(target, tell, functions=ops, max_time=max_time)
    else:
        ways = registry.resolve(target, together=True, supervised=True)
        report = report_card(target, ways, suite, tell, ops=ops, max_time=max_time)
    if folder is not None and scripts.write_probe_scripts(report, folder):
        click.echo(f"Scripts of the numbered cells are in {folder}.", err=True)
    if number is not None:
        click.echo(scripts.script_of(report, number), nl=False)
    else:
        answer(form, lambda: documents.probe_document(report), lambda: terminal.probe(report, folder))
