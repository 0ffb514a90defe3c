"""numpy.linalg on arrays that record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import gradfuzz.engine as engine
from gradfuzz.engine import linalg
from gradfuzz.errors import UntraceableError
from gradfuzz.tracing.common.compositions import by_name, cross, norm
from gradfuzz.tracing.common.graph import need_symmetric
from gradfuzz.tracing.numpy.array import NumpyTrace

Handler = Callable[..., Any]


def _qr(trace: NumpyTrace, a: Any, mode: str = "reduced") -> Any:
    if mode not in ("reduced", "complete", "r"):
        raise trace.refuse(f"numpy.linalg.qr with mode={mode!r}")
    q, r = linalg.qr(trace.raw(a), mode="complete" if mode == "complete" else "reduced")
    return r if mode == "r" else _named(np.linalg.qr, trace, (q, r))


def _named(function: Any, trace: NumpyTrace, parts: Sequence[Any]) -> Any:
    """The parts as the named tuple in which NumPy returns them."""
    return function(np.eye(1)).__class__(*map(trace.wrapped, parts))


def _svd(
    trace: NumpyTrace, a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    if hermitian:
        raise trace.refuse("numpy.linalg.svd with hermitian=True")
    if not compute_uv:
        return linalg.svdvals(trace.raw(a))
    return _named(np.linalg.svd, trace, linalg.svd(trace.raw(a), full_matrices=full_matrices))


def _symmetric(trace: NumpyTrace, a: Any, name: str) -> Any:
    """A matrix that is symmetric whatever the arguments are: then it is no matter which triangle is read."""
    x = trace.raw(a)
    try:
        need_symmetric(x, name)
    except UntraceableError as error:
        raise trace.refuse(error.reason, detached=error.detached) from error
    return x


def _cholesky(trace: NumpyTrace, a: Any, /, *, upper: bool = False) -> Any:
    return linalg.cholesky(_symmetric(trace, a, "cholesky"), upper=upper)


def _eigh(trace: NumpyTrace, a: Any, UPLO: str = "L") -> Any:
    return _named(np.linalg.eigh, trace, linalg.eigh(_symmetric(trace, a, "eigh")))


def _pinv(trace: NumpyTrace, a: Any, *options: Any, **more: Any) -> Any:
    if options or any(v not in (None, False) for v in more.values()):
        raise trace.refuse("numpy.linalg.pinv with a tolerance of its own, or of Hermitian matrices")
    return linalg.pinv(trace.raw(a))


def _norm(trace: NumpyTrace, x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    raw = trace.raw(x)
    rank = len(np.shape(raw))
    axes = tuple(range(rank)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
    if len(axes) == 1 or ord in (None, "fro"):
        return norm(raw, 2.0 if ord in (None, "fro") else float(ord), axes=axes, keepdims=keepdims)
    if [a % rank for a in axes] != [rank - 2, rank - 1]:
        raise trace.refuse("numpy.linalg.norm of matrices that are not the last two axes")
    orders: dict[Any, Any] = {np.inf: "inf", -np.inf: "-inf"}
    return linalg.matrix_norm(raw, ord=orders.get(ord, ord), keepdims=keepdims)


def _vector_norm(
    trace: NumpyTrace, x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2
) -> Any:
    axes = None if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
    return norm(trace.raw(x), float(ord), axes=axes, keepdims=keepdims)


def _matrix_norm(trace: NumpyTrace, x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    return _norm(trace, x, ord, (-2, -1), keepdims)


def _multi_dot(trace: NumpyTrace, arrays: Sequence[Any], *, out: Any = None) -> Any:
    result = trace.raw(arrays[0])
    for a in arrays[1:]:
        result = engine.matmul(result, trace.raw(a))
    return result


def _lstsq(trace: NumpyTrace, a: Any, b: Any, rcond: Any = None) -> Any:
    """The solution; what else NumPy gives has no counterpart."""
    return trace.wrapped(linalg.lstsq(trace.raw(a), trace.raw(b))), None, None, None


def _cross(trace: NumpyTrace, a: Any, b: Any, /, *, axis: int = -1) -> Any:
    return cross(trace.raw(a), trace.raw(b), axis=axis)


def _vecdot(trace: NumpyTrace, a: Any, b: Any, /, *, axis: int = -1) -> Any:
    return engine.sum(engine.conj(trace.raw(a)) * trace.raw(b), axis=axis)


LINALG: dict[str, Handler] = {
    "inv": lambda trace, a: linalg.inv(trace.raw(a)),
    "solve": lambda trace, a, b: linalg.solve(trace.raw(a), trace.raw(b)),  # a vector is one, as since 2.0
    "det": lambda trace, a: linalg.det(trace.raw(a)),
    "slogdet": lambda trace, a: _named(np.linalg.slogdet, trace, linalg.slogdet(trace.raw(a))),
    **by_name(_cholesky, _qr, _eigh, _svd, _pinv, _norm, _vector_norm, _matrix_norm, _multi_dot, _lstsq),
    **by_name(_cross, _vecdot),
    "eigvalsh": lambda trace, a, UPLO="L": linalg.eigvalsh(_symmetric(trace, a, "eigvalsh")),
    "eig": lambda trace, a: _named(np.linalg.eig, trace, linalg.eig(trace.raw(a))),
    "eigvals": lambda trace, a: linalg.eigvals(trace.raw(a)),
    "svdvals": lambda trace, a, /: linalg.svdvals(trace.raw(a)),
    "matrix_power": lambda trace, a, n: linalg.matrix_power(trace.raw(a), n),
    "trace": lambda trace, x, /, *, offset=0, dtype=None: linalg.trace(trace.raw(x), offset=offset),
    "diagonal": lambda trace, x, /, *, offset=0: linalg.diagonal(trace.raw(x), offset=offset),
    "outer": lambda trace, a, b, /: linalg.outer(trace.raw(a), trace.raw(b)),
    "matmul": lambda trace, a, b, /: engine.matmul(trace.raw(a), trace.raw(b)),
    "matrix_transpose": lambda trace, x, /: np.matrix_transpose(x),
    "tensordot": lambda trace, a, b, /, *, axes=2: np.tensordot(a, b, axes),
}
"""By the name of the function in numpy.linalg."""
