"""The engine as an oracle, one point at a time and batched."""

from __future__ import annotations
