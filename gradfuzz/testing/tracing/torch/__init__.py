"""Programs from the ATen ops of a Torch function, as they are executed on tensors without data.

    trace     `trace(f, ...)`
    values    what the handlers of ATen ops take and give
    ops, moves, reductions, indexing, linalg
              ATen ops as ops of gradfuzz
    masks     scores that a constant mask makes minus infinite, as attention has them

- Where an op writes to places that may be the same, and which write counts is open, there is no program.
"""

from __future__ import annotations
