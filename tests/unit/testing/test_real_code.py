"""Functions as packages write them: whose they are, and what is traced of them. Each new way of tracing has a
planted mistake beside it that is found.
"""

from __future__ import annotations

import contextlib
import math
import random
import re
import warnings
from typing import Any

import numpy as np
import pytest

from gradfuzz.errors import UnsupportedError, UntraceableError
from gradfuzz.fuzzer.results.finding import Verdict
from gradfuzz.libraries.detect import library_of
from gradfuzz.testing import GradientMismatch, check_gradient, measure_gradient

jax = pytest.importorskip("jax")
torch = pytest.importorskip("torch")
jnp, lax = jax.numpy, jax.lax

X = np.array([0.7, -1.3, 0.4])


@jax.custom_vjp
def steeper_jax(x: Any) -> Any:
    return x


steeper_jax.defvjp(lambda x: (x, None), lambda _, g: (1.01 * g,))


class Steeper(torch.autograd.Function):
    """The identity, its gradient a hundredth too large."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return 1.01 * g


def traced_and_right(f: Any, *args: Any) -> None:
    """A function is traced and right; after a planted mistake it is wrong."""
    name = library_of(f, args).name
    right = measure_gradient(f, *args)
    assert (right.verdict, right.method, right.untraced) == (Verdict.AGREE, "traced", ""), right.reason
    assert not right.stopped
    steeper = {"jax": steeper_jax, "torch": Steeper.apply}[name]
    wrong = measure_gradient(lambda x, *rest: f(steeper(x), *rest), *args, modes="rev", framework=name)
    assert (wrong.verdict, wrong.method) == (Verdict.DISAGREE, "traced")
    assert wrong.ratio == pytest.approx(1.01, rel=1e-6)


# Whose function it is ---------------------------------------------------------------------------------------


class Package:
    """What a function names that is no library: neither the text nor the object tells."""

    def __init__(self, function: Any) -> None:
        self.call = (function,)


HIDDEN = {
    "jax": Package(lambda x: jnp.exp(x)),
    "torch": Package(lambda x: torch.exp(torch.as_tensor(x))),
    "numpy": Package(lambda x: np.exp(x)),
}


@pytest.mark.parametrize("name", HIDDEN)
@pytest.mark.parametrize("argument", [X, 0.5])
def test_a_first_call_tells_whose_function_it_is(name: str, argument: Any) -> None:
    package = HIDDEN[name]
    assert library_of(lambda x: package.call[0](x), [argument]).name == name


def test_functions_that_take_no_arrays_of_numpy() -> None:
    assert library_of(torch.sigmoid, [X]).name == "torch"
    assert library_of(lambda x: x.unsqueeze(0), [X]).name == "torch"
    assert library_of(lambda x: x.at[0].set(1.0), [X]).name == "jax"
    check_gradient(torch.sigmoid, X)


def test_what_is_numpys_stays_numpys() -> None:
    assert library_of(math.sin, [0.5]).name == "numpy"
    assert library_of(np.sin, [X]).name == "numpy"
    assert library_of(lambda x: x * x, [X]).name == "numpy"
    assert library_of(lambda x: np.sin(x) if jnp else x, [X]).name == "numpy"  # it names JAX alone
    assert library_of(lambda x: jnp.pi * x, [X]).name == "jax"


def test_the_first_call_changes_nothing() -> None:
    normed = torch.nn.BatchNorm1d(3).double()
    x = np.ones((2, 3))
    states = random.getstate(), np.random.get_state(), torch.random.get_rng_state()  # noqa: NPY002

    def draws(y: Any) -> Any:
        y += random.random() + np.random.rand() + torch.rand(())  # noqa: NPY002
        return y

    assert library_of(lambda x: normed(x), [x]).name == "torch"
    library_of(draws, [x])
    assert normed.num_batches_tracked == 0
    np.testing.assert_array_equal(x, np.ones((2, 3)))
    assert random.getstate() == states[0]
    np.testing.assert_array_equal(np.random.get_state()[1], states[1][1])  # noqa: NPY002
    assert torch.equal(torch.random.get_rng_state(), states[2])


# Hidden values ----------------------------------------------------------------------------------------------


def shifted(x: Any) -> Any:
    top = lax.stop_gradient(x.max())
    return jnp.log(jnp.exp(x - top).sum()) + top


def shifted_torch(x: Any) -> Any:
    top = x.max().detach()
    return torch.log(torch.exp(x - top).sum()) + top


def under_no_grad(x: Any) -> Any:
    with torch.no_grad():
        order = torch.argsort(x.abs() * 2.0)
    return x[order] * torch.arange(3.0, dtype=x.dtype)


@pytest.mark.parametrize("f", [shifted, shifted_torch])
def test_a_stop_that_changes_nothing_is_traced(f: Any) -> None:
    traced_and_right(f, X)


def test_indices_made_under_no_grad() -> None:
    measured = measure_gradient(lambda x: under_no_grad(x).sum(), torch.tensor(X))
    assert measured.verdict is Verdict.AGREE
    assert not measure_gradient(lambda x: under_no_grad(Steeper.apply(x)).sum(), torch.tensor(X)).right


def test_a_stop_that_changes_the_gradient_is_found_by_a_proof() -> None:
    for f in (lambda x: x * lax.stop_gradient(x), lambda x: torch.as_tensor(x) * x.detach()):
        kind = jnp.asarray if f.__code__.co_names[0] == "lax" else torch.tensor
        measured = measure_gradient(f, kind(X.astype(np.float32)))
        assert (measured.verdict, measured.method) == (Verdict.DISAGREE, "traced")
        assert measured.stopped


def test_a_hidden_value_in_what_is_no_program_is_still_said() -> None:
    from gradfuzz.tracing.torch.trace import traced

    def sine(x):
        return x * torch.tensor(np.sin(x.detach().numpy()))

    with pytest.raises(UntraceableError, match=r"detach hides ") as caught:
        traced(sine, [X])
    assert caught.value.stopped
    assert caught.value.local.startswith("numpy of a tensor")
    assert re.match(r"detach hides .*; numpy of a tensor", measure_gradient(sine, torch.tensor(X)).untraced)


# Decisions of Python ----------------------------------------------------------------------------------------


def checked(x: Any) -> Any:
    """As the distributions of Torch look at their arguments."""
    if not (x > -2.0).all():
        raise ValueError("too small")
    if torch.equal(x, x + 1.0) or torch.equal(x, x[:2]) or not (x == x).all():
        return x
    return torch.exp(x).sum()


def written(x: Any) -> Any:
    """A decision, and another one after a result was written in place."""
    y = torch.zeros(3, dtype=x.dtype)
    y[0] = x[0] * x[1]
    if y[0] < 0.0 and int(torch.arange(3).max()) == 2:
        y[1:] = x[1:].sin()
    return y


@pytest.mark.parametrize("f", [checked, written])
def test_a_decision_by_a_bool_is_traced(f: Any) -> None:
    traced_and_right(f, torch.tensor(X))


def test_a_program_is_zero_where_python_decides_otherwise() -> None:
    from gradfuzz.programs.arithmetic.numpy_namespace import NumpyNamespace
    from gradfuzz.programs.evaluation.interpret import entered, interpret
    from gradfuzz.tracing.torch.trace import traced

    by_item = lambda x: x * (2.0 if (x.sum() > 0.0).item() else 1)  # noqa: E731
    for f in (lambda x: x * 2.0 if x.sum() > 0.0 else x, by_item):
        program = traced(f, [np.ones(2)])
        for sign, expected in ((1.0, 2.0), (-1.0, 0.0)):
            (y,) = interpret(program, {"x": entered(sign * np.ones(2))}, NumpyNamespace("float64"))
            np.testing.assert_array_equal(y, expected * np.ones(2))


def test_a_point_between_the_sides_of_a_decision_is_not_called_right() -> None:
    """The slopes are 2 and 1, and the function jumps from 2 to 1."""
    f = lambda x: x * 2.0 if x > 1.0 else x  # noqa: E731
    assert measure_gradient(f, torch.tensor(1.0, dtype=torch.float64)).verdict is not Verdict.AGREE
    measured = measure_gradient(f, torch.tensor(3.0, dtype=torch.float64))
    assert measured.verdict is Verdict.AGREE


def test_a_number_in_python_is_no_decision() -> None:
    from gradfuzz.tracing.torch.trace import traced

    for f in (lambda x: x * x[0].item(), lambda x: x * x.tolist()[0]):
        with pytest.raises(UntraceableError, match="depends on a number"):
            traced(f, [X])


# Primitives of others ---------------------------------------------------------------------------------------


def primitive(name: str, compute: Any, slope: Any) -> Any:
    """A primitive as another package makes one, under a name that JAX has as well."""
    made = jax.extend.core.Primitive(name)
    made.def_impl(compute)
    made.def_abstract_eval(lambda x: x)
    jax.interpreters.mlir.register_lowering(
        made, jax.interpreters.mlir.lower_fun(compute, multiple_results=False)
    )
    jax.interpreters.ad.primitive_jvps[made] = lambda xs, ts: (made.bind(*xs), slope(xs[0]) * ts[0])
    return made.bind


@pytest.mark.parametrize("name", ["tan", "linear_solve", "unvmap_any"])
def test_a_primitive_of_others_is_what_its_own_implementation_computes(name: str) -> None:
    cube = primitive(name, lambda x: x * x * x, lambda x: 3.0 * x * x)
    traced_and_right(lambda x: jnp.sin(cube(x)), X)
    wrong = primitive(name, lambda x: x * x * x, lambda x: 2.0 * x * x)
    measured = measure_gradient(lambda x: jnp.sin(wrong(x)), X, modes="fwd")
    assert (measured.verdict, measured.method) == (Verdict.DISAGREE, "traced")


@jax.custom_jvp
def checked_jax(x: Any) -> Any:
    """An error where x is negative, as Equinox raises it."""

    def fails(x: Any) -> Any:
        raise ValueError("negative")

    def raises(x: Any) -> Any:
        return jax.pure_callback(fails, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    return lax.cond(jnp.any(x < 0.0), raises, lambda x: x, x)


checked_jax.defjvp(lambda xs, ts: (checked_jax(*xs), ts[0]))


def test_a_branch_that_raises_is_no_part_of_the_program() -> None:
    traced_and_right(lambda x: jnp.log(checked_jax(x)), np.abs(X))


def test_a_branch_that_calls_python_is_not_taken_for_zeros() -> None:
    def called(x: Any) -> Any:
        there = jax.ShapeDtypeStruct(x.shape, x.dtype)
        return lax.cond(x[0] > 0.0, lambda x: jax.pure_callback(np.sin, there, x), lambda x: x, x)

    from gradfuzz.fuzzer.measuring.measure import Inquiry
    from gradfuzz.fuzzer.measuring.subject import subject_of

    assert "computes something else" in Inquiry(subject_of(called, [X], None, None, "jax")).untraced


def test_error_if_of_equinox() -> None:
    eqx = pytest.importorskip("equinox", reason="Equinox is not installed")
    traced_and_right(lambda x: jnp.log(eqx.error_if(x, jnp.any(x < 0), "negative")), np.abs(X))


def test_a_linear_solve_of_lineax() -> None:
    lx = pytest.importorskip("lineax", reason="lineax is not installed")
    a = np.array([[3.0, 0.4], [0.1, 2.5]])
    traced_and_right(lambda a, b: lx.linear_solve(lx.MatrixLinearOperator(a), b).value, a, X[:2])


@pytest.mark.parametrize("planted", [0.0, 0.001])
def test_the_data_of_a_loss_may_be_many_numbers(planted: float) -> None:
    """A loss of a batch of 28x28 pixels in float32, its gradient a thousandth too large."""
    dice = np.random.default_rng(7)
    pixels = jnp.asarray(dice.normal(size=(40, 784)), "float32")
    labels = jnp.asarray(dice.normal(size=40), "float32")

    def loss(w: Any) -> Any:
        return jnp.mean((jnp.tanh(pixels @ w) - labels) ** 2)

    f = jax.custom_vjp(loss)
    f.defvjp(lambda w: (loss(w), w), lambda w, g: ((1.0 + planted) * g * jax.grad(loss)(w),))
    measured = measure_gradient(f, (dice.normal(size=784) / 28.0).astype("float32"))
    assert (measured.untraced, measured.verdict.value) == ("", "disagree" if planted else "agree")


# What forward mode of Torch is asked by ---------------------------------------------------------------------


class LongerTangent(torch.autograd.Function):
    """A sine whose tangents alone are too long."""

    @staticmethod
    def forward(x: Any) -> Any:
        return torch.sin(x)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * torch.cos(ctx.saved_tensors[0])

    @staticmethod
    def jvp(ctx: Any, v: Any) -> Any:
        return 1.01 * v * torch.cos(ctx.saved_tensors[0])


def _compiled_to_script() -> Any:
    """A function of TorchScript. From its second run on it drops tangents of what requires a gradient."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return torch.jit.CompilationUnit("def f(x):\n    return x * torch.sin(x) + torch.exp(x)\n").f


