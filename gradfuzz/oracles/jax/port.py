"""A question in JAX: Python runs the loops, JAX the operations."""

from __future__ import annotations

from gradfuzz.oracles.dialects.limits import DialectLimits, refusal
from gradfuzz.oracles.dialects.reproducer_input import ReproducerInput
from gradfuzz.oracles.emit.script_verdict import as_port
from gradfuzz.oracles.jax.script import script
from gradfuzz.programs.arithmetic.half_numpy import refused_op

LIMITS = DialectLimits("JAX", lacks={}, precisions=("float64", "float32", "bfloat16", "float16"), kinks=True)


def unsupported(shown: ReproducerInput) -> str | None:
    """Why JAX cannot be asked; None where it can."""
    return refusal(LIMITS, shown) or refused_op(shown.question.program, shown.question.precision)


def port(shown: ReproducerInput) -> str:
    asked = shown.question, shown.place, "jax:unrolled", shown.expected, shown.allowed, shown.across
    return as_port(script(*asked, title=shown.title("JAX")))
