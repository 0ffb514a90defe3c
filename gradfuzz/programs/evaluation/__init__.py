"""Programs and graphs run in an arithmetic; how the points of a question are laid out for it."""

from __future__ import annotations
