"""The libraries whose oracles are part of gradfuzz, with their modules. Add one as a row of `LIBRARIES`."""

from __future__ import annotations

import importlib

LIBRARIES: dict[str, str] = {
    "jax": "gradfuzz.oracles.jax.ways",
    "torch": "gradfuzz.oracles.torch.ways",
}
"""Library -> the module whose `ways()` lists its oracles. The name is also the extra to install."""

SERVER = "gradfuzz.oracles.server"
"""The module that serves this installation's oracles: `python -m gradfuzz.oracles.server jax`."""


def settle(library: str) -> None:
    """Makes a library of `LIBRARIES` compute on the device of this process. Called before it is imported."""
    if library in LIBRARIES:
        importlib.import_module(LIBRARIES[library]).settle()
