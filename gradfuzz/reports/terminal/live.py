"""Progress of a running sweep: a redrawn display on a terminal, plain lines elsewhere.

Either says what is done: starting, drawing, judging, shrinking, writing.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator

from rich.console import Console, Group, RenderableType
from rich.live import Live as RichLive
from rich.table import Table
from rich.text import Text

from gradfuzz.fuzzer.results.events import (
    Event,
    FindingFound,
    Progress,
    SweepFinished,
    SweepStarted,
    TargetSummary,
)
from gradfuzz.fuzzer.results.finding import Finding
from gradfuzz.fuzzer.results.ranking import rank
from gradfuzz.reports.common import numbers, plain, words
from gradfuzz.reports.common.functions import noun
from gradfuzz.reports.common.pieces import program
from gradfuzz.reports.common.summary import group, tally, total
from gradfuzz.reports.common.titles import versioned

_PAUSE, _SILENCE = 5.0, 30.0
"""Seconds between heartbeat lines where there is something new, and where not."""

_STEADY = 20.0
"""Seconds after which a speed means something."""

_PROGRAMS = 2
"""The first programs are shown in the log, as examples of what is drawn."""

_WRITING = "writing scripts and reports"

_SHOWN = 8
"""The most findings on the live display; the rest is only counted."""


@contextlib.contextmanager
def listener(console: Console) -> Iterator[Live | Heartbeat]:
    """The listener that suits `console`. It handles the events of a sweep, in order."""
    if not _is_redrawn(console):
        yield Heartbeat(console)
    else:
        with RichLive(Text("starting"), console=console, refresh_per_second=4, transient=True) as display:
            yield Live(display)


@contextlib.contextmanager
def phase(console: Console, doing: str) -> Iterator[None]:
    """A terminal says what is done after the sweep, until it is done."""
    shown = RichLive(Text(doing), console=console, auto_refresh=False, transient=True)
    with shown if _is_redrawn(console) else contextlib.nullcontext():
        yield


def _is_redrawn(console: Console) -> bool:
    return console.is_terminal and not console.is_dumb_terminal


class Heartbeat:
    """A line at the start, the first programs, a line for each finding, and the counts every few seconds."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._last = float("-inf")
        self._said: tuple[object, ...] = ()
        self._shown: list[str] = []
        self._found: dict[str, int] = {}
        self._drawn = noun(())

    def handle(self, event: Event) -> None:
        event = plain.inert(event)
        if isinstance(event, SweepStarted):
            self._drawn = noun(event.families)
            self._line(_started(event))
        elif isinstance(event, FindingFound):
            if event.finding.id not in self._found:
                self._line(f"found {words.one_line(event.finding)}")
                self._block(plain.source(event.finding))
            self._found[event.finding.id] = event.finding.seen
        elif isinstance(event, Progress):
            program = event.latest_program
            if program and program not in self._shown and len(self._shown) < _PROGRAMS:
                self._shown.append(program)
                self._line(f"{event.seconds:4.0f} s  a {self._drawn} it drew:")
                self._block(program)
            if event.met:
                self._line(f"{event.seconds:4.0f} s  disagreement: {event.met}; shrinking it next")
            news = event.programs, event.checks, event.doing
            if event.seconds >= self._last + (_PAUSE if news != self._said else _SILENCE):
                self._last, self._said = event.seconds, news
                self._line(_progress(event, self._drawn, len(self._found)))
        else:
            self._line(f"{event.seconds:4.0f} s  {_WRITING}")

    def _line(self, text: str) -> None:
        self._console.print(Text(text), soft_wrap=True)

    def _block(self, text: str) -> None:
        for line in text.rstrip().splitlines():
            self._line(f"    {line}")


class Live:
    """A redrawn display of targets, counts, progress, latest program, findings. It vanishes at the end."""

    def __init__(self, display: RichLive) -> None:
        self._live = display
        self._progress: Progress | None = None
        self._program = ""
        self._met = ""
        self._findings: dict[str, Finding] = {}
        self._drawn = noun(())

    def handle(self, event: Event) -> None:
        event = plain.inert(event)
        if isinstance(event, SweepStarted):
            self._drawn = noun(event.families)
            self._live.console.print(Text(_started(event)))
        elif isinstance(event, Progress):
            self._progress = event
            self._program = event.latest_program or self._program
            self._met = event.met or self._met
        elif isinstance(event, FindingFound):
            self._findings[event.finding.id] = event.finding
        if isinstance(event, SweepFinished):
            self._live.update(Text(_WRITING), refresh=True)
        else:
            self._live.update(self._display())

    def _display(self) -> RenderableType:
        parts: list[RenderableType] = []
        progress = self._progress
        if progress is not None:
            parts.append(_counts(progress.summaries, self._findings))
            parts.append(Text(_progress(progress, self._drawn, len(self._findings)), overflow="fold"))
            if self._program:
                parts += [Text(f"latest {self._drawn}", style="dim"), program(self._program)]
        if self._met and not self._findings:
            parts.append(Text(f"disagreement: {self._met}; shrinking it next", overflow="fold"))
        found = sorted(self._findings.values(), key=rank)
        parts += [Text(words.one_line(f), overflow="fold") for f in found[:_SHOWN]]
        if len(found) > _SHOWN:
            parts.append(Text(f"and {len(found) - _SHOWN} more"))
        return Group(*parts)


def _started(event: SweepStarted) -> str:
    targets = ", ".join(itertools.starmap(versioned, event.targets))
    limit = f", at most {event.max_time:g} s" if event.max_time is not None else ""
    programs = numbers.count(event.max_examples, noun(event.families))
    return (
        f"Sweep of {targets}; {', '.join(event.families)}; up to {programs}{limit}; seed {event.seed}."
        " Ctrl-C stops it and keeps what was found."
    )


def _progress(event: Progress, drawn: str, found: int) -> str:
    counts = {drawn: event.programs, "check": event.checks, "finding": found}
    done = ", ".join(numbers.count(n, noun) for noun, n in counts.items())
    parts = [f"{event.seconds:4.0f} s  {done}", *_speed(event, drawn), event.doing]
    return "  ".join(filter(None, parts))


def _speed(event: Progress, drawn: str) -> Iterator[str]:
    """How fast it goes, and who does the work, once there is something to tell."""
    if event.seconds >= _STEADY:
        programs, checks = event.programs / event.seconds, event.checks / event.seconds
        yield f"{programs:.1f} {drawn}s/s, {checks:.0f} checks/s, nothing new for {event.quiet:.0f} s"
    if event.workers > 1:
        yield f"{event.workers} workers, {event.under_way} at work"
    if event.dashboard:
        yield event.dashboard


def _counts(summaries: tuple[TargetSummary, ...], findings: dict[str, Finding]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("target", "checks", "agree", "findings", "inconclusive", "unsupported"):
        table.add_column(column, justify="left" if column == "target" else "right", overflow="fold")
    for name, ways in group(summaries).items():
        found = sum(f.target in {way.name for way in ways} for f in findings.values())
        counts = {column: f"{n:,}" for column, n in tally(total(ways)).items()}
        marked = Text(f"{found:,}", style="bold red" if found else "")
        others = (counts["inconclusive"], counts["unsupported"])
        table.add_row(Text(name), counts["checks"], counts["agree"], marked, *others)
    return table
