"""An exception in the place of a derivative is told: a mode is lacking by a list alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradfuzz import GradientMismatch, check_gradient
from gradfuzz.fuzzer.results.finding import Class, Verdict
from gradfuzz.libraries.detect import library_named
from gradfuzz.testing import measure_gradient

X = np.array([0.5, -1.25])


def told(f: Any, *args: Any, **options: Any) -> str:
    """What a check says about a derivative that raises; it does with `strict` and without."""
    with pytest.raises(GradientMismatch):
        check_gradient(f, *args, strict=True, **options)
    with pytest.raises(GradientMismatch) as raised:
        check_gradient(f, *args, **options)
    measured = raised.value.measured
    assert (measured.verdict, measured.kind) == (Verdict.CRASHED, Class.ERROR)
    return measured.reason


# JAX --------------------------------------------------------------------------------------------------------


def of_branches(wrong: bool = False) -> Any:
    """A function with a rule that branches, under vmap: jax.grad raises NotImplementedError (jax#39219)."""
    jax = pytest.importorskip("jax")
    jnp = jax.numpy

    @jax.custom_jvp
    def sine(x):
        return jnp.sin(x)

    @sine.defjvp
    def rule(primals, tangents):
        (x,), (t,) = primals, tangents
        return jnp.sin(x), jax.lax.cond(
            x > 0, lambda t: jnp.cos(x) * t, lambda t: (1 - 2 * wrong) * jnp.cos(x) * t, t
        )

    return lambda x: jnp.sum(jax.vmap(sine)(x))


def test_an_exception_of_reverse_mode_fails() -> None:
    jax = pytest.importorskip("jax")
    f = of_branches()
    try:
        jax.grad(f)(jax.numpy.asarray(X))
    except NotImplementedError:
        assert "NotImplementedError" in told(f, X, framework="jax")
    else:  # a release of JAX that has mended it
        check_gradient(f, X, framework="jax")
    check_gradient(f, X, framework="jax", modes="fwd")
    with pytest.raises(GradientMismatch):
        check_gradient(of_branches(wrong=True), X, framework="jax", modes="fwd")


@pytest.mark.parametrize("mode", ["rev", "fwd"])
@pytest.mark.parametrize("error", [NotImplementedError, TypeError, IndexError])
def test_an_exception_of_a_rule_of_jax_fails(mode: str, error: type[Exception]) -> None:
    jax = pytest.importorskip("jax")

    @jax.custom_jvp
    def sine(x):
        return jax.numpy.sin(x)

    @sine.defjvp
    def rule(primals, tangents):
        raise error("this is not implemented")

    assert error.__name__ in told(sine, 0.5, framework="jax", modes=mode)


def test_forward_mode_of_a_custom_vjp_is_lacking() -> None:
    jax = pytest.importorskip("jax")

    @jax.custom_vjp
    def sine(x):
        return jax.numpy.sin(x)

    sine.defvjp(lambda x: (sine(x), x), lambda x, g: (g * jax.numpy.cos(x),))
    measured = measure_gradient(sine, 0.5, framework="jax")
    assert measured.verdict is Verdict.AGREE
    assert set(measured.left_out) == {("fwd",)}


@pytest.mark.parametrize("wrong", [False, True])
def test_reverse_mode_of_a_while_loop_is_lacking(wrong: bool) -> None:
    jax = pytest.importorskip("jax")

    @jax.custom_jvp
    def double(x):
        return 2.0 * x

    double.defjvps(lambda t, ans, x: (3.0 if wrong else 2.0) * t)

    def f(x):
        return jax.lax.while_loop(lambda y: y < 10.0, double, x)

    measured = measure_gradient(f, 0.75, framework="jax")
    assert set(measured.left_out) == {("rev",)}
    assert measured.verdict is (Verdict.DISAGREE if wrong else Verdict.AGREE)


@pytest.mark.parametrize("wrong", [False, True])
@pytest.mark.parametrize("power", [3, 3.0])
def test_arguments_that_a_custom_vjp_takes_unchanged(wrong: bool, power: float) -> None:
    jax = pytest.importorskip("jax")

    def powers(x, n):
        return x**n

    f = jax.custom_vjp(powers, nondiff_argnums=(1,))
    f.defvjp(lambda x, n: (x**n, x), lambda n, x, g: ((n + wrong) * x ** (n - 1) * g,))
    measured = measure_gradient(f, 1.5, power, framework="jax")
    assert measured.verdict is (Verdict.DISAGREE if wrong else Verdict.AGREE), measured.reason
    assert set(measured.got) == {"x"}
    assert float(measured.expected["x"]) == pytest.approx(3.0 * 1.5**2)


# Torch ------------------------------------------------------------------------------------------------------


def sine_of_torch(raises: Exception | None, factor: float = 1.0) -> Any:
    torch = pytest.importorskip("torch")

    def backward(ctx, g):
        if raises is not None:
            raise raises
        return factor * g * torch.cos(ctx.saved_tensors[0])

    class Sine(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return torch.sin(x)

    Sine.backward = staticmethod(backward)
    return Sine.apply


@pytest.mark.parametrize(
    "error", [NotImplementedError("no rule"), RuntimeError("it is not implemented"), IndexError("3")]
)
def test_an_exception_of_a_backward_of_torch_fails(error: Exception) -> None:
    torch = pytest.importorskip("torch")
    assert type(error).__name__ in told(sine_of_torch(error), torch.tensor(X))


def test_what_a_function_of_torch_lacks() -> None:
    torch = pytest.importorskip("torch")
    measured = measure_gradient(sine_of_torch(None), torch.tensor(X))
    assert measured.verdict is Verdict.AGREE
    assert set(measured.left_out) == {("fwd",)}
    assert measure_gradient(sine_of_torch(None, factor=1.001), torch.tensor(X)).wrong


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_identity_of_torch(order: int, dtype: str) -> None:
    torch = pytest.importorskip("torch")
    x = torch.tensor(X, dtype=getattr(torch, dtype))
    for f in (lambda x: x, lambda x: (x, x), lambda x: x.view(-1)):
        measured = measure_gradient(f, x, order=order)
        assert measured.verdict is Verdict.AGREE, measured.reason
        assert not measured.left_out


# autograd ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [TypeError, IndexError, NotImplementedError])
@pytest.mark.parametrize("x", [1.5, 0.0], ids=["smooth", "kink"])
def test_an_exception_of_a_rule_of_autograd_fails(error: type[Exception], x: float) -> None:
    anp = pytest.importorskip("autograd.numpy")
    extend = pytest.importorskip("autograd.extend")
    size = extend.primitive(lambda x: abs(x) if x > -9.0 else x)

    def rule(ans, x):
        raise error("of the rule")

    extend.defvjp(size, rule)
    assert "of the rule" in told(lambda x: anp.sum(size(x)), x, framework="autograd", modes="rev")


@pytest.mark.parametrize(
    "error", [NotImplementedError("JVP of sin wrt argnums (0,) not defined"), KeyError(0)]
)
def test_a_rule_of_autograd_that_says_that_there_is_none_is_one(error: Exception) -> None:
    """Its words are those of autograd about a rule that its table does not have, and this one it has."""
    extend = pytest.importorskip("autograd.extend")
    anp = pytest.importorskip("autograd.numpy")
    sine = extend.primitive(np.sin)

    def rule(*_: Any) -> Any:
        raise error

    extend.defvjp(sine, lambda ans, x: lambda g: g * anp.cos(x))
    extend.defjvp(sine, rule)
    assert type(error).__name__ in told(sine, 0.5, framework="autograd", modes="fwd")
    assert measure_gradient(sine, 0.5, framework="autograd", modes="rev").verdict is Verdict.AGREE


def test_a_rule_that_autograd_does_not_have() -> None:
    """In reverse mode it is told, in forward mode it is lacking."""
    extend = pytest.importorskip("autograd.extend")
    anp = pytest.importorskip("autograd.numpy")
    bare = extend.primitive(np.sin)
    assert "VJP of sin" in told(bare, 0.5, framework="autograd")
    extend.defvjp(bare, lambda ans, x: lambda g: g * anp.cos(x))
    measured = measure_gradient(bare, 0.5, framework="autograd")
    assert measured.verdict is Verdict.AGREE
    assert set(measured.left_out) == {("fwd",)}


def test_an_exception_of_a_second_derivative_is_none_of_the_function() -> None:
    anp = pytest.importorskip("autograd.numpy")
    extend = pytest.importorskip("autograd.extend")
    square = extend.primitive(lambda x: x * x if x > -9.0 else x)
    twice = extend.primitive(lambda x: 2.0 * x)

    def rule(ans, x):
        raise IndexError("of the second rule")

    extend.defvjp(square, lambda ans, x: lambda g: g * twice(x))
    extend.defvjp(twice, rule)
    reason = told(lambda x: anp.sum(square(x)), 1.5, framework="autograd", order=2, modes="rev")
    assert "of the second rule" in reason


# The list ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["jax", "torch", "autograd"])
def test_no_exception_is_a_refusal_by_its_type(name: Any) -> None:
    pytest.importorskip(name)
    framework = library_named(name)
    for error in (NotImplementedError("no"), TypeError("no"), RuntimeError("Differentiation does not work")):
        for modes in (("rev",), ("fwd",), ("rev", "rev"), ("fwd", "rev")):
            assert framework.refusal(error, modes) is None
    for row in framework.lacks:
        assert framework.refusal(RuntimeError(f"({row.words}) here"), ("rev",)) is None or row.rev
