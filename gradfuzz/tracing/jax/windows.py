"""JAX's reductions of windows, as ops: each window's entries are taken out of the array as one row.

Those that a function of its own reduces are folded entry by entry.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jax.extend import core

import gradfuzz.engine as engine
from gradfuzz.engine.rules.value import Operand, apply
from gradfuzz.errors import UntraceableError
from gradfuzz.tracing.common.compositions import at_positions, by_windows, flat, recorded
from gradfuzz.tracing.jax.cell import JaxprCell, cell_of
from gradfuzz.tracing.jax.walker import Walker

Rule = Callable[..., Any]
Rows = np.ndarray[Any, np.dtype[np.int64]]

_MOST_STEPS = 400
"""Steps of a reduction by a function, each of which is written out."""


def _rows(equation: Any, shape: tuple[int, ...]) -> Rows:
    """The entries of an array of `shape` that lie in each window, one row for each: ints that count the
    entries in row-major order, and -1 for what is padding.
    """
    p = equation.params
    ones = (1,) * len(shape)
    base, spread = p.get("base_dilation", ones), p.get("window_dilation", ones)
    wide = [(n - 1) * d + 1 if n else 0 for n, d in zip(shape, base, strict=True)]
    places = np.full(wide, -1)
    places[tuple(slice(None, None, d) for d in base)] = np.arange(math.prod(shape)).reshape(shape)
    places = np.pad(places, p["padding"], constant_values=-1)
    spans = [(n - 1) * d + 1 for n, d in zip(p["window_dimensions"], spread, strict=True)]
    places = np.lib.stride_tricks.sliding_window_view(places, spans)
    places = places[tuple(slice(None, None, n) for n in (*p["window_strides"], *spread))]
    return np.asarray(places.reshape(-1, math.prod(p["window_dimensions"])))


def _of_each(rows: Rows, reduced: Callable[[Rows], Any]) -> Any:
    """What `reduced` makes of the entries of windows, in the order of the windows."""
    (found,) = by_windows([row[row >= 0] for row in rows], lambda inside: (reduced(inside),))
    return found


def _window_sum(equation: Any, x: Operand) -> Any:
    p = equation.params
    if any(d != 1 for d in (*p["base_dilation"], *p["window_dilation"])):
        raise UntraceableError("JAX's reduce_window_sum with dilation")
    strides, padding = tuple(p["window_strides"]), tuple(map(tuple, p["padding"]))
    return engine.window_sum(x, tuple(p["window_dimensions"]), strides=strides, padding=padding)


def _window_extreme(op: str) -> Rule:
    """The extremes of windows."""

    def rule(equation: Any, x: Operand) -> Any:
        def reduced(inside: Rows) -> Any:
            return apply(op, at_positions(x, inside), axis=(1,), keepdims=False)

        found = _of_each(_rows(equation, np.shape(x)), reduced)
        return engine.reshape(found, tuple(equation.outvars[0].aval.shape))

    return rule


def _where(equation: Any, x: Operand) -> Any:
    """Where in an array the extreme of each window stands, which is the first of equal ones."""
    op = {"ge": "argmax", "le": "argmin"}[equation.params["select_prim"].name]

    def reduced(inside: Rows) -> Any:
        k = apply(op, at_positions(x, inside), axis=1, keepdims=False)
        return at_positions(inside, apply("add", k, np.arange(len(inside)) * inside.shape[1]))

    return _of_each(_rows(equation, np.shape(x)), reduced)


def _gathered(equation: Any, tangents: Operand, x: Operand) -> Any:
    """The entries of `tangents` where the extremes of the windows of `x` stand."""
    found = at_positions(tangents, _where(equation, x))
    return engine.reshape(found, tuple(equation.outvars[0].aval.shape))


def _scattered(equation: Any, source: Operand, x: Operand) -> Any:
    """Zeros, to which the entries of `source` are added where the extremes of the windows of `x` stand."""
    zeros = recorded(np.zeros(math.prod(np.shape(x))))
    found = apply("scatter_add", zeros, _where(equation, x), flat(source), axis=0)
    return engine.reshape(found, np.shape(x))


WINDOWS: dict[str, Rule] = {
    "reduce_window_max": _window_extreme("amax"),
    "reduce_window_min": _window_extreme("amin"),
    "reduce_window_sum": _window_sum,
    "select_and_gather_add": _gathered,
    "select_and_scatter_add": _scattered,
}
"""Primitives by name."""


def _folded(walker: Walker, equation: Any, cells: Sequence[JaxprCell], rows: Rows) -> list[Any]:
    """The results of a function that takes two states to one, over the entries of each row, from the initial
    values on.
    """
    if rows.size > _MOST_STEPS:
        raise UntraceableError(f"JAX's {equation.primitive.name} of more than {_MOST_STEPS} entries")
    count = len(cells) // 2
    arrays, initial = [flat(c.operand) for c in cells[:count]], list(cells[count:])
    inner = _closed(equation)
    states = []
    for row in rows:
        state = initial
        for place in row:
            entries = [cell_of(at_positions(x, int(place))) for x in arrays] if place >= 0 else initial
            state = walker.run(inner, [*state, *entries])
        states.append([c.operand for c in state])
    shapes = [tuple(v.aval.shape) for v in equation.outvars]
    columns = [engine.stack(own, axis=0) for own in zip(*states, strict=True)]
    return [engine.reshape(column, shape) for column, shape in zip(columns, shapes, strict=True)]


def _closed(equation: Any) -> core.ClosedJaxpr:
    """The function, whose constants some primitives keep beside it."""
    inner, consts = equation.params["jaxpr"], equation.params.get("consts", ())
    return inner if isinstance(inner, core.ClosedJaxpr) else core.ClosedJaxpr(inner, consts)


def _window_fold(walker: Walker, equation: Any, cells: Sequence[JaxprCell]) -> list[Any]:
    return _folded(walker, equation, cells, _rows(equation, np.shape(cells[0].operand)))


def _fold(walker: Walker, equation: Any, cells: Sequence[JaxprCell]) -> list[Any]:
    """Over some axes of an array."""
    shape, axes = np.shape(cells[0].operand), tuple(equation.params["dimensions"])
    rest = [a for a in range(len(shape)) if a not in axes]
    places = np.arange(math.prod(shape)).reshape(shape).transpose(*rest, *axes)
    return _folded(walker, equation, cells, places.reshape(math.prod(shape[a] for a in rest), -1))


FOLDS: dict[str, Callable[..., Sequence[Any]]] = {"reduce": _fold, "reduce_window": _window_fold}
"""Primitives by name; the rules take the walker, too."""
