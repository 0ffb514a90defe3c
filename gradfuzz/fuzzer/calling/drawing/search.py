"""The search for valid calls of a function: draw, try, learn.

A call that raises words which few calls raised came further than the others. Until a call is valid, the next
ones are changes of those, or new ones; afterwards they are changes of valid calls, or new ones.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from gradfuzz.adapters.catalogue import Function
from gradfuzz.errors import UsageError
from gradfuzz.fuzzer.calling.drawing.draw import Drawn, changed, drawn
from gradfuzz.fuzzer.calling.drawing.learned import Choice, Learned
from gradfuzz.fuzzer.calling.drawing.replayed import fitted, replayed
from gradfuzz.fuzzer.calling.invocation import called, quiet, values_of
from gradfuzz.fuzzer.results.call import Call
from gradfuzz.libraries.detect import library_named
from gradfuzz.libraries.library import first_line
from gradfuzz.strategies.drawing.dice import Dice, Odds

_TRIES = 400
"""So many calls are tried in a row without a valid one, after the first."""

_OF_RECORDED = 40
"""The same of a function whose recorded calls are played again: they differ in their floats alone."""

PATIENCE = 6000
"""So many calls are tried until the first is valid, where nobody says."""

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
        patience: int = PATIENCE,
        dtypes: Sequence[str] = (),
    ) -> None:
        """`note` is told each call before it is tried; `recorded` calls are known to be valid. `patience`
        calls are tried until the first is valid. `dtypes`: of floats (none: all).
        """
        self.drawn = 0
        self.valid = 0
        self.raised: Counter[str] = Counter()
        """The library's words, and how many calls got them."""
        self._library = library_named(library)
        self._function = function
        self._dice = dice
        self._note = note
        self._patience = patience
        self._learned = Learned(dtypes)
        self._valid: list[Call] = [one for call in recorded for one in self._fitting(call)]
        self._played = [call for call in self._valid if call.is_recorded]
        self.first: tuple[Call, ...] = tuple(self._valid[:1] if self._played else self._valid)
        """The recorded calls that are asked as they are."""
        self._latest: tuple[Choice, ...] = ()
        self._further: dict[str, list[Call]] = {}

    def _fitting(self, call: Call) -> list[Call]:
        """A recorded call as it is asked: by the first of its forms that the library takes."""
        forms = list(fitted(call, self._library)) if call.is_recorded else [call]
        if len(forms) < 2:
            return forms
        return [next((one for one in forms[:-1] if self._is_taken(one)), forms[-1])]

    def _is_taken(self, call: Call) -> bool:
        try:
            self._made(call)
        except Exception:  # noqa: BLE001 - whatever a library raises says that it does not take the call
            return False
        return True

    def _made(self, call: Call) -> None:
        """Makes a call as cheaply as the library can."""
        self._note(call)
        with quiet(), np.errstate(all="ignore"):
            arrays = [self._library.constant(value) for value in values_of(call)]
            self._library.check(called(call, self._library), arrays)

    def calls(self) -> Iterator[Call]:
        """Valid calls, until none is found for a long time."""
        tries = 0
        patience = _OF_RECORDED if self._played else _TRIES if self._valid else self._patience
        while tries < patience:
            tries += 1
            candidate = self._candidate()
            if self._takes(candidate):
                tries = 0
                yield candidate.call

    def outside(self) -> None:
        """The last valid call has values that are no finite numbers, or could not be made after all.

        Its choices become rarer, and it is not changed on.
        """
        self._valid = self._valid[:-1]
        self._learned.heard(self._latest, valid=False)

    def _candidate(self) -> Drawn:
        dice = self._dice
        if self._played:
            return replayed(dice, dice.pick(self._played), self._learned)
        if not (self._valid or self._further) or dice.weighted(_NEW):
            names = self._function.names
            name = names[0] if len(names) == 1 or dice.chance(60) else dice.pick(names)
            return drawn(dice, self._library.name, self._function, name, self._learned)
        if self._valid:
            parent = dice.pick(self._valid[-4:]) if dice.chance(60) else dice.pick(self._valid)
        else:  # the rarest words come from the calls that came furthest
            words = sorted(self._further, key=lambda words: self.raised[words])
            parent = dice.pick(self._further[words[min(dice.below(len(words)) for _ in range(3))]])
        return changed(dice, parent, self._function, self._learned, arrays=not self._valid)

    def _takes(self, candidate: Drawn) -> bool:
        """Whether the library takes a call; it is remembered either way."""
        self.drawn += 1
        call = candidate.call
        try:
            values = values_of(call)
            if not values or not any(value.size for value in values):
                raise UsageError("no array of floats is among the arguments")
            if sum(value.size for value in values) > self._library.entries:
                return False
            self._made(call)
        except Exception as error:  # noqa: BLE001 - whatever a library raises says that it does not take the call
            self._refused(candidate, f"{type(error).__name__}: {first_line(error)}")
            return False
        self.valid += 1
        self._learned.heard(candidate.choices, valid=True)
        self._latest = candidate.choices
        self._valid = [*self._valid[1 - _KEPT :], call]
        return True

    def _refused(self, candidate: Drawn, words: str) -> None:
        self._learned.heard(candidate.choices, valid=False)
        self._learned.read(words)
        words = _told(words)
        self.raised[words] += 1
        if not re.search(_AT_THE_DOOR, words):
            self._further[words] = [*self._further.get(words, [])[-1:], candidate.call]


def _told(words: str) -> str:
    """What a message says without its numbers and types: sizes and dtypes of the call are no other words."""
    words = re.sub(_TYPE, "T", words)
    words = re.sub(r"[-+]?\d+(\.\d+)?", "N", words)
    return re.sub(r"N(?:(?:, ?|x| x )N)*,?|(?<=[\[(])(?=[\])])", "N", words)


_TYPE = (
    r"(?:CPU|torch\.)?\b(?:Complex|B)?(?:Double|Float16|Float|Half|Long|Int|Bool|Byte|Char|Short)"
    r"(?:Type|Tensor)?\b"
    r"|\b(?:torch\.)?(?:b?float|complex|u?int)\d+\b|c10::(?:complex<\w+>|\w+)"
    r"|\b(?:long int|unsigned char|double|float|int|bool)\b"
)
"""How libraries write the type of an array's entries."""

_AT_THE_DOOR = (
    r"^TypeError: .*(?:invalid combination of arguments|must be .* not |positional argument|keyword argument)"
    "|^UsageError"
)
"""What is raised before the function looks at its arguments: such a call has not come far."""
