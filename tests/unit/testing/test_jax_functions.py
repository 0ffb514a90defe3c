"""Derivatives of functions of JAX, next to closed forms: few entries one by one, many in a batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradfuzz.fuzzer.measuring.measure import Inquiry
from gradfuzz.fuzzer.measuring.subject import subject_of
from gradfuzz.fuzzer.results.finding import Verdict
from gradfuzz.libraries.library import Library, Wanted
from gradfuzz.oracles.base import Mode
from gradfuzz.testing import measure_gradient

FIRST_ORDER: list[tuple[Mode, ...]] = [("rev",), ("fwd",)]
SECOND_ORDER: list[tuple[Mode, ...]] = [("rev", "rev"), ("rev", "fwd"), ("fwd", "rev"), ("fwd", "fwd")]


@pytest.fixture
def functions() -> Library:
    pytest.importorskip("jax")
    from gradfuzz.libraries.jax import JaxLibrary

    return JaxLibrary()


def cubic(x: Any, y: Any) -> tuple[Any, ...]:
    """The first output is asked about, the second is not."""
    return x * x * x * y, x


class Case:
    """The weighted sum of x^3 y at arrays of `size` entries, and its derivatives."""

    def __init__(self, size: int) -> None:
        rng = np.random.default_rng(size)
        self.x, self.y, self.w, self.v, self.u = rng.uniform(0.5, 2.0, (5, size))
        self.first = [3 * self.w * self.x**2 * self.y, self.w * self.x**3]
        """By x and y."""
        self.second = [
            self.w * (6 * self.x * self.y * self.v + 3 * self.x**2 * self.u),
            3 * self.w * self.x**2 * self.v,
        ]
        """That of the slope along (v, u)."""

    def expected(self, modes: tuple[Mode, ...]) -> list[Any]:
        return self.first if len(modes) == 1 else self.second


@pytest.mark.parametrize("size", [1, 3, 6], ids=["one each", "one by one", "in a batch"])
@pytest.mark.parametrize("modes", [*FIRST_ORDER, *SECOND_ORDER], ids=" ".join)
def test_a_gradient(functions: Library, size: int, modes: tuple[Mode, ...]) -> None:
    case = Case(size)
    with functions.context("float64"):
        xs = [functions.array(case.x), functions.array(case.y)]
        wanted = Wanted([case.w, None], [case.v, case.u], modes)
        outputs, slopes = functions.derivative(cubic, xs, wanted)
        np.testing.assert_allclose(functions.numpy(outputs[0]), case.x**3 * case.y, rtol=1e-14)
        for slope, expected in zip(slopes, case.expected(modes), strict=True):
            np.testing.assert_allclose(functions.numpy(slope), expected, rtol=1e-14)


@pytest.mark.parametrize("modes", [modes for modes in (*FIRST_ORDER, *SECOND_ORDER) if modes[-1] == "fwd"])
def test_a_slope_along_a_probe(functions: Library, modes: tuple[Mode, ...]) -> None:
    case, probe = Case(6), np.random.default_rng(1).uniform(-1.0, 1.0, (2, 6))
    with functions.context("float64"):
        xs = [functions.array(case.x), functions.array(case.y)]
        found = functions.push(cubic, xs, Wanted([case.w, None], [case.v, case.u], modes), list(probe))
        assert found is not None
        expected = sum(np.sum(g * p) for g, p in zip(case.expected(modes), probe, strict=True))
        np.testing.assert_allclose(found[1], expected, rtol=1e-13)


def test_an_array_without_entries_has_an_empty_gradient(functions: Library) -> None:
    with functions.context("float64"):
        nothing = functions.array(np.zeros((0, 2)))
        wanted = Wanted([np.zeros((0, 2)), None], modes=("fwd",))
        outputs, slopes = functions.derivative(cubic, [nothing, nothing], wanted)
        assert [np.shape(functions.numpy(a)) for a in (*outputs, *slopes)] == [(0, 2)] * 4


def test_a_gradient_can_be_traced(functions: Library) -> None:
    """Proofs trace the library's own derivative."""
    jax = pytest.importorskip("jax")
    case = Case(1)
    with functions.context("float64"):
        wanted = Wanted([case.w, None], modes=("fwd",))
        traced = jax.jit(lambda *xs: functions.derivative(cubic, xs, wanted)[1])
        for slope, expected in zip(traced(case.x, case.y), case.first, strict=True):
            np.testing.assert_allclose(functions.numpy(slope), expected, rtol=1e-14)


class Counted:
    """A function that counts how often Python runs it."""

    def __init__(self, call: Any) -> None:
        self.call, self.runs = call, 0

    def __call__(self, x: Any) -> tuple[Any, ...]:
        self.runs += 1
        return (self.call(x),)


