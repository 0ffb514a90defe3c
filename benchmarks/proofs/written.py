"""Calls that a person wrote down, for rules that no drawn call reaches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Draw = Callable[[np.random.Generator], Array]


@dataclass(frozen=True, slots=True)
class Written:
    """A function of arrays of float64 by a name, and how its arguments are drawn."""

    name: str
    function: Callable[..., Any]
    draws: tuple[Draw, ...]

    def arguments(self, seed: int) -> list[Array]:
        rng = np.random.default_rng(seed)
        return [draw(rng) for draw in self.draws]


def call(name: str, function: Callable[..., Any], *draws: Draw | tuple[int, ...]) -> Written:
    """A row of a table; a shape stands for numbers between -2 and 2."""
    own = tuple(draw if callable(draw) else between(-2.0, 2.0, *draw) for draw in draws)
    return Written(name, function, own)


def between(low: float, high: float, *shape: int) -> Draw:
    """Numbers between two. A point near the call may lie a quarter of a number beside it."""
    return lambda rng: np.asarray(rng.uniform(low, high, shape))


def apart(*shape: int) -> Draw:
    """Numbers that stay in their order when each moves by a quarter: no two are equal at any point."""

    def draw(rng: np.random.Generator) -> Array:
        size = int(np.prod(shape))
        powers = 2.0 ** np.arange(-(size // 2), size - size // 2)
        return np.asarray((rng.permutation(powers) * rng.choice([-1.0, 1.0], size)).reshape(shape))

    return draw
