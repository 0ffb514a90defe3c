"""The op table: one row per op, with everything that is known about it.

Names follow the Python array API standard (2023.12) where it has one. Arguments are values, parameters are
static (axes, shapes, index patterns). A row's `rule` maps its name, the argument types and the parameters to
the result type and raises `ProgramTypeError` where they do not fit.

An index pattern (`index`, `index_update`) has one entry per axis of the array: `"at"` takes the next int
argument, `("slice", start, stop)` is a static slice with `0 <= start <= stop <= n`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from gradfuzz.errors import listed
from gradfuzz.programs.language import linalg_rules as linalg
from gradfuzz.programs.language import tensor_rules as tensor
from gradfuzz.programs.language.axes import normalize_axis
from gradfuzz.programs.language.functions import FUNCTIONS, Function, for_each
from gradfuzz.programs.language.syntax import ParamValue
from gradfuzz.programs.language.tensor_rules import Params, Rule, numbers, reals
from gradfuzz.programs.language.types import DType, Type, broadcast_shapes, fail, inexact, promote
from gradfuzz.programs.language.windows import is_size

Kind = (
    Literal["arithmetic", "function", "selection", "comparison", "logic"]
    | Literal["reduction", "shape", "contraction", "linalg"]
)
Domain = (
    Literal["", "nonzero second", "nonnegative", "positive first", "nonzero for negative n", "in range"]
    | Literal["full rank", "invertible", "positive definite"]
)
Kink = Literal["", "at 0", "at ties", "on condition"]


@dataclass(frozen=True, slots=True)
class Op:
    """One row of the table.

    `arity` is the least and the greatest number of arguments (None: any number). `params` names the static
    parameters with their defaults (`...`: must be given). An op with several results names them in `parts`;
    its parameter `part` chooses one. `domain` says where the op is defined, `kink` where it is continuous but
    not differentiable. `smooth` ops have a derivative with respect to float arguments. `indices` are the
    places of the arguments that are int arrays of indices from 0: they are never converted to another dtype.
    """

    name: str
    kind: Kind
    arity: tuple[int, int | None]
    rule: Rule
    params: tuple[tuple[str, ParamValue | ellipsis], ...] = ()  # noqa: F821 - the type of `...`
    domain: Domain = ""
    kink: Kink = ""
    smooth: bool = True
    parts: tuple[str, ...] = ()
    indices: tuple[int, ...] = ()


# Rules ------------------------------------------------------------------------------------------------------

_INT, _FLOAT, _BOOL = tensor.always("int"), tensor.always("float"), tensor.always("bool")
_COMPLEX = tensor.always("complex")


def _modulus(dtypes: Sequence[DType]) -> DType:
    return "float" if dtypes[0] == "complex" else dtypes[0]


def _remainder(op: str, types: tuple[Type, ...], params: Params) -> Type:
    for t in types:
        if t.dtype != "int":
            fail(f"{op} is for ints (the loop counter), not {t}")
    return Type("int", tensor.broadcast(op, types))


def _where(op: str, types: tuple[Type, ...], params: Params) -> Type:
    condition, *values = types
    if condition.dtype != "bool":
        fail(f"{op} takes a bool condition, not {condition}; compare it first")
    return Type(promote(t.dtype for t in values), tensor.broadcast(op, types))


def _astype(op: str, types: tuple[Type, ...], params: Params) -> Type:
    dtypes: tuple[DType, ...] = ("float", "complex", "int", "bool")
    dtype = next((d for d in dtypes if d == params["dtype"]), None)
    if dtype is None:
        fail(f"{op} to {params['dtype']!r}: a dtype is 'float', 'complex', 'int' or 'bool'")
    if types[0].is_complex and dtype == "float":
        fail(f"{op} from {types[0]} to float; write real(z), imag(z) or abs(z)")
    if dtype not in ("float", "complex") and types[0].is_inexact:
        fail(f"{op} from {types[0]} to {dtype} would hide a derivative; only int and bool convert")
    return types[0].with_dtype(dtype)


def _integer_pow(op: str, types: tuple[Type, ...], params: Params) -> Type:
    numbers(op, types)
    n = params["n"]
    if not isinstance(n, int) or isinstance(n, bool):
        fail(f"{op} takes an int n, not {n!r}; use pow for a real exponent")
    return types[0].with_dtype(inexact([types[0].dtype]))


def _shape_param(value: ParamValue, op: str) -> tuple[int, ...]:
    if not isinstance(value, tuple) or not all(is_size(n, 0) for n in value):
        fail(f"{op} takes a shape as a tuple of sizes >= 0, not {value!r}")
    return tuple(n for n in value if isinstance(n, int))


def _reshape(op: str, types: tuple[Type, ...], params: Params) -> Type:
    (t,) = types
    shape = _shape_param(params["shape"], op)
    wanted, given = math.prod(shape), math.prod(t.sizes)
    if wanted != given:
        fail(f"{op} of {t} to {shape}: {given} entries cannot fill {wanted}")
    return Type(t.dtype, shape)


def _broadcast_to(op: str, types: tuple[Type, ...], params: Params) -> Type:
    (t,) = types
    shape = _shape_param(params["shape"], op)
    if broadcast_shapes(t.shape, shape) != shape:
        fail(f"{op} of {t} to {shape}: only axes of size 1 can grow")
    return Type(t.dtype, shape)


def _permute_dims(op: str, types: tuple[Type, ...], params: Params) -> Type:
    (t,) = types
    axes = params["axes"]
    if not isinstance(axes, tuple) or sorted(map(str, axes)) != sorted(map(str, range(t.rank))):
        fail(f"{op} of {t} by {axes!r}: name each of the {t.rank} axes once")
    return Type(t.dtype, tuple(t.shape[a] for a in axes if isinstance(a, int)))


def _joined(types: tuple[Type, ...], op: str) -> DType:
    if any(t.dtype == "bool" for t in types) and any(t.dtype != "bool" for t in types):
        fail(f"{op} of bools and numbers; make them one dtype")
    return promote(t.dtype for t in types)


def _concat(op: str, types: tuple[Type, ...], params: Params) -> Type:
    first = types[0]
    axis = normalize_axis(params["axis"], first.rank, op)
    for t in types[1:]:
        if t.rank != first.rank or any(
            m != n for a, (m, n) in enumerate(zip(t.shape, first.shape, strict=True)) if a != axis
        ):
            fail(f"{op} over axis {axis} of {', '.join(map(str, types))}: the other axes must be equal")
    length = sum(t.shape[axis] or 0 for t in types)
    return Type(_joined(types, op), (*first.shape[:axis], length, *first.shape[axis + 1 :]))


def _stack(op: str, types: tuple[Type, ...], params: Params) -> Type:
    first = types[0]
    for t in types[1:]:
        if t.shape != first.shape:
            fail(f"{op} of {', '.join(map(str, types))}: the shapes must be equal")
    axis = normalize_axis(params["axis"], first.rank + 1, op)
    return Type(_joined(types, op), (*first.shape[:axis], len(types), *first.shape[axis:]))


def _region(array: Type, indices: tuple[Type, ...], params: Params, op: str) -> tuple[int, ...]:
    """The shape that an index pattern selects from `array`."""
    pattern = params["pattern"]
    if not isinstance(pattern, tuple) or len(pattern) != array.rank:
        fail(f"{op} of {array} with {pattern!r}: give one index or slice per axis, at most {array.rank}")
    if sum(entry == "at" for entry in pattern) != len(indices):
        fail(f"{op} of {array} with {pattern!r} and {len(indices)} int arguments: one is needed per 'at'")
    for t in indices:
        if t.dtype != "int" or t.shape:
            fail(f"{op} by {t}: an index is an int scalar")
    shape: list[int] = []
    for axis, entry in enumerate(pattern):
        if entry == "at":
            continue
        if not (isinstance(entry, tuple) and len(entry) == 3 and entry[0] == "slice"):
            fail(f"{op} with {entry!r} on axis {axis}: an entry is 'at' or ('slice', start, stop)")
        _, start, stop = entry
        n = array.shape[axis]
        if not (
            isinstance(start, int) and isinstance(stop, int) and n is not None and 0 <= start <= stop <= n
        ):
            fail(f"{op} of {array}: slice {start}:{stop} is outside axis {axis} of size {n}")
        shape.append(stop - start)
    return tuple(shape)


def _index(op: str, types: tuple[Type, ...], params: Params) -> Type:
    array, *indices = types
    return Type(array.dtype, _region(array, tuple(indices), params, op))


def _index_update(op: str, types: tuple[Type, ...], params: Params) -> Type:
    array, value, *indices = types
    region = _region(array, tuple(indices), params, op)
    if value.shape != region:
        fail(f"{op} of {array}: the place has shape {region}, the value is {value}")
    return Type(_joined((array, value), op), array.shape)


def _matmul(op: str, types: tuple[Type, ...], params: Params) -> Type:
    numbers(op, types)
    a, b = types
    if not a.shape or not b.shape:
        fail(f"{op} of {a} and {b}: both need an axis; use * for scalars")
    inner_a, inner_b = a.shape[-1], b.shape[-2] if b.rank > 1 else b.shape[0]
    batch = broadcast_shapes(a.shape[:-2], b.shape[:-2])
    if inner_a != inner_b or batch is None:
        fail(f"{op} of {a} and {b}: {inner_a} columns meet {inner_b} rows")
    return Type(inexact((a.dtype, b.dtype)), (*batch, *a.shape[-2:-1], *(b.shape[-1:] if b.rank > 1 else ())))


# Table ------------------------------------------------------------------------------------------------------

_REDUCE = (("axis", None), ("keepdims", False))
_WINDOWS = (("strides", None), ("padding", None))


def _several(
    name: str, parts: tuple[str, ...], params: tuple[tuple[str, ParamValue], ...] = (), domain: Domain = ""
) -> Op:
    """The row of a linear-algebra op with several results."""
    return Op(name, "linalg", (1, 1), linalg.parts_rule(parts), (*params, ("part", ...)), domain, parts=parts)


_TRIANGULAR = (("lower", True), ("transposed", False), ("unit_diagonal", False), ("left", True))
_FIRST = (("axis", 0),)
_LAST = (("axis", -1),)
_AXIS = (("axis", ...),)
_MATRIX_NORM = (("ord", "fro"), ("keepdims", False))
_VECTOR_NORM = (("ord", 2), ("axis", None), ("keepdims", False))
_HOLLOW = (("hollow", False),)
_UPPER = (("upper", False),)


def _elementwise(row: Function) -> Op:
    """The row of an elementwise function."""
    count = len(row.arguments)
    rule = tensor.entrywise(inexact, numbers if row.complex else reals)
    params = tuple((p, ...) for p in row.params)
    return Op(row.name, "function", (count, count), rule, params, smooth=not row.step)


_ROWS = (
    Op("add", "arithmetic", (2, 2), tensor.entrywise()),
    Op("subtract", "arithmetic", (2, 2), tensor.entrywise()),
    Op("multiply", "arithmetic", (2, 2), tensor.entrywise()),
    Op("divide", "arithmetic", (2, 2), tensor.entrywise(inexact), domain="nonzero second"),
    Op("negative", "arithmetic", (1, 1), tensor.entrywise()),
    Op("remainder", "arithmetic", (2, 2), _remainder, domain="nonzero second", smooth=False),
    Op("integer_pow", "arithmetic", (1, 1), _integer_pow, (("n", ...),), domain="nonzero for negative n"),
    Op("pow", "arithmetic", (2, 2), tensor.entrywise(inexact), domain="positive first"),
    *map(_elementwise, FUNCTIONS.values()),
    Op("softmax", "function", (1, 1), tensor.along_axis(_FLOAT, reals), _LAST),
    Op("log_softmax", "function", (1, 1), tensor.along_axis(_FLOAT, reals), _LAST),
    Op("abs", "function", (1, 1), tensor.entrywise(_modulus), kink="at 0"),
    Op("sign", "function", (1, 1), tensor.entrywise(check=reals), smooth=False),
    Op("complex", "function", (2, 2), tensor.entrywise(_COMPLEX, reals)),
    Op("conj", "function", (1, 1), tensor.entrywise(inexact)),
    Op("real", "function", (1, 1), tensor.entrywise(_FLOAT)),
    Op("imag", "function", (1, 1), tensor.entrywise(_FLOAT)),
    Op("maximum", "selection", (2, 2), tensor.entrywise(check=reals), kink="at ties"),
    Op("minimum", "selection", (2, 2), tensor.entrywise(check=reals), kink="at ties"),
    Op("clip", "selection", (3, 3), tensor.entrywise(_FLOAT, reals), kink="at ties"),
    Op("where", "selection", (3, 3), _where, kink="on condition"),
    Op("less", "comparison", (2, 2), tensor.entrywise(_BOOL, reals), smooth=False),
    Op("less_equal", "comparison", (2, 2), tensor.entrywise(_BOOL, reals), smooth=False),
    Op("greater", "comparison", (2, 2), tensor.entrywise(_BOOL, reals), smooth=False),
    Op("greater_equal", "comparison", (2, 2), tensor.entrywise(_BOOL, reals), smooth=False),
    Op("equal", "comparison", (2, 2), tensor.entrywise(_BOOL), smooth=False),
    Op("not_equal", "comparison", (2, 2), tensor.entrywise(_BOOL), smooth=False),
    Op("argmax", "comparison", (1, 1), tensor.argextreme, _REDUCE, smooth=False),
    Op("argmin", "comparison", (1, 1), tensor.argextreme, _REDUCE, smooth=False),
    Op("argsort", "comparison", (1, 1), tensor.along_axis(_INT, reals), _LAST, smooth=False),
    Op("logical_and", "logic", (2, 2), tensor.entrywise(check=tensor.bools), smooth=False),
    Op("logical_or", "logic", (2, 2), tensor.entrywise(check=tensor.bools), smooth=False),
    Op("logical_not", "logic", (1, 1), tensor.entrywise(check=tensor.bools), smooth=False),
    Op("sum", "reduction", (1, 1), tensor.over_axes(), _REDUCE),
    Op("mean", "reduction", (1, 1), tensor.over_axes(inexact), _REDUCE),
    Op("prod", "reduction", (1, 1), tensor.over_axes(), _REDUCE),
    Op("cumulative_sum", "reduction", (1, 1), tensor.along_axis(), _FIRST),
    Op("cumulative_prod", "reduction", (1, 1), tensor.along_axis(), _FIRST),
    Op("cumulative_max", "reduction", (1, 1), tensor.along_axis(check=reals), _FIRST, kink="at ties"),
    Op("amax", "reduction", (1, 1), tensor.extreme, _REDUCE, kink="at ties"),
    Op("amin", "reduction", (1, 1), tensor.extreme, _REDUCE, kink="at ties"),
    Op("logsumexp", "reduction", (1, 1), tensor.over_axes(_FLOAT, reals, "minus infinity"), _REDUCE),
    Op("all", "reduction", (1, 1), tensor.over_axes(check=tensor.bools), _REDUCE, smooth=False),
    Op("any", "reduction", (1, 1), tensor.over_axes(check=tensor.bools), _REDUCE, smooth=False),
    Op("window_sum", "reduction", (1, 1), tensor.window_sum, (("window", ...), *_WINDOWS)),
    Op("astype", "shape", (1, 1), _astype, (("dtype", ...),)),
    Op("reshape", "shape", (1, 1), _reshape, (("shape", ...),)),
    Op("broadcast_to", "shape", (1, 1), _broadcast_to, (("shape", ...),)),
    Op("permute_dims", "shape", (1, 1), _permute_dims, (("axes", ...),)),
    Op("flip", "shape", (1, 1), tensor.along_axis(), _FIRST),
    Op("concat", "shape", (1, None), _concat, _FIRST),
    Op("stack", "shape", (1, None), _stack, _FIRST),
    Op("index", "shape", (1, None), _index, (("pattern", ...),), domain="in range"),
    Op("index_update", "shape", (2, None), _index_update, (("pattern", ...),), domain="in range"),
    Op("sort", "shape", (1, 1), tensor.along_axis(check=reals), _LAST, kink="at ties"),
    Op("take", "shape", (2, 2), tensor.take, _AXIS, domain="in range", indices=(1,)),
    Op("take_along_axis", "shape", (2, 2), tensor.take_along_axis, _AXIS, domain="in range", indices=(1,)),
    Op("scatter_add", "shape", (3, 3), tensor.scatter_add, _AXIS, domain="in range", indices=(1,)),
    Op("conv", "contraction", (2, 2), tensor.conv, _WINDOWS),
    Op("matmul", "contraction", (2, 2), _matmul),
    Op("outer", "contraction", (2, 2), linalg.outer),
    Op("kron", "contraction", (2, 2), linalg.kron),
    Op("einsum", "contraction", (1, None), linalg.einsum, (("subscripts", ...),)),
    Op("trace", "contraction", (1, 1), linalg.trace, (("offset", 0),)),
    Op("diagonal", "shape", (1, 1), linalg.diagonal, (("offset", 0),)),
    Op("tril", "shape", (1, 1), linalg.triangle, (("k", 0),)),
    Op("triu", "shape", (1, 1), linalg.triangle, (("k", 0),)),
    _several("qr", ("q", "r"), (("mode", "reduced"),), "full rank"),
    _several("lu", ("p", "l", "u"), domain="full rank"),
    _several("svd", ("u", "s", "vh"), (("full_matrices", False),)),
    _several("eigh", ("w", "v")),
    _several("eig", ("w", "v")),
    _several("slogdet", ("sign", "logabsdet"), domain="invertible"),
    Op("cholesky", "linalg", (1, 1), linalg.to_matrix, _UPPER, domain="positive definite"),
    Op("svdvals", "linalg", (1, 1), linalg.svdvals),
    Op("eigvalsh", "linalg", (1, 1), linalg.eigvalsh),
    Op("eigvals", "linalg", (1, 1), linalg.eigvals),
    Op("triangular_solve", "linalg", (2, 2), linalg.triangular_solve, _TRIANGULAR, domain="invertible"),
    Op("solve", "linalg", (2, 2), linalg.system(square=True), domain="invertible"),
    Op("inv", "linalg", (1, 1), linalg.to_matrix, domain="invertible"),
    Op("det", "linalg", (1, 1), linalg.det),
    Op("pinv", "linalg", (1, 1), linalg.pinv, domain="full rank"),
    Op("lstsq", "linalg", (2, 2), linalg.system(square=False), domain="full rank"),
    Op("matrix_norm", "linalg", (1, 1), linalg.matrix_norm, _MATRIX_NORM, kink="at ties"),
    Op("vector_norm", "linalg", (1, 1), linalg.vector_norm, _VECTOR_NORM, kink="at ties"),
    Op("matrix_power", "linalg", (1, 1), linalg.matrix_power, (("n", ...),), domain="invertible"),
    Op("expm", "linalg", (1, 1), linalg.to_matrix),
    Op("cofactor", "linalg", (1, None), linalg.cofactor),
    Op("divide_by_gaps", "linalg", (3, 3), linalg.divide_by_gaps, _HOLLOW, domain="nonzero second"),
)

OPS: dict[str, Op] = {row.name: row for row in _ROWS}
"""All ops by name."""


@for_each
def _add(row: Function) -> None:
    OPS.setdefault(row.name, _elementwise(row))


ALIASES: dict[str, str] = {
    "absolute": "abs",
    "concatenate": "concat",
    "cumprod": "cumulative_prod",
    "cumsum": "cumulative_sum",
    "max": "maximum",
    "min": "minimum",
    "power": "pow",
    "transpose": "permute_dims",
}
"""Other names that the text form accepts; `to_text` always prints the op's own."""


