"""The libraries whose oracles gradfuzz has itself, and the module that serves them. A row of `LIBRARIES` is
all it takes to add one.
"""

from __future__ import annotations

LIBRARIES: dict[str, str] = {
    "jax": "gradfuzz.oracles.jax.ways",
    "torch": "gradfuzz.oracles.torch.ways",
}
"""Library -> the module whose `ways()` lists the oracles that use it. The name is also the extra to
install.
"""

SERVER = "gradfuzz.oracles.server"
"""The module that serves the oracles of an installation by the protocol: `python -m gradfuzz.oracles.server
jax`.
"""