def test_tangents_go_through_torchscript() -> None:
    f = _compiled_to_script()
    x = torch.tensor(X)
    for _ in range(2):
        check_gradient(f, x, framework="torch", strict=True)
    with pytest.raises(GradientMismatch, match="jvp"):
        check_gradient(lambda x: f(LongerTangent.apply(x)), x)


def test_forward_mode_of_a_function_that_differentiates_by_its_argument() -> None:
    def f(x: Any) -> Any:
        return torch.autograd.grad((x**3).sum() * x[0], x, create_graph=True)[0]

    check_gradient(f, torch.linspace(0.5, 2.0, 9, dtype=torch.float64), modes="fwd", strict=True)


def test_forward_mode_where_torch_drops_the_tangents_of_what_requires_no_gradient() -> None:
    def rows(x: Any) -> Any:
        return torch.autograd.functional.jacobian(lambda z: z**3, x, create_graph=True).sum(0)

    check_gradient(rows, torch.tensor(X), strict=True)
    with pytest.raises(GradientMismatch, match="jvp"):
        check_gradient(lambda x: LongerTangent.apply(rows(x)), torch.tensor(X), modes="fwd")


@pytest.mark.parametrize("own", [torch.zeros_like, torch.sin])
def test_tangents_that_are_lost_where_the_argument_requires_no_gradient(own: Any) -> None:
    """`torch.func.jvp` of the second result is 0."""

    def f(x: Any) -> Any:
        return own(x), x * 2.0 if x.requires_grad else x.detach() * 2.0

    check_gradient(f, torch.tensor(X), modes="rev", strict=True)
    with pytest.raises(GradientMismatch, match="jvp"):
        check_gradient(f, torch.tensor(X), modes="fwd")


