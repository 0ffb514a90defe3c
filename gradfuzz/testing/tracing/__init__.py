"""A function of JAX, Torch or NumPy as a program of gradfuzz; a derivative of JAX or Torch as a graph.

    jax, torch, numpy    the tracers, a package each
    graph                what they share: the precision of the arguments, and the program that a trace makes
    units                the steps of a function that have a rule each
    leaves               nested arguments and results, taken apart and put together again
    compositions         elementwise functions by their rows; others composed of ops
    whole                floats that become ints
    fourier, factors, convolutions, incomplete
                         Fourier transforms; factors of matrices as LAPACK stores them; convolutions;
                         incomplete gamma and beta functions

- What cannot be said as a program raises `UntraceableError`.
- The primal of a function is traced as a program. A custom rule never is: it is what is on trial. Of a
  derivative, which `testing.proving` asks for, nothing but the rules is traced.
"""

from __future__ import annotations
