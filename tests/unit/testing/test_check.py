"""check_gradient as people call it: what it takes, what it finds, what it says, and what it leaves alone."""

from __future__ import annotations

import math
import pickle
import re
import sys
from typing import Any

import numpy as np
import pytest

import gradfuzz
from gradfuzz.errors import MissingExtraError, UsageError
from gradfuzz.fuzzer.measuring.subject import subject_of
from gradfuzz.fuzzer.results.finding import Class, Verdict
from gradfuzz.oracles.base import Question, Truth
from gradfuzz.oracles.references.finite_differences import MpmathReference
from gradfuzz.testing import (
    GradientMismatch,
    InconclusiveError,
    InconclusiveWarning,
    check_gradient,
    check_program,
    measure_gradient,
)

X = np.array([0.5, -1.25, 2.0])


def product(x, y):
    return np.sum(x * y)


def both(x, y):
    return y, x


def swapped(x, y):
    return x, y


# Arguments --------------------------------------------------------------------------------------------------


def test_what_is_right_returns_none() -> None:
    assert check_gradient(product, X, X + 1.0, grad=both) is None
    assert gradfuzz.check_gradient is check_gradient


def test_wrt_chooses_and_names_the_argument() -> None:
    with pytest.raises(GradientMismatch, match=r"derivative of product by x\[\d\] is wrong"):
        check_gradient(product, X, X + 1.0, grad=swapped)
    check_gradient(product, X, X + 1.0, grad=lambda x, y: x, wrt="y")
    check_gradient(product, X, X + 1.0, grad=lambda x, y: x, wrt=1)
    with pytest.raises(UsageError, match="names no float argument of product; it has x, y"):
        check_gradient(product, X, X, grad=both, wrt="z")


def test_arguments_nest() -> None:
    def model(params, x):
        return np.sum(np.tanh(params["w"] @ x + params["b"]))

    def gradient(params, x):
        slope = 1.0 - np.tanh(params["w"] @ x + params["b"]) ** 2
        return {"w": np.outer(slope, x), "b": slope}

    params = {"w": np.array([[0.5, -1.0, 0.25], [1.5, 0.75, -0.5]]), "b": np.array([0.1, -0.2])}
    check_gradient(model, params, X, grad=gradient, wrt="params")
    with pytest.raises(GradientMismatch, match=r"by params\['b'\]\[\d\]"):
        check_gradient(model, params, X, grad=lambda p, x: {**gradient(p, x), "b": np.ones(2)}, wrt="params")


def test_several_outputs_take_a_cotangent() -> None:
    def f(x):
        return {"sum": np.sum(x), "squares": x * x}

    def vjp(x, g):
        return g["sum"] + 2.0 * x * g["squares"]

    check_gradient(f, X, grad=vjp)
    with pytest.raises(GradientMismatch, match="with a random cotangent"):
        check_gradient(f, X, grad=lambda x, g: 2.0 * x * g["squares"])


def test_complex_arguments_are_judged_by_their_parts() -> None:
    z = np.array([1.0 + 2.0j, -0.5 + 0.25j])

    def f(z):
        return np.sum(np.real(z * np.conj(z)) * np.real(z))

    def gradient(z):
        size = np.real(z * np.conj(z))
        return 2.0 * z * np.real(z) + size

    check_gradient(f, z, grad=gradient)
    with pytest.raises(GradientMismatch, match=r"by z\.imag\[\d\] is wrong \(sign_flip"):
        check_gradient(f, z, grad=lambda z: np.conj(gradient(z)))


def test_numbers_strings_and_whole_numbers() -> None:
    def f(x, n, kind):
        return x**n if kind == "power" else x * n

    check_gradient(f, 1.5, 3, "power", grad=lambda x, n, kind: n * x ** (n - 1))


