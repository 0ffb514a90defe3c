"""Rounding to whole numbers in the precision that is being traced."""

from __future__ import annotations

from typing import Any

from gradfuzz.engine.rules.value import Operand
from gradfuzz.testing.tracing.compositions import as_kind
from gradfuzz.testing.tracing.graph import significand_bits
from gradfuzz.testing.tracing.special import floor, truncated


def whole(x: Operand, way: str) -> Any:
    """`x` rounded down ("floor"), up ("ceil") or towards 0 ("trunc"), as a float; the derivative is 0."""
    bits = significand_bits()
    if way == "trunc":
        return as_kind(truncated(x, bits), "float")
    return floor(x, bits) if way == "floor" else -floor(-x, bits)
