"""Derivatives as people call them: each way has a wrong answer that it meets, and right ones pass in all.

The reports are those of pytorch/pytorch; the expected numbers are those of closed forms.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from gradfuzz import check_gradient, measure_gradient
from gradfuzz.errors import UnsupportedError, UsageError
from gradfuzz.fuzzer.results.finding import Class, Verdict
from gradfuzz.libraries.detect import library_named
from gradfuzz.testing import GradientMismatch
from tests.releases import is_from, skip_where_right

X = np.array([0.5, -1.25])
AOT = 'torch.compile(torch.func.grad, backend="aot_eager")'
AOT_FORWARD = 'torch.compile(torch.func.jvp, backend="aot_eager")'

QUICK = [(name, way.name) for name in ("torch", "jax") for way in library_named(name).ways if not way.slow]


def of_torch(x: Any, y: Any) -> Any:
    return {"a": torch.sin(x) * y, "b": (x * x).sum()}


def of_jax(x: Any, y: Any) -> Any:
    return {"a": jnp.sin(x) * y, "b": (x * x).sum()}


# Right in every way -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("library", "way"), QUICK)
def test_a_right_derivative_is_right_in_every_way(library: str, way: str) -> None:
    asked = library_named(library).way(way)
    f = of_torch if library == "torch" else of_jax
    check_gradient(f, X, X + 2.0, order=len(asked.modes), ways=way, strict=True)


@pytest.mark.parametrize("f", [of_torch, of_jax])
def test_second_order_is_asked_by_all_ways_that_ask_in_its_modes(f: Any) -> None:
    measured = measure_gradient(f, X, X + 2.0, order=2, modes="rev", ways="all")
    assert measured.verdict is Verdict.AGREE
    assert measured.asked == (("rev",), ("rev", "rev"))
    assert not any(measured.ways.values())


# What is asked ----------------------------------------------------------------------------------------------


def test_an_unknown_way_is_told_with_those_of_the_framework() -> None:
    with pytest.raises(UsageError, match=r"ways='jax.grad' is not a way to ask torch .* 'torch.func.jacrev'"):
        check_gradient(of_torch, X, X, ways="jax.grad")


def test_a_library_without_ways_says_so() -> None:
    import autograd.numpy as anp

    with pytest.raises(UsageError, match="it is asked in one way only"):
        check_gradient(lambda x: anp.sin(x), X, ways="all", framework="autograd")


@pytest.mark.parametrize(
    ("way", "more"), [("torch.func.jvp", {"modes": "rev"}), ("torch.func.hessian", {"order": 1})]
)
def test_a_way_that_asks_in_other_modes_is_an_error(way: str, more: Any) -> None:
    with pytest.raises(UsageError, match="asks for the last derivative in the modes"):
        check_gradient(of_torch, X, X, ways=way, **more)


def test_a_gradient_that_is_given_is_asked_in_one_way() -> None:
    with pytest.raises(UsageError, match="grad= gives one"):
        check_gradient(np.sin, 0.5, grad=np.cos, ways="all")


class OldStyle(torch.autograd.Function):
    """torch.func takes no such Function."""

    factor = 1.0

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return torch.sin(x)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return OldStyle.factor * g * torch.cos(x)


ORDINARY = ("autograd.grad", "torch.func.grad")


def test_a_way_that_a_function_lacks_is_an_error_by_name_and_left_out_of_several() -> None:
    with pytest.raises(UnsupportedError, match=r"cannot be asked by torch.func.grad: .*setup_context"):
        check_gradient(OldStyle, X, ways=ORDINARY, modes=None, framework="torch")
    measured = measure_gradient(OldStyle, X, ways="all", modes="rev", framework="torch")
    assert measured.verdict is Verdict.AGREE
    assert "setup_context" in measured.ways["torch.func.vjp"]
    assert measured.ways["backward"] == ""


def test_the_message_names_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OldStyle, "factor", 2.0)
    with pytest.raises(GradientMismatch, match=r"asked .* torch, by backward,"):
        check_gradient(OldStyle, X, ways="backward", framework="torch")


# Wrong in one way -------------------------------------------------------------------------------------------

ENTRIES: dict[str, tuple[Any, str]] = {
    "autograd.grad": (torch.autograd, "grad"),
    "autograd.grad(is_grads_batched=True)": (torch.autograd, "grad"),
    "torch.func.grad": (torch.func, "grad"),
    "torch.func.vjp": (torch.func, "vjp"),
    "torch.func.jacrev": (torch.func, "jacrev"),
    "torch.vmap(torch.func.grad)": (torch, "vmap"),
    "torch.func.jvp": (torch.func, "jvp"),
    "torch.func.jacfwd": (torch.func, "jacfwd"),
    "torch.func.hessian": (torch.func, "hessian"),
    "jax.grad": (jax, "grad"),
    "jax.vjp": (jax, "vjp"),
    "jax.jacrev": (jax, "jacrev"),
    "jax.vmap(jax.grad)": (jax, "vmap"),
    "jax.checkpoint": (jax, "checkpoint"),
    "jax.jvp": (jax, "jvp"),
    "jax.linearize": (jax, "linearize"),
    "jax.jacfwd": (jax, "jacfwd"),
    "jax.hessian": (jax, "hessian"),
}
"""By way the function that people call."""


def twice(value: Any) -> Any:
    """Twice the numbers of what a function returns, or of what a function that it returns does."""
    if isinstance(value, (tuple, list)):
        return type(value)(map(twice, value))
    if callable(value) and not isinstance(value, (torch.Tensor, jax.Array)):
        return lambda *xs: twice(value(*xs))
    return 2.0 * value


@pytest.mark.parametrize("way", ENTRIES)
def test_what_only_one_entry_point_gets_wrong_is_found(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The entry point that people call is changed: no other one of the library calls it."""
    home, name = ENTRIES[way]
    own = getattr(home, name)
    monkeypatch.setattr(home, name, lambda *args, **how: twice(own(*args, **how)))
    library = "jax" if home is jax else "torch"
    f = of_jax if library == "jax" else of_torch
    order = len(library_named(library).way(way).modes)
    measured = measure_gradient(f, X, X + 2.0, order=order, ways=way)
    assert measured.wrong
    assert measured.way == way


