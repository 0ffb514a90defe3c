"""gradfuzz finds wrong gradients in automatic differentiation systems, and proves them.

    >>> import gradfuzz
    >>> program = gradfuzz.loop_program("acc*x", trips=3)
    >>> print(program)

Importing it costs nothing: each name, and each room (`gradfuzz.programs`, `gradfuzz.engine`, `gradfuzz.strategies`,
`gradfuzz.oracles`, `gradfuzz.fuzzer`, `gradfuzz.reports`), is loaded when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gradfuzz import engine, errors, fuzzer, oracles, programs, reports, strategies
    from gradfuzz.errors import GradfuzzError
    from gradfuzz.programs import Program, loop_program, parse, to_text

__all__ = [
    "GradfuzzError",
    "Program",
    "engine",
    "errors",
    "fuzzer",
    "loop_program",
    "oracles",
    "parse",
    "programs",
    "reports",
    "strategies",
    "to_text",
]

__version__ = "0.1.0"

_HOMES = {
    "GradfuzzError": "gradfuzz.errors",
    "Program": "gradfuzz.programs",
    "loop_program": "gradfuzz.programs",
    "parse": "gradfuzz.programs",
    "to_text": "gradfuzz.programs",
}
"""Where the names that are not rooms live."""


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name in __all__:
        return importlib.import_module(f"gradfuzz.{name}")
    raise AttributeError(f"module 'gradfuzz' has no attribute {name!r}; it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
