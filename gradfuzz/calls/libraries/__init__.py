"""The libraries whose functions are called.

contract      the interface of a library
library       the libraries by name
numbers       numbers of arrays as text
watching      functions that tell of their calls
connected     which results a library connects with which arguments
autograd      HIPS autograd
jax           JAX
mlx           MLX
paddle        PaddlePaddle
tensorflow    TensorFlow
torch         Torch
"""

from __future__ import annotations
