"""What a planted bug is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gradfuzz.engine import Rules
from gradfuzz.oracles.base import Oracle

__all__ = ["Mutant"]


@dataclass(frozen=True, slots=True)
class Mutant:
    """A planted bug: its id and alias, what is wrong, and the report it comes from."""

    id: str
    alias: str
    summary: str
    reported: str
    rules: Rules
    batched: Callable[[str], Oracle] | None = None
    """For a bug of batching: what makes the oracle of a name, which answers all points of a question in one call."""
