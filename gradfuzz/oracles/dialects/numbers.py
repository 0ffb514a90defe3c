"""Numbers and tables in scripts without Python: they lack mpmath, so they show expected values as numbers."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Sequence

import numpy as np

from gradfuzz.oracles.base import Array
from gradfuzz.oracles.dialects.reproducer_input import ReproducerInput
from gradfuzz.oracles.emit.script_verdict import allowed_errors, compared
from gradfuzz.programs.language.program import to_text
from gradfuzz.programs.language.types import Type

Entry = tuple[str, str, list[float], list[float]]
"""Name, the input as text, and per entry the expected value and the largest error."""


def decimal(value: float) -> str:
    """A finite float as Elixir, Swift and JavaScript read it: with a point, the exponent without padding."""
    digits, e, exponent = repr(float(value)).partition("e")
    digits = digits if "." in digits else f"{digits}.0"
    return digits + (f"e{int(exponent)}" if e else "")


def flat(array: Array) -> list[float]:
    """The entries, row by row."""
    return [float(v) for v in np.asarray(array, float).ravel().tolist()]


def entries(shown: ReproducerInput, scale: float = 1.0) -> list[Entry]:
    """A row for each array that is compared. Errors are multiplied by `scale`."""
    errors = allowed_errors(shown.question, shown.expected, shown.allowed)
    rows: list[Entry] = []
    for name in compared(shown.question):
        expected = np.asarray(shown.expected[name], float)
        most = np.full(expected.shape, errors) if isinstance(errors, float) else errors[name]
        at = str(np.asarray(shown.inputs[name]).tolist()) if name in shown.inputs else ""
        rows.append((name, at, flat(expected), [scale * e for e in flat(most)]))
    return rows


def unshown(shown: ReproducerInput) -> str | None:
    """Why a table of numbers cannot be written: a non-finite entry, or an empty array."""
    names = compared(shown.question)
    if any(name not in shown.expected for name in names):
        return "the truth has no numbers at this point"
    numbers = [v for _, _, expected, most in entries(shown) for v in (*expected, *most)]
    arrays = [*shown.inputs.values(), *(w for w in shown.question.weights if w is not None)]
    numbers += [v for array in arrays for v in flat(array)]
    if not all(math.isfinite(v) for v in numbers):
        return "infinities and NaN are not written as numbers there"
    return "an input has no entries" if any(np.size(array) == 0 for array in arrays) else None


def header(shown: ReproducerInput, mark: str, title: str, told: str, needs: str) -> str:
    """The comment on top, whose lines start with `mark`: the program, the source of the expected numbers, and
    how to run the script.
    """
    names = {"arb": "ball arithmetic (python-flint)", "mpmath": "central differences in many digits (mpmath)"}
    sources = " and ".join(names.get(name, name) for name in shown.references) or "the references of gradfuzz"
    bounds = [abs(float(b)) for array in shown.bound.values() for b in np.ravel(array) if math.isfinite(b)]
    proved = f", with an error of at most {max(bounds):.1g}" if max(bounds, default=0.0) > 0.0 else ""
    sentences = [
        f"Expected is what {sources} computed{proved}. Allowed is the largest error that rounding explains.",
        told,
        f"Prints expected and got, and exits with 1 while they differ, otherwise with 0. Needs {needs}.",
    ]
    program = [f"    {line}".rstrip() for line in to_text(shown.question.program).rstrip().splitlines()]
    lines = [title, "", *program, "", *(line for s in sentences if s for line in textwrap.wrap(s, 110))]
    return "".join(f"{mark} {line}".rstrip() + "\n" for line in lines)


def listed(values: Sequence[float], number: Callable[[float], str] = decimal) -> str:
    return f"[{', '.join(map(number, values))}]"


def plain_number(array: Array, of: Type) -> str:
    """An int, a bool or a float without axes."""
    value = np.asarray(array).item()
    return decimal(value) if of.is_float else str(value).lower()
