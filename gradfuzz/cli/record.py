"""The command `gradfuzz record`."""

from __future__ import annotations

import importlib.util
import runpy
import sys
import traceback
from contextlib import ExitStack
from pathlib import Path

from gradfuzz.cli.options import PATH, names_option
from gradfuzz.cli.output import check_writable
from gradfuzz.cli.shell import INTERRUPTED, click
from gradfuzz.errors import UsageError


class _Record(click.Command):
    """What stands behind `-m MODULE` belongs to the module, as Python has it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        k = 0
        while k < len(args) and args[k].startswith("-") and args[k] not in ("-m", "--"):
            k += 2 if args[k] in ("--library", "--package", "-o", "--output") else 1
        if args[k : k + 1] == ["-m"] and args[k + 2 : k + 3] != ["--"]:
            args = [*args[: k + 2], "--", *args[k + 2 :]]
        return super().parse_args(ctx, args)


@click.command(
    cls=_Record,
    short_help="Record the calls that a script makes of a library or a package.",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.option("-m", "module", metavar="MODULE", help="Run a module, as python -m does: -m pytest.")
@names_option("--library", metavar="L,...", help="torch, jax, ...; all that are installed by default.")
@click.option(
    "--package", metavar="P", help="Record the calls of this package's functions and classes instead."
)
@click.option(
    "--pickle",
    "pickles",
    is_flag=True,
    help="Record functions that no name imports, too; `gradfuzz sweep` needs --trust for them.",
)
@click.option("-o", "--output", type=PATH, default=Path("calls.json"), metavar="FILE")
@click.argument("arguments", nargs=-1, metavar="[SCRIPT] [ARG]...")
def record(
    module: str | None,
    library: tuple[str, ...],
    package: str | None,
    pickles: bool,
    output: Path,
    arguments: tuple[str, ...],
) -> None:
    """Run SCRIPT with its ARGs, or a module, and write into FILE the calls that it makes of differentiable
    functions of Torch, JAX and autograd, or of the public functions of a package and the methods of its
    classes.

    `gradfuzz sweep torch --calls FILE` begins with them, and `gradfuzz sweep PACKAGE --calls FILE` plays them
    with other floats. The script runs as it does alone; its exit code is that of this command, and 2 where no
    call was recorded.
    """
    from gradfuzz.fuzzer.calling import recording
    from gradfuzz.libraries.detect import library_named
    from gradfuzz.libraries.library import CALLED
    from gradfuzz.oracles import registry
    from gradfuzz.oracles.catalogues import catalogue
    from gradfuzz.reports.common.numbers import count

    _check_program(module, arguments)
    if package is not None and library:
        raise UsageError("--library and --package cannot be given together; give one of them")
    check_writable(output, "--output")
    names = list(library) or [n for n in CALLED if registry.beside(n)]
    for name in names:
        if name not in CALLED:
            raise UsageError(f"--library {name!r} is not one of {', '.join(CALLED)}")
    code: int | str | None = 0
    sys.path.insert(0, "" if module is not None else str(Path(arguments[0]).parent))
    with ExitStack() as stack:
        found = []
        if package is not None:
            found.append(stack.enter_context(recording.recording_package(package, pickles=pickles)))
        for name in names if package is None else ():
            listed = (n for f in catalogue(name).functions if f.outcome == "differentiable" for n in f.names)
            found.append(stack.enter_context(recording.recording(library_named(name), listed)))
        code = _run(module, arguments)
    calls = [call for one in found for call in one.calls]
    functions = len({call.function for call in calls})
    skipped = sum(sum(one.skipped.values()) for one in found)
    if calls:
        recording.write(output, calls)
        told = f"Recorded {count(len(calls), 'call')} of {count(functions, 'function')} in {output}."
        click.echo(told, err=True)
    if skipped:
        click.echo(f"Left out {count(skipped, 'call')}:", err=True)
    for one in found:
        for reason, times in one.skipped.most_common(5):
            click.echo(f"  {count(times, 'time')} {reason}", err=True)
    if not calls:
        whose = package or ", ".join(names)
        raise UsageError(
            f"the program made no call of {whose} that can be recorded; {output} was not written"
        )
    sys.exit(code)


def _check_program(module: str | None, arguments: tuple[str, ...]) -> None:
    """Raises `UsageError` where there is nothing to run."""
    if module is None and not arguments:
        raise UsageError("record needs a script, or -m and a module, as in: gradfuzz record -m pytest tests")
    if module is None and not Path(arguments[0]).exists():
        raise UsageError(f"there is no script {arguments[0]!r}; a module is run by -m, as in -m pytest")
    if module is not None:
        try:
            known = importlib.util.find_spec(module) is not None
        except (ImportError, ValueError):
            known = False
        if (
            not known
            and not Path(*module.split(".")).with_suffix(".py").exists()
            and not Path(module).is_dir()
        ):
            raise UsageError(f"there is no module {module!r}")


def _run(module: str | None, arguments: tuple[str, ...]) -> int | str | None:
    """Runs a script or a module; its exit code."""
    before = sys.argv
    try:
        if module is not None:
            sys.argv = [module, *arguments]
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        else:
            sys.argv = list(arguments)
            runpy.run_path(arguments[0], run_name="__main__")
    except SystemExit as end:
        return end.code
    except KeyboardInterrupt:  # what was noted until then is kept
        return INTERRUPTED
    except Exception:  # noqa: BLE001 - the script's own, which ends it as Python would
        traceback.print_exc()
        return 1
    finally:
        sys.argv = before
    return 0