@pytest.mark.parametrize("precision", ["float64", "float32", "float16"])
def test_the_dtype_of_the_arguments_is_the_precision(precision: str) -> None:
    x = X.astype(precision)
    measured = measure_gradient(lambda x: np.sum(x * x * x), x, grad=lambda x: 3 * x * x)
    assert measured.verdict is Verdict.AGREE, measured.reason
    assert measured.precision == precision
    assert measure_gradient(lambda x: np.sum(x * x * x), x, grad=lambda x: 6 * x * x).wrong


def test_a_question_that_makes_no_sense() -> None:
    with pytest.raises(UsageError, match="pass the gradient to be checked as grad="):
        check_gradient(product, X, X)
    with pytest.raises(UsageError, match="no float argument to differentiate"):
        check_gradient(lambda n: n * 1.0, 3, grad=lambda n: 0.0)
    with pytest.raises(UsageError, match="order=0"):
        check_gradient(product, X, X, grad=both, order=0)
    with pytest.raises(UsageError, match="modes='backward'"):
        check_gradient(product, X, X, grad=both, modes="backward")
    with pytest.raises(UsageError, match="framework='mxnet'"):
        check_gradient(product, X, X, grad=both, framework="mxnet")
    with pytest.raises(UsageError, match="tuple of 2 gradients, by x, y"):
        check_gradient(product, X, X, grad=lambda x, y: 3.0)
    with pytest.raises(UsageError, match="returns no float"):
        check_gradient(lambda x: 3, X, grad=lambda x: x)


@pytest.mark.parametrize("order", ["2", 2.5, None, True, 9])
def test_an_order_that_makes_no_sense_says_what_does(order: Any) -> None:
    with pytest.raises(UsageError, match=f"order={order!r}: .*(1 or more|up to 5)"):
        check_gradient(product, X, X, grad=both, order=order)


def test_a_mode_that_is_asked_for_by_name_must_be_there() -> None:
    with pytest.raises(UsageError, match="asked in the modes fwd, which it does not have"):
        check_gradient(product, X, X, grad=both, modes="fwd")
    with pytest.raises(UsageError, match="cannot be differentiated 2 times"):
        check_gradient(product, X, X, grad=both, order=2)
    measured = measure_gradient(product, X, X, grad=both)
    assert measured.asked == (("rev",),)
    assert list(measured.left_out) == [("fwd",)]


def test_many_entries_are_asked_along_directions() -> None:
    x = np.linspace(-1.0, 1.0, 300)

    def gradient(x, wrong=0.0):
        slopes = np.cos(x)
        slopes[137] += wrong
        return slopes

    check_gradient(lambda x: np.sum(np.sin(x)), x, grad=gradient)
    with pytest.raises(GradientMismatch, match=r"by x\[137\]") as caught:
        check_gradient(lambda x: np.sum(np.sin(x)), x, grad=lambda x: gradient(x, 1e-6))
    measured = caught.value.measured
    assert measured.worst == ("x", (137,))
    assert measured.worst_got - measured.worst_expected == pytest.approx(1e-6, rel=1e-6)


# Results ----------------------------------------------------------------------------------------------------


def test_a_result_that_is_no_array_is_named() -> None:
    class Unread:
        def __array__(self, *args: Any, **kwargs: Any) -> Any:
            raise ZeroDivisionError("nobody can read it")

    for result in (Unread(), "a text"):
        with pytest.raises(
            UsageError, match=f"f returns an object of type {type(result).__name__}, which is no"
        ):
            check_gradient(lambda x, r=result: (x, r), X, grad=lambda x, g: g[0], wrt="x")


