"""Torch as a target: its ways, derivatives and scripts. `ways` and what it needs import Torch; emitters do
not.
"""

from __future__ import annotations
