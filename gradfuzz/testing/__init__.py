"""Assertions for other people's test suites: is this gradient right?

    check_gradient(f, *args)     raises GradientMismatch where f's derivative is wrong at these arguments
    measure_gradient(f, *args)   the same as a result that says all there is to say; never raises for what f
                                 does
    prove_gradient(f, *args)     whether the rules that the library would run are right, without a tolerance
    check_program(program, t)    the same as check_gradient for a program and a target
    reference(truth)             says what a function computes exactly, where nothing can work it out

    check         what people call; `attached` has exact references, `mismatch` the error and what it says
    frameworks    whose function it is, and how its derivatives are asked for
    measuring     the function asked and judged
    proving       the rules of the library, evaluated in balls
    leading       leads a test of Hypothesis's to the worst error, and keeps the time out of its deadline
    asserting     keeps the frames of an assertion out of a test's report
    starter       the test that `gradfuzz write` begins with

Everything is loaded when it is first used; JAX and Torch only where a function is one of theirs.
"""

from __future__ import annotations

import importlib as _importlib
import typing as _typing

if _typing.TYPE_CHECKING:
    from gradfuzz.testing.attached import reference
    from gradfuzz.testing.check import check_gradient, check_program, measure_gradient
    from gradfuzz.testing.measuring.measured import InconclusiveError, InconclusiveWarning, Measured
    from gradfuzz.testing.mismatch import GradientMismatch
    from gradfuzz.testing.proving.gradient import prove_gradient

__all__ = [
    "GradientMismatch",
    "InconclusiveError",
    "InconclusiveWarning",
    "Measured",
    "check_gradient",
    "check_program",
    "measure_gradient",
    "prove_gradient",
    "reference",
]

_LATER = {
    "GradientMismatch": "mismatch",
    "InconclusiveError": "measuring.measured",
    "InconclusiveWarning": "measuring.measured",
    "Measured": "measuring.measured",
    "check_gradient": "check",
    "check_program": "check",
    "measure_gradient": "check",
    "prove_gradient": "proving.gradient",
    "reference": "attached",
}
"""The modules of the names that are loaded at first use."""


def __getattr__(name: str) -> _typing.Any:
    if name not in _LATER:
        raise AttributeError(
            f"module 'gradfuzz.testing' has no attribute {name!r}; it has {', '.join(__all__)}"
        )
    value = getattr(_importlib.import_module(f"gradfuzz.testing.{_LATER[name]}"), name)
    globals()[name] = value
    return value
