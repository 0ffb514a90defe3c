"""A check of vectorized functions: each instance must get the same result as alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradfuzz.engine.api.differentiate import value_and_grad
from gradfuzz.engine.api.tracing import type_of
from gradfuzz.engine.api.vectorize import Vectorized, align, union, vectorize
from gradfuzz.engine.rules.value import Operand
from gradfuzz.errors import UsageError
from gradfuzz.programs.language.precision import format_of


def check_vectorized(f: Callable[..., Any], *args: Operand, units: float = 256.0) -> None:
    """Asserts that value and gradient of `f` on vectorized `args` equal those of each instance alone.

    `f` returns one float scalar per instance. An array is vectorized along its first axis; a number is the
    same for all instances. Non-finite entries must be equal; finite ones may differ by `units` roundings of
    the largest entry of that instance's gradient, because NumPy's loops over many entries round differently.
    Raises an `AssertionError` that names the worst entry.
    """
    whole = [a if isinstance(a, Vectorized) or not np.shape(a) else vectorize(a, "batch") for a in args]
    sizes = union(whole)
    if not sizes:
        raise UsageError("check_vectorized needs an argument that is vectorized, or an array")
    places = [k for k, a in enumerate(whole) if type_of(a).is_inexact]
    together = _flat(value_and_grad(f, places)(*whole))
    stacked = [np.asarray(align(part, sizes)) for part in together]
    columns = [align(a, sizes) if isinstance(a, Vectorized) else a for a in whole]
    worst, message = 1.0, ""
    for instance in np.ndindex(*sizes.values()):
        row = [c[instance] if isinstance(a, Vectorized) else c for a, c in zip(whole, columns, strict=True)]
        alone = _flat(value_and_grad(f, places)(*row))
        for k, (all_of_them, expected) in enumerate(zip(stacked, alone, strict=True)):
            what = "the value" if k == 0 else f"the gradient with respect to argument {places[k - 1]}"
            got = all_of_them[instance]
            if np.shape(got) != np.shape(expected):
                shapes = f"{np.shape(got)} per instance, alone {np.shape(expected)}"
                raise AssertionError(f"{what} has shape {shapes}")
            excess, entry = _worst(np.asarray(got), np.asarray(expected), units)
            if excess > worst:
                where = ", ".join(f"{name}={i}" for name, i in zip(sizes, instance, strict=True))
                at = f", entry {entry}" if entry else ""
                worst = excess
                message = (
                    f"{what} of instance {where}{at} is {np.asarray(got)[entry]!r} vectorized,"
                    f" {np.asarray(expected)[entry]!r} alone"
                )
    if message:
        raise AssertionError(message)


def _flat(result: tuple[Any, tuple[Any, ...]]) -> list[Any]:
    return [result[0], *result[1]]


def _worst(got: Any, expected: Any, units: float) -> tuple[float, tuple[int, ...]]:
    """The largest error over the allowed one, and where it is."""
    if not expected.size:
        return 0.0, ()
    finite = np.isfinite(expected)
    scale = np.max(np.abs(expected[finite]), initial=0.0)
    allowed = max(units * format_of(got.real.dtype).eps * scale, format_of(got.real.dtype).normal)
    same = np.where(finite, False, (got == expected) | (np.isnan(got) & np.isnan(expected)))
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.abs(got - expected) / allowed
    ratio = np.where(same, 0.0, np.where(finite & np.isfinite(got), error, np.inf))
    place = np.unravel_index(np.argmax(ratio), ratio.shape)
    return float(ratio[place]), tuple(int(k) for k in place)
