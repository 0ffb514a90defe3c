"""JAX's linear algebra, as ops: its primitives, and functions of JAX that are ops as they stand."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import gradfuzz.engine as engine
from gradfuzz.engine.rules.value import Operand, apply
from gradfuzz.errors import UntraceableError
from gradfuzz.tracing.common.compositions import as_kind, kind_of, recorded
from gradfuzz.tracing.common.factors import householder_product, order_of, packed_lu
from gradfuzz.tracing.common.integers import frexp

Rule = Callable[..., Any]


def _eigh(equation: Any, x: Operand) -> list[Any]:
    p = equation.params
    if p.get("subset_by_index") not in (None, (0, np.shape(x)[-1])):
        raise UntraceableError("JAX's eigh of some of the eigenvalues")
    values, vectors = engine.linalg.eigh(x)
    return [vectors, values]


def _eig(equation: Any, x: Operand) -> list[Any]:
    p = equation.params
    if p["compute_left_eigenvectors"]:
        raise UntraceableError("JAX's eig with left eigenvectors")
    if not p["compute_right_eigenvectors"]:
        return [engine.linalg.eigvals(x)]
    return list(engine.linalg.eig(x))


def _svd(equation: Any, x: Operand) -> list[Any]:
    p = equation.params
    if p.get("subset_by_index") not in (None, (0, min(np.shape(x)[-2:]))):
        raise UntraceableError("JAX's svd of some of the singular values")
    if not p["compute_uv"]:
        return [engine.linalg.svdvals(x)]
    u, s, vh = engine.linalg.svd(x, full_matrices=bool(p["full_matrices"]))
    return [s, u, vh]


def _qr(equation: Any, x: Operand) -> list[Any]:
    if equation.params.get("pivoting"):
        raise UntraceableError("JAX's qr with pivoting")
    return list(engine.linalg.qr(x, mode="complete" if equation.params["full_matrices"] else "reduced"))


def _lu(equation: Any, x: Operand) -> list[Any]:
    """Both factors in one matrix, the exchanges of rows, and the order of rows that they lead to."""
    return list(packed_lu(x))


_FLAGS = {
    "lower": "lower",
    "transposed": "transpose_a",
    "unit_diagonal": "unit_diagonal",
    "left": "left_side",
}
"""How a triangular matrix is meant: words of the engine, and of JAX."""


def _triangular(equation: Any, a: Operand, b: Operand) -> Any:
    p = equation.params
    if p["conjugate_a"] and kind_of(a) == "complex":
        a = engine.conj(a)
    return engine.linalg.triangular_solve(a, b, **{name: bool(p[own]) for name, own in _FLAGS.items()})


def _tridiagonal(equation: Any, below: Operand, on: Operand, above: Operand, b: Operand) -> Any:
    """A solution of a system whose matrix has three diagonals; the first entry of `below` and the last of
    `above` are outside of the matrix.
    """
    if equation.params.get("perturb_singular"):
        raise UntraceableError("JAX's tridiagonal_solve of a matrix that it perturbs")
    size = np.shape(on)[-1]
    column = (*np.shape(on), 1)
    diagonals = [(below, -1), (on, 0), (above, 1)]
    parts = [engine.reshape(x, column) * recorded(np.eye(size, k=k)) for x, k in diagonals]
    return engine.linalg.solve(parts[0] + parts[1] + parts[2], b)


LINALG: dict[str, Rule] = {
    "cholesky": lambda equation, x: engine.linalg.cholesky(x),
    "eig": _eig,
    "eigh": _eigh,
    "householder_product": lambda equation, x, taus: householder_product(x, taus),
    "lu": _lu,
    "lu_pivots_to_permutation": lambda equation, x: order_of(x, int(equation.params["permutation_size"])),
    "qr": _qr,
    "svd": _svd,
    "triangular_solve": _triangular,
    "tridiagonal_solve": _tridiagonal,
}
"""Primitives by name."""


def _function(name: str) -> Rule:
    """An elementwise function that JAX has written in steps, some of which have kinks or read bits."""

    def rule(equation: Any, *operands: Operand) -> Any:
        return apply(name, *operands) if all(kind_of(o) == "float" for o in operands) else None

    return rule


def _frexp(equation: Any, x: Operand) -> Any:
    if kind_of(x) != "float":
        return None
    return frexp(x)


def _sinc(equation: Any, x: Operand) -> Any:
    """JAX's series at 0, which ends behind the third derivative here."""
    if kind_of(x) != "float":
        return None
    is_zero = apply("equal", x, 0.0)
    return engine.where(
        is_zero, 1.0 - math.pi**2 / 6.0 * (x * x), apply("sinc", engine.where(is_zero, 1.0, x))
    )


BITS = ("frexp", "signbit")
"""Functions that read the bits of floats. A derivative calls them as the function does."""

BY_BITS: dict[str, Callable[..., Sequence[Any]]] = {
    "Frexp": frexp,
    "Ldexp": lambda x, n: [x * apply("exp2", as_kind(n, "float"))],
}
"""Primitives of JAX 0.12 with rules of their own, by class."""

LIBRARY: dict[tuple[str, str], Rule] = {
    ("_det", "/numpy/linalg.py"): lambda equation, x: engine.linalg.det(x),
    ("_slogdet_lu", "/numpy/linalg.py"): lambda equation, x: engine.linalg.slogdet(x),
    ("_slogdet_qr", "/numpy/linalg.py"): lambda equation, x: engine.linalg.slogdet(x),
    ("copysign", "/numpy/ufuncs.py"): _function("copysign"),
    ("expm", "/scipy/linalg.py"): lambda equation, x: engine.linalg.expm(x),
    ("frexp", "/numpy/ufuncs.py"): _frexp,
    ("hypot", "/numpy/ufuncs.py"): _function("hypot"),
    ("inv", "/numpy/linalg.py"): lambda equation, x: engine.linalg.inv(x),
    ("logaddexp", "/lax/other.py"): _function("logaddexp"),
    ("signbit", "/numpy/ufuncs.py"): lambda equation, x, *tangents: apply("less", x, 0.0),
    ("sinc", "/numpy/ufuncs.py"): _sinc,
    ("solve", "/numpy/linalg.py"): lambda equation, a, b: engine.linalg.solve(
        *(as_kind(x, "float") if kind_of(x) in ("int", "bool") else x for x in (a, b))
    ),
    ("xlog1py", "/scipy/special.py"): _function("xlog1py"),
    ("xlogy", "/scipy/special.py"): _function("xlogy"),
}
"""Functions of JAX by name and file. None: it is written out after all."""
