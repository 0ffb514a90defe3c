"""Type rules of the linear-algebra ops: shapes in, shapes out, and errors in words. All leading axes are
batch axes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gradfuzz.programs.language.syntax import ParamValue
from gradfuzz.programs.language.types import DType, Type, broadcast_shapes, fail, inexact

Params = Mapping[str, ParamValue]
Rule = Callable[[tuple[Type, ...], Params], Type]
Shape = tuple[int, ...]

MATRIX_NORMS = ("fro", "nuc", 1, -1, 2, -2, "inf", "-inf")
"""Orders of `matrix_norm`; infinities are written as strings, for a parameter holds no floats."""


def _matrix(t: Type, op: str) -> tuple[Shape, int, int]:
    """The batch shape, rows and columns of a matrix argument."""
    if t.dtype == "bool" or t.rank < 2:
        fail(f"{op} takes matrices of numbers, which have two axes or more, not {t}")
    *batch, m, n = t.sizes
    return tuple(batch), m, n


def _square_matrix(t: Type, op: str) -> tuple[Shape, int]:
    batch, m, n = _matrix(t, op)
    if m != n:
        fail(f"{op} takes square matrices, not {t}")
    return batch, n


def _dtype(types: tuple[Type, ...]) -> DType:
    return inexact([t.dtype for t in types])


def _flag(params: Params, name: str, op: str) -> bool:
    value = params[name]
    if not isinstance(value, bool):
        fail(f"{op} with {name}={value!r}: it is True or False")
    return value


def square(
    op: str, result: Callable[[Shape, int], Shape] = lambda batch, n: (*batch, n, n), *, real: bool = False
) -> Rule:
    """The rule of an op of one square matrix; `result` makes the result's shape from the batch shape and the
    size.

    The result of a `real` op is real whatever the matrix is.
    """

    def rule(types: tuple[Type, ...], params: Params) -> Type:
        return Type("float" if real else _dtype(types), result(*_square_matrix(types[0], op)))

    return rule


# Ops with several results -----------------------------------------------------------------------------------


def _qr(t: Type, params: Params) -> tuple[Shape, ...]:
    batch, m, n = _matrix(t, "qr")
    mode = params["mode"]
    if mode not in ("reduced", "complete"):
        fail(f"qr with mode {mode!r}: a mode is 'reduced' or 'complete'")
    k = min(m, n) if mode == "reduced" else m
    return (*batch, m, k), (*batch, k, n)


def _lu(t: Type, params: Params) -> tuple[Shape, ...]:
    batch, m, n = _matrix(t, "lu")
    k = min(m, n)
    return (*batch, m, m), (*batch, m, k), (*batch, k, n)


def _svd(t: Type, params: Params) -> tuple[Shape, ...]:
    batch, m, n = _matrix(t, "svd")
    k = min(m, n)
    if _flag(params, "full_matrices", "svd"):
        return (*batch, m, m), (*batch, k), (*batch, n, n)
    return (*batch, m, k), (*batch, k), (*batch, k, n)


def _spectral(op: str) -> Callable[[Type, Params], tuple[Shape, ...]]:
    def parts(t: Type, params: Params) -> tuple[Shape, ...]:
        batch, n = _square_matrix(t, op)
        return (*batch, n), (*batch, n, n)

    return parts


def _slogdet(t: Type, params: Params) -> tuple[Shape, ...]:
    batch, _ = _square_matrix(t, "slogdet")
    return batch, batch


def svdvals(types: tuple[Type, ...], params: Params) -> Type:
    batch, m, n = _matrix(types[0], "svdvals")
    return Type("float", (*batch, min(m, n)))


def eigvals(types: tuple[Type, ...], params: Params) -> Type:
    """Complex, also where the matrix is real."""
    batch, n = _square_matrix(types[0], "eigvals")
    return Type("complex", (*batch, n))


_SPECTRAL = {op: _spectral(op) for op in ("eigh", "eig")}
_PARTS = {"qr": _qr, "lu": _lu, "svd": _svd, "slogdet": _slogdet} | _SPECTRAL
_REAL_PARTS = frozenset({("lu", 0), ("svd", 1), ("eigh", 0), ("slogdet", 1)})
"""Results that are real whatever the matrix is."""


def parts_rule(op: str, names: tuple[str, ...]) -> Rule:
    """The rule of an op with several results, of which the parameter `part` chooses one."""

    def rule(types: tuple[Type, ...], params: Params) -> Type:
        part = params["part"]
        if not isinstance(part, int) or isinstance(part, bool) or not 0 <= part < len(names):
            fail(f"{op}(...)[{part!r}]: {op} returns {', '.join(names)}, which are 0 to {len(names) - 1}")
        dtype: DType = "complex" if op == "eig" else "float" if (op, part) in _REAL_PARTS else _dtype(types)
        return Type(dtype, _PARTS[op](types[0], params)[part])

    return rule


# Solving ----------------------------------------------------------------------------------------------------


def _batch(a: Shape, b: Shape, types: tuple[Type, ...], op: str) -> Shape:
    batch = broadcast_shapes(a, b)
    if batch is None:
        fail(f"{op} of {types[0]} and {types[1]}: the batch axes {a} and {b} do not broadcast")
    return batch


def _solution(op: str, batch: Shape, rows: int, unknowns: int, types: tuple[Type, ...]) -> Type:
    """x of a system of `rows` equations. b is a vector only where it has one axis, otherwise matrices."""
    a, b = types
    if b.rank == 1:
        if b.sizes != (rows,):
            fail(f"{op} of {a} and {b}: {rows} equations meet a right side of {b.shape[0]} rows")
        return Type(_dtype(types), (*batch, unknowns))
    other, m, columns = _matrix(b, op)
    if m != rows:
        fail(f"{op} of {a} and {b}: {rows} equations meet a right side of {m} rows")
    return Type(_dtype(types), (*_batch(batch, other, types, op), unknowns, columns))


def solve(types: tuple[Type, ...], params: Params) -> Type:
    """x of a x = b, b as in the array API standard."""
    batch, n = _square_matrix(types[0], "solve")
    return _solution("solve", batch, n, n, types)


def lstsq(types: tuple[Type, ...], params: Params) -> Type:
    """x that minimises |a x - b|, the shortest where there are several."""
    batch, m, n = _matrix(types[0], "lstsq")
    return _solution("lstsq", batch, m, n, types)


def triangular_solve(types: tuple[Type, ...], params: Params) -> Type:
    """x of op(a) x = b, or of x op(a) = b. Of a, one triangle is read."""
    a, b = types
    for name in ("lower", "transposed", "unit_diagonal", "left"):
        _flag(params, name, "triangular_solve")
    batch, n = _square_matrix(a, "triangular_solve")
    other, rows, columns = _matrix(b, "triangular_solve")
    if (rows if params["left"] else columns) != n:
        fail(f"triangular_solve of {a} and {b}: {n} unknowns do not fit the right side")
    return Type(_dtype(types), (*_batch(batch, other, types, "triangular_solve"), rows, columns))


def pinv(types: tuple[Type, ...], params: Params) -> Type:
    batch, m, n = _matrix(types[0], "pinv")
    return Type(_dtype(types), (*batch, n, m))


# Norms and powers -------------------------------------------------------------------------------------------


def matrix_norm(types: tuple[Type, ...], params: Params) -> Type:
    """Over the last two axes."""
    order = params["ord"]
    if isinstance(order, bool) or order not in MATRIX_NORMS:
        fail(f"matrix_norm with ord={order!r}; the orders are {', '.join(map(repr, MATRIX_NORMS))}")
    batch, _, _ = _matrix(types[0], "matrix_norm")
    return Type("float", (*batch, 1, 1) if _flag(params, "keepdims", "matrix_norm") else batch)


def vector_norm(types: tuple[Type, ...], params: Params) -> Type:
    """Over one axis, or over all of them as one vector (axis=None)."""
    (t,) = types
    order, axis = params["ord"], params["axis"]
    if t.dtype == "bool":
        fail(f"vector_norm takes numbers, not {t}")
    if isinstance(order, bool) or not (isinstance(order, int) or order in ("inf", "-inf")):
        fail(f"vector_norm with ord={order!r}: an order is an int, 'inf' or '-inf'")
    keep, shape = _flag(params, "keepdims", "vector_norm"), t.sizes
    if not (axis is None or (type(axis) is int and -t.rank <= axis < t.rank)):
        fail(f"vector_norm over axis {axis!r} of {t}: an axis is an int in [-{t.rank}, {t.rank}), or None")
    axes = range(t.rank) if axis is None else [axis % t.rank]
    chooses = isinstance(order, str) or order < 0
    if chooses and any(shape[k] == 0 for k in axes):
        fail(f"vector_norm with ord={order!r} of {t}: of no entries none is the largest or smallest")
    return Type("float", tuple(1 if k in axes else n for k, n in enumerate(shape) if keep or k not in axes))


def matrix_power(types: tuple[Type, ...], params: Params) -> Type:
    n = params["n"]
    if not isinstance(n, int) or isinstance(n, bool):
        fail(f"matrix_power takes an int n, not {n!r}")
    return square("matrix_power")(types, params)


# Diagonals, triangles, products -----------------------------------------------------------------------------


def _offset(params: Params, name: str, op: str) -> int:
    value = params[name]
    if not isinstance(value, int) or isinstance(value, bool):
        fail(f"{op} with {name}={value!r}: it is an int")
    return value


def diagonal_length(m: int, n: int, offset: int) -> int:
    """Entries on a diagonal of an m x n matrix: those above the main one have offsets above 0."""
    return max(0, min(m + min(offset, 0), n - max(offset, 0)))


def diagonal(types: tuple[Type, ...], params: Params) -> Type:
    """Of the last two axes, as a new last axis."""
    batch, m, n = _matrix(types[0], "diagonal")
    return Type(types[0].dtype, (*batch, diagonal_length(m, n, _offset(params, "offset", "diagonal"))))


def trace(types: tuple[Type, ...], params: Params) -> Type:
    batch, _, _ = _matrix(types[0], "trace")
    _offset(params, "offset", "trace")
    return Type(types[0].dtype, batch)


def triangle(op: str) -> Rule:
    """tril and triu: the other triangle is zero."""

    def rule(types: tuple[Type, ...], params: Params) -> Type:
        _matrix(types[0], op)
        _offset(params, "k", op)
        return types[0]

    return rule


def outer(types: tuple[Type, ...], params: Params) -> Type:
    a, b = types
    if a.rank != 1 or b.rank != 1 or "bool" in (a.dtype, b.dtype):
        fail(f"outer takes two vectors of numbers, not {a} and {b}")
    return Type(_dtype(types), (*a.sizes, *b.sizes))


def kron(types: tuple[Type, ...], params: Params) -> Type:
    """Of two matrices without batch axes, or of stacks of them with batch axes that broadcast."""
    batch, m, n = _matrix(types[0], "kron")
    other, p, q = _matrix(types[1], "kron")
    return Type(_dtype(types), (*_batch(batch, other, types, "kron"), m * p, n * q))


def einsum_sizes(types: tuple[Type, ...], subscripts: ParamValue) -> tuple[list[str], str, dict[str, int]]:
    """The letters of each operand, those of the result, and the size of each; `ProgramTypeError` where they
    do not fit.
    """
    hint = "write it in full, as einsum('ij,jk->ik', a, b): letters a-z, one arrow, no ellipsis"
    if not isinstance(subscripts, str) or subscripts.count("->") != 1:
        fail(f"einsum with {subscripts!r}; {hint}")
    left, _, out = subscripts.replace(" ", "").partition("->")
    terms = left.split(",")
    letters = all(c.isascii() and c.isalpha() for term in (*terms, out) for c in term)
    if not letters or len(set(out)) != len(out):
        fail(f"einsum with {subscripts!r}; {hint}, each letter of the result once")
    if len(terms) != len(types):
        fail(f"einsum with {subscripts!r} names {len(terms)} operands, got {len(types)}")
    sizes: dict[str, int] = {}
    for term, t in zip(terms, types, strict=True):
        if len(term) != t.rank or t.dtype == "bool":
            fail(f"einsum with {subscripts!r}: {term!r} does not fit {t}")
        for letter, n in zip(term, t.sizes, strict=True):
            if sizes.setdefault(letter, n) != n:
                fail(f"einsum with {subscripts!r}: {letter} has the sizes {sizes[letter]} and {n}")
    unknown = [c for c in out if c not in sizes]
    if unknown:
        fail(f"einsum with {subscripts!r}: {unknown[0]} is in the result and in no operand")
    return terms, out, sizes


def einsum(types: tuple[Type, ...], params: Params) -> Type:
    _, out, sizes = einsum_sizes(types, params["subscripts"])
    return Type(_dtype(types), tuple(sizes[c] for c in out))


# Parts of derivatives ---------------------------------------------------------------------------------------


def cofactor(types: tuple[Type, ...], params: Params) -> Type:
    """The mixed derivative of the cofactor matrix of the first argument along the others, all of
    one shape.
    """
    batch, n = _square_matrix(types[0], "cofactor")
    for t in types[1:]:
        if t.shape != types[0].shape or t.dtype == "bool":
            fail(f"cofactor of {types[0]} along {t}: a direction has the shape of the matrix")
    return Type(_dtype(types), (*batch, n, n))


def divide_by_gaps(types: tuple[Type, ...], params: Params) -> Type:
    """k_ij / (y_j - x_i) for k of shape (..., m, n), x of (..., m) and y of (..., n)."""
    k, x, y = types
    _flag(params, "hollow", "divide_by_gaps")
    batch, m, n = _matrix(k, "divide_by_gaps")
    if x.sizes != (*batch, m) or y.sizes != (*batch, n):
        fail(f"divide_by_gaps of {k} by {x} and {y}: x has a value per row of k, y one per column")
    return k.with_dtype(_dtype(types))
