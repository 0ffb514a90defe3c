"""The record of a library's function, and how a catalogue of them is written down.

A catalogue lists every public function of a library and what becomes of it. Its script runs where the
library is installed: `PYTHON SCRIPT FILE` writes the functions into FILE as JSON. As the adapters it needs
Python 3.8 or newer and nothing else.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

DIFFERENTIABLE = "differentiable"
NOT_DIFFERENTIABLE = "not differentiable"
LEFT_OUT = "left out"

OUTCOMES = (DIFFERENTIABLE, NOT_DIFFERENTIABLE, LEFT_OUT)
"""What becomes of a function. By the library's own documents it is differentiable or not; it is left out for
a reason that a person wrote.
"""

A_CLASS = "a class or type, not a function"


@dataclass(frozen=True)
class Function:
    """A row of a catalogue."""

    names: tuple[str, ...]
    """Its public names, as a program writes them; none where only the library itself calls it."""
    signature: str
    """Its schema or signature, in the library's own notation."""
    outcome: str
    """One of `OUTCOMES`."""
    why: str
    """The document that says so, or the reason that a person wrote."""


@dataclass(frozen=True)
class Public:
    """A public object that can be called, with every name under which it stands."""

    names: tuple[str, ...]
    value: Any


def public(namespaces: Mapping[str, object]) -> list[Public]:
    """What can be called in the namespaces (dotted name -> module or class), each object once.

    Names that begin with an underscore are not public.
    """
    names: dict[int, list[str]] = {}
    values: dict[int, Any] = {}
    for space, owner in namespaces.items():
        for attribute in dir(owner):
            value = None if attribute.startswith("_") else getattr(owner, attribute, None)
            if callable(value):
                names.setdefault(id(value), []).append(f"{space}.{attribute}")
                values[id(value)] = value
    return [Public(tuple(names[key]), value) for key, value in values.items()]


def written(reasons: Mapping[str, str], names: Iterable[str]) -> str | None:
    """The reason whose patterns (reason -> patterns with spaces between) fit one of the names, or None."""
    named = list(names)
    for reason, patterns in reasons.items():
        for pattern in patterns.split():
            if any(fnmatchcase(name, pattern) for name in named):
                return reason
    return None


def signature(name: str, value: Any) -> str:
    """The name and signature of a function: Python's, or the first line of the docstring where it has one."""
    last = name.rpartition(".")[2]
    try:
        return f"{last}{inspect.signature(value)}"
    except (TypeError, ValueError):
        first = (inspect.getdoc(value) or "").strip().partition("\n")[0]
        return first if first.startswith(f"{last}(") else f"{last}(...)"


def write(file: str, functions: Iterable[Function]) -> None:
    """Writes the functions of a library into `file`."""
    rows = [asdict(function) for function in functions]
    Path(file).write_text(json.dumps(rows), encoding="utf-8")


def read(file: Path) -> list[Function]:
    """The functions that `write` wrote. Another file raises OSError, ValueError, KeyError or TypeError."""
    rows = json.loads(file.read_text(encoding="utf-8"))
    return [Function(tuple(row["names"]), row["signature"], row["outcome"], row["why"]) for row in rows]
