"""A smaller call that is wrong in the same way."""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from gradfuzz.adapters.catalogue import Function
from gradfuzz.fuzzer.calling.drawing.forms import keeps
from gradfuzz.fuzzer.calling.judge import Judged, Modes, judged, raises
from gradfuzz.fuzzer.results.call import Argument, Call
from gradfuzz.fuzzer.results.codec import encode
from gradfuzz.fuzzer.results.finding import FINITE, Class
from gradfuzz.fuzzer.results.views import seen
from gradfuzz.libraries.layouts import LAYOUTS
from gradfuzz.oracles.base import Array


@dataclass(frozen=True, slots=True)
class Wrong:
    """What has to stay as it is: the derivative, and the group of the class."""

    modes: Modes
    kind: Class | None

    @property
    def group(self) -> str:
        return "wrong numbers" if self.kind in FINITE else self.kind.value if self.kind else ""

    def can_fit(self, call: Call) -> bool:
        """Whether a call may be wrong in this way. That a derivative raises takes no judgement."""
        return self.kind is not Class.ERROR or raises(call, self.modes)

    def fits(self, found: Judged | None) -> bool:
        """Whether a verdict is this one."""
        if found is None or not found.case.verdict.is_wrong:
            return False
        return Wrong(found.modes, found.case.kind).group == self.group


def shrunk(
    call: Call,
    wrong: Wrong,
    function: Function,
    note: Callable[[Call], None],
    *,
    seconds: float,
    trials: int,
) -> Call:
    """The call made smaller, step by step, while it stays wrong in the same way. `note` is told each call
    before it is made.
    """
    end = time.monotonic() + seconds
    tried = {_key(call)}
    progress = True
    while progress:
        progress = False
        for candidate in _smaller(call, function):
            key = _key(candidate)
            if key in tried or (call.is_recorded and not keeps(call, candidate)):
                continue
            if len(tried) > trials or time.monotonic() > end:
                return call
            tried.add(key)
            note(candidate)
            if wrong.can_fit(candidate) and wrong.fits(judged(candidate, [wrong.modes]).of(wrong.modes)):
                call, progress = candidate, True
                break
    return call


def _key(call: Call) -> str:
    """The same for equal calls."""
    return json.dumps(encode(Call, call))


def _smaller(call: Call, function: Function) -> Iterator[Call]:
    """Calls that are simpler in one thing, the greatest steps first."""
    if call.way:
        yield replace(call, way="")
    if call.form != "alone":
        yield replace(call, form="alone")
    yield from _with_less(call, function)
    yield from _with_plain_layout(call)
    yield from _of_double(call)
    yield from _with_smaller_shapes(call)
    yield from _with_simpler_values(call)


def _with_less(call: Call, function: Function) -> Iterator[Call]:
    """Keywords away, and literals at their defaults."""
    for k, argument in enumerate(call.arguments):
        if argument.keyword:
            yield replace(call, arguments=(*call.arguments[:k], *call.arguments[k + 1 :]))
    defaults = {p.name: p.default for p in function.parameters}
    for k, argument in enumerate(call.arguments):
        name = argument.keyword or (function.parameters[k].name if k < len(function.parameters) else "")
        simpler = [defaults.get(name, ""), *_SIMPLER.get(argument.literal or "", ())]
        for text in simpler:
            if argument.literal is not None and text and text != argument.literal:
                yield call.with_argument(argument, replace(argument, literal=text))


_SIMPLER = {
    "3": ("2", "1"),
    "2": ("1",),
    "4": ("2",),
    "-2": ("0", "-1"),
    "2.0": ("1.0",),
    "0.5": ("1.0", "2.0"),
    "10.0": ("2.0",),
    "1e-3": ("0.5",),
    "-0.5": ("0.5",),
    "1.5": ("2.0",),
    "-1.0": ("1.0",),
}
"""A literal, and simpler ones."""


def _with_plain_layout(call: Call) -> Iterator[Call]:
    """One array contiguous, with the entries that its view had."""
    for argument in call.arguments:
        if argument.array is not None and argument.layout in LAYOUTS[1:]:
            yield call.with_argument(argument, replace(argument, array=seen(argument), layout="contiguous"))


def _of_double(call: Call) -> Iterator[Call]:
    """Real arrays, and in double precision."""
    kinds = {a.array.dtype.name for a in call.differentiated() if a.array is not None}
    if kinds & {"complex128", "complex64"}:
        yield _mapped(call, lambda array: np.asarray(array.real, np.float64))
    if kinds & {"complex64"}:
        yield _mapped(call, lambda array: np.asarray(array, np.complex128))
    if kinds & {"float32", "float16", "bfloat16"}:
        yield _mapped(call, lambda array: np.asarray(array, np.float64))


def _with_smaller_shapes(call: Call) -> Iterator[Call]:
    arrays = [a.array for a in call.arrays() if a.array is not None]
    sizes = sorted({n for array in arrays for n in array.shape if n > 1}, reverse=True)
    ranks = {array.ndim for array in arrays}
    if 0 not in ranks and len(ranks) == 1 and all(array.shape[0] for array in arrays):  # the first axis away
        yield _cut(call, lambda array: array[0])
    for n in sizes:
        for less in (1, n - 1):
            if 0 < less < n:
                yield _cut(call, functools.partial(_sliced, n=n, less=less))
    for argument in call.arguments:
        array = argument.array
        if array is not None and array.ndim and array.shape[0] and argument.layout == "contiguous":
            yield call.with_argument(argument, replace(argument, array=array[0]))


def _sliced(array: Array, *, n: int, less: int) -> Array:
    """Every axis of length n cut to length `less`."""
    return array[tuple(slice(0, less if length == n else None) for length in array.shape)]


def _with_simpler_values(call: Call) -> Iterator[Call]:
    """Rounder numbers."""
    for step in (1.0, 0.5, 0.125):
        yield _mapped(call, functools.partial(_rounded, step=step))
    for argument in call.differentiated():
        array = np.asarray(argument.array)
        for place in np.ndindex(array.shape):
            if complex(array[place]) not in _PLAIN:
                for value in _PLAIN:
                    yield call.with_argument(
                        argument, replace(argument, array=_with_entry(array, place, value))
                    )


_PLAIN = (1.0, 0.5, 2.0)
"""The simplest entries."""


def _rounded(array: Array, *, step: float) -> Array:
    with np.errstate(all="ignore"):
        wide = np.asarray(array, np.complex128 if array.dtype.kind == "c" else np.float64)
        found = np.round(wide / step) * step
        return np.where(np.abs(found) > 0.0, found, wide).astype(array.dtype)


def _with_entry(array: Array, place: tuple[int, ...], value: float) -> Array:
    """The array with one entry replaced."""
    other = np.array(array)
    other[place] = value
    return other


def _mapped(call: Call, change: Callable[[Array], Array]) -> Call:
    """The call with its arrays of floats changed."""
    return call.changed(functools.partial(_changed, change=change, kinds="fcV"))


def _cut(call: Call, change: Callable[[Array], Array]) -> Call:
    """The call with all its arrays changed."""
    return call.changed(functools.partial(_changed, change=change, kinds="fcVbiu"))


def _changed(argument: Argument, *, change: Callable[[Array], Array], kinds: str) -> Argument:
    if argument.array is None or argument.array.dtype.kind not in kinds:
        return argument
    return replace(argument, array=np.asarray(change(argument.array)))
