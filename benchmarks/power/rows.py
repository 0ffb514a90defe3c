"""What a row of the power table is, and how its arguments are drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

__all__ = ["Library", "Row", "normal", "positive", "rng", "uniform"]

Library = Literal["torch", "jax"]
Function = Callable[..., Any]

_ROUNDOFF = {"float64": 2.0**-53, "complex128": 2.0**-53, "float32": 2.0**-24, "bfloat16": 2.0**-8}


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """A right function with its arguments.

    `arguments` are arrays of floats (tensors of Torch, NumPy's arrays for JAX); what is not differentiated is
    inside the function. `tags` are words, apart by spaces, or "at a kink" where the derivative has more than
    one legal value in some entry. `instead` has functions for whose derivative the right one can be mistaken,
    by the kind of the mistake ("wrong axis", "missing conj", "stale carry", ...): the plant keeps this
    function's value.
    """

    name: str
    library: Library
    function: Function
    arguments: tuple[Any, ...]
    tags: tuple[str, ...]
    instead: Mapping[str, Function] = field(default_factory=dict)

    @property
    def dtype(self) -> str:
        """The name of the dtype of the first argument."""
        return str(self.arguments[0].dtype).removeprefix("torch.")

    @property
    def roundoff(self) -> float:
        """The unit roundoff of the narrowest dtype in which the function computes: its own, or the one of a
        tag such as "float32 inside".
        """
        return max(u for name, u in _ROUNDOFF.items() if name == self.dtype or f"{name} inside" in self.tags)


def rng(seed: int) -> np.random.Generator:
    return np.random.default_rng([51, seed])


def normal(*shape: int, seed: int = 0) -> Any:
    return rng(seed).normal(size=shape)


def uniform(*shape: int, low: float = 0.0, high: float = 1.0, seed: int = 0) -> Any:
    return rng(seed).uniform(low, high, shape)


def positive(n: int, seed: int = 0, least: float = 1.0) -> Any:
    """A positive definite matrix of n by n numbers."""
    x = normal(n, n, seed=seed)
    return x @ x.T + least * np.eye(n)
