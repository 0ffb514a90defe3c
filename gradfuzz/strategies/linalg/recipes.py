"""What matrix programs compute: one row for each op and way of using it.

A recipe is text of the program language over the parameters a and b. Its outputs do not depend on the signs
that a decomposition is free to choose: they are squares of the factors, or products in which every sign
occurs twice. `{d}` is a vector of weights as long as the inner axis. `{T:x}` is x with the last two axes
swapped. `{row:x}` is a row for each vector of x, as long as the inner axis. `{n}`, `{p}` and `{k}` are small
ints, `{p}` not negative.

Functions of a matrix, V f(w) V^T and U f(s) V^T, are smooth also where values repeat, but their factors are
not. A system that differentiates through the factors must return NaN or noise there, so its answer would be
inconclusive. So the values are drawn distinct, if only slightly.

The other objective is the plain sum of all results, under the name `sum_of_all`. The statements `aligned`
first fix the signs of a decomposition's results, so that the entries of one row, `{head:x}`, are positive.
Then the results are functions of the matrix wherever none of these entries is 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gradfuzz.strategies.drawing.shape import Aspect
from gradfuzz.strategies.inputs.matrix import Structure

Second = Literal["", "matrix", "vector", "broadcast", "left", "any", "vectors"]
"""The second parameter: none; a right side with the same batch axes, as a vector, or with batch axes that
broadcast; a left side; any matrix; or both parameters are vectors.
"""

ALL: tuple[Aspect, ...] = ("square", "tall", "wide")
SQUARE: tuple[Aspect, ...] = ("square",)
_INVERTIBLE: tuple[Structure, ...] = ("orthogonal", "companion")
_SINGULAR: tuple[Structure, ...] = ("singular", "zero line", "low rank")
_POLYNOMIAL: tuple[Structure, ...] = (*_SINGULAR, *_INVERTIBLE, "repeated")


@dataclass(frozen=True, slots=True)
class Recipe:
    """One row: its op, the shapes and structures that it needs, its statements and its outputs."""

    op: str
    lines: str
    outputs: tuple[str, ...] = ("y",)
    aspects: tuple[Aspect, ...] = SQUARE
    structure: Structure = "general"
    second: Second = ""
    hostile: tuple[Structure, ...] = ()
    """Further structures at which the outputs have a derivative."""
    factors: tuple[str, ...] = ()
    """Results with orthonormal columns or rows: the sum of their squares is constant."""
    aligned: str = ""
    """Statements that fix the signs of the results."""
    results: tuple[str, ...] = ()
    """What the plain sum adds (empty: the outputs)."""
    least: int = 1
    """The smallest side: libraries may treat larger matrices differently."""


def power_sums(name: str) -> tuple[str, ...]:
    """Power sums: they are smooth although values repeat."""
    return f"sum({name}, axis=-1)", f"sum({name} * {name}, axis=-1)"


def _qr(lines: str, outputs: tuple[str, ...], aspects: tuple[Aspect, ...], *hostile: Structure) -> Recipe:
    aligned = "t = sign({head:q})\nq = q * t\nr = {T:t} * r"
    return Recipe(
        "qr", lines, outputs, aspects, "general", "", hostile, ("q",), aligned=aligned, results=("q", "r")
    )


def _triangular(lines: str, structure: Structure = "lower", second: Second = "matrix") -> Recipe:
    return Recipe("triangular_solve", lines, structure=structure, second=second)


RECIPES: tuple[Recipe, ...] = (
    Recipe("inv", "y = inv(a)", hostile=_INVERTIBLE),
    Recipe("det", "y = det(a)", hostile=_INVERTIBLE),
    Recipe("det", "y = det(a)", structure="singular", hostile=_SINGULAR),
    Recipe("det", "y = det(a)", least=4),
    Recipe("det", "y = det(a)\ny = y + trace(a)", least=4),
    Recipe("slogdet", "y = slogdet(a)[1]", hostile=_INVERTIBLE),
    Recipe("solve", "y = solve(a, b)", second="matrix", hostile=_INVERTIBLE),
    Recipe("solve", "y = solve(a, b)", second="vector"),
    Recipe("solve", "y = solve(a, b)", second="broadcast"),
    _triangular("y = triangular_solve(a, b)"),
    _triangular("y = triangular_solve(a, b, lower=False)", "upper", "broadcast"),
    _triangular("y = triangular_solve(a, b, transposed=True)"),
    _triangular("y = triangular_solve(a, b, unit_diagonal=True)"),
    _triangular("y = triangular_solve(a, b, left=False)", second="left"),
    Recipe("cholesky", "y = cholesky(a)", structure="spd", hostile=("repeated", "near repeated")),
    Recipe("cholesky", "y = cholesky(a, upper=True)", structure="spd"),
    _qr("q, r = qr(a)", ("q * q", "r * r", "matmul(q * {d}, r)"), ALL, *_INVERTIBLE),
    _qr("q, r = qr(a, mode='complete')", ("q * q", "r * r"), ("square", "wide")),
    Recipe(
        "lu",
        "p, l, u = lu(a)",
        ("l", "u", "matmul(p, l)", "matmul(l * {d}, u)"),
        ALL,
        results=("p", "l", "u"),
    ),
    Recipe(
        "svd",
        "u, s, vh = svd(a)",
        ("s", "u * u", "vh * vh", "matmul(u * {d}, vh)"),
        ALL,
        hostile=("near repeated",),
        factors=("u", "vh"),
        aligned="t = sign({head:u})\nu = u * t\nvh = {T:t} * vh",
        results=("u", "s", "vh"),
    ),
    Recipe(
        "svd", "u, s, vh = svd(a)\ny = matmul(u * {row:sin(s)}, vh)", aspects=ALL, hostile=("near repeated",)
    ),
    Recipe("svd", "s = svd(a)[1]", power_sums("s"), structure="repeated", hostile=("orthogonal",)),
    Recipe("svdvals", "y = svdvals(a)", aspects=ALL, hostile=("near repeated", "companion")),
    Recipe("svdvals", "y = svdvals(a)", power_sums("y"), ALL, structure="orthogonal", hostile=("repeated",)),
    Recipe(
        "eigh",
        "w, v = eigh(a)",
        ("w", "v * v", "matmul(v * {d}, {T:v})"),
        structure="symmetric",
        hostile=("near repeated",),
        factors=("v",),
        aligned="v = v * sign({head:v})",
        results=("w", "v"),
    ),
    Recipe(
        "eigh",
        "w, v = eigh(a)\ny = matmul(v * {row:sin(w)}, {T:v})",
        structure="symmetric",
        hostile=("near repeated",),
    ),
    Recipe("eigh", "w = eigh(a)[0]", power_sums("w"), structure="repeated"),
    Recipe("eigvalsh", "y = eigvalsh(a)", structure="symmetric", hostile=("near repeated",)),
    Recipe("eigvalsh", "y = eigvalsh(a)", power_sums("y"), structure="repeated"),
    Recipe("pinv", "y = pinv(a)", aspects=ALL, hostile=_INVERTIBLE),
    Recipe("lstsq", "y = lstsq(a, b)", aspects=ALL, second="matrix", hostile=_INVERTIBLE),
    Recipe("lstsq", "y = lstsq(a, b)", aspects=("tall", "square"), second="vector"),
    Recipe("lstsq", "y = lstsq(a, b)", aspects=("tall", "square"), second="broadcast"),
    Recipe("matrix_norm", "y = matrix_norm(a, ord={norm})", aspects=ALL),
    Recipe(
        "matrix_norm",
        "y = matrix_norm(a)",
        aspects=ALL,
        structure="zero line",
        hostile=("low rank", "orthogonal"),
    ),
    Recipe("vector_norm", "y = vector_norm(a, ord={order}, axis={axis})", aspects=ALL),
    Recipe("matrix_power", "y = matrix_power(a, {n})", hostile=_INVERTIBLE),
    Recipe("matrix_power", "y = matrix_power(a, {p})", structure="companion", hostile=_SINGULAR),
    Recipe("expm", "y = expm(a * 0.25)", hostile=_POLYNOMIAL),
    Recipe("trace", "y = trace(a, offset={k})", aspects=ALL),
    Recipe("diagonal", "y = diagonal(a, offset={k})", aspects=ALL),
    Recipe("tril", "y = tril(a, {k})", ("y * y",), ALL),
    Recipe("triu", "y = triu(a, {k})", ("y * y",), ALL),
    Recipe("kron", "y = kron(a, b)", aspects=ALL, second="any", hostile=("zero line",)),
    Recipe("kron", "y = kron(a, b)", second="broadcast"),
    Recipe("outer", "y = outer(a, b)", second="vectors"),
    Recipe("matmul", "y = matmul(a, b)", second="matrix", hostile=("zero line", "singular")),
    Recipe("matmul", "y = matmul(a, b)", second="broadcast"),
    Recipe(
        "solve", "y = b\nfor i in range({trips}):\n    y = solve(a, y)", second="matrix", hostile=_INVERTIBLE
    ),
    Recipe("inv", "y = a\nfor i in range({trips}):\n    y = inv(y) + a", structure="spd"),
    Recipe("expm", "y = a\nfor i in range({trips}):\n    y = expm(y * 0.125)"),
    Recipe(
        "cholesky",
        "y = a\nfor i in range({trips}):\n    c = cholesky(y)\n    y = matmul({T:c}, c)",
        structure="spd",
    ),
    Recipe("matmul", "y = b\nfor i in range({trips}):\n    y = tanh(matmul(a, y))", second="matrix"),
    Recipe("qr", "q, r = qr(a)\ny = solve(matmul({T:q}, q) + matmul({T:r}, r), a)"),
    Recipe("svd", "s = svd(inv(a))[1]", ("s",)),
    Recipe("det", "y = det(matmul(a, {T:a}) + a)", hostile=_SINGULAR),
    Recipe("cholesky", "c = cholesky(0.5 * (a + {T:a}))\ny = triangular_solve(c, a)", structure="spd"),
    Recipe("triangular_solve", "l = tril(a)\ny = triangular_solve(l, b)", second="matrix"),
    Recipe("eigvalsh", "y = eigvalsh(matmul(a, {T:a}))", aspects=("square", "wide")),
    Recipe("slogdet", "c = cholesky(a)\ny = slogdet(c)[1] - trace(c)", structure="spd"),
    Recipe("matrix_norm", "y = matrix_norm(inv(a) - {T:a})"),
    Recipe("inv", "w, v = eigh(a + {T:a})\ny = matmul(inv(a), v * v)", ("w", "y")),
)
"""First single ops, then loops, then ops of ops; the last make their own triangles and symmetric matrices."""

WEIGHTS: dict[str, int] = {
    **dict.fromkeys((recipe.op for recipe in RECIPES), 3),
    **dict.fromkeys(("trace", "diagonal", "tril", "triu"), 1),
    "outer": 2,
    "matmul": 4,
    **dict.fromkeys(("det", "solve"), 6),
}
"""How often each op is drawn, relative to the others."""
