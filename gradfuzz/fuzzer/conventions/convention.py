"""A convention: which answers are right where no derivative decides, and who says so.

A row is one situation: a choice of one op, the end of a domain, a factor with a phase, a call that the
documents exclude. It predicts which answers it accepts; any other one stays wrong. Where nothing can be
predicted there is no verdict.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from gradfuzz.fuzzer.conventions.accepted import RAISES, UNDEFINED, Accepts, UnknownError
from gradfuzz.fuzzer.conventions.predicted import between, or_nan
from gradfuzz.fuzzer.conventions.situation import Situation
from gradfuzz.fuzzer.results.finding import CheckResult, Reason, Verdict

Numbers = float | tuple["Numbers", ...]
"""A scalar, or the nested entries of an array."""

Slopes = tuple[Numbers, Numbers] | None
"""Those to the left and to the right; None where one of them does not exist."""


@dataclass(frozen=True, slots=True)
class Example:
    """An expression at a point, and each system's derivative by its first input.

    `statements` are separated by "; "; the last is an expression, the output. All inputs are floats.
    `forward` has the answers that differ in forward mode. An example about a library's own functions instead
    of a program has the `statements` "" and says in `library` what it asks.
    """

    statements: str
    at: Mapping[str, Numbers]
    answers: Mapping[str, Numbers | str]
    slopes: Slopes = None
    forward: Mapping[str, Numbers | str] = field(default_factory=dict)
    library: str = ""

    @property
    def text(self) -> str:
        *before, output = self.statements.split("; ")
        sizes = {name: list(np.shape(np.asarray(value))) for name, value in self.at.items()}
        params = ", ".join(f'{name}: "float{size}"' if size else name for name, size in sizes.items())
        lines = [f"def f({params}):", *(f"    {line}" for line in before), f"    return {output}"]
        return "\n".join(lines) + "\n"

    def document(self) -> dict[str, Any]:
        """The example as plain data."""
        told = {"expression": self.statements or self.library, "at": dict(self.at), "slopes": self.slopes}
        return {**told, "answers": dict(self.answers), "forward": dict(self.forward)}


@dataclass(frozen=True, slots=True)
class Convention:
    """A row. No two have one name."""

    name: str
    why: str
    """Why there is no derivative, or which one is meant."""
    sources: Mapping[str, str]
    """What it is about, and where that is documented: ops of programs, or patterns of public names of
    functions, separated by blanks.
    """
    accepts: Accepts = between
    raises: bool | None = False
    """Whether it is about exceptions, and not about numbers; None where it is about both."""
    examples: tuple[Example, ...] = ()

    @property
    def ops(self) -> tuple[str, ...]:
        """The ops of programs."""
        return tuple(one for names in self.sources for one in names.split() if "." not in one)

    @property
    def functions(self) -> Mapping[str, str]:
        """Where it is documented, by patterns of public names of functions."""
        return {names: url for names, url in self.sources.items() if "." in names}

    @property
    def nan(self) -> bool:
        """Whether NaN is one of the answers at a point of a program."""
        return self.accepts is or_nan

    def source(self, name: str) -> str | None:
        """The document of an op or a function; None where the row is not about it."""
        of = (url for names, url in self.sources.items() for one in names.split() if fnmatchcase(name, one))
        return next(of, None)

    def document(self) -> dict[str, Any]:
        """The row as plain data."""
        about = {"ops": self.ops, "functions": self.functions, "why": self.why, "nan": self.nan}
        source = self.source(self.ops[0]) if self.ops else ""
        examples = [example.document() for example in self.examples]
        return {"name": self.name, **about, "source": source, "examples": examples}


def excused(at: Situation, rows: Iterable[tuple[Convention, str]]) -> CheckResult:
    """The case, which is about an answer that is wrong by the truth: a convention where one of the rows
    accepts the answer, inconclusive where nothing can be predicted. With each row is its source.
    """
    case = at.case
    raised, kind = case.verdict is Verdict.CRASHED, case.kind
    if not case.verdict.is_wrong or not (raised or kind is None or kind.of_derivatives):
        return case
    for row, source in rows:
        if row.raises not in (None, raised):
            continue
        try:
            accepted = row.accepts(at)
        except UnknownError:
            accepted = UNDEFINED
        if accepted is None:
            continue
        message = f"{row.why}: {source}"
        if accepted == UNDEFINED:
            return case.unsettled(Reason.UNDEFINED, f"not defined by its documents: {message}")
        if accepted == RAISES or (not raised and at.accepts(accepted)):
            return replace(
                case, verdict=Verdict.CONVENTION, kind=None, message=message, conventions=(row.name,)
            )
    return case
