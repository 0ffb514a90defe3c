"""The options that several commands have, and parsers for the values of flags."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from gradfuzz.cli.shell import click
from gradfuzz.errors import UsageError

C = TypeVar("C", bound=Callable[..., object])

PATH = click.Path(path_type=Path)
"""The type of a flag that names a file or folder."""


class Duration(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.4 on
    """A time above 0 as seconds: 90, "90s", "5m", "8h", "1d", "1h30m"."""

    name = "duration"

    _UNITS = (("d", 86400.0), ("h", 3600.0), ("m", 60.0), ("s", 1.0))

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = r"(\d+(?:\.\d*)?|\.\d+)"
        found = re.fullmatch("".join(f"(?:{number}{unit})?" for unit, _ in self._UNITS), str(value).strip())
        if found and any(found.groups()):
            parts = zip(found.groups(), self._UNITS, strict=True)
            seconds = sum(float(part) * size for part, (_, size) in parts if part)
        else:
            try:
                seconds = float(value)
            except ValueError:
                seconds = math.nan
        if not 0.0 < seconds < math.inf:
            self.fail(f"{value!r} is not a time above 0; write 90, 90s, 5m, 8h or 1h30m", param, ctx)
        return seconds


DURATION = Duration()


def names_in(text: str) -> tuple[str, ...]:
    """The parts of a comma-separated list. A command (cmd:python adapter.py) is one part, with its commas."""
    if text.startswith("cmd:"):
        return (text,)
    return tuple(part.strip() for part in text.split(",") if part.strip())


def names_option(*names: str, default: Sequence[str] = (), **settings: Any) -> Callable[[C], C]:
    """A flag that takes a comma-separated list, and may be repeated: its value is the tuple of all parts."""
    return click.option(*names, multiple=True, default=default or None, callback=_all_names, **settings)


def _all_names(_ctx: click.Context, _param: click.Parameter, value: Sequence[str] | None) -> tuple[str, ...]:
    return tuple(name for text in value or () for name in names_in(text))


def whole(text: str, flag: str) -> int:
    """An integer; a `UsageError` names the flag."""
    try:
        return int(text)
    except ValueError:
        raise UsageError(f"{flag} {text!r} is not a whole number") from None


def part_in(text: str) -> tuple[int, int] | None:
    """The part and the number of parts in "2/4"; None where there is no text."""
    if not text:
        return None
    part, sign, parts = text.partition("/")
    if not (sign and part.isdecimal() and parts.isdecimal()):
        raise UsageError(f"--shard {text!r} is not K/N; write 2/4 for the second of four parts")
    return int(part), int(parts)


SEED = click.option("--seed", type=int, default=0, help="The same seed draws the same programs.")
JOBS = click.option(
    "--jobs", type=int, metavar="N", help="The number of worker processes; gradfuzz chooses if not given."
)
SHOW_SCRIPTS = click.option("--show-scripts", is_flag=True, help="Print the script of each finding in full.")
VERBOSE = click.option(
    "--verbose",
    "-v",
    is_flag=True,
    help="Print each finding with its tables, each way into a system, and what was tested.",
)
REQUIREMENTS = click.option(
    "--with",
    "extra",
    multiple=True,
    metavar="REQUIREMENT",
    help="Install this, too ('numpy<2'). May be repeated.",
)

# The store --------------------------------------------------------------------------------------------------

STORE = click.option(
    "--store",
    type=PATH,
    default=Path(".gradfuzz") / "store.sqlite",
    metavar="PATH",
    help="Where findings are kept.",
)

BASELINE = click.option(
    "--baseline",
    "accepted",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("gradfuzz-baseline.json"),
    metavar="PATH",
    help="The file of the findings that are accepted for now.",
)


def installed(ctx: click.Context, store: Path, targets: Iterable[str] = ()) -> None:
    """Activates the environments beside `store`, and makes the missing ones of `targets`.

    `InstallError` where one cannot be made.
    """
    from gradfuzz.oracles.foreign import managed

    ctx.with_resource(managed.beside(store))
    for target in managed.missing(targets):
        managed.install(target, lambda words: click.echo(words, err=True))


# What targets may take, and where they compute --------------------------------------------------------------

_ABOVE_NOTHING = click.FloatRange(min=0, min_open=True)

_MEMORY = "The most memory of a target's process and its children.  [default: 8]"
_SECONDS = "The most time for an answer.  [default: 60s; 300s for names of `gradfuzz targets`]"
_LIMITS = (
    ("--target-memory", _ABOVE_NOTHING, "GIB", _MEMORY),
    ("--target-seconds", DURATION, "TIME", _SECONDS),
    ("--target-start", DURATION, "TIME", "The most time until a target is ready.  [default: 120s]"),
    ("--target-restarts", click.IntRange(0), "N", "How often a target is restarted.  [default: 2000]"),
)


def _set(ctx: click.Context, param: click.Parameter, value: object) -> None:
    """Sets the variable of a flag for this process and its children while the command runs."""
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
    for name, kind, metavar, words in reversed(_LIMITS):
        option = click.option(name, type=kind, metavar=metavar, expose_value=False, callback=_set, help=words)
        command = option(command)
    return command


ON_DEVICE = click.option(
    "--device",
    type=click.Choice(["cpu", "cuda"]),
    expose_value=False,
    callback=_set,
    help="Where JAX and Torch compute; the references stay on the CPU.  [default: cpu]",
)
