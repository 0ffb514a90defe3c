"""How large an error is allowed: derived from rounding each primitive of the derivative program."""

from __future__ import annotations
