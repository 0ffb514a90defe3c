"""A question in HIPS autograd, on the calls of its adapter. All derivatives are reverse mode."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gradfuzz.adapters.shipped import ADAPTERS
from gradfuzz.oracles.base import Mode
from gradfuzz.oracles.dialects import adapter_script
from gradfuzz.oracles.dialects.limits import DialectLimits, refusal
from gradfuzz.oracles.dialects.reproducer_input import ReproducerInput
from gradfuzz.oracles.emit.script_verdict import as_port
from gradfuzz.oracles.emit.short_forms import FORMS
from gradfuzz.oracles.foreign.expanding import NORMALIZED, expanded, functions_of

LACKS: Mapping[str, str] = {
    "cumulative_max": "autograd has no derivative of numpy.maximum.accumulate",
    "cumulative_prod": "autograd has no derivative of numpy.cumprod",
    "eigvals": "autograd has no derivative of numpy.linalg.eigvals",
    "expm": "autograd has no matrix exponential",
    "lstsq": "autograd has no derivative of numpy.linalg.lstsq",
    "lu": "autograd has no LU decomposition",
    "qr": "autograd has no derivative of numpy.linalg.qr",
    "scatter_add": "autograd has no derivative of numpy.add.at",
    "window_sum": "autograd has no sums over windows",
}
_FUNCTIONS = (
    "acos acosh asin asinh atan atan2 atanh cos digamma erf erfc erfinv exp expit expm1 lgamma log log1p"
    " polygamma sin sqrt tan tanh"
)
FUNCTIONS = frozenset({*_FUNCTIONS.split(), *FORMS["autograd"].functions})
"""Elementwise functions that autograd has a derivative of."""
LIMITS = DialectLimits("autograd", LACKS, kinks=True, functions=FUNCTIONS)


def unsupported(shown: ReproducerInput) -> str | None:
    """Why autograd cannot be asked; None where it can."""
    return refusal(LIMITS, shown)


def port(shown: ReproducerInput) -> str:
    reverse: Mode = "rev"
    question = replace(shown.question, modes=(reverse,) * shown.question.order)
    lacking = functions_of(question.program) - FUNCTIONS
    program = expanded(question.program, lacking | NORMALIZED)
    title = shown.title("autograd (https://github.com/HIPS/autograd)")
    own, adapter = replace(shown, question=question), ADAPTERS["autograd"]
    return as_port(adapter_script.script(own, adapter, "eager", title, program=program, operators=True))
