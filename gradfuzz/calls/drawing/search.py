"""The search for valid calls of a function: draw, try, learn.

A call that raises a message which no earlier call raised came further than they did. Until a call is valid,
the next ones are changes of those; afterwards they are changes of valid calls, or new ones.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from gradfuzz.adapters.catalogue import Function, texts
from gradfuzz.calls.asking import called, quiet, values_of
from gradfuzz.calls.drawing.draw import Drawn, changed, drawn
from gradfuzz.calls.drawing.learned import Learned
from gradfuzz.calls.libraries.library import library_named
from gradfuzz.errors import UsageError
from gradfuzz.fuzzer.results.call import Call
from gradfuzz.strategies.drawing.dice import Dice, Odds
from gradfuzz.testing.frameworks.framework import first_line

_ENTRIES = 64
"""The most entries of the differentiated arrays of a call: forward mode asks for them one by one."""

_TRIES, _FIRST = 400, 1500
"""So many calls are tried in a row without a valid one; before the first."""

_KEPT = 24
"""Calls that are kept to be changed."""

_NEW = Odds((60, False), (40, True))
"""Whether a call is drawn afresh though there are calls to change."""


class Search:
    """The valid calls of one function, by one seed."""

    def __init__(
        self,
        library: str,
        function: Function,
        dice: Dice,
        note: Callable[[Call], None],
        recorded: Sequence[Call] = (),
    ) -> None:
        """`note` is told each call before it is tried; `recorded` calls are known to be valid."""
        self.drawn = 0
        self.valid = 0
        self.raised: Counter[str] = Counter()
        """The library's words, and how many calls got them."""
        self._library = library_named(library)
        self._function = function
        self._dice = dice
        self._note = note
        self._learned = Learned()
        self._valid: list[Call] = list(recorded)
        self._further: list[Call] = []

    def calls(self) -> Iterator[Call]:
        """Valid calls, until none is found for a long time."""
        tries = 0
        while tries < (_TRIES if self._valid else _FIRST):
            tries += 1
            candidate = self._candidate()
            if self._takes(candidate):
                tries = 0
                yield candidate.call

    def _candidate(self) -> Drawn:
        dice = self._dice
        parents = self._valid or self._further
        if not parents or dice.weighted(_NEW):
            names = self._function.names
            name = names[0] if len(names) == 1 or dice.chance(60) else dice.pick(names)
            return drawn(dice, self._library.name, self._function, name, self._learned)
        recent = dice.pick(parents[-4:]) if dice.chance(60) else dice.pick(parents)
        return changed(dice, recent, self._function, self._learned, arrays=not self._valid)

    def _takes(self, candidate: Drawn) -> bool:
        """Whether the library takes a call; it is remembered either way."""
        self.drawn += 1
        call = candidate.call
        try:
            values = values_of(call)
            if not values or not any(value.size for value in values):
                raise UsageError("no array of floats is among the arguments")
            if sum(value.size for value in values) > _ENTRIES:
                return False
            self._note(call)
            with quiet(), np.errstate(all="ignore"):
                arrays = [self._library.array(value) for value in values]
                self._library.check(called(call, self._library), arrays)
        except Exception as error:  # noqa: BLE001 - whatever a library raises says that it does not take the call
            self._refused(candidate, f"{type(error).__name__}: {first_line(error)}")
            return False
        self.valid += 1
        self._learned.heard(candidate.choices, valid=True)
        self._valid = [*self._valid[1 - _KEPT :], call]
        return True

    def _refused(self, candidate: Drawn, words: str) -> None:
        self._learned.heard(candidate.choices, valid=False)
        self._learned.texts.update(dict.fromkeys(texts(words)))
        words = re.sub(r"[-+]?\d+(\.\d+)?", "N", words)
        if words not in self.raised:
            self._further = [*self._further[1 - _KEPT :], candidate.call]
        self.raised[words] += 1
