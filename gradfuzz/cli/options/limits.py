"""`--target-memory` and other limits of a target's process."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeVar

from gradfuzz.cli.options.arguments import DURATION
from gradfuzz.cli.shell import click

C = TypeVar("C", bound=Callable[..., object])

_ABOVE_NOTHING = click.FloatRange(min=0, min_open=True)

_MEMORY = "The most memory of a target's process and its children.  [default: 8]"
_SECONDS = "The most time for an answer.  [default: 60s; 300s for names of `gradfuzz targets`]"
_OPTIONS = (
    ("--target-memory", _ABOVE_NOTHING, "GIB", _MEMORY),
    ("--target-seconds", DURATION, "TIME", _SECONDS),
    ("--target-start", DURATION, "TIME", "The most time until a target is ready.  [default: 120s]"),
    ("--target-restarts", click.IntRange(0), "N", "How often a target is restarted.  [default: 2000]"),
)


def _set(ctx: click.Context, param: click.Parameter, value: float | None) -> None:
    """Sets a limit for this process and its children while the command runs."""
    variable = f"GRADFUZZ_{param.name}".upper()
    before = os.environ.get(variable)
    if value is None:
        return
    os.environ[variable] = str(value)
    ctx.call_on_close(
        lambda: os.environ.pop(variable, None) if before is None else os.environ.update({variable: before})
    )


def LIMITS(command: C) -> C:  # noqa: N802 - it stands among the options, which are constants
    """Adds the limits to a command that asks targets."""
    for name, kind, metavar, words in reversed(_OPTIONS):
        option = click.option(name, type=kind, metavar=metavar, expose_value=False, callback=_set, help=words)
        command = option(command)
    return command
