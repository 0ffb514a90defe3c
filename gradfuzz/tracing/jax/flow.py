"""JAX's loops, branches and linear solves by functions, as those of the engine, and what JAX writes out.

A rule takes the walker, the equation and its cells, and gives recording values or cells.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax.extend import core

import gradfuzz.engine as engine
from gradfuzz.engine.rules.value import Operand, Value, apply
from gradfuzz.errors import UntraceableError
from gradfuzz.private_names import private
from gradfuzz.tracing.common.compositions import recorded
from gradfuzz.tracing.jax.cell import JaxprCell, cell_of
from gradfuzz.tracing.jax.linalg import BY_BITS
from gradfuzz.tracing.jax.walker import Walker, all_equations, constants_and_carries

Rule = Callable[..., Sequence[Any]]

_OF_PYTHON = ("pure_callback", "io_callback")
"""Primitives by which a compiled function calls Python."""

_LARGEST_SYSTEM = 32
"""Unknowns of a linear system that is given by a function: its matrix is written out column by column."""


def _check(walker: Walker, equation: Any, jaxpr: Any, start: int) -> None:
    """`UntraceableError` where a carry of a loop is nothing that a program has."""
    for variable in jaxpr.jaxpr.invars[start:]:
        walker.type(variable.aval, equation.primitive.name)


def _row(x: Operand, k: Operand) -> Any:
    return apply("index", x, k, pattern=("at", *(("slice", 0, n) for n in np.shape(x)[1:])))


def _zeros(aval: Any) -> Operand:
    shape = tuple(aval.shape)
    kind = np.dtype(aval.dtype).kind
    if kind == "b":
        return np.zeros(shape, bool)
    if kind in "iu":
        return np.zeros(shape, np.int64)
    zero = recorded(0j if kind == "c" else 0.0)
    return engine.broadcast_to(zero, shape) if shape else zero


def _scan(walker: Walker, equation: Any, cells: Sequence[JaxprCell]) -> Sequence[Any]:
    """The carries, and one array for each thing that a trip gives, filled row by row."""
    return scan_lanes(walker, equation, [cells])[0]


def scan_lanes(
    walker: Walker, equation: Any, lanes: Sequence[Sequence[JaxprCell]]
) -> list[Sequence[JaxprCell]]:
    """The same on several devices, which make each trip together."""
    p = equation.params
    fixed, carried = constants_and_carries(p)
    moving = fixed + carried
    jaxpr, length = p["jaxpr"], p["length"]
    _check(walker, equation, jaxpr, fixed)
    written = [_zeros(v.aval) for v in equation.outvars[carried:]]
    if length == 0 or not equation.outvars:
        return [[*cells[fixed:moving], *map(cell_of, written)] for cells in lanes]
    initial = [x for cells in lanes for x in (*(c.operand for c in cells[fixed:moving]), *written)]

    def body(i: Operand, state: tuple[Operand, ...]) -> tuple[Operand, ...]:
        k = (length - 1) - i if p["reverse"] else i
        states = _parted(state, len(lanes))
        inner = [
            [
                *cells[:fixed],
                *map(cell_of, own[:carried]),
                *(cell_of(_row(c.operand, k)) for c in cells[moving:]),
            ]
            for cells, own in zip(lanes, states, strict=True)
        ]
        new: list[Operand] = []
        for own, found in zip(states, walker.run_lanes(jaxpr, inner), strict=True):
            results = [c.operand for c in found]
            lines = zip(own[carried:], results[carried:], strict=True)
            new += [*results[:carried], *(engine.index_update(array, k, row) for array, row in lines)]
        return tuple(new)

    final = engine.fori_loop(0, length, body, tuple(initial))
    return [list(map(cell_of, own)) for own in _parted(final, len(lanes))]


def _parted(values: Sequence[Operand], count: int) -> list[Sequence[Operand]]:
    """So many parts of the same length."""
    size = len(values) // count
    return [values[k * size : (k + 1) * size] for k in range(count)]


def _while(walker: Walker, equation: Any, cells: Sequence[JaxprCell]) -> Sequence[Operand]:
    p = equation.params
    tested, fixed = p["cond_nconsts"], p["cond_nconsts"] + p["body_nconsts"]
    _check(walker, equation, p["body_jaxpr"], p["body_nconsts"])
    several = any(v.aval.shape for v in p["cond_jaxpr"].jaxpr.outvars)

    def holds(state: tuple[Operand, ...]) -> Operand:
        return walker.run(p["cond_jaxpr"], [*cells[:tested], *map(cell_of, state)])[0].operand

    def condition(state: tuple[Operand, ...]) -> Operand:
        return engine.any(holds(state)) if several else holds(state)

    def body(state: tuple[Operand, ...]) -> tuple[Operand, ...]:
        found = walker.run(p["body_jaxpr"], [*cells[tested:fixed], *map(cell_of, state)])
        results = tuple(c.operand for c in found)
        if not several:
            return results
        running = holds(state)  # a lane that is done keeps what it has
        return tuple(_chosen(running, new, old) for new, old in zip(results, state, strict=True))

    return engine.while_loop(condition, body, tuple(c.operand for c in cells[fixed:]))


def _chosen(running: Operand, new: Operand, old: Operand) -> Any:
    """`new` in the lanes, which are the first axes, that are `running`."""
    lanes = np.shape(running)
    wide = engine.reshape(running, (*lanes, *[1] * (np.ndim(new) - len(lanes))))
    return engine.where(wide, new, old)


def _cond(walker: Walker, equation: Any, cells: Sequence[JaxprCell]) -> Sequence[Any]:
    """One branch of several: the first where the index is 0 or less, the last where it is greater
    than all. One that calls Python, as to raise an error, is not known and stands as zeros: the values at the
    arguments tell whether it is the one that is taken.
    """
    branches, which = equation.params["branches"], cells[0].operand
    if not isinstance(which, Value):
        return walker.run(branches[int(np.clip(int(which), 0, len(branches) - 1))], cells[1:])
    if not equation.outvars:
        return []

    def side(k: int) -> Callable[[], tuple[Operand, ...]]:
        if any(e.primitive.name in _OF_PYTHON for e in all_equations(branches[k])):
            return lambda: tuple(_zeros(v.aval) for v in equation.outvars)
        return lambda: tuple(c.operand for c in walker.run(branches[k], cells[1:]))

    def chosen(k: int) -> Any:
        if k == len(branches) - 1:
            return side(k)()
        here = apply("logical_not", which) if which.type.dtype == "bool" else apply("less_equal", which, k)
        return engine.cond(here, side(k), lambda: chosen(k + 1))

    return chosen(0)


def _linear_solve(walker: Walker, equation: Any, cells: Sequence[JaxprCell]) -> Sequence[Any]:
    """The solution as the function finds it, where it does so directly. What it approaches in steps is the
    solution of the system itself.
    """
    lengths, jaxprs = equation.params["const_lengths"], equation.params["jaxprs"]
    stops = np.cumsum([0, *lengths])
    consts = [list(cells[a:b]) for a, b in itertools.pairwise(stops)]
    right = list(cells[stops[-1] :])
    if not any(e.primitive.name in ("while", "scan") for e in all_equations(jaxprs.solve)):
        return walker.run(jaxprs.solve, [*consts[2], *right])
    shape = tuple(equation.outvars[0].aval.shape)
    size = math.prod(shape)
    if len(right) != 1 or size > _LARGEST_SYSTEM:
        raise UntraceableError(f"JAX's custom_linear_solve of {len(right)} right sides and {size} unknowns")
    columns = []
    for unit in np.eye(size, dtype=walker.dtype):
        (column,) = walker.run(jaxprs.matvec, [*consts[0], cell_of(unit.reshape(shape))])
        columns.append(engine.reshape(column.operand, (size,)))
    solution = engine.linalg.solve(engine.stack(columns, axis=1), engine.reshape(right[0].operand, (size,)))
    return [engine.reshape(solution, shape)]


def _ragged(walker: Walker, equation: Any, cells: Sequence[JaxprCell]) -> Sequence[Any]:
    """The product as JAX itself writes it out where a device has none: of all groups, masked."""
    product = private("jax._src.lax.lax._ragged_dot_general_impl", UntraceableError)
    written = functools.partial(product, **equation.params)
    return walker.run(jax.make_jaxpr(written)(*(v.aval for v in equation.invars)), cells)


def is_foreign(equation: Any) -> bool:
    """Whether a primitive is somebody else's than JAX's, as those of Equinox, whatever its name."""
    home = getattr(equation.primitive.impl, "__module__", None) or "jax"
    return home.partition(".")[0] not in ("jax", "jaxlib", "functools")


def written_out(walker: Walker, equation: Any, cells: Sequence[JaxprCell]) -> Sequence[JaxprCell]:
    """A primitive of somebody else, as what its own implementation computes."""
    implemented = functools.partial(equation.primitive.impl, **equation.params)
    try:
        written = jax.make_jaxpr(implemented)(*(v.aval for v in equation.invars))
    except Exception as error:
        name = equation.primitive.name
        raise UntraceableError(
            f"{name}, which is not JAX's own: it raises {type(error).__name__}: {error}"
        ) from error
    return walker.run(written, cells)


def own_primitive(equation: Any) -> str:
    """The class of a primitive with rules of its own that is JAX's; empty for those of others."""
    kind = type(equation.params.get("_prim"))
    return kind.__name__ if kind.__module__.startswith("jax.") else ""


