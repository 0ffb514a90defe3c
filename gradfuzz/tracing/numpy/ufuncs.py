"""NumPy's ufuncs on arrays that record. What dtype a result has NumPy says itself."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import gradfuzz.engine as engine
from gradfuzz.engine.rules.value import apply
from gradfuzz.programs.language.precision import format_of
from gradfuzz.programs.language.types import DType
from gradfuzz.tracing.common.compositions import (
    as_kind,
    elementwise,
    engine_compare,
    log_sigmoid,
    logit,
    power,
    recorded,
    row_of,
)
from gradfuzz.tracing.numpy.array import NumpyTrace, RecordingArray

Ufunc = Callable[..., Any]
"""(trace, kind of the result, *operands) -> the result."""


def _function(f: Callable[..., Any]) -> Ufunc:
    return lambda trace, kind, *operands: f(*(as_kind(o, kind) for o in operands))


def _op(op: str) -> Ufunc:
    return _function(functools.partial(apply, op))


def _bools(op: str, logic: str) -> Ufunc:
    """Of two bools NumPy makes a bool."""

    def ufunc(trace: NumpyTrace, kind: DType, x: Any, y: Any) -> Any:
        return apply(logic if kind == "bool" else op, as_kind(x, kind), as_kind(y, kind))

    return ufunc


def _comparison(op: str) -> Ufunc:
    return lambda trace, kind, x, y: engine_compare(op, x, y)


def _logic(op: str) -> Ufunc:
    return lambda trace, kind, *operands: apply(op, *(as_kind(o, "bool") for o in operands))


def _xor(trace: NumpyTrace, kind: DType, x: Any, y: Any) -> Any:
    return engine_compare("not_equal", as_kind(x, "bool"), as_kind(y, "bool"))


def _bitwise(logic: Ufunc) -> Ufunc:
    def ufunc(trace: NumpyTrace, kind: DType, *operands: Any) -> Any:
        if kind != "bool":
            raise trace.refuse("bits of ints; gradfuzz has logic on bools alone")
        return logic(trace, kind, *operands)

    return ufunc


def _power(trace: NumpyTrace, kind: DType, x: Any, y: Any) -> Any:
    if kind == "int":
        raise trace.refuse("a power of ints; gradfuzz has those of floats")
    exponent = y if not hasattr(y, "atom") else as_kind(y, kind)
    return power(as_kind(x, kind), exponent)


def _remainder(trace: NumpyTrace, kind: DType, x: Any, y: Any) -> Any:
    x, y = as_kind(x, kind), as_kind(y, kind)
    return apply("remainder", x, y) if kind == "int" else x - apply("floor", x / y) * y


def _floor_divide(trace: NumpyTrace, kind: DType, x: Any, y: Any) -> Any:
    if kind == "int":
        raise trace.refuse("a division of ints that is rounded; gradfuzz has none")
    return apply("floor", as_kind(x, kind) / as_kind(y, kind))


def _beyond(op: str) -> Ufunc:
    """Whether a number is more than the largest float, or not."""

    def ufunc(trace: NumpyTrace, kind: DType, x: Any) -> Any:
        return apply(op, engine.abs(as_kind(x, "float")), float(format_of(trace.dtype).largest))

    return ufunc


_OPS = ("maximum", "minimum", "negative", "subtract", "divide", "sign")
_COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")


def _column(x: Any, y: Any) -> Any:
    """A product of matrices with vectors that lie in a stack of the same shape."""
    result = engine.matmul(x, engine.reshape(y, (*np.shape(y), 1)))
    return engine.reshape(result, np.shape(result)[:-1])


UFUNCS: dict[str, Ufunc] = {
    **{name: _op(name) for name in _OPS},
    **{name: _comparison(name) for name in _COMPARISONS},
    **{name: _logic(name) for name in ("logical_and", "logical_or", "logical_not")},
    "logical_xor": _xor,
    "bitwise_and": _bitwise(_logic("logical_and")),
    "bitwise_or": _bitwise(_logic("logical_or")),
    "bitwise_xor": _bitwise(_xor),
    "invert": _bitwise(_logic("logical_not")),
    "add": _bools("add", "logical_or"),
    "multiply": _bools("multiply", "logical_and"),
    **dict.fromkeys(("power", "float_power", "pow"), _power),
    "remainder": _remainder,
    "floor_divide": _floor_divide,
    **{name: lambda trace, kind, x: x for name in ("floor", "ceil", "trunc", "positive")},
    "square": lambda trace, kind, x: apply("multiply", x, x),
    "log_expit": _function(log_sigmoid),
    "logit": _function(logit),
    **dict.fromkeys(("absolute", "fabs"), lambda trace, kind, x: engine.abs(x)),
    "conjugate": lambda trace, kind, x: engine.conj(x) if kind == "complex" else x,
    "fmax": _op("maximum"),
    "fmin": _op("minimum"),
    **dict.fromkeys(("deg2rad", "radians"), _function(lambda x: x * (math.pi / 180.0))),
    **dict.fromkeys(("rad2deg", "degrees"), _function(lambda x: x * (180.0 / math.pi))),
    "isnan": lambda trace, kind, x: engine_compare("not_equal", x, x),
    "isinf": _beyond("greater"),
    "isfinite": _beyond("less_equal"),
    "matmul": _function(engine.matmul),
    "vecdot": lambda trace, kind, x, y: engine.sum(engine.conj(as_kind(x, kind)) * as_kind(y, kind), axis=-1),
    "matvec": _function(_column),
}
"""By name; those of scipy.special are ufuncs, too. Of elementwise functions, what they are of ints."""


def handler_of(name: str, kind: DType = "float") -> Ufunc | None:
    """What a ufunc is, if its result is of this kind; None where gradfuzz has nothing for it."""
    row = row_of("ufunc", name)
    if row is None or kind not in ("float", "complex"):
        return UFUNCS.get(name)
    return lambda trace, kind, *operands: elementwise(row, *(as_kind(o, kind) for o in operands))


_REDUCTIONS: dict[str, Callable[..., Any]] = {
    "add": np.sum,
    "multiply": np.prod,
    "maximum": np.max,
    "minimum": np.min,
    "logical_and": np.all,
    "logical_or": np.any,
}
_ACCUMULATIONS = {"add": "cumulative_sum", "multiply": "cumulative_prod", "maximum": "cumulative_max"}


def call(trace: NumpyTrace, ufunc: Any, method: str, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
    """What `__array_ufunc__` does."""
    name = ufunc.__name__
    said = {k: v for k, v in options.items() if k not in ("casting", "order", "subok") and v is not None}
    options = {k: v for k, v in said.items() if k != "where" or v is not True}
    if method == "reduce" and name in _REDUCTIONS:
        axis = options.pop("axis", 0)
        return _REDUCTIONS[name](*inputs, axis=axis, **options)
    if method == "accumulate" and name in _ACCUMULATIONS:
        return trace.wrapped(apply(_ACCUMULATIONS[name], trace.raw(inputs[0]), axis=options.get("axis", 0)))
    if method == "outer":
        first, second = (o if isinstance(o, RecordingArray) else np.asarray(o) for o in inputs)
        return ufunc(np.reshape(first, (*first.shape, *[1] * second.ndim)), second)
    if method != "__call__" or handler_of(name) is None:
        raise trace.refuse(
            f"the NumPy function {name}{'' if method == '__call__' else f'.{method}'} has no counterpart"
            " among the ops of gradfuzz"
        )
    outs = options.pop("out", (None,))
    if options.pop("dtype", trace.dtype) != trace.dtype or options:
        raise trace.refuse(f"numpy.{name} with {', '.join(options) or 'another dtype'}")
    kind = _kind(trace, ufunc, inputs)
    handler = handler_of(name, kind)
    if handler is None:
        raise trace.refuse(f"numpy.{name} of {kind} numbers; gradfuzz has that of floats")
    result = trace.wrapped(handler(trace, kind, *map(trace.raw, inputs)))
    return result if outs[0] is None else _written(trace, outs[0], result)


def _kind(trace: NumpyTrace, ufunc: Any, inputs: Sequence[Any]) -> DType:
    """Of what kind NumPy says that the result is."""
    return trace.check(ufunc.resolve_dtypes((*map(trace.numpy_dtype, inputs), *[None] * ufunc.nout))[-1])


def _written(trace: NumpyTrace, out: Any, result: Any) -> Any:
    """`result`, which was to be written to `out`.

    Of an array that cannot record, `x += y` makes a name of the result. Whoever else sees the array finds NaN
    there until the function has returned, so that no old entry is read unnoticed.
    """
    if isinstance(out, RecordingArray):
        if np.shape(result) != out.shape or result.dtype != out.dtype:
            raise trace.refuse(
                f"an array of {out.value.type} is written to in place with another shape or dtype"
            )
        out.replace(recorded(trace.raw(result)))
        return out
    trace.spoilt.append((out, out.copy()))
    if out.dtype.kind != "f":
        raise trace.refuse(f"an array of {out.dtype} is written to in place")
    out[...] = np.nan
    return result
