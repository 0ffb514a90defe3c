"""How an argument of a call lies in memory, and of which form its array is."""

from __future__ import annotations

from typing import Literal

Layout = Literal[
    "contiguous", "transposed", "stepped", "expanded", "symmetric", "lower", "upper", "unit norm", "simplex"
]
"""How an argument lies in memory: it is a view of its array.

transposed   the last two axes of the array change places
stepped      every second entry along the last axis of the array
expanded     the first axis of the array, of length 1, is repeated to length 2

Or of which form it stays when its array is moved in any direction: the array itself has this form, and the
argument is the nearest one that has it, so that derivatives are asked along what a function takes.

symmetric, lower, upper    matrices of that form
unit norm, simplex         vectors of norm 1; of numbers with the sum 1
"""

LAYOUTS: tuple[Layout, ...] = ("contiguous", "transposed", "stepped", "expanded")
"""Those in memory."""

FORMS: tuple[Layout, ...] = ("symmetric", "lower", "upper", "unit norm", "simplex")
"""Those of form."""
