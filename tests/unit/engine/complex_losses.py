"""A real loss of complex results, its derivatives by the engine, and the same by differences of mpmath."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from mpmath import mp

from gradfuzz import engine


def weights(count: int) -> Any:
    """A number for each entry of the results; together they see all real and imaginary parts."""
    k = np.arange(count)
    return np.cos(1.0 + k) + 1j * np.sin(2.0 + 3.0 * k)


def loss(f: Callable[..., Any]) -> Callable[..., Any]:
    """Re sum(c z + z^2 / 4) over the entries z of the result: real, and not linear in them."""

    def function(*xs: Any) -> Any:
        z = f(*xs)
        z = engine.reshape(z, (int(np.prod(z.shape)),))
        return engine.sum(engine.real(weights(z.shape[0]) * z + 0.25 * z * z))

    return function


def along(f: Callable[..., Any], directions: list[Any], mode: str) -> Callable[..., Any]:
    """The derivative of f along `directions`; in reverse mode by the gradient dF/da + i dF/db of a + ib."""
    if mode == "fwd":
        return lambda *xs: engine.jvp(f, xs, directions)[1]

    def function(*xs: Any) -> Any:
        parts = engine.grad(f, range(len(xs)))(*xs)
        return sum(
            engine.sum(engine.real(engine.conj(g) * v)) for g, v in zip(parts, directions, strict=True)
        )

    return function


def differences(results: Callable[[Any], list[Any]]) -> tuple[float, float]:
    """The first and the second derivative of the loss of `results`, which are functions of a number, at 0 to
    about 1e-25: central differences with 50 digits and a step of 1e-13.
    """
    with mp.workdps(50):
        step = mp.mpf(10) ** -13

        def value(t: Any) -> Any:
            zs = results(t)
            return sum(mp.re(complex(c) * z + z * z / 4) for c, z in zip(weights(len(zs)), zs, strict=True))

        before, here, after = (value(k * step) for k in (-1, 0, 1))
        return float((after - before) / (2 * step)), float((after - 2 * here + before) / step**2)


def check_orders(
    f: Callable[..., Any], xs: list[Any], directions: list[Any], expected: tuple[float, float], room: float
) -> None:
    """Both modes and their four mixes, to `room` of the greater of the derivative and 1."""
    for order, right in zip((1, 2), expected, strict=True):
        for modes in itertools.product(("rev", "fwd"), repeat=order):
            function = loss(f)
            for mode in modes:
                function = along(function, directions, mode)
            assert abs(function(*xs) - right) <= room * max(1.0, abs(right)), modes
