"""Batching rules: for each op, the same op on a whole batch at once.

A rule takes the batch axes (`Lanes`), the arguments, which of them are batched, and the static parameters. A
batched argument has the batch axes in front; so has the result of a rule, always. Rules are ops of the table,
so that batched graphs are differentiated like any other. Batched programs equal a loop over the instances,
except for the order in which NumPy adds.
"""

from __future__ import annotations

import functools
import math
import string
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradfuzz.engine.batching import tensor_rules as tensor
from gradfuzz.engine.batching.lanes import (
    BatchRule,
    Lanes,
    Params,
    axis_of,
    checked,
    dtype_of,
    sizes_of,
    zeros,
)
from gradfuzz.engine.rules.functions import broadcast_to, from_front, reshape, sum, where
from gradfuzz.engine.rules.value import Operand, apply, axes_of, shape_of
from gradfuzz.errors import NotDifferentiableError
from gradfuzz.programs.language.functions import Function, for_each
from gradfuzz.programs.language.syntax import ParamValue


def batch_op(lanes: Lanes, op: str, args: Sequence[Operand], batched: Sequence[bool], params: Params) -> Any:
    """`op` on a batch with a batched argument. `NotDifferentiableError` for an op without a rule."""
    rule = BATCH.get(op)
    if rule is None:
        raise NotDifferentiableError(f"no batching rule for {op}; give it a line in engine/batching/rules.py")
    return rule(lanes, args, batched, params)


# Rules ------------------------------------------------------------------------------------------------------


def leading(op: str, *cores: int) -> BatchRule:
    """The rule of an op that broadcasts its arguments' leading axes: the batch axes come before them.

    `cores` are the numbers of trailing axes of each argument that the op works on; by default 0, as for
    elementwise ops.
    """

    def rule(lanes: Lanes, args: Sequence[Operand], batched: Sequence[bool], params: Params) -> Any:
        core = cores or (0,) * len(args)
        free = [len(lanes.instance(x, b)) - c for x, b, c in zip(args, batched, core, strict=True)]
        given = zip(args, batched, core, strict=True)
        aligned = [lanes.padded(x, max(free) + c, c) if b else x for x, b, c in given]
        return apply(op, *aligned, **params)

    return rule


def _same_leading(op: str) -> BatchRule:
    """The rule of an op whose arguments have the same leading axes, without broadcasting."""
    return lambda lanes, args, batched, params: apply(op, *map(lanes.spread, args, batched), **params)


def _along_axes(op: str) -> BatchRule:
    """The rule of an op of one array along an axis, or some of them (None: all)."""

    def rule(lanes: Lanes, args: Sequence[Operand], batched: Sequence[bool], params: Params) -> Any:
        (x,), rank = args, len(lanes.instance(args[0], True))
        if op in _REDUCTIONS:
            axis: ParamValue = tuple(a + lanes.rank for a in axes_of(params["axis"], rank))
        else:
            axis = axis_of(params, rank) + lanes.rank
        return apply(op, x, **{**params, "axis": axis})

    return rule


def _along_axis_or_all(op: str) -> BatchRule:
    """The rule of an op along an axis; without an axis the op takes all entries of each instance."""

    def rule(lanes: Lanes, args: Sequence[Operand], batched: Sequence[bool], params: Params) -> Any:
        (x,) = args
        if params["axis"] is not None:
            return _along_axes(op)(lanes, args, batched, params)
        shape = lanes.instance(x, True)
        flat = reshape(x, (*lanes.shape, math.prod(shape)))
        found = apply(op, flat, **{**params, "axis": lanes.rank, "keepdims": False})
        return reshape(found, (*lanes.shape, *[1] * len(shape))) if params["keepdims"] else found

    return rule


def _reshape(lanes: Lanes, args: Sequence[Operand], batched: Sequence[bool], params: Params) -> Any:
    return reshape(args[0], (*lanes.shape, *sizes_of(params["shape"])))


def _broadcast_to(lanes: Lanes, args: Sequence[Operand], batched: Sequence[bool], params: Params) -> Any:
    shape = sizes_of(params["shape"])
    return broadcast_to(lanes.padded(args[0], len(shape)), (*lanes.shape, *shape))


def _permute_dims(lanes: Lanes, args: Sequence[Operand], batched: Sequence[bool], params: Params) -> Any:
    axes = tuple(a + lanes.rank for a in sizes_of(params["axes"]))
    return apply("permute_dims", args[0], axes=(*range(lanes.rank), *axes))


