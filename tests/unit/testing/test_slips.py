"""Slips of people who call `check_gradient`: each is a sentence that says what, with which value, and what to
do, without a frame of gradfuzz.
"""

from __future__ import annotations

import re
import traceback
from typing import Any

import numpy as np
import pytest

from gradfuzz import check_gradient, prove_gradient, reference
from gradfuzz.errors import UsageError

X = np.array([0.5, 0.75])


def f(x: Any) -> Any:
    return np.sum(np.sin(x))


def two(x: Any, y: Any) -> Any:
    return np.sum(x * y)


class Layer:
    def __call__(self, x: Any) -> Any:
        return np.sum(x)


COS: dict[str, Any] = {"grad": np.cos}

SLIPS: list[tuple[tuple[Any, ...], dict[str, Any], str]] = [
    (("sin", X), COS, "'sin' is not a function; pass a function and its arguments"),
    ((None, X), COS, "None is not a function"),
    ((Layer, X), {}, "Layer is a class; pass an object of it, as Layer(...)"),
    ((two, X), COS, "two(x: 'Any', y: 'Any') -> 'Any' cannot be called with 1 argument: missing"),
    (
        (f, X, X),
        COS,
        "cannot be called with 2 arguments: too many positional arguments; pass a value for each",
    ),
    ((f,), COS, "f has no float argument to differentiate by (no argument was given); pass floats"),
    ((f, 3), COS, "(x is int); pass floats or arrays of them"),
    ((f, np.array([1, 2])), COS, "(x is ndarray of int64); pass floats or arrays of them"),
    ((f, "abc"), COS, "(x is str); pass floats"),
    ((f, X), {**COS, "wrt": 3}, "wrt=3 names no float argument of f; it has x"),
    (
        (f, X),
        {**COS, "wrt": 1.5},
        "wrt=1.5: give names of arguments of f, or their numbers from 0, as in wrt='x'",
    ),
    ((f, X), {**COS, "wrt": []}, "wrt=[]: give names"),
    ((f, X), {**COS, "modes": []}, "modes=[]: a mode is 'rev' or 'fwd'; give one, a list of them, or None"),
    ((f, X), {**COS, "modes": 1}, "modes=1: a mode is"),
    ((f, X), {**COS, "order": "2"}, "order='2': the order of a derivative is a whole number, 1 or more"),
    (
        (f, X),
        {**COS, "order": 9},
        "order=9: rev and fwd can be asked in too many sequences; give an order up",
    ),
    (
        (f, X),
        {"grad": np.cos(X)},
        "grad=array([0.87758256, 0.73168887]) is not a function; give one that takes",
    ),
    ((f, X), {**COS, "reference": "cos"}, "reference='cos' is not a function"),
    ((f, X), {**COS, "reference": np.sin}, "reference= returns arrays of the shapes [(2,)], and f of [()]"),
    (
        (f, X),
        {**COS, "reference": reference(gradient=lambda x: np.ones(3))},
        "reference(gradient=) returns an array of shape (3,) for the gradient by x, which has the shape (2,)",
    ),
    ((f, X), {**COS, "target": "torch"}, "target='torch' is for a Program"),
    ((f, X), {**COS, "allow": "detach"}, "allow='detach': it is 'stop_gradient', or left out"),
    ((f, X), {**COS, "accuracy": 2}, "accuracy=2: it is a share of the derivative, above 0 and below 1"),
    ((f, X), {}, "pass the gradient to be checked as grad="),
]


@pytest.mark.parametrize(("args", "options", "words"), SLIPS, ids=[words[:40] for *_, words in SLIPS])
def test_a_slip_is_a_sentence(args: tuple[Any, ...], options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=re.escape(words)) as raised:
        check_gradient(*args, **options)
    frames = traceback.extract_tb(raised.value.__traceback__)
    assert sum("/gradfuzz/" in frame.filename for frame in frames) <= 1, "the assertion itself"


def test_a_type_error_of_the_function_itself_is_its_own() -> None:
    with pytest.raises(TypeError, match="no such thing"):
        check_gradient(_raising, X, grad=np.cos)


def _raising(x: Any) -> Any:
    raise TypeError("no such thing")


def test_a_proof_knows_the_same_modes() -> None:
    with pytest.raises(UsageError, match="modes='both': a mode is 'rev' or 'fwd'"):
        prove_gradient(f, X, modes="both")  # type: ignore[arg-type]