def _lowered(walker: Walker, equation: Any, cells: Sequence[JaxprCell]) -> Sequence[Any]:
    """A primitive of somebody's own, as what it says that it computes. JAX's own say it by bits of floats."""
    by_bits = BY_BITS.get(own_primitive(equation))
    if by_bits is not None:
        return by_bits(*(cell.operand for cell in cells))
    written = functools.partial(equation.primitive.to_lojax, **equation.params)
    return walker.run(jax.make_jaxpr(written)(*(v.aval for v in equation.invars)), cells)


def _with_references(walker: Walker, equation: Any, cells: Sequence[JaxprCell]) -> Sequence[Any]:
    """What references have in them at the end."""
    discharge_state = private("jax._src.state.discharge.discharge_state", UntraceableError)
    pure = discharge_state(core.ClosedJaxpr(equation.params["jaxpr"], ()))
    return walker.run(pure, cells)


def _of_own_type(walker: Walker, equation: Any, cells: Sequence[JaxprCell]) -> Sequence[Any]:
    """Numbers as elements of another type, and back: one number is one element."""
    if equation.invars[0].aval.shape != equation.outvars[0].aval.shape:
        raise UntraceableError(f"JAX's {equation.primitive.name} of elements of several numbers")
    return cells


FLOW: dict[str, Rule] = {
    **dict.fromkeys(("from_edtype", "to_edtype"), _of_own_type),
    "call_hi_primitive": _lowered,
    "cond": _cond,
    "custom_linear_solve": _linear_solve,
    "linear_solve": _linear_solve,
    "ragged_dot_general": _ragged,
    "run_state": _with_references,
    "scan": _scan,
    "while": _while,
}
"""Primitives by name."""
