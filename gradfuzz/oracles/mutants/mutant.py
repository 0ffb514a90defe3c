"""The description of a planted bug."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from gradfuzz.engine import Rules
from gradfuzz.engine.modes.forward import ForwardMode
from gradfuzz.engine.modes.reverse import ReverseMode
from gradfuzz.engine.rules.value import Value
from gradfuzz.oracles.base import Mode, Oracle
from gradfuzz.oracles.engine.oracle import EngineOracle

Kind = TypeVar("Kind", type[ForwardMode], type[ReverseMode])

Need = Literal["", "complex", "broadcast", "square", "batch"]
"""Nothing, complex numbers, a broadcast operand, square matrices beyond 1 x 1, matrices with batch axes."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A planted bug: its id and alias, what is wrong, and the original report."""

    id: str
    alias: str
    summary: str
    reported: str
    rules: Rules
    batched: Callable[[str], Oracle] | None = None
    """For a batching bug: makes the oracle of a name, which answers all points of a question in one call."""
    ops: frozenset[str] = frozenset()
    """The ops whose rules are wrong, or "loop"; empty for a bug that any program may show."""
    needs: Need = ""
    """What else an equation of these ops needs for the bug to show."""
    order: int = 1
    """The order of derivative that it takes for the bug to show, where first and second orders never do."""

    @property
    def modes(self) -> frozenset[Mode]:
        """The modes that can show it."""
        if self.batched is not None:
            return frozenset({"rev", "fwd"})
        wrong: list[Mode] = ["rev"] if self.rules.reverse is not ReverseMode else []
        return frozenset([*wrong, "fwd"] if self.rules.forward is not ForwardMode else wrong)

    def oracle(self, name: str = "") -> Oracle:
        """The mutant as a target, named `mutant:ALIAS` or by the name it was requested with."""
        name = name or f"mutant:{self.alias}"
        return self.batched(name) if self.batched else EngineOracle(name, self.rules)


def recorded(x: Any) -> Value:
    """`x`, the result of an op on values."""
    assert isinstance(x, Value), "an op of a value is a value"
    return x


def row(
    kind: type[ForwardMode] | type[ReverseMode], id: str, alias: str, reported: str, summary: str = ""
) -> Mutant:
    """A bug in one mode. `kind` says what is wrong where `summary` does not, and may name the op."""
    rules = Rules(reverse=kind) if issubclass(kind, ReverseMode) else Rules(forward=kind)
    op: str = getattr(kind, "op", "")
    words: str = summary or getattr(kind, "summary", "").format(op=op)
    return Mutant(id, alias, words, reported, rules, ops=frozenset({op} if op else ()))


class Bugs(list[Mutant]):
    """The planted bugs of a module, in its order."""

    def planted(self, id: str, alias: str, reported: str, summary: str = "") -> Callable[[Kind], Kind]:
        """Adds the row of the class below."""

        def added(kind: Kind) -> Kind:
            self.append(row(kind, id, alias, reported, summary))
            return kind

        return added
