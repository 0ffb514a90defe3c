"""The configured click, the group of all commands, and the exit codes."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from gradfuzz.errors import GradfuzzError, StoreError

if TYPE_CHECKING or not sys.stdout.isatty():
    import click as click  # plain help without colours: click starts in half the time
    from click import Group as Group
else:
    import rich_click as click
    from rich_click import RichGroup as Group


CLEAN, FINDINGS, USAGE, INCOMPLETE, OWN_FAULT, INTERRUPTED = 0, 1, 2, 3, 4, 130

_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO)
"""Errors of the disk, which are the user's to fix; other system errors are bugs of gradfuzz."""


SETTINGS = "pyproject.toml"
"""The file of settings, in the current directory."""


class CommandFailure(click.ClickException):
    """An error of gradfuzz, printed as one paragraph."""

    exit_code = USAGE


class Unwritten(CommandFailure):
    """Output could not be written: the work is not complete."""

    exit_code = INCOMPLETE


class Commands(Group):
    """The group of all commands: adds the environment variables of flags, maps errors to exit codes."""

    def add_command(self, cmd: click.Command, name: str | None = None, **settings: Any) -> None:
        super().add_command(cmd, name, **settings)
        for key, option in flags_of(cmd).items():
            flag = key.replace("-", "_")
            option.envvar = [f"GRADFUZZ_{cmd.name}_{flag}".upper(), f"GRADFUZZ_{flag}".upper()]

    def invoke(self, ctx: click.Context) -> Any:
        try:
            try:
                return super().invoke(ctx)
            finally:
                _flush()
        except click.BadParameter as error:
            raise _with_source(error) from None
        except GradfuzzError as error:
            failure = Unwritten if isinstance(error, StoreError) else CommandFailure
            raise failure(" ".join(str(error).split())) from error
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise
            if error.errno not in _DISK:
                _end_by(error, ctx)
            what = f"{error.filename}: " if error.filename else "output cannot be written: "
            raise Unwritten(f"{what}{error.strerror}") from error
        except KeyboardInterrupt:
            click.echo("Interrupted.", err=True)
            ctx.exit(INTERRUPTED)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:  # noqa: BLE001 - whatever nobody raised on purpose
            _end_by(error, ctx)


def _end_by(error: Exception, ctx: click.Context) -> NoReturn:
    """Ends the command by an exception that nobody raised on purpose."""
    say_fault("gradfuzz itself failed", "".join(traceback.format_exception(error)))
    ctx.exit(OWN_FAULT)


def say_fault(what: str, trace: str) -> None:
    """Says on stderr that gradfuzz itself failed."""
    click.echo(f"{trace.rstrip()}\n{what}. Please report it to gradfuzz, with the lines above.", err=True)


def _with_source(error: click.BadParameter) -> click.BadParameter:
    """The error with the place that the value comes from, if that is not the command line."""
    name = error.param.name if error.param is not None else None
    if error.ctx is None or name is None:
        return error
    match error.ctx.get_parameter_source(name):
        case click.core.ParameterSource.DEFAULT_MAP:
            place = f"set by [tool.gradfuzz] in {SETTINGS}"
        case click.core.ParameterSource.ENVIRONMENT:
            place = "set by an environment variable, GRADFUZZ_..."
        case _:
            return error
    return click.BadParameter(f"{error.message} ({place})", error.ctx, error.param, error.param_hint)


def _flush() -> None:
    """Flushes stdout now, so that the command reports a failure, not the exiting interpreter."""
    try:
        sys.stdout.flush()
    except OSError:
        # The null device takes the rest of the buffer.
        with contextlib.suppress(OSError), Path(os.devnull).open("w") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
        raise


def flags_of(command: click.Command) -> dict[str, click.Option]:
    """The options of a command by their keys: "max-examples" for --max-examples."""
    return {p.opts[0].removeprefix("--"): p for p in command.params if isinstance(p, click.Option)}
