"""Cotangents and directions tell entries apart."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from gradfuzz.fuzzer.questions.weighted import seed_of, signed, weighted_question
from gradfuzz.oracles.base import Point
from gradfuzz.programs import parse
from gradfuzz.programs.language.precision import FORMATS, Precision
from gradfuzz.testing import GradientMismatch, check_gradient

SHAPES = [shape for rank in range(5) for shape in itertools.product((1, 2, 3), repeat=rank)]


def drawn(shape: tuple[int, ...], precision: Precision = "float64", seed: int = 3) -> np.ndarray:
    return signed(np.random.default_rng(seed), shape, precision)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_no_exchange_of_entries_is_hidden(shape: tuple[int, ...]) -> None:
    """Swaps of any two entries, rolls, reversals and transposes: each leaves other weights."""
    weights = drawn(shape)
    assert len(np.unique(np.abs(weights))) == weights.size
    assert np.all((np.abs(weights) >= 0.5) & (np.abs(weights) <= 2.0) & (np.abs(weights) != 1.0))
    for axis, length in enumerate(shape):
        if length > 1:
            assert not np.any(np.roll(weights, 1, axis) == weights)
            assert not np.array_equal(np.flip(weights, axis), weights)
    for order in itertools.permutations(range(len(shape))):
        moved = np.transpose(weights, order)
        if moved.shape == shape and not np.array_equal(*np.broadcast_arrays(order, range(len(shape)))):
            same = np.transpose(np.arange(weights.size).reshape(shape), order).ravel() == range(weights.size)
            assert np.array_equal(moved.ravel() == weights.ravel(), same)


@pytest.mark.parametrize("precision", FORMATS)
@pytest.mark.parametrize("count", [1, 12, 13, 100, 5000])
def test_weights_are_exact_and_as_different_as_the_precision_allows(precision: Precision, count: int) -> None:
    weights = drawn((count,), precision)
    assert np.array_equal(weights.astype(FORMATS[precision].dtype).astype(np.float64), weights)
    bits = round(-math.log2(FORMATS[precision].roundoff))
    most = 3 * 2 ** (bits - 2)  # numbers from 1/2 to 2, without 1
    _, repeats = np.unique(np.abs(weights), return_counts=True)
    assert repeats.max() == math.ceil(count / most)


def test_a_few_weights_of_a_sweep_are_eighths() -> None:
    assert np.array_equal(drawn((12,)) * 8, np.round(drawn((12,)) * 8))


def test_other_inputs_are_asked_with_other_weights() -> None:
    program = parse('def f(x: "float[3]"):\n    return sin(x)\n')
    points = [Point({"x": np.array(x)}) for x in ([0.5, 1.0, 2.0], [0.5, 1.0, 2.0], [0.5, 1.0, 2.5])]
    first, again, other = (
        weighted_question(program, [p], "float64", ("rev",), seed_of(p.inputs.values())).weights[0]
        for p in points
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_a_cotangent_that_is_rounded_to_fewer_digits_is_seen(dtype: str) -> None:
    x = np.array([0.5, 1.0, 2.0])
    check_gradient(np.flip, x, grad=lambda x, g: np.flip(g))
    with pytest.raises(GradientMismatch):
        check_gradient(np.flip, x, grad=lambda x, g: np.flip(g).astype(dtype).astype(x.dtype))
