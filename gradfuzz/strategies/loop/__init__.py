"""Strategies for loop programs, and the goals that they must reach."""

from __future__ import annotations
