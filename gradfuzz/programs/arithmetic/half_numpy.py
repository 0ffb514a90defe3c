"""bfloat16 and float16 where NumPy has no kernel of its own for them, or rounds to another dtype.

Matrix products and contractions of bfloat16 are accumulated in float32 and rounded once, as the hardware does
it that has such products. LAPACK knows neither dtype: what it computes is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gradfuzz.errors import PrecisionError
from gradfuzz.programs.language.precision import FORMATS, HALF, Precision
from gradfuzz.programs.language.program import Program, walk
from gradfuzz.programs.language.syntax import Call

_LAPACK = frozenset(
    {"qr", "lu", "svd", "svdvals", "eig", "eigvals", "eigh", "eigvalsh", "cholesky", "solve"}
    | {"triangular_solve", "inv", "pinv", "lstsq", "det", "slogdet", "expm", "cofactor", "divide_by_gaps"}
)
_SPECTRAL = frozenset({2, -2, "nuc"})
"""Matrix norms that are made of singular values."""


def _refusal(op: str, params: Mapping[str, Any], precision: Precision) -> str | None:
    spectral = op == "matrix_norm" and params.get("ord") in _SPECTRAL
    if op in _LAPACK or spectral or (op == "matrix_power" and params.get("n", 0) < 0):
        return f"there is no {op} in {precision}: LAPACK computes in float32 and float64"
    if op == "complex" or params.get("dtype") == "complex":
        return f"there are no complex numbers in {precision}"
    return None


def refused_op(program: Program, precision: Precision) -> str | None:
    """Why NumPy cannot run `program` in `precision`: an op without a kernel; None where it has all."""
    if precision not in HALF:
        return None
    calls = (node for node in walk(program) if isinstance(node, Call))
    reasons = (_refusal(call.op, dict(call.params), precision) for call in calls)
    return next((reason for reason in reasons if reason is not None), None)


def narrowed(function: Callable[..., Any], dtype: Any) -> Callable[..., Any]:
    """`function` of float32 arrays, its result rounded to `dtype`."""
    return lambda *arrays, **params: np.asarray(
        function(*[np.asarray(a, np.float32) for a in arrays], **params)
    ).astype(dtype)[()]


def half_kernels(precision: Precision, whole: Any) -> dict[str, Callable[..., Any]]:
    """The methods of a namespace that differ in `precision`, by op. `whole` is the namespace, whose other
    methods stand.
    """

    def narrow(op: str) -> Callable[..., Any]:
        return narrowed(getattr(whole, op), FORMATS[precision].dtype)

    def unless_refused(op: str) -> Callable[..., Any]:
        function = narrow(op)

        def method(*arrays: Any, **params: Any) -> Any:
            reason = _refusal(op, params, precision)
            if reason is not None:
                raise PrecisionError(reason)
            return function(*arrays, **params)

        return method

    kernels = {op: unless_refused(op) for op in (*_LAPACK, "matrix_norm", "matrix_power")}
    return kernels | {op: narrow(op) for op in ("matmul", "einsum", "vector_norm")}
