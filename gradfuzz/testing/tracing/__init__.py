"""A function of JAX, Torch or NumPy as a program of gradfuzz.

    jax, torch, numpy               the tracers, a package each
    graph                           what they share: the precision of the arguments, and the program that is
                                    made of a trace
    leaves                          nested arguments and results, taken apart and put together again
    compositions, special, whole    functions that the op table lacks, composed of ops; rounding to whole
                                    numbers

- What cannot be said as a program raises `UntraceableError`.
- The primal of a function is traced. A custom rule never is: it is what is on trial.
"""

from __future__ import annotations
