"""Graphs as Python source, compiled once and run many times.

    compile        `compile`, `to_source`: floats and `math` where all is scalar, NumPy elsewhere
    loop_source    loops as statements, or as functions of their iterations where they have a checkpoint

- A scalar program uses NumPy, too, where it needs IEEE semantics that `math` refuses, as a division by 0.
"""

from __future__ import annotations
