"""Large arrays: what a check costs, that a mistake is named, and what is said where it would cost too much.

Gradients are those of sums of tanh, which NumPy computes; the mistakes are planted.
"""

from __future__ import annotations

import math
import resource
import sys
import time
from typing import Any

import numpy as np
import pytest

from gradfuzz.errors import UsageError
from gradfuzz.fuzzer.questions.weighted import plain_question
from gradfuzz.fuzzer.results.finding import Verdict
from gradfuzz.fuzzer.tolerance import perturbed
from gradfuzz.fuzzer.tolerance.lanes import LANES, in_blocks, spread
from gradfuzz.fuzzer.tolerance.perturbed import PerturbedNamespace
from gradfuzz.fuzzer.verdict.along import products, signs
from gradfuzz.oracles.base import ALONG, Point, ProbedQuestion
from gradfuzz.programs import parse
from gradfuzz.programs.language.precision import FORMATS
from gradfuzz.testing import GradientMismatch, check_gradient, measure_gradient

Array = np.ndarray[Any, Any]

RNG = np.random.default_rng(3)


def lanes(x: Array) -> Array:
    return np.repeat(x[..., np.newaxis], LANES, axis=-1)


def layer(x: Array) -> Any:
    """A function of a matrix of many entries."""
    return lambda w: np.sum(np.tanh(x @ w))


def slopes(x: Array, w: Array) -> Array:
    return np.asarray(x.T @ (1.0 - np.tanh(x @ w) ** 2))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_right_gradient_of_a_hundred_thousand_passes_and_a_wrong_entry_is_named(dtype: str) -> None:
    x, w = RNG.normal(size=(4, 400)).astype(dtype) / 20, RNG.normal(size=(400, 250)).astype(dtype)

    def wrong(w: Array) -> Array:
        found = slopes(x, w)
        found[17, 101] *= 1.5
        return found

    check_gradient(layer(x), w, grad=lambda w: slopes(x, w), strict=True)
    with pytest.raises(GradientMismatch, match=r"by w\[17, 101\]"):
        check_gradient(layer(x), w, grad=wrong)


