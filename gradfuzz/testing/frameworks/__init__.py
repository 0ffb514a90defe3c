"""Whose function it is, and how its derivatives are asked for."""

from __future__ import annotations
