"""Programs from calls on NumPy arrays: the function is called once on arrays that record.

trace    `trace(f, ...)`
array    the array that records
ufuncs, functions, reductions, linalg
         what NumPy does to it, as ops
"""

from __future__ import annotations
