"""Resource limits of targets' processes, from environment variables, which worker processes share."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from typing import Any

from gradfuzz.errors import UsageError
from gradfuzz.oracles.foreign.process import ResourceLimits

VARIABLES: dict[str, tuple[str, int]] = {
    "GRADFUZZ_TARGET_MEMORY": ("memory", 1 << 30),
    "GRADFUZZ_TARGET_SECONDS": ("request", 1),
    "GRADFUZZ_TARGET_START": ("start", 1),
    "GRADFUZZ_TARGET_RESTARTS": ("restarts", 1),
}
"""Variable -> the limit and its unit: GiB, seconds, processes. Flags of commands have the same names."""

_RENEWED = 3, 8
"""A process is replaced between two questions at this share of its memory limit, or earlier."""


def limits(otherwise: ResourceLimits | None = None) -> ResourceLimits | None:
    """`otherwise` with the variables' limits; None without any. `UsageError` for an invalid limit."""
    said: dict[str, Any] = {
        field: _limit(variable, field, unit)
        for variable, (field, unit) in VARIABLES.items()
        if os.environ.get(variable)
    }
    if not said:
        return otherwise
    changed = replace(otherwise or ResourceLimits(), **said)
    few, parts = _RENEWED
    return replace(changed, renewed=min(changed.renewed, changed.memory * few // parts))


def _limit(variable: str, field: str, unit: int) -> int | float:
    text = os.environ[variable]
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if field == "restarts":
        if value >= 0 and value.is_integer():
            return int(value)
        raise UsageError(f"{variable} is {text!r}; it takes a whole number of processes")
    if not 0 < value < math.inf:
        raise UsageError(
            f"{variable} is {text!r}; it takes a number above 0 of"
            f" {'GiB' if field == 'memory' else 'seconds'}"
        )
    return int(value * unit) if field == "memory" else value


def flags() -> list[str]:
    """The flags that correspond to the variables."""
    said = {_flag(variable): os.environ[variable] for variable in VARIABLES if os.environ.get(variable)}
    return [part for pair in said.items() for part in pair]


def _flag(variable: str) -> str:
    return f"--{variable.removeprefix('GRADFUZZ_').lower().replace('_', '-')}"
