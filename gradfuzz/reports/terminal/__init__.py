"""Reports for a terminal, while a sweep runs and at its end."""

from __future__ import annotations