def test_a_product_loses_as_a_whole_what_its_products_lose(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = RNG.normal(size=(40, 30)), RNG.normal(size=(30, 50))
    namespace = PerturbedNamespace("float64")

    def noise() -> Array:
        found = namespace.matmul(lanes(a), lanes(b))
        np.testing.assert_allclose(found[..., 0], a @ b, rtol=1e-12)
        return np.asarray(np.abs(found - found[..., :1]).max(axis=-1))

    whole = noise()
    monkeypatch.setattr(perturbed, "MANY", 10**9)
    ratio = whole / noise()
    assert np.median(ratio) == pytest.approx(1.0, rel=0.1)
    assert np.all((ratio > 0.4) & (ratio < 2.5))


def test_what_a_product_is_granted_holds_in_any_order() -> None:
    """n u |A| |B| bounds every order of the additions (Higham 2002, section 3.1); 8 times the noise is what
    is granted.
    """
    a, b = np.abs(RNG.normal(size=(40, 60))), np.abs(RNG.normal(size=(60, 50)))
    namespace = PerturbedNamespace("float64")
    found = namespace.matmul(lanes(a), lanes(b))
    granted = 8.0 * namespace.scale * np.abs(found - found[..., :1]).max(axis=-1)
    most = 60 * 2.0**-53 * (a @ b)
    assert np.all(granted >= most)
    assert np.all(granted <= 6.0 * most)


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in KiB there")
def test_a_product_of_matrices_takes_little_memory() -> None:
    a = RNG.normal(size=(200, 200)) / 30

    def gradient(a: Array) -> Array:
        inner = 1.0 - np.tanh(a @ a) ** 2
        return np.asarray(inner @ a.T + a.T @ inner)

    before, begun = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    check_gradient(lambda a: np.sum(np.tanh(a @ a)), a, grad=gradient, strict=True)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 * 2**10
    assert time.process_time() - begun < 10.0


def test_the_limit_of_memory_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADFUZZ_MEMORY", "0.0001")
    x, w = RNG.normal(size=(4, 40)), RNG.normal(size=(40, 50))
    with pytest.raises(UsageError, match=r"takes about .* GiB, more than 0.0001 GiB.*GRADFUZZ_MEMORY="):
        check_gradient(layer(x), w, grad=lambda w: slopes(x, w))
    monkeypatch.setenv("GRADFUZZ_MEMORY", "much")
    with pytest.raises(UsageError, match="is not a number of GiB"):
        check_gradient(layer(x), w, grad=lambda w: slopes(x, w))


# Decisions that rounding leaves open ------------------------------------------------------------------------

Gradients = dict[str, Array]

_BATCH, _WIDTHS = 16, (250, 300, 30)


def parts() -> Gradients:
    """Inputs of `network`, in float32."""
    rng = np.random.default_rng(3)
    inner, width, outer = _WIDTHS
    sizes = {"x": (_BATCH, inner), "w": (inner, width), "b": (width,), "v": (width, outer)}
    scales = {"x": 1.0, "w": inner**-0.5, "b": 1.0, "v": 0.1}
    return {name: (rng.normal(size=size) * scales[name]).astype(np.float32) for name, size in sizes.items()}


def network(x: Any, w: Any, b: Any, v: Any) -> Any:
    """The sum of squares of two layers with a relu between them."""
    return np.sum((np.maximum(x @ w + b, 0.0) @ v) ** 2)


def slopes_of_network(x: Array, w: Array, b: Array, v: Array, on: Array | None = None) -> Gradients:
    z = x @ w + b
    on = z > 0.0 if on is None else on
    h = np.maximum(z, 0.0)
    outer = 2.0 * h @ v
    inner = on * (outer @ v.T)
    return {"x": inner @ w.T, "w": x.T @ inner, "b": inner.sum(0), "v": h.T @ outer}


def measured(change: Any, on: Any = None) -> Any:
    """The measure of a gradient, changed, where `on(z)` says which relus are on."""

    def gradient(x: Array, w: Array, b: Array, v: Array) -> tuple[Array, ...]:
        found = slopes_of_network(x, w, b, v, None if on is None else on(x @ w + b))
        change(found)
        return tuple(np.asarray(g, x.dtype) for g in found.values())

    return measure_gradient(network, *parts().values(), grad=gradient)


def nothing(found: Gradients) -> None:
    pass


def entry(name: str, place: Any, factor: float) -> Any:
    def change(found: Gradients) -> None:
        found[name][place] *= factor

    return change


def nearest(z: Array) -> tuple[int, int]:
    """The relu whose argument is nearest to 0."""
    row, column = np.unravel_index(int(np.argmin(np.abs(z))), z.shape)
    return int(row), int(column)


def turned_at_the_nearest(z: Array) -> Array:
    """The relu whose argument is nearest to 0 in float32 is decided the other way there, as it may be."""
    on = z > 0.0
    if z.dtype == np.float32:
        on[nearest(z)] ^= True
    return on


def test_rounding_decides_of_some_relus_and_a_right_gradient_agrees() -> None:
    found = measured(nothing)
    assert (found.verdict, found.unjudged) == (Verdict.AGREE, {})


@pytest.mark.parametrize(
    ("change", "worst"),
    [
        (entry("w", (17, 43), 2.0), ("w", (17, 43))),
        (entry("w", ..., 1.01), None),
        (entry("w", ..., 1.001), None),
        (entry("b", 5, -1.0), ("b", (5,))),
        (entry("w", 11, 0.0), None),
    ],
    ids=["an entry", "a layer by 1 %", "a layer by 0.1 %", "a sign", "a row"],
)
def test_a_mistake_beside_them_is_found(change: Any, worst: Any) -> None:
    found = measured(change)
    assert found.verdict is Verdict.DISAGREE
    assert found.worst is not None
    assert worst is None or found.worst == worst


def test_a_relu_whose_slope_is_1_below_0_is_found() -> None:
    def leaks(z: Array) -> Array:
        on = z > 0.0
        on[:, 7] = True
        return on

    assert measured(nothing, leaks).verdict is Verdict.DISAGREE


def test_a_decision_taken_the_other_way_is_right_and_a_mistake_beside_it_is_not() -> None:
    x, w, b, _ = parts().values()
    z = x.astype(np.float64) @ w + b
    assert np.abs(z[nearest(z)]) < 1e-3
    right = measured(nothing, turned_at_the_nearest)
    assert right.verdict is Verdict.AGREE, right.reason
    assert "turned the answer is right" in right.reason
    assert measured(entry("w", (17, 43), 2.0), turned_at_the_nearest).verdict is Verdict.DISAGREE


@pytest.mark.parametrize("share", [1.0, 1.001])
def test_an_entry_that_is_off_together_with_all_others_is_found(share: float) -> None:
    """No entry of a mean over 100,000 is off by what differences see, and all together are."""
    x = RNG.normal(size=100_000).astype(np.float32)
    found = measure_gradient(
        lambda x: np.sqrt(np.mean(x * x)),
        x,
        grad=lambda x: share * x / (x.size * np.sqrt(np.mean(x * x))),
    )
    assert found.verdict is (Verdict.AGREE if share == 1.0 else Verdict.DISAGREE)


def test_lanes_are_looked_at_part_by_part() -> None:
    x = RNG.normal(size=(3, 40_000, LANES))
    parts, beside = zip(*in_blocks(x, 2.0 * x[..., :1]), strict=True)
    assert len(parts) > 1
    assert np.array_equal(np.concatenate(parts, axis=0), np.moveaxis(x, 1, 0))
    assert all(np.array_equal(own, 2.0 * part[..., :1]) for part, own in zip(parts, beside, strict=True))
    y = np.moveaxis(x.reshape(300, 400, LANES), 0, 1)  # its first axis lies in memory behind its second one
    assert np.array_equal(np.concatenate([part for (part,) in in_blocks(y)], axis=0), np.moveaxis(y, 1, 0))
    assert np.array_equal(spread(y), np.max(np.abs(y - y[..., :1]), axis=-1))
    assert np.array_equal(spread(x), np.max(np.abs(x - x[..., :1]), axis=-1))
    z = x[:2, :5] + 1j * x[1:, 5:10]
    assert np.array_equal(spread(z), np.max(np.abs(z - z[..., :1]), axis=-1))


def test_weights_of_either_sign_are_exact_and_of_one_size() -> None:
    for precision in FORMATS:
        drawn = signs((200, 100), np.random.default_rng(0), precision)
        assert np.min(np.abs(drawn)) >= 0.5
        assert np.max(np.abs(drawn)) <= 1.0
        assert np.array_equal(drawn.astype(precision).astype(np.float64), drawn)
        assert 0.45 < np.mean(drawn > 0.0) < 0.55
        assert abs(np.mean(np.abs(drawn)) - 0.75) < 0.01


def test_products_of_many_entries_are_added_up_exactly() -> None:
    x = RNG.normal(size=(3, 100_001))
    program = parse("def f(x: float[3, 100001]):\n    return sum(x)")
    question = plain_question(program, [Point({"x": x})], "float64", None, ("rev",))
    weights = np.where(RNG.random(x.shape) < 0.1, 0.0, signs(x.shape, RNG, "float64"))
    for w in (weights, np.where(weights == 0.0, 0.5, weights)):
        (found,) = products(ProbedQuestion.of(question, [{"x": w}]), {"x": x})[ALONG]
        assert abs(found - math.fsum((w * x).ravel().tolist())) < 1e-13 * np.sqrt(np.sum((w * x) ** 2))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_mistake_that_stays_is_asked_about_a_few_times(dtype: str) -> None:
    """What is wrong by the same at other last bits is no rounding; thirteen times were asked before."""
    x, w = RNG.normal(size=(4, 400)).astype(dtype) / 20, RNG.normal(size=(400, 250)).astype(dtype)
    asked: list[str] = []

    def wrong(w: Array) -> Array:
        asked.append(w.dtype.name)
        found = slopes(x, w)
        found[17, 101] *= 1.5
        return found

    with pytest.raises(GradientMismatch, match=r"by w\[17, 101\]"):
        check_gradient(layer(x), w, grad=wrong, modes="rev")
    assert len(asked) <= 7, asked


def test_an_error_that_other_last_bits_change_is_asked_about_as_often_as_before() -> None:
    """A plant beside the answers that are enough: errors to both sides are rounding."""
    x, w = RNG.normal(size=(4, 400)) / 20, RNG.normal(size=(400, 250))
    first = slopes(x, w)[17, 101]

    def unsteady(v: Array) -> Array:
        found = slopes(x, v)
        is_odd = int(np.float64(v[0, 0]).view(np.int64)) % 2 == 1
        if np.array_equal(v, w) or is_odd:
            found[17, 101] += 0.5 * first
        else:
            found[17, 101] -= 0.5 * first
        return found

    found = measure_gradient(layer(x), w, grad=unsteady, modes="rev")
    assert found.verdict is Verdict.INCONCLUSIVE, found
