"""What every dialect gets, and what its module has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from gradfuzz.oracles.base import Array, Question
from gradfuzz.oracles.emit.script_verdict import Across


@dataclass(frozen=True, slots=True, eq=False)
class ReproducerInput:
    """The contents of a script: a question, one of its points, and the truth there.

    `expected` and `bound` are the truth and its error. `allowed` is the largest acceptable error of an
    answer, by input (or by output, where nothing is differentiated). `references` says where the truth comes
    from. `across` is given at a kink; see `script_verdict`. For points answered in one vectorized call, all
    of them are in the question, and `together` is true; most scripts ask about the one point.
    """

    question: Question
    place: int
    expected: Mapping[str, Array]
    bound: Mapping[str, Array]
    allowed: Mapping[str, Array] | None = None
    references: tuple[str, ...] = ()
    across: Across | None = None
    together: bool = False

    @property
    def inputs(self) -> Mapping[str, Array]:
        """The inputs of the point."""
        return self.question.points[self.place].inputs

    def title(self, system: str, *, vectorized: bool = False) -> str:
        """The first line of a script; `vectorized`: it asks about all points in one call, like the target."""
        alone = f" One of {len(self.question.points)} points that were answered in one call is asked alone."
        return f"The same question to {system}.{alone if self.together and not vectorized else ''}"


class Dialect(Protocol):
    """A module of the table of dialects."""

    def unsupported(self, shown: ReproducerInput) -> str | None: ...

    def port(self, shown: ReproducerInput) -> str: ...
