"""Linear algebra where it is delicate: singular determinants, repeated eigenvalues, bases that nobody
determines, norms at 0.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg

from gradfuzz import engine
from gradfuzz.engine import linalg

# Determinants -----------------------------------------------------------------------------------------------

SINGULAR = {
    "corank 0": [[2, 1, 0, 1], [1, 3, 1, 0], [0, 1, 2, 5], [1, 0, 1, 1]],
    "corank 1": [[1, 2, 3], [4, 5, 6], [7, 8, 9]],
    "corank 1, 4 x 4": [[1, 2, 0, 1], [0, 1, 1, 2], [1, 3, 1, 3], [2, 0, 1, 1]],
    "corank 2": [[1, 2, 3], [2, 4, 6], [3, 6, 9]],
    "corank 2, 4 x 4": [[1, 0, 1, 2], [0, 1, 1, 1], [1, 1, 2, 3], [1, -1, 0, 1]],
    "corank 3": [[0, 0, 0], [0, 0, 0], [0, 0, 0]],
    "corank 3, 4 x 4": [[1, 2, 0, 1], [2, 4, 0, 2], [0, 0, 0, 0], [-1, -2, 0, -1]],
    "1 x 1": [[0]],
}


def exact_det(a: list[list[int]]) -> int:
    """Leibniz, in integers."""
    n = len(a)
    total = 0
    for order in itertools.permutations(range(n)):
        inversions = sum(order[i] > order[j] for i, j in itertools.combinations(range(n), 2))
        total += (-1) ** inversions * math.prod(a[i][order[i]] for i in range(n))
    return total


def exact_derivative(a: list[list[int]], places: tuple[tuple[int, int], ...]) -> int:
    """A mixed derivative of det, which is linear in every entry: a difference in each, exact in integers; 0
    for an entry twice.
    """
    if len(set(places)) < len(places):
        return 0
    total = 0
    for chosen in itertools.product((0, 1), repeat=len(places)):
        moved = [list(row) for row in a]
        for (i, j), step in zip(places, chosen, strict=True):
            moved[i][j] += step
        total += (-1) ** (len(places) - sum(chosen)) * exact_det(moved)
    return total


@pytest.mark.parametrize("name", SINGULAR)
@pytest.mark.parametrize("mode", ["rev", "fwd"])
def test_derivatives_of_det_at_every_rank(name: str, mode: Any) -> None:
    """To 1e-13 of the largest product of entries that can occur."""
    a = SINGULAR[name]
    n, x = len(a), np.array(a, float)
    size = max(1.0, np.abs(x).max()) ** n * math.factorial(n)
    function: Callable[..., Any] = linalg.det
    for order in (1, 2, 3):
        if order == 3 and (n == 4 or mode == "fwd"):  # the next test has them
            break
        function = engine.jacobian(function, mode=mode if order == 1 else "fwd")
        found = function(x)
        for index in itertools.product(range(n), repeat=2 * order):
            places = tuple(zip(index[::2], index[1::2], strict=True))
            assert abs(found[index] - exact_derivative(a, places)) <= 1e-13 * size, places


def test_third_derivatives_of_det_in_every_mix_of_modes(seed: int) -> None:
    """D^3 det(A)[u, v, w] is the coefficient of a b c in det(A + a u + b v + c w): exact in integers."""
    rng = np.random.default_rng(seed)
    for name in ("corank 1, 4 x 4", "corank 2, 4 x 4", "corank 3, 4 x 4"):
        a = np.array(SINGULAR[name])
        u, v, w = rng.integers(-2, 3, (3, 4, 4))
        expected = sum(
            (-1) ** (3 - sum(c)) * _third(a, [d for d, k in zip((u, v, w), c, strict=True) if k])
            for c in itertools.product((0, 1), repeat=3)
        )
        for modes in itertools.product(("rev", "fwd"), repeat=3):
            function: Callable[..., Any] = linalg.det
            for mode, along in zip(modes, (u, v, w), strict=True):
                function = _along(function, along.astype(float), mode)
            assert abs(function(a.astype(float)) - expected) <= 1e-11 * max(1.0, abs(expected)), (name, modes)


def _third(a: np.ndarray, directions: list[np.ndarray]) -> int:
    """The part of det(a + t (sum of the directions)) of degree 3 in t, by differences in integers: exact for
    degree 4.
    """
    d = sum(directions) if directions else 0 * a
    values = [exact_det((a + t * d).tolist()) for t in (-2, -1, 0, 1, 2)]
    # (f(2) - 2 f(1) + 2 f(-1) - f(-2)) / 12 is the coefficient of t^3
    return (values[4] - 2 * values[3] + 2 * values[1] - values[0]) // 12


def _along(function: Callable[..., Any], direction: np.ndarray, mode: str) -> Callable[..., Any]:
    if mode == "fwd":
        return lambda x: engine.jvp(function, [x], [direction])[1]
    return lambda x: engine.sum(engine.grad(function)(x) * direction)


def test_a_batch_mixes_ranks() -> None:
    names = [k for k, a in SINGULAR.items() if len(a) == 3]
    batch = np.array([SINGULAR[k] for k in names], float)
    found = engine.grad(lambda x: engine.sum(linalg.det(x)))(batch)
    for k, name in enumerate(names):
        exact = [[exact_derivative(SINGULAR[name], ((i, j),)) for j in range(3)] for i in range(3)]
        assert np.allclose(found[k], exact, rtol=0, atol=1e-12)


# Repeated eigenvalues and singular values -------------------------------------------------------------------


def rotated(values: list[float], seed: int) -> Any:
    q, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(len(values),) * 2))
    return q @ np.diag(values) @ q.T


REPEATED = [[1.0, 1.0], [1.0, 1.0, 2.0], [-1.0, 0.5, 0.5, 0.5], [0.0, 0.0, 3.0], [0.0, 0.0, 0.0]]


@pytest.mark.parametrize("values", REPEATED)
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("op", ["eigvalsh", "eigh"])
def test_functions_of_repeated_eigenvalues(values: list[float], turned: bool, op: str, seed: int) -> None:
    """d sum f(w) = tr(f'(A) dA): sum, sum of squares, sum of exp, in both modes."""
    a = rotated(values, seed) if turned else np.diag(values)

    def of(x: Any) -> Any:
        return linalg.eigvalsh(x) if op == "eigvalsh" else linalg.eigh(x)[0]

    for loss, expected in (
        (lambda x: engine.sum(of(x)), np.eye(len(a))),
        (lambda x: engine.sum(of(x) ** 2), a + a.T),
        (lambda x: engine.sum(engine.exp(of(x))), scipy.linalg.expm((a + a.T) / 2)),
    ):
        largest = max(1.0, np.abs(expected).max())
        assert np.allclose(engine.grad(loss)(a), expected, rtol=0, atol=1e-13 * largest)
        assert np.allclose(engine.jacobian(loss, mode="fwd")(a), expected, rtol=0, atol=1e-13 * largest)


@pytest.mark.parametrize("turned", [False, True])
def test_what_depends_on_the_vectors_of_a_repeated_eigenvalue_is_nan(turned: bool, seed: int) -> None:
    a = rotated([1.0, 1.0, 2.0], seed) if turned else np.diag([1.0, 1.0, 2.0])
    weights = np.arange(9.0).reshape(3, 3)
    assert np.isnan(engine.grad(lambda x: engine.sum(linalg.eigh(x)[1] * weights))(a)).any()
    assert np.isnan(engine.jvp(lambda x: linalg.eigh(x)[1], [a], [weights])[1]).any()
    # The vector of the simple one: dv = (2 - A)^+ dA v.
    v = np.linalg.eigh(a)[1][:, 2]
    response = np.linalg.pinv(2 * np.eye(3) - (a + a.T) / 2, rcond=1e-8)
    expected = np.outer(response @ weights[0], v)
    found = engine.grad(lambda x: engine.sum(linalg.eigh(x)[1][:, 2] * weights[0]))(a)
    assert np.allclose(found, (expected + expected.T) / 2, rtol=0, atol=1e-13)


def test_second_derivatives_at_a_repeated_eigenvalue_are_nan_or_right(seed: int) -> None:
    """Of sum(w^2) = |sym(A)|^2 the true ones are known."""
    for a in (np.eye(2), np.diag([1.0, 1.0, 2.0]), rotated([1.0, 1.0, 2.0], seed)):
        n = len(a)
        true = engine.hessian(lambda x: engine.sum((0.5 * (x + engine.permute_dims(x, (1, 0)))) ** 2))(a)
        for modes in itertools.product(("rev", "fwd"), repeat=2):
            found = engine.jacobian(
                engine.jacobian(lambda x: engine.sum(linalg.eigvalsh(x) ** 2), mode=modes[0]), mode=modes[1]
            )(a)
            assert found.shape == (n,) * 4
            assert np.isnan(found).any()
            right = np.abs(found - true) < 1e-12
            assert np.all(right | np.isnan(found)), modes


@pytest.mark.parametrize("kind", ["identity", "turned", "rank 1", "zero"])
def test_functions_of_repeated_singular_values(kind: str, seed: int) -> None:
    """d sum(s^2) = 2 A; and d sum(s) = U V^T where all are above 0."""
    a = {
        "identity": np.eye(3),
        "turned": 2 * np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))[0],
        "rank 1": np.outer([1.0, 2.0, 3.0], [2.0, -1.0]),
        "zero": np.zeros((2, 3)),
    }[kind]
    for full in (False, True):
        found = engine.grad(lambda x, full=full: engine.sum(linalg.svd(x, full_matrices=full)[1] ** 2))(a)
        assert np.allclose(found, 2 * a, rtol=0, atol=1e-13)
    assert np.allclose(
        engine.jacobian(lambda x: engine.sum(linalg.svdvals(x) ** 2), mode="fwd")(a),
        2 * a,
        rtol=0,
        atol=1e-13,
    )
    if kind in ("identity", "turned"):
        polar = scipy.linalg.polar(a)[0]
        assert np.allclose(engine.grad(lambda x: engine.sum(linalg.svdvals(x)))(a), polar, rtol=0, atol=1e-13)
        assert np.allclose(
            engine.grad(lambda x: linalg.matrix_norm(x, ord="nuc"))(a), polar, rtol=0, atol=1e-13
        )
    weights = np.arange(1.0, 1 + a.shape[0] * min(a.shape)).reshape(a.shape[0], -1)
    found = engine.grad(lambda x: engine.sum(linalg.svd(x)[0] * weights))(a)
    assert np.isnan(found).any()
    assert not np.any(np.abs(found) > 1e6)