@pytest.mark.parametrize("mistake", [0.0, 0.01])
def test_what_is_in_forward_mode_itself_has_no_forward_mode(mistake: float) -> None:
    """Torch does not nest forward_ad, nor torch.func in it."""
    forward_ad = torch.autograd.forward_ad

    def cosine(x: Any) -> Any:
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(x, torch.ones_like(x))
            return forward_ad.unpack_dual(torch.sin(dual)).tangent + mistake * x.detach()

    with pytest.raises(GradientMismatch) if mistake else contextlib.nullcontext():
        check_gradient(cosine, torch.tensor(X), strict=True)
    with pytest.raises(UnsupportedError, match="Nested forward mode"):
        check_gradient(cosine, torch.tensor(X), modes="fwd")


@pytest.mark.parametrize("factor", [1.0, 1.001])
def test_a_custom_op_has_no_forward_mode(factor: float) -> None:
    def sine(x: torch.Tensor) -> torch.Tensor:
        return torch.sin(x)

    op = torch.library.custom_op(f"gradfuzz_tests::sine_{int(1000 * factor)}", sine, mutates_args=())
    op.register_autograd(
        lambda ctx, g: factor * g * torch.cos(*ctx.saved_tensors),
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
    )
    measured = measure_gradient(op, torch.tensor(X))
    assert measured.wrong == (factor != 1.0)
    assert measured.wrong or set(measured.left_out) == {("fwd",)}


