"""Modules of Equinox, Flax, Keras and Haiku, where they are installed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradfuzz import GradientMismatch, check_gradient, measure_gradient
from gradfuzz.fuzzer.results.finding import Verdict

jax = pytest.importorskip("jax")


@jax.custom_vjp
def times(x: Any, factor: float) -> Any:
    return x


times.defvjp(lambda x, factor: (x, factor), lambda factor, g: (g * factor, None))

X = np.linspace(-1.0, 1.0, 6, dtype=np.float32).reshape(2, 3)


def pair_of(make: Any, *args: Any, name: str) -> None:
    """The right one passes, and a gradient of the parameter that is 5 % too large is named."""
    measured = measure_gradient(make(1.0), *args, framework="jax")
    assert measured.verdict is Verdict.AGREE, measured.reason
    with pytest.raises(GradientMismatch, match=rf"by {name}\["):
        check_gradient(make(1.05), *args, framework="jax")


def test_equinox() -> None:
    eqx = pytest.importorskip("equinox")

    class Model(eqx.Module):
        linear: Any
        dropout: Any
        factor: float = eqx.field(static=True)

        def __call__(self, x: Any, key: Any) -> Any:
            weight = times(self.linear.weight, self.factor)
            return jax.numpy.tanh(self.dropout(x @ weight.T + self.linear.bias, key=key))

    key = jax.random.PRNGKey(0)
    linear, dropout = eqx.nn.Linear(3, 2, key=key), eqx.nn.Dropout(0.5)
    pair_of(lambda factor: Model(linear, dropout, factor), X, key, name=r"linear\.weight")


def test_flax_linen() -> None:
    nn = pytest.importorskip("flax.linen")

    class Model(nn.Module):
        factor: float

        @nn.compact
        def __call__(self, x: Any) -> Any:
            x = nn.BatchNorm(use_running_average=False)(nn.Dense(2, use_bias=False)(x))
            return x * times(self.param("scale", nn.initializers.ones, (2,)), self.factor)

    variables = Model(1.0).init(jax.random.PRNGKey(0), X)

    def bound(factor: float) -> Any:
        return Model(factor).bind(variables, mutable=["batch_stats"])

    pair_of(bound, X, name="scale")


def test_flax_nnx() -> None:
    nnx = pytest.importorskip("flax.nnx")

    class Model(nnx.Module):  # type: ignore[misc]
        def __init__(self, factor: float) -> None:
            rngs = nnx.Rngs(0)
            self.linear, self.dropout = nnx.Linear(3, 2, rngs=rngs), nnx.Dropout(0.5, rngs=rngs)
            self.factor = factor

        def __call__(self, x: Any) -> Any:
            return self.dropout(jax.numpy.tanh(x @ times(self.linear.kernel[...], self.factor)))

    pair_of(Model, X, name=r"linear\.kernel")
    model = Model(1.0)
    check_gradient(model, X, framework="jax")
    assert int(model.dropout.rngs.count[...]) == 0


def test_haiku() -> None:
    hk = pytest.importorskip("haiku")

    def transformed(factor: float) -> Any:
        def f(x: Any) -> Any:
            weight = hk.get_parameter("w", (3, 2), init=hk.initializers.RandomNormal())
            return jax.numpy.tanh(x @ times(weight, factor))

        return hk.without_apply_rng(hk.transform(f))

    params = transformed(1.0).init(jax.random.PRNGKey(0), X)
    pair_of(lambda factor: transformed(factor).apply, params, X, name=r"params\['~'\]\['w'\]")


def test_keras() -> None:
    pytest.importorskip("keras")
    keras = pytest.importorskip("keras", reason="Keras needs a backend")
    if keras.backend.backend() != "jax":
        pytest.skip("Keras runs on another backend; set KERAS_BACKEND=jax")

    class Model(keras.Layer):  # type: ignore[misc]
        def __init__(self, factor: float) -> None:
            super().__init__()
            self.factor = factor

        def build(self, shape: Any) -> None:
            self.w = self.add_weight(shape=(3, 2), name="w")

        def call(self, x: Any) -> Any:
            return jax.numpy.tanh(x @ times(self.w.value, self.factor))

    def built(factor: float) -> Any:
        keras.utils.set_random_seed(0)
        layer = Model(factor)
        layer(X)
        return layer

    pair_of(built, X, name="w")
