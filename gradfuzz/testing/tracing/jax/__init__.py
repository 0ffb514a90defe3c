"""Programs from jaxprs."""

from __future__ import annotations
