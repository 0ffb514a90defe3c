"""A question in JAX: Python runs the loops, JAX the operations."""

from __future__ import annotations

from gradfuzz.oracles.dialects.limits import Limits, refusal
from gradfuzz.oracles.dialects.table import Exhibit
from gradfuzz.oracles.emit.script_verdict import as_port
from gradfuzz.oracles.jax.script import source
from gradfuzz.programs.arithmetic.half_numpy import refused_op

LIMITS = Limits("JAX", lacks={}, precisions=("float64", "float32", "bfloat16", "float16"), kinks=True)


def unsupported(exhibit: Exhibit) -> str | None:
    """Why JAX cannot be asked; None where it can."""
    return refusal(LIMITS, exhibit) or refused_op(exhibit.question.program, exhibit.question.precision)


def port(exhibit: Exhibit) -> str:
    title = exhibit.title("JAX")
    return as_port(
        source(
            exhibit.question,
            exhibit.place,
            "jax:unrolled",
            exhibit.expected,
            exhibit.allowed,
            exhibit.across,
            title,
        )
    )
