"""The ops as functions of recorded values, and the two tables of derivative rules (vjp, jvp), independent of
each other.
"""

from __future__ import annotations
