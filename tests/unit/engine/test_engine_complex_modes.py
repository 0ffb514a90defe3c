"""Linear algebra: one mode against the other; of complex matrices also batches, and where it is delicate."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg

from gradfuzz import engine
from gradfuzz.engine import linalg
from gradfuzz.engine.rules.linalg import JVP
from gradfuzz.engine.rules.value import apply
from tests.unit.engine.matrix_cases import BATCHES, CASES, COMPLEX, INTERNAL, Case, draw, of_instances


def drawn(kind: str, batch: tuple[int, ...], rng: np.random.Generator) -> Any:
    return draw(kind, batch, rng, of_complex=True)


def some(values: list[float], like: Any, rng: np.random.Generator) -> Any:
    """A tangent or cotangent: complex where `like` is."""
    x = rng.choice(values, np.shape(like))
    return np.asarray(x + 1j * rng.choice(values, np.shape(like)) if np.iscomplexobj(like) else x, like.dtype)


def test_every_op_is_a_case() -> None:
    assert {c[0] for c in COMPLEX} == set(JVP)


TRANSPOSED = [
    pytest.param(case, number, precision, id=f"{case[0]}-{number}-{precision}")
    for precision in ("float64", "complex128", "complex64")
    for number, case in enumerate([*CASES, *INTERNAL] if precision == "float64" else COMPLEX)
]


@pytest.mark.parametrize(("case", "number", "precision"), TRANSPOSED)
def test_forward_and_reverse_are_transposes(case: Case, number: int, precision: str, seed: int) -> None:
    """Re <J v, u> = Re <v, J^T u>, in every batch, to 1e-10 of the terms (2e-4): condition numbers up to 1e3
    times a few hundred roundings.
    """
    op, params, kinds = case
    rng = np.random.default_rng([seed, number])
    allowed = 2e-4 if precision == "complex64" else 1e-10
    for batch in BATCHES:
        of_complex = precision.startswith("complex")
        args = [draw(kind, batch, rng, of_complex=of_complex).astype(precision) for kind in kinds]
        value, pullback = engine.vjp(lambda *xs: apply(op, *xs, **params), *args)
        v = [some([-1.5, 0.75, 1.25], x, rng) for x in args]
        u = some([-0.75, 0.5, 1.5], value, rng)
        tangent = engine.jvp(lambda *xs: apply(op, *xs, **params), args, v)[1]
        parts = pullback(u)
        assert value.dtype in (np.dtype(precision), args[0].real.dtype)
        assert [(p.shape, p.dtype) for p in parts] == [(x.shape, x.dtype) for x in args]
        assert (np.shape(tangent), tangent.dtype) == (np.shape(value), value.dtype)
        forth = np.sum((np.conj(u) * tangent).real)
        back = sum(np.sum((np.conj(p) * t).real) for p, t in zip(parts, v, strict=True))
        size = np.sum(np.abs(tangent * u)) + sum(np.sum(np.abs(p * t)) for p, t in zip(parts, v, strict=True))
        assert abs(forth - back) <= allowed * size, (batch, args)


@pytest.mark.parametrize(("case", "number"), of_instances(COMPLEX))
def test_a_batch_is_its_instances(case: Case, number: int, seed: int) -> None:
    """Value and gradient by `vmap`, and of a stack of matrices, as of each alone, to 1e-12 of the greatest:
    LAPACK sees the same matrices.
    """
    op, params, kinds = case
    rng = np.random.default_rng([seed, number])

    def loss(*xs: Any) -> Any:
        result = apply(op, *xs, **params)
        return engine.sum(engine.real(result * engine.conj(result)) + engine.real((0.5 + 0.25j) * result))

    args = [drawn(kind, (3,), rng) for kind in kinds]
    places = range(len(args))
    whole = engine.grad(loss, places)(*args)
    mapped = engine.vmap(lambda *xs: engine.value_and_grad(loss, places)(*xs)[1])(*args)
    for k in range(3):
        for part, other, alone in zip(
            whole, mapped, engine.grad(loss, places)(*[x[k] for x in args]), strict=True
        ):
            allowed = 1e-12 * np.abs(alone).max(initial=1.0)
            assert np.abs(part[k] - alone).max(initial=0.0) <= allowed
            assert np.abs(other[k] - alone).max(initial=0.0) <= allowed


def test_outer_products_in_a_batch(seed: int) -> None:
    a, b = drawn("m3", (2,), np.random.default_rng(seed)), drawn("m2", (2,), np.random.default_rng(seed + 1))
    assert np.array_equal(engine.vmap(linalg.outer)(a, b), a[:, :, np.newaxis] * b[:, np.newaxis])


# Determinants -----------------------------------------------------------------------------------------------

SINGULAR = {
    "corank 0": [[2, 1j, 0, 1], [1, 3, 1 + 1j, 0], [0, 1, 2j, 5], [1j, 0, 1, 1]],
    "corank 1": [[1, 2j, 3], [4, 5j, 6], [7, 8j, 9]],
    "corank 1, 4 x 4": [[1j, 2, 0, 1], [0, 1, 1j, 2], [1j, 3, 1j, 3], [2, 0, 1, 1]],
    "corank 2": [[1, 2j, 3], [1j, -2, 3j], [2, 4j, 6]],
    "corank 2, 4 x 4": [[1, 0, 1j, 2], [0, 1, 1, 1j], [1, 1, 1 + 1j, 2 + 1j], [1, -1, 1j - 1, 2 - 1j]],
    "corank 3, 4 x 4": [[1, 2j, 0, 1], [1j, -2, 0, 1j], [0, 0, 0, 0], [-1, -2j, 0, -1]],
    "corank 3": [[0, 0, 0], [0, 0, 0], [0, 0, 0]],
    "1 x 1": [[0]],
}
"""Gaussian integers."""


def exact_det(a: Any) -> complex:
    """By the first row, exact for small Gaussian integers."""
    if len(a) == 1:
        return complex(a[0, 0])
    return sum((-1) ** j * a[0, j] * exact_det(np.delete(a[1:], j, 1)) for j in range(len(a)))


def exact_derivative(a: Any, directions: list[Any]) -> complex:
    """D^k det(a)[directions], the part of the k-fold difference that is linear in each: exact by Lagrange for
    degree 4 in one variable.
    """
    if not directions:
        return exact_det(a)
    *rest, last = directions
    before, after = (exact_derivative(a + t * last, rest) for t in (-1, 1))
    before2, after2 = (exact_derivative(a + t * last, rest) for t in (-2, 2))
    return (before2 - 8 * before + 8 * after - after2) / 12


def along(f: Callable[..., Any], direction: Any, mode: str) -> Callable[..., Any]:
    if mode == "fwd":
        return lambda x: engine.jvp(f, [x], [direction])[1]
    return lambda x: engine.sum(engine.real(engine.conj(engine.grad(f)(x)) * direction))


@pytest.mark.parametrize("name", SINGULAR)
def test_derivatives_of_det_at_every_rank(name: str, seed: int) -> None:
    """Orders 1 to 3 in every mix of modes, to 1e-11 of the greatest that can be."""
    a = np.array(SINGULAR[name], complex)
    n, rng = len(a), np.random.default_rng(seed)
    directions = list(rng.integers(-2, 3, (3, n, n)) + 1j * rng.integers(-2, 3, (3, n, n)))
    for order in (1, 2, 3):
        expected = ((2 - 1j) * exact_derivative(a, directions[:order])).real
        for modes in itertools.product(("rev", "fwd"), repeat=order):
            function: Callable[..., Any] = lambda x: engine.real((2 - 1j) * linalg.det(x))  # noqa: E731
            for mode, direction in zip(modes, directions, strict=False):
                function = along(function, direction, mode)
            assert abs(function(a) - expected) <= 1e-11 * max(1.0, abs(expected)), (order, modes)


# Repeated eigenvalues and singular values -------------------------------------------------------------------


@pytest.mark.parametrize("values", [[1.0, 1.0], [1.0, 1.0, 2.0], [0.0, 0.0, 0.0]])
@pytest.mark.parametrize(
    "op", [linalg.eigvalsh, lambda x: linalg.eigh(x)[0], linalg.svdvals, lambda x: linalg.svd(x)[1]]
)
def test_functions_of_repeated_values(values: list[float], op: Callable[..., Any], seed: int) -> None:
    """d sum(w^2) = 2 Re tr(A^H dA), for eigenvalues of a Hermitian matrix and for singular values of any."""
    rng = np.random.default_rng(seed)
    n = len(values)
    u = scipy.linalg.qr(rng.normal(size=(n, n)) + 1j * rng.normal(size=(n, n)))[0]
    a, t = u @ np.diag(values) @ u.conj().T, drawn(f"m{n},{n}", (), rng)

    def loss(x: Any) -> Any:
        return engine.sum(op(x) ** 2)

    assert np.allclose(engine.grad(loss)(a), 2 * a, rtol=0, atol=1e-13)
    assert np.allclose(engine.jvp(loss, [a], [t])[1], 2 * np.sum((a.conj() * t).real), rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", ["real", "complex"])
def test_functions_of_repeated_eigenvalues_of_a_matrix_that_is_not_hermitian(kind: str, seed: int) -> None:
    """d sum f(w) = tr(f'(A) dA) where there is a basis of eigenvectors, so the gradient of its real part is
    f'(A)^H.
    """
    rng = np.random.default_rng(seed)
    x = drawn("s3,3", (), rng)
    x = x.real if kind == "real" else x
    a = x @ np.diag([2.0, 2.0, -1.0]) @ np.linalg.inv(x)
    for f, slope in (
        (lambda w: w, np.eye(3)),
        (lambda w: w**3, 3 * a @ a),
        (engine.exp, scipy.linalg.expm(a)),
    ):
        for op in (linalg.eigvals, lambda y: linalg.eig(y)[0]):
            found = engine.grad(lambda y, f=f, op=op: engine.sum(engine.real(f(op(y)))))(a)
            assert found.dtype == a.dtype
            assert np.allclose(found, slope.conj().T, rtol=0, atol=1e-12 * np.abs(slope).max())
    found = engine.grad(lambda y: engine.sum(engine.abs(linalg.eig(y)[1]) ** 4))(a)
    assert np.isnan(found).any()


def test_eigenvalues_of_a_real_matrix_are_complex_and_its_gradient_is_real(seed: int) -> None:
    """Of a pair w, conj(w): |w|^2 = det(A) and 2 Re w = tr(A), so both derivatives are known."""
    a = np.array([[1.0, -3.0], [2.0, 0.5]])
    t = np.random.default_rng(seed).normal(size=(2, 2))
    for op in (linalg.eigvals, lambda x: linalg.eig(x)[0]):
        assert np.allclose(
            engine.grad(lambda x, op=op: engine.abs(op(x)[0]) ** 2)(a),
            [[0.5, -2.0], [3.0, 1.0]],
            rtol=0,
            atol=1e-14,
        )
        assert np.allclose(
            engine.grad(lambda x, op=op: engine.real(op(x)[0]))(a), np.eye(2) / 2, rtol=0, atol=1e-14
        )
        found = engine.hessian(lambda x, op=op: engine.abs(op(x)[0]) ** 2)(a)
        assert np.allclose(np.einsum("ijkl,ij,kl", found, t, t), 2 * np.linalg.det(t), rtol=0, atol=1e-12)
        w, w_dot = engine.jvp(op, [a], [t])
        assert w.dtype == w_dot.dtype == complex
        assert op(a.astype(np.float32)).dtype == np.complex64


def test_gradients_of_functions_of_the_hermitian_part_are_hermitian(seed: int) -> None:
    a = drawn("p3,3", (2,), np.random.default_rng(seed)) + np.arange(9).reshape(3, 3) * 1j / 8
    for f in (linalg.cholesky, linalg.eigvalsh, lambda x: engine.abs(linalg.eigh(x)[1])):
        g = engine.grad(lambda x, f=f: engine.sum(engine.real((1 - 0.5j) * f(x))))(a)
        assert np.allclose(g, np.swapaxes(g, -1, -2).conj(), rtol=0, atol=1e-14)


def test_further_vectors_have_no_derivative(seed: int) -> None:
    """NaN in both parts, of every one of several; R and the first columns keep theirs."""
    rng = np.random.default_rng(seed)
    a, t = drawn("m4,2", (), rng), drawn("m4,2", (), rng)
    for f in (lambda x: linalg.qr(x, mode="complete")[0], lambda x: linalg.svd(x, full_matrices=True)[0]):
        tangent = engine.jvp(f, [a], [t])[1]
        assert np.isnan(tangent[:, 2:].real).all()
        assert np.isnan(tangent[:, 2:].imag).all()
        assert np.isfinite(tangent[:, :2]).all()
        assert np.isnan(engine.grad(lambda x, f=f: engine.sum(engine.abs(f(x)) ** 4))(a)).all()
        assert np.isfinite(engine.grad(lambda x, f=f: engine.sum(engine.abs(f(x)[:, :2]) ** 4))(a)).all()


def test_what_lapack_cannot_do_is_nan_for_that_matrix_alone() -> None:
    bad, good = np.array([[1, 2j], [2j, -4]]), np.diag([1, 2j])
    a = np.array([bad, good])
    for f in (linalg.inv, lambda x: linalg.solve(x, np.ones((2, 1)))):
        g = engine.grad(lambda x, f=f: engine.sum(engine.real(f(x))))(a)
        assert np.isnan(g[0]).all()
        assert np.isfinite(g[1]).all()
    infinite = np.array([[[np.inf, 1j], [0, 1]], good])
    for f in (linalg.eigvals, lambda x: linalg.eig(x)[1], lambda x: linalg.svd(x)[0], linalg.eigvalsh):
        value = f(infinite)
        assert np.isnan(value[0].real).all()
        assert np.isfinite(value[1]).all()


def test_norms_at_zero_and_at_ties() -> None:
    for order in (1, 2, 3):
        assert engine.grad(lambda z, o=order: linalg.vector_norm(z, ord=o))(
            np.zeros(3, complex)
        ).tolist() == [0, 0, 0]
    z = np.array([3j, -4, 0])
    assert np.allclose(engine.grad(lambda z: linalg.vector_norm(z))(z), [0.6j, -0.8, 0])
    assert np.allclose(engine.grad(lambda z: linalg.vector_norm(z, ord=1))(z), [1j, -1, 0])
    z = np.array([3 + 4j, 4 - 3j, 1])
    for order, expected in (("inf", [0.3 + 0.4j, 0.4 - 0.3j, 0]), ("-inf", [0, 0, 1])):
        assert np.allclose(engine.grad(lambda y, o=order: linalg.vector_norm(y, ord=o))(z), expected)


@pytest.mark.parametrize("dtype", [float, complex])
def test_norms_of_no_entries(dtype: Any) -> None:
    for order, batch in itertools.product(("fro", "nuc", 1, -1, 2, -2, "inf", "-inf"), ((), (2,))):
        x = np.zeros((*batch, 0, 3), dtype)
        found = engine.grad(lambda y, o=order: engine.sum(linalg.matrix_norm(y, ord=o)))(x)
        assert (found.shape, found.dtype) == (x.shape, x.dtype)
        assert not np.any(engine.jvp(lambda y, o=order: linalg.matrix_norm(y, ord=o), [x], [x])[1])


@pytest.mark.parametrize(
    "op", [linalg.solve, linalg.lstsq, linalg.kron, linalg.triangular_solve, engine.matmul]
)
def test_a_real_matrix_that_meets_a_complex_one(op: Callable[..., Any], seed: int) -> None:
    """Its gradient is the real part of the one that it had as a complex matrix; its Hessian is the second
    derivative along real directions.
    """
    rng = np.random.default_rng(seed)
    a, b, t = drawn("s3,3", (), rng).real, drawn("m3,2", (), rng), drawn("m3,3", (), rng).real

    def loss(x: Any, y: Any) -> Any:
        return engine.sum(engine.real((1 + 0.5j) * op(x, y) ** 2))

    found, other = engine.grad(loss, (0, 1))(a, b), engine.grad(loss, (0, 1))(a.astype(complex), b)
    assert found[0].dtype == float
    assert np.allclose(found[0], other[0].real, rtol=1e-12, atol=1e-13)
    assert np.allclose(found[1], other[1], rtol=1e-12, atol=1e-13)
    second = engine.jvp(lambda x: engine.jvp(lambda z: loss(z, b), [x], [t])[1], [a.astype(complex)], [t])[1]
    assert np.allclose(
        np.einsum("ijkl,ij,kl", engine.hessian(lambda x: loss(x, b))(a), t, t), second, rtol=1e-12
    )


def test_decompositions_in_a_loop(seed: int) -> None:
    """Six steps of the QR algorithm, whose entries' moduli no phase touches: mixes of modes agree to 1e-10,
    checkpoints to the bit.
    """
    rng = np.random.default_rng(seed)
    a, v = drawn("m3,3", (), rng), drawn("m3,3", (), rng)

    def step(i: Any, x: Any) -> Any:
        q, r = linalg.qr(x)
        return r @ q

    def loss(x: Any) -> Any:
        return engine.sum(engine.abs(engine.fori_loop(0, 6, step, x)) ** 2 * np.arange(9.0).reshape(3, 3))

    slope = engine.grad(loss)(a)
    for checkpoint in ("sqrt", 2):
        assert np.array_equal(engine.grad(loss, checkpoint=checkpoint)(a), slope)
    forth = engine.jvp(loss, [a], [v])[1]
    assert abs(forth - np.sum((slope.conj() * v).real)) <= 1e-10 * abs(forth)
    second = [
        along(along(loss, v, first), v, last)(a)
        for first, last in itertools.product(("rev", "fwd"), repeat=2)
    ]
    assert np.allclose(second, second[0], rtol=1e-10)


def test_the_functions_are_the_ops(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, h, tall, b = (drawn(kind, (), rng) for kind in ("s3,3", "p3,3", "m4,3", "m3,2"))
    for mine, theirs in (
        (linalg.qr(tall), np.linalg.qr(tall)),
        (linalg.eig(a), np.linalg.eig(a)),
        (linalg.eigh(h), np.linalg.eigh(h)),
        (linalg.svd(tall), np.linalg.svd(tall, full_matrices=False)),
        (linalg.slogdet(a), np.linalg.slogdet(a)),
        (linalg.lu(a), scipy.linalg.lu(a)),
    ):
        for x, y in zip(mine, theirs, strict=True):
            assert np.allclose(x, y, rtol=1e-12, atol=1e-12)
    for x, y in (
        (linalg.cholesky(h), np.linalg.cholesky(h)),
        (linalg.eigvals(a), np.linalg.eigvals(a)),
        (linalg.solve(a, b), np.linalg.solve(a, b)),
        (linalg.det(a), np.linalg.det(a)),
        (linalg.pinv(tall), np.linalg.pinv(tall)),
        (linalg.expm(5 * a), scipy.linalg.expm(5 * a)),
        (linalg.triangular_solve(a, b, transposed=True), np.linalg.solve(np.tril(a).T, b)),
        (linalg.matrix_norm(a, ord="nuc"), np.linalg.norm(a, "nuc")),
        (linalg.vector_norm(b, ord=3, axis=0), np.linalg.norm(b, 3, axis=0)),
    ):
        assert np.allclose(x, y, rtol=1e-11, atol=1e-12)
    large = drawn("m40,40", (), rng) + 40 * np.eye(40)
    right = drawn("m40,2", (), rng)
    for transposed in (False, True):
        t = np.tril(large).T if transposed else np.tril(large)
        assert np.allclose(
            linalg.triangular_solve(large, right, transposed=transposed),
            np.linalg.solve(t, right),
            rtol=1e-12,
        )
