"""What complex programs compute: one row for each op and way of using it.

A recipe is text of the program language over the complex arrays a and b, which the program builds from float
parameters. `outputs` are complex and leave the program as their real and imaginary parts. `reals` are real.
Neither depends on the phases or the order that a decomposition is free to choose. `{H:x}` is the conjugate
transpose of x, `{d}` is a vector of weights as long as the inner axis, `{n}` and `{trips}` are small ints.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gradfuzz.strategies.drawing.shape import Aspect
from gradfuzz.strategies.inputs.complex_matrix import ComplexStructure
from gradfuzz.strategies.linalg.recipes import ALL, SQUARE, power_sums

Operand = Literal["", "matrix", "vector", "broadcast", "inner", "same"]
"""The second array: none; a right side; a right side that is a vector, or whose batch axes broadcast; what
the first is multiplied by; or an array of the same shape.
"""


@dataclass(frozen=True, slots=True)
class ComplexRecipe:
    """One row: its op, statements, results and arrays. No aspects: arrays of any shape, scalars too."""

    op: str
    lines: str
    outputs: tuple[str, ...] = ("y",)
    reals: tuple[str, ...] = ()
    aspects: tuple[Aspect, ...] = SQUARE
    second: Operand = ""
    real: bool = False
    """Whether a is real. Its eigenvalues may still be complex."""
    structure: ComplexStructure = "general"
    hostile: tuple[ComplexStructure, ...] = ()
    """Further structures at which the results have a derivative."""


def _loop(
    op: str, body: str, *, outputs: tuple[str, ...] = ("y",), reals: tuple[str, ...] = ()
) -> ComplexRecipe:
    """A body of entrywise ops, in a loop over y, which starts as b."""
    return ComplexRecipe(op, f"y = b\nfor i in range({{trips}}):\n    {body}", outputs, reals, (), "same")


def _real(
    op: str,
    lines: str,
    *reals: str,
    aspects: tuple[Aspect, ...] = ALL,
    structure: ComplexStructure = "general",
    hostile: tuple[ComplexStructure, ...] = (),
) -> ComplexRecipe:
    """A recipe of real results alone."""
    return ComplexRecipe(op, lines, (), reals, aspects, structure=structure, hostile=hostile)


_HERMITIAN = "h = 0.5 * (a + {H:a})\n"
_POSITIVE = "h = matmul(a, {H:a}) + array({eye})\n"
_PROJECTED = "sum(real(v * conj(v)) * {row:abs(w)}, axis=-1)"
"""Eigenvectors weighted by functions of their eigenvalues: independent of their order and phases."""

COMPLEX_RECIPES: tuple[ComplexRecipe, ...] = (
    _loop("multiply", "y = y * a"),
    _loop("sin", "y = sin(y * a)"),
    _loop("conj", "y = conj(y) * a"),
    _loop("abs", "y = y * abs(a) + a", reals=("abs(y)",), outputs=()),
    _loop("real", "y = complex(real(y) * imag(a), imag(y) + real(a))"),
    _loop("divide", "y = a / (y * conj(y) + 1.5)"),
    _loop("divide", "y = y / (4.0 + y * conj(y) + 0.5 * a)"),
    _loop("exp", "y = exp(y * 0.25) - a"),
    _loop("tanh", "y = tanh(y * 0.5 + conj(a) * 0.25)"),
    _loop("cos", "y = cos(y) * 0.5 + a"),
    _loop("tan", "y = tan(0.25 * y) + a * 0.5"),
    _loop("integer_pow", "y = y ** 2 + a * 0.5"),
    _loop("sqrt", "y = sqrt(3.0 + y * conj(y) + 0.25 * a)"),
    _loop("log", "y = log(4.0 + y * conj(y) + 0.25 * a) * a"),
    _loop("pow", "y = (3.0 + y * conj(y)) ** (a * 0.25)"),
    _loop("where", "y = where(real(y) > imag(a), y * a, conj(y) + a)"),
    _real("abs", "y = abs(a)", "y", aspects=()),
    ComplexRecipe("sum", "y = sum(a * conj(a) * b, axis=-1)", aspects=ALL, second="same"),
    ComplexRecipe(
        "complex", "y = complex(real(a), sum(imag(a), axis=-1, keepdims=True))", ("y * y",), aspects=ALL
    ),
    ComplexRecipe(
        "complex", "y = complex(sum(real(a), axis=-2, keepdims=True), imag(a))", ("y * y",), aspects=ALL
    ),
    ComplexRecipe("prod", "y = prod(a, axis=-1)", aspects=ALL),
    ComplexRecipe("mean", "y = mean(a * a, axis=-2)", aspects=ALL),
    ComplexRecipe("cumulative_sum", "y = cumulative_sum(a * a, axis=-1)", aspects=ALL),
    ComplexRecipe("cumulative_prod", "y = cumulative_prod(a, axis=-1)", aspects=ALL),
    ComplexRecipe("concat", "y = concat([a, conj(b)], axis=-1)", ("y * y",), aspects=ALL, second="same"),
    ComplexRecipe("matmul", "y = matmul(a, b)", aspects=ALL, second="inner"),
    ComplexRecipe("matmul", "y = matmul(a, b)", second="broadcast", hostile=("singular",)),
    ComplexRecipe("matmul", "y = matmul({H:a}, a)", aspects=ALL),
    ComplexRecipe(
        "matmul", "y = b\nfor i in range({trips}):\n    y = tanh(matmul(a, y) * 0.125)", second="matrix"
    ),
    ComplexRecipe("kron", "y = kron(a, b)", aspects=("square", "tall"), second="same"),
    ComplexRecipe("kron", "y = kron(a, b)", second="broadcast"),
    ComplexRecipe("trace", "y = trace(matmul(a, a))"),
    ComplexRecipe("diagonal", "y = diagonal(a)", ("y * y",), aspects=ALL),
    ComplexRecipe("tril", "y = tril(a)", ("y * conj(y)", "y * y"), aspects=ALL),
    ComplexRecipe("triu", "y = triu(a, 1)", ("y * y",), aspects=ALL),
    ComplexRecipe("inv", "y = inv(a)", hostile=("unitary",)),
    ComplexRecipe("det", "y = det(a)", hostile=("unitary", "singular")),
    _real("det", "y = det(a)", "real(y * conj(y))", aspects=SQUARE),
    ComplexRecipe("slogdet", "t, y = slogdet(a)", ("t",), ("y",)),
    ComplexRecipe("solve", "y = solve(a, b)", second="matrix", hostile=("unitary",)),
    ComplexRecipe("solve", "y = solve(a, b)", second="broadcast"),
    ComplexRecipe("solve", "y = solve(a, b)", second="vector"),
    ComplexRecipe("solve", "y = b\nfor i in range({trips}):\n    y = solve(a, y)", second="matrix"),
    ComplexRecipe("triangular_solve", "y = triangular_solve(a, b)", second="matrix"),
    ComplexRecipe(
        "triangular_solve", "y = triangular_solve(a, b, lower=False, transposed=True)", second="matrix"
    ),
    ComplexRecipe("triangular_solve", "y = triangular_solve(a, b)", second="broadcast"),
    ComplexRecipe("cholesky", _POSITIVE + "y = cholesky(h)"),
    ComplexRecipe("cholesky", _POSITIVE + "y = cholesky(h, upper=True)"),
    ComplexRecipe(
        "qr",
        "q, r = qr(a)",
        ("matmul(q * {d}, r)",),
        ("real(q * conj(q))", "real(r * conj(r))"),
        ALL,
        hostile=("unitary",),
    ),
    ComplexRecipe("lu", "p, l, u = lu(a)", ("l", "u", "matmul(l * {d}, u)"), aspects=ALL),
    ComplexRecipe(
        "svd",
        "u, s, vh = svd(a)",
        ("matmul(u * {d}, vh)",),
        ("s", "real(u * conj(u))", "real(vh * conj(vh))"),
        ALL,
    ),
    ComplexRecipe(
        "svd", "u, s, vh = svd(a)\ny = matmul(u * {row:sin(s)}, vh)", aspects=ALL, hostile=("near repeated",)
    ),
    _real(
        "svd", "s = svd(a)[1]", *power_sums("s"), aspects=SQUARE, structure="repeated", hostile=("unitary",)
    ),
    _real("svdvals", "y = svdvals(a)", "y", hostile=("near repeated",)),
    _real("svdvals", "y = svdvals(a)", *power_sums("y"), structure="unitary"),
    ComplexRecipe(
        "eigh",
        _HERMITIAN + "w, v = eigh(h)",
        ("matmul(v * {d}, {H:v})",),
        ("w", "real(v * conj(v))"),
        hostile=("near repeated",),
    ),
    ComplexRecipe(
        "eigh", _HERMITIAN + "w, v = eigh(h)\ny = matmul(v * {row:sin(w)}, {H:v})", hostile=("near repeated",)
    ),
    _real("eigh", _HERMITIAN + "w = eigh(h)[0]", *power_sums("w"), aspects=SQUARE, structure="repeated"),
    _real("eigvalsh", _HERMITIAN + "y = eigvalsh(h)", "y", aspects=SQUARE, hostile=("near repeated",)),
    _real("eigvalsh", _HERMITIAN + "y = eigvalsh(h)", *power_sums("y"), aspects=SQUARE, structure="repeated"),
    ComplexRecipe("eig", "w, v = eig(a)", ("sum(w * w, axis=-1)",), (_PROJECTED,)),
    ComplexRecipe("eig", "w, v = eig(a)", ("sum(w * w, axis=-1)",), (_PROJECTED,), real=True),
    ComplexRecipe("eigvals", "w = eigvals(a)", ("sum(exp(w * 0.25), axis=-1)",), ("sum(abs(w), axis=-1)",)),
    ComplexRecipe(
        "eigvals", "w = eigvals(a)", ("sum(w * w * w, axis=-1)",), ("sum(abs(w), axis=-1)",), real=True
    ),
    ComplexRecipe("eigvals", "w = eigvals(a)", ("sum(w * w, axis=-1)",), structure="repeated"),
    ComplexRecipe("pinv", "y = pinv(a)", aspects=ALL),
    ComplexRecipe("lstsq", "y = lstsq(a, b)", aspects=ALL, second="matrix"),
    ComplexRecipe("lstsq", "y = lstsq(a, b)", aspects=("tall", "square"), second="broadcast"),
    _real("matrix_norm", "y = matrix_norm(a, ord={norm})", "y"),
    _real("vector_norm", "y = vector_norm(a, ord={order}, axis=-1)", "y"),
    ComplexRecipe("matrix_power", "y = matrix_power(a, {n})"),
    ComplexRecipe("expm", "y = expm(a * 0.25)", hostile=("singular", "repeated")),
    ComplexRecipe("expm", "y = a\nfor i in range({trips}):\n    y = expm(y * 0.125)"),
)
"""Entrywise in loops, then reductions and products, then linear algebra."""
