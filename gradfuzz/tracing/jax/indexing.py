"""JAX's slices, gathers, scatters and paddings, as ops.

A general gather reads the array as one row: the places of all entries of the result are ints, computed of the
indices. An index that is outside of the array where JAX promises nothing leaves the domain of an op: then
nothing is said about the gradient.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import gradfuzz.engine as engine
from gradfuzz.engine.rules.value import Operand, Value, apply
from gradfuzz.errors import UntraceableError
from gradfuzz.tracing.common.compositions import at_positions, flat, inside, kind_of, recorded, replaced_at
from gradfuzz.tracing.common.convolutions import padded

Rule = Callable[..., Any]
Shape = tuple[int, ...]


def part(x: Operand, axis: int, start: int, stop: int) -> Any:
    """The entries of `axis` from `start` to `stop`."""
    slices = [("slice", 0, n) for n in np.shape(x)]
    slices[axis] = ("slice", start, stop)
    return apply("index", x, pattern=tuple(slices))


def taken(x: Operand, places: Operand, axis: int) -> Any:
    """The entries of `axis` at `places`; a slice where they are one after the other."""
    if (
        not isinstance(places, Value)
        and np.ndim(places) == 1
        and len(places)
        and np.array_equal(places, np.arange(places[0], places[0] + len(places)))
    ):
        return part(x, axis, int(places[0]), int(places[0]) + len(places))
    return apply("take", x, places, axis=axis)


def _sliced(equation: Any, x: Operand) -> Any:
    p = equation.params
    strides = p["strides"] or (1,) * len(np.shape(x))
    for axis, (start, stop, step) in enumerate(
        zip(p["start_indices"], p["limit_indices"], strides, strict=True)
    ):
        if (start, stop, step) != (0, np.shape(x)[axis], 1):
            x = taken(x, np.arange(start, stop, step), axis) if start < stop else part(x, axis, 0, 0)
    return x


def _clamped(start: Operand, most: int) -> Any:
    """An index that JAX moves into the array."""
    return engine.minimum(engine.maximum(start, 0), most)


def _window(shape: Shape, sizes: Shape, starts: Sequence[Operand]) -> tuple[list[Operand], bool]:
    """Where a window of `sizes` begins along each axis, and whether all its axes have one entry or all."""
    begins = [0 if n == m else _clamped(s, n - m) for s, n, m in zip(starts, shape, sizes, strict=True)]
    return begins, all(m in (1, n) for n, m in zip(shape, sizes, strict=True))


def _pattern(shape: Shape, sizes: Shape, begins: Sequence[Operand]) -> tuple[tuple[Any, ...], list[Operand]]:
    """The index pattern of a window whose axes have one entry or all, and its int arguments."""
    pattern: tuple[Any, ...] = tuple(
        ("slice", 0, n) if m == n else "at" for n, m in zip(shape, sizes, strict=True)
    )
    return pattern, [b for b, entry in zip(begins, pattern, strict=True) if entry == "at"]


def _dynamic_slice(equation: Any, x: Operand, *starts: Operand) -> Any:
    shape, sizes = np.shape(x), tuple(equation.params["slice_sizes"])
    begins, plain = _window(shape, sizes, starts)
    if plain:
        pattern, places = _pattern(shape, sizes, begins)
        if not places:
            return x
        return engine.reshape(apply("index", x, *places, pattern=pattern), sizes)
    for axis, (begin, n, m) in enumerate(zip(begins, shape, sizes, strict=True)):
        if n != m:
            x = taken(x, apply("add", begin, np.arange(m)), axis)
    return x


def _dynamic_update(equation: Any, x: Operand, update: Operand, *starts: Operand) -> Any:
    shape, sizes = np.shape(x), np.shape(update)
    begins, plain = _window(shape, sizes, starts)
    if plain:
        pattern, named = _pattern(shape, sizes, begins)
        if not named:
            return update
        region = tuple(n for n, entry in zip(shape, pattern, strict=True) if entry != "at")
        return apply("index_update", x, engine.reshape(update, region), *named, pattern=pattern)
    places: Any = 0
    for axis, (begin, m) in enumerate(zip(begins, sizes, strict=True)):
        line = apply("add", begin, np.arange(m))
        places = apply("add", places, _lying(line, axis, len(shape)) * math.prod(shape[axis + 1 :]))
    return _written(x, places, update, lambda old, new: new, unique=True)


def _lying(line: Operand, axis: int, rank: int) -> Any:
    """A row of ints as an array along `axis`."""
    return engine.reshape(line, tuple(np.shape(line)[0] if a == axis else 1 for a in range(rank)))


# Gather -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Places:
    """Where the windows of a gather or scatter lie.

    `window` are the axes of the gathered (or of the updates) that lie inside a window, `inner` those of the
    array that they run along, in order; `mapped` the axes of the array that each index names, `sizes` the
    window's extent along all axes of the array. `shared` pairs batch axes of the array with those of the
    indices.
    """

    shape: Shape
    result: Shape
    window: tuple[int, ...]
    inner: tuple[int, ...]
    mapped: tuple[int, ...]
    sizes: Shape
    shared: tuple[tuple[int, int], ...]
    mode: str

    @classmethod
    def of(
        cls, equation: Any, x: Operand, result: Shape, window: Shape, gone: Shape, mapped: Shape, batch: Shape
    ) -> _Places:
        """Those of an equation about `x`; no window runs along the axes `gone`. `batch` is of the indices."""
        shape, own_batch = np.shape(x), equation.params["dimension_numbers"].operand_batching_dims
        inner = tuple(a for a in range(len(shape)) if a not in (*gone, *own_batch))
        sizes = {along: result[own] for own, along in zip(window, inner, strict=True)}
        extents = tuple(sizes.get(a, 1) for a in range(len(shape)))
        shared = tuple(zip(own_batch, batch, strict=True))
        mode = str(equation.params["mode"]).rpartition(".")[2].upper()
        return cls(shape, result, tuple(window), inner, tuple(map(int, mapped)), extents, shared, mode)

    @property
    def outer(self) -> tuple[int, ...]:
        """The axes of the result that are those of the indices."""
        return tuple(a for a in range(len(self.result)) if a not in self.window)

    def starts(self, indices: Operand) -> list[Any]:
        """One array of ints for each mapped axis, moved into the array where JAX does that."""
        pattern: tuple[Any, ...] = (*(("slice", 0, n) for n in np.shape(indices)[:-1]), "at")
        found = [apply("index", indices, k, pattern=pattern) for k in range(len(self.mapped))]
        return self.clamped(found) if self.mode == "CLIP" else found

    def clamped(self, starts: Sequence[Operand]) -> list[Any]:
        """The starts, moved into the array."""
        most = [self.shape[axis] - self.sizes[axis] for axis in self.mapped]
        return list(map(_clamped, starts, most))

    def inside(self, starts: Sequence[Operand]) -> Any:
        """Which windows lie inside of the array; None where it is known that all do."""
        if self.mode == "CLIP":
            return None
        verdict: Any = None
        for start, axis in zip(starts, self.mapped, strict=True):
            most = self.shape[axis] - self.sizes[axis]
            here = apply("logical_and", apply("greater_equal", start, 0), apply("less_equal", start, most))
            verdict = here if verdict is None else apply("logical_and", verdict, here)
        if verdict is None or (not isinstance(verdict, Value) and np.all(verdict)):
            return None
        return self.spread(verdict)

    def spread(self, x: Operand) -> Any:
        """What is there for each index, lying along the axes of the result."""
        return engine.reshape(x, tuple(n if a in self.outer else 1 for a, n in enumerate(self.result)))

    def flat(self, starts: Sequence[Operand], *, move: bool) -> Any:
        """The places of all entries of the result in the array as one row; `move`: inside of it."""
        strides = [math.prod(self.shape[a + 1 :]) for a in range(len(self.shape))]
        base = np.zeros(self.result, np.int64)
        for own, along in zip(self.window, self.inner, strict=True):
            base += _along_axis(self.result, own) * strides[along]
        for axis, batch in self.shared:
            base += _along_axis(self.result, self.outer[batch]) * strides[axis]
        places: Any = base
        for start, axis in zip(self.clamped(starts) if move else starts, self.mapped, strict=True):
            places = apply("add", places, self.spread(start) * strides[axis])
        return places


def _along_axis(shape: Shape, axis: int) -> Any:
    return np.arange(shape[axis]).reshape([n if a == axis else 1 for a, n in enumerate(shape)])


def _gather(equation: Any, x: Operand, indices: Operand) -> Any:
    p, numbers = equation.params, equation.params["dimension_numbers"]
    shape, result = np.shape(x), tuple(equation.outvars[0].aval.shape)
    if 0 in result or 0 in shape:
        raise UntraceableError("JAX's gather of no entries")
    window, gone, mapped = numbers.offset_dims, numbers.collapsed_slice_dims, numbers.start_index_map
    places = _Places.of(equation, x, result, window, gone, mapped, numbers.start_indices_batching_dims)
    starts = places.starts(indices)
    fill = p["fill_value"]
    ends = kind_of(x) in ("float", "complex") and (fill is None or np.isnan(fill))
    one = not places.shared and places.mapped == tuple(gone) and len(starts) == 1
    if ends and one:
        axis = int(places.mapped[0])
        if all(n == m for a, (n, m) in enumerate(zip(shape, places.sizes, strict=True)) if a != axis):
            return _in_order(apply("take", x, starts[0], axis=axis), places, axis, len(np.shape(starts[0])))
    verdict = places.inside(starts)
    found = at_positions(x, places.flat(starts, move=verdict is not None))
    if verdict is None:
        return found
    if ends:
        return inside(verdict, found)
    if places.mode != "FILL_OR_DROP" or fill is None:
        raise UntraceableError("JAX's gather of ints at indices that may be outside of the array")
    return engine.where(verdict, found, recorded(np.asarray(fill)) if kind_of(x) != "bool" else bool(fill))


def _in_order(found: Operand, places: _Places, axis: int, count: int) -> Any:
    """What `take` gives, whose new axes stand at `axis`, with its axes where the gather has them."""
    rank = len(np.shape(found))
    new = list(range(axis, axis + count))
    old = [a for a in range(rank) if a not in new]
    order = [0] * rank
    for place, source in zip((*places.outer, *places.window), (*new, *old), strict=True):
        order[place] = source
    return found if order == list(range(rank)) else engine.permute_dims(found, tuple(order))


# Scatter ----------------------------------------------------------------------------------------------------


def _written(
    x: Operand,
    places: Operand,
    updates: Operand,
    combine: Callable[[Any, Any], Any],
    *,
    unique: bool,
    drop: Operand = None,
    repeats: bool = False,
) -> Any:
    """`x` with combine(old, update) at `places`, ints that count its entries in row-major order.

    No place may be named twice, but for one that is constant where an update after the other `repeats`: where
    that shows only when the program runs, nothing is said about the gradient then.
    """
    size = math.prod(np.shape(x))
    if not isinstance(places, Value) and drop is None:
        turns = _turns(places) if repeats else []
        if len(turns) <= 1:
            return replaced_at(x, places, combine(at_positions(x, places), updates))
        for turn in turns:
            here = np.ravel(places)[turn]
            x = replaced_at(x, here, combine(at_positions(x, here), at_positions(updates, turn)))
        return x
    if kind_of(x) not in ("float", "complex"):
        raise UntraceableError("JAX's scatter of ints or bools at indices that are not constant")
    ones, kept = engine.broadcast_to(1, np.shape(places)), updates
    if drop is not None:
        ones = engine.where(drop, 1, np.zeros(np.shape(places), np.int64))
        kept = engine.where(drop, updates, 0.0)
    row = flat(places)
    count = apply("scatter_add", np.zeros(size, np.int64), row, flat(ones), axis=0)
    new = apply("scatter_add", recorded(np.zeros(size)), row, flat(kept), axis=0)
    old = flat(x)
    result = engine.where(apply("greater", count, 0), combine(old, new), old)
    if not unique:
        result = inside(apply("less_equal", count, 1), result)
    return engine.reshape(result, np.shape(x))


def _turns(places: Any) -> list[list[int]]:
    """Which of some places come first, which second and so on of those that are equal."""
    turns: defaultdict[int, list[int]] = defaultdict(list)
    seen: Counter[int] = Counter()
    for k, place in enumerate(np.ravel(places).tolist()):
        turns[seen[place]].append(k)
        seen[place] += 1
    return list(turns.values())


def _scatter(combine: Callable[[Any, Any], Any], *, adds: bool = False, repeats: bool = False) -> Rule:
    def rule(equation: Any, x: Operand, indices: Operand, updates: Operand) -> Any:
        p, numbers = equation.params, equation.params["dimension_numbers"]
        if equation.primitive.name == "scatter" and p["update_jaxpr"] is not None:
            raise UntraceableError("JAX's scatter with a function of its own")
        shape, given = np.shape(x), np.shape(updates)
        if 0 in given or 0 in shape:
            return x
        window, gone = numbers.update_window_dims, numbers.inserted_window_dims
        mapped, batch = numbers.scatter_dims_to_operand_dims, numbers.scatter_indices_batching_dims
        places = _Places.of(equation, x, given, window, gone, mapped, batch)
        sizes = places.sizes
        starts = places.starts(indices)
        wide = all(m == n or a in places.mapped for a, (m, n) in enumerate(zip(sizes, shape, strict=True)))
        if not places.outer and wide and all(sizes[a] == 1 for a in places.mapped):
            return _at_one_place(x, dict(zip(places.mapped, starts, strict=True)), updates, combine)
        verdict = places.inside(starts)
        flat_places = places.flat(starts, move=verdict is not None)
        if verdict is not None:
            verdict = engine.broadcast_to(verdict, given)
        if adds:
            zero = 0 if kind_of(x) == "int" else 0.0
            kept = updates if verdict is None else engine.where(verdict, updates, zero)
            return engine.reshape(apply("scatter_add", flat(x), flat(flat_places), flat(kept), axis=0), shape)
        unique = bool(p["unique_indices"])
        return _written(x, flat_places, updates, combine, unique=unique, drop=verdict, repeats=repeats)

    return rule


def _at_one_place(
    x: Operand, named: dict[int, Operand], updates: Operand, combine: Callable[[Any, Any], Any]
) -> Any:
    """One window, one entry wide along the axes `named` and as wide as the array along all others."""
    pattern = tuple("at" if a in named else ("slice", 0, n) for a, n in enumerate(np.shape(x)))
    places = [named[a] for a in sorted(named)]
    region = tuple(n for a, n in enumerate(np.shape(x)) if a not in named)
    new = updates if np.shape(updates) == region else engine.reshape(updates, region)
    written = combine(apply("index", x, *places, pattern=pattern), new)
    return apply("index_update", x, written, *places, pattern=pattern)


_COMBINED: dict[str, Rule] = {
    "add": _scatter(lambda old, new: old + new, adds=True),
    "max": _scatter(engine.maximum, repeats=True),
    "min": _scatter(engine.minimum, repeats=True),
    "mul": _scatter(lambda old, new: old * new, repeats=True),
}


INDEXING: dict[str, Rule] = {
    "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update,
    "gather": _gather,
    "pad": lambda equation, x, filling: padded(x, filling, equation.params["padding_config"]),
    "scatter": _scatter(lambda old, new: new),
    "scatter-sub": _scatter(lambda old, new: old - new, repeats=True),
    **{f"scatter{dash}{name}": rule for dash in "-_" for name, rule in _COMBINED.items()},
    "slice": _sliced,
}
"""Primitives by name."""
