"""What is learned about the parameters of a function by calling it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TypeVar

from gradfuzz.adapters.catalogue import texts
from gradfuzz.strategies.drawing.dice import Dice, Odds

_NUMBER = r"(?<![\w.:])[1-5](?=-?[dD]\b|\b(?![.:]\w))"
"""A number that stands alone, or in "4D" and "4-D"."""

_LISTED = r"\[[^\[\]]*\]|\([^()]*\)"
"""What stands in brackets: shapes of the call itself, mostly."""

_SAID = 30
"""What a number that the library named weighs more than by its row."""

T = TypeVar("T")
Choice = tuple[str, str]
"""A parameter, or "" for the whole call, and what was chosen for it."""


class Learned:
    """How often calls with a choice were valid, and how often the library raised."""

    def __init__(self, dtypes: Sequence[str] = ()) -> None:
        """`dtypes` are those of floats that are drawn (none: all)."""
        self.dtypes = tuple(dtypes)
        self._valid: dict[Choice, int] = {}
        self._raised: dict[Choice, int] = {}
        self.texts: dict[str, None] = {}
        """Literals of the words in quotation marks that the library used in its messages."""
        self._numbers: Counter[int] = Counter()
        """The small numbers in its messages: a rank or a length that it wants is among them."""

    def heard(self, choices: Sequence[Choice], valid: bool) -> None:
        """A call with these choices was valid, or raised."""
        counts = self._valid if valid else self._raised
        for choice in set(choices):
            counts[choice] = counts.get(choice, 0) + 1

    def read(self, message: str) -> None:
        """The library refused a call with this message."""
        self.texts.update(dict.fromkeys(texts(message)))
        self._numbers.update({int(found) for found in re.findall(_NUMBER, re.sub(_LISTED, "", message))})

    @property
    def numbers(self) -> list[int]:
        """The three numbers from 1 to 5 that most of its messages had, the most frequent one first."""
        return [number for number, _ in self._numbers.most_common(3)]

    def said(self, rows: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        """Rows (weight, number), those heavier that its messages had."""
        numbers = self.numbers
        return [(weight + (_SAID if number in numbers else 0), number) for weight, number in rows]

    def pick(self, dice: Dice, place: str, rows: Sequence[tuple[int, T]]) -> tuple[Choice, T]:
        """One of the rows (weight, option), drawn by its weight and by what is known of it."""
        weighted = [(self._weight(weight, (place, str(option))), option) for weight, option in rows]
        option = dice.weighted(Odds(*weighted))
        return (place, str(option)), option

    def _weight(self, weight: int, choice: Choice) -> int:
        """The weight times the share of valid calls, if each choice began with one valid and one not."""
        valid, raised = self._valid.get(choice, 0), self._raised.get(choice, 0)
        return max(1, round(16 * weight * 2 * (valid + 1) / (valid + raised + 2)))
