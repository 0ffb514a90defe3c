"""The ATen ops of linear algebra: the results that Torch's functions are made of, and None for those that
only its derivatives read.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import gradfuzz.engine as engine
from gradfuzz.engine import linalg
from gradfuzz.engine.rules.value import apply
from gradfuzz.errors import UntraceableError
from gradfuzz.tracing.common.compositions import as_kind, by_name, cross, inside, kind_of, recorded, spread
from gradfuzz.tracing.common.factors import (
    adjoint_of,
    householder_product,
    order_of,
    packed_lu,
    permutation,
    transposed,
)
from gradfuzz.tracing.common.graph import need_symmetric
from gradfuzz.tracing.torch.moves import moved
from gradfuzz.tracing.torch.values import UNSAID, Handler, Out, operand


def _solve(out: Out, a: Any, b: Any, *, left: bool = True, check_errors: bool = False) -> Any:
    """Torch takes a right side of the shape of a without its last axis for a stack of vectors."""
    a, b = operand(a), operand(b)
    if np.ndim(b) == 1 or np.shape(b) == np.shape(a)[:-1]:
        column = engine.reshape(b, (*np.shape(b), 1))
        result = engine.reshape(linalg.solve(a, column), out.shape)
    else:
        result = linalg.solve(a, b) if left else transposed(linalg.solve(transposed(a), transposed(b)))
    packed, exchanges, _ = packed_lu(recorded(a))
    return result, packed, exchanges + 1, np.zeros(out.shapes[3], np.int64)


def _cholesky(out: Out, x: Any, upper: bool = False) -> Any:
    need_symmetric(operand(x), "cholesky")
    return linalg.cholesky(operand(x), upper=upper)


def _cholesky_solve(out: Out, b: Any, factor: Any, upper: bool = False) -> Any:
    """x with l l^H x = b."""
    lower = adjoint_of(operand(factor)) if upper else operand(factor)
    half = linalg.triangular_solve(lower, operand(b), lower=True)
    return linalg.triangular_solve(adjoint_of(lower), half, lower=False)


def _cholesky_inverse(out: Out, factor: Any, upper: bool = False) -> Any:
    return _cholesky_solve(out, np.broadcast_to(np.eye(out.shape[-1]), out.shape), factor, upper)


def _solve_triangular(
    out: Out, a: Any, b: Any, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Any:
    return linalg.triangular_solve(
        out.cast(a), out.cast(b), lower=not upper, left=left, unit_diagonal=unitriangular
    )


def _triangular_solve(
    out: Out, b: Any, a: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    x = linalg.triangular_solve(
        operand(a), operand(b), lower=not upper, transposed=transpose, unit_diagonal=unitriangular
    )
    return x, operand(a)


def _qr(out: Out, x: Any, mode: str = "reduced") -> Any:
    if mode == "r":
        return UNSAID, linalg.qr(operand(x))[1]
    return linalg.qr(operand(x), mode="complete" if mode == "complete" else "reduced")


def _eigh(out: Out, x: Any, uplo: str = "L", compute_v: bool = True) -> Any:
    need_symmetric(operand(x), "eigh")
    return linalg.eigh(operand(x)) if compute_v else (linalg.eigvalsh(operand(x)), UNSAID)


def _svd(
    out: Out, x: Any, full_matrices: bool = False, compute_uv: bool = True, *, driver: str | None = None
) -> Any:
    if not compute_uv:
        return UNSAID, linalg.svdvals(operand(x)), UNSAID
    return linalg.svd(operand(x), full_matrices=full_matrices)


def _lu(out: Out, x: Any, *, pivot: bool = True) -> Any:
    if not pivot:
        raise UntraceableError("an LU factorisation without pivoting")
    return linalg.lu(operand(x))


def _lu_factor(out: Out, x: Any, *, pivot: bool = True, check_errors: bool = False) -> Any:
    """Both factors in one matrix; exchanges of rows, which are counted from 1."""
    if not pivot:
        raise UntraceableError("an LU factorisation without pivoting")
    packed, exchanges, _ = packed_lu(operand(x))
    return packed, exchanges + 1, np.zeros(out.shapes[2], np.int64)


def _kept(out: Out, x: Any) -> tuple[Any, Any]:
    """The factors that Torch keeps for the derivative of det and slogdet: those of the transposed matrix
    where its rows lie one after the other in memory and its numbers are real, since LAPACK wants columns.
    """
    rows_first = out.row_major and kind_of(x) == "float"
    packed, exchanges, _ = packed_lu(transposed(x) if rows_first else x)
    return packed, exchanges + 1


def _lu_solve(
    out: Out, factors: Any, pivots: Any, b: Any, *, left: bool = True, adjoint: bool = False
) -> Any:
    """x with a x = b, a^H x = b (`adjoint`), or x on the other side, where a = p l u."""
    factors, b = operand(factors), operand(b)
    order = order_of(operand(pivots) - 1, np.shape(factors)[-1])
    if left:
        return _solved(factors, order, b, adjoint)
    return adjoint_of(_solved(factors, order, adjoint_of(b), not adjoint))


def _solved(factors: Any, order: Any, b: Any, adjoint: bool) -> Any:
    p = as_kind(permutation(order), kind_of(factors))
    batch = np.broadcast_shapes(np.shape(factors)[:-2], np.shape(b)[:-2])
    factors, b = (spread(x, (*batch, *np.shape(x)[-2:])) for x in (factors, b))
    if not adjoint:
        half = linalg.triangular_solve(factors, engine.matmul(transposed(p), b), unit_diagonal=True)
        return linalg.triangular_solve(factors, half, lower=False)
    turned = adjoint_of(factors)
    half = linalg.triangular_solve(turned, b)
    return engine.matmul(p, linalg.triangular_solve(turned, half, lower=False, unit_diagonal=True))


def _lu_unpack(
    out: Out, factors: Any, pivots: Any, unpack_data: bool = True, unpack_pivots: bool = True
) -> Any:
    p, lower, upper = UNSAID, UNSAID, UNSAID
    factors = operand(factors)
    rows, columns = np.shape(factors)[-2:]
    count = min(rows, columns)
    if unpack_pivots:
        p = as_kind(permutation(order_of(operand(pivots) - 1, rows)), out.kind)
    if unpack_data:
        leading = (slice(None),) * (np.ndim(factors) - 2)
        lower = linalg.tril(factors, k=-1)[(*leading, slice(None), slice(0, count))]
        lower = lower + as_kind(np.eye(rows, count), out.kind)
        upper = linalg.triu(factors)[(*leading, slice(0, count), slice(None))]
    return p, lower, upper


def _lstsq(out: Out, a: Any, b: Any, rcond: float | None = None, *, driver: str | None = None) -> Any:
    return linalg.lstsq(operand(a), operand(b)), UNSAID, UNSAID, UNSAID


def _pinv(
    out: Out,
    x: Any,
    first: Any = None,
    second: Any = None,
    *,
    atol: Any = None,
    rtol: Any = None,
    rcond: Any = None,
    hermitian: bool = False,
) -> Any:
    """Of a matrix of full rank: no singular value is cut off. Torch's own bounds cut none off."""
    x = operand(x)
    if isinstance(first, float) and isinstance(second, bool):
        rtol, hermitian = first, second
    elif isinstance(first, bool):
        hermitian = first
    rtol = rcond if rtol is None else rtol
    if hermitian:
        need_symmetric(x, "pinv")
    if atol is None and rtol is None:
        return linalg.pinv(x)
    values = linalg.svdvals(x)
    leading = (slice(None),) * (np.ndim(values) - 1)
    least, greatest = values[(*leading, -1)], values[(*leading, 0)]
    bound = 0.0 if rtol is None else greatest * out.cast(rtol)
    bound = bound if atol is None else engine.maximum(bound + least * 0.0, least * 0.0 + out.cast(atol))
    return inside(apply("less", bound, least), linalg.pinv(x))