def wrong_ways(f: Any, *args: Any, ways: Any) -> list[str]:
    return [way for way in ways if measure_gradient(f, *args, ways=way).wrong]


RULES = ("autograd.grad", "backward", "torch.utils.checkpoint", "torch.func.grad", "torch.func.jacrev")


class Mapped(torch.autograd.Function):
    """Its own rule of vmap doubles the values."""

    @staticmethod
    def forward(x: Any) -> Any:
        return torch.sin(x)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * torch.cos(x)

    @staticmethod
    def vmap(info: Any, dims: Any, x: Any) -> Any:
        return 2.0 * torch.sin(x), dims[0]


def test_a_rule_of_vmap_is_met_where_the_gradient_is_mapped() -> None:
    ways = (*RULES, "torch.vmap(torch.func.grad)")
    assert wrong_ways(lambda x: Mapped.apply(x) ** 2, torch.tensor(X), ways=ways) == [ways[-1]]


class Batched(torch.autograd.Function):
    """Its backward is wrong for a batch of cotangents."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Any) -> Any:
        return x * x

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        own = torch._C._functorch
        return (4.0 if own.is_batchedtensor(g) or own.is_legacy_batchedtensor(g) else 2.0) * x * g


def test_a_batch_of_cotangents_is_another_question() -> None:
    ways = ("autograd.grad", "backward", "autograd.grad(is_grads_batched=True)", "torch.func.jacrev")
    assert wrong_ways(Batched.apply, torch.tensor(X), ways=ways) == list(ways[2:])


def of_ones(ctx: Any, x: Any, g: Any) -> Any:
    return (2.002 if bool(torch.all(g == 1.0)) else 2.0) * x * g


def from_memory(ctx: Any, x: Any, g: Any) -> Any:
    """What a kernel does that takes a cotangent for contiguous."""
    numbers = torch.empty(0, dtype=g.dtype).set_(g.untyped_storage())
    return 2.0 * x * torch.nn.functional.pad(numbers, (0, x.numel() - numbers.numel())).view(x.shape)


def in_place(ctx: Any, x: Any, g: Any) -> Any:
    saved = g.clone()
    g.mul_(1.0)
    return 2.0 * x * saved


@pytest.mark.parametrize("backward", [of_ones, from_memory, in_place])
def test_the_cotangent_of_a_sum_is_another_question(backward: Any) -> None:
    function, way = function_of(backward), "autograd.grad (of the sum)"
    assert wrong_ways(function.apply, torch.tensor(X), ways=("autograd.grad", "backward", way)) == [way]
    leaf = torch.tensor(X, requires_grad=True)
    assert torch.autograd.gradcheck(function.apply, (leaf,), raise_exception=False)


@pytest.mark.parametrize("f", [lambda x: x / x, lambda x: torch.sin(x) ** 2 + torch.cos(x) ** 2])
def test_a_gradient_that_cancels_is_right_in_parts(f: Any) -> None:
    for dtype in (torch.float64, torch.float32):
        check_gradient(f, torch.tensor(X, dtype=dtype), ways="autograd.grad (of the sum)")


def leaves_something(x: Any) -> Any:
    if x.is_leaf and x.requires_grad:
        x.grad = torch.ones_like(x)
    return torch.sin(x)


def test_backward_adds_to_what_is_there() -> None:
    assert wrong_ways(leaves_something, torch.tensor(X), ways=("autograd.grad", "backward")) == ["backward"]


class Recomputed(torch.autograd.Function):
    running = False

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(2.0 * x if Recomputed.running else x)
        return x * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return 2.0 * x * g


class Runs(torch.autograd.Function):
    """What is recomputed for it is recomputed while it runs."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x.clone()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        Recomputed.running = True
        (_,) = ctx.saved_tensors
        Recomputed.running = False
        return g


