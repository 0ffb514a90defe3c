"""Modules and other objects that hold numbers: each parameter is asked about, and a check changes nothing."""

from __future__ import annotations

import functools
import itertools
import random
from typing import Any

import numpy as np
import pytest

from gradfuzz import GradientMismatch, check_gradient, measure_gradient
from gradfuzz.errors import UsageError
from gradfuzz.fuzzer.measuring.measured import InconclusiveWarning
from gradfuzz.fuzzer.results.finding import Verdict
from gradfuzz.libraries.objects import GENERATORS, OneDraw

torch = pytest.importorskip("torch")
jax = pytest.importorskip("jax")


class Times(torch.autograd.Function):
    """The identity, whose gradient is times a factor."""

    @staticmethod
    def forward(ctx: Any, x: Any, factor: float) -> Any:
        ctx.factor = factor
        return x.clone()

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        return cotangents[0] * ctx.factor, None


class Block(torch.nn.Module):
    """A tanh layer; the gradient of its bias is times `factor`."""

    def __init__(self, factor: float = 1.0) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.linear = torch.nn.Linear(2, 2, dtype=torch.float64)
        self.bias = torch.nn.Parameter(torch.tensor([0.25, -0.5], dtype=torch.float64))
        self.factor = factor

    def forward(self, x: Any) -> Any:
        return torch.tanh(self.linear(x) + Times.apply(self.bias, self.factor))


X = torch.tensor([[0.5, -1.0], [1.5, 0.25], [-0.75, 2.0]], dtype=torch.float64)


def test_a_module_is_asked_about_every_parameter_and_left_as_it_was() -> None:
    block = Block()
    before = {name: value.clone() for name, value in block.state_dict().items()}
    measured = measure_gradient(block, X)
    assert measured.verdict is Verdict.AGREE
    assert tuple(measured.got) == ("x", "bias", "linear.weight", "linear.bias")
    assert all(torch.equal(before[name], value) for name, value in block.state_dict().items())
    assert all(p.grad is None for p in block.parameters())


def test_buffers_and_the_training_mode_stay() -> None:
    norm = torch.nn.BatchNorm1d(2, affine=False, dtype=torch.float64)
    before = {name: value.clone() for name, value in norm.state_dict().items()}
    measured = measure_gradient(norm, X)
    assert measured.verdict is Verdict.AGREE
    assert tuple(measured.got) == ("input",)
    assert all(torch.equal(before[name], value) for name, value in norm.state_dict().items())
    assert norm.training


def test_a_wrong_gradient_of_a_parameter_is_named() -> None:
    with pytest.raises(GradientMismatch, match=r"by bias\[[01]\] is wrong"):
        check_gradient(Block(1.01), X)
    check_gradient(Block(1.01), X, wrt="x")
    check_gradient(Block(1.01), X, wrt=["linear.*", 0])
    with pytest.raises(GradientMismatch):
        check_gradient(Block(1.01), X, wrt="b*")
    with pytest.raises(UsageError, match="names no float argument of Block"):
        check_gradient(Block(), X, wrt="missing.*")
    with pytest.raises(UsageError, match="names no float argument of Block"):
        check_gradient(Block(), X, wrt=1)


def test_hooks_of_a_parameter_are_part_of_its_gradient() -> None:
    x = torch.tensor([[0.5, -1.0, 0.25]], dtype=torch.float64)
    layer, norms = torch.nn.Linear(3, 2).double(), list[Any]()
    layer.weight.register_hook(lambda g: norms.append(g.norm()))
    check_gradient(layer, x, strict=True)
    assert norms
    layer.weight.register_hook(lambda g: 1.001 * g)
    with pytest.raises(GradientMismatch, match="weight"):
        check_gradient(layer, x)


def test_what_is_frozen_is_not_asked_about() -> None:
    block = Block(1.01)
    block.bias.requires_grad_(requires_grad=False)
    assert "bias" not in measure_gradient(block, X).got


def test_modules_among_arguments_and_behind_methods_are_asked_about_too() -> None:
    def loss(model: Any, x: Any) -> Any:
        return model(x).sum()

    with pytest.raises(GradientMismatch, match=r"by model\.bias"):
        check_gradient(loss, Block(1.01), X)
    with pytest.raises(GradientMismatch, match="by bias"):
        check_gradient(Block(1.01).forward, X)
    with pytest.raises(GradientMismatch, match="bias"):
        check_gradient(functools.partial(loss, Block(1.01)), X)


