"""The languages and libraries that a finding's question is written in as a standalone script, a row each.

The module of a row has two functions of a `ReproducerInput`:

    unsupported(shown)     why the system cannot be asked this, in words; None where it can
    port(shown)            the script: prints expected and got, exits with 1 while they differ and with 0
                           where they do not
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, cast

from gradfuzz.oracles.base import Array, Question
from gradfuzz.oracles.emit.script_verdict import Across

DIALECTS: dict[str, str] = {
    "jax": "gradfuzz.oracles.jax.port",
    "torch": "gradfuzz.oracles.torch.port",
    "autograd": "gradfuzz.oracles.dialects.autograd_script",
    "nx": "gradfuzz.oracles.dialects.nx_script",
    "swift": "gradfuzz.oracles.dialects.swift_script",
    "tfjs": "gradfuzz.oracles.dialects.tfjs_script",
}
"""Dialect -> its module. The module is imported where a script is written; it imports no library of
a target.
"""


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
    """A module of the table."""

    def unsupported(self, shown: ReproducerInput) -> str | None: ...

    def port(self, shown: ReproducerInput) -> str: ...


def dialect(name: str) -> Dialect:
    """The module of a dialect; KeyError for an unknown one."""
    return cast("Dialect", importlib.import_module(DIALECTS[name]))
