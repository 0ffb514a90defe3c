"""What an op computes: for machine floats (NumPy), and for any scalar objects with + and *."""

from __future__ import annotations
