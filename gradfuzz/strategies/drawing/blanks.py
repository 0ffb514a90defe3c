"""Recipes as text with blanks, `{name}` or `{name:of}`, each filled by a row of a table."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from gradfuzz.strategies.drawing.dice import Dice
from gradfuzz.strategies.drawing.shape import Shape

_BLANK = re.compile(r"\{(\w+)(?::([^}]*))?\}")


class Blanks:
    """The blanks of one text about an array of `shape`. A value that is drawn once holds wherever the text
    names it again. What a row says of `{name:of}` is not drawn.
    """

    rows: ClassVar[Mapping[str, Callable[..., object]]]
    """What stands in a blank, by its name: a function of the blanks, and of what follows the colon."""

    def __init__(self, dice: Dice, shape: Shape, **known: object) -> None:
        self.dice = dice
        self.shape = shape
        self._known = known

    def __getitem__(self, name: str) -> Any:
        if name not in self._known:
            self._known[name] = self.rows[name](self)
        return self._known[name]

    def fill(self, text: str) -> str:
        """The text with all blanks filled."""

        def filled(found: re.Match[str]) -> str:
            name, of = found.groups()
            return str(self[name] if of is None else self.rows[name](self, of))

        return _BLANK.sub(filled, text)
