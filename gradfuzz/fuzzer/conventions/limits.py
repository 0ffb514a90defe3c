"""Limits that the rules of autograd state where they end: the call has no such derivative.

A limit is about a call: what is passed, and by which modes it is differentiated. What an exception says, and
of which type it is, does not count.
"""

from __future__ import annotations

import ast
import functools
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

Given = Mapping[str, Any]
"""What a call gives, by the names of the parameters of NumPy's or SciPy's function."""


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit of the rules of some functions, given by a pattern of public names."""

    functions: str
    source: str
    """The line of autograd 1.9.1 that states it."""
    holds: Callable[[Given], bool]
    """Whether a call is beyond it, by what it gives."""
    modes: tuple[Mode, ...] = ("rev",)
    """The modes that it is about: one of them is asked for."""


def is_beyond(call: Call, modes: Sequence[Mode]) -> bool:
    """Whether a call is beyond a limit of its function."""
    rows = (one for one in LIMITS if fnmatchcase(call.function, one.functions))
    return any(not set(modes).isdisjoint(one.modes) and one.holds(_given(call)) for one in rows)


def overwrites(call: Call) -> bool:
    """Whether a call allows SciPy to write into its arguments."""
    return any(name.startswith("overwrite_") and value is True for name, value in _given(call).items())


def _has_another_order(given: Given) -> bool:
    """Whether a norm is another than that of Frobenius or the nuclear one of matrices, of order above 1 of
    vectors.
    """
    order, axis = given.get("ord"), given.get("axis")
    if isinstance(axis, tuple) or (axis is None and np.ndim(given["x"]) == 2):
        return order not in (None, "fro", "nuc")
    return order is not None and not (isinstance(order, (int, float)) and order > 1)


def _has_odd_length(given: Given, *, inverse: bool = False) -> bool:
    """Whether the real side of a transform has an odd length."""
    lengths, axes = given.get("n", given.get("s")), given.get("axes", given.get("axis"))
    last = axes[-1] if isinstance(axes, (tuple, list)) else -1 if axes is None else axes
    if lengths is None:
        length = np.shape(given["a"])[last]
        length = 2 * (length - 1) if inverse else length
    else:
        length = lengths[-1] if isinstance(lengths, (tuple, list)) else lengths
    return bool(length % 2 == 1)


def _given(call: Call) -> Given:
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


_DIAGONAL = {"offset": 0, "axis1": 0, "axis2": 1}
"""The defaults of `numpy.diagonal`."""

_BOTH: tuple[Mode, ...] = ("rev", "fwd")

LIMITS = (
    # An array of several axes
    Limit("autograd.numpy.sort", "numpy/numpy_vjps.py#L777", lambda given: np.ndim(given["a"]) > 1),
    Limit("autograd.numpy.partition", "numpy/numpy_vjps.py#L790", lambda given: np.ndim(given["a"]) > 1),
    # Several arrays
    Limit(
        "autograd.numpy.atleast_?d", "numpy/numpy_vjps.py#L806", lambda given: len(given["arys"]) > 1, _BOTH
    ),
    # Distances of the entries, or another order than 1 at the ends
    Limit(
        "autograd.numpy.gradient",
        "numpy/numpy_vjps.py#L300",
        lambda given: len(given.get("varargs", ())) > 0 or "edge_order" in given,
    ),
    # What is padded with is made of entries
    Limit(
        "autograd.numpy.pad",
        "numpy/numpy_vjps.py#L971",
        lambda given: given.get("mode", "constant") != "constant",
    ),
    # Another diagonal than the main one of the last two axes, in this order
    Limit(
        "autograd.numpy.diagonal",
        "numpy/numpy_wrapper.py#L176",
        lambda given: [given.get(n, d) for n, d in _DIAGONAL.items()] != [0, -1, -2],
    ),
    # An axis, or its new place, that is counted from the end
    Limit(
        "autograd.numpy.rollaxis",
        "numpy/numpy_vjps.py#L257",
        lambda given: given["axis"] < 0 or given.get("start", 0) < 0,
    ),
    Limit("autograd.numpy.linalg.norm", "numpy/linalg.py#L97", _has_another_order, _BOTH),
    # The full matrices of a decomposition
    Limit(
        "autograd.numpy.linalg.svd",
        "numpy/linalg.py#L299",
        lambda given: bool(given.get("full_matrices", True) and given.get("compute_uv", True)),
    ),
    # The matrix with an estimate of its error
    Limit(
        "autograd.scipy.linalg.sqrtm", "scipy/linalg.py#L13", lambda given: not given.get("disp", True), _BOTH
    ),
    Limit("autograd.numpy.fft.rfft*", "numpy/fft.py#L119", _has_odd_length),
    Limit("autograd.numpy.fft.irfft*", "numpy/fft.py#L119", functools.partial(_has_odd_length, inverse=True)),
    # An axis twice
    Limit(
        "autograd.numpy.fft.*rfft[2n]",
        "numpy/fft.py#L114",
        lambda given: given.get("axes") is not None and len(set(given["axes"])) < len(given["axes"]),
    ),
    # A covariance that may be singular
    Limit(
        "autograd.scipy.stats.multivariate_normal.*pdf",
        "scipy/stats/multivariate_normal.py#L27",
        lambda given: bool(given.get("allow_singular", False)),
        _BOTH,
    ),
)
