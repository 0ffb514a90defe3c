"""Gradients of many entries along directions: what is seen, what is not called, and where it is found.

The functions are sums of c * sin(x), whose gradient c * cos(x) NumPy computes; the mistakes are planted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gradfuzz.fuzzer.questions.weighted import plain_question
from gradfuzz.fuzzer.tolerance.allowed import tolerances
from gradfuzz.fuzzer.verdict import checking
from gradfuzz.fuzzer.verdict.along import FEW, MANY, entries_of, probed, reached
from gradfuzz.fuzzer.verdict.kinks import on_a_line
from gradfuzz.oracles.base import ALONG, Point
from gradfuzz.oracles.references.arb import ArbReference
from gradfuzz.oracles.references.finite_differences import MpmathReference
from gradfuzz.programs import parse
from gradfuzz.programs.language.precision import FORMATS
from gradfuzz.testing import GradientMismatch, check_gradient, measure_gradient

Array = np.ndarray[Any, Any]

SPREAD = 30
"""The sizes of the entries of a gradient go over so many powers of ten."""


def sizes(entries: int) -> Array:
    """Factors over `SPREAD` powers of ten, in no order."""
    rng = np.random.default_rng(entries)
    return np.asarray(10.0 ** rng.permutation(np.linspace(-SPREAD / 2, SPREAD / 2, entries)))


def mistaken(c: Array, place: int, factor: float) -> Callable[[Array], Array]:
    """The gradient of sum(c sin(x)) with one entry times `factor`."""

    def gradient(x: Array) -> Array:
        slopes = c.astype(x.dtype) * np.cos(x)
        slopes[place] *= x.dtype.type(factor)
        return np.asarray(slopes)

    return gradient


@pytest.mark.parametrize(("dtype", "error"), [("float64", 1e-10), ("float32", 1e-2)])
@pytest.mark.parametrize("entries", [25, pytest.param(300, marks=pytest.mark.slow), 1000])
def test_no_entry_hides_behind_another(entries: int, dtype: str, error: float) -> None:
    c = sizes(entries) if dtype == "float64" else 10.0 ** (np.log10(sizes(entries)) / 3)
    c = c.astype(dtype)
    x = np.linspace(0.1, 1.2, entries).astype(dtype)
    check_gradient(lambda x: np.sum(c * np.sin(x)), x, grad=mistaken(c, 0, 1.0))
    order = np.argsort(c)
    for place in (order[0], order[entries // 2], order[-1]):
        with pytest.raises(GradientMismatch) as caught:
            check_gradient(lambda x: np.sum(c * np.sin(x)), x, grad=mistaken(c, int(place), 1.0 + error))
        measured = caught.value.measured
        assert measured is not None
        assert measured.worst == ("x", (int(place),))
        assert measured.worst_got == pytest.approx(measured.worst_expected, rel=2 * error)
        assert measured.worst_got != measured.worst_expected


def test_one_of_ten_thousand_is_named() -> None:
    weights = np.random.default_rng(1).normal(size=(100, 100))
    x = np.linspace(-1.0, 1.0, 100)

    def gradient(w: Array, wrong: float = 0.0) -> Array:
        slopes = np.outer(1.0 - np.tanh(w @ x) ** 2, x)
        slopes[41, 7] *= 1.0 + wrong
        return slopes

    def layer(w: Array) -> Any:
        return np.sum(np.tanh(w @ x))

    check_gradient(layer, weights, grad=gradient)
    with pytest.raises(GradientMismatch, match=r"by w\[41, 7\]"):
        check_gradient(layer, weights, grad=lambda w: gradient(w, 1e-6))


def test_an_entry_that_must_be_zero() -> None:
    """Rounding cannot change it, so nothing is allowed to it."""
    x = np.linspace(0.5, 1.5, 40)

    def f(x: Array) -> Any:
        return np.sum(np.exp(x[1:]))

    def gradient(x: Array, wrong: float = 0.0) -> Array:
        return np.concatenate([[wrong], np.exp(x[1:])])

    check_gradient(f, x, grad=gradient)
    with pytest.raises(GradientMismatch, match=r"by x\[0\]"):
        check_gradient(f, x, grad=lambda x: gradient(x, 1e-30))


def test_two_entries_in_each_others_place() -> None:
    x = np.linspace(0.5, 1.5, 500)

    def swapped(x: Array) -> Array:
        slopes = np.cos(x)
        slopes[[3, 4]] = slopes[[4, 3]]
        return slopes

    with pytest.raises(GradientMismatch, match=r"by x\[[34]\]"):
        check_gradient(lambda x: np.sum(np.sin(x)), x, grad=swapped)


def untraceable(x: Array) -> Any:
    """sum(x^2 sin(x)) in a form that no program says."""
    return float(np.dot(x * x, np.array([np.sin(t) for t in x.tolist()])))


@pytest.mark.parametrize("entries", [20, 300])
def test_a_function_that_is_not_traced(entries: int) -> None:
    evaluations = []

    def f(x: Array) -> Any:
        evaluations.append(1)
        return untraceable(x)

    def gradient(x: Array, wrong: float = 0.0) -> Array:
        slopes = 2 * x * np.sin(x) + x * x * np.cos(x)
        slopes[13] += wrong
        return np.asarray(slopes)

    x = np.linspace(0.4, 1.4, entries)
    assert measure_gradient(untraceable, x, grad=gradient).method == "Richardson"
    check_gradient(f, x, grad=gradient)
    assert len(evaluations) < 400
    with pytest.raises(GradientMismatch, match=r"by x\[13\]"):
        check_gradient(f, x, grad=lambda x: gradient(x, 1e-4))


def test_what_is_measured_has_every_entry() -> None:
    x = np.linspace(0.5, 1.5, 30)
    measured = measure_gradient(lambda x: np.sum(np.sin(x)), x, grad=np.cos)
    np.testing.assert_allclose(measured.expected["x"], np.cos(x), rtol=1e-15)


# The directions ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("precision", list(FORMATS))
@pytest.mark.parametrize("order", [1, 2])
def test_the_references_agree_along_directions(precision: Any, order: int) -> None:
    """Both give <g, w>, which the entries give as well."""
    program = parse('def f(x: "float[8]", y: "float[8]"):\n return sum(x * x * sin(y))\n')
    dtype = FORMATS[precision].dtype
    rng = np.random.default_rng(5)
    point = Point({name: rng.uniform(0.5, 1.5, 8).astype(dtype) for name in "xy"})
    question = plain_question(program, [point], precision, None, ("rev",) * order)
    (tolerance,) = tolerances(question)
    asked = probed(question, tolerance)
    assert entries_of(question) == 16 > FEW
    assert entries_of(question) < MANY
    for probe in asked.probes:
        for weights in probe.values():
            np.testing.assert_array_equal(weights, weights.astype(dtype).astype(np.float64))
    (full,) = ArbReference().truth(question)
    totals = [sum(np.sum(w[n] * full.gradient[n]) for n in "xy") for w in asked.probes]
    for reference in (ArbReference(), MpmathReference()):
        (truth,) = reference.truth(asked)
        np.testing.assert_allclose(truth.gradient[ALONG], totals, rtol=1e-13)
    for probe, total in zip(asked.probes, totals, strict=True):
        line = on_a_line(asked, point, probe)
        (truth,) = ArbReference().truth(line)
        np.testing.assert_allclose(truth.gradient[line.wrt[0]], total, rtol=1e-13)


# The part that an entry reaches -----------------------------------------------------------------------------


def of_a_layer(w: Array, wrong: float = 0.0) -> Array:
    """The gradient of sum(tanh(w x)) with w[3, 7] off by `wrong`."""
    x = np.linspace(-1.0, 1.0, 30)
    slopes = np.outer(1.0 - np.tanh(w @ x) ** 2, x)
    slopes[3, 7] *= 1.0 + wrong
    return slopes


def layer(w: Array) -> Any:
    return np.sum(np.tanh(w @ np.linspace(-1.0, 1.0, 30)))


def planted(message: str = r"by w\[3, 7\]") -> GradientMismatch:
    weights = np.random.default_rng(1).normal(size=(20, 30))
    with pytest.raises(GradientMismatch, match=message) as caught:
        check_gradient(layer, weights, grad=lambda w: of_a_layer(w, 1e-6))
    return caught.value


def test_the_second_reference_is_asked_about_the_part(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    truth = MpmathReference.truth

    def counted(self: MpmathReference, question: Any) -> Any:
        asked.append(entries_of(question))
        return truth(self, question)

    monkeypatch.setattr(MpmathReference, "truth", counted)
    measured = planted().measured
    assert measured is not None
    assert measured.references == ("arb", "mpmath")
    assert asked == [30]


def test_a_part_that_is_not_the_program_s_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A part whose derivative is twice the program's: the whole program is asked instead."""
    right = planted().measured
    assert right is not None

    def mistaken(asked: Any) -> Any:
        found = reached(asked)
        assert found is not None
        double = tuple(None if w is None else 2.0 * w for w in found.question.weights)
        return replace(found, question=replace(found.question, weights=double))

    monkeypatch.setattr(checking, "reached", mistaken)
    measured = planted().measured
    assert measured is not None
    assert measured.worst_expected == right.worst_expected
    assert measured.references == ("arb", "mpmath")
