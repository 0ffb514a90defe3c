"""How an argument of a call lies in memory."""

from __future__ import annotations

from typing import Literal

Layout = Literal["contiguous", "transposed", "stepped", "expanded"]
"""How an argument lies in memory: it is a view of its array.

transposed   the last two axes of the array change places
stepped      every second entry along the last axis of the array
expanded     the first axis of the array, of length 1, is repeated to length 2
"""

LAYOUTS: tuple[Layout, ...] = ("contiguous", "transposed", "stepped", "expanded")
