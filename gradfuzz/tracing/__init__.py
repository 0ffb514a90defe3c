"""A function of JAX, Torch or NumPy as a program of gradfuzz; a derivative of JAX or Torch as a graph.

    common              what the tracers share
    jax, torch, numpy   the tracers, a package each

- What cannot be said as a program raises `UntraceableError`.
- The primal of a function is traced as a program. A custom rule never is: it is what is on trial. Of a
  derivative nothing but the rules is traced.
"""

from __future__ import annotations