@pytest.mark.parametrize("framework", ["jax", "torch", "autograd"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_numbers_among_the_results_are_constants(framework: Any, dtype: Any) -> None:
    pytest.importorskip(framework)
    measured = measure_gradient(lambda x: (x * x, 3.0, 2), X.astype(dtype), framework=framework, order=2)
    assert measured.verdict is Verdict.AGREE, measured.reason


def test_a_result_of_jax_that_is_wider_than_the_arguments() -> None:
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        x = jax.numpy.asarray(X, "float32")
        measured = measure_gradient(lambda x: (x * x, x.astype("float64") * 3.0), x, order=2)
    assert measured.verdict is Verdict.AGREE, measured.reason


def test_a_result_of_torch_that_is_wider_than_the_arguments() -> None:
    torch = pytest.importorskip("torch")
    x = torch.tensor([0.5, -1.25])
    measured = measure_gradient(lambda x: (x * x, torch.mean(x, dtype=torch.float64)), x, order=2)
    assert measured.verdict is Verdict.AGREE, measured.reason


def test_a_tangent_of_torch_that_is_wider_than_its_value() -> None:
    torch = pytest.importorskip("torch")

    class Wide(torch.autograd.Function):
        """x, whose tangent is not float32."""

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def jvp(ctx: Any, tangent: Any) -> Any:
            return tangent.double()

    with pytest.raises(GradientMismatch, match="x0 is float64, not float32"):
        check_gradient(Wide.apply, torch.tensor(0.5), modes=("fwd",))


def test_a_box_of_autograd_is_taken_apart() -> None:
    anp = pytest.importorskip("autograd.numpy")
    matrix = np.array([[2.0, 0.5, -0.25], [0.75, -1.0, 0.5], [0.25, 1.0, 0.5]])

    def nested(x):
        return {"pair": anp.linalg.slogdet(x), "eigen": anp.linalg.eigh((x + x.T) / 2.0)}

    measured = measure_gradient(nested, matrix)
    assert measured.verdict is Verdict.AGREE, measured.reason
    assert measured.asked == (("rev",),)  # autograd has no forward derivative of either


STATISTICS = {
    "native_layer_norm": lambda t, x, w: t.native_layer_norm(x, [3], w, w, 0.5),
    "native_batch_norm": lambda t, x, w: t.native_batch_norm(x, w, w, None, None, True, 0.1, 0.5),
    "_native_batch_norm_legit": lambda t, x, w: t._native_batch_norm_legit(x, w, w, True, 0.1, 0.5),
    "_batch_norm_with_update": lambda t, x, w: t.ops.aten._batch_norm_with_update(
        x, w, w, t.zeros(3, dtype=x.dtype), t.ones(3, dtype=x.dtype), 0.1, 0.5
    ),
}
"""Functions of Torch whose further results have no derivative by Torch's own word."""


@pytest.mark.parametrize("name", STATISTICS)
def test_results_that_torch_does_not_differentiate_are_not_asked_about(name: str) -> None:
    torch = pytest.importorskip("torch")
    f = STATISTICS[name]
    x = torch.tensor([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]], dtype=torch.float64)
    w = torch.tensor([1.0, 0.5, -2.0], dtype=torch.float64)
    measured = measure_gradient(lambda x, w: f(torch, x, w), x, w)
    assert measured.verdict is Verdict.AGREE, measured.reason
    # What is computed of them alone has none either; what depends on an argument as well has a wrong one.
    assert measure_gradient(lambda x, w: (x * w, 2.0 * f(torch, x, w)[1]), x, w).right
    assert measure_gradient(lambda x, w: x * f(torch, x, w)[1].sum(), x, w).wrong


def test_a_result_that_lost_its_gradient_is_not_right() -> None:
    torch = pytest.importorskip("torch")
    x = torch.tensor(X)
    assert not measure_gradient(lambda x: (x * x, x.detach() * 2.0), x).right
    assert not measure_gradient(lambda x: (x * x, torch.tensor(x.detach().numpy().sum())), x).right


def test_a_wrong_rule_of_several_results_is_seen() -> None:
    pytest.importorskip("autograd")
    import autograd.numpy as anp
    from autograd.extend import defvjp, primitive

    for factor in (2.0, 3.0):

        @primitive
        def powers(x):
            return x, x**2

        defvjp(powers, lambda ans, x, factor=factor: lambda g: g[0] + factor * x * g[1])
        measured = measure_gradient(lambda x, f=powers: f(anp.sin(x)), X, modes="rev")
        assert measured.wrong is (factor == 3.0), measured.reason


# What is not right ------------------------------------------------------------------------------------------


def test_what_the_function_raises_is_raised() -> None:
    def f(x):
        raise ZeroDivisionError("no such luck")

    with pytest.raises(ZeroDivisionError, match="no such luck"):
        check_gradient(f, X, grad=lambda x: x)
    measured = measure_gradient(f, X, grad=lambda x: x)
    assert (measured.verdict, measured.kind) == (Verdict.CRASHED, Class.ERROR)
    assert measured.reason == "ZeroDivisionError: no such luck"


def test_what_the_gradient_raises_is_a_mismatch() -> None:
    def gradient(x):
        raise ZeroDivisionError("no such luck")

    with pytest.raises(
        GradientMismatch, match="raises an error\n  ZeroDivisionError: no such luck"
    ) as raised:
        check_gradient(lambda x: np.sum(x), X, grad=gradient)
    assert isinstance(raised.value.__cause__, ZeroDivisionError)


def test_a_gradient_of_the_wrong_shape() -> None:
    with pytest.raises(GradientMismatch, match=r"wrong_shape.*\n.*has shape \(3, 3\), not \(3,\)"):
        check_gradient(lambda x: np.sum(x * x), X, grad=lambda x: 2.0 * np.outer(x, x))


def undecided(x: float) -> float:
    """A flight of small steps: its slope is 0, or 1 if it is meant as a rounded line."""
    return float(np.float16(x)) if x > 0 else 0.0


def test_where_nobody_can_tell_there_is_a_warning() -> None:
    with pytest.warns(
        InconclusiveWarning, match="derivative of undecided could not be judged right or wrong"
    ):
        check_gradient(undecided, 0.7, grad=lambda x: 0.0)
    with pytest.raises(InconclusiveError, match="could not be judged right or wrong"):
        check_gradient(undecided, 0.7, grad=lambda x: 0.0, strict=True)


def test_a_function_that_draws_its_values_is_refused_in_words() -> None:
    torch = pytest.importorskip("torch")
    x = torch.tensor([-0.5, -1.25, -2.0], dtype=torch.float64)
    words = "noisy returns other values each time it is called; seed it inside noisy"
    own = torch.Generator()

    def noisy(x: Any) -> Any:
        return x * torch.rand(3, generator=own)

    with pytest.warns(InconclusiveWarning, match=words):
        check_gradient(noisy, x, order=2)
    with pytest.raises(InconclusiveError, match=words):
        check_gradient(noisy, x, strict=True)
    assert measure_gradient(noisy, x).asked == ()
    # Values that are drawn count for nothing where the gradient is given.
    check_gradient(
        lambda x: x + torch.rand(3) - 0.5, x, reference=gradfuzz.reference(gradient=lambda x, g: g)
    )


def test_a_draw_is_seen_though_it_falls_on_one_side_at_first() -> None:
    subject = subject_of(lambda x: next(factors) * x, [X], None, lambda x: x, "numpy")
    factors = iter([2.0] * 7 + [0.0])
    assert not subject.is_steady()
    factors = iter([2.0] * 8)
    assert subject.is_steady()


def test_what_is_drawn_from_a_seed_inside_is_asked_without_vmap() -> None:
    """rrelu(x) is a x for x < 0 and the a that is drawn; the second derivative of its cube is 6 a^3 x."""
    torch = pytest.importorskip("torch")

    def f(x: Any) -> Any:
        torch.manual_seed(0)
        return torch.nn.functional.rrelu(x, training=True) ** 3

    x = torch.tensor(-1.25, dtype=torch.float64)
    measured = measure_gradient(f, x, order=2, modes="fwd")
    assert measured.asked == (("fwd",), ("fwd", "fwd"))
    assert measured.verdict is Verdict.AGREE, measured.reason
    cube = float(f(x)) / float(x) ** 3
    truth = 6.0 * cube * float(x) if measured.order == 2 else 3.0 * cube * float(x) ** 2
    assert float(measured.got["x"]) == pytest.approx(truth, rel=1e-12)


def test_a_mismatch_survives_a_pickle() -> None:
    with pytest.raises(GradientMismatch) as raised:
        check_gradient(product, X, X + 1.0, grad=swapped)
    again = pickle.loads(pickle.dumps(raised.value))
    assert str(again) == str(raised.value)
    assert again.measured.worst == raised.value.measured.worst
    assert np.array_equal(again.measured.expected["x"], X + 1.0)


MESSAGE = """\
the derivative of product by x[1] is wrong (sign_flip: the derivative has the wrong sign)
  expected  0.75 (exact)
  got       -1.25, -1.667 times as much
  allowed   E: what rounding to float64 may do here; the error is E times that
  asked     vjp, float64, numpy
  truth     the function, traced as a program, by arb and mpmath
  near by, at other x[1]:
    -0.9375   expected 0.5625   got -0.9375   wrong
    -1.5625   expected 0.9375   got -1.5625   wrong"""


def test_the_message() -> None:
    with pytest.raises(GradientMismatch) as raised:
        check_gradient(product, X, np.array([0.25, 0.75, 1.0]), grad=swapped)
    assert re.sub(r"\d(\.\d+)?e[-+]\d+", "E", str(raised.value)) == MESSAGE


# References -------------------------------------------------------------------------------------------------


def rounded(x: float) -> float:
    return float(round(x))


def test_a_reference_gradient_says_what_is_meant() -> None:
    straight_through = gradfuzz.reference(gradient=lambda x: 1.0)
    assert (
        measure_gradient(rounded, 2.25, grad=lambda x: 1.0, reference=straight_through).method == "reference"
    )
    check_gradient(rounded, 2.25, grad=lambda x: 1.0, reference=straight_through)
    with pytest.raises(GradientMismatch, match="the reference that came with the function"):
        check_gradient(rounded, 2.25, grad=lambda x: 0.0, reference=straight_through)


def test_a_reference_function_stands_for_an_approximate_one() -> None:
    @gradfuzz.reference(lambda x: np.sin(x))
    def taylor(x: float) -> float:
        return x - x**3 / 6.0 + x**5 / 120.0

    check_gradient(taylor, 0.5, grad=math.cos)
    with pytest.raises(GradientMismatch):
        check_gradient(taylor, 0.5, grad=lambda x: 1.0 - x**2 / 2.0 + x**4 / 24.0)
    assert taylor(0.5) == 0.5 - 0.5**3 / 6.0 + 0.5**5 / 120.0


def test_a_reference_is_one_of_two() -> None:
    with pytest.raises(UsageError, match="give one of them"):
        gradfuzz.reference()


# Programs ---------------------------------------------------------------------------------------------------


def test_programs_are_asked_of_a_target() -> None:
    program = gradfuzz.parse("def f(x, y):\n    return x * sin(y)\n")
    check_program(program, "engine", {"x": 0.5, "y": 1.5}, order=2)
    check_gradient(program, 0.5, 1.5, target="engine")
    with pytest.raises(UsageError, match="differentiated by a target"):
        check_gradient(program, 0.5, 1.5)
    with pytest.raises(GradientMismatch, match="of f by x is wrong"):
        check_program("acc*x", "mutant:nx-1747", {"x": 0.5})


# Frameworks -------------------------------------------------------------------------------------------------


def test_jax_is_asked_in_the_precision_of_the_arguments_and_keeps_its_settings() -> None:
    jax = pytest.importorskip("jax")
    import jax.numpy as jnp

    before = jax.config.jax_enable_x64

    @jax.custom_vjp
    def f(x):
        return jnp.sin(x) * x

    f.defvjp(lambda x: (f(x), x), lambda x, g: (g * (jnp.cos(x) * x + jnp.sin(x)),))
    for dtype in (np.float64, np.float32):
        measured = measure_gradient(f, X.astype(dtype), framework="jax")
        assert measured.verdict is Verdict.AGREE, measured.reason
        assert measured.got["x"].shape == (3,)
        assert measured.precision == np.dtype(dtype).name
        assert "custom_vjp" in measured.left_out["fwd",]
    assert jax.config.jax_enable_x64 == before
    with pytest.raises(UsageError, match="modes fwd, which it does not have"):
        check_gradient(f, X, modes="fwd")


def test_the_framework_is_seen_from_the_code() -> None:
    pytest.importorskip("jax")
    pytest.importorskip("torch")
    import jax.numpy as jnp
    import torch

    from gradfuzz.libraries.detect import library_of, signature_of

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, base, power=2):
            return base**2

    def helper(x):
        return jnp.sin(x)

    assert library_of(lambda x: jnp.sin(x), [1.0]).name == "jax"
    assert library_of(lambda x: helper(x), [1.0]).name == "jax"
    assert library_of(Square.apply, [1.0]).name == "torch"
    assert library_of(lambda x: torch.sin(x), [1.0]).name == "torch"
    assert library_of(lambda x: x, [torch.ones(2)]).name == "torch"
    assert library_of(product, [X, X]).name == "numpy"
    assert signature_of(Square.apply, 2) == ["base", "power"]
    with pytest.raises(UsageError, match="arrays of jax and torch"):
        library_of(product, [torch.ones(2), jnp.ones(2)])


