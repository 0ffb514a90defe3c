"""The two sources of truth: ball arithmetic (`arb`) and finite differences in mpmath. They share the program
and nothing else.
"""

from __future__ import annotations
