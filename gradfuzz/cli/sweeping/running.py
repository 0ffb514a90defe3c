"""Runs a sweep for a command: the store, the live display, the reports, and the exit code."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from gradfuzz.cli.output import console, writing
from gradfuzz.cli.reporting import Output, Streams, report
from gradfuzz.cli.shell import CLEAN, FINDINGS, INCOMPLETE, INTERRUPTED, OWN_FAULT, USAGE, click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from gradfuzz.fuzzer.results.events import SweepFinished
    from gradfuzz.fuzzer.results.own_fault import Attempts
    from gradfuzz.fuzzer.results.review import Baseline, Review
    from gradfuzz.fuzzer.sweep.config import SweepConfig
    from gradfuzz.fuzzer.sweep.memo import Memo
    from gradfuzz.fuzzer.sweep.recorder import Recorder


@dataclass(frozen=True, slots=True)
class Outputs:
    """What a sweep prints, and which files it writes."""

    files: list[Output]
    form: str
    show_scripts: bool
    verbose: bool


def run_sweep(
    ctx: click.Context,
    config: SweepConfig,
    outputs: Outputs,
    store: Path | None,
    known: Baseline,
    *,
    resume: bool = False,
    known_before: Callable[[Memo | None], Memo | None] = lambda memo: memo,
) -> None:
    """Runs a sweep with the recorder as its memo, or what `known_before` makes of it; ends the command."""
    from gradfuzz.fuzzer.results.events import SweepFinished, SweepStarted
    from gradfuzz.fuzzer.results.own_fault import Attempts
    from gradfuzz.fuzzer.results.review import Review
    from gradfuzz.fuzzer.sweep import plans
    from gradfuzz.fuzzer.sweep.reviewing import counted
    from gradfuzz.reports.formats import STREAM
    from gradfuzz.reports.terminal.live import listener

    tried = Attempts()
    with ExitStack() as stack:
        recorder = None if store is None else _recorder(stack, store, config, resume=resume)
        streams = stack.enter_context(Streams(file for file in outputs.files if file.name == STREAM))
        with listener(console(sys.stderr)) as heard:
            for event in plans.sweep(config, known_before(recorder)):
                if recorder is not None and isinstance(event, SweepStarted):
                    recorder.handle(event)
                    if run_before := recorder.unfinished:
                        told = f"--resume continues run {run_before}"
                        click.echo(f"An earlier sweep with these settings did not end; {told}.", err=True)
                elif recorder is not None:
                    tried("keeping what was found", None, recorder.handle, event)
                tried("writing the event stream", None, streams.handle, event)
                tried("showing the progress", None, heard.handle, event)
            assert isinstance(event, SweepFinished), "a sweep ends so, whatever happens"
            review = tried(
                "asking again about earlier findings", Review(), _review, event, known, recorder, tried
            )
            tried("writing the event stream", None, streams.handle, review)
            scripts: dict[str, Path] = {}
            if recorder is not None:
                folder = recorder.store.path.parent / "scripts"
                scripts = tried("writing the scripts", scripts, _scripts, event, folder)
        event = replace(event, own_faults=(*event.own_faults, *tried.faults))
        rest = [file for file in outputs.files if file.name != STREAM]
        shown = {"show_scripts": outputs.show_scripts, "verbose": outputs.verbose}
        failed = report(event, review, outputs.form, rest, scripts=scripts, **shown)
        event = replace(event, own_faults=(*event.own_faults, *failed))
        if recorder is not None:
            if tried.faults or failed:
                tried("keeping what was found", None, recorder.handle, event)
            recorder.store.review(recorder.run, review, complete=event.complete)
    ctx.exit(_exit_code(event, len(counted(event, review))))


def say_that_it_starts(targets: Sequence[str]) -> None:
    """The first line of a sweep, before anything heavy is imported: that may take a minute."""
    what = ", ".join(targets) or "all that is installed"
    click.echo(f"Starting: loading {what}. This may take a minute on a busy machine.", err=True)


def usual(families: Sequence[str]) -> tuple[int, Callable[[], Iterable[str]]]:
    """The usual number of examples of a sweep of these families, and its usual targets."""
    from gradfuzz.fuzzer.results.functions import FAMILY
    from gradfuzz.fuzzer.sweep import SweepConfig, plans
    from gradfuzz.libraries.library import CALLED
    from gradfuzz.oracles import registry

    if set(families) == {FAMILY}:
        return plans.CALLS_EACH, lambda: filter(registry.beside, CALLED)
    return SweepConfig(()).max_examples, registry.installed


def _recorder(stack: ExitStack, path: Path, config: SweepConfig, *, resume: bool) -> Recorder:
    from gradfuzz.fuzzer.store.runs import Store
    from gradfuzz.fuzzer.sweep.recorder import Recorder

    return Recorder(stack.enter_context(Store(path, write=True)), config, resume=resume)


def _review(finished: SweepFinished, known: Baseline, recorder: Recorder | None, tried: Attempts) -> Review:
    """The review of earlier findings. After Ctrl-C it leaves out what takes time."""
    from gradfuzz.fuzzer.sweep.reviewing import review

    store, run = (recorder.store, recorder.run) if recorder else (None, 0)
    try:
        tell = partial(click.echo, err=True)
        result = review(finished, known, store, run, tell=tell, failed=tried.keep)
    except KeyboardInterrupt:
        result = review(replace(finished, interrupted=True), known, store, run)
    if recorder is not None:
        later = "" if finished.complete else " The same command with --resume continues it."
        click.echo(f"This is run {recorder.run} of {recorder.store.path}.{later}", err=True)
    return result


def _scripts(finished: SweepFinished, folder: Path) -> dict[str, Path]:
    """Writes the findings' scripts; the paths by id."""
    from gradfuzz.reports.common import scripts

    with writing(folder, ": the scripts"):
        paths = scripts.write_scripts(finished.findings, folder)
    if paths:
        click.echo(f"Scripts that show the findings without gradfuzz are in {folder}.", err=True)
    return paths


def _exit_code(finished: SweepFinished, findings: int) -> int:
    from gradfuzz.fuzzer.results.functions import BROKEN

    if finished.interrupted:
        return INTERRUPTED
    if any(way.fault is not None for way in finished.summaries):
        return USAGE
    is_broken = any(function.outcome == BROKEN for function in finished.functions)
    if is_broken or finished.own_faults or any(finding.own_faults for finding in finished.findings):
        return OWN_FAULT
    if findings:
        return FINDINGS
    return CLEAN if finished.complete else INCOMPLETE
