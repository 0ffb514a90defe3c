"""Graphs as Python source: floats and `math` where all is scalar, NumPy elsewhere."""

from __future__ import annotations
