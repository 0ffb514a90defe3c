"""Assertions for other people's test suites: is this gradient right?

    check_gradient(f, *args)     raises GradientMismatch where f's derivative is wrong at these arguments
    measure_gradient(f, *args)   the same as a result that says all there is to say; never raises for what f
                                 does
    prove_gradient(f, *args)     whether the rules that the library would run are right, without a tolerance
    check_program(program, t)    the same as check_gradient for a program and a target
    reference(truth)             says what a function computes exactly, where nothing can work it out

    check         what people call; `mismatch` is the error and what it says
    leading       leads a test of Hypothesis's to the worst error, and keeps the time out of its deadline
    asserting     keeps the frames of an assertion out of a test's report
    starter       the test that `gradfuzz write` begins with

The function is asked and judged by `fuzzer.measuring`, its library's rules by `fuzzer.proving`. Everything is
loaded when it is first used; JAX and Torch only where a function is one of theirs.
"""

from __future__ import annotations

import importlib as _importlib
import typing as _typing

if _typing.TYPE_CHECKING:
    from gradfuzz.fuzzer.measuring.attached import reference
    from gradfuzz.fuzzer.measuring.measured import InconclusiveError, InconclusiveWarning, Measured
    from gradfuzz.fuzzer.proving.gradient import prove_gradient
    from gradfuzz.testing.check import check_gradient, check_program, measure_gradient
    from gradfuzz.testing.mismatch import GradientMismatch

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
    "GradientMismatch": "testing.mismatch",
    "InconclusiveError": "fuzzer.measuring.measured",
    "InconclusiveWarning": "fuzzer.measuring.measured",
    "Measured": "fuzzer.measuring.measured",
    "check_gradient": "testing.check",
    "check_program": "testing.check",
    "measure_gradient": "testing.check",
    "prove_gradient": "fuzzer.proving.gradient",
    "reference": "fuzzer.measuring.attached",
}
"""The modules of the names that are loaded at first use."""


def __getattr__(name: str) -> _typing.Any:
    if name not in _LATER:
        raise AttributeError(
            f"module 'gradfuzz.testing' has no attribute {name!r}; it has {', '.join(__all__)}"
        )
    value = getattr(_importlib.import_module(f"gradfuzz.{_LATER[name]}"), name)
    globals()[name] = value
    return value