def test_what_is_recomputed_otherwise_is_found_where_it_is_checkpointed() -> None:
    def f(x: Any) -> Any:
        return Runs.apply(Recomputed.apply(x))

    ways = ("autograd.grad", "backward", "torch.utils.checkpoint")
    assert wrong_ways(f, torch.tensor(X), ways=ways) == [ways[-1]]


def traced_otherwise() -> Any:
    """Its rule doubles where it is traced."""

    @jax.custom_vjp
    def f(x: Any) -> Any:
        return jnp.sin(x)

    def backward(x: Any, g: Any) -> Any:
        return (g * jnp.cos(x) * (2.0 if isinstance(x, jax.core.Tracer) else 1.0),)

    f.defvjp(lambda x: (jnp.sin(x), x), backward)
    return f


def test_a_rule_that_is_wrong_where_it_is_compiled_alone() -> None:
    ways = ("jax.grad", "jax.vjp", "jax.jit(jax.grad)", "jax.jit(jax.grad).lower")
    assert wrong_ways(traced_otherwise(), X, ways=ways) == list(ways[2:])


def test_a_slope_that_is_wrong_where_it_is_compiled_alone() -> None:
    @jax.custom_jvp
    def f(x: Any) -> Any:
        return jnp.sin(x)

    @f.defjvp
    def slope(xs: Any, vs: Any) -> Any:
        (x,), (v,) = xs, vs
        return jnp.sin(x), v * jnp.cos(x) * (2.0 if isinstance(x, jax.core.Tracer) else 1.0)

    ways = ("jax.jvp", "jax.jit(jax.jacfwd)")
    assert wrong_ways(f, X, ways=ways) == [ways[1]]


def decided_in_python(x: Any) -> Any:
    return jnp.sin(x) if x[0] > 0.0 else x


def test_what_python_decides_is_not_compiled_and_asked_all_the_same() -> None:
    measured = measure_gradient(decided_in_python, X, ways="all", modes="rev")
    assert measured.verdict is Verdict.AGREE
    assert "traced array" in measured.ways["jax.jit(jax.grad)"]
    assert measured.ways["jax.grad"] == ""


