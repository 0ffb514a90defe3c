"""Type rules of the linear-algebra ops: shapes in, shapes out, and errors in words. All leading axes are
batch axes.
"""

from __future__ import annotations

from collections.abc import Callable

from gradfuzz.programs.language.tensor_rules import Params, Result, Rule, Shape, always
from gradfuzz.programs.language.types import DType, Type, broadcast_shapes, fail, inexact

MATRIX_NORMS = ("fro", "nuc", 1, -1, 2, -2, "inf", "-inf")
"""Orders of `matrix_norm`; infinities are written as strings, for a parameter holds no floats."""


def _matrix(op: str, t: Type, *, square: bool = False) -> tuple[Shape, int, int]:
    """The batch shape, rows and columns of a matrix argument."""
    if t.dtype == "bool" or t.rank < 2:
        fail(f"{op} takes matrices of numbers, which have two axes or more, not {t}")
    *batch, m, n = t.sizes
    if square and m != n:
        fail(f"{op} takes square matrices, not {t}")
    return tuple(batch), m, n


def _dtype(types: tuple[Type, ...]) -> DType:
    return inexact([t.dtype for t in types])


def _flag(op: str, params: Params, name: str) -> bool:
    value = params[name]
    if not isinstance(value, bool):
        fail(f"{op} with {name}={value!r}: it is True or False")
    return value


def _offset(op: str, params: Params, name: str) -> int:
    value = params[name]
    if not isinstance(value, int) or isinstance(value, bool):
        fail(f"{op} with {name}={value!r}: it is an int")
    return value


def of_matrix(
    shape: Callable[[Shape, int, int], Shape], dtype: Result = inexact, *, square: bool = True
) -> Rule:
    """The rule of an op of one matrix; `shape` makes the result's from the batch shape, rows and columns."""

    def rule(op: str, types: tuple[Type, ...], params: Params) -> Type:
        return Type(dtype([types[0].dtype]), shape(*_matrix(op, types[0], square=square)))

    return rule


_FLOAT = always("float")
to_matrix = of_matrix(lambda batch, m, n: (*batch, m, n))
eigvalsh = of_matrix(lambda batch, m, n: (*batch, n), _FLOAT)
eigvals = of_matrix(lambda batch, m, n: (*batch, n), always("complex"))
"""Complex, also where the matrix is real."""
svdvals = of_matrix(lambda batch, m, n: (*batch, min(m, n)), _FLOAT, square=False)
pinv = of_matrix(lambda batch, m, n: (*batch, n, m), square=False)
det = of_matrix(lambda batch, m, n: batch)


# Ops with several results -----------------------------------------------------------------------------------


def _qr(batch: Shape, m: int, n: int, params: Params) -> tuple[Shape, ...]:
    mode = params["mode"]
    if mode not in ("reduced", "complete"):
        fail(f"qr with mode {mode!r}: a mode is 'reduced' or 'complete'")
    k = min(m, n) if mode == "reduced" else m
    return (*batch, m, k), (*batch, k, n)


def _lu(batch: Shape, m: int, n: int, params: Params) -> tuple[Shape, ...]:
    k = min(m, n)
    return (*batch, m, m), (*batch, m, k), (*batch, k, n)


def _svd(batch: Shape, m: int, n: int, params: Params) -> tuple[Shape, ...]:
    k = min(m, n)
    full = _flag("svd", params, "full_matrices")
    return (*batch, m, m if full else k), (*batch, k), (*batch, n if full else k, n)


def _spectral(batch: Shape, m: int, n: int, params: Params) -> tuple[Shape, ...]:
    return (*batch, n), (*batch, n, n)


def _slogdet(batch: Shape, m: int, n: int, params: Params) -> tuple[Shape, ...]:
    return batch, batch


_OF_SQUARES = {"eigh": _spectral, "eig": _spectral, "slogdet": _slogdet}
_PARTS = {"qr": _qr, "lu": _lu, "svd": _svd, **_OF_SQUARES}
_REAL_PARTS = frozenset({("lu", 0), ("svd", 1), ("eigh", 0), ("slogdet", 1)})
"""Results that are real whatever the matrix is."""


