"""What speaks the protocol for a library: one script each, started by gradfuzz in a process of its own.

    kit.py               the protocol for adapters in Python 3.8 or newer, without a dependency; an adapter imports it from beside itself
    *_adapter.py         a library through the kit
    kernels.py           programs as source, for libraries that want kernels; fields.py is what Taichi and Quadrants share
    own.py               the oracles of this installation, served the same way: python -m gradfuzz.adapters.own jax

The scripts run where the library is installed, not where gradfuzz is: but for own.py and guest.py, which starts it
in an environment without gradfuzz, they import nothing of gradfuzz.
"""

from __future__ import annotations

__all__: list[str] = []
