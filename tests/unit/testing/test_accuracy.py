"""Functions that are exact to a tolerance: what `accuracy` allows, and what is found all the same.

The gradients are those of closed forms: of y = cos(a y) / 2 it is dy/da = -y sin(a y) / (2 + a sin(a y)).
"""

from __future__ import annotations

import functools
import math
import warnings
from typing import Any

import numpy as np
import pytest

from gradfuzz.errors import UsageError
from gradfuzz.fuzzer.measuring.accuracy import tightened
from gradfuzz.fuzzer.results.finding import Verdict
from gradfuzz.testing import GradientMismatch, InconclusiveWarning, check_gradient, measure_gradient
from gradfuzz.testing.mismatch import told

A = np.array([0.5, 0.75, 0.25])


def steps(a: Any, tol: float) -> Any:
    """y = cos(a y) / 2, in steps until they are small enough, or a hundred."""
    y = np.ones_like(a)
    for _ in range(100):
        y, before = np.cos(a * y) / 2.0, y
        if float(np.max(np.abs(y - before))) <= tol:
            break
    return y


def solved(a: Any, tol: float = 1e-6) -> Any:
    return np.sum(steps(a, tol))


def slopes(a: Any, y: Any) -> Any:
    return -y * np.sin(a * y) / (2.0 + a * np.sin(a * y))


def gradient(factor: Any = 1.0, *, dropped: float = 0.0) -> Any:
    """The gradient at the approximate solution, with a mistake."""

    def found(a: Any) -> Any:
        g = slopes(a, steps(a, 1e-6))
        return factor * g - dropped * np.max(np.abs(g)) * np.arange(a.size)

    return found


@pytest.mark.parametrize("accuracy", [3e-5, "tol"])
def test_a_right_approximation_passes_and_a_wrong_one_does_not(accuracy: Any) -> None:
    check_gradient(solved, A, grad=gradient(), accuracy=accuracy, strict=True)
    for wrong in (gradient(2.0), gradient(-1.0), gradient(0.0), gradient(math.nan), gradient(dropped=1e-3)):
        with pytest.raises(GradientMismatch):
            check_gradient(solved, A, grad=wrong, accuracy=accuracy)


def test_without_an_accuracy_it_is_suggested_and_nothing_is_excused() -> None:
    measured = measure_gradient(solved, A, grad=gradient(1.0 + 1e-6))
    assert not measured.right
    assert "accuracy=1e-4" in told(measured)
    assert "the name of its argument that is the tolerance" in told(measured)
    with pytest.raises(GradientMismatch) as plain:
        check_gradient(solved, A, grad=gradient(2.0))
    assert "accuracy" not in str(plain.value), "a factor of two is no approximation"
    with pytest.raises(GradientMismatch) as short:
        check_gradient(np.sin, 0.5, grad=lambda x: 1.00001 * np.cos(x))
    assert "accuracy" not in str(short.value), "nothing iterates"


def test_an_error_just_beyond_the_accuracy_is_neither_right_nor_wrong() -> None:
    measured = measure_gradient(solved, A, grad=gradient(1.0 + 3e-5), accuracy=1e-5)
    assert measured.verdict is Verdict.INCONCLUSIVE
    assert 1.0 < (measured.error_over_allowed or 0.0) < 10.0


def test_the_accuracy_is_a_share_of_the_largest_entry() -> None:
    """A small entry may be off by as much, and one that is too small to tell is named."""

    def f(a: Any, tol: float = 1e-6) -> Any:
        return np.sum(steps(a, tol) * [1.0, 1e-3, 3e-5])

    def found(*factors: float) -> Any:
        grad = lambda a: slopes(a, steps(a, 1e-6)) * [1.0, 1e-3, 3e-5] * factors  # noqa: E731
        return measure_gradient(f, A, grad=grad, accuracy=3e-5)

    right = found(1.0, 1.0, 2.0)
    assert right.in_part
    assert [bool(b) for b in right.unjudged["a"]] == [False, False, True]
    assert found(1.0, 1.003, 1.0).right
    assert found(1.0, 2.0, 1.0).wrong


def test_a_zero_is_granted_nothing() -> None:
    def f(a: Any, tol: float = 1e-6) -> Any:
        return np.sum(steps(a[:2], tol))

    def found(last: float) -> Any:
        grad = lambda a: np.array([*slopes(a[:2], steps(a[:2], 1e-6)), last])  # noqa: E731
        return measure_gradient(f, A, grad=grad, accuracy=1e-4)

    assert found(0.0).right
    assert found(1e-7).wrong, "below the accuracy, and yet something else than 0"


