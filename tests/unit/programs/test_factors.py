"""Systems, factors and triangular systems in float32, float64 and complex, at the sizes and the lengths of
stacks where another algorithm takes over. Bounds are those of Higham, "Accuracy and stability
of numerical algorithms" (2002); residuals are computed with more digits.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from gradfuzz.programs.arithmetic.numpy_namespace import NumpyNamespace

ns = NumpyNamespace("float64")

DTYPES = (np.float32, np.float64, np.complex64, np.complex128)
SQUARE = [
    *((1, 1), (3, 3), (8, 8), (15, 15), (16, 16), (24, 24), (70, 70), (150, 150)),
    *((40, 1, 1), (40, 2, 2), (5, 8, 4, 4), (31, 4, 4), (40, 5, 5), (40, 8, 8), (3, 30, 30)),
]
"""One matrix and many, small and large."""
EMPTY = [(0, 0), (0, 3, 3), (3, 0, 0), (0, 30, 30)]


def drawn(shape: tuple[int, ...], dtype: Any, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def product(a: Any, b: Any) -> Any:
    """a @ b, and the product of the absolute values, in more digits than either has."""
    wide = np.clongdouble if a.dtype.kind == "c" else np.longdouble
    return a.astype(wide) @ b.astype(wide), np.abs(a).astype(np.longdouble) @ np.abs(b).astype(np.longdouble)


def adjacent(x: Any) -> Any:
    return np.swapaxes(x, -1, -2)


def in_columns(x: Any) -> Any:
    """The same matrices, in memory one column after the other."""
    return adjacent(np.ascontiguousarray(adjacent(x)))


def roundoff(dtype: Any) -> float:
    """Of a product of complex numbers it is 2 sqrt(2) times that of its parts (lemma 3.5)."""
    return float(np.finfo(dtype).eps) * (3 if np.dtype(dtype).kind == "c" else 1)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SQUARE)
@pytest.mark.parametrize("layout", [np.ascontiguousarray, in_columns])
def test_solutions_and_inverses(shape: Any, dtype: Any, layout: Any, seed: int) -> None:
    """|A x - b| <= 3 n eps |L| |U| |x| (theorem 9.4), and |L| |U| is at most n times as large as the greatest
    entry that elimination can make of these well scaled ones, here 16 times those of A.
    """
    n = shape[-1]
    a = layout(drawn(shape, dtype, seed))
    growth = 3 * n * n * 16 * float(np.abs(a).max()) * roundoff(dtype)
    for matrix, k in itertools.product((a, adjacent(a)), (1, 3, 40)):
        b = drawn((*shape[:-1], k), dtype, seed + 1)
        x = ns.solve(matrix, b)
        assert x.dtype == dtype
        residual = np.abs(product(matrix, x)[0] - b)
        assert np.all(residual <= growth * np.abs(x).sum(-2, keepdims=True))
    found = ns.inv(a)
    residuals = [product(*both)[0] - np.eye(n) for both in ((a, found), (found, a))]
    size = growth * np.abs(found).sum(-2, keepdims=True).max(-1, keepdims=True)
    assert any(np.all(np.abs(r) <= size) for r in residuals), "a right inverse, or a left one"


def test_batches_of_matrices_and_of_right_sides_broadcast(seed: int) -> None:
    for n, (left, right) in itertools.product(
        (3, 30), (((), (40,)), ((40,), ()), ((1, 40), (2, 1)), ((2, 1), (1, 3)))
    ):
        a, b = drawn((*left, n, n), float, seed), drawn((*right, n, 2), float, seed + 1)
        x = ns.solve(a, b)
        assert x.shape == (*np.broadcast_shapes(left, right), n, 2)
        assert np.allclose(a @ x, b, rtol=0, atol=1e-9)
    a, b = drawn((3, 3), float, seed), drawn((3,), float, seed)
    assert np.allclose(a @ ns.solve(a, b), b)


def exact_det(a: list[list[int]]) -> Fraction:
    """By elimination in fractions."""
    rows, det = [[Fraction(x) for x in row] for row in a], Fraction(1)
    while rows:
        pivot = next((k for k, row in enumerate(rows) if row[0]), None)
        if pivot is None:
            return Fraction(0)
        first = rows.pop(pivot)
        det *= first[0] * (-1) ** pivot
        rows = [[y - row[0] / first[0] * x for x, y in zip(first[1:], row[1:], strict=True)] for row in rows]
    return det


@pytest.mark.parametrize("shape", [(3, 3), (40, 1, 1), (40, 3, 3), (4, 8, 4, 4), (5, 5), (2, 30, 30)])
def test_determinants_of_integers(shape: Any, seed: int) -> None:
    a = np.random.default_rng(seed).integers(-9, 10, shape).astype(float)
    sign, logabsdet = ns.slogdet(a)
    det = ns.det(a)
    for place in np.ndindex(*shape[:-2]):
        exact = exact_det(a[place].astype(int).tolist())
        size = float(np.prod(np.linalg.norm(a[place], axis=0)))  # Hadamard's bound
        assert abs(det[place] - float(exact)) <= 1e-13 * size
        if exact:
            assert sign[place] == np.sign(float(exact))
            assert abs(logabsdet[place] - np.log(abs(float(exact)))) <= 1e-13 * size / abs(float(exact))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [*SQUARE, (5, 3), (50, 3, 5), (4, 30, 20), (4, 20, 30)])
def test_lu_gives_the_matrix(shape: Any, dtype: Any, seed: int) -> None:
    """|P L U - A| <= n eps |L| |U| (theorem 9.3); no multiplier is large."""
    a = drawn(shape, dtype, seed)
    p, lower, upper = ns.lu(a)
    k = min(shape[-2:])
    assert [x.shape[-2:] for x in (p, lower, upper)] == [(shape[-2],) * 2, (shape[-2], k), (k, shape[-1])]
    assert [x.dtype for x in (p, lower, upper)] == [np.empty(0, dtype).real.dtype, dtype, dtype]
    assert np.all(np.sort(p, -1)[..., -1] == 1)
    assert np.all(p.sum(-2) == 1)
    assert not np.triu(lower - np.eye(*lower.shape[-2:])).any()
    assert not np.tril(upper, -1).any()
    most = 1 if a.dtype.kind != "c" else np.sqrt(2)  # LAPACK chooses by |re| + |im|
    assert np.all(np.abs(lower) <= most * (1 + 4 * roundoff(dtype)))
    found, size = product(lower, upper)
    assert np.all(np.abs(found - adjacent(p) @ a) <= (k + 1) * roundoff(dtype) * size)


@pytest.mark.parametrize("shape", [(40, 3, 3), (40, 6, 6), (3, 30, 30)])
def test_one_singular_matrix_of_a_stack(shape: Any, seed: int) -> None:
    a = drawn(shape, float, seed)
    a[1, :, 0] = 0
    others = np.arange(len(a)) != 1
    for found in (ns.inv(a), ns.solve(a, np.ones((*shape[:-1], 2))), ns.solve(adjacent(a), adjacent(a))):
        assert np.isnan(found[1]).all()
        assert np.isfinite(found[others]).all()
    sign, logabsdet = ns.slogdet(a)
    assert (sign[1], logabsdet[1], ns.det(a)[1]) == (0, -np.inf, 0)
    assert np.all(np.abs(sign[others]) == 1)


@pytest.mark.parametrize("shape", EMPTY)
def test_stacks_of_nothing(shape: Any) -> None:
    a = np.zeros(shape)
    n, batch = shape[-1], shape[:-2]
    assert ns.solve(a, np.zeros((*shape[:-1], 2))).shape == (*batch, n, 2)
    assert ns.inv(a).shape == shape
    assert np.array_equal(ns.det(a), np.ones(batch))
    assert [np.shape(x) for x in ns.slogdet(a)] == [batch, batch]
    assert [x.shape for x in ns.lu(a)] == [shape] * 3
    assert ns.cholesky(a, upper=True).shape == shape


@pytest.mark.parametrize("n", [3, 6, 30])
def test_nan_in_a_matrix_raises_nothing(n: int, seed: int) -> None:
    for count in (1, 40):
        a = drawn((count, n, n), float, seed)
        a[0, n - 1, 0] = np.nan
        with np.errstate(all="ignore"):
            assert np.isnan(ns.det(a)[0])
            assert np.isnan(ns.lu(a)[2][0]).any()
            assert np.isnan(ns.solve(a, np.ones((n, 1)))[0]).any()
            assert np.isnan(ns.inv(a)[0]).any()
        assert np.isfinite(ns.inv(a)[1:]).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 1), (8, 8), (20, 20), (150, 150), (40, 3, 3), (40, 8, 8), (3, 70, 70)])
def test_substitution_errs_entry_by_entry(shape: Any, dtype: Any, seed: int) -> None:
    """|T x - b| <= n eps |T| |x| in every entry (theorem 8.5), whatever stands in the other triangle."""
    n = shape[-1]
    a = drawn(shape, dtype, seed) / n + 2 * np.eye(n, dtype=dtype)
    a = a.astype(dtype)
    for lower, transposed, unit, left in itertools.product((True, False), repeat=4):
        b = drawn((*shape[:-1], 5), dtype, seed + 1)
        b = b if left else adjacent(b)
        how = {"lower": lower, "transposed": transposed, "unit_diagonal": unit, "left": left}
        x = ns.triangular_solve(a, b, **how)
        assert (x.dtype, x.shape) == (dtype, b.shape)
        t = np.tril(a) if lower else np.triu(a)
        if unit:
            np.einsum("...ii->...i", t)[...] = 1
        t = adjacent(t) if transposed else t
        found, size = product(t, x) if left else product(x, t)
        assert np.all(np.abs(found - b) <= (n + 1) * roundoff(dtype) * (size + np.abs(b)))
        there = ns.tril(a, k=0) if lower else ns.triu(a, k=0)
        assert np.array_equal(ns.triangular_solve(there, b, **how), x)


def test_a_triangular_system_without_a_solution() -> None:
    """Infinite where IEEE 754 says so, and no exception: for one of a stack, and for a large one."""
    for n in (3, 40):
        t = np.eye(n)
        t[0, 0] = 0.0
        for stack in (t, np.stack([t] * 40)):
            x = ns.triangular_solve(
                stack, np.ones((n, 1)), lower=False, transposed=False, unit_diagonal=False, left=True
            )
            assert np.all(x[..., 0, 0] == np.inf)
            assert np.all(x[..., 1:, 0] == 1)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(40, 40), (3, 50, 40), (3, 40, 50), (33, 32), (8, 8), (0, 40, 40)])
@pytest.mark.parametrize("mode", ["reduced", "complete"])
def test_qr_is_orthonormal_and_gives_the_matrix(shape: Any, dtype: Any, mode: str, seed: int) -> None:
    """To a few n eps of the columns' norms (theorem 19.4); the signs are NumPy's."""
    a = drawn(shape, dtype, seed)
    q, r = ns.qr(a, mode=mode)
    assert (q.dtype, r.dtype) == (dtype, dtype)
    bound = 4 * max(shape) * roundoff(dtype)
    assert np.all(np.abs(product(q, r)[0] - a) <= bound * np.linalg.norm(a, axis=-2, keepdims=True))
    assert np.all(np.abs(product(adjacent(q).conj(), q)[0] - np.eye(q.shape[-1])) <= bound)
    assert not np.tril(r, -1).any()
    if a.size:
        diagonals = [np.diagonal(x, 0, -2, -1).real for x in (r, np.linalg.qr(a)[1])]
        assert np.array_equal(*map(np.sign, diagonals))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(4, 8, 8), (4, 16, 16), (4, 70, 70)])
@pytest.mark.parametrize("upper", [False, True])
def test_cholesky_of_a_stack_with_one_that_is_not_definite(
    shape: Any, dtype: Any, upper: bool, seed: int
) -> None:
    """|L L^H - A| <= (n + 1) eps |L| |L^H| (theorem 10.3)."""
    half = drawn(shape, dtype, seed)
    a = (half @ adjacent(half).conj() + np.eye(shape[-1])).astype(dtype)
    a[2] *= -1
    factor = ns.cholesky(a, upper=upper)
    assert np.isnan(factor[2]).all()
    lower = (adjacent(factor).conj() if upper else factor)[[0, 1, 3]]
    found, size = product(lower, adjacent(lower).conj())
    target = ((a + adjacent(a).conj()) / 2)[[0, 1, 3]]
    assert np.all(np.abs(found - target) <= (shape[-1] + 2) * roundoff(dtype) * size)
    assert not np.triu(lower, 1).any()
