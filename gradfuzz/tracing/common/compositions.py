"""Elementwise functions by the names that libraries have for them, and functions that the op table does not
have, composed of those that it has.

They take recording values, numbers and arrays, and keep their digits where the function does: a composition
that lost some would widen what is allowed to the function that is traced. `UntraceableError` where nothing
fits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal

import numpy as np

import gradfuzz.engine as engine
from gradfuzz.engine.api.tracing import active_builder, type_of
from gradfuzz.engine.rules.value import ACTIVE, Operand, Value, apply, as_atom
from gradfuzz.errors import UntraceableError
from gradfuzz.programs.language.functions import Function, for_each
from gradfuzz.programs.language.types import DType, promote

MOST_EQUATIONS = 20_000
"""Equations of a trace: an unrolled Python loop of more is too long for the references anyway."""

MOST_DECISIONS = 256
"""Numbers of the arguments that Python may ask for to decide by."""

MOST_ENTRIES = 500_000
"""Entries of one constant of a trace."""

_DTYPES: dict[DType, Any] = {"bool": np.bool_, "int": np.int64, "float": np.float64, "complex": np.complex128}


COMPARISONS = {
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
}
"""Comparisons as Python, JAX and Torch call them, and the ops."""


def by_name(*handlers: Callable[..., Any]) -> dict[str, Callable[..., Any]]:
    """A table of handlers that are called like what they handle: `_where` is of "where"."""
    return {handler.__name__.removeprefix("_"): handler for handler in handlers}


def check_room() -> None:
    """`UntraceableError` where the function that is being traced has become too long."""
    builder = active_builder()
    if builder is not None and len(builder.nodes) > MOST_EQUATIONS:
        raise UntraceableError(too_long())


def too_many() -> UntraceableError:
    """Where Python asks for more numbers than may be."""
    return UntraceableError(
        f"Python asks for more than {MOST_DECISIONS} numbers of the arguments to decide by; ask about fewer"
        " trips of a loop"
    )


def too_long() -> str:
    """Why a trace has ended."""
    return (
        f"the function takes more than {MOST_EQUATIONS:,} steps, Python loops being written out trip by trip;"
        " ask about fewer trips or smaller arrays"
    )


def recorded(constant: Operand) -> Any:
    """A number or an array as a value of the trace: what is computed of it is computed in the precision of
    whoever runs the program.
    """
    if isinstance(constant, Value):
        return constant
    stack = ACTIVE.get()
    assert stack, "a constant is recorded while a function is traced"
    if np.size(constant) > MOST_ENTRIES:
        raise UntraceableError(
            f"a constant of {np.size(constant):,} entries is too large for a program; the most is"
            f" {MOST_ENTRIES:,}"
        )
    return Value(stack[-1], as_atom(constant), len(stack))


def kind_of(x: Operand) -> DType:
    """The dtype of a value, a number or an array, as programs know dtypes."""
    return type_of(x).dtype


def common_kind(*operands: Operand) -> DType:
    """The dtype that all operands convert to."""
    return promote(map(kind_of, operands))


def as_kind(x: Operand, kind: DType) -> Any:
    """`x` as another dtype; a number is true where it is not 0. `UntraceableError` for a float made
    an int.
    """
    have = kind_of(x)
    if have == kind:
        return x
    if kind == "bool":
        return engine_compare("not_equal", x, as_kind(0, have))
    if promote((have, kind)) != kind:
        raise UntraceableError(
            f"{have} numbers are converted to {kind}, which hides a derivative; no op of gradfuzz does that"
        )
    if isinstance(x, Value):
        return apply("astype", x, dtype=kind)
    return np.asarray(x, _DTYPES[kind])[()]


def where_held(decisions: Iterable[tuple[Operand, bool]], results: Sequence[Any]) -> tuple[Any, ...]:
    """The results where the bools that decided are as they were; floats are 0 elsewhere."""
    held: Operand = True
    for asked, side in decisions:
        held = apply("logical_and", held, asked if side else apply("logical_not", asked))
    if not isinstance(held, Value):
        return tuple(results)
    return tuple(engine.where(held, y, 0.0) if kind_of(y) == "float" else y for y in results)


def engine_compare(op: str, x: Operand, y: Operand) -> Any:
    """A comparison; bools are compared as ints."""
    kind = common_kind(x, y)
    kind = "int" if kind == "bool" else kind
    return apply(op, as_kind(x, kind), as_kind(y, kind))


def spread(x: Operand, shape: tuple[int, ...]) -> Any:
    """`x` repeated to a shape, which it may have already."""
    return x if np.shape(x) == shape else engine.broadcast_to(x, shape)


def flat(x: Operand) -> Any:
    """The entries of `x` in one row."""
    return engine.reshape(x, (math.prod(np.shape(x)),))


# Elementwise ------------------------------------------------------------------------------------------------

_ROWS: dict[tuple[str, str], Function] = {}


@for_each
def _known(row: Function) -> None:
    for where in ("jax primitive", "aten", "ufunc"):
        for name in row.spelled(where):
            _ROWS.setdefault((where, name), row)


def row_of(where: str, name: str) -> Function | None:
    """The elementwise function that a library calls `name`; `where` is "jax primitive", "aten" or "ufunc"."""
    return _ROWS.get((where, name))


def elementwise(row: Function, *operands: Operand) -> Any:
    """A function of floats; of complex numbers where it takes them, or is composed of functions that do."""
    if row.complex or all(kind_of(o) != "complex" for o in operands):
        return apply(row.name, *operands)
    if row.name not in _OF_COMPLEX:
        raise UntraceableError(f"{row.name} of complex numbers; gradfuzz has that of real ones")
    return _OF_COMPLEX[row.name](*operands)


_OF_COMPLEX: dict[str, Callable[..., Any]] = {
    "cosh": lambda x: (engine.exp(x) + engine.exp(-x)) / 2.0,
    "exp2": lambda x: engine.exp(x * engine.log(recorded(2.0))),
    "log10": lambda x: engine.log(x) / engine.log(recorded(10.0)),
    "log2": lambda x: engine.log(x) / engine.log(recorded(2.0)),
    "positive": lambda x: x,
    "reciprocal": lambda x: 1.0 / x,
    "rsqrt": lambda x: 1.0 / engine.sqrt(x),
    "square": lambda x: x * x,
    "xlogy": lambda x, y: x * engine.log(y),
}


def log_sigmoid(x: Operand) -> Any:
    """The logarithm of 1 / (1 + exp(-x))."""
    return -apply("logaddexp", -x, 0.0)


def logit(x: Operand) -> Any:
    """The inverse of 1 / (1 + exp(-x))."""
    return engine.log(x) - engine.log1p(-x)


def inside(holds: Operand, x: Operand) -> Any:
    """`x`, and outside of every domain where one of the bools `holds` is false."""
    met = engine.all(holds) if np.shape(holds) else holds
    return x + engine.cond(met, lambda: recorded(0.0), lambda: engine.log(recorded(-1.0)))


def power(x: Operand, y: Operand) -> Any:
    """x ** y, where an exponent that is a whole number, the same everywhere, is defined for every x."""
    if not isinstance(y, Value):
        exponents, shape = np.unique(np.asarray(y)), np.broadcast_shapes(np.shape(x), np.shape(y))
        if exponents.size == 1 and np.isrealobj(exponents):
            exponent = float(exponents[0])
            if exponent in (0.5, -0.5):
                root = engine.sqrt(spread(x, shape))
                return root if exponent > 0 else 1.0 / root
            if exponent.is_integer() and abs(exponent) <= 2**31:
                return apply("integer_pow", spread(x, shape), n=int(exponent))
    return engine.pow(x, y)


# Reductions -------------------------------------------------------------------------------------------------


def variance(
    x: Operand, *, axis: tuple[int, ...] | None = None, correction: float = 0, keepdims: bool = False
) -> Any:
    """The mean square of the distance from the mean, divided by the count less `correction`."""
    count = _count(x, axis)
    if count - correction <= 0:
        raise UntraceableError(
            f"a variance of {count} numbers with the correction {correction} is a division by 0"
        )
    distance = x - engine.mean(x, axis=axis, keepdims=True)
    return engine.sum(distance * distance, axis=axis, keepdims=keepdims) / (count - correction)


def _count(x: Operand, axis: tuple[int, ...] | None) -> int:
    shape = np.shape(x)
    return math.prod(shape if axis is None else [shape[a] for a in axis])


def permuted_last(x: Operand, axes: tuple[int, ...]) -> Any:
    """`x` with `axes` made one, the last."""
    rank = len(np.shape(x))
    inner = [a % rank for a in axes]
    outer = [a for a in range(rank) if a not in inner]
    moved = x if [*outer, *inner] == list(range(rank)) else engine.permute_dims(x, (*outer, *inner))
    sizes = np.shape(x)
    return engine.reshape(moved, (*(sizes[a] for a in outer), math.prod(sizes[a] for a in inner)))


def norm(x: Operand, order: float, *, axes: tuple[int, ...] | None = None, keepdims: bool = False) -> Any:
    """The vector norm of the entries along `axes` (None: all)."""
    shape = np.shape(x)
    rank = len(shape)
    inner = tuple(range(rank)) if axes is None else tuple(a % rank for a in axes)
    result = product_norm(permuted_last(x, inner) if rank else engine.reshape(x, (1,)), order)
    if keepdims:
        return engine.reshape(result, tuple(1 if a in inner else n for a, n in enumerate(shape)))
    return result


def product_norm(x: Operand, order: float) -> Any:
    """The norm along the last axis."""
    names: dict[float, Literal["inf", "-inf"]] = {math.inf: "inf", -math.inf: "-inf"}
    if order in names:
        return engine.linalg.vector_norm(x, ord=names[order], axis=-1)
    if float(order).is_integer():
        return engine.linalg.vector_norm(x, ord=int(order), axis=-1)
    return engine.pow(
        engine.sum(engine.pow(engine.abs(x), float(order)), axis=-1), 1.0 / recorded(float(order))
    )


def ascending(x: Operand, axis: int, *, descending: bool = False) -> tuple[Any, Any]:
    """The entries along an axis in order, and where they stood; of equal ones the first comes first."""
    order = engine.argsort(-x if descending else x, axis=axis)
    values = engine.take_along_axis(x, order, axis=axis) if descending else engine.sort(x, axis=axis)
    return values, order


def cross(x: Operand, y: Operand, *, axis: int) -> Any:
    """x2 y3 - x3 y2 and so on."""
    after, before = np.array([1, 2, 0]), np.array([2, 0, 1])

    def turned(z: Operand, order: Any) -> Any:
        return engine.take(z, order, axis=axis)

    return turned(x, after) * turned(y, before) - turned(x, before) * turned(y, after)


# Moving entries ---------------------------------------------------------------------------------------------


def at_positions(x: Operand, positions: Any) -> Any:
    """The entries of `x` at `positions`, ints that count them in row-major order."""
    return engine.take(flat(x), positions, axis=0)


def by_windows(windows: Sequence[Any], reduced: Callable[[Any], Sequence[Any]]) -> Iterator[Any]:
    """What `reduced` makes of the places in windows, a row each, where those of equally many are taken
    together: one result after the other, in the order of the windows.
    """
    counts = np.array([len(places) for places in windows])
    if not counts.all():
        raise UntraceableError("a window without entries")
    order = [np.flatnonzero(counts == count) for count in np.unique(counts)]
    found = [reduced(np.array([windows[k] for k in chosen.tolist()])) for chosen in order]
    back = np.argsort(np.concatenate(order))
    for parts in zip(*found, strict=True):
        yield at_positions(engine.concat(parts, axis=0), back) if len(parts) > 1 else parts[0]


def replaced_at(x: Operand, positions: Any, values: Operand) -> Any:
    """`x` with the entries at constant `positions`, all different, replaced by `values`, which broadcast to
    the shape of the positions.
    """
    places = np.asarray(positions)
    size = math.prod(np.shape(x))
    if len(np.unique(places)) != places.size:
        raise UntraceableError(
            "entries of an array are written twice in one assignment; which write counts is not defined"
        )
    kind = common_kind(x, values)
    x, values = as_kind(x, kind), as_kind(values, kind)
    if size == 0 or places.size == 0:
        return x
    source = np.zeros(size, np.int64)
    source[places.ravel()] = np.arange(places.size)
    hit = np.zeros(size, bool)
    hit[places.ravel()] = True
    moved = at_positions(recorded(spread(values, places.shape)), source.reshape(np.shape(x)))
    return moved if hit.all() else engine.where(hit.reshape(np.shape(x)), moved, x)