def test_an_attribute_is_no_global(monkeypatch: pytest.MonkeyPatch) -> None:
    jnp = pytest.importorskip("jax.numpy")
    torch = pytest.importorskip("torch")
    from gradfuzz.libraries.detect import library_of

    monkeypatch.setitem(globals(), "T", torch.transpose)
    monkeypatch.setitem(globals(), "mT", torch.transpose)
    assert library_of(lambda x: x.T @ jnp.sin(x), [X]).name == "jax"
    assert library_of(lambda x: [y.mT for y in x], [np.ones((1, 2, 2))]).name == "numpy"
    assert library_of(lambda x: T(x, 0, 1), [X]).name == "torch"  # noqa: F821 - it was set above
    assert library_of(lambda x: (lambda y: mT(y, 0, 1))(x), [X]).name == "torch"  # noqa: F821 - as above


def test_a_framework_that_is_not_installed_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    from gradfuzz.libraries import detect

    detect._imported.cache_clear()
    monkeypatch.setitem(sys.modules, "jax", None)
    monkeypatch.delitem(sys.modules, "gradfuzz.libraries.jax", raising=False)
    with pytest.raises(MissingExtraError, match=re.escape("pip install 'gradfuzz[jax]'")):
        check_gradient(product, X, X, framework="jax")
    detect._imported.cache_clear()