# Twice, and arguments ---------------------------------------------------------------------------------------


def function_of(backward: Callable[[Any, Any, Any], Any]) -> Any:
    """The square with this backward pass, of its context, x and the cotangent."""

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            ctx.count = 0
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return backward(ctx, x, g)

    return Square


def counts(ctx: Any, x: Any, g: Any) -> Any:
    ctx.count += 1
    return 2.0 * x * g * ctx.count


def adds_to_what_it_returned(ctx: Any, x: Any, g: Any) -> Any:
    ctx.sum = 2.0 * x * g if ctx.count == 0 else ctx.sum.add_(2.0 * x * g)
    ctx.count += 1
    return ctx.sum


def writes_into_the_argument(ctx: Any, x: Any, g: Any) -> Any:
    found = 2.0 * x * g
    x.data.mul_(1.5)
    return found


AGAIN = "asked a second time over the same graph"


@pytest.mark.parametrize(
    ("backward", "words", "seen"),
    [
        (counts, AGAIN, True),
        (adds_to_what_it_returned, AGAIN, True),
        (lambda ctx, x, g: g.mul_(2.0 * x), AGAIN, False),  # gradcheck gives each time another cotangent
        (writes_into_the_argument, "the derivative writes into the argument x", True),
    ],
)
def test_a_backward_with_a_side_effect_is_found_beside_gradcheck(
    backward: Any, words: str, seen: bool
) -> None:
    function = function_of(backward)
    with pytest.raises(GradientMismatch, match=f"has a side effect\n.*{words}"):
        check_gradient(function, torch.tensor(X))
    assert measure_gradient(function, torch.tensor(X), ways="autograd.grad (twice)").wrong
    leaf = torch.tensor(X, requires_grad=True)
    assert torch.autograd.gradcheck(function.apply, (leaf,), raise_exception=False) is not seen


def raises_the_second_time(words: str) -> Any:
    def backward(ctx: Any, x: Any, g: Any) -> Any:
        ctx.count += 1
        if ctx.count > 1:
            raise RuntimeError(words)
        return 2.0 * x * g

    return function_of(backward)


