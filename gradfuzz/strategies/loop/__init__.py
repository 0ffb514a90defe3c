"""Strategies for loop programs, and the situations that they must reach."""

from __future__ import annotations