def _ormqr(out: Out, x: Any, taus: Any, other: Any, left: bool = True, transpose: bool = False) -> Any:
    """The product with the whole of a product of reflections, or its adjoint."""
    x, taus, other = operand(x), operand(taus), operand(other)
    rows, columns = np.shape(x)[-2:]
    if columns < rows:
        zeros = engine.broadcast_to(recorded(0.0), (*np.shape(x)[:-1], rows - columns))
        x = engine.concat([x, as_kind(zeros, kind_of(x))], axis=np.ndim(x) - 1)
    q = householder_product(x, taus)
    q = adjoint_of(q) if transpose else q
    return engine.matmul(q, other) if left else engine.matmul(other, q)


def _diag_embed(out: Out, x: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """A matrix with `x` on the diagonal and zeros elsewhere."""
    x = operand(x)
    rank = np.ndim(x) + 1
    if (dim1 % rank, dim2 % rank) != (rank - 2, rank - 1) or offset:
        return moved(out, x, offset, dim1, dim2)
    n = np.shape(x)[-1]
    return engine.reshape(x, (*np.shape(x), 1)) * as_kind(np.eye(n), out.kind)


def _diag(out: Out, x: Any, diagonal: int = 0) -> Any:
    x = operand(x)
    if np.ndim(x) == 2:
        return linalg.diagonal(x, offset=diagonal)
    return moved(out, x, diagonal) if diagonal else _diag_embed(out, x)


def _cross(out: Out, x: Any, y: Any, *, dim: int = -1) -> Any:
    return cross(spread(operand(x), out.shape), spread(operand(y), out.shape), axis=dim)


def _cdist(out: Out, x: Any, y: Any, p: float = 2.0, *options: Any) -> Any:
    x, y = operand(x), operand(y)
    of_y = engine.reshape(y, (*np.shape(y)[:-2], 1, *np.shape(y)[-2:]))
    apart = engine.reshape(x, (*np.shape(x)[:-1], 1, np.shape(x)[-1])) - of_y
    if not float(p).is_integer() and not math.isinf(p):
        raise UntraceableError(f"distances in the norm of order {p}")
    order: Any = "inf" if math.isinf(p) else int(p)
    return linalg.vector_norm(apart, ord=order, axis=-1)


def _no_error(out: Out) -> Any:
    """The code of an error, in the second place: where it is another one, there is nothing to compute."""
    return np.zeros(out.shapes[1], np.int64)


HANDLERS: dict[str, Handler] = {
    "_linalg_solve_ex": _solve,
    "linalg_inv_ex": lambda out, x, **options: (linalg.inv(operand(x)), _no_error(out)),
    "_linalg_det": lambda out, x: (linalg.det(operand(x)), *_kept(out, operand(x))),
    "_linalg_slogdet": lambda out, x: (*linalg.slogdet(operand(x)), *_kept(out, operand(x))),
    "ormqr": _ormqr,
    "linalg_householder_product": lambda out, x, taus: householder_product(operand(x), operand(taus)),
    "linalg_lu_factor_ex": _lu_factor,
    "linalg_lu_solve": _lu_solve,
    "lu_unpack": _lu_unpack,
    "linalg_cholesky_ex": lambda out, x, *, upper=False, **options: (
        _cholesky(out, x, upper),
        _no_error(out),
    ),
    **by_name(_cholesky, _cholesky_solve, _cholesky_inverse, _triangular_solve, _diag_embed, _diag),
    "linalg_solve_triangular": _solve_triangular,
    "linalg_qr": _qr,
    "_linalg_eigh": _eigh,
    "_linalg_svd": _svd,
    "linalg_lu": _lu,
    "linalg_lstsq": _lstsq,
    "linalg_pinv": _pinv,
    "linalg_matrix_exp": lambda out, x: linalg.expm(operand(x)),
    "linalg_eig": lambda out, x: linalg.eig(operand(x)),
    **dict.fromkeys(("_linalg_eigvals", "linalg_eigvals"), lambda out, x: linalg.eigvals(operand(x))),
    "linalg_cross": _cross,
    "trace": lambda out, x: linalg.trace(operand(x)),
    "_cdist_forward": _cdist,
}
"""By the name of an op without its overload."""
