"""Strategies for programs with complex numbers inside."""

from __future__ import annotations
