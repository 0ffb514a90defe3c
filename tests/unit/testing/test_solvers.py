"""Adaptive and iterative solvers of packages: a right gradient passes with its accuracy measured; a factor of
two and a dropped term of a thousandth are found.

A plant is a matrix by which the gradient is multiplied.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradfuzz.testing import measure_gradient

A = np.array([0.7, 1.3, 0.4])
B = np.array([1.0, -0.5, 0.3])
S = np.array([[3.0, 0.4, -0.2], [0.4, 2.5, 0.7], [-0.2, 0.7, 2.0]])
"""A symmetric positive definite matrix."""

DROPPED = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-1e-3, 0.0, 1.0]])
"""The last entry lacks a thousandth of the first one."""


def through(framework: str, matrix: np.ndarray | None) -> Callable[[Any], Any]:
    """The identity, its gradient times a matrix."""
    if matrix is None:
        return lambda x: x
    if framework == "jax":
        jax = pytest.importorskip("jax")
        planted = jax.custom_vjp(lambda x: x)
        planted.defvjp(lambda x: (x, None), lambda _, g: (matrix @ g,))
        return planted  # type: ignore[no-any-return]
    torch = pytest.importorskip("torch")

    class Planted(torch.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            return torch.as_tensor(matrix) @ gradients[0]

    return Planted.apply  # type: ignore[no-any-return]


def fixed_point(at: Callable[[Any], Any]) -> Any:
    jaxopt, jnp = pytest.importorskip("jaxopt"), pytest.importorskip("jax.numpy")

    def f(a: Any, tol: float = 1e-6) -> Any:
        solver = jaxopt.FixedPointIteration(lambda y, a: 0.3 * jnp.cos(y * a), maxiter=100, tol=tol)
        return solver.run(jnp.zeros(3), at(a)).params

    return f


def dopri5(at: Callable[[Any], Any], by: str = "odeint") -> Any:
    ode, torch = pytest.importorskip("torchdiffeq"), pytest.importorskip("torch")

    def f(a: Any, rtol: float = 1e-6) -> Any:
        a = at(a)
        more = {"adjoint_params": (a,)} if by == "odeint_adjoint" else {}
        given = torch.tensor(B), torch.tensor([0.0, 1.0], dtype=a.dtype)
        solve = getattr(ode, by)
        return solve(lambda t, y: torch.sin(a * y) - t, *given, rtol=rtol, atol=rtol, **more)[1]

    return f


def linear(at: Callable[[Any], Any], by: str = "CG") -> Any:
    lx, jnp = pytest.importorskip("lineax"), pytest.importorskip("jax.numpy")
    tags = lx.positive_semidefinite_tag if by == "CG" else ()

    def f(a: Any, rtol: float = 1e-6) -> Any:
        operator = lx.MatrixLinearOperator(jnp.asarray(S) + jnp.diag(at(a)), tags)
        return lx.linear_solve(operator, jnp.asarray(B), getattr(lx, by)(rtol=rtol, atol=rtol)).value

    return f


def newton(at: Callable[[Any], Any]) -> Any:
    optx, jnp = pytest.importorskip("optimistix"), pytest.importorskip("jax.numpy")
    equation = lambda y, a: y + a * jnp.tanh(y) - 1.0  # noqa: E731 - one, so that it is compiled once

    def f(a: Any, rtol: float = 1e-6) -> Any:
        return optx.root_find(equation, optx.Newton(rtol=rtol, atol=rtol), jnp.zeros(3), at(a)).value

    return f


def bfgs(at: Callable[[Any], Any]) -> Any:
    optx, jnp = pytest.importorskip("optimistix"), pytest.importorskip("jax.numpy")
    cosh = lambda y, a: jnp.sum(jnp.cosh(y - a))  # noqa: E731 - one, so that it is compiled once

    def f(a: Any, rtol: float = 1e-6) -> Any:
        return optx.minimise(cosh, optx.BFGS(rtol=rtol, atol=rtol), jnp.zeros(3), at(a)).value

    return f


def iterated(at: Callable[[Any], Any]) -> Any:
    optx, jnp = pytest.importorskip("optimistix"), pytest.importorskip("jax.numpy")
    step = lambda y, a: 0.3 * jnp.cos(y * a)  # noqa: E731 - one, so that it is compiled once

    def f(a: Any, rtol: float = 1e-6) -> Any:
        solver = optx.FixedPointIteration(rtol=rtol, atol=rtol)
        return optx.fixed_point(step, solver, jnp.zeros(3), at(a)).value

    return f


def implicit_euler(at: Callable[[Any], Any]) -> Any:
    dfx, optx = pytest.importorskip("diffrax"), pytest.importorskip("optimistix")
    jnp = pytest.importorskip("jax.numpy")
    term = dfx.ODETerm(lambda t, y, a: jnp.sin(a * y) - t)

    def f(a: Any, rtol: float = 1e-6) -> Any:
        solver = dfx.ImplicitEuler(root_finder=optx.Newton(rtol=rtol, atol=rtol))
        return dfx.diffeqsolve(term, solver, 0.0, 0.4, 0.1, jnp.asarray(B), args=at(a)).ys[0]

    return f


def tsit5(at: Callable[[Any], Any]) -> Any:
    dfx, jnp = pytest.importorskip("diffrax"), pytest.importorskip("jax.numpy")
    term = dfx.ODETerm(lambda t, y, a: jnp.sin(a * y) - t)

    def f(a: Any, rtol: float = 1e-6) -> Any:
        given = {"args": at(a), "stepsize_controller": dfx.PIDController(rtol=rtol, atol=rtol)}
        return dfx.diffeqsolve(term, dfx.Tsit5(), 0.0, 1.0, None, jnp.asarray(B), **given).ys[0]

    return f


def sinkhorn(at: Callable[[Any], Any]) -> Any:
    clouds = pytest.importorskip("ott.geometry.pointcloud")
    problems = pytest.importorskip("ott.problems.linear.linear_problem")
    solvers, jnp = pytest.importorskip("ott.solvers.linear.sinkhorn"), pytest.importorskip("jax.numpy")

    def f(a: Any, threshold: float = 1e-6) -> Any:
        cloud = clouds.PointCloud(at(a)[:, None], jnp.asarray(B)[:, None], epsilon=0.5)
        return solvers.Sinkhorn(threshold=threshold)(problems.LinearProblem(cloud)).reg_ot_cost

    return f


SOLVERS: dict[str, tuple[str, str, Callable[[Callable[[Any], Any]], Any]]] = {
    "jaxopt, FixedPointIteration": ("jax", "tol", fixed_point),
    "torchdiffeq, dopri5": ("torch", "rtol", dopri5),
    "torchdiffeq, adjoint": ("torch", "rtol", lambda at: dopri5(at, "odeint_adjoint")),
    "lineax, CG": ("jax", "rtol", linear),
    "lineax, GMRES": ("jax", "rtol", lambda at: linear(at, "GMRES")),
    "optimistix, Newton": ("jax", "rtol", newton),
    "optimistix, BFGS": ("jax", "rtol", bfgs),
    "optimistix, FixedPointIteration": ("jax", "rtol", iterated),
    "diffrax, Tsit5": ("jax", "rtol", tsit5),
    "diffrax, ImplicitEuler": ("jax", "rtol", implicit_euler),
    "ott, Sinkhorn": ("jax", "threshold", sinkhorn),
}
"""The framework, the argument that is the tolerance, and the function."""


@pytest.mark.slow
@pytest.mark.parametrize("name", SOLVERS)
def test_a_right_solver_passes_and_a_wrong_one_does_not(name: str) -> None:
    framework, accuracy, make = SOLVERS[name]

    def said(matrix: np.ndarray | None) -> Any:
        f = make(through(framework, matrix))
        return measure_gradient(f, A, modes="rev", framework=framework, accuracy=accuracy)

    assert said(None).right
    assert said(2.0 * np.eye(3)).wrong
    assert said(DROPPED).wrong
