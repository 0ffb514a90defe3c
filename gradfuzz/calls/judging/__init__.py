"""The verdicts on a call.

judge       every derivative of first and second order
repeated    a call made again, by the conventions of its function (`fuzzer.conventions`)
"""

from __future__ import annotations