@pytest.mark.parametrize(
    "f",
    [
        lambda x: torch.func.hessian(lambda z: (torch.sin(z) * z.sum()).sum())(x),
        lambda x: torch.func.jvp(torch.tanh, (x,), (x * x,))[1],
    ],
    ids=["hessian", "jvp"],
)
def test_forward_mode_of_a_function_that_is_in_forward_mode_itself(f: Any) -> None:
    """Autograd's forward mode does not nest, so torch.func is asked."""
    x = torch.tensor(X)
    check_gradient(f, x, strict=True)
    with pytest.raises(GradientMismatch, match="jvp"):
        check_gradient(lambda x: f(x) + LongerTangent.apply(x), x, modes="fwd")


def test_what_is_recomputed_by_a_checkpoint_of_before() -> None:
    """A reentrant one refuses `torch.autograd.grad`, and is asked by `backward`."""

    def again(f: Any) -> Any:
        return lambda x, w: torch.utils.checkpoint.checkpoint(f, x, w, use_reentrant=True) * 2.0

    about = torch.tensor(X), torch.tensor(X[::-1].copy())
    check_gradient(again(lambda x, w: torch.sin(x * w)), *about, modes="rev", strict=True)
    with pytest.raises(GradientMismatch):
        check_gradient(again(lambda x, w: Steeper.apply(torch.sin(x * w))), *about)
    held = torch.nn.Linear(3, 1).double()
    with pytest.raises(UnsupportedError, match="use_reentrant=False"):
        check_gradient(
            lambda layer, x: torch.utils.checkpoint.checkpoint(layer, x, use_reentrant=True),
            held,
            about[0],
            modes="rev",
        )
    assert held.weight.grad is None