def _joining(op: str, new_axes: int) -> BatchRule:
    def rule(lanes: Lanes, args: Sequence[Operand], batched: Sequence[bool], params: Params) -> Any:
        rank = len(lanes.instance(args[0], batched[0])) + new_axes
        return apply(op, *map(lanes.spread, args, batched), axis=axis_of(params, rank) + lanes.rank)

    return rule


def _matmul(lanes: Lanes, args: Sequence[Operand], batched: Sequence[bool], params: Params) -> Any:
    """A vector becomes a matrix of one row or column, and the result loses that axis again."""
    (x, y), (x_batched, y_batched) = args, batched
    row, column = len(lanes.instance(x, x_batched)) == 1, len(lanes.instance(y, y_batched)) == 1
    if row:
        x = reshape(x, (*shape_of(x)[:-1], 1, shape_of(x)[-1]))
    if column:
        y = reshape(y, (*shape_of(y), 1))
    product = leading("matmul", 2, 2)(lanes, (x, y), batched, {})
    *outer, m, n = shape_of(product)
    kept = (*outer, *([] if row else [m]), *([] if column else [n]))
    return reshape(product, kept) if row or column else product


def _solving(op: str) -> BatchRule:
    """A right side with one axis per instance is a vector, solved as a matrix of one column."""

    def rule(lanes: Lanes, args: Sequence[Operand], batched: Sequence[bool], params: Params) -> Any:
        a, b = args
        if len(lanes.instance(b, batched[1])) > 1:
            return leading(op, 2, 2)(lanes, args, batched, params)
        column = reshape(b, (*shape_of(b), 1))
        solution = leading(op, 2, 2)(lanes, (a, column), batched, params)
        return reshape(solution, shape_of(solution)[:-1])

    return rule


def _outer(lanes: Lanes, args: Sequence[Operand], batched: Sequence[bool], params: Params) -> Any:
    x, y = args
    rows, columns = reshape(x, (*shape_of(x), 1)), reshape(y, (*shape_of(y)[:-1], 1, shape_of(y)[-1]))
    products = rows * columns
    return products if dtype_of(products) == "complex" else apply("astype", products, dtype="float")


def _einsum(lanes: Lanes, args: Sequence[Operand], batched: Sequence[bool], params: Params) -> Any:
    """The batch axes get new letters, in front."""
    left, out = str(params["subscripts"]).replace(" ", "").split("->")
    letters = "".join([c for c in string.ascii_letters if c not in left][: lanes.rank])
    terms = [letters + term if b else term for term, b in zip(left.split(","), batched, strict=True)]
    return apply("einsum", *args, subscripts=f"{','.join(terms)}->{letters}{out}")


# Indices ----------------------------------------------------------------------------------------------------


def _one_hot(lanes: Lanes, i: Operand, n: int, axis: int, rank: int) -> Operand:
    """Where entry i of an axis of size n is, with `rank` axes; a negative index counts from the end."""
    mask = reshape(from_front(i, n), (*lanes.shape, 1)) == np.arange(n)
    return reshape(mask, (*lanes.shape, *[1] * axis, n, *[1] * (rank - axis - 1)))


def _index(lanes: Lanes, args: Sequence[Operand], batched: Sequence[bool], params: Params) -> Any:
    """Indices common to all instances stay an index; one that differs selects by a mask and a sum."""
    (x, *indices), (x_batched, *i_batched) = args, batched
    pattern = params["pattern"]
    assert isinstance(pattern, tuple), "the type rule lets nothing else through"
    sizes = lanes.instance(x, x_batched)
    supply = iter(zip(indices, i_batched, strict=True))
    kept: list[ParamValue] = []
    common: list[Operand] = []
    picked: list[tuple[int, int, Operand]] = []
    rank = 0
    for entry, n in zip(pattern, sizes, strict=True):
        i, own = next(supply) if entry == "at" else (None, False)
        if entry == "at" and not own:
            kept.append("at")
            common.append(i)
            continue
        if own:
            picked.append((rank, n, i))
        kept.append(("slice", 0, n) if own else entry)
        rank += 1
    result = apply("index", x, *common, pattern=(*(lanes.slices() if x_batched else ()), *kept))
    for axis, n, i in reversed(picked):
        result = _pick(_one_hot(lanes, i, n, axis, rank), result, lanes.rank + axis)
        rank -= 1
    return checked(result, [(i, -n, n) for _, n, i in picked]) if picked else result


def _pick(mask: Operand, x: Operand, axis: int) -> Operand:
    """The one entry along `axis` where `mask` holds (a -0.0 becomes 0.0)."""
    if dtype_of(x) == "bool":
        return sum(apply("astype", apply("logical_and", mask, x), dtype="int"), axis=axis) > 0
    return sum(where(mask, x, 0 if dtype_of(x) == "int" else 0.0), axis=axis)