@functools.cache
def defaults_of(op: str) -> dict[str, ParamValue]:
    """The static parameters of an op that need not be given."""
    return {name: value for name, value in OPS[op].params if value is not ...}


def result_type(op: str, types: tuple[Type, ...], params: Params) -> Type:
    """The type of `op` applied to arguments of `types`.

    Raises `ProgramTypeError` for an unknown op, a wrong number of arguments, unknown or missing parameters,
    and dtypes or shapes that do not fit.
    """
    row = OPS.get(op)
    if row is None:
        fail(f"unknown op {op!r}; the ops are {listed(OPS, op)}")
    least, most = row.arity
    if len(types) < least or (most is not None and len(types) > most):
        count = str(least) if least == most else f"at least {least}"
        fail(f"{op} takes {count} arguments, got {len(types)}")
    known = [name for name, _ in row.params]
    for name in params:
        if name not in known:
            fail(f"{op} has no parameter {name!r}; it has {', '.join(known) or 'none'}")
    full = {**defaults_of(op), **params}
    for name in known:
        if name not in full:
            fail(f"{op} needs the parameter {name!r}")
    for t in types:
        if t.is_stack:
            fail(f"{op} takes arrays, not the stack {t}")
    return row.rule(op, types, full)


def operand_dtypes(op: str, types: Sequence[Type], result: Type) -> list[DType]:
    """The dtypes that an op works in, operand by operand, as the interpreter converts them."""
    own = [t.dtype for t in types]
    row = OPS[op]
    if op == "where":
        return [own[0], *(result.dtype for _ in own[1:])]
    if op == "index_update":
        return [result.dtype, result.dtype, *own[2:]]
    if op in ("astype", "index") or row.kind == "logic":
        return own
    dtype = promote(own) if row.kind == "comparison" else inexact(own) if result.is_inexact else result.dtype
    return [own[k] if k in row.indices else dtype for k in range(len(own))]
