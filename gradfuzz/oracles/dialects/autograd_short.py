"""Short reproducers for HIPS autograd."""

from __future__ import annotations

import numpy as np

from gradfuzz.oracles.base import Array
from gradfuzz.oracles.dialects.autograd_emit import HELPERS, AutogradEmitter
from gradfuzz.oracles.emit.short import (
    ShortInput,
    assembled,
    input_lines,
    literal,
    objective,
    picked,
    stages,
    used,
    value_line,
)

_TOTAL = "anp.sum({})"


def short(shown: ShortInput, oracle_name: str) -> str:
    """The lines that ask autograd the same; empty where it has no short form. The dialect can ask it."""
    question, wrt = shown.question, shown.wrt()
    if "fwd" in question.modes and len(wrt) > 1:
        return ""
    function = AutogradEmitter(question.precision).function(question.program, "f").strip("\n")
    helpers = [text.strip("\n") for name, text in HELPERS.items() if f"{name}(" in function]
    function = "\n\n".join([*helpers, function])
    lines = _lines(shown)
    text = "\n".join([function, *lines])
    differentiating = [name for name in ("grad", "make_jvp") if used(text, name)]
    imports = ["import autograd.numpy as anp"]
    imports += ["import numpy as np"] if used(text, "np") else []
    imports += [f"from autograd import {', '.join(differentiating)}"] if differentiating else []
    imports += ["from autograd.scipy import special"] if used(function, "special") else []
    imports += ["from autograd.tracer import getval"] if used(function, "getval") else []
    return assembled(shown, imports, function, _inputs(shown), lines, scalar=question.modes[-1:] == ("fwd",))


def _inputs(shown: ShortInput) -> list[str]:
    def other(value: Array) -> str:
        return f"anp.array({literal(value)})" if value.shape else literal(value)

    return input_lines(shown, lambda value: _array(value, shown.question.precision), other)


def _array(value: Array, precision: str) -> str:
    value = np.asarray(value)
    if not value.shape:
        return f"anp.{precision}({literal(value)})"
    if not value.size:
        return f'anp.zeros({value.shape}, "{precision}")'
    return f'anp.array({literal(value)}, "{precision}")'


def _lines(shown: ShortInput) -> list[str]:
    question, wrt = shown.question, shown.wrt()
    given = ", ".join(wrt)
    if not question.modes:
        return value_line(shown)
    which, at = picked(shown)
    first, lines = objective(shown, _TOTAL)
    forward = "make_jvp({g})({x})({d})[1]"
    last, stage_lines = stages(shown, first, f"grad({{g}}{which})({{xs}})", forward, _TOTAL)
    lines += stage_lines
    if question.modes[-1] == "rev":
        return [*lines, f"got = grad({last}{which})({given}){at}"]
    name, index = shown.entry
    unit = np.zeros(np.shape(shown.inputs[name]))
    unit[index] = 1.0
    lines += [f"unit = {_array(unit, question.precision)}", f"got = make_jvp({last})({given})(unit)[1]"]
    return lines
