"""Smaller programs and inputs with the same disagreement."""

from __future__ import annotations