def parts_rule(names: tuple[str, ...]) -> Rule:
    """The rule of an op with several results, of which the parameter `part` chooses one."""

    def rule(op: str, types: tuple[Type, ...], params: Params) -> Type:
        part = params["part"]
        if not isinstance(part, int) or isinstance(part, bool) or not 0 <= part < len(names):
            fail(f"{op}(...)[{part!r}]: {op} returns {', '.join(names)}, which are 0 to {len(names) - 1}")
        dtype: DType = "complex" if op == "eig" else "float" if (op, part) in _REAL_PARTS else _dtype(types)
        matrix = _matrix(op, types[0], square=op in _OF_SQUARES)
        return Type(dtype, _PARTS[op](*matrix, params)[part])

    return rule


# Solving ----------------------------------------------------------------------------------------------------


def _batch(op: str, a: Shape, b: Shape, types: tuple[Type, ...]) -> Shape:
    batch = broadcast_shapes(a, b)
    if batch is None:
        fail(f"{op} of {types[0]} and {types[1]}: the batch axes {a} and {b} do not broadcast")
    return batch


def system(*, square: bool) -> Rule:
    """x of a x = b, or that minimises |a x - b|, the shortest where there are several. b is a vector only
    where it has one axis, otherwise matrices, as in the array API standard.
    """

    def rule(op: str, types: tuple[Type, ...], params: Params) -> Type:
        a, b = types
        batch, rows, unknowns = _matrix(op, a, square=square)
        if b.rank == 1:
            if b.sizes != (rows,):
                fail(f"{op} of {a} and {b}: {rows} equations meet a right side of {b.shape[0]} rows")
            return Type(_dtype(types), (*batch, unknowns))
        other, m, columns = _matrix(op, b)
        if m != rows:
            fail(f"{op} of {a} and {b}: {rows} equations meet a right side of {m} rows")
        return Type(_dtype(types), (*_batch(op, batch, other, types), unknowns, columns))

    return rule


def triangular_solve(op: str, types: tuple[Type, ...], params: Params) -> Type:
    """x of op(a) x = b, or of x op(a) = b. Of a, one triangle is read."""
    a, b = types
    for name in ("lower", "transposed", "unit_diagonal", "left"):
        _flag(op, params, name)
    batch, n, _ = _matrix(op, a, square=True)
    other, rows, columns = _matrix(op, b)
    if (rows if params["left"] else columns) != n:
        fail(f"{op} of {a} and {b}: {n} unknowns do not fit the right side")
    return Type(_dtype(types), (*_batch(op, batch, other, types), rows, columns))


# Norms and powers -------------------------------------------------------------------------------------------


def matrix_norm(op: str, types: tuple[Type, ...], params: Params) -> Type:
    """Over the last two axes."""
    order = params["ord"]
    if isinstance(order, bool) or order not in MATRIX_NORMS:
        fail(f"{op} with ord={order!r}; the orders are {', '.join(map(repr, MATRIX_NORMS))}")
    batch, _, _ = _matrix(op, types[0])
    return Type("float", (*batch, 1, 1) if _flag(op, params, "keepdims") else batch)


def vector_norm(op: str, types: tuple[Type, ...], params: Params) -> Type:
    """Over one axis, or over all of them as one vector (axis=None)."""
    (t,) = types
    order, axis = params["ord"], params["axis"]
    if t.dtype == "bool":
        fail(f"{op} takes numbers, not {t}")
    if isinstance(order, bool) or not (isinstance(order, int) or order in ("inf", "-inf")):
        fail(f"{op} with ord={order!r}: an order is an int, 'inf' or '-inf'")
    keep, shape = _flag(op, params, "keepdims"), t.sizes
    if not (axis is None or (type(axis) is int and -t.rank <= axis < t.rank)):
        fail(f"{op} over axis {axis!r} of {t}: an axis is an int in [-{t.rank}, {t.rank}), or None")
    axes = range(t.rank) if axis is None else [axis % t.rank]
    chooses = isinstance(order, str) or order < 0
    if chooses and any(shape[k] == 0 for k in axes):
        fail(f"{op} with ord={order!r} of {t}: of no entries none is the largest or smallest")
    return Type("float", tuple(1 if k in axes else n for k, n in enumerate(shape) if keep or k not in axes))


def matrix_power(op: str, types: tuple[Type, ...], params: Params) -> Type:
    n = params["n"]
    if not isinstance(n, int) or isinstance(n, bool):
        fail(f"{op} takes an int n, not {n!r}")
    return to_matrix(op, types, params)


