"""Planted bugs: the engine with one rule overridden. `registry` lists those with names, `systematic` makes
one for each rule.
"""

from __future__ import annotations
