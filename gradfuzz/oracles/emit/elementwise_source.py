"""Elementwise functions in a library's dialect: the namespace runs the very text that a reproducer shows."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gradfuzz.programs.language.functions import FUNCTIONS, Function
from gradfuzz.programs.language.syntax import ParamValue

DEFAULTS = {"jax": "jnp.{name}", "torch": "torch.{name}"}
"""Where a library has the functions whose rows say nothing else."""


def write(library: str, op: str, texts: Sequence[str], params: Mapping[str, ParamValue]) -> str:
    """The call of a function; "" where the library has none."""
    row = FUNCTIONS[op]
    values = {**dict(zip(row.arguments, texts, strict=True)), **{name: str(v) for name, v in params.items()}}
    return row.called(library, values, DEFAULTS[library])


def function(library: str, row: Function, names: Mapping[str, Any]) -> Callable[..., Any] | None:
    """The function of a library's values, by what `names` are bound to; None where the library has none."""
    if row.names.get(library) == "":
        return None

    @functools.cache
    def made(params: tuple[tuple[str, ParamValue], ...]) -> Callable[..., Any]:
        text = f"lambda {', '.join(row.arguments)}: {write(library, row.name, row.arguments, dict(params))}"
        called: Callable[..., Any] = eval(text, dict(names))  # noqa: S307 - a text of the table
        return called

    if row.params:
        return lambda *args, **params: made(tuple(params.items()))(*args)
    return made(())
