"""The limits of each system as a table, and the reason in words for a question that exceeds them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gradfuzz.oracles.dialects.table import ReproducerInput
from gradfuzz.oracles.emit.linalg_source import missing_op
from gradfuzz.programs.language.precision import Precision
from gradfuzz.programs.language.syntax import Call, walk
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
    """Whether a script shows the slopes on both sides of a kink."""


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
        return (
            "the point is a kink, where any slope between those on both sides is right; only the Python"
            " scripts measure these"
        )
    types = [*typecheck(question.program).variables.values(), *(p.type for p in question.program.params)]
    ops = {node.op for node in walk(question.program) if isinstance(node, Call)}
    if limits.complex and (any(t.is_complex for t in types) or ops & _COMPLEX):
        return limits.complex
    if limits.arrays and any(t.shape for t in types):
        return limits.arrays
    return next((f"{op}: {limits.lacks[op]}" for op in sorted(ops) if op in limits.lacks), None)


_COMPLEX = {"complex", "conj", "eig", "eigvals", "imag", "real"}
"""Ops about complex numbers, even where no variable is complex."""
