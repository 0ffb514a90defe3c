"""Systematic mutants that no program can tell from the engine, each with the proof. They are not asked."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["EQUIVALENT"]

EQUIVALENT: Mapping[str, str] = {}
"""Name: why its gradient is right."""
