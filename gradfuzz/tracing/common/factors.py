"""Factors of matrices in the forms that LAPACK stores: LU in one matrix, exchanges of rows, reflections."""

from __future__ import annotations

from typing import Any

import numpy as np

import gradfuzz.engine as engine
from gradfuzz.engine.rules.value import Operand, apply
from gradfuzz.tracing.common.compositions import as_kind, kind_of, recorded


def transposed(x: Operand) -> Any:
    """`x` with its last two axes exchanged."""
    rank = np.ndim(x)
    return engine.permute_dims(x, (*range(rank - 2), rank - 1, rank - 2))


def adjoint_of(x: Operand) -> Any:
    """The same, of conjugate numbers."""
    turned = transposed(x)
    return engine.conj(turned) if kind_of(x) == "complex" else turned


def packed_lu(x: Operand) -> tuple[Any, Any, Any]:
    """Both factors in one matrix, the exchanges of rows, and the order of rows that they lead to."""
    rows, columns = np.shape(x)[-2:]
    p, lower, upper = engine.linalg.lu(x)
    count = min(rows, columns)
    below, above = engine.linalg.tril(lower, k=-1), engine.linalg.triu(upper)
    rank = len(np.shape(x))
    if rows > count:
        above = _wider(above, rank - 2, rows - count)
    if columns > count:
        below = _wider(below, rank - 1, columns - count)
    order = engine.argmax(p, axis=rank - 2)
    return below + above, _exchanges(order, count), order


def _wider(x: Operand, axis: int, more: int) -> Any:
    """`x` with `more` zeros at the end of an axis."""
    shape = np.shape(x)
    zero = recorded(0j if kind_of(x) == "complex" else 0.0)
    return engine.concat([x, engine.broadcast_to(zero, (*shape[:axis], more, *shape[axis + 1 :]))], axis=axis)


def _exchanges(order: Operand, count: int) -> Any:
    """With which row each of the first `count` rows was exchanged, in turn, for rows to end in this
    `order`.
    """
    *batch, rows = np.shape(order)
    last = len(batch)
    places = np.broadcast_to(np.arange(rows), (*batch, rows))
    standing: Any = places
    found = []

    for j in range(count):
        wanted, here = _column(order, j), _column(standing, j)
        at = engine.argmax(as_kind(apply("equal", standing, wanted), "int"), axis=last, keepdims=True)
        standing = engine.where(apply("equal", places, at), here, standing)
        standing = engine.where(np.broadcast_to(np.arange(rows) == j, (*batch, rows)), wanted, standing)
        found.append(at)
    return engine.concat(found, axis=last)


def order_of(exchanges: Operand, rows: int) -> Any:
    """The order of rows that a row of exchanges, counted from 0, leads to."""
    *batch, count = np.shape(exchanges)
    places = np.broadcast_to(np.arange(rows), (*batch, rows))
    order: Any = places
    for j in range(count):
        other = _column(exchanges, j)
        moved, kept = engine.take_along_axis(order, other, axis=len(batch)), _column(order, j)
        order = engine.where(apply("equal", places, other), kept, order)
        order = engine.where(np.broadcast_to(np.arange(rows) == j, (*batch, rows)), moved, order)
    return order


def _column(x: Operand, j: int) -> Any:
    """Entry j of the last axis, which stays."""
    return apply("index", x, pattern=(*(("slice", 0, n) for n in np.shape(x)[:-1]), ("slice", j, j + 1)))


def permutation(order: Operand) -> Any:
    """The matrix p of 0 and 1 with p (the rows in this order) = the rows: p[order[i], i] = 1."""
    rows = np.shape(order)[-1]
    wanted = engine.reshape(order, (*np.shape(order)[:-1], 1, rows))
    return as_kind(apply("equal", np.arange(rows).reshape(rows, 1), wanted), "float")


def householder_product(x: Operand, taus: Operand) -> Any:
    """The first columns of the product of the reflections 1 - tau v v^H, where v is 1 on the diagonal and
    stands below it in a column of x (..., m, n).
    """
    *batch, rows, columns = np.shape(x)
    kind = kind_of(x)
    lower = engine.linalg.tril(x, k=-1)
    result: Any = as_kind(np.broadcast_to(np.eye(rows, columns), (*batch, rows, columns)), kind)
    for k in reversed(range(np.shape(taus)[-1])):
        v = _column(lower, k) + as_kind(np.eye(rows)[:, k : k + 1], kind)
        tau = engine.reshape(_column(taus, k), (*np.shape(taus)[:-1], 1, 1))
        result = result - tau * engine.matmul(v, engine.matmul(adjoint_of(v), result))
    return result
