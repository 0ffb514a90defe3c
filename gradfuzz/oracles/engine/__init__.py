"""The engine as an oracle: a peer of the libraries, and the body of every mutant.

oracle     one point at a time
batched    all points of a question in one call, by named axes and by `vmap`
summed     per-point answers from an oracle that differentiates the sum over a batch
"""

from __future__ import annotations
