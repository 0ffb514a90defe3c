"""Graph to graph for a whole batch: one rule per op, masks where instances take other trips or sides."""

from __future__ import annotations