def test_dropout_has_one_mask_and_random_states_are_kept() -> None:
    layer = torch.nn.Sequential(torch.nn.Linear(2, 4, dtype=torch.float64), torch.nn.Dropout(0.5))
    states = torch.get_rng_state(), np.random.get_state()[1].tobytes()  # noqa: NPY002 - what users draw from
    measured = measure_gradient(layer, X)
    assert measured.verdict is Verdict.AGREE
    assert measured.drawn == ("torch",)
    assert torch.equal(states[0], torch.get_rng_state())
    assert states[1] == np.random.get_state()[1].tobytes()  # noqa: NPY002 - the same

    def wrong(x: Any) -> Any:
        return torch.nn.functional.dropout(Times.apply(x, 1.01), 0.5)

    with pytest.raises(GradientMismatch, match="random numbers of torch, with the same seed at each call"):
        check_gradient(wrong, X)


def test_a_function_is_seeded_only_if_it_draws_and_states_are_kept() -> None:
    def plain(x: Any) -> Any:
        calls.append(x)
        return x

    def drawing(x: Any) -> Any:
        return x + random.random()

    calls: list[Any] = []
    before = random.getstate()
    assert OneDraw(plain, GENERATORS)(1.0) == 1.0
    assert len(calls) == 1
    one = OneDraw(drawing, GENERATORS)
    assert one(1.0) == one(1.0) == 1.0 + random.Random(0).random()
    assert one.drawn == ("python",)
    assert random.getstate() == before


def test_a_module_that_counts_its_calls_is_told_as_one_with_other_values_each_time() -> None:
    class Counting(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.calls = itertools.count(1)
            self.weight = torch.nn.Parameter(torch.ones(2, dtype=torch.float64))

        def forward(self, x: Any) -> Any:
            return x * self.weight * float(next(self.calls))

    with pytest.warns(InconclusiveWarning, match="Counting returns other values each time it is called"):
        check_gradient(Counting(), X)


@pytest.mark.parametrize("factor", [1.0, 1.001])
def test_each_argument_has_its_own_dtype(factor: float) -> None:
    weight = torch.tensor([[0.5, -0.25], [1.0, 0.75]])

    def torch_mixed(w: Any, x: Any) -> Any:
        return torch.tanh(x @ Times.apply(w, factor).double())

    @jax.custom_vjp
    def times(x: Any) -> Any:
        return x

    times.defvjp(lambda x: (x, None), lambda _, g: (g * factor,))

    def jax_mixed(w: Any, x: Any) -> Any:
        return jax.numpy.tanh(x @ times(w))

    pairs = ((torch_mixed, (weight, X)), (jax_mixed, (weight.numpy(), X.numpy())))
    for f, args in pairs:
        measured = measure_gradient(f, *args)
        assert (measured.verdict is Verdict.AGREE) == (factor == 1.0)
        assert measured.worst is None or measured.worst[0] == "w" or factor == 1.0


@pytest.mark.parametrize("factor", [1.0, 1.05])
def test_what_is_computed_in_bfloat16_is_judged_in_it(factor: float) -> None:
    torch.manual_seed(0)
    weight, x = torch.randn(2, 3), torch.randn(4, 2)

    def autocast(w: Any, x: Any) -> Any:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return torch.tanh(x @ Times.apply(w, factor)).float().sum(1)

    measured = measure_gradient(autocast, weight, x)
    if factor == 1.0:
        assert (measured.verdict, measured.precision) == (Verdict.AGREE, "bfloat16")
    else:
        assert measured.wrong


class Layer:
    """A class of a user's own, registered with JAX."""

    def __init__(self, weight: Any, bias: Any, times: Any) -> None:
        self.weight, self.bias, self.times = weight, bias, times

    def __call__(self, x: Any) -> Any:
        return jax.numpy.tanh(x @ self.weight + self.times(self.bias))


jax.tree_util.register_pytree_with_keys(
    Layer,
    lambda one: (
        [(jax.tree_util.GetAttrKey("weight"), one.weight), (jax.tree_util.GetAttrKey("bias"), one.bias)],
        one.times,
    ),
    lambda times, leaves: Layer(*leaves, times),
)


def test_a_registered_class_is_asked_about_its_arrays() -> None:
    @jax.custom_vjp
    def wrong(x: Any) -> Any:
        return x

    wrong.defvjp(lambda x: (x, None), lambda _, g: (g * 1.01,))
    weight, bias, x = np.array([[0.5, -1.0], [0.25, 2.0]]), np.array([0.25, -0.5]), np.array([1.5, 0.75])
    right, planted = (Layer(weight, bias, times) for times in (lambda b: b, wrong))
    measured = measure_gradient(right, x, framework="jax")
    assert measured.verdict is Verdict.AGREE
    assert tuple(measured.got) == ("x", "weight", "bias")
    with pytest.raises(GradientMismatch, match=r"by bias\["):
        check_gradient(planted, x, framework="jax")
    with pytest.raises(GradientMismatch, match=r"by layer\.bias\["):
        check_gradient(lambda layer, x: layer(x), planted, x, framework="jax")
