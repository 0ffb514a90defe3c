"""Objects among the arguments of a recorded call: kept as data, and made again without running anything."""

from __future__ import annotations

import dataclasses
import enum
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest
import torch

from gradfuzz.errors import UsageError
from gradfuzz.fuzzer.calling import objects
from gradfuzz.fuzzer.calling.objects import ArgumentWriter, NotData, built
from gradfuzz.fuzzer.calling.public_calls import Package
from gradfuzz.fuzzer.findings.calls.code import expression
from gradfuzz.fuzzer.results.call import Argument, Call
from gradfuzz.fuzzer.results.codec import decode, encode
from gradfuzz.libraries.detect import library_named


def again(value: Any, library: str = "torch", home: str = "torch.nn.functional.f", **how: Any) -> Any:
    """The value after it was written as a file has it, and read."""
    own = library_named(library)
    written = ArgumentWriter(own, entries=64, **{"pickles": False, **how}).argument("", value)
    read = decode(Argument, encode(Argument, written))
    call = Call(library, home, (read,))
    arrays = [own.constant(np.asarray(a.array)) for a in call.differentiated()]
    return built(read, own, iter(arrays), home)


@pytest.mark.parametrize(
    "value",
    [
        {"a": (1, 2.5, None), ("b", 2): [True, "text"]},
        frozenset({1, 2}),
        {3},
        slice(1, None, 2),
        (),
        [float("inf"), -float("inf")],
        torch.float32,
        torch.nn.functional.softplus,
        torch.sin,
        torch.nn.Linear,
    ],
)
def test_what_is_no_array_comes_again(value: object) -> None:
    found = again(value)
    assert found == value
    assert type(found) is type(value)


def test_a_module_of_torch_comes_again_with_its_parameters() -> None:
    module = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh()).double()
    x = torch.tensor([0.5, -1.0], dtype=torch.float64)
    found = again(module)
    assert type(found) is torch.nn.Sequential
    assert torch.equal(found(x), module(x))


def test_the_structure_of_a_pytree_and_a_key_come_again() -> None:
    tree = jax.tree.structure({"a": 1, "b": (2, None)})
    assert again(tree, "jax") == tree
    key = jax.random.key(7)
    assert jax.random.key_data(again(key, "jax")).tolist() == jax.random.key_data(key).tolist()


def test_a_module_of_flax_that_is_bound_comes_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its value is that by hand. What makes its first weights has no name, so it is pickled."""
    linen = pytest.importorskip("flax.linen")
    pytest.importorskip("cloudpickle", reason="functions without a name are pickled by cloudpickle")
    monkeypatch.setenv(objects.TRUST, "1")
    x, weight = np.array([0.5, -1.0]), np.array([[2.0], [3.0]])
    bound = linen.Sequential([linen.Dense(1), linen.tanh]).bind(
        {"params": {"layers_0": {"kernel": jax.numpy.asarray(weight), "bias": jax.numpy.ones(1)}}},
        rngs={"dropout": jax.random.key(3)},
    )
    found = again(bound, "jax", "flax.linen.f", pickles=True)
    assert np.allclose(found(x), np.tanh(x @ weight + 1.0), rtol=1e-6)
    assert jax.random.key_data(found.scope.rngs["dropout"].as_jax_rng()).tolist() == [0, 3]
    written = ArgumentWriter(library_named("jax"), entries=64, pickles=True).argument("", bound)
    text = expression(Call("jax", "flax.linen.f", (written,)))
    assert ").bind({'params': {" in text


def test_a_partial_and_a_method_come_again() -> None:
    partial = again(functools.partial(torch.nn.functional.softplus, beta=2.0))
    assert (partial.func, partial.keywords) == (torch.nn.functional.softplus, {"beta": 2.0})
    assert again(torch.nn.ReLU().forward)(torch.tensor(-1.0)) == 0.0


def local() -> Callable[[float], float]:
    return lambda x: x + 1.0


def test_a_function_without_a_name_is_pickled_where_that_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cloudpickle", reason="functions without a name are pickled by cloudpickle")
    with pytest.raises(NotData, match="with --pickle only"):
        again(local())
    with pytest.raises(UsageError, match="would run a pickled function; give --trust"):
        again(local(), pickles=True)
    monkeypatch.setenv(objects.TRUST, "1")
    assert again(local(), pickles=True)(1.0) == 2.0


@pytest.mark.parametrize(
    "name",
    [
        "os.system",
        "torch.hub.load",
        "torch.nn.modules.module.torch.hub.load",  # through what a module has imported
        "torch.nn.functional.torch.load",
        "jax.numpy.load",
        "torch.__main__.f",
    ],
)
def test_a_name_of_something_else_is_not_followed_without_trust(name: str) -> None:
    with pytest.raises(UsageError, match=r"would run .*; give --trust"):
        objects.named(name, "jax.f" if name.startswith("torch.hub") else "mypackage.f")


def test_an_object_of_a_class_of_something_else_is_not_made_without_trust() -> None:
    evil = Argument(items=(Argument("args", literal="'true'"),), made="subprocess.Popen")
    call = Call("torch", "mypackage.f", (evil, Argument(array=np.ones(1))))
    with pytest.raises(UsageError, match=r"would run subprocess.Popen"):
        objects.check_trust(call)
    with pytest.raises(UsageError, match=r"would run subprocess.Popen"):
        built(evil, library_named("torch"), iter(()), "mypackage.f")


def test_a_generator_is_no_data() -> None:
    with pytest.raises(NotData, match="an argument of type generator cannot be recorded"):
        again(x for x in ())


class Kind(enum.Enum):
    """A member of an enumeration is kept by its name."""

    SOFT = "soft"


class Pair(NamedTuple):
    """A named tuple is one again."""

    low: Any
    high: Any


@dataclasses.dataclass(frozen=True)
class Scaled:
    """A frozen class whose constructor refuses all, and that remembers what it computed."""

    factor: Any
    kind: Kind

    def __post_init__(self) -> None:
        raise AssertionError("no constructor is called")

    @functools.cached_property
    def squared(self) -> Any:
        """What is only remembered is computed again from the other fields."""
        return self.factor * self.factor


class Slotted:
    """Fields in slots are fields."""

    __slots__ = ("inner",)

    def __init__(self, inner: Any) -> None:
        self.inner = inner


def test_objects_of_a_package_come_again_by_their_fields() -> None:
    scaled = objects.made(Scaled, {"factor": torch.tensor([2.0]), "kind": Kind.SOFT, "squared": "stale"})
    found = again(Slotted(Pair(scaled, {"a": scaled})), home="tests.f", package=Package("tests"))
    assert type(found) is Slotted
    assert type(found.inner) is Pair
    low = found.inner.low
    assert (type(low), low.kind) == (Scaled, Kind.SOFT)
    assert float(low.squared) == 4.0
    assert list(found.inner.high) == ["a"]
