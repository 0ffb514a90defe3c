"""What a shrunk program consists of, as far as it tells of a bug: its trigger."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gradfuzz.fuzzer.results.finding import Finding
from gradfuzz.fuzzer.results.shown import functions
from gradfuzz.programs.language.ops import OPS
from gradfuzz.programs.language.program import Program, called, walk
from gradfuzz.programs.language.syntax import For, Repeat, While

PLAIN = frozenset(
    {
        *("abs", "add", "astype", "broadcast_to", "concat", "divide", "index", "matmul", "multiply"),
        *("negative", "permute_dims", "reshape", "stack", "subtract", "sum"),
    }
)
"""Ops that many shrunk programs keep because nothing smaller is left: they say little beside another op."""

OF_PARTS = frozenset({"complex", "conj", "imag", "real"})
"""Ops that stand around others of complex numbers, and tell less than these."""

FORMS: Mapping[type, str] = {For: "for", While: "while", Repeat: "repeat"}
"""The forms of loops."""


@dataclass(frozen=True, slots=True)
class Trigger:
    """The ops or the loops that a shrunk program consists of, or the functions that a call is about."""

    ops: frozenset[str]
    """Ops by their names, functions by their public ones: "torch.nn.functional.softplus"."""
    loops: frozenset[str]
    """Forms of loops: "for", "while", "repeat"."""

    @classmethod
    def of_finding(cls, finding: Finding) -> Trigger:
        """The ops or functions that are wrong alone; where there is none, what the program consists of."""
        if alone := finding.culprits or functions(finding):
            return cls(frozenset(alone), frozenset())
        return cls.of(finding.program)

    @classmethod
    def of(cls, program: Program) -> Trigger:
        ops, loops = ops_in(program), loops_in(program)
        telling = ops - PLAIN
        return cls(frozenset(telling or (() if loops else ops)), frozenset(() if telling else loops))

    def is_in(self, program: Program) -> bool:
        """Whether the program has some of it."""
        return bool(self.ops & ops_in(program) or self.loops & loops_in(program))


def ops_in(program: Program) -> set[str]:
    """The ops that may have a derivative."""
    return {op for op in called(program) if OPS[op].kind not in ("comparison", "logic")}


def loops_in(program: Program) -> set[str]:
    """The forms of the program's loops."""
    return {FORMS[type(node)] for node in walk(program) if type(node) in FORMS}
