"""Linear algebra of complex matrices: derivatives of the orders 1 and 2 against differences of mpmath's
decompositions.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from mpmath import mp

from gradfuzz import engine
from gradfuzz.engine import linalg
from gradfuzz.engine.rules.linalg import JVP, VJP, VJP_SEVERAL
from tests.unit.engine.complex_losses import check_orders, differences

DIGITS = 50


def draw(kind: str, rng: np.random.Generator) -> Any:
    """Complex numbers whose parts are from 1/4 to 3/2 in size. The shape after a letter: "s" far from
    singular, "p" positive definite, "m" any.
    """
    shape = tuple(int(n) for n in kind[1:].split(","))
    re, im = rng.uniform(0.25, 1.5, (2, *shape)) * rng.choice([-1, 1], (2, *shape))
    x = re + 1j * im
    if kind[0] == "p":
        x = x @ x.conj().T
    return x if kind[0] == "m" else x + np.diag(np.arange(shape[-1]) / 2 + 3)


# Truths -----------------------------------------------------------------------------------------------------
#
# A truth takes matrices of mpmath and returns all numbers, in their order, that the function of the engine
# beside it returns. `found` is what NumPy found at the point itself: it says which of several right answers,
# each of them smooth, is followed: an order of rows or of values, or signs.

Truth = Callable[..., list[Any]]
Case = tuple[str, Callable[..., Any], tuple[str, ...], Truth]


def numbers(x: Any) -> list[Any]:
    return [x[i, j] for i in range(x.rows) for j in range(x.cols)]


def by_gram_schmidt(found: Any, a: Any) -> list[Any]:
    """Q and R with the signs of the real diagonal of R that `found` has."""
    m, n = a.rows, a.cols
    k = min(m, n)
    q, r = mp.zeros(m, k), mp.zeros(k, n)
    for j in range(n):
        v = a[:, j]
        for i in range(min(j, k)):
            r[i, j] = (q[:, i].H * v)[0]
            v = v - q[:, i] * r[i, j]
        if j < k:
            r[j, j] = mp.norm(v) * float(np.sign(found[1][j, j].real))
            q[:, j] = v / r[j, j]
    return [*numbers(q), *numbers(r)]


def by_elimination(found: Any, a: Any) -> list[Any]:
    """L and U with the rows in the order that `found` has."""
    m, n = a.rows, a.cols
    k = min(m, n)
    upper, lower = mp.matrix(found[0].T.tolist()) * a, mp.zeros(m, k)
    for j in range(k):
        for i in range(j, m):
            lower[i, j] = upper[i, j] / upper[j, j]
        for i in range(j + 1, m):
            for c in range(n):
                upper[i, c] -= lower[i, j] * upper[j, c]
    return [*numbers(lower), *numbers(upper[:k, :])]


def outer_products(u: Any, vh: Any) -> list[Any]:
    """Entry (i, k) of column j of u times row j of vh, in the order i, k, j."""
    return [u[i, j] * vh[j, k] for i in range(u.rows) for k in range(vh.cols) for j in range(u.cols)]


def eigen(found: Any, a: Any) -> list[Any]:
    """The values, and v v^H of every vector."""
    values, vectors = mp.eig(a)
    order = [min(range(len(values)), key=lambda j: abs(values[j] - complex(w))) for w in found[0]]
    assert sorted(order) == list(range(a.rows))
    v = mp.matrix(a.rows)
    for k, j in enumerate(order):
        v[:, k] = vectors[:, j] / mp.norm(vectors[:, j])
    return [*(values[j] for j in order), *outer_products(v, v.H)]


def hermitian_eigen(found: Any, a: Any) -> list[Any]:
    values, v = mp.eighe((a + a.H) / 2)
    return [*values, *outer_products(v, v.H)]


def singular(found: Any, a: Any) -> list[Any]:
    """s, and u v^H, u u^H and v v^H of every pair."""
    u, s, vh = mp.svd_c(a)
    return [*s, *outer_products(u, vh), *outer_products(u, u.H), *outer_products(vh.H, vh)]


def log_det(found: Any, a: Any) -> list[Any]:
    d = mp.det(a)
    return [d / abs(d), mp.log(abs(d))]


def pseudo_inverse(a: Any) -> Any:
    return (a.H * a) ** -1 * a.H if a.rows >= a.cols else a.H * (a * a.H) ** -1


def matrix_norm(order: Any) -> Truth:
    def norm(found: Any, a: Any) -> list[Any]:
        sizes = [[abs(a[i, j]) for j in range(a.cols)] for i in range(a.rows)]
        if order == "fro":
            return [mp.sqrt(sum(x**2 for row in sizes for x in row))]
        if order in (1, -1, "inf", "-inf"):
            sums = [sum(line) for line in (zip(*sizes, strict=True) if order in (1, -1) else sizes)]
            return [max(sums) if order in (1, "inf") else min(sums)]
        s = mp.svd_c(a, compute_uv=False)
        return [sum(s) if order == "nuc" else s[0] if order == 2 else s[len(s) - 1]]

    return norm


def vector_norm(order: Any) -> Truth:
    def norm(found: Any, a: Any) -> list[Any]:
        sizes = [abs(x) for x in numbers(a)]
        if isinstance(order, str):
            return [max(sizes) if order == "inf" else min(sizes)]
        return [sum(x**order for x in sizes) ** (mp.one / order)]

    return norm


def kronecker(found: Any, a: Any, b: Any) -> list[Any]:
    return [
        a[i, j] * b[p, q]
        for i in range(a.rows)
        for p in range(b.rows)
        for j in range(a.cols)
        for q in range(b.cols)
    ]


def triangular(lower: bool, transposed: bool, unit_diagonal: bool, left: bool) -> Case:
    def solution(found: Any, a: Any, b: Any) -> list[Any]:
        t = mp.matrix(a.rows)
        for i, j in itertools.product(range(a.rows), repeat=2):
            t[i, j] = (
                mp.one if unit_diagonal and i == j else a[i, j] if (i >= j if lower else i <= j) else mp.zero
            )
        t = t.T if transposed else t
        return numbers(t**-1 * b if left else b * t**-1)

    def solve(a: Any, b: Any) -> Any:
        return linalg.triangular_solve(
            a, b, lower=lower, transposed=transposed, unit_diagonal=unit_diagonal, left=left
        )

    return "triangular_solve", solve, ("s3,3", "m3,2" if left else "m2,3"), solution


# Functions of the engine that do not depend on phases -------------------------------------------------------


def products(u: Any, vh: Any) -> Any:
    return linalg.einsum("ij,jk->ikj", u, vh)


def adjoint(x: Any) -> Any:
    return engine.conj(engine.permute_dims(x, (1, 0)))


def of_svd(a: Any) -> Any:
    u, s, vh = linalg.svd(a)
    return s, products(u, vh), products(u, adjoint(u)), products(adjoint(vh), vh)


def of_full_svd(a: Any) -> Any:
    u, s, vh = linalg.svd(a, full_matrices=True)
    k = min(a.shape)
    u, vh = u[:, :k], vh[:k]
    return s, products(u, vh), products(u, adjoint(u)), products(adjoint(vh), vh)


def of_eigh(a: Any) -> Any:
    w, v = linalg.eigh(a)
    return w, products(v, adjoint(v))


def of_eig(a: Any) -> Any:
    w, v = linalg.eig(a)
    return w, products(v, adjoint(v))


def last_projection(a: Any) -> Any:
    """q q^H of the one further column of a complete Q."""
    q = linalg.qr(a, mode="complete")[0][:, -1:]
    return q @ adjoint(q)


def on_complement(found: Any, a: Any) -> list[Any]:
    return numbers(mp.eye(a.rows) - a * pseudo_inverse(a))


def first_of(n: int, truth: Truth) -> Truth:
    return lambda found, *xs: truth(found, *xs)[:n]


CASES: list[Case] = [
    *[("qr", linalg.qr, (x,), by_gram_schmidt) for x in ("m3,3", "m4,2", "m2,4", "m1,3", "m3,1")],
    ("qr", last_projection, ("m3,2",), on_complement),
    *[("lu", lambda a: linalg.lu(a)[1:], (x,), by_elimination) for x in ("m3,3", "m4,2", "m2,4")],
    ("cholesky", linalg.cholesky, ("p3,3",), lambda found, a: numbers(mp.cholesky((a + a.H) / 2))),
    (
        "cholesky",
        lambda a: linalg.cholesky(a, upper=True),
        ("p3,3",),
        lambda found, a: numbers(mp.cholesky((a + a.H) / 2).H),
    ),
    *[("svd", of_svd, (x,), singular) for x in ("m3,3", "m4,2", "m2,4")],
    *[("svd", of_full_svd, (x,), singular) for x in ("m3,2", "m2,3")],
    ("svdvals", linalg.svdvals, ("m3,2",), lambda found, a: list(mp.svd_c(a, compute_uv=False))),
    ("eigh", of_eigh, ("m3,3",), hermitian_eigen),
    (
        "eigvalsh",
        linalg.eigvalsh,
        ("m3,3",),
        lambda found, a: list(mp.eighe((a + a.H) / 2, eigvals_only=True)),
    ),
    ("eig", of_eig, ("m3,3",), eigen),
    ("eigvals", lambda a: linalg.eig(a)[0], ("m3,3",), first_of(3, eigen)),
    (
        "eigvals",
        lambda a: engine.sum(linalg.eigvals(a) ** 3),
        ("m3,3",),
        lambda found, a: [sum(numbers(a**3)[::4])],
    ),
    ("solve", linalg.solve, ("s3,3", "m3,2"), lambda found, a, b: numbers(a**-1 * b)),
    (
        "solve",
        lambda a, b: linalg.solve(a, b[:, 0]),
        ("s3,3", "m3,1"),
        lambda found, a, b: numbers(a**-1 * b),
    ),
    *[triangular(*flags) for flags in itertools.product((True, False), repeat=4)],
    ("inv", linalg.inv, ("s3,3",), lambda found, a: numbers(a**-1)),
    *[("det", linalg.det, (f"m{n},{n}",), lambda found, a: [mp.det(a)]) for n in (1, 2, 3, 4)],
    ("slogdet", linalg.slogdet, ("m3,3",), log_det),
    *[
        ("pinv", linalg.pinv, (x,), lambda found, a: numbers(pseudo_inverse(a)))
        for x in ("s3,3", "m4,2", "m2,4")
    ],
    *[
        ("lstsq", linalg.lstsq, x, lambda found, a, b: numbers(pseudo_inverse(a) * b))
        for x in (("s3,3", "m3,2"), ("m4,2", "m4,2"), ("m2,4", "m2,1"))
    ],
    *[
        ("matrix_norm", lambda a, o=o: linalg.matrix_norm(a, ord=o), ("m3,2",), matrix_norm(o))
        for o in ("fro", "nuc", 1, -1, 2, -2, "inf", "-inf")
    ],
    *[
        ("vector_norm", lambda a, o=o: linalg.vector_norm(a, ord=o), ("m3,2",), vector_norm(o))
        for o in (1, 2, 3, 4, -1, -2, "inf", "-inf")
    ],
    *[
        (
            "matrix_power",
            lambda a, n=n: linalg.matrix_power(a, n),
            ("s3,3",),
            lambda found, a, n=n: numbers(a**n),
        )
        for n in (1, 2, 3, 6, -1, -3)
    ],
    ("expm", linalg.expm, ("m3,3",), lambda found, a: numbers(mp.expm(a))),
    ("trace", lambda a: linalg.trace(a @ a), ("m3,3",), lambda found, a: [sum(numbers(a * a)[::4])]),
    ("diagonal", lambda a: linalg.diagonal(a @ a), ("m3,3",), lambda found, a: numbers(a * a)[::4]),
    ("tril", lambda a: linalg.tril(a @ a)[2], ("m3,3",), lambda found, a: numbers(a * a)[6:]),
    ("triu", lambda a: linalg.triu(a @ a)[0], ("m3,3",), lambda found, a: numbers(a * a)[:3]),
    ("outer", lambda a, b: linalg.outer(a[:, 0], b[0]), ("m3,1", "m1,2"), lambda found, a, b: numbers(a * b)),
    ("kron", linalg.kron, ("m2,3", "m3,2"), kronecker),
    (
        "einsum",
        lambda a, b: linalg.einsum("ij,jk->ik", a, b),
        ("m2,3", "m3,2"),
        lambda found, a, b: numbers(a * b),
    ),
    (
        "einsum",
        lambda a, b: linalg.einsum("ii,ij->j", a, b),
        ("m2,2", "m2,3"),
        lambda found, a, b: numbers(mp.matrix([a[0, 0], a[1, 1]]).T * b),
    ),
]
"""An op, a function that uses it, the arguments, and the truth."""

PARTS: dict[str, Callable[[Any], Any]] = {
    "qr": linalg.qr,
    "lu": linalg.lu,
    "eig": linalg.eig,
    "eigvals": linalg.eig,
}
"""What a truth is told, where it is told something."""


def test_every_op_is_a_case() -> None:
    """But for those that only derivatives are made of, which second derivatives are."""
    assert (
        {c[0] for c in CASES}
        == {*VJP, *VJP_SEVERAL} - {"cofactor", "divide_by_gaps"}
        == set(JVP) - {"cofactor", "divide_by_gaps"}
    )


def flat(f: Callable[..., Any]) -> Callable[..., Any]:
    """All numbers that f returns, as one complex vector."""

    def function(*xs: Any) -> Any:
        results = f(*xs)
        parts = [
            engine.reshape(engine.complex(engine.real(z), engine.imag(z)), (int(np.prod(z.shape)),))
            for z in (results if isinstance(results, tuple) else (results,))
        ]
        return engine.concat(parts)

    return function


@pytest.mark.parametrize(
    ("case", "number"), [pytest.param(c, k, id=f"{c[0]}-{k}") for k, c in enumerate(CASES)]
)
def test_derivatives_are_those_of_mpmath(case: Case, number: int, seed: int) -> None:
    """To a few thousand roundings times conditions up to 1e3."""
    op, f, kinds, truth = case
    rng = np.random.default_rng([seed, number])
    xs = [draw(kind, rng) for kind in kinds]
    directions = [draw("m" + kind[1:], rng) for kind in kinds]
    found = PARTS.get(op, lambda x: None)(xs[0])
    with mp.workdps(DIGITS):
        points, ways = [mp.matrix(x.tolist()) for x in xs], [mp.matrix(v.tolist()) for v in directions]
    expected = differences(lambda t: truth(found, *[x + t * v for x, v in zip(points, ways, strict=True)]))
    check_orders(flat(f), xs, directions, expected, 1e-9)
