"""The libraries whose functions are called, a module each.

autograd    HIPS autograd
jax         JAX
torch       Torch
"""

from __future__ import annotations
