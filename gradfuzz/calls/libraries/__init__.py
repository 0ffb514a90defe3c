"""The libraries whose functions are called.

library     the interface of a library
numbers     numbers of arrays as text
watching    functions that tell of their calls
autograd    HIPS autograd
jax         JAX
torch       Torch
"""

from __future__ import annotations
