"""A question in HIPS autograd: Python runs the loops. All derivatives are reverse mode."""

from __future__ import annotations

from gradfuzz.oracles.base import Question
from gradfuzz.oracles.dialects.autograd_emit import FUNCTIONS, HELPERS, LACKS, AutogradEmitter
from gradfuzz.oracles.dialects.limits import DialectLimits, refusal
from gradfuzz.oracles.dialects.reproducer_input import ReproducerInput
from gradfuzz.oracles.emit.script import heading, inputs_source
from gradfuzz.oracles.emit.script_verdict import as_port, truth_source

LIMITS = DialectLimits("autograd", LACKS, kinks=True, functions=FUNCTIONS)

_SLOPE = '''\
def slope_along(function, vs):
    """The derivative of `function` along `vs`, as a function."""
    every = tuple(range(len(vs)))
    return lambda *xs: sum(anp.sum(v * s) for v, s in zip(vs, grad(function, every)(*xs)))
'''


def unsupported(shown: ReproducerInput) -> str | None:
    """Why autograd cannot be asked; None where it can."""
    return refusal(LIMITS, shown)


def port(shown: ReproducerInput) -> str:
    question = shown.question
    function = AutogradEmitter(question.precision).function(question.program, "f")
    imports = "import autograd.numpy as anp\nfrom autograd import grad\nfrom autograd.tracer import getval\n"
    if "log_sum_exp(" not in function:
        imports = imports.replace("from autograd.tracer import getval\n", "")
    needed = "autograd"
    if "special." in function:
        imports = imports.replace("import grad\n", "import grad\nfrom autograd.scipy import special\n")
        needed = "autograd, scipy"
    parts = [
        heading(question, shown.title("autograd (https://github.com/HIPS/autograd)"), needed, imports)
        + inputs_source(question, shown.place),
        *(text for name, text in HELPERS.items() if f"{name}(" in function),
        function,
        *([_SLOPE] if question.order > 1 else []),
        _gradient(question),
        truth_source(question, shown.place, shown.expected, shown.allowed, shown.across),
    ]
    return as_port("\n\n".join(parts))


def _gradient(question: Question) -> str:
    points = ", ".join(
        f'"{p.name}": inputs["{p.name}"]' + ("" if p.type.is_float or p.type.shape else ".item()")
        for p in question.program.params
    )
    single = len(question.program.result.values) == 1
    lines = ["def gradient():", f"    point = {{{points}}}"]
    if not question.modes:
        lines += [f"    outputs = {'[f(*point.values())]' if single else 'f(*point.values())'}"]
        lines += ['    return {f"output {k}": np.asarray(output) for k, output in enumerate(outputs)}']
        return "\n".join(lines) + "\n"
    result = "f(*{**point, **dict(zip(wrt, xs))}.values())"
    lines += ["", "    def function(*xs):", f"        outputs = {f'[{result}]' if single else result}"]
    lines += ["        return sum(anp.sum(w * y) for w, y in zip(weights, outputs) if w is not None)", ""]
    if question.order > 1:
        lines += [f"    for _ in range({question.order - 1}):"]
        lines += ["        function = slope_along(function, [directions[name] for name in wrt])"]
    lines += ["    slopes = grad(function, tuple(range(len(wrt))))(*[point[name] for name in wrt])"]
    lines += ["    return {name: np.asarray(s) for name, s in zip(wrt, slopes)}"]
    return "\n".join(lines) + "\n"
