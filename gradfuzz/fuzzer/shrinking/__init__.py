"""Smaller programs and inputs with the same disagreement.

    shrink                                the smallest candidate that is still interesting
    trial                                 what counts as the same: clearly wrong, and in the same class
    reductions                            everything that shrinking tries, simplest result first
    shape_reductions, point_reductions    fewer and shorter axes; fewer points in a batch
    call_reductions                       smaller calls
    variations                            a candidate with other numbers
    standards                             small standard programs, tried where a large one does not shrink

- The class of a disagreement is that of the worst entry, and which entry that is changes with the sizes. So a
  smaller program that is wrong in another class is tried with other cotangents and inputs before it is
  dropped.
- What is wrong at one point of a batch is shrunk with the points that were answered with it.
"""

from __future__ import annotations