def _index_update(lanes: Lanes, args: Sequence[Operand], batched: Sequence[bool], params: Params) -> Any:
    (x, value, *indices), (x_batched, value_batched, *i_batched) = args, batched
    pattern = params["pattern"]
    assert isinstance(pattern, tuple), "the type rule lets nothing else through"
    x, value = lanes.spread(x, x_batched), lanes.spread(value, value_batched)
    if not any(i_batched):
        return apply("index_update", x, value, *indices, pattern=(*lanes.slices(), *pattern))
    sizes = lanes.instance(x, True)
    rank = len(sizes)
    supply = iter(zip(indices, i_batched, strict=True))
    masks, checks = [], []
    for axis, (entry, n) in enumerate(zip(pattern, sizes, strict=True)):
        if entry == "at":
            i, own = next(supply)
            i = lanes.spread(i, own)
            checks.append((i, -n, n))
            masks.append(_one_hot(lanes, i, n, axis, rank))
    mask = functools.reduce(lambda a, b: apply("logical_and", a, b), masks)
    place = apply("logical_and", mask, _within(pattern, sizes))
    return checked(where(place, _placed(lanes, value, pattern, sizes), x), checks)


def _within(pattern: tuple[ParamValue, ...], sizes: tuple[int, ...]) -> Any:
    """The places of a pattern's slices, as a constant array."""
    inside = np.zeros(sizes, bool)
    inside[tuple(slice(None) if e == "at" else slice(e[1], e[2]) for e in pattern)] = True  # type: ignore[index]
    return inside


def _placed(lanes: Lanes, value: Operand, pattern: tuple[ParamValue, ...], sizes: tuple[int, ...]) -> Operand:
    """`value` in an array that broadcasts to `sizes`: zero outside the slices, size 1 on indexed axes."""
    grown = tuple(1 if e == "at" else n for e, n in zip(pattern, sizes, strict=True))
    region = tuple(1 if e == "at" else e[2] - e[1] for e in pattern)  # type: ignore[index, operator]
    value = reshape(value, (*lanes.shape, *region))
    if region == grown:
        return value
    empty = zeros([value], dtype_of(value), (*lanes.shape, *grown))
    places = tuple(("slice", 0, 1) if e == "at" else e for e in pattern)
    return apply("index_update", empty, value, pattern=(*lanes.slices(), *places))


_ELEMENTWISE = (
    *("add", "subtract", "multiply", "divide", "negative", "remainder", "integer_pow", "pow", "abs", "sign"),
    *("maximum", "minimum", "where", "clip", "astype", "complex", "conj", "real", "imag"),
    *("less", "less_equal", "greater", "greater_equal", "equal", "not_equal"),
    *("logical_and", "logical_or", "logical_not"),
)
_REDUCTIONS = ("sum", "mean", "prod", "amax", "amin", "logsumexp", "all", "any")
_OF_MATRICES = (
    *("trace", "diagonal", "tril", "triu", "qr", "lu", "svd", "eigh", "eig", "slogdet", "cholesky"),
    *("svdvals", "eigvalsh", "eigvals", "inv", "det", "pinv", "matrix_norm", "matrix_power", "expm"),
)

# One line per op or kind of ops.
BATCH: dict[str, BatchRule] = {
    **{op: leading(op) for op in _ELEMENTWISE},
    **{op: _along_axes(op) for op in (*_REDUCTIONS, "cumulative_sum", "cumulative_prod", "cumulative_max")},
    **{op: _along_axes(op) for op in ("flip", "softmax", "log_softmax", "sort", "argsort")},
    **{op: _along_axis_or_all(op) for op in ("argmax", "argmin", "vector_norm")},
    "reshape": _reshape,
    "broadcast_to": _broadcast_to,
    "permute_dims": _permute_dims,
    "concat": _joining("concat", 0),
    "stack": _joining("stack", 1),
    "index": _index,
    "index_update": _index_update,
    "take": tensor.take,
    "take_along_axis": tensor.take_along_axis,
    "scatter_add": tensor.scatter_add,
    "window_sum": tensor.window_sum,
    "conv": tensor.conv,
    "matmul": _matmul,
    "outer": _outer,
    "einsum": _einsum,
    **{op: leading(op, 2) for op in _OF_MATRICES},
    **{op: leading(op, 2, 2) for op in ("kron", "triangular_solve")},
    **{op: _same_leading(op) for op in ("cofactor", "divide_by_gaps")},
    **{op: _solving(op) for op in ("solve", "lstsq")},
}


@for_each
def _add(row: Function) -> None:
    BATCH[row.name] = leading(row.name)
