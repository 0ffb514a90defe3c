"""The conventions table: what each system answers where a derivative does not exist, and why none is wrong.

The last rows are limits of differentiation that the documentation of a library states; they have no examples.

A row is one situation. Its examples say what the engine, JAX and Torch answer in reverse mode, and in forward
mode where that differs. tests/unit/fuzzer/test_conventions.py asks the installed libraries (measured with jax
0.10.2 and torch 2.13.0). `fuzzer.verdict.ties` tells which rows a program meets at a point.

Slopes are one-sided derivatives by each entry. An answer between them is a convention; an answer outside is a
finding, whatever this table says. NaN is an answer only in the rows with `nan`, where the makers of a library
have said that they mean it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gradfuzz.programs.language.functions import FUNCTIONS

Numbers = float | tuple["Numbers", ...]
"""A scalar, or the nested entries of an array."""

Slopes = tuple[Numbers, Numbers] | None
"""Those to the left and to the right; None where one of them does not exist."""

RAISES = "raises"
"""The answer of a library that raises."""

NAN, INF = math.nan, math.inf


@dataclass(frozen=True, slots=True)
class Example:
    """An expression at a point, and each system's derivative by its first input.

    `statements` are separated by "; "; the last is an expression, the output. All inputs are floats.
    `forward` has the answers that differ in forward mode. An example about a library's own functions instead
    of a program has the `statements` "" and says in `library` what it asks.
    """

    statements: str
    at: Mapping[str, Numbers]
    answers: Mapping[str, Numbers | str]
    slopes: Slopes = None
    forward: Mapping[str, Numbers | str] = field(default_factory=dict)
    library: str = ""

    @property
    def text(self) -> str:
        *before, output = self.statements.split("; ")
        sizes = {name: list(np.shape(np.asarray(value))) for name, value in self.at.items()}
        params = ", ".join(f'{name}: "float{size}"' if size else name for name, size in sizes.items())
        lines = [f"def f({params}):", *(f"    {line}" for line in before), f"    return {output}"]
        return "\n".join(lines) + "\n"

    def document(self) -> dict[str, Any]:
        """The example as plain data."""
        told = {"expression": self.statements or self.library, "at": dict(self.at), "slopes": self.slopes}
        return {**told, "answers": dict(self.answers), "forward": dict(self.forward)}


@dataclass(frozen=True, slots=True)
class Convention:
    """A row. `why` there is no derivative; `nan`: NaN is legal; `source`: where library makers say so."""

    name: str
    ops: tuple[str, ...]
    why: str
    examples: tuple[Example, ...]
    nan: bool = False
    source: str = ""

    def document(self) -> dict[str, Any]:
        """The row as plain data."""
        fields = {name: getattr(self, name) for name in ("name", "ops", "why", "nan", "source")}
        return {**fields, "examples": [example.document() for example in self.examples]}


def _row(heading: str, why: str, *examples: Example, nan: bool = False, source: str = "") -> Convention:
    """A row; the heading is its name and its ops, as in "maximum-tie: maximum minimum"."""
    name, _, ops = heading.partition(": ")
    return Convention(name, tuple(ops.split()), why, examples, nan, source)


def _example(
    statements: str,
    at: Mapping[str, Numbers],
    engine: Numbers | str,
    jax: Numbers | str,
    torch: Numbers | str,
    /,
    slopes: Slopes = None,
    **forward: Numbers,
) -> Example:
    return Example(statements, at, {"engine": engine, "jax": jax, "torch": torch}, slopes, forward)


def _everybody(
    statements: str, at: Mapping[str, Numbers], answer: Numbers, slopes: Slopes = None, **forward: Numbers
) -> Example:
    return _example(statements, at, answer, answer, answer, slopes, **forward)


def _library(what: str, at: Mapping[str, Numbers], jax: Numbers, torch: Numbers) -> Example:
    return Example("", at, {"jax": jax, "torch": torch}, library=what)


_ZERO, _ONE, _MINUS, _NANS = (0.0, 0.0), (1.0, 1.0), (-1.0, -1.0), (NAN, NAN)
_ZERO2, _ONE2, _MINUS2, _NAN2 = (_ZERO,) * 2, (_ONE,) * 2, (_MINUS,) * 2, (_NANS,) * 2
_CORNER, _IDENTITY, _RANK1 = ((1.0, 0.0), _ZERO), ((1.0, 0.0), (0.0, 1.0)), ((1.0, 2.0), (2.0, 4.0))
_HALF2, _QUARTER2 = ((0.5, 0.0), (0.0, 0.5)), ((0.25, 0.0), (0.0, 0.25))
_QUARTER = ((0.25, 0.0), _ZERO)
_UPPER, _LOWER = ((1.0, 0.5), (0.5, 1.0)), ((0.0, -0.5), (-0.5, 0.0))
_OFF_NAN, _OFF_INF = ((0.0, NAN), (NAN, 0.0)), ((NAN, INF), (INF, NAN))

_BOUNDED = [f.name for f in FUNCTIONS.values() if not f.reserved and f.domain != (-INF, INF)]
_PYTORCH = "PyTorch docs, notes/autograd, gradients for non-differentiable functions"
_TAICHI = "https://docs.taichi-lang.org/docs/differentiable_programming#global-data-access-rules"
_QUADRANTS = (
    "https://genesis-embodied-ai.github.io/quadrants/user_guide/autodiff.html"
    "#global-data-access-rules-and-the-validation-checker"
)
_WARP = "https://nvidia.github.io/warp/user_guide/differentiability.html"

CONVENTIONS: tuple[Convention, ...] = (
    # One selection: a kink
    _row(
        "abs-at-0: abs vector_norm matrix_norm",
        "the slopes of |x| at 0 are -1 and 1; norms of order 1 and inf are made of |x|",
        _example("abs(x)", {"x": 0.0}, 0.0, 1.0, 0.0, (-1.0, 1.0)),
        _example(
            "vector_norm(x, ord=1)", {"x": (0.0, 1.0)}, (0.0, 1.0), _ONE, (0.0, 1.0), ((-1.0, 1.0), _ONE)
        ),
        source="jax-ml/jax#37820",
    ),
    _row(
        "modulus-at-0: abs",
        "|z| is a cone at 0: its slope is 1 in every direction",
        _everybody("abs(complex(x, y))", {"x": 0.0, "y": 0.0}, 0.0, (-1.0, 1.0)),
        source="jax-ml/jax#10515",
    ),
    _row(
        "maximum-tie: maximum minimum",
        "either argument may be the greater one; a rectifier maximum(x, 0) is the case with a constant",
        _everybody("maximum(x, 0.0)", {"x": 0.0}, 0.5, (0.0, 1.0)),
        _everybody("minimum(x, y)", {"x": 0.5, "y": 0.5}, 0.5, (1.0, 0.0)),
        source="jax-ml/jax#37821",
    ),
    _row(
        "clip-at-its-edge: clip",
        "at an edge the slopes are 0 and 1",
        _example("clip(x, 0.0, 1.0)", {"x": 0.0}, 0.5, 0.5, 1.0, (0.0, 1.0)),
        _example("clip(x, 0.0, 1.0)", {"x": 1.0}, 0.5, 0.5, 1.0, (1.0, 0.0)),
        _example("clip(0.5, x, 1.0)", {"x": 0.5}, 0.5, 0.5, 0.0, (0.0, 1.0)),
    ),
    _row(
        "extreme-tie: amax amin",
        "each of the equal entries may be the extreme one; shares add up to 1",
        _everybody("amax(x)", {"x": (1.0, 1.0, 0.0)}, (0.5, 0.5, 0.0), ((0.0, 0.0, 0.0), (1.0, 1.0, 0.0))),
        _everybody("amin(x)", {"x": (1.0,) * 4}, (0.25,) * 4, ((1.0,) * 4, (0.0,) * 4)),
        source=_PYTORCH,
    ),
    _row(
        "sort-tie: sort",
        "equal entries may stand in any order; all keep the one they came in",
        _everybody("sort(x)[0]", {"x": (2.0, 1.0, 1.0)}, (0.0, 1.0, 0.0), ((0.0, 1.0, 1.0), (0.0, 0.0, 0.0))),
    ),
    _row(
        "cumulative-max-tie: cumulative_max",
        "each of the equal entries may be the greatest so far; Torch takes the latest, JAX halves from pair"
        " to pair",
        _example(
            "cumulative_max(x)[2]",
            {"x": (2.0, 2.0, 2.0)},
            *((1 / 3, 1 / 3, 1 / 3), (0.25, 0.25, 0.5), (0.0, 0.0, 1.0)),
            slopes=((0.0, 0.0, 0.0), (1.0, 1.0, 1.0)),
        ),
    ),
    # Norms
    _row(
        "norm-at-0: vector_norm matrix_norm",
        "a norm is a cone at 0; JAX divides 0 by 0 and means it, Torch and the engine take the least"
        " subgradient",
        _example("vector_norm(x)", {"x": _ZERO}, _ZERO, _NANS, _ZERO, (_MINUS, _ONE)),
        _example("vector_norm(x, ord=3)", {"x": _ZERO}, _ZERO, _NANS, _ZERO, (_MINUS, _ONE)),
        _example("matrix_norm(x)", {"x": _ZERO2}, _ZERO2, _NAN2, _ZERO2, (_MINUS2, _ONE2)),
        _example("n = vector_norm(x); n * n", {"x": _ZERO}, _ZERO, _NANS, _ZERO, (_ZERO, _ZERO)),
        nan=True,
        source="jax-ml/jax#21723, #3058; pytorch/pytorch#2421, #2775",
    ),
    _row(
        "largest-of-a-norm: vector_norm matrix_norm",
        "several entries or lines have the largest size (norms of order inf, -inf, 1, -1)",
        _everybody('vector_norm(x, ord="inf")', {"x": (1.0, -1.0)}, (0.5, -0.5), ((0.0, -1.0), (1.0, 0.0))),
        _everybody(
            "matrix_norm(x, ord=1)", {"x": ((1.0, 2.0), (2.0, 1.0))}, ((0.5, 0.5),) * 2, (_ZERO2, _ONE2)
        ),
    ),
    _row(
        "spectral-norm: matrix_norm",
        "a norm made of singular values has kinks where they are 0 or meet",
        _everybody('matrix_norm(x, ord="nuc")', {"x": _ZERO2}, _IDENTITY, (_MINUS2, _ONE2)),
        _example("matrix_norm(x, ord=2)", {"x": _ZERO2}, _HALF2, _QUARTER2, _HALF2, (_MINUS2, _ONE2)),
        _everybody("matrix_norm(x, ord=2)", {"x": _IDENTITY}, _HALF2, (_LOWER, _UPPER)),
    ),
    _row(
        "count-of-nonzeros: vector_norm",
        "the norm of order 0 counts: it jumps where an entry is 0, and its derivative is 0 elsewhere",
        _everybody("vector_norm(x, ord=0)", {"x": (0.0, 1.0)}, _ZERO),
    ),
    # Jumps
    _row(
        "threshold: if while where less less_equal greater greater_equal equal not_equal",
        "both sides of a comparison are equal: the derivative is that of the side taken",
        _everybody("where(x > 0.0, x, 0.0)", {"x": 0.0}, 0.0, (0.0, 1.0)),
        _everybody("where(x >= 0.0, x, 0.0)", {"x": 0.0}, 1.0, (0.0, 1.0)),
        source="jax-ml/jax#37821",
    ),
    _row(
        "sign-at-0: sign",
        "the sign jumps at 0, and its derivative is 0 elsewhere",
        _everybody("sign(x)", {"x": 0.0}, 0.0),
    ),
    _row(
        "index-tie: argmax argmin argsort",
        "an index jumps where entries are equal",
        _everybody("argmax(x) * x[1]", {"x": _ONE}, _ZERO),
    ),
    _row(
        "branch-cut: log sqrt pow",
        "complex logarithms, roots and powers jump across the negative real axis; the derivative is that of"
        " the side of the imaginary part's sign",
        _everybody("real(sqrt(complex(x, y)))", {"y": 0.0, "x": -1.0}, 0.5),
    ),
    _row(
        "pivot-tie: lu",
        "two entries may be the pivot, and the factors jump from one to the other",
        _everybody("p, l, u = lu(x); u[1, 1]", {"x": ((1.0, 2.0), (1.0, 4.0))}, ((2.0, -1.0), (-2.0, 1.0))),
    ),
    # Ends of domains
    _row(
        "sqrt-at-0: sqrt",
        "the slope is infinite, and a chain rule multiplies it by 0: sqrt(x * x) is |x|, and its"
        " derivative NaN",
        _everybody("sqrt(x)", {"x": 0.0}, INF),
        _everybody("sqrt(x * x)", {"x": 0.0}, NAN),
        source="jax-ml/jax#8893; pytorch/pytorch#6394",
    ),
    _row(
        "log-at-0: log log1p",
        "the value and the slope are infinite",
        _everybody("log(x)", {"x": 0.0}, INF),
        _everybody("log1p(x)", {"x": -1.0}, INF),
    ),
    _row(
        f"end-of-domain: {' '.join(_BOUNDED)}",
        "the value or the slope is infinite, or there is no slope",
        _everybody("acos(x)", {"x": 1.0}, -INF),
        _everybody("log2(x)", {"x": 0.0}, INF),
    ),
    _row(
        "beyond-the-domain: log log1p sqrt pow",
        "the value is NaN; the derivative may be a number all the same",
        _everybody("log(x)", {"x": -1.0}, -1.0),
        _everybody("sqrt(x)", {"x": -1.0}, NAN),
        _everybody("x ** y", {"x": -1.0, "y": 2.0}, -2.0),
        _everybody("x ** y", {"y": 2.0, "x": -1.0}, NAN),
    ),
    _row(
        "pow-at-0: pow",
        "x**y is exp(y log x), defined for x > 0; at x = 0 it is continued, and the derivatives there are"
        " whatever a rule makes of log 0",
        _example("x ** 0.0", {"x": 0.0}, NAN, NAN, 0.0),
        _everybody("x ** 0.5", {"x": 0.0}, INF),
        _everybody("x ** 1.5", {"x": 0.0}, 0.0),
        _example("x ** y", {"y": 2.0, "x": 0.0}, NAN, 0.0, 0.0),
        _example("x ** y", {"y": 0.0, "x": 0.0}, -INF, 0.0, 0.0),
    ),
    _row(
        "division-by-0: divide integer_pow",
        "the value and the slope are infinite; the quotient of two zeros is NaN",
        _everybody("1.0 / x", {"x": 0.0}, -INF),
        _everybody("x / x", {"x": 0.0}, NAN),
        _everybody("x ** -2", {"x": 0.0}, -INF),
    ),
    _row(
        "dead-branch: where",
        "`where` computes both sides, and 0 times the infinite slope of the unused one is NaN in reverse"
        " mode; here the program is undefined where one of its operations is",
        _everybody("where(x > 0.0, sqrt(x), 0.0)", {"x": -1.0}, NAN, engine=0.0, jax=0.0, torch=0.0),
        _everybody("where(x > 0.0, log(x), 0.0)", {"x": -1.0}, 0.0),
        _everybody("where(x > 0.0, 1.0 / x, x)", {"x": 0.0}, NAN, engine=1.0, jax=1.0, torch=1.0),
        source="JAX docs, jax.numpy.where and FAQ; pytorch/pytorch#23395",
    ),
    # Linear algebra
    _row(
        "repeated-eigenvalue: eigh eigvalsh eig eigvals",
        "the single values have kinks where they meet (their sum has none), and the vectors are any basis",
        _everybody("eigvalsh(x)[0]", {"x": _IDENTITY}, _CORNER, (_UPPER, _LOWER)),
        _everybody(
            "w, v = eigh(x); v[0, 1]", {"x": _IDENTITY}, _NAN2, engine=_OFF_NAN, jax=_OFF_INF, torch=_OFF_INF
        ),
        source="jax-ml/jax#669; PyTorch docs, torch.linalg.eigh",
    ),
    _row(
        "repeated-singular-value: svd svdvals",
        "the single values have kinks where they meet or are 0, and the vectors are any basis",
        _everybody(
            "svdvals(x)[1]", {"x": _CORNER}, (_ZERO, (0.0, 1.0)), ((_ZERO, (0.0, -1.0)), (_ZERO, (0.0, 1.0)))
        ),
        _everybody("u, s, vh = svd(x); u[0, 0] * vh[0, 1]", {"x": _IDENTITY}, _NAN2, engine=_OFF_NAN),
        source="jax-ml/jax#2311; PyTorch docs, torch.linalg.svd",
    ),
    _row(
        "singular-matrix: inv solve slogdet",
        "no inverse; log |det| is -inf, and its derivative an infinity of either sign",
        _example("inv(x)[0, 0]", {"x": _RANK1}, _NAN2, _NAN2, RAISES),
        Example(
            "s, l = slogdet(x); l",
            {"x": _RANK1},
            {"engine": _NAN2, "jax": ((INF, -INF), (-INF, INF)), "torch": ((-INF, INF), (INF, -INF))},
            forward={"torch": _NAN2},
        ),
    ),
    _row(
        "rank-deficient: pinv lstsq qr",
        "pinv and lstsq jump where the rank does, and have the derivative along matrices of equal rank; qr"
        " divides by a diagonal entry that is 0",
        _everybody("q, r = qr(x); r[1, 1] * r[1, 1]", {"x": _CORNER}, _NAN2),
    ),
    _row(
        "not-positive-definite: cholesky",
        "no factor exists",
        _example("cholesky(x)[1, 1]", {"x": _ONE2}, _NAN2, _NAN2, RAISES),
    ),
    # How a library is asked
    _row(
        "symmetric-part: cholesky eigh eigvalsh",
        "JAX takes (a + a^T) / 2, Torch and NumPy read the lower triangle only; as ops of a program all are"
        " functions of (a + a^T) / 2",
        _everybody("cholesky(x)[0, 0]", {"x": ((4.0, 2.0), (0.0, 3.0))}, _QUARTER, (_QUARTER, _QUARTER)),
        _library("cholesky(a)[1, 0]", {"a": ((4.0, 9.0), (1.0, 3.0))}, NAN, 0.5),
    ),
    _row(
        "conjugate: abs conj",
        "JAX's gradient by a complex z is the conjugate of Torch's; programs are asked about by real and"
        " imaginary parts, which leaves no choice",
        _everybody("z = complex(x, y); real(z * conj(z))", {"x": 1.0, "y": 2.0}, 2.0, (2.0, 2.0)),
        _library("the gradient of |z|^2", {"z_re": 1.0, "z_im": 2.0}, (2.0, -4.0), (2.0, 4.0)),
        source="PyTorch docs, notes/autograd, autograd for complex numbers; JAX docs, the autodiff cookbook",
    ),
    # Limits that the documentation of a target states: its adapter says where a program meets one
    _row(
        "fields-read-and-changed: for while index_update",
        "in Taichi and Quadrants the way back reads fields as they are at the end of the kernel: an entry"
        " that was read may not change afterwards, and one that was written may only change by +=",
        source=f"{_TAICHI}; {_QUADRANTS}",
    ),
    _row(
        "dynamic-loop: for while",
        "Warp replays no loop that it does not unroll: what such a loop computes is missing on the way back",
        source=f"{_WARP}#dynamic-loops",
    ),
    _row(
        "array-overwritten: for while index_update",
        "in Warp the way back reads arrays as they are at the end of the kernel",
        source=f"{_WARP}#array-overwrites",
    ),
    _row(
        "vector-entry-assigned: index_update",
        "in Warp an entry of a local vector or matrix may be assigned once, and changed by += and -=",
        source=f"{_WARP}#vector-matrix-and-quaternion-component-assignment",
    ),
)

NAN_IS_LEGAL = frozenset(row.name for row in CONVENTIONS if row.nan)
"""The situations in which NaN is one of the answers."""


def explaining(names: frozenset[str]) -> tuple[str, ...]:
    """`names` in the order of the conventions table."""
    return tuple(row.name for row in CONVENTIONS if row.name in names)
