"""The steps of a function that have a derivative rule each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gradfuzz.tracing.common.graph import Array


@dataclass(frozen=True, slots=True, eq=False)
class Unit:
    """A primitive of JAX, a function of Torch, or one with a custom rule, as it was called.

    `call` takes the framework's arrays, those of floats among its arguments, which were `arrays`. `rule` says
    where its derivative is written: a file and a line, or a row of a table; empty where that is not known.
    """

    name: str
    rule: str
    call: Callable[..., Any]
    arrays: tuple[Array, ...]