def test_an_autograd_function_may_be_passed_as_a_class() -> None:
    torch = pytest.importorskip("torch")

    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            return 3.0 * ctx.saved_tensors[0] ** 2 * g

    measured = measure_gradient(Cube, torch.tensor(X), order=2)
    assert measured.verdict is Verdict.AGREE, measured.reason
    assert set(measured.asked) == {("rev",), ("rev", "rev")}


def leaks(framework: str) -> dict[str, Any]:
    """Functions whose words make the gradient another one than the derivative."""
    if framework == "jax":
        import jax.numpy as jnp
        from jax import lax

        return {
            "product": lambda x: x * lax.stop_gradient(x),
            "straight through": lambda x: x + lax.stop_gradient(jnp.sign(x) - x),
        }
    import torch

    def under_no_grad(x: Any) -> Any:
        with torch.no_grad():
            y = torch.sin(x)
        return x * y

    return {
        "product": lambda x: x * x.detach(),
        "straight through": lambda x: x + (torch.sign(x) - x).detach(),
        "no_grad": under_no_grad,
    }


LEAKS = [("jax", "product"), ("jax", "straight through")]
LEAKS += [("torch", name) for name in ("product", "straight through", "no_grad")]


@pytest.mark.parametrize(("framework", "name"), LEAKS)
def test_a_gradient_that_leaks_is_wrong_unless_it_is_allowed_to(framework: Any, name: str) -> None:
    pytest.importorskip(framework)
    f = leaks(framework)[name]
    with pytest.raises(GradientMismatch, match='if you mean that, pass allow="stop_gradient"') as raised:
        check_gradient(f, X, framework=framework)
    hidden = "no_grad" if name == "no_grad" else {"jax": "lax.stop_gradient", "torch": "detach"}[framework]
    assert hidden in raised.value.measured.stopped
    check_gradient(f, X, framework=framework, allow="stop_gradient", strict=True)
    check_gradient(f, X, framework=framework, allow="stop_gradient", strict=True, order=2, modes="rev")
    measured = measure_gradient(f, X, framework=framework, allow="stop_gradient", modes="rev")
    assert (measured.verdict, measured.method) == (Verdict.AGREE, "traced")
    assert hidden in measured.held


