"""Calls that a library's own documents leave undefined, and answers that are a matter of convention.

A row says which calls it is about, why nothing is wrong with them, and where that is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

import numpy as np

from gradfuzz.fuzzer.results.call import Argument, Call
from gradfuzz.fuzzer.results.finding import CheckResult, Class, Verdict


@dataclass(frozen=True, slots=True)
class Row:
    """A convention."""

    name: str
    why: str
    functions: tuple[str, ...]
    """Patterns of the public names that it is about."""
    fits: Callable[[Call, CheckResult], bool]
    source: str
    """Where it is documented."""


def excused(call: Call, case: CheckResult) -> CheckResult:
    """The case, or a convention where a row explains that its numbers are off."""
    if case.verdict is not Verdict.DISAGREE:
        return case
    for row in CONVENTIONS:
        about = any(fnmatchcase(call.function, pattern) for pattern in row.functions)
        if about and row.fits(call, case):
            message = f"{row.why}: {row.source}"
            return replace(case, verdict=Verdict.CONVENTION, kind=None, message=message, conventions=())
    return case


def _has_repeated_index(call: Call, case: CheckResult) -> bool:
    """Whether an array of integers has an entry twice."""
    return any(np.unique(seen).size < seen.size for seen in _integers(call))


def _integers(call: Call) -> Iterator[np.ndarray[tuple[int, ...], np.dtype[np.int64]]]:
    for argument in call.arrays():
        if argument.array is not None and argument.array.dtype.kind in "iu":
            yield _entries(argument)


def _entries(argument: Argument) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    array = np.asarray(argument.array, np.int64)
    return np.repeat(array, 2, axis=0) if argument.layout == "expanded" else array


def _draws_without_slope(call: Call, case: CheckResult) -> bool:
    """Whether the call draws random numbers that have no slope by the library's word."""
    return call.seeded and case.kind is Class.MISSING


def _is_off_the_triangle(call: Call, case: CheckResult) -> bool:
    """Whether the entry stands in a triangle that the function does not read."""
    return case.kind in (Class.SPURIOUS, Class.MISSING) and case.worst is not None and len(case.worst[1]) > 1


CONVENTIONS = (
    Row(
        "repeated index",
        "which of two values is written at a repeated index is undefined",
        (
            *("torch.*index_put*", "torch.*index_copy*", "torch.*scatter*", "torch.*put*"),
            *("torch.nn.functional.max_unpool*", "torch.Tensor.__setitem__", "jax.lax.scatter*"),
        ),
        _has_repeated_index,
        "https://docs.pytorch.org/docs/stable/generated/torch.Tensor.index_put_.html",
    ),
    Row(
        "random draw",
        "a random draw has no derivative by the parameters of its distribution, and the library says 0",
        ("torch.*",),
        _draws_without_slope,
        "https://docs.pytorch.org/docs/stable/distributions.html",
    ),
    Row(
        "triangle that is not read",
        "the argument is a triangular matrix by the documents, and its other triangle is not read",
        (
            "torch.cholesky_inverse",
            "torch.Tensor.cholesky_inverse",
            "torch.cholesky_solve",
            "torch.Tensor.cholesky_solve",
        ),
        _is_off_the_triangle,
        "https://docs.pytorch.org/docs/stable/generated/torch.cholesky_inverse.html",
    ),
)
"""The rows, in order; the first that fits counts."""
