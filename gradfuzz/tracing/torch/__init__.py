"""Programs from the ATen ops that a Torch function executes.

    trace     `traced(f, ...)`
    steps     what a function executes, recorded while it runs
    functional
              functions that write in place, by Torch's own tracer
    held      a function in which what it hides from autograd is a constant
    units     the functions of Torch that a function calls, one by one
    values    what the handlers of ATen ops take and give
    ops, moves, reductions, indexing, linalg, fourier, windows
              ATen ops as ops of gradfuzz
    kernels
              ops that are one kernel to Torch, most of which only derivatives call
    lists     ops that go over lists of tensors
    masks     scores that a constant mask makes minus infinite, as attention has them

- Where an op writes to places that may be the same, and which write counts is open, there is no program.
"""

from __future__ import annotations
