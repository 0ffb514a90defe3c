"""Short reproducers for JAX."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from gradfuzz.oracles.emit.script_gradient import BATCHED
from gradfuzz.oracles.emit.short import ShortInput, assembled, used
from gradfuzz.oracles.emit.short_forms import FORMS, differentiated, input_lines, transformed
from gradfuzz.oracles.jax.script import function_source

FORM = FORMS["jax"]


def short(shown: ShortInput, oracle_name: str) -> str:
    """The lines that ask JAX the same by this entry point; empty for one that has no short form."""
    way = oracle_name.removeprefix("jax:")
    kind = way.partition(":")[0]
    if kind in BATCHED or (kind == "jacobian" and not shown.simple):
        return ""
    question = shown.question
    unrolled = kind == "unrolled"
    imports, function = function_source(question, 0, kind)
    jit = not unrolled and not way.endswith(":nojit")
    scalar = question.modes[-1:] == ("fwd",) and kind != "jacobian" and _is_one_number(shown)
    if scalar:
        lines = differentiated(shown, FORM, lambda v: FORM.of(v, question.precision), _jitted(shown, jit))
    else:
        compiled = "jax.jit({})" if jit else "{}"
        lines = transformed(shown, FORM, "jax", compiled=compiled, whole=kind == "jacobian")
    settings = ["", *FORM.settings]
    wide = question.precision == "float64"
    dtype = "jnp.bfloat16" if question.precision == "bfloat16" else f"np.{question.precision}"
    for name, own in (("F", dtype), ("C", f"np.{'complex128' if wide else 'complex64'}")):
        function = re.sub(rf"(?<![.\w]){name}\b", own, function)
    if used(function, "np"):
        imports += ["import numpy as np"]
    inputs = input_lines(shown, FORM, plain=unrolled)
    return assembled(shown, [*imports, *settings], function, inputs, lines, scalar=scalar)


def _is_one_number(shown: ShortInput) -> bool:
    """Whether all that is differentiated by is one number: it is pushed forward without a batch."""
    return sum(np.asarray(shown.inputs[name]).size for name in shown.question.wrt) == 1


def _jitted(shown: ShortInput, jit: bool) -> Callable[[str], str]:
    """An expression of the differentiated inputs as it is run."""
    xs = ", ".join(shown.wrt())
    return lambda expression: f"jax.jit(lambda {xs}: {expression})({xs})" if jit else expression
