"""What strategies draw with: dice, tables, op sets, shapes, and drawing outside of a test."""

from __future__ import annotations
