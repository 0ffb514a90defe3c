"""gradfuzz finds wrong gradients in automatic differentiation systems, and proves them.

    >>> import gradfuzz
    >>> program = gradfuzz.loop_program("acc*x", trips=3)
    >>> print(program)

Importing it costs nothing. Each name and each package (`gradfuzz.programs`, `gradfuzz.engine`,
`gradfuzz.strategies`, `gradfuzz.oracles`, `gradfuzz.fuzzer`, `gradfuzz.reports`, `gradfuzz.testing`) is
loaded when it is first used.

PYTEST_DONT_REWRITE: `gradfuzz record -m pytest` imports it before pytest does, which is no fault.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from gradfuzz.version import __version__ as __version__

if TYPE_CHECKING:
    from gradfuzz import engine, errors, fuzzer, oracles, programs, reports, strategies, testing
    from gradfuzz.errors import GradfuzzError
    from gradfuzz.programs import Program, loop_program, parse, to_text
    from gradfuzz.testing import (
        GradientMismatch,
        check_gradient,
        check_program,
        measure_gradient,
        prove_gradient,
        reference,
    )

__all__ = [
    "GradfuzzError",
    "GradientMismatch",
    "Program",
    "check_gradient",
    "check_program",
    "engine",
    "errors",
    "fuzzer",
    "loop_program",
    "measure_gradient",
    "oracles",
    "parse",
    "programs",
    "prove_gradient",
    "reference",
    "reports",
    "strategies",
    "testing",
    "to_text",
]

_HOMES = {
    "GradfuzzError": "gradfuzz.errors",
    "GradientMismatch": "gradfuzz.testing",
    "Program": "gradfuzz.programs",
    "check_gradient": "gradfuzz.testing",
    "check_program": "gradfuzz.testing",
    "loop_program": "gradfuzz.programs",
    "measure_gradient": "gradfuzz.testing",
    "parse": "gradfuzz.programs",
    "prove_gradient": "gradfuzz.testing",
    "reference": "gradfuzz.testing",
    "to_text": "gradfuzz.programs",
}
"""Where the names that are not packages live."""


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name in __all__:
        return importlib.import_module(f"gradfuzz.{name}")
    raise AttributeError(f"module 'gradfuzz' has no attribute {name!r}; it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
