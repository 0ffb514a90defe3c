"""What a planted bug is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from gradfuzz.engine import Rules
from gradfuzz.engine.modes.forward import ForwardMode
from gradfuzz.engine.modes.reverse import ReverseMode
from gradfuzz.oracles.base import Mode, Oracle
from gradfuzz.oracles.engine.oracle import EngineOracle

Need = Literal["", "complex", "broadcast", "square", "batch"]
"""Nothing; complex numbers; an operand that is broadcast; square matrices with more than one entry; matrices
with batch axes.
"""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A planted bug: its id and alias, what is wrong, and the report it comes from."""

    id: str
    alias: str
    summary: str
    reported: str
    rules: Rules
    batched: Callable[[str], Oracle] | None = None
    """For a bug of batching: what makes the oracle of a name, which answers all points of a question in one
    call.
    """
    ops: frozenset[str] = frozenset()
    """The ops whose rules are wrong, or "loop"; empty where the bug may show in any program."""
    needs: Need = ""
    """What an equation of these ops must have besides for the bug to show."""

    @property
    def modes(self) -> frozenset[Mode]:
        """The modes in which it can show."""
        if self.batched is not None:
            return frozenset({"rev", "fwd"})
        wrong: list[Mode] = ["rev"] if self.rules.reverse is not ReverseMode else []
        return frozenset([*wrong, "fwd"] if self.rules.forward is not ForwardMode else wrong)

    def oracle(self, name: str = "") -> Oracle:
        """The mutant as a target, `mutant:ALIAS` or, where it was asked for by another name, that."""
        name = name or f"mutant:{self.alias}"
        return self.batched(name) if self.batched else EngineOracle(name, self.rules)
