"""NumPy's functions and methods on arrays that record.

What only moves entries is run on the positions of the entries. A function that is not in the tables is run as
NumPy has written it in Python, on an array of recording scalars.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import gradfuzz.engine as engine
from gradfuzz.engine.rules.value import Value
from gradfuzz.errors import UntraceableError
from gradfuzz.tracing.common.compositions import (
    as_kind,
    at_positions,
    by_name,
    common_kind,
    flat,
    kind_of,
    recorded,
    replaced_at,
)
from gradfuzz.tracing.numpy.array import NumpyTrace, RecordingArray
from gradfuzz.tracing.numpy.linalg import LINALG
from gradfuzz.tracing.numpy.reductions import HANDLERS, no_options
from gradfuzz.tracing.numpy.ufuncs import handler_of

Handler = Callable[..., Any]
"""(trace, *arguments as the caller gave them) -> the result: recorders, or values of the engine, which are
wrapped.
"""


# Choosing and joining ---------------------------------------------------------------------------------------


def _where(trace: NumpyTrace, condition: Any, *sides: Any) -> Any:
    if not sides:
        raise trace.refuse("numpy.where with a condition alone makes an array whose size depends on numbers")
    x, y = map(trace.raw, sides)
    kind = common_kind(x, y)
    return engine.where(as_kind(trace.raw(condition), "bool"), as_kind(x, kind), as_kind(y, kind))


def _select(trace: NumpyTrace, conditions: Sequence[Any], choices: Sequence[Any], default: Any = 0) -> Any:
    result = default
    for condition, choice in zip(reversed(conditions), reversed(choices), strict=True):
        result = np.where(condition, choice, result)
    return result


def _clip(
    trace: NumpyTrace, a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, **options: Any
) -> Any:
    low, high = options.pop("min", a_min), options.pop("max", a_max)
    no_options(trace, {**options, "out": out})
    if low is not None and high is not None and kind_of(trace.raw(a)) == "float":
        return engine.clip(trace.raw(a), trace.raw(low), trace.raw(high))
    result = a if low is None else np.maximum(a, low)
    return result if high is None else np.minimum(result, high)


def _round(trace: NumpyTrace, a: Any, decimals: int = 0, out: Any = None) -> Any:
    no_options(trace, {"out": out})
    if kind_of(trace.raw(a)) != "float":
        raise trace.refuse("numpy.round of ints; gradfuzz has that of floats")
    if decimals == 0:
        return np.rint(a)
    scale = 10.0 ** abs(decimals)
    return np.rint(a * scale) / scale if decimals > 0 else np.rint(a / scale) * scale


def _same_kind(trace: NumpyTrace, arrays: Sequence[Any]) -> list[Any]:
    raws = [trace.raw(a) for a in arrays]
    kind = common_kind(*raws)
    return [as_kind(recorded(x), kind) for x in raws]


def _concatenate(
    trace: NumpyTrace, arrays: Sequence[Any], axis: int | None = 0, out: Any = None, **options: Any
) -> Any:
    no_options(trace, {**options, "out": out, "casting": None})
    parts = _same_kind(trace, list(arrays))
    return engine.concat([flat(p) for p in parts] if axis is None else parts, axis=axis or 0)


def _stack(trace: NumpyTrace, arrays: Sequence[Any], axis: int = 0, out: Any = None, **options: Any) -> Any:
    return engine.stack(_same_kind(trace, list(arrays)), axis=axis)


def _joined(at_least: Callable[[Any], Any], axis: Callable[[int], int]) -> Handler:
    def handler(trace: NumpyTrace, arrays: Sequence[Any], **options: Any) -> Any:
        parts = [at_least(a) for a in arrays]
        return _concatenate(trace, parts, axis=axis(max(p.ndim for p in parts)))

    return handler


def _column_stack(trace: NumpyTrace, arrays: Sequence[Any]) -> Any:
    columns = [a if np.ndim(a) > 1 else np.reshape(a, (-1, 1)) for a in arrays]
    return _concatenate(trace, columns, axis=1)


def _append(trace: NumpyTrace, a: Any, values: Any, axis: int | None = None) -> Any:
    parts = [np.ravel(a), np.ravel(values)] if axis is None else [a, values]
    return _concatenate(trace, parts, axis=axis or 0)


def _block_pad(trace: NumpyTrace, a: Any, pad_width: Any, mode: str = "constant", **options: Any) -> Any:
    """By running it on positions, in which -1 marks what is new."""
    x = trace.raw(a)
    value = options.pop("constant_values", 0)
    places = np.arange(np.size(np.zeros(np.shape(x)))).reshape(np.shape(x))
    if mode != "constant":
        return at_positions(x, np.pad(places, pad_width, mode, **options))  # type: ignore[call-overload]
    if np.ndim(value) or options:
        raise trace.refuse("numpy.pad with several constants")
    padded = np.pad(places, pad_width, constant_values=-1)
    inner = at_positions(x, np.where(padded < 0, 0, padded))
    return engine.where(padded >= 0, inner, as_kind(trace.raw(value), kind_of(x)))


def _take(
    trace: NumpyTrace, a: Any, indices: Any, axis: int | None = None, out: Any = None, mode: str = "raise"
) -> Any:
    x, chosen = trace.raw(a), trace.raw(indices)
    return engine.take(flat(x), chosen, axis=0) if axis is None else engine.take(x, chosen, axis=axis)


def _take_along_axis(trace: NumpyTrace, arr: Any, indices: Any, axis: int | None = -1) -> Any:
    x, chosen = trace.raw(arr), trace.raw(indices)
    return engine.take_along_axis(flat(x) if axis is None else x, chosen, axis=0 if axis is None else axis)


def _like(fill: Any) -> Handler:
    def handler(
        trace: NumpyTrace, a: Any, *args: Any, dtype: Any = None, shape: Any = None, **options: Any
    ) -> Any:
        kind = kind_of(trace.raw(a)) if dtype is None else trace.check(np.dtype(dtype))
        sizes = np.shape(trace.raw(a)) if shape is None else tuple(int(n) for n in np.atleast_1d(shape))
        value = as_kind(trace.raw(args[0] if fill is None else fill), kind)
        return recorded(engine.broadcast_to(recorded(value), sizes) if sizes else value)

    return handler


def _copy(trace: NumpyTrace, a: Any, *args: Any, **options: Any) -> Any:
    return recorded(trace.raw(a))


def _diff(trace: NumpyTrace, a: Any, n: int = 1, axis: int = -1, **options: Any) -> Any:
    no_options(trace, options)
    x = recorded(trace.raw(a))
    place = axis % len(np.shape(x))
    for _ in range(n):
        size = np.shape(x)[place]
        after, before = (x[(*[slice(None)] * place, piece)] for piece in (slice(1, size), slice(0, size - 1)))
        x = after - before
    return x


def _real(trace: NumpyTrace, x: Any) -> Any:
    return engine.real(trace.raw(x)) if kind_of(trace.raw(x)) == "complex" else x


def _imag(trace: NumpyTrace, x: Any) -> Any:
    raw = trace.raw(x)
    return engine.imag(raw) if kind_of(raw) == "complex" else np.zeros(np.shape(raw))[()]


def _decided(name: str) -> Handler:
    def handler(trace: NumpyTrace, *args: Any, **options: Any) -> Any:
        raise trace.refuse(
            f"numpy.{name} gives a bool of Python, which would be a constant of the traced program;"
            " use numpy.where"
        )

    return handler


def _fill_diagonal(trace: NumpyTrace, a: Any, value: Any, wrap: bool = False) -> None:
    places = np.diagonal(np.arange(a.size).reshape(a.shape))
    a.replace(recorded(replaced_at(a.value, places, trace.raw(value))))


# Moving -----------------------------------------------------------------------------------------------------


def _moved(function: Any, *, views: bool) -> Handler:
    """A function that only moves entries, run on the positions of the entries."""

    def handler(trace: NumpyTrace, a: Any, *args: Any, **options: Any) -> Any:
        if any(isinstance(o, RecordingArray) for o in (*args, *options.values())):
            raise trace.refuse(f"numpy.{function.__name__} by numbers that depend on the arguments")
        x = trace.raw(a)
        sizes = np.shape(x)
        places = function(np.arange(int(np.prod(sizes))).reshape(sizes), *args, **options)

        def made(p: Any) -> Any:
            found = engine.reshape(x, p.shape) if _is_same_order(p, x) else at_positions(x, p)
            shares = views and isinstance(a, RecordingArray) and isinstance(found, Value)
            return a.sharing(found) if shares else trace.wrapped(found)

        return [made(p) for p in places] if isinstance(places, (list, tuple)) else made(places)

    return handler


def _is_same_order(places: Any, x: Any) -> bool:
    return places.size == int(np.prod(np.shape(x))) and bool(np.all(places.ravel() == np.arange(places.size)))


def _axes_moved(function: Any) -> Handler:
    """A permutation of axes, read off the shape of an array whose sizes are all different."""

    def handler(trace: NumpyTrace, a: Any, *args: Any, **options: Any) -> Any:
        x = trace.raw(a)
        rank = len(np.shape(x))
        moved = function(np.broadcast_to(0, tuple(range(2, rank + 2))), *args, **options)
        axes = tuple(n - 2 for n in moved.shape)
        found = engine.permute_dims(x, axes) if axes != tuple(range(rank)) else recorded(x)
        return a.sharing(found) if isinstance(a, RecordingArray) else trace.wrapped(found)

    return handler


def _broadcast_to(trace: NumpyTrace, array: Any, shape: Any, subok: bool = False) -> Any:
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    return array.sharing(engine.broadcast_to(array.value, sizes))


def _broadcast_arrays(trace: NumpyTrace, *arrays: Any, subok: bool = False) -> Any:
    sizes = np.broadcast_shapes(*(np.shape(trace.raw(a)) for a in arrays))
    return tuple(np.broadcast_to(a, sizes) for a in arrays)


def _shape(trace: NumpyTrace, a: Any) -> Any:
    return np.shape(trace.raw(a))


def _size(trace: NumpyTrace, a: Any, axis: int | None = None) -> Any:
    return int(np.prod(_shape(trace, a))) if axis is None else _shape(trace, a)[axis]


def _diag(trace: NumpyTrace, v: Any, k: int = 0) -> Any:
    x = trace.raw(v)
    if len(np.shape(x)) == 2:
        return engine.linalg.diagonal(x, offset=k)
    n = np.shape(x)[0] + abs(k)
    return replaced_at(np.zeros((n, n)), np.diagonal(np.arange(n * n).reshape(n, n), k), x)


_VIEWS = (
    *("reshape", "ravel", "expand_dims", "squeeze", "flip", "fliplr", "flipud", "rot90", "diagonal"),
    *("split", "array_split", "hsplit", "vsplit", "dsplit", "unstack"),
    *("atleast_1d", "atleast_2d", "atleast_3d"),
)
_COPIES = ("repeat", "tile", "roll", "resize", "delete", "compress")
_PERMUTATIONS = ("transpose", "swapaxes", "moveaxis", "rollaxis", "matrix_transpose")
_DECISIONS = (
    *("allclose", "array_equal", "array_equiv", "nonzero", "argwhere", "flatnonzero", "unique"),
    "searchsorted",
)

_BY_NAME: dict[str, Handler] = {
    **HANDLERS,
    **{name: _moved(getattr(np, name), views=True) for name in _VIEWS if hasattr(np, name)},
    **{name: _moved(getattr(np, name), views=False) for name in _COPIES},
    **{name: _axes_moved(getattr(np, name)) for name in _PERMUTATIONS},
    **{name: _decided(name) for name in _DECISIONS},
    **by_name(_where, _select, _clip, _round, _concatenate, _stack, _column_stack, _append, _take),
    **by_name(_take_along_axis, _copy, _diff, _real, _imag, _fill_diagonal, _broadcast_to),
    **by_name(_broadcast_arrays, _shape, _size, _diag),
    "around": _round,
    "fix": lambda trace, x, out=None: np.trunc(x),
    "vstack": _joined(np.atleast_2d, lambda rank: 0),
    "hstack": _joined(np.atleast_1d, lambda rank: 0 if rank == 1 else 1),
    "dstack": _joined(np.atleast_3d, lambda rank: 2),
    "pad": _block_pad,
    "zeros_like": _like(0),
    "ones_like": _like(1),
    "empty_like": _like(0),
    "full_like": _like(None),
    "angle": lambda trace, z, deg=False: np.arctan2(np.imag(z), np.real(z)),
    "iscomplexobj": lambda trace, x: kind_of(trace.raw(x)) == "complex",
    "isrealobj": lambda trace, x: kind_of(trace.raw(x)) != "complex",
    "ndim": lambda trace, a: len(_shape(trace, a)),
}

FUNCTIONS: dict[Any, Handler] = {
    **{getattr(np, name): handler for name, handler in _BY_NAME.items() if hasattr(np, name)},
    **{getattr(np.linalg, name): handler for name, handler in LINALG.items() if hasattr(np.linalg, name)},
}
"""By NumPy's function itself."""