def test_many_entries_are_judged_along_directions() -> None:
    a = np.linspace(0.25, 0.75, 12)
    check_gradient(solved, a, grad=gradient(), accuracy=3e-5, strict=True)
    one = np.ones(12)
    one[7] = 1.01
    for wrong in (gradient(2.0), gradient(one)):
        with pytest.raises(GradientMismatch):
            check_gradient(solved, a, grad=wrong, accuracy=3e-5)


def test_float32_is_added_to_the_accuracy() -> None:
    a = A.astype(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error", InconclusiveWarning)
        check_gradient(solved, a, grad=gradient(), accuracy=1e-4)
    with pytest.raises(GradientMismatch):
        check_gradient(solved, a, grad=gradient(2.0), accuracy=1e-4)


def solver_of_jax(factor: float, inner: float = 1.0) -> Any:
    """The same in a loop of JAX with a derivative by the equation, times a factor, and with another one in
    the second derivative.
    """
    jax = pytest.importorskip("jax")
    jnp = jax.numpy

    @jax.custom_jvp
    def slope(a: Any, y: Any) -> Any:
        return -y * jnp.sin(a * y) / (2.0 + a * jnp.sin(a * y))

    @slope.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        plain = lambda a, y: -y * jnp.sin(a * y) / (2.0 + a * jnp.sin(a * y))  # noqa: E731
        value, tangent = jax.jvp(plain, primals, tangents)
        return value, inner * tangent

    @jax.custom_jvp
    def root(a: Any, tol: Any) -> Any:
        def step(state: Any) -> Any:
            y, _ = state
            new = jnp.cos(a * y) / 2.0
            return new, jnp.max(jnp.abs(new - y))

        return jax.lax.while_loop(lambda s: s[1] > tol, step, (jnp.ones_like(a), jnp.ones_like(a[0])))[0]

    @root.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        y = root(*primals)
        return y, factor * slope(primals[0], y) * tangents[0]

    return lambda a, tol=1e-6: root(a, tol)


@pytest.mark.parametrize("accuracy", [1e-3, "tol"])
def test_a_traced_solver_and_its_second_derivative(accuracy: Any) -> None:
    given: dict[str, Any] = {"framework": "jax", "accuracy": accuracy}
    a = A[:2]
    assert measure_gradient(solver_of_jax(1.0), a, order=2, modes="fwd", **given).verdict is Verdict.AGREE
    assert measure_gradient(solver_of_jax(2.0), a, **given).wrong
    assert measure_gradient(solver_of_jax(1.02), a, modes="rev", **given).wrong
    assert measure_gradient(solver_of_jax(1.0, 2.0), a, order=2, modes="fwd", **given).wrong
    assert measure_gradient(solver_of_jax(1.0), a, modes="rev", framework="jax").wrong


def test_where_a_loop_has_nothing_left_to_do_a_mistake_is_found() -> None:
    """The last step is 0, where |x| has no slope. What a kink of the function itself excuses stays so."""
    jax = pytest.importorskip("jax")
    jnp = jax.numpy

    def solver(factor: float, dropped: float = 0.0, beside: float = 0.0) -> Any:
        @jax.custom_jvp
        def doubled(a: Any, tol: Any) -> Any:
            step = lambda s: (2.0 * a, jnp.max(jnp.abs(2.0 * a - s[0])))  # noqa: E731
            return jax.lax.while_loop(lambda s: s[1] > tol, step, (jnp.ones_like(a), jnp.ones_like(a[0])))[0]

        @doubled.defjvp
        def _(primals: Any, tangents: Any) -> Any:
            da = tangents[0]
            return doubled(*primals), 2.0 * factor * da - dropped * da[0]

        smooth = lambda x: jax.nn.relu(x) - jax.nn.relu(-x)  # noqa: E731
        return lambda a, tol=1e-6: doubled(a, tol) + beside * smooth(a - 0.75)

    def said(*mistake: float) -> Any:
        return measure_gradient(solver(*mistake), A, modes="rev", framework="jax", accuracy="tol")

    assert said(1.0).right
    assert said(1.0, 1e-3).wrong
    assert said(1.0, 0.0, 1.0).verdict is Verdict.INCONCLUSIVE, "JAX has 0 for the slope of relu at 0"


def test_a_bisection_is_right_by_its_differences_and_a_mistake_is_found() -> None:
    """The ends move by steps alone, so that its program has the slope 0."""
    jax = pytest.importorskip("jax")
    jnp = jax.numpy

    def said(factor: float) -> Any:
        @jax.custom_jvp
        def root(a: Any) -> Any:
            def halved(ends: Any) -> Any:
                low, high = ends
                middle = (low + high) / 2.0
                above = middle**3 > a
                return jnp.where(above, low, middle), jnp.where(above, middle, high)

            start = jnp.zeros_like(a), jnp.full_like(a, 3.0)
            return jax.lax.while_loop(lambda ends: ends[1] - ends[0] > 1e-13, halved, start)[0]

        root.defjvp(lambda a, da: (root(*a), factor * da[0] / (3.0 * root(*a) ** 2)))
        return measure_gradient(root, 2.0, modes="rev", framework="jax")

    assert said(1.0).right
    assert said(1.001).wrong


@pytest.mark.parametrize("x", [0.5, np.linspace(0.25, 0.75, 12)], ids=["one", "many"])
def test_an_accuracy_is_to_be_had_where_a_number_inside_leaves_the_range(x: Any) -> None:
    jax = pytest.importorskip("jax")
    jnp = jax.numpy

    def said(factor: float) -> Any:
        @jax.custom_jvp
        def f(x: Any) -> Any:
            return jnp.sin(x) + 1.0 / jnp.exp(800.0 + x)

        f.defjvp(lambda x, dx: (f(*x), factor * jnp.cos(x[0]) * dx[0]))
        return measure_gradient(f, x, modes="rev", framework="jax", accuracy=1e-6)

    assert said(1.0).right
    assert said(1.001).wrong
    assert not said(math.nan).right


def test_the_largest_number_that_starts_a_loop_excuses_nothing() -> None:
    """Divided by a tolerance it is infinite, and tells the loop alone that a first step is to be made."""
    jax = pytest.importorskip("jax")
    jnp = jax.numpy

    def said(factor: float) -> Any:
        def step(s: Any, a: Any) -> Any:
            y, _ = s
            change = (y + a * jnp.tanh(y) - 1.0) / (1.0 + a / jnp.cosh(y) ** 2)
            return y - change, jnp.abs(change)

        @jax.custom_vjp
        def root(a: Any) -> Any:
            start = jnp.zeros_like(a), jnp.full_like(a, jnp.finfo(a.dtype).max)
            far = lambda s: jnp.max(s[1] / (1e-13 + 1e-13 * jnp.abs(s[0]))) > 1.0  # noqa: E731
            return jax.lax.while_loop(far, lambda s: step(s, a), start)[0]

        def pulled(kept: Any, g: Any) -> Any:
            a, t = kept
            return (-factor * g * t / (1.0 + a * (1.0 - t * t)),)

        root.defvjp(lambda a: (root(a), (a, jnp.tanh(root(a)))), pulled)
        return measure_gradient(root, A, modes="rev", framework="jax")

    assert said(1.0).right
    assert said(1.01).wrong
    assert said(2.0).wrong


@pytest.mark.parametrize("accuracy", [0.0, -1e-6, 1.0, 2, math.nan, math.inf, True, None.__class__, []])
def test_what_is_no_share_is_an_error(accuracy: Any) -> None:
    with pytest.raises(UsageError, match="it is a share of the derivative, above 0 and below 1"):
        check_gradient(solved, A, grad=gradient(), accuracy=accuracy)


def test_a_name_that_is_no_tolerance_is_an_error() -> None:
    def check(f: Any, name: Any) -> None:
        check_gradient(f, A, grad=gradient(), accuracy=name)

    with pytest.raises(UsageError, match=r"accuracy='rtol' names no argument of the function; .* tol"):
        check(solved, "rtol")
    with pytest.raises(UsageError, match="accuracy='a' names an argument that is differentiated"):
        check(solved, "a")
    with pytest.raises(UsageError, match=r"tol is 2\.0, and a tolerance is above 0 and below 1"):
        check(functools.partial(solved, tol=2.0), "tol")
    with pytest.raises(UsageError, match="tol is None"):
        check(functools.partial(solved, tol=None), ["tol"])
    with pytest.raises(UsageError, match="two truths"):
        check_gradient(solved, A, grad=gradient(), accuracy="tol", reference=solved)


def test_a_tolerance_is_tightened_within_the_dtype() -> None:
    def f(x: float, *, rtol: float = 1e-6, atol: float = 1e-12) -> Any:
        return rtol, atol

    tight, largest = tightened(f, 1, ["rtol", "atol"], "float64")
    assert largest == 1e-6
    assert tight(1.0) == (1e-9, pytest.approx(64 * 2.0**-53))
    tight, _ = tightened(f, 1, ["rtol"], "float32")
    assert tight(1.0) == (1e-6, 1e-12), "a loop in float32 might never end"