# Diagonals, triangles, products -----------------------------------------------------------------------------


def diagonal_length(m: int, n: int, offset: int) -> int:
    """Entries on a diagonal of an m x n matrix: those above the main one have offsets above 0."""
    return max(0, min(m + min(offset, 0), n - max(offset, 0)))


def diagonal(op: str, types: tuple[Type, ...], params: Params) -> Type:
    """Of the last two axes, as a new last axis."""
    batch, m, n = _matrix(op, types[0])
    return Type(types[0].dtype, (*batch, diagonal_length(m, n, _offset(op, params, "offset"))))


def trace(op: str, types: tuple[Type, ...], params: Params) -> Type:
    batch, _, _ = _matrix(op, types[0])
    _offset(op, params, "offset")
    return Type(types[0].dtype, batch)


def triangle(op: str, types: tuple[Type, ...], params: Params) -> Type:
    """tril and triu: the other triangle is zero."""
    _matrix(op, types[0])
    _offset(op, params, "k")
    return types[0]


def outer(op: str, types: tuple[Type, ...], params: Params) -> Type:
    a, b = types
    if a.rank != 1 or b.rank != 1 or "bool" in (a.dtype, b.dtype):
        fail(f"{op} takes two vectors of numbers, not {a} and {b}")
    return Type(_dtype(types), (*a.sizes, *b.sizes))


def kron(op: str, types: tuple[Type, ...], params: Params) -> Type:
    """Of two matrices without batch axes, or of stacks of them with batch axes that broadcast."""
    batch, m, n = _matrix(op, types[0])
    other, p, q = _matrix(op, types[1])
    return Type(_dtype(types), (*_batch(op, batch, other, types), m * p, n * q))


def einsum(op: str, types: tuple[Type, ...], params: Params) -> Type:
    subscripts = params["subscripts"]
    hint = "write it in full, as einsum('ij,jk->ik', a, b): letters a-z, one arrow, no ellipsis"
    if not isinstance(subscripts, str) or subscripts.count("->") != 1:
        fail(f"{op} with {subscripts!r}; {hint}")
    left, _, out = subscripts.replace(" ", "").partition("->")
    terms = left.split(",")
    letters = all(c.isascii() and c.isalpha() for term in (*terms, out) for c in term)
    if not letters or len(set(out)) != len(out):
        fail(f"{op} with {subscripts!r}; {hint}, each letter of the result once")
    if len(terms) != len(types):
        fail(f"{op} with {subscripts!r} names {len(terms)} operands, got {len(types)}")
    sizes: dict[str, int] = {}
    for term, t in zip(terms, types, strict=True):
        if len(term) != t.rank or t.dtype == "bool":
            fail(f"{op} with {subscripts!r}: {term!r} does not fit {t}")
        for letter, n in zip(term, t.sizes, strict=True):
            if sizes.setdefault(letter, n) != n:
                fail(f"{op} with {subscripts!r}: {letter} has the sizes {sizes[letter]} and {n}")
    unknown = [c for c in out if c not in sizes]
    if unknown:
        fail(f"{op} with {subscripts!r}: {unknown[0]} is in the result and in no operand")
    return Type(_dtype(types), tuple(sizes[c] for c in out))


# Parts of derivatives ---------------------------------------------------------------------------------------


def cofactor(op: str, types: tuple[Type, ...], params: Params) -> Type:
    """The mixed derivative of the cofactor matrix of the first argument along the others, all of
    one shape.
    """
    batch, n, _ = _matrix(op, types[0], square=True)
    for t in types[1:]:
        if t.shape != types[0].shape or t.dtype == "bool":
            fail(f"{op} of {types[0]} along {t}: a direction has the shape of the matrix")
    return Type(_dtype(types), (*batch, n, n))


def divide_by_gaps(op: str, types: tuple[Type, ...], params: Params) -> Type:
    """k_ij / (y_j - x_i) for k of shape (..., m, n), x of (..., m) and y of (..., n)."""
    k, x, y = types
    _flag(op, params, "hollow")
    batch, m, n = _matrix(op, k)
    if x.sizes != (*batch, m) or y.sizes != (*batch, n):
        fail(f"{op} of {k} by {x} and {y}: x has a value per row of k, y one per column")
    return k.with_dtype(_dtype(types))
