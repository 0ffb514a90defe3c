"""Programs from calls on NumPy arrays."""

from __future__ import annotations
