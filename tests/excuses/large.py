"""Plants beside what is granted to large arrays, whose truth is the engine's, confirmed by differences."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradfuzz.oracles.base import Array
from gradfuzz.testing import Measured, measure_gradient
from tests.excuses.planted import Planted
from tests.excuses.registry import excuse, planted_elsewhere

_RNG = np.random.default_rng(5)
_X = _RNG.normal(size=(4, 300)).astype(np.float32)
_W = _RNG.normal(size=(300, 250)).astype(np.float32) / np.float32(20.0)
_A = _RNG.normal(size=(150, 150)) / 20.0


def _layer(change: Any) -> Measured:
    """The gradient of sum(tanh(x @ w)) by w in float32, changed."""

    def gradient(w: Array) -> Array:
        terms = 1.0 - np.tanh(_X @ w) ** 2
        return np.asarray(change(_X.T @ terms, np.abs(_X).T @ terms), np.float32)

    return measure_gradient(lambda w: np.sum(np.tanh(_X @ w)), _W, grad=gradient)


def _smallest(g: Array, sizes: Array) -> Any:
    return np.unravel_index(int(np.argmin(np.abs(g) / sizes)), g.shape)


def _off(part: float) -> Any:
    """The entry that cancels most is off by this part of what it is made of."""

    def change(g: Array, sizes: Array) -> Array:
        place = _smallest(g, sizes)
        g[place] += part * sizes[place]
        return g

    return change


def _one(factor: float) -> Any:
    def change(g: Array, sizes: Array) -> Array:
        g[17, 101] *= factor
        return g

    return change


@excuse(
    "Of a large gradient some entries cancel, and of these no more is known than what they are made of. A"
    " larger mistake in such an entry is found, and one in any other.",
    "fuzzer/verdict/judge.py: _CANCELLED",
    "fuzzer/verdict/judge.py: _MANY",
    "fuzzer/tolerance/perturbed.py: A_FEW",
)
def entries_of_a_large_gradient_that_cancel() -> Planted:
    found = _layer(_off(1e-2)), _layer(_one(1.5)), _layer(lambda g, _: -g), _layer(lambda g, _: 1.01 * g)
    return Planted(_layer(_off(2e-8)), "agree", found)


def _square(change: Any, edge: float = 0.0) -> Measured:
    """The gradient of sum(tanh(a @ a)), or of sum(max(a @ a, edge)), by a, changed."""

    def gradient(a: Array) -> Array:
        inner = 1.0 - np.tanh(a @ a) ** 2
        return np.asarray(change(inner @ a.T + a.T @ inner))

    return measure_gradient(lambda a: np.sum(np.tanh(a @ a)), _A, grad=gradient)


def _entry(factor: float) -> Any:
    def change(g: Array) -> Array:
        g[7, 5] *= factor
        return g

    return change


@excuse(
    "An entry of a large gradient is off by less than differences tell. One that is off by more is found.",
    "fuzzer/verdict/large.py Large.upheld: Reason.REFERENCES",
)
def an_error_below_differences() -> Planted:
    return Planted(_square(_entry(1.0 + 1e-12)), "", (_square(_entry(1.001)), _square(lambda g: 1.001 * g)))


planted_elsewhere(
    "A decision that rounding leaves open is taken the other way. The whole gradient has to be the one for"
    " that decision: a mistake beside it is found.",
    (
        "tests/unit/fuzzer/test_large.py::"
        "test_a_decision_taken_the_other_way_is_right_and_a_mistake_beside_it_is_not",
        "tests/unit/fuzzer/test_large.py::test_a_relu_whose_slope_is_1_below_0_is_found",
    ),
    "fuzzer/tolerance/perturbed.py: _ALIKE",
    "fuzzer/verdict/large.py: _TRIED",
)


def _kink(factor: float, shift: float) -> Measured:
    """sum(max(x, 0)^(1 or 2)) at zeros, which have no derivative, or beside them."""
    x = np.linspace(-1.0, 1.0, 60_001) + shift
    return measure_gradient(
        lambda x: np.sum(np.where(x > 0.0, x, -x)), x, grad=lambda x: np.where(x > 0.0, factor, -1.0)
    )


@excuse(
    "The engine and differences contradict each other where there is no derivative. Beside it a mistake is"
    " found.",
    "fuzzer/verdict/large.py Large.truth: Doubt.REFERENCES",
    "fuzzer/verdict/large.py Large.truth: Doubt.REFERENCES",
    "fuzzer/verdict/large.py Large.truth: Doubt.REFERENCES",
)
def no_derivative_of_a_large_array() -> Planted:
    return Planted(_kink(1.0, 0.0), "", (_kink(1.5, 1e-5), _kink(-1.0, 1e-5)))
