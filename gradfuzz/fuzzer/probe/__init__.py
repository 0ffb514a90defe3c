"""Report cards: canonical questions, asked op by op, without drawing."""

from __future__ import annotations
