"""What a planted bug is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gradfuzz.engine import Rules
from gradfuzz.oracles.base import Oracle
from gradfuzz.oracles.engine import EngineOracle

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

    def oracle(self, name: str = "") -> Oracle:
        """The mutant as a target, `mutant:ALIAS` or, where it was asked for by another name, that."""
        name = name or f"mutant:{self.alias}"
        return self.batched(name) if self.batched else EngineOracle(name, self.rules)
