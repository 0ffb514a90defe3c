"""What every report says the same way: words, numbers, headlines, tables, inert text."""

from __future__ import annotations
