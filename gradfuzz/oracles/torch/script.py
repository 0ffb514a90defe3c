"""Reproducers for torch: the oracle's question as a script without gradfuzz."""

from __future__ import annotations

from collections.abc import Mapping

from gradfuzz.oracles.base import Array, Question
from gradfuzz.oracles.dialects.limits import DialectLimits, refusal
from gradfuzz.oracles.dialects.reproducer_input import ReproducerInput
from gradfuzz.oracles.emit.plain_source import plain_source_in
from gradfuzz.oracles.emit.script import heading, inputs_source
from gradfuzz.oracles.emit.script_gradient import BATCHED, SPREAD, columns_source, gradient_source
from gradfuzz.oracles.emit.script_verdict import Across, as_port, truth_source
from gradfuzz.oracles.torch.emit import HELPERS, TorchEmitter
from gradfuzz.oracles.torch.loops import loop_source
from gradfuzz.programs.arithmetic.half_numpy import refused_op
from gradfuzz.programs.graphs.lower import lower
from gradfuzz.programs.language.precision import HALF
from gradfuzz.programs.language.syntax import Param

COMPILED = "compile:"
"""The prefix of torch.compile's entry points."""

UNROLLED = ("eager", "func", "jacobian", *BATCHED)
"""The entry points whose loops Python runs."""

LIMITS = DialectLimits("torch", {}, precisions=(*HALF, "float32", "float64"), kinks=True)
"""Of the dialect, which asks torch:eager: Python runs the loops."""


def unsupported(shown: ReproducerInput) -> str | None:
    """Why torch cannot be asked; None where it can."""
    return refusal(LIMITS, shown) or refused_op(shown.question.program, shown.question.precision)


def port(shown: ReproducerInput) -> str:
    asked = shown.question, shown.place, "torch:eager", shown.expected, shown.allowed, shown.across
    return as_port(script(*asked, title=shown.title("torch")))


def script(
    question: Question,
    point_index: int,
    oracle_name: str,
    expected: Mapping[str, Array],
    allowed: Mapping[str, Array] | None = None,
    across: Across | None = None,
    title: str = "",
    *,
    dtypes: bool = False,
) -> str:
    """A script that asks torch the same without gradfuzz; exits with 1 while an entry exceeds `allowed`.

    `oracle_name` is the entry point. The script computes the expected values itself; `expected` only sets the
    scale of the bound without `allowed`. Torch is not imported here.
    """
    way = oracle_name.removeprefix("torch:")
    floats = "float32" if _is_widened(question) else None
    imports, function = function_source(question, way)
    gradient, used = _gradient(question, oracle_name)
    if any("forward_ad" in text for text in used):
        imports += "from torch.autograd import forward_ad\n"
    imports = f"import torch\n{imports}"
    title = title or f"The derivative of this function by torch ({way}) is not the true one."
    dtype = f"dtype = torch.{question.precision}\n"
    parts = [
        f"{heading(question, title, 'torch', imports)}{dtype}{inputs_source(question, point_index, floats)}",
        *([columns_source(question, point_index, way, floats)] if way in BATCHED else []),
        *function,
        *used,
        gradient,
        truth_source(question, point_index, expected, allowed, across, dtypes=dtypes and floats is None),
    ]
    return "\n\n".join(parts)


def function_source(question: Question, way: str) -> tuple[str, list[str]]:
    """The imports that the function needs, and the sources of its helpers and of itself."""
    _, compiled, backend = way.rpartition(COMPILED)
    if is_plain(way):
        # Torch's forward mode widens a float32 scalar beside a plain number; the oracle has only tensors.
        bare = not compiled and (question.precision == "float64" or "fwd" not in question.modes)
        imports, function = "", TorchEmitter(question.precision, bare=bare).function(question.program, "f")
    else:
        imports, function = loop_source(lower(question.program), question.precision, way)
    helpers = [text for name, text in HELPERS.items() if f"{name}(" in function]
    function += f'\n\nf = torch.compile(f, backend="{backend}")\n' if compiled else ""
    return imports, [*helpers, function]


def is_plain(way: str) -> bool:
    """Whether ints and bools without a shape are Python's, which runs the loops."""
    return way in UNROLLED or way.startswith(COMPILED)


def _helper(name: str) -> str:
    """The source of a function of `derivatives`."""
    return plain_source_in("gradfuzz.oracles.torch.derivatives", name)[name]


def _derivative(question: Question, oracle_name: str) -> tuple[str, list[str]]:
    """The call that differentiates, and the sources of the functions that it needs."""
    modes = ", ".join(f'"{mode}"' for mode in question.modes)
    vs = "vs" if question.order > 1 else "[]"
    if oracle_name in ("torch:func", "torch:vmap"):
        return f"by_func(of_wrt, xs, ws, {vs}, [{modes}])", [_helper("by_func")]
    if oracle_name == "torch:jacobian":
        return f"by_jacobians(of_wrt, xs, ws, {vs}, [{modes}])", [_helper("by_jacobians")]
    reverse = [_helper("reverse")] if "rev" in question.modes else []
    if question.modes == ("rev",) and oracle_name != "torch:grad_of_vmap":
        return "reverse(zip(of_wrt(*xs), ws), xs, False)", reverse
    if "fwd" in question.modes:
        functions = [*reverse, _helper("each_direction"), _helper("_tangent"), _helper("by_autograd")]
        return f"by_autograd(of_wrt, xs, ws, {vs}, [{modes}])[1]", functions
    return f"by_reverse(of_wrt, xs, ws, {vs}, {question.order})[1]", [*reverse, _helper("by_reverse")]


def _is_widened(question: Question) -> bool:
    """Whether NumPy lacks the dtype, so that the script's arrays are float32 with the same numbers."""
    return question.precision == "bfloat16"


def _gradient(question: Question, oracle_name: str) -> tuple[str, list[str]]:
    """The function `gradient()` of the script, and the sources of the functions that it needs."""
    way = oracle_name.removeprefix("torch:")
    batched, outside = way in BATCHED, way == "grad_of_vmap"
    call, used = _derivative(question, oracle_name) if question.modes else ("", [])
    widened = _is_widened(question)
    own = ", dtype=dtype" if widened else ""

    def array(given: str, p: Param) -> str:
        if is_plain(way) and not p.type.is_float and not p.type.shape:
            return f"{given}.item()"
        leaf = ".requires_grad_()" if call.startswith("reverse(") and p.name in question.wrt else ""
        return f"torch.tensor({given}{own if p.type.is_float else ''}){leaf}"

    w, v = ("spread(w)", "spread(directions[name])") if outside else ("w", "directions[name]")
    factors = [f"ws = [None if w is None else torch.tensor({w}{own}) for w in weights]"]
    factors += [f"vs = [torch.tensor({v}{own}) for name in wrt]"] if question.order > 1 else []
    to_numpy = "{}.double().clone().numpy(force=True)" if widened else "{}.clone().numpy(force=True)"
    if not question.modes and not batched:
        to_numpy = "torch.as_tensor({}).double().numpy(force=True)" if widened else "np.asarray({})"
    text = gradient_source(
        question,
        way,
        vmap="torch.func.vmap",
        option="in_dims",
        array=array,
        derivative=f"tuple({call})" if batched else call,
        to_numpy=to_numpy,
        factors=factors,
    )
    return text, [*used, *([SPREAD] if outside and question.modes else [])]