@pytest.mark.parametrize("unused", ["", "wrong", "raises"])
def test_a_result_alone_has_the_gradient_that_it_has_beside_zeros(unused: str) -> None:
    """A backward without `materialize_grads` has None for the cotangent of a result that is not used."""

    class Both(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.set_materialize_grads(False)
            ctx.save_for_backward(x)
            return x.sin(), x.cos()

        @staticmethod
        def backward(ctx: Any, by_sin: Any, by_cos: Any) -> Any:
            (x,) = ctx.saved_tensors
            if unused == "raises":
                return by_sin * x.cos() - by_cos * x.sin()
            slope = torch.zeros_like(x) if by_sin is None else by_sin * x.cos()
            if by_cos is None:
                return slope * 1.1 if unused == "wrong" else slope
            return slope - by_cos * x.sin()

    found = measure_gradient(Both.apply, torch.tensor(X), modes="rev")
    words = {"": "", "wrong": "SideEffectError: the gradient of result 0 alone", "raises": "TypeError"}
    assert found.verdict is (Verdict.CRASHED if unused else Verdict.AGREE)
    assert found.reason.startswith(words[unused])


def test_what_torch_compiled_for_one_pass_is_not_asked_twice() -> None:
    check_gradient(raises_the_second_time("non-empty donated buffers"), torch.tensor(X))
    with pytest.raises(GradientMismatch, match="raises an error"):
        check_gradient(raises_the_second_time("modified by an inplace operation"), torch.tensor(X))


def test_a_backward_without_a_side_effect_passes_twice() -> None:
    function = function_of(lambda ctx, x, g: 2.0 * x * g)
    check_gradient(function, torch.tensor(X), ways=("autograd.grad", "autograd.grad (twice)"))


def test_a_gradient_by_hand_that_writes_into_its_argument_is_found() -> None:
    def grad(x: Any) -> Any:
        x *= 2.0
        return x

    with pytest.raises(GradientMismatch, match="the derivative writes into the argument x"):
        check_gradient(lambda x: np.sum(x * x), X, grad=grad)
    check_gradient(lambda x: np.sum(x * x), X, grad=lambda x: 2.0 * x)


def test_a_rule_of_jax_that_counts_is_found_where_it_is_asked_twice() -> None:
    count = [0]

    @jax.custom_vjp
    def f(x: Any) -> Any:
        return jnp.sin(x)

    def forward(x: Any) -> Any:
        count[0] = 0
        return jnp.sin(x), x

    def backward(x: Any, g: Any) -> Any:
        count[0] += 1
        return (g * jnp.cos(x) * count[0],)

    f.defvjp(forward, backward)
    assert wrong_ways(f, X, ways=("jax.vjp", "jax.grad", "jax.vjp (twice)")) == ["jax.vjp (twice)"]


# Reports ----------------------------------------------------------------------------------------------------


class Square(torch.autograd.Function):
    """The derivative of its forward pass as written is inf * 0 at 0; its rules are right."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Any) -> Any:
        return torch.sqrt(x**4)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return 2.0 * g * ctx.saved_tensors[0]

    @staticmethod
    def jvp(ctx: Any, v: Any) -> Any:
        return 2.0 * v * ctx.saved_tensors[0]


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")  # of Dynamo
@pytest.mark.parametrize(("usual", "compiled"), [("torch.func.grad", AOT), ("torch.func.jvp", AOT_FORWARD)])
def test_193279_and_192985_a_compiled_derivative_drops_the_rule(usual: str, compiled: str) -> None:
    """Dynamo follows the forward pass of an autograd.Function, and differentiates that."""
    x = torch.tensor([0.0, 0.5], dtype=torch.float64)
    if compiled == AOT and is_from("torch", "2.14"):
        pytest.skip("193279 is closed; the release that mends it is not installed here")
    check_gradient(Square.apply, x)
    check_gradient(Square.apply, x, ways=usual)
    check_gradient(torch.compile(Square.apply, backend="aot_eager"), x, modes="rev")
    found = measure_gradient(Square.apply, x, ways=compiled)
    assert (found.kind, found.way) == (Class.NON_FINITE, compiled)


def test_194699_a_product_is_nan_by_torch_func() -> None:
    x = torch.tensor([[1e13, 0.0, 0.0], [1e13, 1e13, 0.0], [1e13, 1e13, 1e13]], dtype=torch.float32)
    check_gradient(torch.prod, x, modes="rev")
    found = measure_gradient(torch.prod, x, ways="torch.func.grad")
    assert found.kind is Class.NON_FINITE


@pytest.mark.slow
def test_194706_a_compiled_derivative_in_float16_does_not_compile() -> None:
    def f(x: Any) -> Any:
        product, total = torch.prod(x) + x, torch.sum(x) + x
        return torch.sum(torch.mm(torch.mm(product, total), total))

    x = (torch.arange(1, 10, dtype=torch.float16) / 10).reshape(3, 3)
    with contextlib.suppress(Exception), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.compile(torch.func.jacfwd(f))(x)
        pytest.skip("on this processor Inductor compiles it")
    found = measure_gradient(f, x, ways="torch.compile(torch.func.jacfwd)")
    assert found.kind is Class.ERROR
    assert "Compile" in found.reason


def test_197867_nested_forward_mode_through_a_function() -> None:
    skip_where_right("torch", "2.15")

    class Square(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any) -> Any:
            return x * x

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return 2.0 * ctx.saved_tensors[0] * g

        @staticmethod
        def jvp(ctx: Any, v: Any) -> Any:
            return 2.0 * ctx.saved_tensors[0] * v

    found = measure_gradient(
        Square.apply, torch.tensor(3.0, dtype=torch.float64), order=2, ways="torch.func.jacfwd"
    )
    assert found.wrong
    assert (found.modes, found.worst_expected, found.worst_got) == (("fwd", "fwd"), 2.0, 0.0)
