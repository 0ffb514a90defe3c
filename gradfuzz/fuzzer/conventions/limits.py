"""Limits that the rules of autograd state where they end: the call has no such derivative.

A limit is about a call: what is passed, and by which modes it is differentiated. What an exception says, and
of which type it is, does not count.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pkgutil import resolve_name
from typing import Any

import numpy as np

from gradfuzz.fuzzer.results.call import Argument, Call
from gradfuzz.fuzzer.results.views import seen
from gradfuzz.oracles.base import Mode

Modes = Sequence[Mode]


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit of the rules of some functions, given by a pattern of public names."""

    functions: str
    source: str
    """The line of autograd 1.9.1 that states it."""
    holds: Callable[[Call, Modes], bool]
    """Whether a call is beyond it."""


def is_beyond(call: Call, modes: Modes) -> bool:
    """Whether a call is beyond a limit of its function."""
    return any(one.holds(call, modes) for one in LIMITS if fnmatchcase(call.function, one.functions))


def _has_several_axes(call: Call, modes: Modes) -> bool:
    """Whether an array of several axes is sorted in reverse mode."""
    return "rev" in modes and any(seen(one).ndim > 1 for one in call.differentiated())


def _has_several_arrays(call: Call, modes: Modes) -> bool:
    return len(call.arguments) > 1


def _spaces_its_entries(call: Call, modes: Modes) -> bool:
    """Whether distances are given of the entries, or another order than 1 at the ends, in reverse mode."""
    return "rev" in modes and (len(_bound(call).get("varargs", ())) > 0 or "edge_order" in _bound(call))


def _has_another_order(call: Call, modes: Modes) -> bool:
    """Whether a norm is another than that of Frobenius or the nuclear one of matrices, of order above 1 of
    vectors.
    """
    given = _bound(call)
    order, axis = given.get("ord"), given.get("axis")
    if isinstance(axis, tuple) or (axis is None and np.ndim(given["x"]) == 2):
        return order not in (None, "fro", "nuc")
    return order is not None and not (isinstance(order, (int, float)) and order > 1)


def _has_all_vectors(call: Call, modes: Modes) -> bool:
    """Whether the full matrices of a decomposition are asked for, in reverse mode."""
    given = _bound(call)
    return "rev" in modes and bool(given.get("full_matrices", True) and given.get("compute_uv", True))


def _has_axes_twice(call: Call, modes: Modes) -> bool:
    """Whether one axis is transformed twice, in reverse mode."""
    axes = _bound(call).get("axes")
    return "rev" in modes and axes is not None and len(set(axes)) < len(axes)


def _has_odd_length(call: Call, modes: Modes) -> bool:
    """Whether the real side of a transform has an odd length, in reverse mode."""
    given, name = _bound(call), call.function.rpartition(".")[2]
    lengths, axes = given.get("n", given.get("s")), given.get("axes", given.get("axis"))
    last = axes[-1] if isinstance(axes, (tuple, list)) else -1 if axes is None else axes
    if lengths is None:
        length = np.shape(given["a"])[last]
        length = 2 * (length - 1) if name.startswith("i") else length
    else:
        length = lengths[-1] if isinstance(lengths, (tuple, list)) else lengths
    return "rev" in modes and length % 2 == 1


def _rolls_back(call: Call, modes: Modes) -> bool:
    """Whether an axis is rolled that is counted from the end, or to a place that is, in reverse mode."""
    given = _bound(call)
    return "rev" in modes and (given["axis"] < 0 or given.get("start", 0) < 0)


def _repeats_entries(call: Call, modes: Modes) -> bool:
    """Whether what is padded with is made of entries, in reverse mode."""
    return "rev" in modes and _bound(call).get("mode", "constant") != "constant"


def _may_be_singular(call: Call, modes: Modes) -> bool:
    """Whether a covariance may be singular."""
    return bool(_bound(call).get("allow_singular", False))


def _bound(call: Call) -> Mapping[str, Any]:
    """What a call of autograd gives, by the names of the parameters of NumPy's or SciPy's function."""
    function = resolve_name(call.function.removeprefix("autograd."))
    given = [(a.keyword, _value(a)) for a in call.arguments]
    positional, keywords = [x for k, x in given if not k], {k: x for k, x in given if k}
    return inspect.signature(function).bind(*positional, **keywords).arguments


def _value(argument: Argument) -> Any:
    if argument.items is not None:
        return [_value(item) for item in argument.items]
    text = argument.literal
    if text is None:
        return seen(argument)
    return ast.literal_eval(text) if ":" not in text else text


LIMITS = (
    Limit("autograd.numpy.sort", "numpy/numpy_vjps.py#L777", _has_several_axes),
    Limit("autograd.numpy.partition", "numpy/numpy_vjps.py#L790", _has_several_axes),
    Limit("autograd.numpy.atleast_?d", "numpy/numpy_vjps.py#L806", _has_several_arrays),
    Limit("autograd.numpy.gradient", "numpy/numpy_vjps.py#L300", _spaces_its_entries),
    Limit("autograd.numpy.pad", "numpy/numpy_vjps.py#L971", _repeats_entries),
    Limit("autograd.numpy.rollaxis", "numpy/numpy_vjps.py#L257", _rolls_back),
    Limit("autograd.numpy.linalg.norm", "numpy/linalg.py#L97", _has_another_order),
    Limit("autograd.numpy.linalg.svd", "numpy/linalg.py#L299", _has_all_vectors),
    Limit("autograd.numpy.fft.*rfft*", "numpy/fft.py#L119", _has_odd_length),
    Limit("autograd.numpy.fft.*rfft[2n]", "numpy/fft.py#L114", _has_axes_twice),
    Limit(
        "autograd.scipy.stats.multivariate_normal.*pdf",
        "scipy/stats/multivariate_normal.py#L27",
        _may_be_singular,
    ),
)
