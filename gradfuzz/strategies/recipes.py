"""What is computed with matrices: one row per op and way of using it.

A recipe is text of the program language over the parameters a and b. Its outputs do not depend on the signs that a decomposition is free
to choose: squares of the factors, and products in which every sign meets itself. `{d}` is a vector of weights as long as the
inner axis, `{T}` swaps the last two axes, `{n}` and `{k}` are small ints.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gradfuzz.strategies.matrix import Structure
from gradfuzz.strategies.shape import Aspect

__all__ = ["RECIPES", "Recipe", "Second"]

Second = Literal["", "matrix", "vector", "broadcast", "left", "any", "vectors"]
"""The second parameter: none; a right side with the same batch axes, as a vector, or with fewer batch axes; a left side; any matrix; or
both parameters are vectors."""

_ALL: tuple[Aspect, ...] = ("square", "tall", "wide")
_SQUARE: tuple[Aspect, ...] = ("square",)


@dataclass(frozen=True, slots=True)
class Recipe:
    """One row: the op it is about, the shapes and the structure that it wants, its statements and its outputs."""

    op: str
    lines: str
    outputs: tuple[str, ...]
    aspects: tuple[Aspect, ...] = _SQUARE
    structure: Structure = "general"
    second: Second = ""


_SVD_OUTPUTS = ("s", "u * u", "vh * vh", "matmul(u * {d}, vh)")
_EIGH_OUTPUTS = ("w", "v * v", "matmul(v * {d}, {T:v})")

RECIPES: tuple[Recipe, ...] = (
    Recipe("inv", "y = inv(a)", ("y",)),
    Recipe("det", "y = det(a)", ("y",)),
    Recipe("det", "y = det(a)", ("y",), structure="singular"),
    Recipe("slogdet", "y = slogdet(a)[1]", ("y",)),
    Recipe("solve", "y = solve(a, b)", ("y",), second="matrix"),
    Recipe("solve", "y = solve(a, b)", ("y",), second="vector"),
    Recipe("solve", "y = solve(a, b)", ("y",), second="broadcast"),
    Recipe("triangular_solve", "y = triangular_solve(a, b)", ("y",), structure="lower", second="matrix"),
    Recipe("triangular_solve", "y = triangular_solve(a, b, lower=False)", ("y",), structure="upper", second="broadcast"),
    Recipe("triangular_solve", "y = triangular_solve(a, b, transposed=True)", ("y",), structure="lower", second="matrix"),
    Recipe("triangular_solve", "y = triangular_solve(a, b, unit_diagonal=True)", ("y",), structure="lower", second="matrix"),
    Recipe("triangular_solve", "y = triangular_solve(a, b, left=False)", ("y",), structure="lower", second="left"),
    Recipe("cholesky", "y = cholesky(a)", ("y",), structure="spd"),
    Recipe("cholesky", "y = cholesky(a, upper=True)", ("y",), structure="spd"),
    Recipe("qr", "q, r = qr(a)", ("q * q", "r * r", "matmul(q * {d}, r)"), aspects=_ALL),
    Recipe("qr", "q, r = qr(a, mode='complete')", ("q * q", "r * r"), aspects=("square", "wide")),
    Recipe("lu", "p, l, u = lu(a)", ("l", "u", "matmul(p, l)", "matmul(l * {d}, u)"), aspects=_ALL),
    Recipe("svd", "u, s, vh = svd(a)", _SVD_OUTPUTS, aspects=_ALL),
    Recipe("svdvals", "y = svdvals(a)", ("y",), aspects=_ALL),
    Recipe("eigh", "w, v = eigh(a)", _EIGH_OUTPUTS, structure="symmetric"),
    Recipe("eigh", "w = eigh(a)[0]", ("sum(w, axis=-1)", "sum(w * w, axis=-1)"), structure="repeated"),
    Recipe("eigvalsh", "y = eigvalsh(a)", ("y",), structure="symmetric"),
    Recipe("pinv", "y = pinv(a)", ("y",), aspects=_ALL),
    Recipe("lstsq", "y = lstsq(a, b)", ("y",), aspects=_ALL, second="matrix"),
    Recipe("lstsq", "y = lstsq(a, b)", ("y",), aspects=("tall", "square"), second="vector"),
    Recipe("matrix_norm", "y = matrix_norm(a, ord={norm})", ("y",), aspects=_ALL),
    Recipe("vector_norm", "y = vector_norm(a, ord={order}, axis={axis})", ("y",), aspects=_ALL),
    Recipe("matrix_power", "y = matrix_power(a, {n})", ("y",)),
    Recipe("expm", "y = expm(a * 0.25)", ("y",)),
    Recipe("trace", "y = trace(a, offset={k})", ("y",), aspects=_ALL),
    Recipe("diagonal", "y = diagonal(a, offset={k})", ("y",), aspects=_ALL),
    Recipe("tril", "y = tril(a, {k})", ("y * y",), aspects=_ALL),
    Recipe("triu", "y = triu(a, {k})", ("y * y",), aspects=_ALL),
    Recipe("kron", "y = kron(a, b)", ("y",), aspects=_ALL, second="any"),
    Recipe("outer", "y = outer(a, b)", ("y",), second="vectors"),
    Recipe("matmul", "y = matmul(a, b)", ("y",), second="matrix"),
    Recipe("matmul", "y = matmul(a, b)", ("y",), second="broadcast"),
    Recipe("solve", "y = b\nfor i in range({trips}):\n    y = solve(a, y)", ("y",), second="matrix"),
    Recipe("inv", "y = a\nfor i in range({trips}):\n    y = inv(y) + a", ("y",), structure="spd"),
    Recipe("expm", "y = a\nfor i in range({trips}):\n    y = expm(y * 0.125)", ("y",)),
    Recipe("cholesky", "y = a\nfor i in range({trips}):\n    c = cholesky(y)\n    y = matmul({T:c}, c)", ("y",), structure="spd"),
    Recipe("matmul", "y = b\nfor i in range({trips}):\n    y = tanh(matmul(a, y))", ("y",), second="matrix"),
    Recipe("qr", "q, r = qr(a)\ny = solve(matmul({T:q}, q) + matmul({T:r}, r), a)", ("y",)),
    Recipe("svd", "s = svd(inv(a))[1]", ("s",)),
    Recipe("det", "y = det(matmul(a, {T:a}) + a)", ("y",)),
)
"""Most of them one op, then loops, then ops of ops."""
