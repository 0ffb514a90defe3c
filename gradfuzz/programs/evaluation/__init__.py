"""Programs and graphs run in an arithmetic; the points of a question laid out for it.

    interpret    `interpret` walks the statements of a program, `evaluate` the equations of a graph
    calls        calls of ops as Python closures, which both share
    layout       how the points of a question lie along batch axes
    pairs        a program of complex inputs and outputs as one of floats

- There are two paths on purpose. The references interpret statements; the engine and the loops of JAX and
  Torch run the lowered graph. A mistake in the lowering shows as a disagreement.
- The layout is read off the points: an input that is the same at all of them is shared, a grid has two axes.
"""

from __future__ import annotations
