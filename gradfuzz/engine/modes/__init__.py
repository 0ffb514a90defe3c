"""Reverse and forward mode on graphs: equations, loops, branches; what is not needed is pruned."""

from __future__ import annotations
