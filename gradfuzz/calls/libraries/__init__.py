"""The libraries whose functions are called, a module each.

torch     Torch
"""

from __future__ import annotations
