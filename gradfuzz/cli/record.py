"""The command `gradfuzz record`."""

from __future__ import annotations

import runpy
import sys
import traceback
from contextlib import ExitStack
from pathlib import Path

from gradfuzz.cli.options import PATH, names_option
from gradfuzz.cli.output import check_writable
from gradfuzz.cli.shell import click
from gradfuzz.errors import UsageError


@click.command(
    short_help="Note the library calls that a script makes.",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.option("-m", "module", metavar="MODULE", help="Run a module, as python -m does: -m pytest.")
@names_option("--library", metavar="L,...", help="torch, jax, ...; all that are installed by default.")
@click.option("-o", "--output", type=PATH, default=Path("calls.json"), metavar="FILE")
@click.argument("arguments", nargs=-1, metavar="[SCRIPT] [ARG]...")
def record(module: str | None, library: tuple[str, ...], output: Path, arguments: tuple[str, ...]) -> None:
    """Run SCRIPT with its ARGs, or a module, and write into FILE the calls that it makes of differentiable
    functions of Torch, JAX and autograd.

    `gradfuzz sweep torch --family functions --calls FILE` begins with them. The script runs as it does alone;
    its exit code is that of this command.
    """
    from gradfuzz.fuzzer.calling import recording
    from gradfuzz.libraries.detect import library_named
    from gradfuzz.libraries.library import CALLED
    from gradfuzz.oracles import registry
    from gradfuzz.oracles.catalogues import catalogue

    if module is None and not arguments:
        raise UsageError("record needs a script, or -m and a module, as in: gradfuzz record -m pytest tests")
    check_writable(output, "--output")
    names = list(library) or [n for n in CALLED if registry.beside(n)]
    for name in names:
        if name not in CALLED:
            raise UsageError(f"--library {name!r} is none of {', '.join(CALLED)}")
    code: int | str | None = 0
    with ExitStack() as stack:
        found = []
        for name in names:
            listed = (n for f in catalogue(name).functions if f.outcome == "differentiable" for n in f.names)
            found.append(stack.enter_context(recording.recording(library_named(name), listed)))
        code = _run(module, arguments)
    calls = [call for one in found for call in one.calls]
    recording.write(output, calls)
    functions = len({call.function for call in calls})
    skipped = sum(sum(one.skipped.values()) for one in found)
    told = f"{len(calls)} calls of {functions} functions are in {output}"
    click.echo(f"{told}; {skipped} calls were not noted.", err=True)
    for one in found:
        for reason, count in one.skipped.most_common(5):
            click.echo(f"  {count} times {reason}", err=True)
    sys.exit(code)


def _run(module: str | None, arguments: tuple[str, ...]) -> int | str | None:
    """Runs a script or a module; its exit code."""
    before = sys.argv
    try:
        if module is not None:
            sys.argv = [module, *arguments]
            sys.path.insert(0, "")
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        else:
            sys.argv = list(arguments)
            sys.path.insert(0, str(Path(arguments[0]).parent))
            runpy.run_path(arguments[0], run_name="__main__")
    except SystemExit as end:
        return end.code
    except Exception:  # noqa: BLE001 - the script's own, which ends it as Python would
        traceback.print_exc()
        return 1
    finally:
        sys.argv = before
    return 0
