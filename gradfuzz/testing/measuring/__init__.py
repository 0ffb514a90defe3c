"""Functions asked and judged: by the program that was traced, or by their own differences."""

from __future__ import annotations
