"""Removes an axis from a program. Shapes are not inferred: the axis is removed wherever it seems to occur."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from gradfuzz.fuzzer.questions.rewrite import map_expressions
from gradfuzz.programs.language.program import Program
from gradfuzz.programs.language.syntax import ArrayConst, Call, Const, Expr, Param
from gradfuzz.programs.language.types import Type


def without_axis(program: Program, rank: int, axis: int, aligned: bool) -> Program:
    """`program` without the axis of its arrays of `rank`.

    With `aligned`, arrays of lower rank lose it too where it lies within them, counted from the back.
    """
    back = axis - rank

    def place(n: int) -> int | None:
        """The position of the axis in an array of rank `n`, or None."""
        return n + back if n == rank or (aligned and -back <= n < rank) else None

    def expr(e: Expr) -> Expr:
        if isinstance(e, ArrayConst):
            k = place(len(e.shape))
            if k is None or not e.shape[k]:
                return e
            if len(e.shape) == 1:
                return e.values[0]
            first = entries(e).take(0, k)
            return ArrayConst(e.dtype, first.shape, tuple(map(Const, first.ravel().tolist())))
        if isinstance(e, Call):
            return _call_without_axis(e, rank, axis)
        return e

    def param(p: Param) -> Param:
        k = place(p.type.rank)
        return p if k is None else Param(p.name, Type(p.type.dtype, removed(p.type.shape, k)))

    return Program(program.name, tuple(map(param, program.params)), map_expressions(program.body, expr))


def _call_without_axis(e: Call, rank: int, axis: int) -> Call:
    args = e.args
    pattern = dict(e.params).get("pattern")
    if isinstance(pattern, tuple) and len(pattern) == rank and pattern[axis] == "at":
        skip = (1 if e.op == "index" else 2) + sum(entry == "at" for entry in pattern[:axis])
        args = removed(args, skip)
    params = tuple((name, _parameter_without_axis(name, v, rank, axis)) for name, v in e.params)
    return replace(e, args=args, params=params)


def _parameter_without_axis(name: str, value: Any, rank: int, axis: int) -> Any:
    def renumbered(v: int) -> int:
        """The axis by its new number; a neighbouring one where it is the removed one."""
        return min(v - (v > axis), rank - 2) if v >= 0 else max(v + (v < axis - rank), 1 - rank)

    if name == "axis" and isinstance(value, int):
        return renumbered(value)
    if name == "axis" and isinstance(value, tuple):
        return tuple(renumbered(v) for v in value if v not in (axis, axis - rank)) or None
    by_axis = name in ("shape", "pattern", "window", "strides", "padding")
    if by_axis and isinstance(value, tuple) and len(value) == rank:
        return removed(value, axis)
    if name == "axes" and len(value) == rank:
        return tuple(v - 1 if v > axis else v for v in value if v != axis)
    return value


def entries(e: ArrayConst) -> Any:
    return np.array([v.value for v in e.values], object).reshape(e.shape)


def removed(values: tuple[Any, ...], k: int) -> tuple[Any, ...]:
    return spliced(values, k)


def spliced(values: tuple[Any, ...], k: int, *instead: Any) -> tuple[Any, ...]:
    """`values` with others in the place of number `k`."""
    return (*values[:k], *instead, *values[k + 1 :])
