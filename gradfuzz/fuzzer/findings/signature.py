"""Which findings repeat others: those of programs that are built alike; and which of several leads."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gradfuzz.fuzzer.questions.candidate import Candidate
from gradfuzz.fuzzer.questions.rewrite import map_expressions
from gradfuzz.fuzzer.results.finding import Finding
from gradfuzz.fuzzer.results.ranking import Seriousness, seriousness
from gradfuzz.fuzzer.shrinking.reductions import canonical_names
from gradfuzz.programs.language.program import Program, to_text
from gradfuzz.programs.language.syntax import Const, Expr

Precedence = tuple[Seriousness, str, int, str, str]
"""Of findings with the same signature the one with the smallest gives its numbers."""


def precedence(finding: Finding, index: int) -> Precedence:
    """The most serious first, as in the ranking: a first derivative that is wrong by a factor gives the
    numbers, even if the second derivative of the same program has the wrong sign. How often a finding is seen
    plays no part, as it is not known yet; inputs play none, as shrinking makes them ordinary where it can.

    `index` is the number of the program that it was met on.
    """
    return seriousness(finding), finding.target, index, finding.check, finding.precision


def skeleton(program: Program) -> str:
    """The text of a program with names and constants erased, and of sizes only whether they are 0, 1 or more.

    It is equal for programs that are built alike.
    """

    def erase(e: Expr) -> Expr:
        if isinstance(e, Const) and not isinstance(e.value, bool):
            return Const(1.0) if isinstance(e.value, float) else Const(1)
        return e

    inputs = {p.name: np.zeros(p.type.sizes) for p in program.params}
    named = canonical_names(Candidate(program, inputs, "float64", (), (), (), {})).program
    types = [replace(p.type, shape=tuple(min(n, 2) for n in p.type.sizes)) for p in named.params]
    params = tuple(replace(p, type=type) for p, type in zip(named.params, types, strict=True))
    return to_text(replace(named, params=params, body=map_expressions(named.body, erase)))