# Bases of a complement --------------------------------------------------------------------------------------


def test_only_a_single_further_column_has_a_derivative(seed: int) -> None:
    """Of two, the projection on their span has one, but its rounding shows, so NaN is what may come; R and Q1
    keep theirs.
    """
    a = np.random.default_rng(seed).normal(size=(4, 2))
    part = {
        "qr": lambda x: linalg.qr(x, mode="complete")[0],
        "svd": lambda x: linalg.svd(x, full_matrices=True)[0],
    }
    reduced = {"qr": lambda x: linalg.qr(x)[0], "svd": lambda x: linalg.svd(x)[0]}
    weights = np.arange(1.0, 17.0).reshape(4, 4)
    for name, f in part.items():
        assert np.isnan(engine.grad(lambda x, f=f: engine.sum(f(x) * weights))(a)).all()
        tangent = engine.jvp(f, [a], [np.ones((4, 2))])[1]
        assert np.isnan(tangent[:, 2:]).all()
        assert np.allclose(
            tangent[:, :2], engine.jvp(reduced[name], [a], [np.ones((4, 2))])[1], rtol=0, atol=1e-13
        )
        assert np.array_equal(engine.jvp(f, [a], [np.zeros((4, 2))])[1], np.zeros((4, 4)))
        first = engine.grad(lambda x, f=f: engine.sum(f(x)[:, :2] * weights[:, :2]))(a)
        assert np.allclose(
            first,
            engine.grad(lambda x, g=reduced[name]: engine.sum(g(x) * weights[:, :2]))(a),
            rtol=0,
            atol=1e-12,
        )


