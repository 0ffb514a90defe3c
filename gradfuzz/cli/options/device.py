"""`--device`: the device of JAX and Torch."""

from __future__ import annotations

import os

from gradfuzz.cli.shell import click


def _set(_ctx: click.Context, _param: click.Parameter, value: str | None) -> None:
    """Sets the device for this process and its children."""
    if value is not None:
        from gradfuzz.oracles.device import DEVICE

        os.environ[DEVICE] = value


ON_DEVICE = click.option(
    "--device",
    type=click.Choice(["cpu", "cuda"]),
    expose_value=False,
    callback=_set,
    help="Where JAX and Torch compute; truth stays on the CPU.  [default: cpu]",
)
