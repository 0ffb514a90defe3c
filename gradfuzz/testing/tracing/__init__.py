"""A function of JAX, Torch or NumPy as a program of gradfuzz.

    jax, torch, numpy    the tracers, a package each
    graph                what they share: the precision of the arguments, and the program that a trace makes
    leaves               nested arguments and results, taken apart and put together again
    compositions         elementwise functions by their rows; others composed of ops
    whole                floats that become ints
    fourier, factors, convolutions
                         Fourier transforms; factors of matrices as LAPACK stores them; convolutions

- What cannot be said as a program raises `UntraceableError`.
- The primal of a function is traced. A custom rule never is: it is what is on trial.
"""

from __future__ import annotations