def call(trace: NumpyTrace, function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """What `__array_function__` does."""
    _one_precision(trace, args)
    handler = FUNCTIONS.get(function)
    if handler is not None:
        return trace.wrapped(handler(trace, *args, **kwargs))
    nothing = f"the NumPy function {function.__name__} has no counterpart among the ops of gradfuzz"
    written = getattr(function, "_implementation", None)
    if written is None:
        raise trace.refuse(nothing)
    try:
        return written(*args, **kwargs)
    except UntraceableError:
        raise
    except Exception as error:
        raise trace.refuse(f"{nothing} ({type(error).__name__}: {error})") from error


def _one_precision(trace: NumpyTrace, args: Sequence[Any]) -> None:
    for a in args:
        for entry in a if isinstance(a, (list, tuple)) else [a]:
            if isinstance(entry, (np.ndarray, np.generic)) and entry.dtype.kind in "fc":
                trace.check(np.result_type(entry.dtype, trace.dtype))


_METHODS = (
    *("all", "any", "argmax", "argmin", "argsort", "clip", "compress", "copy", "cumprod", "cumsum"),
    *("diagonal", "dot", "max", "mean", "min", "prod", "ravel", "repeat", "reshape", "round", "squeeze"),
    *("std", "sum", "swapaxes", "take", "trace", "transpose", "var"),
)


def method(x: RecordingArray, name: str) -> Any:
    """A method of an array: of NumPy's functions that of its name; of ufuncs, too, by which NumPy computes
    with arrays of objects.
    """
    if name in _METHODS:
        function = getattr(np, name)

        def called(*args: Any, **options: Any) -> Any:
            if name in ("reshape", "transpose") and args and isinstance(args[0], int):
                args = (args,)  # sizes one by one
            return function(x, *args, **options)

        return called
    special: dict[str, Callable[..., Any]] = {
        "flatten": lambda order="C": np.copy(np.ravel(x, order=order)),
        "astype": lambda dtype, *args, copy=True, **options: (
            x if not copy and np.dtype(dtype) == x.dtype else _astype(x, dtype)
        ),
        "sort": lambda axis=-1, **options: x.replace(recorded(x.home.raw(np.sort(x, axis=axis)))),
        "fill": lambda value: x.__setitem__(Ellipsis, value),
        "conj": lambda: np.conjugate(x),
        "view": lambda *args: x if args in ((), (np.ndarray,)) else _refuse_view(x),
    }
    if name in special:
        return special[name]
    if handler_of(name) is not None and isinstance(getattr(np, name, None), np.ufunc):
        return lambda *args: getattr(np, name)(x, *args)
    raise AttributeError(
        f"{x!r} has no attribute {name!r}; it has the methods of numpy.ndarray that a program can say"
    )


def _refuse_view(x: RecordingArray) -> Any:
    raise x.home.refuse("ndarray.view with another dtype reads bits")


def _astype(x: RecordingArray, dtype: Any) -> Any:
    try:
        return RecordingArray(x.home, recorded(as_kind(x.value, x.home.check(np.dtype(dtype)))))
    except UntraceableError as error:
        raise x.home.refuse(error.reason) from error


class RecordingNamespace:
    """The array API namespace of arrays that record: NumPy's, but for what makes arrays of others."""

    def __init__(self, trace: NumpyTrace) -> None:
        self._trace = trace

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def asarray(self, x: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None) -> Any:
        """An array that records stays one."""
        if not isinstance(x, RecordingArray):
            made = np.asarray(x)
            x = self._trace.wrapped(recorded(self._trace.raw(made))) if made.dtype == object else made
        if dtype is None:
            return np.copy(x) if copy else x
        return _astype(x, dtype) if isinstance(x, RecordingArray) else np.asarray(x, dtype)

    def astype(self, x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
        """`x` as another dtype."""
        return self.asarray(x, dtype=dtype)
