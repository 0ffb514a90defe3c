"""Programs from graphs that Torch exports."""

from __future__ import annotations