# Norms ------------------------------------------------------------------------------------------------------


def test_norms_at_zero_and_at_ties() -> None:
    def slope(f: Callable[..., Any], x: Any, **options: Any) -> Any:
        x = np.array(x, float)
        back = engine.grad(lambda y: f(y, **options))(x)
        assert np.array_equal(engine.jacobian(lambda y: f(y, **options), mode="fwd")(x), back)
        return back.tolist()

    assert slope(linalg.matrix_norm, [[0, 0], [0, 0]]) == [[0, 0], [0, 0]]
    for order in (2, 3, 4):
        assert slope(linalg.vector_norm, [0, 0, 0], ord=order) == [0, 0, 0]
    assert slope(linalg.vector_norm, [3, 0, -4]) == [0.6, 0, -0.8]
    assert slope(linalg.vector_norm, [3, 0, -4], ord=1) == [1, 0, -1]
    assert slope(linalg.vector_norm, [3, 0, -4], ord=0) == [0, 0, 0]
    assert slope(linalg.vector_norm, [3, 4, -4], ord="inf") == [0, 0.5, -0.5]
    assert slope(linalg.vector_norm, [3, -3, 4], ord="-inf") == [0.5, -0.5, 0]
    assert slope(linalg.matrix_norm, [[1, 2], [3, -2]], ord=1) == [[0.5, 0.5], [0.5, -0.5]]
    assert slope(linalg.matrix_norm, [[1, 2], [2, -1]], ord="inf") == [[0.5, 0.5], [0.5, -0.5]]


def test_a_sign_and_a_permutation_are_constant(seed: int) -> None:
    a = np.random.default_rng(seed).normal(size=(2, 3, 3))
    for f in (lambda x: linalg.slogdet(x)[0], lambda x: linalg.lu(x)[0], lambda x: linalg.matrix_power(x, 0)):
        assert not np.any(engine.grad(lambda x, f=f: engine.sum(f(x)))(a))
        assert not np.any(engine.jvp(f, [a], [np.ones_like(a)])[1])
