"""The libraries by name."""

from __future__ import annotations

import functools
import importlib

from gradfuzz.calls.libraries.library import Library
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
