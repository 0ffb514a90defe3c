"""Smaller specimens by their shapes: fewer axes, shorter ones, plainer axes and windows in the ops.

Nothing here follows shapes through a program: a length or an axis is changed wherever it seems to occur, and what does not type-check then is
dropped by the driver.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from gradfuzz.fuzzer.rewrite import expression_edits, map_expressions
from gradfuzz.fuzzer.specimen import Draft, Specimen
from gradfuzz.fuzzer.variations import ordinary
from gradfuzz.oracles.base import Array
from gradfuzz.programs.ops import OPS
from gradfuzz.programs.syntax import ArrayConst, Call, Const, Expr, For, If, Name, Param, Program, Repeat, Stmt, While, walk
from gradfuzz.programs.types import Type

__all__ = ["fewer_axes", "plainer_parameters", "shorter_axes", "without_axis"]

Shape = tuple[int, ...]

_SCALAR_FORM: Mapping[str, int] = {
    "amax": 0,
    "amin": 0,
    "broadcast_to": 0,
    "concat": 0,
    "cumulative_max": 0,
    "cumulative_prod": 0,
    "cumulative_sum": 0,
    "flip": 0,
    "index": 0,
    "index_update": 1,
    "logsumexp": 0,
    "mean": 0,
    "permute_dims": 0,
    "prod": 0,
    "reshape": 0,
    "sort": 0,
    "stack": 0,
    "sum": 0,
    "take": 0,
    "take_along_axis": 0,
    "window_sum": 0,
}
"""Which argument an op on arrays comes down to when everything is a scalar."""

_SCALAR_PRODUCTS = ("matmul", "conv", "outer", "kron")


# Fewer axes ------------------------------------------------------------------------------------------------------------


def fewer_axes(specimen: Specimen) -> Iterator[Draft]:
    """One axis less: in all arrays that have it, counted from the back; in those of the highest rank; in one parameter alone.

    Of the weights along it the first ones stay, or the last: the class of what is wrong may depend on their signs.
    """
    program = specimen.program
    for rank in sorted({p.type.rank for p in program.params if p.type.rank > 1}, reverse=True):
        for axis in range(rank):
            for aligned in (True, False):
                yield from _at_either_end(specimen, without_axis(program, rank, axis, aligned), axis - rank)
    for k, p in enumerate(program.params):
        for axis in range(p.type.rank if p.type.rank > 1 else 0):
            param = Param(p.name, Type(p.type.dtype, _removed(p.type.sizes, axis)))
            changed = replace(program, params=(*program.params[:k], param, *program.params[k + 1 :]))
            yield from _at_either_end(specimen, changed, axis - p.type.rank)


def _at_either_end(specimen: Specimen, changed: Program, back: int) -> Iterator[Specimen]:
    inputs = _first(specimen, changed, back)
    for end in (0, -1):
        kept = specimen.mapped(lambda w, end=end: w.take(end, back) if w.ndim >= -back and w.size else w)  # type: ignore[misc]
        yield replace(kept, program=changed, inputs=inputs)


def _removed(values: tuple[Any, ...], k: int) -> tuple[Any, ...]:
    return (*values[:k], *values[k + 1 :])


def _first(specimen: Specimen, changed: Program, back: int) -> dict[str, Array]:
    """The inputs, of those that lose the axis `back` the first entry along it."""
    inputs = dict(specimen.inputs)
    for p in changed.params:
        value = inputs[p.name]
        if np.ndim(value) == p.type.rank + 1 and np.shape(value)[back]:
            inputs[p.name] = np.take(value, 0, back)
    return inputs


def without_axis(program: Program, rank: int, axis: int, aligned: bool) -> Program:
    """`program` without the axis of its arrays of `rank`; where `aligned`, of arrays of lower rank that reach so far from the back, too."""
    back = axis - rank

    def place(n: int) -> int | None:
        """Where an array of rank `n` has the axis."""
        return n + back if n == rank or (aligned and -back <= n < rank) else None

    def expr(e: Expr) -> Expr:
        if isinstance(e, ArrayConst):
            k = place(len(e.shape))
            if k is None or not e.shape[k]:
                return e
            if len(e.shape) == 1:
                return e.values[0]
            first = _entries(e).take(0, k)
            return ArrayConst(e.dtype, first.shape, tuple(map(Const, first.ravel().tolist())))
        if isinstance(e, Call):
            return _call_without_axis(e, rank, axis)
        return e

    def param(p: Param) -> Param:
        k = place(p.type.rank)
        return p if k is None else Param(p.name, Type(p.type.dtype, _removed(p.type.shape, k)))

    return Program(program.name, tuple(map(param, program.params)), map_expressions(program.body, expr))


def _call_without_axis(e: Call, rank: int, axis: int) -> Call:
    args = e.args
    pattern = dict(e.params).get("pattern")
    if isinstance(pattern, tuple) and len(pattern) == rank and pattern[axis] == "at":
        skip = (1 if e.op == "index" else 2) + sum(entry == "at" for entry in pattern[:axis])
        args = _removed(args, skip)
    return replace(e, args=args, params=tuple((name, _parameter_without_axis(name, v, rank, axis)) for name, v in e.params))


def _parameter_without_axis(name: str, value: Any, rank: int, axis: int) -> Any:
    def renumbered(v: int) -> int:
        """The same axis by its new number; another one where it is the one that goes."""
        return min(v - (v > axis), rank - 2) if v >= 0 else max(v + (v < axis - rank), 1 - rank)

    if name == "axis" and isinstance(value, int):
        return renumbered(value)
    if name == "axis" and isinstance(value, tuple):
        return tuple(renumbered(v) for v in value if v not in (axis, axis - rank)) or None
    if isinstance(value, tuple) and len(value) == rank and name in ("shape", "pattern", "window", "strides", "padding"):
        return _removed(value, axis)
    if name == "axes" and len(value) == rank:
        return tuple(v - 1 if v > axis else v for v in value if v != axis)
    return value


# Shorter axes ----------------------------------------------------------------------------------------------------------


def shorter_axes(specimen: Specimen) -> Iterator[Draft]:
    """Everything as scalars; then one axis length, wherever it occurs, or in matrices only, made smaller; then one axis of one parameter."""
    program = specimen.program
    arrays = any(p.type.shape for p in program.params) or any(isinstance(n, ArrayConst) for n in walk(program))
    if not arrays:
        return
    scalar_params = tuple(Param(p.name, Type(p.type.dtype)) for p in program.params)
    yield Program(program.name, scalar_params, map_expressions(program.body, _scalar))
    for k, p in enumerate(program.params):
        if p.type.shape:
            yield replace(program, params=(*program.params[:k], scalar_params[k], *program.params[k + 1 :]))
    sizes = {n for p in program.params for n in p.type.shape if n} | {
        n for e in walk(program) if isinstance(e, ArrayConst) for n in e.shape if n
    }
    for size in sorted(sizes, reverse=True):
        for smaller in (1, 2, size - 1):
            if 0 < smaller < size:
                for last in (None, 2):
                    changed = _resized(program, size, smaller, last)
                    yield replace(specimen, program=changed, inputs=_in_range(specimen, smaller))
                    yield ordinary(replace(specimen, program=changed))
    for k, p in enumerate(program.params):
        for axis, n in enumerate(p.type.sizes):
            for smaller in dict.fromkeys((1, 2, n - 1)):
                if 0 < smaller < n:
                    shape = tuple(smaller if a == axis else m for a, m in enumerate(p.type.sizes))
                    param = Param(p.name, Type(p.type.dtype, shape))
                    changed = replace(program, params=(*program.params[:k], param, *program.params[k + 1 :]))
                    yield changed
                    yield ordinary(replace(specimen, program=changed))


def _in_range(specimen: Specimen, size: int) -> dict[str, Array]:
    """The inputs, those that are indices made to fit an axis of `size`."""
    places = {
        a.id for c in walk(specimen.program) if isinstance(c, Call) for k in OPS[c.op].indices if isinstance(a := c.args[k], Name)
    }
    return {name: np.minimum(v, size - 1) if name in places else v for name, v in specimen.inputs.items()}


def _scalar(e: Expr) -> Expr:
    if isinstance(e, ArrayConst):
        return e.values[0] if e.values else Const(1.0)
    if isinstance(e, Call) and e.op in _SCALAR_FORM:
        return e.args[_SCALAR_FORM[e.op]]
    if isinstance(e, Call) and e.op in _SCALAR_PRODUCTS:
        return Call("multiply", e.args)
    if isinstance(e, Call) and e.op == "scatter_add":
        return Call("add", (e.args[0], e.args[2]))
    return e


def _entries(e: ArrayConst) -> Any:
    return np.array([v.value for v in e.values], object).reshape(e.shape)


def _resized(program: Program, size: int, smaller: int, last: int | None = None) -> Program:
    """`program` with every axis of length `size`, and every `for` of so many trips, made `smaller`; places along it stay in range.

    With `last` only so many axes of an array, the last ones: a batch may be as long as its matrices.
    """

    def shape(old: tuple[Any, ...]) -> tuple[Any, ...]:
        first = 0 if last is None else len(old) - last
        return tuple(smaller if n == size and k >= first else n for k, n in enumerate(old))

    def parameter(value: Any) -> Any:
        if isinstance(value, tuple) and len(value) == 3 and value[0] == "slice":
            return ("slice", min(value[1], smaller), smaller if value[2] == size else min(value[2], smaller))
        if isinstance(value, tuple) and all(isinstance(n, int) for n in value):
            return shape(value)
        return tuple(map(parameter, value)) if isinstance(value, tuple) else value

    def expr(e: Expr) -> Expr:
        if isinstance(e, ArrayConst) and size in e.shape:
            cut = _entries(e)[tuple(map(slice, shape(e.shape)))]
            return ArrayConst(e.dtype, cut.shape, tuple(map(Const, cut.ravel().tolist())))
        if isinstance(e, Call) and e.op in ("reshape", "broadcast_to", "index", "index_update"):
            return replace(e, params=tuple((name, parameter(value)) for name, value in e.params))
        if isinstance(e, Call) and OPS[e.op].indices:
            return replace(e, args=tuple(place(a) if k in OPS[e.op].indices else a for k, a in enumerate(e.args)))
        return e

    def place(e: Expr) -> Expr:
        if not isinstance(e, ArrayConst):
            return e
        return replace(e, values=tuple(map(Const, np.minimum(_entries(e), smaller - 1).ravel().tolist())))

    def trips(s: Stmt) -> Stmt:
        match s:
            case For():
                count = Const(smaller) if s.count == Const(size) else s.count
                return replace(s, count=count, body=tuple(map(trips, s.body)))
            case While() | Repeat():
                return replace(s, body=tuple(map(trips, s.body)))
            case If():
                return replace(s, body=tuple(map(trips, s.body)), orelse=tuple(map(trips, s.orelse)))
        return s

    params = tuple(Param(p.name, Type(p.type.dtype, shape(p.type.shape))) for p in program.params)
    return Program(program.name, params, tuple(map(trips, map_expressions(program.body, expr))))


# Parameters of ops -----------------------------------------------------------------------------------------------------


def plainer_parameters(specimen: Specimen) -> Iterator[Draft]:
    """A parameter of an op at its default; an axis 0; one entry of a window, a stride or a padding smaller."""

    def plainer(e: Expr) -> Iterator[Expr]:
        if not isinstance(e, Call):
            return
        defaults = dict(OPS[e.op].params)
        for k, (name, value) in enumerate(e.params):
            options: list[Any] = [] if defaults[name] in (..., value) else [defaults[name]]
            if name == "axis" and value not in (0, None):
                options.append(0)
            elif name in ("window", "strides", "padding") and isinstance(value, tuple):
                options += _smaller(value)
            for option in options:
                yield replace(e, params=(*e.params[:k], (name, option), *e.params[k + 1 :]))

    for body in expression_edits(specimen.program.body, plainer):
        yield replace(specimen.program, body=body)


def _smaller(value: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    for k, entry in enumerate(value):
        if isinstance(entry, int) and entry > 1:
            yield (*value[:k], entry - 1, *value[k + 1 :])
        elif isinstance(entry, tuple) and any(entry):
            yield (*value[:k], (0, 0), *value[k + 1 :])
