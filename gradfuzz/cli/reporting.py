"""`--report FORMAT[=PATH]` and `--format`: the formats and files of a sweep's report."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING

from gradfuzz.cli.output import check_writable, console, print_page, writing
from gradfuzz.cli.shell import click, say_fault
from gradfuzz.errors import UsageError
from gradfuzz.reports.formats import FORMATS, STREAM, of_file

if TYPE_CHECKING:
    from gradfuzz.fuzzer.results.events import Event, SweepFinished
    from gradfuzz.fuzzer.results.own_fault import OwnFault
    from gradfuzz.fuzzer.results.review import Review


_NEXT = re.compile(rf",(?=(?:{'|'.join(FORMATS)})(?:[=,]|$))")
"""The comma before another format, where a path stands before it, which may have commas."""

REPORTS = click.option(
    "--report",
    "reports",
    multiple=True,
    metavar="FORMAT[=PATH]",
    help=(
        f"Write a report to a file, too: {', '.join(FORMATS)}. Without a PATH it is named gradfuzz-...; a"
        " PATH alone gives the format by its ending: sweep.html. github goes to stdout and to the summary of"
        " the step. May be repeated."
    ),
)

STDOUT = click.option(
    "--format",
    "form",
    type=click.Choice([name for name in FORMATS if name != STREAM]),
    default="terminal",
    help="What stdout gets.",
)


@dataclass(frozen=True, slots=True)
class Output:
    """A format and its file (None: stdout)."""

    name: str
    path: Path | None


def outputs(reports: Iterable[str]) -> list[Output]:
    """The outputs of --report. `UsageError` or `StoreError`, before hours of work, if one is unwritable."""
    found = []
    parts = (part for text in reports for part in (_NEXT.split(text) if "=" in text else text.split(",")))
    for text in parts:
        name, sign, path = text.partition("=")
        if (not sign or path.startswith("=")) and (by_ending := of_file(text)):  # also of jax==0.10.2.html
            name, sign, path = by_ending, "=", text
        if name not in FORMATS:
            raise UsageError(
                f"--report {text!r}: {name!r} is not a format; the formats are {', '.join(FORMATS)}, as in"
                " --report html=sweep.html"
            )
        if not sign and not FORMATS[name].file:
            found.append(Output(name, None))
            continue
        file = Path(path) if sign else Path(FORMATS[name].file)
        check_writable(file, f"--report {text!r}")
        found.append(Output(name, file))
    return found


class Streams(AbstractContextManager["Streams", None]):
    """The files of a running sweep, created with the first event. They get an event before any report."""

    def __init__(self, wanted: Iterable[Output]) -> None:
        self._paths = [output.path for output in wanted if output.path is not None]
        self._files: dict[Path, IO[str]] = {}

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for path, file in self._files.items():
            with _writing(path):
                file.close()

    def handle(self, event: Event | Review) -> None:
        """Writes a line to each file."""
        if not self._paths:
            return
        from gradfuzz.reports.machine.ndjson import line

        text = line(event)
        for path in self._paths:
            with _writing(path):
                if path not in self._files:
                    self._files[path] = path.open("w", encoding="utf-8")
                self._files[path].write(text)
                self._files[path].flush()


def report(
    finished: SweepFinished,
    review: Review | None,
    form: str,
    files: Iterable[Output],
    *,
    scripts: dict[str, Path] | None = None,
    show_scripts: bool = False,
    verbose: bool = False,
) -> list[OwnFault]:
    """Prints the end of a sweep, then writes it to files. Returns where gradfuzz itself failed: the other
    formats are there all the same.
    """
    from gradfuzz.fuzzer.results.own_fault import Attempts
    from gradfuzz.reports.terminal import live
    from gradfuzz.reports.terminal import report as terminal

    tried = Attempts()
    if form == "terminal":
        page = partial(terminal.brief, finished, scripts or {}, review=review)
        if show_scripts or verbose:
            page = partial(terminal.sweep, finished, scripts or {}, show_scripts=show_scripts, review=review)
        tried("writing the terminal report", None, lambda: print_page(page()))
    elif text := tried(f"writing the {form} report", "", FORMATS[form].render, finished, review):
        click.echo(text, nl=False)
    sys.stdout.flush()
    for output in files:
        doing = f"writing the {output.name} report"
        with live.phase(console(sys.stderr), doing):
            whole = tried(doing, None, written, output, finished, review)
        if whole is not None and output.path is None:
            click.echo(whole, nl=False)
        elif whole is not None:
            click.echo(f"The {output.name} report is in {output.path}.", err=True)
    for fault in tried.faults:
        say_fault(f"gradfuzz itself failed {fault.doing}: {fault.error}", fault.traceback)
    return tried.faults


def written(output: Output, finished: SweepFinished, review: Review | None) -> str:
    """Writes a report into its file, and that of `github` into the summary of the step, too; the text."""
    from gradfuzz.reports.markdown.github import write_step_summary

    text = FORMATS[output.name].render(finished, review)
    if output.name == "github":
        with _writing(None):
            write_step_summary(finished, review)
    with _writing(output.path):
        if output.path is not None:
            output.path.write_text(text, encoding="utf-8")
    return text


def _writing(path: Path | None) -> AbstractContextManager[None]:
    return writing(path, ": the report", "; give another path with --report FORMAT=PATH")
