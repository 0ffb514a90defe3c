"""The verdicts on a call.

conventions    calls that the library's documents leave undefined
judge          every derivative of first and second order
"""

from __future__ import annotations
