"""Smaller candidates by their shapes: fewer and shorter axes.

Shapes are not inferred: a length or an axis is changed wherever it seems to occur, and the driver drops what
does not type-check.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from gradfuzz.fuzzer.questions.axes import entries, removed, spliced, without_axis
from gradfuzz.fuzzer.questions.candidate import Candidate, Draft
from gradfuzz.fuzzer.questions.loop_forms import Loop
from gradfuzz.fuzzer.questions.rewrite import map_expressions
from gradfuzz.fuzzer.shrinking.variations import as_singular, ordinary
from gradfuzz.oracles.base import Array
from gradfuzz.programs.language.ops import OPS
from gradfuzz.programs.language.program import Program, walk
from gradfuzz.programs.language.syntax import ArrayConst, Call, Const, Expr, For, If, Name, Param, Stmt
from gradfuzz.programs.language.types import Type

_ARRAY_OPS = """
amax amin broadcast_to concat cumulative_max cumulative_prod cumulative_sum flip index logsumexp mean
permute_dims prod reshape sort stack sum take take_along_axis window_sum
"""
_SCALAR_FORM = {**dict.fromkeys(_ARRAY_OPS.split(), 0), "index_update": 1}
"""The argument that stands for an array op when everything is a scalar."""

_SCALAR_PRODUCTS = ("matmul", "conv", "outer", "kron")


# Fewer axes -------------------------------------------------------------------------------------------------


def fewer_axes(candidate: Candidate) -> Iterator[Draft]:
    """One axis less: in all arrays that have it from the back; in those of highest rank; in one parameter.

    The first weights along it stay, or the last: the class of the error may depend on their signs.
    """
    program = candidate.program
    for rank in sorted({p.type.rank for p in program.params if p.type.rank > 1}, reverse=True):
        for axis in range(rank):
            for aligned in (True, False):
                yield from _at_either_end(candidate, without_axis(program, rank, axis, aligned), axis - rank)
    for k, p in enumerate(program.params):
        for axis in range(p.type.rank if p.type.rank > 1 else 0):
            changed = _with_shape(program, k, removed(p.type.sizes, axis))
            yield from _at_either_end(candidate, changed, axis - p.type.rank)


def _at_either_end(candidate: Candidate, changed: Program, back: int) -> Iterator[Candidate]:
    inputs = _first(candidate, changed, back)
    for end in (0, -1):
        kept = candidate.mapped(lambda w, end=end: w.take(end, back) if w.ndim >= -back and w.size else w)  # type: ignore[misc]
        yield replace(kept, program=changed, inputs=inputs)


def _first(candidate: Candidate, changed: Program, back: int) -> dict[str, Array]:
    """The inputs; those that lose the axis `back` keep their first entry along it."""
    inputs = dict(candidate.inputs)
    for p in changed.params:
        value = inputs[p.name]
        if np.ndim(value) == p.type.rank + 1 and np.shape(value)[back]:
            inputs[p.name] = np.take(value, 0, back)
    return inputs


# Shorter axes -----------------------------------------------------------------------------------------------


def shorter_axes(candidate: Candidate) -> Iterator[Draft]:
    """Everything as scalars; one axis length smaller, everywhere or in matrices; one axis of a parameter."""
    program = candidate.program
    constants = [n.shape for n in walk(program) if isinstance(n, ArrayConst)]
    if not constants and not any(p.type.shape for p in program.params):
        return
    scalar_params = tuple(Param(p.name, Type(p.type.dtype)) for p in program.params)
    yield Program(program.name, scalar_params, map_expressions(program.body, _scalar))
    for k, p in enumerate(program.params):
        if p.type.shape:
            yield _with_shape(program, k, ())
    sizes = {n for shape in (*constants, *(p.type.sizes for p in program.params)) for n in shape}
    for size in sorted(sizes, reverse=True):
        for smaller in (1, 2, size - 1):
            if 0 < smaller < size:
                for last in (None, 2):
                    changed = _resized(program, size, smaller, last)
                    yield replace(candidate, program=changed, inputs=_in_range(candidate, smaller))
                    yield from _other_numbers(candidate, changed)
    for k, p in enumerate(program.params):
        for axis, n in enumerate(p.type.sizes):
            for smaller in dict.fromkeys((1, 2, n - 1)):
                if 0 < smaller < n:
                    changed = _with_shape(program, k, spliced(p.type.sizes, axis, smaller))
                    yield changed
                    yield from _other_numbers(candidate, changed)


def _other_numbers(candidate: Candidate, changed: Program) -> Iterator[Candidate]:
    """The changed program at regular matrices, and at ones as near to singular as the candidate's."""
    yield ordinary(replace(candidate, program=changed))
    singular = as_singular(candidate, changed)
    if singular is not None:
        yield singular


def _with_shape(program: Program, k: int, shape: tuple[int, ...]) -> Program:
    """The program with another shape of parameter number `k`."""
    old = program.params[k]
    return replace(program, params=spliced(program.params, k, Param(old.name, Type(old.type.dtype, shape))))


def _in_range(candidate: Candidate, size: int) -> dict[str, Array]:
    """The inputs, with indices made to fit an axis of `size`."""
    calls = [call for call in walk(candidate.program) if isinstance(call, Call)]
    read = [call.args[k] for call in calls for k in OPS[call.op].indices]
    places = {e.id for e in read if isinstance(e, Name)}
    return {name: np.minimum(v, size - 1) if name in places else v for name, v in candidate.inputs.items()}


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


def _resized(program: Program, size: int, smaller: int, last: int | None = None) -> Program:
    """`program` with every axis of length `size`, and every `for` of that trip count, made `smaller`; indices
    along it stay in range.

    With `last`, only that many last axes of an array: a batch may be as long as its matrices.
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
            cut = entries(e)[tuple(map(slice, shape(e.shape)))]
            return ArrayConst(e.dtype, cut.shape, tuple(map(Const, cut.ravel().tolist())))
        if isinstance(e, Call) and e.op in ("reshape", "broadcast_to", "index", "index_update"):
            return replace(e, params=tuple((name, parameter(value)) for name, value in e.params))
        if isinstance(e, Call) and OPS[e.op].indices:
            places = OPS[e.op].indices
            return replace(e, args=tuple(place(a) if k in places else a for k, a in enumerate(e.args)))
        return e

    def place(e: Expr) -> Expr:
        if not isinstance(e, ArrayConst):
            return e
        return replace(e, values=tuple(map(Const, np.minimum(entries(e), smaller - 1).ravel().tolist())))

    def trips(s: Stmt) -> Stmt:
        if isinstance(s, For) and s.count == Const(size):
            s = replace(s, count=Const(smaller))
        if isinstance(s, If):
            return replace(s, body=tuple(map(trips, s.body)), orelse=tuple(map(trips, s.orelse)))
        return replace(s, body=tuple(map(trips, s.body))) if isinstance(s, Loop) else s

    params = tuple(Param(p.name, Type(p.type.dtype, shape(p.type.shape))) for p in program.params)
    return Program(program.name, params, tuple(map(trips, map_expressions(program.body, expr))))
