"""The libraries whose oracles are part of gradfuzz. Add one to `LIBRARIES`."""

from __future__ import annotations

LIBRARIES = ("jax", "torch")
"""The oracles of a library are those of the module `ways` in the package of its name. The name is also the
extra to install.
"""

SERVER = "gradfuzz.oracles.server"
"""The program that serves this installation's oracles: `python -m gradfuzz.oracles.server jax`."""
