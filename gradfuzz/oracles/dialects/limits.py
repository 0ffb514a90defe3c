"""The limits of each system as a table, and the reason in words for a question that exceeds them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from gradfuzz.oracles.dialects.reproducer_input import ReproducerInput
from gradfuzz.oracles.emit.op_source import missing_op
from gradfuzz.programs.arithmetic.elementwise import expression
from gradfuzz.programs.language.functions import FUNCTIONS
from gradfuzz.programs.language.precision import Precision
from gradfuzz.programs.language.program import called
from gradfuzz.programs.language.typecheck import typecheck


@dataclass(frozen=True, slots=True)
class DialectLimits:
    """The limits of a system. `lacks` has a reason for each op that it lacks or does not differentiate."""

    system: str
    lacks: Mapping[str, str]
    precisions: tuple[Precision, ...] = ("float64", "float32")
    orders: int | None = None
    """The highest order of a derivative; None: no limit."""
    complex: str | None = None
    """Why it is not asked about complex numbers; None where it is."""
    arrays: str | None = None
    """Why it is not asked about arrays; None where it is."""
    kinks: bool = False
    """Whether a script shows slopes on both sides of a kink."""
    functions: Collection[str] | None = None
    """The elementwise functions that it has; another one is asked as its composition. None where any may be
    asked.
    """


def refusal(limits: DialectLimits, shown: ReproducerInput) -> str | None:
    """The first limit that an exhibit exceeds, in words; None where it exceeds none."""
    question, system = shown.question, limits.system
    missing = missing_op(question.program)
    if missing is not None:
        return missing
    if question.precision not in limits.precisions:
        return f"{system} has no {question.precision}"
    if limits.orders is not None and question.order > limits.orders:
        return f"{system} has no derivatives of order {question.order}"
    if shown.across is not None and not limits.kinks:
        right = "any slope between those on both sides is right"
        return f"the point is a kink, where {right}; only the Python scripts measure these"
    types = [*typecheck(question.program).variables.values(), *(p.type for p in question.program.params)]
    ops = called(question.program)
    if limits.complex and (any(t.is_complex for t in types) or ops & _COMPLEX):
        return limits.complex
    if limits.arrays and any(t.shape for t in types):
        return limits.arrays
    return next((reason for op in sorted(ops) if (reason := _lacked(limits, op)) is not None), None)


def _lacked(limits: DialectLimits, op: str) -> str | None:
    """Why it has no form of an op; None where it has one, or one of all ops that the op is composed of."""
    row = FUNCTIONS.get(op)
    if row is None or limits.functions is None or op in limits.functions:
        return f"{op}: {limits.lacks[op]}" if op in limits.lacks else None
    if not row.composition:
        return f"{op}: {limits.system} has no such function with a derivative"
    inner = called(expression(row.composition))
    return next((reason for i in sorted(inner) if (reason := _lacked(limits, i)) is not None), None)


_COMPLEX = {"complex", "conj", "eig", "eigvals", "imag", "real"}
"""Ops about complex numbers, even where no variable is complex."""
