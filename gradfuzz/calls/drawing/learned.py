"""What is learned about the parameters of a function by calling it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from gradfuzz.strategies.drawing.dice import Dice, Odds

T = TypeVar("T")
Choice = tuple[str, str]
"""A parameter, or "" for the whole call, and what was chosen for it."""


class Learned:
    """How often calls with a choice were valid, and how often the library raised."""

    def __init__(self) -> None:
        self._valid: dict[Choice, int] = {}
        self._raised: dict[Choice, int] = {}
        self.texts: dict[str, None] = {}
        """Literals of the words in quotation marks that the library used in its messages."""

    def heard(self, choices: Sequence[Choice], valid: bool) -> None:
        """A call with these choices was valid, or raised."""
        counts = self._valid if valid else self._raised
        for choice in set(choices):
            counts[choice] = counts.get(choice, 0) + 1

    def pick(self, dice: Dice, place: str, rows: Sequence[tuple[int, str, T]]) -> tuple[Choice, T]:
        """One of the rows (weight, name, option), drawn by its weight and by what is known of it."""
        weighted = [(self._weight(weight, (place, name)), (name, option)) for weight, name, option in rows]
        name, option = dice.weighted(Odds(*weighted))
        return (place, name), option

    def _weight(self, weight: int, choice: Choice) -> int:
        """The weight times the share of valid calls, if each choice began with one valid and one not."""
        valid, raised = self._valid.get(choice, 0), self._raised.get(choice, 0)
        return max(1, round(16 * weight * 2 * (valid + 1) / (valid + raised + 2)))
