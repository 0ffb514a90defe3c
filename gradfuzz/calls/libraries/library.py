"""The libraries whose functions are called, by name, and their functions."""

from __future__ import annotations

import functools
import importlib
import operator
from collections.abc import Callable
from typing import Any

from gradfuzz.calls.libraries.contract import Library as Library
from gradfuzz.calls.libraries.watching import found_at
from gradfuzz.oracles.registry import settle

LIBRARIES = ("torch", "jax", "autograd", "tensorflow", "mlx", "paddle")
"""The libraries whose functions can be called."""


@functools.cache
def library_named(name: str) -> Library:
    """The library; its module imports it. JAX, which would compute on a GPU, is kept on the CPU."""
    settle(name)
    home = importlib.import_module(f"gradfuzz.calls.libraries.{name}")
    found: Library = home.LIBRARY
    return found


def function_of(name: str) -> Callable[..., Any]:
    """The function of a dotted public name, or the property as a function.

    AttributeError or ImportError where there is none.
    """
    found = found_at(name)
    return found if callable(found) else operator.attrgetter(name.rpartition(".")[2])
