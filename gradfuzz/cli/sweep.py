"""The command `gradfuzz sweep`."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradfuzz.cli.options import completion
from gradfuzz.cli.options.arguments import DURATION, JOBS, SEED, SHOW_SCRIPTS, names_option, whole
from gradfuzz.cli.options.device import ON_DEVICE
from gradfuzz.cli.options.limits import LIMITS
from gradfuzz.cli.options.storage import BASELINE, STORE, installed
from gradfuzz.cli.output import console
from gradfuzz.cli.reporting import REPORTS, STDOUT, Streams, outputs, report
from gradfuzz.cli.shell import CLEAN, FINDINGS, INCOMPLETE, INTERRUPTED, USAGE, click
from gradfuzz.errors import StoreError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from gradfuzz.fuzzer.results.events import Event, SweepFinished
    from gradfuzz.fuzzer.results.review import Baseline, Review
    from gradfuzz.fuzzer.sweep.recorder import Recorder
    from gradfuzz.fuzzer.sweep.run import SweepConfig


@click.command(short_help="Draw programs and judge what targets say.")
@click.argument("targets", nargs=-1, metavar="[TARGET]...", shell_complete=completion.TARGETS)
@names_option(
    "--family",
    default=["loops"],
    metavar="F,...",
    shell_complete=completion.FAMILIES,
    help="Kinds of programs.",
)
@names_option(
    "--checks",
    default=["value", "vjp", "jvp", "twins"],
    metavar="C,...",
    help="What is asked; twins alone ask references only where two answers differ.",
)
@names_option("--dtypes", default=["float64", "float32"], metavar="D,...", help="Working precisions.")
@names_option("--orders", default=["1", "2", "3"], metavar="N,...", help="Orders of derivatives.")
@click.option(
    "--max-examples",
    type=int,
    metavar="N",
    help="Programs per target and family (96), or calls of each function of a library (6).",
)
@click.option(
    "--max-time", type=DURATION, metavar="TIME", help="End, with a report, after this time: 90, 90s, 5m, 8h."
)
@click.option(
    "--calls",
    default="",
    show_default=False,
    metavar="FILE",
    help="Calls that `gradfuzz record` wrote, to begin with.",
)
@click.option("--no-shrink", is_flag=True, help="Show the programs and calls of findings as they were drawn.")
@SEED
@JOBS
@ON_DEVICE
@LIMITS
@REPORTS
@SHOW_SCRIPTS
@STORE
@click.option("--no-store", is_flag=True, help="Keep nothing: no findings, no scripts, nothing to resume.")
@click.option("--resume", is_flag=True, help="Continue the last unfinished sweep with these settings.")
@BASELINE
@STDOUT
@click.pass_context
def sweep(
    ctx: click.Context,
    /,
    targets: tuple[str, ...],
    reports: tuple[str, ...],
    form: str,
    show_scripts: bool,
    store: Path,
    no_store: bool,
    resume: bool,
    accepted: Path,
    **flags: Any,
) -> None:
    """Draw programs and judge the answers of each TARGET; all installed targets if none is named.

    A TARGET may name a release, as in warp==1.19.0: it gets an environment of its own, made before the sweep
    begins. Findings are kept in .gradfuzz, for `gradfuzz show`, `replay`, `diff` and `report`. Exit code 1
    with findings that the baseline does not accept, 2 if a target raises in every program, 3 if a time limit
    or a full disk left it incomplete, 130 after Ctrl-C, which keeps the findings so far.
    """
    from gradfuzz.fuzzer.results.events import SweepFinished, SweepStarted
    from gradfuzz.fuzzer.store import baseline
    from gradfuzz.fuzzer.sweep.reviewing import counted
    from gradfuzz.fuzzer.sweep.run import SweepConfig
    from gradfuzz.reports.formats import STREAM
    from gradfuzz.reports.terminal.live import listener

    if resume and no_store:
        raise UsageError("--resume needs the store, which --no-store leaves out; give one of them")
    files = outputs(reports)
    installed(ctx, store, targets)
    known = baseline.read(accepted)
    families = _each(flags["family"])
    run, most, usual = _kind_of_sweep(families)
    config = SweepConfig(
        targets=targets or tuple(usual()),
        families=families,
        seed=flags["seed"],
        max_examples=most if flags["max_examples"] is None else flags["max_examples"],
        max_time=flags["max_time"],
        precisions=_each(flags["dtypes"]),  # type: ignore[arg-type]  # the sweep says which there are
        orders=tuple(whole(part, "--orders") for part in _each(flags["orders"])),
        checks=_each(flags["checks"]),
        jobs=flags["jobs"],
        calls=flags["calls"],
        shrink=not flags["no_shrink"],
    )
    with ExitStack() as stack:
        recorder = None if no_store else _recorder(stack, store, config, resume=resume)
        streams = stack.enter_context(Streams(file for file in files if file.name == STREAM))
        with listener(console(sys.stderr)) as heard:
            for event in run(config, recorder):
                if recorder is not None:
                    recorder.handle(event)
                    if isinstance(event, SweepStarted) and (run_before := recorder.unfinished):
                        told = f"--resume continues run {run_before}"
                        click.echo(f"An earlier sweep with these settings did not end; {told}.", err=True)
                streams.handle(event)
                heard.handle(event)
        assert isinstance(event, SweepFinished), "a sweep ends so, whatever happens"
        review = _review(event, known, recorder)
        streams.handle(review)
        scripts = {} if recorder is None else _scripts(event, recorder.store.path.parent / "scripts")
        rest = [file for file in files if file.name != STREAM]
        report(event, review, form, rest, scripts=scripts, show_scripts=show_scripts)
        if recorder is not None:
            recorder.store.review(recorder.run, review, complete=event.complete)
    ctx.exit(_exit_code(event, len(counted(event, review))))


def _each(names: Iterable[str]) -> tuple[str, ...]:
    """Each name once."""
    return tuple(dict.fromkeys(names))


def _kind_of_sweep(
    families: Sequence[str],
) -> tuple[Callable[..., Iterator[Event]], int, Callable[[], Iterable[str]]]:
    """The sweep of programs, or of the functions of libraries; its usual number of examples, and its usual
    targets.
    """
    from gradfuzz.oracles import registry

    if "functions" in families:
        from gradfuzz.calls.libraries.library import LIBRARIES
        from gradfuzz.calls.sweep import run as of_functions

        return of_functions.sweep, of_functions.CALLS_EACH, lambda: filter(registry.beside, LIBRARIES)
    from gradfuzz.fuzzer.sweep import run as of_programs

    return of_programs.sweep, of_programs.SweepConfig(()).max_examples, registry.installed


def _recorder(stack: ExitStack, path: Path, config: SweepConfig, *, resume: bool) -> Recorder:
    from gradfuzz.fuzzer.store.runs import Store
    from gradfuzz.fuzzer.sweep.recorder import Recorder

    return Recorder(stack.enter_context(Store(path, write=True)), config, resume=resume)


def _review(finished: SweepFinished, known: Baseline, recorder: Recorder | None) -> Review:
    """The review of earlier findings. After Ctrl-C it leaves out what takes time."""
    from gradfuzz.fuzzer.sweep.reviewing import review

    store, run = (recorder.store, recorder.run) if recorder else (None, 0)
    try:
        result = review(finished, known, store, run, tell=lambda words: click.echo(words, err=True))
    except KeyboardInterrupt:
        result = review(replace(finished, interrupted=True), known, store, run)
    if recorder is not None:
        later = "" if finished.complete else " The same command with --resume continues it."
        click.echo(f"This is run {recorder.run} of {recorder.store.path}.{later}", err=True)
    return result


def _scripts(finished: SweepFinished, folder: Path) -> dict[str, Path]:
    """Writes the findings' scripts; the paths by id."""
    from gradfuzz.reports.common import scripts

    try:
        paths = scripts.write_scripts(finished.findings, folder)
    except OSError as error:
        raise StoreError(f"{folder}: the scripts cannot be written: {error.strerror or error}") from error
    if paths:
        click.echo(f"Scripts that show the findings without gradfuzz are in {folder}.", err=True)
    return paths


def _exit_code(finished: SweepFinished, findings: int) -> int:
    if finished.interrupted:
        return INTERRUPTED
    if any(way.fault is not None for way in finished.summaries):
        return USAGE
    if findings:
        return FINDINGS
    return CLEAN if finished.complete else INCOMPLETE
