"""What a library lacks by its documents or its own source, a row each. No exception is a refusal by its type.

A row with `why` is known before the library is asked. A row with `words` is known by an exception that says
them, and only where the row's modes, ops and ways are those of the question.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gradfuzz.oracles.base import Mode, Question
from gradfuzz.programs.language.program import called


@dataclass(frozen=True, slots=True)
class Lack:
    """The row holds where the modes contain "fwd", where they contain "rev" or where they are `many`; without
    any of the three it holds whatever the modes are.
    """

    words: str = ""
    source: str = ""
    """Where the library says so: a page, or a file of its own."""
    fwd: bool = False
    rev: bool = False
    many: bool = False
    ops: str = ""
    """The program has one of these ops."""
    ways: str = ""
    """One of these ways is asked."""
    why: str = ""

    def speaks(self, error: Exception, modes: Sequence[Mode]) -> bool:
        """Whether an exception in the place of a derivative of these modes is a refusal."""
        return bool(self.words) and self._fits(modes) and self.words in str(error)

    def meets(self, question: Question, way: str) -> bool:
        """Whether the row is about this question to this way."""
        if (self.ways and way not in self.ways.split()) or not self._fits(question.modes):
            return False
        return not self.ops or not called(question.program).isdisjoint(self.ops.split())

    def _fits(self, modes: Sequence[Mode]) -> bool:
        asked = self.fwd and "fwd" in modes, self.rev and "rev" in modes, self.many and len(modes) > 1
        return any(asked) or not (self.fwd or self.rev or self.many)


def foreseen(rows: Iterable[Lack], question: Question, way: str) -> str | None:
    """Why a way cannot be asked; None where it can."""
    return next((row.why for row in rows if row.why and row.meets(question, way)), None)


def is_refusal(rows: Iterable[Lack], error: Exception, question: Question, way: str = "") -> bool:
    """Whether an exception says what the library lacks."""
    return any(row.meets(question, way) and row.speaks(error, question.modes) for row in rows)
