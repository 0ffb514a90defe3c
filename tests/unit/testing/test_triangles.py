"""A function that reads one triangle of a matrix. Where its gradient stands is a convention. Its derivative
along symmetric changes of a symmetric matrix is none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradfuzz.fuzzer.results.finding import Verdict
from gradfuzz.testing import measure_gradient

torch = pytest.importorskip("torch")

REAL = [[3.0, 0.5], [0.5, 2.0]]
HERMITIAN = [[3.0, 0.5 + 0.25j], [0.5 - 0.25j, 2.0]]
APART = [[3.0, 0.75], [0.5, 2.0]]

LOWER, UPPER = ([[1.0, 0.0], [2.0, 1.0]], [[1.0, 2.0], [0.0, 1.0]])
"""Of a symmetric gradient these leave the whole of it in one triangle."""

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "eigvalsh": torch.linalg.eigvalsh,
    "values of eigh": lambda x: torch.linalg.eigh(x)[0],
    "vectors of eigh": lambda x: torch.linalg.eigh(x)[1] ** 2,
    "cholesky": torch.linalg.cholesky,
}


def times(f: Callable[[Any], Any], factor: Any) -> Any:
    """The function, with its gradient times a factor."""

    class Times(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return f(x)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return torch.as_tensor(factor, dtype=g.real.dtype) * torch.func.vjp(f, x)[1](g)[0]

    return Times.apply


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("factor", [2.0, -1.0, 0.0, [[1.0, 2.0], [2.0, 1.0]]])
def test_a_wrong_factor_is_none_that_a_triangle_explains(name: str, factor: Any) -> None:
    x = torch.tensor(REAL, dtype=torch.float64)
    found = measure_gradient(times(FUNCTIONS[name], factor), x)
    assert found.verdict is Verdict.DISAGREE
    assert "whichever triangle" in found.reason


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("place", [1.0, LOWER, UPPER])
def test_where_a_gradient_stands_is_a_convention(name: str, place: Any) -> None:
    """In both halves, or in either triangle: one of them is the triangle that is read."""
    x = torch.tensor(REAL, dtype=torch.float64)
    found = measure_gradient(times(FUNCTIONS[name], place), x)
    assert found.verdict in (Verdict.AGREE, Verdict.CONVENTION)
    assert found.verdict is not Verdict.CONVENTION or "(x + x^H) / 2 is right" in found.reason


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_antisymmetric_part_is_no_convention(name: str) -> None:
    """It adds nothing along symmetric changes, and stands in no triangle."""

    class Skewed(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return FUNCTIONS[name](x)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            skew = torch.tensor([[0.0, 0.125], [-0.125, 0.0]], dtype=x.dtype)
            return torch.func.vjp(FUNCTIONS[name], x)[1](g)[0] + skew

    found = measure_gradient(Skewed.apply, torch.tensor(REAL, dtype=torch.float64))
    assert found.verdict in (Verdict.DISAGREE, Verdict.INCONCLUSIVE)


@pytest.mark.parametrize("name", ["eigvalsh", "cholesky"])
def test_of_a_complex_matrix_it_is_the_adjoint(name: str) -> None:
    x = torch.tensor(HERMITIAN, dtype=torch.complex128)
    assert measure_gradient(times(FUNCTIONS[name], 2.0), x).wrong
    assert not measure_gradient(FUNCTIONS[name], x).wrong


def test_the_gradient_of_an_eigenvalue() -> None:
    """That of the larger eigenvalue of [[2, b], [b, -1]] is v v^T."""
    x = torch.tensor([[2.0, 0.5], [0.5, -1.0]], dtype=torch.float64)
    found = measure_gradient(times(lambda x: torch.linalg.eigvalsh(x)[1], 2.0), x)
    v = np.array([0.5, (10.0**0.5 - 3.0) / 2.0])
    right = np.outer(v, v) / (v @ v)
    np.testing.assert_allclose(found.expected["x"], right, rtol=1e-12)
    np.testing.assert_allclose(found.got["x"], 2.0 * right, rtol=1e-12)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_matrix_that_is_not_symmetric_is_asked_about_as_the_one_of_the_triangle_that_is_read(
    name: str,
) -> None:
    """A wrong gradient is none that is known to be right; it is found at a symmetric matrix."""
    x = torch.tensor(APART, dtype=torch.float64)
    for place in (1.0, LOWER, UPPER):
        assert measure_gradient(times(FUNCTIONS[name], place), x).verdict in (
            Verdict.CONVENTION,
            Verdict.AGREE,
        )
    for factor in (2.0, 1.0 + 1e-9, [[1.0, 2.0], [2.0, 1.0]]):
        assert measure_gradient(times(FUNCTIONS[name], factor), x).verdict is Verdict.INCONCLUSIVE


def test_what_the_triangle_that_is_not_read_makes_impossible_is_no_fault() -> None:
    """The Cholesky factor of the upper triangle; the lower one is of no positive definite matrix."""

    def factor(x):
        return torch.linalg.cholesky(x, upper=True)

    x = torch.tensor([[1.0, 0.5], [3.0, 1.0]], dtype=torch.float64)
    found = [measure_gradient(times(factor, place), x).verdict for place in (1.0, UPPER, 2.0)]
    assert found == [Verdict.CONVENTION, Verdict.AGREE, Verdict.INCONCLUSIVE]


def test_a_gradient_that_depends_on_the_triangle_that_is_not_read_is_no_convention() -> None:
    class Values(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return torch.linalg.eigvalsh(x)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            off = 1.0 + (x[0, 1] - x[1, 0]) / 8.0
            return off * torch.func.vjp(torch.linalg.eigvalsh, x)[1](g)[0]

    found = [measure_gradient(Values.apply, torch.tensor(x, dtype=torch.float64)) for x in (REAL, APART)]
    assert [one.verdict for one in found] == [Verdict.CONVENTION, Verdict.INCONCLUSIVE]


def test_a_complex_matrix_that_is_not_hermitian() -> None:
    x = torch.tensor([[3.0, 0.5], [0.5 - 0.25j, 2.0 + 0.5j]], dtype=torch.complex128)
    assert measure_gradient(torch.linalg.eigvalsh, x).verdict is Verdict.CONVENTION
    assert measure_gradient(times(torch.linalg.eigvalsh, 2.0), x).verdict is Verdict.INCONCLUSIVE


def test_a_rule_of_jax_that_symmetrizes_nothing() -> None:
    jax = pytest.importorskip("jax")

    def plain(x: Any) -> Any:
        return jax.lax.linalg.cholesky(x, symmetrize_input=False)

    @jax.custom_vjp
    def twice(x: Any) -> Any:
        return plain(x)

    twice.defvjp(lambda x: (plain(x), x), lambda x, g: (2.0 * jax.vjp(plain, x)[1](g)[0],))
    with jax.enable_x64(True):
        x = jax.numpy.asarray(REAL)
        assert measure_gradient(twice, x).wrong
        assert not measure_gradient(plain, x).wrong


def test_eigenvectors_of_any_phase_are_not_called() -> None:
    """What JAX makes of the phase of a complex vector is no derivative."""
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        x = jax.numpy.asarray(HERMITIAN)
        found = measure_gradient(lambda x: jax.lax.linalg.eigh(x, symmetrize_input=False)[0], x)
    assert found.verdict is Verdict.INCONCLUSIVE
