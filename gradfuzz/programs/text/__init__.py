"""Programs from text and JSON. Nothing that is read is ever executed."""

from __future__ import annotations
