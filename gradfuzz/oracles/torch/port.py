"""A question in torch: Python runs the loops, torch the operations."""

from __future__ import annotations

from gradfuzz.oracles.dialects.limits import DialectLimits, refusal
from gradfuzz.oracles.dialects.reproducer_input import ReproducerInput
from gradfuzz.oracles.emit.script_verdict import as_port
from gradfuzz.oracles.torch.script import script
from gradfuzz.programs.arithmetic.half_numpy import refused_op

LIMITS = DialectLimits(
    "torch", lacks={}, precisions=("float64", "float32", "bfloat16", "float16"), kinks=True
)


def unsupported(shown: ReproducerInput) -> str | None:
    """Why torch cannot be asked; None where it can."""
    return refusal(LIMITS, shown) or refused_op(shown.question.program, shown.question.precision)


def port(shown: ReproducerInput) -> str:
    asked = shown.question, shown.place, "torch:eager", shown.expected, shown.allowed, shown.across
    return as_port(script(*asked, title=shown.title("torch")))