def test_gradients_at_many_points_are_compiled_once(functions: Library) -> None:
    slope = Counted(lambda x: 3.0 * x * x)
    repeated = functions.repeated(slope)
    for x in (1.0, 2.0, 3.0):
        (found,) = repeated(functions.operand(np.array(x)))
        assert float(found) == pytest.approx(3.0 * x * x)
    assert slope.runs == 1


def test_what_cannot_be_compiled_is_evaluated(functions: Library) -> None:
    repeated = functions.repeated(lambda x: (2.0 * x if x > 0 else -x,))
    assert [float(repeated(functions.operand(np.array(x)))[0]) for x in (1.0, -3.0)] == [2.0, 3.0]


def test_a_short_function_is_compiled_for_many_values_only(functions: Library) -> None:
    """A few values beside a gradient take the operations that the gradient compiles."""
    short = Counted(lambda x: x * x + x)
    prepared = functions.prepared(short)
    for call, is_run in ((prepared, True), (functions.repeated(prepared), False)):
        call(functions.operand(np.array(1.0)))
        short.runs = 0
        assert float(call(functions.operand(np.array(3.0)))[0]) == 12.0
        assert (short.runs == 1) == is_run


def test_a_compiled_function_is_not_compiled_again(functions: Library) -> None:
    jax = pytest.importorskip("jax")
    alone = Counted(jax.jit(lambda x: x * x + x))
    with_more = Counted(lambda x: jax.numpy.sin(alone(x)[0]))
    for call, is_run in ((alone, True), (with_more, False)):
        repeated = functions.repeated(functions.prepared(call))
        repeated(functions.operand(np.array(1.0)))
        call.runs = 0
        repeated(functions.operand(np.array(2.0)))
        assert (call.runs == 1) == is_run


def test_a_function_that_compiles_another_one_in_each_call_is_compiled_once(functions: Library) -> None:
    """As Equinox's `filter_jit` does with a closure, so that a root of optimistix was, for each value."""
    jax = pytest.importorskip("jax")
    anew = Counted(lambda x: jax.jit(lambda y: y * x + x)(x))
    repeated = functions.repeated(functions.prepared(anew))
    repeated(functions.operand(np.array(1.0)))
    anew.runs = 0
    assert float(repeated(functions.operand(np.array(3.0)))[0]) == 12.0
    assert anew.runs == 0


def test_a_subject_gives_gradients_at_many_points(functions: Library) -> None:
    case = Case(3)
    with functions.context("float64"):
        xs = [functions.array(case.x), functions.array(case.y)]
        subject = subject_of(lambda x, y: x * x * x * y, xs, None, None, "jax")
    gradients = subject.gradients([case.w], "float64")
    for factor in (1.0, 0.5):
        by_x, by_y = gradients([factor * case.x, case.y])
        np.testing.assert_allclose(by_x, case.first[0] * factor**2, rtol=1e-14)
        np.testing.assert_allclose(by_y, case.first[1] * factor**3, rtol=1e-14)


def test_a_selection_beside_nan_is_measured(functions: Library) -> None:
    """The program has no value where it has the constant NaN, though nobody selects it."""
    jnp = pytest.importorskip("jax.numpy")
    with functions.context("float64"):
        x = functions.array(np.linspace(0.5, 2.0, 9))
        found = measure_gradient(lambda x: jnp.where(x > 0.0, jnp.log(x), jnp.nan).sum(), x)
    assert found.verdict is Verdict.AGREE
    assert found.method in ("Richardson", "complex step")
    np.testing.assert_allclose(found.expected["x"], 1.0 / np.linspace(0.5, 2.0, 9), rtol=1e-9)


def test_forward_mode_is_asked_along_the_entries_of_reverse_mode(
    functions: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No whole gradient by forward mode, which has as many directions as entries, where one is known."""
    jnp = pytest.importorskip("jax.numpy")
    with functions.context("float64"):
        x = functions.array(np.linspace(0.5, 2.0, 12))
        subject = subject_of(lambda x: jnp.where(x > 0.0, jnp.log(x), jnp.nan).sum(), [x], None, None, "jax")
    inquiry = Inquiry(subject)
    whole: list[Any] = []
    derivative = type(functions).derivative
    monkeypatch.setattr(
        type(functions),
        "derivative",
        lambda self, *about: whole.append(about[-1].modes) or derivative(self, *about),
    )
    assert inquiry.ask(("rev",)).case.verdict is Verdict.AGREE
    assert inquiry.ask(("fwd",)).case.verdict is Verdict.AGREE
    assert ("rev",) in whole
    assert ("fwd",) not in whole
