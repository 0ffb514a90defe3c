"""The command `gradfuzz sweep`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from gradfuzz.cli.arguments import names_in, whole
from gradfuzz.cli.output import FORMAT, console, print_json, print_page
from gradfuzz.cli.shell import CLEAN, FINDINGS, INCOMPLETE, INTERRUPTED, click
from gradfuzz.errors import UsageError

if TYPE_CHECKING:
    from gradfuzz.fuzzer.events import SweepFinished

__all__ = ["sweep"]


@click.command(short_help="Draw programs and judge what targets say.")
@click.argument("targets", nargs=-1, metavar="[TARGET]...")
@click.option("--family", default="loops", show_default=True, metavar="F,...", help="Kinds of programs.")
@click.option(
    "--checks",
    default="value,vjp,jvp,twins",
    show_default=True,
    metavar="C,...",
    help="What is asked; twins alone ask a reference only where two answers contradict each other.",
)
@click.option("--dtypes", default="float64,float32", show_default=True, metavar="D,...", help="Working precisions.")
@click.option("--orders", default="1,2,3", show_default=True, metavar="N,...", help="Orders of derivatives.")
@click.option("--max-examples", type=int, default=96, show_default=True, metavar="N", help="Programs per target and family.")
@click.option("--max-time", type=float, metavar="SECONDS", help="Begin nothing new after so many seconds.")
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed draws the same programs.")
@click.option("--jobs", type=int, metavar="N", help="Worker processes; chosen if not given.")
@click.option(
    "--report", "reports", multiple=True, metavar="FORMAT[=PATH]", help="Write terminal or json to PATH, too. May be repeated."
)
@click.option("--show-scripts", is_flag=True, help="Print the script of each finding in full.")
@FORMAT
@click.pass_context
def sweep(
    ctx: click.Context, /, targets: tuple[str, ...], reports: tuple[str, ...], form: str, show_scripts: bool, **flags: Any
) -> None:
    """Draw programs and judge what each TARGET says about them; all installed targets if none is named.

    Exit code 1 with findings, 3 where a time limit left it incomplete, 130 after Ctrl-C, which keeps what was found.
    """
    from gradfuzz.fuzzer.events import SweepFinished
    from gradfuzz.fuzzer.sweep import SweepConfig
    from gradfuzz.fuzzer.sweep import sweep as run
    from gradfuzz.oracles import registry
    from gradfuzz.reports.live import listener

    form, files = _outputs(reports, form)
    config = SweepConfig(
        targets=targets or tuple(registry.installed()),
        families=names_in(flags["family"]),
        seed=flags["seed"],
        max_examples=flags["max_examples"],
        max_time=flags["max_time"],
        precisions=names_in(flags["dtypes"]),  # type: ignore[arg-type]  # the sweep says which there are
        orders=tuple(whole(part, "--orders") for part in names_in(flags["orders"])),
        checks=names_in(flags["checks"]),
        jobs=flags["jobs"],
    )
    with listener(console(sys.stderr)) as heard:
        for event in run(config):
            heard.handle(event)
    assert isinstance(event, SweepFinished), "a sweep ends so, whatever happens"
    _report_sweep(event, form, files, show_scripts=show_scripts)
    ctx.exit(_exit_code(event))


def _outputs(reports: tuple[str, ...], form: str) -> tuple[str, list[tuple[str, Path]]]:
    """The format of stdout, and those of files with their paths."""
    files: list[tuple[str, Path]] = []
    for text in reports:
        name, sign, path = text.partition("=")
        if name not in ("terminal", "json"):
            raise UsageError(
                f"--report {text!r}: {name!r} is no format; there is terminal and json, as in --report json=sweep.json"
            )
        if not sign:
            form = name
        elif not Path(path).parent.is_dir():
            raise UsageError(f"--report {text!r}: the folder {str(Path(path).parent)!r} does not exist; make it first")
        else:
            files.append((name, Path(path)))
    return form, files


def _report_sweep(finished: SweepFinished, form: str, files: list[tuple[str, Path]], *, show_scripts: bool) -> None:
    from gradfuzz.reports import json as documents
    from gradfuzz.reports import terminal
    from gradfuzz.reports.scripts import FOLDER, write_scripts

    scripts = write_scripts(finished.findings)
    if scripts:
        click.echo(f"Scripts that show the findings without gradfuzz are in {FOLDER}.", err=True)

    def write(name: str, file: IO[str] | None = None) -> None:
        if name == "json":
            print_json(documents.sweep_document(finished), file)
        else:
            print_page(terminal.sweep(finished, scripts, show_scripts=show_scripts), file)

    for name, path in files:
        with path.open("w", encoding="utf-8") as file:
            write(name, file)
    write(form)


def _exit_code(finished: SweepFinished) -> int:
    if finished.interrupted:
        return INTERRUPTED
    if finished.findings:
        return FINDINGS
    return CLEAN if finished.complete else INCOMPLETE
