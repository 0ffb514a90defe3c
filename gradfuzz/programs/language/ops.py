"""The op table: one row per op, with everything that is known about it.

Names follow the Python array API standard (2023.12) where it has one. Arguments are values, parameters are
static (axes, shapes, index patterns). A row's `rule` maps the argument types and the parameters to the result
type and raises `ProgramTypeError` where they do not fit.

An index pattern (`index`, `index_update`) has one entry per axis of the array: `"at"` takes the next int
argument, `("slice", start, stop)` is a static slice with `0 <= start <= stop <= n`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from gradfuzz.errors import listed
from gradfuzz.programs.language import linalg_rules as linalg
from gradfuzz.programs.language import tensor_rules as tensor
from gradfuzz.programs.language.axes import normalize_axes, normalize_axis
from gradfuzz.programs.language.functions import FUNCTIONS, Function, for_each
from gradfuzz.programs.language.syntax import ParamValue
from gradfuzz.programs.language.types import DType, Type, broadcast_shapes, fail, inexact, promote

Params = Mapping[str, ParamValue]
Rule = Callable[[tuple[Type, ...], Params], Type]
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


def _broadcast(types: tuple[Type, ...], op: str) -> tuple[int, ...]:
    shape = broadcast_shapes(*(t.shape for t in types))
    if shape is None:
        fail(f"{op} cannot broadcast {' with '.join(map(str, types))}; make the shapes equal or 1")
    return shape


def _numeric(types: tuple[Type, ...], op: str) -> None:
    for t in types:
        if t.dtype == "bool":
            fail(f"{op} takes numbers, not {t}; use where(condition, a, b) to choose by a bool")


def _real(types: tuple[Type, ...], op: str) -> None:
    _numeric(types, op)
    for t in types:
        if t.is_complex:
            fail(f"{op} takes real numbers, not {t}; use abs(z), real(z) or imag(z)")


def _promoting(name: str, check: Callable[[tuple[Type, ...], str], None] = _numeric) -> Rule:
    def rule(types: tuple[Type, ...], params: Params) -> Type:
        check(types, name)
        return Type(promote(t.dtype for t in types), _broadcast(types, name))

    return rule


def _floating(name: str, check: Callable[[tuple[Type, ...], str], None] = _numeric) -> Rule:
    def rule(types: tuple[Type, ...], params: Params) -> Type:
        check(types, name)
        return Type(inexact(t.dtype for t in types), _broadcast(types, name))

    return rule


def _abs(types: tuple[Type, ...], params: Params) -> Type:
    _numeric(types, "abs")
    return types[0].with_dtype("float") if types[0].is_complex else types[0]


def _complex(types: tuple[Type, ...], params: Params) -> Type:
    """The number re + i im."""
    _real(types, "complex")
    return Type("complex", _broadcast(types, "complex"))


def _part_of_complex(name: str) -> Rule:
    """The real or imaginary part of a number; a real one has both, too."""

    def rule(types: tuple[Type, ...], params: Params) -> Type:
        _numeric(types, name)
        return types[0].with_dtype("float")

    return rule


def _comparing(name: str, check: Callable[[tuple[Type, ...], str], None] = _real) -> Rule:
    def rule(types: tuple[Type, ...], params: Params) -> Type:
        check(types, name)
        return Type("bool", _broadcast(types, name))

    return rule


def _logical(name: str) -> Rule:
    def rule(types: tuple[Type, ...], params: Params) -> Type:
        for t in types:
            if t.dtype != "bool":
                fail(f"{name} takes bools, not {t}; compare it first")
        return Type("bool", _broadcast(types, name))

    return rule


def _integer_only(types: tuple[Type, ...], params: Params) -> Type:
    for t in types:
        if t.dtype != "int":
            fail(f"remainder is for ints (the loop counter), not {t}")
    return Type("int", _broadcast(types, "remainder"))


def _where(types: tuple[Type, ...], params: Params) -> Type:
    condition, *values = types
    if condition.dtype != "bool":
        fail(f"where takes a bool condition, not {condition}; compare it first")
    return Type(promote(t.dtype for t in values), _broadcast(types, "where"))


def _astype(types: tuple[Type, ...], params: Params) -> Type:
    dtypes: tuple[DType, ...] = ("float", "complex", "int", "bool")
    dtype = next((d for d in dtypes if d == params["dtype"]), None)
    if dtype is None:
        fail(f"astype to {params['dtype']!r}: a dtype is 'float', 'complex', 'int' or 'bool'")
    if types[0].is_complex and dtype == "float":
        fail(f"astype from {types[0]} to float; write real(z), imag(z) or abs(z)")
    if dtype not in ("float", "complex") and types[0].is_inexact:
        fail(f"astype from {types[0]} to {dtype} would hide a derivative; only int and bool convert")
    return types[0].with_dtype(dtype)


def _integer_pow(types: tuple[Type, ...], params: Params) -> Type:
    _numeric(types, "integer_pow")
    n = params["n"]
    if not isinstance(n, int) or isinstance(n, bool):
        fail(f"integer_pow takes an int n, not {n!r}; use pow for a real exponent")
    return types[0].with_dtype(inexact([types[0].dtype]))


def _reducing(name: str, *, floating: bool = False) -> Rule:
    def rule(types: tuple[Type, ...], params: Params) -> Type:
        _numeric(types, name)
        (t,) = types
        axes = normalize_axes(params["axis"], t.rank, name)
        if params["keepdims"]:
            shape = tuple(1 if a in axes else n for a, n in enumerate(t.shape))
        else:
            shape = tuple(n for a, n in enumerate(t.shape) if a not in axes)
        return Type(inexact([t.dtype]) if floating else t.dtype, shape)

    return rule


def _along_axis(name: str, check: Callable[[tuple[Type, ...], str], None] = _numeric) -> Rule:
    def rule(types: tuple[Type, ...], params: Params) -> Type:
        check(types, name)
        normalize_axis(params["axis"], types[0].rank, name)
        return types[0]

    return rule


def _shape_param(value: ParamValue, op: str) -> tuple[int, ...]:
    if not isinstance(value, tuple):
        fail(f"{op} takes a shape as a tuple of sizes >= 0, not {value!r}")
    sizes: list[int] = []
    for n in value:
        if not isinstance(n, int) or isinstance(n, bool) or n < 0:
            fail(f"{op} takes a shape as a tuple of sizes >= 0, not {value!r}")
        sizes.append(n)
    return tuple(sizes)


def _size(shape: tuple[int | None, ...]) -> int:
    return math.prod(n for n in shape if n is not None)


def _reshape(types: tuple[Type, ...], params: Params) -> Type:
    (t,) = types
    shape = _shape_param(params["shape"], "reshape")
    if _size(shape) != _size(t.shape):
        fail(f"reshape of {t} to {shape}: {_size(t.shape)} entries cannot fill {_size(shape)}")
    return Type(t.dtype, shape)


def _broadcast_to(types: tuple[Type, ...], params: Params) -> Type:
    (t,) = types
    shape = _shape_param(params["shape"], "broadcast_to")
    if broadcast_shapes(t.shape, shape) != shape:
        fail(f"broadcast_to of {t} to {shape}: only axes of size 1 can grow")
    return Type(t.dtype, shape)


def _permute_dims(types: tuple[Type, ...], params: Params) -> Type:
    (t,) = types
    axes = params["axes"]
    if not isinstance(axes, tuple) or sorted(map(str, axes)) != sorted(map(str, range(t.rank))):
        fail(f"permute_dims of {t} by {axes!r}: name each of the {t.rank} axes once")
    return Type(t.dtype, tuple(t.shape[a] for a in axes if isinstance(a, int)))


def _joined(types: tuple[Type, ...], op: str) -> DType:
    if any(t.dtype == "bool" for t in types) and any(t.dtype != "bool" for t in types):
        fail(f"{op} of bools and numbers; make them one dtype")
    return promote(t.dtype for t in types)


def _concat(types: tuple[Type, ...], params: Params) -> Type:
    first = types[0]
    axis = normalize_axis(params["axis"], first.rank, "concat")
    for t in types[1:]:
        if t.rank != first.rank or any(
            m != n for a, (m, n) in enumerate(zip(t.shape, first.shape, strict=True)) if a != axis
        ):
            fail(f"concat over axis {axis} of {', '.join(map(str, types))}: the other axes must be equal")
    length = sum(t.shape[axis] or 0 for t in types)
    return Type(_joined(types, "concat"), (*first.shape[:axis], length, *first.shape[axis + 1 :]))


def _stack(types: tuple[Type, ...], params: Params) -> Type:
    first = types[0]
    for t in types[1:]:
        if t.shape != first.shape:
            fail(f"stack of {', '.join(map(str, types))}: the shapes must be equal")
    axis = normalize_axis(params["axis"], first.rank + 1, "stack")
    return Type(_joined(types, "stack"), (*first.shape[:axis], len(types), *first.shape[axis:]))


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


def _index(types: tuple[Type, ...], params: Params) -> Type:
    array, *indices = types
    return Type(array.dtype, _region(array, tuple(indices), params, "index"))


def _index_update(types: tuple[Type, ...], params: Params) -> Type:
    array, value, *indices = types
    region = _region(array, tuple(indices), params, "index_update")
    if value.shape != region:
        fail(f"index_update of {array}: the place has shape {region}, the value is {value}")
    return Type(_joined((array, value), "index_update"), array.shape)


def _matmul(types: tuple[Type, ...], params: Params) -> Type:
    _numeric(types, "matmul")
    a, b = types
    if not a.shape or not b.shape:
        fail(f"matmul of {a} and {b}: both need an axis; use * for scalars")
    inner_a, inner_b = a.shape[-1], b.shape[-2] if b.rank > 1 else b.shape[0]
    batch = broadcast_shapes(a.shape[:-2], b.shape[:-2])
    if inner_a != inner_b or batch is None:
        fail(f"matmul of {a} and {b}: {inner_a} columns meet {inner_b} rows")
    return Type(inexact((a.dtype, b.dtype)), (*batch, *a.shape[-2:-1], *(b.shape[-1:] if b.rank > 1 else ())))


# Table ------------------------------------------------------------------------------------------------------

_REDUCE = (("axis", None), ("keepdims", False))
_WINDOWS = (("strides", None), ("padding", None))


def _several(
    name: str, parts: tuple[str, ...], params: tuple[tuple[str, ParamValue], ...] = (), domain: Domain = ""
) -> Op:
    """The row of a linear-algebra op with several results."""
    return Op(
        name, "linalg", (1, 1), linalg.parts_rule(name, parts), (*params, ("part", ...)), domain, parts=parts
    )


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
    rule = _floating(row.name, _numeric if row.complex else _real)
    params = tuple((p, ...) for p in row.params)
    return Op(row.name, "function", (count, count), rule, params, smooth=not row.step)


_ROWS = (
    Op("add", "arithmetic", (2, 2), _promoting("add")),
    Op("subtract", "arithmetic", (2, 2), _promoting("subtract")),
    Op("multiply", "arithmetic", (2, 2), _promoting("multiply")),
    Op("divide", "arithmetic", (2, 2), _floating("divide"), domain="nonzero second"),
    Op("negative", "arithmetic", (1, 1), _promoting("negative")),
    Op("remainder", "arithmetic", (2, 2), _integer_only, domain="nonzero second", smooth=False),
    Op("integer_pow", "arithmetic", (1, 1), _integer_pow, (("n", ...),), domain="nonzero for negative n"),
    Op("pow", "arithmetic", (2, 2), _floating("pow"), domain="positive first"),
    *map(_elementwise, FUNCTIONS.values()),
    Op("softmax", "function", (1, 1), tensor.softmax("softmax"), _LAST),
    Op("log_softmax", "function", (1, 1), tensor.softmax("log_softmax"), _LAST),
    Op("abs", "function", (1, 1), _abs, kink="at 0"),
    Op("sign", "function", (1, 1), _promoting("sign", _real), smooth=False),
    Op("complex", "function", (2, 2), _complex),
    Op("conj", "function", (1, 1), _floating("conj")),
    Op("real", "function", (1, 1), _part_of_complex("real")),
    Op("imag", "function", (1, 1), _part_of_complex("imag")),
    Op("maximum", "selection", (2, 2), _promoting("maximum", _real), kink="at ties"),
    Op("minimum", "selection", (2, 2), _promoting("minimum", _real), kink="at ties"),
    Op("clip", "selection", (3, 3), tensor.clip, kink="at ties"),
    Op("where", "selection", (3, 3), _where, kink="on condition"),
    Op("less", "comparison", (2, 2), _comparing("less"), smooth=False),
    Op("less_equal", "comparison", (2, 2), _comparing("less_equal"), smooth=False),
    Op("greater", "comparison", (2, 2), _comparing("greater"), smooth=False),
    Op("greater_equal", "comparison", (2, 2), _comparing("greater_equal"), smooth=False),
    Op("equal", "comparison", (2, 2), _comparing("equal", _numeric), smooth=False),
    Op("not_equal", "comparison", (2, 2), _comparing("not_equal", _numeric), smooth=False),
    Op("argmax", "comparison", (1, 1), tensor.argextreme("argmax"), _REDUCE, smooth=False),
    Op("argmin", "comparison", (1, 1), tensor.argextreme("argmin"), _REDUCE, smooth=False),
    Op("argsort", "comparison", (1, 1), tensor.ordering("argsort"), _LAST, smooth=False),
    Op("logical_and", "logic", (2, 2), _logical("logical_and"), smooth=False),
    Op("logical_or", "logic", (2, 2), _logical("logical_or"), smooth=False),
    Op("logical_not", "logic", (1, 1), _logical("logical_not"), smooth=False),
    Op("sum", "reduction", (1, 1), _reducing("sum"), _REDUCE),
    Op("mean", "reduction", (1, 1), _reducing("mean", floating=True), _REDUCE),
    Op("prod", "reduction", (1, 1), _reducing("prod"), _REDUCE),
    Op("cumulative_sum", "reduction", (1, 1), _along_axis("cumulative_sum"), _FIRST),
    Op("cumulative_prod", "reduction", (1, 1), _along_axis("cumulative_prod"), _FIRST),
    Op("cumulative_max", "reduction", (1, 1), _along_axis("cumulative_max", _real), _FIRST, kink="at ties"),
    Op("amax", "reduction", (1, 1), tensor.extreme("amax"), _REDUCE, kink="at ties"),
    Op("amin", "reduction", (1, 1), tensor.extreme("amin"), _REDUCE, kink="at ties"),
    Op("logsumexp", "reduction", (1, 1), tensor.logsumexp, _REDUCE),
    Op("all", "reduction", (1, 1), tensor.quantifier("all"), _REDUCE, smooth=False),
    Op("any", "reduction", (1, 1), tensor.quantifier("any"), _REDUCE, smooth=False),
    Op("window_sum", "reduction", (1, 1), tensor.window_sum, (("window", ...), *_WINDOWS)),
    Op("astype", "shape", (1, 1), _astype, (("dtype", ...),)),
    Op("reshape", "shape", (1, 1), _reshape, (("shape", ...),)),
    Op("broadcast_to", "shape", (1, 1), _broadcast_to, (("shape", ...),)),
    Op("permute_dims", "shape", (1, 1), _permute_dims, (("axes", ...),)),
    Op("flip", "shape", (1, 1), _along_axis("flip"), _FIRST),
    Op("concat", "shape", (1, None), _concat, _FIRST),
    Op("stack", "shape", (1, None), _stack, _FIRST),
    Op("index", "shape", (1, None), _index, (("pattern", ...),), domain="in range"),
    Op("index_update", "shape", (2, None), _index_update, (("pattern", ...),), domain="in range"),
    Op("sort", "shape", (1, 1), tensor.along_axis("sort"), _LAST, kink="at ties"),
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
    Op("tril", "shape", (1, 1), linalg.triangle("tril"), (("k", 0),)),
    Op("triu", "shape", (1, 1), linalg.triangle("triu"), (("k", 0),)),
    _several("qr", ("q", "r"), (("mode", "reduced"),), "full rank"),
    _several("lu", ("p", "l", "u"), domain="full rank"),
    _several("svd", ("u", "s", "vh"), (("full_matrices", False),)),
    _several("eigh", ("w", "v")),
    _several("eig", ("w", "v")),
    _several("slogdet", ("sign", "logabsdet"), domain="invertible"),
    Op("cholesky", "linalg", (1, 1), linalg.square("cholesky"), _UPPER, domain="positive definite"),
    Op("svdvals", "linalg", (1, 1), linalg.svdvals),
    Op("eigvalsh", "linalg", (1, 1), linalg.square("eigvalsh", lambda batch, n: (*batch, n), real=True)),
    Op("eigvals", "linalg", (1, 1), linalg.eigvals),
    Op("triangular_solve", "linalg", (2, 2), linalg.triangular_solve, _TRIANGULAR, domain="invertible"),
    Op("solve", "linalg", (2, 2), linalg.solve, domain="invertible"),
    Op("inv", "linalg", (1, 1), linalg.square("inv"), domain="invertible"),
    Op("det", "linalg", (1, 1), linalg.square("det", lambda batch, n: batch)),
    Op("pinv", "linalg", (1, 1), linalg.pinv, domain="full rank"),
    Op("lstsq", "linalg", (2, 2), linalg.lstsq, domain="full rank"),
    Op("matrix_norm", "linalg", (1, 1), linalg.matrix_norm, _MATRIX_NORM, kink="at ties"),
    Op("vector_norm", "linalg", (1, 1), linalg.vector_norm, _VECTOR_NORM, kink="at ties"),
    Op("matrix_power", "linalg", (1, 1), linalg.matrix_power, (("n", ...),), domain="invertible"),
    Op("expm", "linalg", (1, 1), linalg.square("expm")),
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
    known = dict(row.params)
    for name in params:
        if name not in known:
            fail(f"{op} has no parameter {name!r}; it has {', '.join(known) or 'none'}")
    full: dict[str, ParamValue] = {}
    for name, default in row.params:
        if name in params:
            full[name] = params[name]
        elif default is ...:
            fail(f"{op} needs the parameter {name!r}")
        else:
            full[name] = default
    for t in types:
        if t.is_stack:
            fail(f"{op} takes arrays, not the stack {t}")
    return row.rule(types, full)