def doubled(framework: str) -> Any:
    """The sine with a derivative that is twice too large."""
    if framework == "jax":
        import jax
        import jax.numpy as jnp

        sine = jax.custom_jvp(jnp.sin)
        sine.defjvp(lambda xs, ts: (sine(*xs), 2.0 * jnp.cos(xs[0]) * ts[0]))
        return sine
    import torch

    class Sine(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return torch.sin(x)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return 2.0 * g * torch.cos(ctx.saved_tensors[0])

    return Sine.apply


@pytest.mark.parametrize(("framework", "name"), LEAKS)
def test_what_is_allowed_excuses_nothing_beside_it(framework: Any, name: str) -> None:
    pytest.importorskip(framework)
    f, sine = leaks(framework)[name], doubled(framework)
    given: dict[str, Any] = {"framework": framework, "allow": "stop_gradient", "modes": "rev"}
    assert measure_gradient(lambda x: f(x) + sine(x), X, **given).wrong
    assert measure_gradient(lambda x: f(x) * sine(x), X, **given).wrong


def test_what_is_stopped_in_loops_and_branches_of_jax_is_held() -> None:
    jax = pytest.importorskip("jax")
    lax, jnp = jax.lax, jax.numpy

    def trips(x: Any) -> Any:
        def body(state: Any) -> Any:
            k, y = state
            return k + 1, y * lax.stop_gradient(y) * 0.5 + x

        return lax.while_loop(lambda state: state[0] < 4, body, (0, x))[1]

    def rows(x: Any) -> Any:
        def body(c: Any, row: Any) -> Any:
            return c * lax.stop_gradient(jnp.cos(c)) + row, jnp.sum(c)

        return lax.scan(body, x, jnp.stack([x, 2.0 * x, x * x]))

    def branch(x: Any) -> Any:
        return lax.cond(x[0] > 0.0, lambda x: x * lax.stop_gradient(x), lambda x: x, x)

    given: dict[str, Any] = {"framework": "jax", "allow": "stop_gradient", "modes": "fwd"}
    for f in (trips, rows, branch):
        assert measure_gradient(f, X, **given).verdict is Verdict.AGREE
        wrong = lambda x, f=f: f(doubled("jax")(x))  # noqa: E731
        assert measure_gradient(wrong, X, **given).wrong


def test_what_is_stopped_beside_a_decision_is_held() -> None:
    """Torch cannot be traced where Python decides, and differences see what is held all the same."""
    torch = pytest.importorskip("torch")

    def halved(x: Any) -> Any:
        while x.norm() > 0.5:
            x = x * 0.5 * torch.sigmoid(x).detach()
        return x

    given: dict[str, Any] = {"framework": "torch", "allow": "stop_gradient", "modes": "rev"}
    assert measure_gradient(halved, X, **given).verdict is Verdict.AGREE
    assert measure_gradient(lambda x: doubled("torch")(halved(x)), X, **given).wrong
    assert measure_gradient(halved, X, framework="torch", modes="rev").wrong


@pytest.mark.parametrize("framework", ["jax", "torch"])
def test_a_reference_settles_a_gradient_that_leaks(framework: Any) -> None:
    """The gradient of a straight-through estimator is that of the identity."""
    pytest.importorskip(framework)
    f = leaks(framework)["straight through"]
    check_gradient(f, X, framework=framework, reference=gradfuzz.reference(gradient=lambda x, g: g))
    with pytest.raises(GradientMismatch, match="the reference that came with the function"):
        check_gradient(f, X, framework=framework, reference=gradfuzz.reference(gradient=lambda x, g: 2.0 * g))


@pytest.mark.parametrize("framework", ["jax", "torch"])
def test_a_right_gradient_may_stop_some_of_its_values(framework: Any) -> None:
    """A shift by the largest entry changes nothing, whether its gradient is stopped or not."""
    np_like = pytest.importorskip({"jax": "jax.numpy", "torch": "torch"}[framework])
    lax = pytest.importorskip("jax.lax") if framework == "jax" else None

    def stable(x: Any) -> Any:
        top = lax.stop_gradient(x.max()) if lax else x.max().detach()
        return np_like.log(np_like.exp(x - top).sum()) + top

    measured = measure_gradient(stable, X, framework=framework)
    assert measured.verdict is Verdict.AGREE, measured.reason
    assert not measured.stopped


def test_what_is_allowed_is_a_number_and_no_failure() -> None:
    torch = pytest.importorskip("torch")

    class Careless(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return 2.0 * x

        @staticmethod
        def backward(ctx, g):
            return g * torch.nan

    with pytest.raises(GradientMismatch, match="non_finite"):
        check_gradient(lambda x: Careless.apply(x) * x.detach(), torch.tensor(X), allow="stop_gradient")
    with pytest.raises(UsageError, match="allow='detach': it is 'stop_gradient', or left out"):
        check_gradient(lambda x: x * x, torch.tensor(X), allow="detach")


def test_a_convention_of_the_library_is_not_called_wrong() -> None:
    """LAPACK reads one triangle of the matrix, and Torch puts the gradient in both. Twice that is wrong."""
    torch = pytest.importorskip("torch")
    matrix = torch.tensor([[2.0, 0.5], [0.5, -1.0]], dtype=torch.float64)
    measured = measure_gradient(torch.linalg.eigvalsh, matrix)
    assert measured.verdict is Verdict.CONVENTION
    assert "the derivative by (x + x^H) / 2 is right" in measured.reason

    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return torch.linalg.eigvalsh(x)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(inputs[0])

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            _, vectors = torch.linalg.eigh(ctx.saved_tensors[0])
            return 2.0 * vectors @ torch.diag(g) @ vectors.T

    assert measure_gradient(Doubled.apply, matrix, modes=("rev",)).verdict is Verdict.DISAGREE


def test_a_torch_function_may_differentiate_by_its_arguments_itself() -> None:
    torch = pytest.importorskip("torch")

    def slope(x: Any) -> Any:
        (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
        return g

    measured = measure_gradient(slope, torch.tensor([0.5, 1.5], dtype=torch.float64), order=2)
    assert measured.verdict is Verdict.AGREE
    assert ("rev", "rev") in measured.asked
    assert ("fwd", "rev") in measured.asked
    assert list(measured.left_out) == [("fwd", "fwd")]


@pytest.mark.parametrize(("slope", "asked"), [(3.0, 0), (3.0 + 1e-9, 1)])
def test_the_second_reference_is_asked_where_the_first_does_not_agree(
    slope: float, asked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """3 x has the slope 3. Its values agree; at points near by the first reference tells enough."""
    questions = []
    truth = MpmathReference.truth

    def watched(self: MpmathReference, question: Question) -> list[Truth]:
        questions.append(question.modes)
        return truth(self, question)

    monkeypatch.setattr(MpmathReference, "truth", watched)
    measured = measure_gradient(lambda x: 3.0 * x, 0.5, grad=lambda x: slope)
    assert measured.method == "traced"
    assert measured.wrong is bool(asked)
    assert questions == [("rev",)] * asked
    assert measured.references == (("arb", "mpmath") if asked else ("arb",))