# What autograd follows of a result --------------------------------------------------------------------------


class Largest(torch.autograd.Function):
    """The two largest numbers, and where they are."""

    @staticmethod
    def forward(ctx: Any, x: Any, factor: float) -> Any:
        values, places = torch.topk(x, 2)
        ctx.mark_non_differentiable(places)
        ctx.save_for_backward(x, places)
        ctx.factor = factor
        return values, places

    @staticmethod
    def backward(ctx: Any, g: Any, _: Any) -> Any:
        x, places = ctx.saved_tensors
        return torch.zeros_like(x).scatter(0, places, ctx.factor * g), None


def test_integers_hide_nothing_from_autograd() -> None:
    check_gradient(lambda x: Largest.apply(x, 1.0), torch.tensor(X), strict=True)
    with pytest.raises(GradientMismatch):
        check_gradient(lambda x: Largest.apply(x, 1.1), torch.tensor(X))


# What the documents of a library leave out of a gradient ----------------------------------------------------


@pytest.mark.parametrize("left_out", [{"padding_idx": 0}, {"padding_idx": -4, "scale_grad_by_freq": True}])
def test_rows_of_an_embedding_that_do_not_learn(left_out: Any) -> None:
    places = torch.tensor([[0, 2], [2, 1], [0, 3]])

    def f(weight: Any, x: Any) -> Any:
        return torch.sin(torch.nn.functional.embedding(places, weight, **left_out) * x)

    about = torch.linspace(-1.0, 2.0, 8, dtype=torch.float64).reshape(4, 2), torch.tensor(0.5).double()
    measured = measure_gradient(f, *about, modes="rev")
    assert measured.verdict is Verdict.CONVENTION
    assert "documents" in measured.reason
    for wrong in (lambda w, x: f(Steeper.apply(w), x), lambda w, x: f(w, Steeper.apply(x))):
        with pytest.raises(GradientMismatch):
            check_gradient(wrong, *about, modes="rev")


def test_rows_that_a_rule_of_ones_own_leaves_out() -> None:
    class Rows(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * torch.tensor([[0.0], [1.0]])

    x = torch.tensor([[0.5, -1.0], [0.25, 2.0]], dtype=torch.float64)
    lookup = torch.nn.functional.embedding
    found = measure_gradient(lambda x, w: Rows.apply(x) + lookup(torch.tensor([0, 1]), w, 0), x, x.clone())
    assert found.wrong
    assert found.worst is not None
    assert found.worst[0] == "x"


# How sure a verdict is --------------------------------------------------------------------------------------


def test_a_line_says_how_sure_a_verdict_is() -> None:
    traced = measure_gradient(lambda x: jnp.sin(x).sum(), X)
    assert traced.basis == "the function, traced as a program, by arb"
    measured = measure_gradient(lambda x: x * x.tolist()[0], torch.tensor(X))
    assert measured.basis.startswith("complex steps") or measured.basis.startswith("differences")
    assert "of the largest entry; not traced: tolist of a tensor" in measured.basis
