"""Reproducers for JAX: the oracle's question as a script without gradfuzz."""

from __future__ import annotations

from collections.abc import Mapping

from gradfuzz.oracles.base import Array, Question
from gradfuzz.oracles.dialects.limits import DialectLimits, refusal
from gradfuzz.oracles.dialects.reproducer_input import ReproducerInput
from gradfuzz.oracles.emit.plain_source import plain_source_in
from gradfuzz.oracles.emit.script import heading, inputs_source
from gradfuzz.oracles.emit.script_gradient import BATCHED, SPREAD, columns_source, gradient_source
from gradfuzz.oracles.emit.script_verdict import Across, as_port, truth_source
from gradfuzz.oracles.jax.emit import JaxEmitter
from gradfuzz.oracles.jax.loops import STYLES, Style
from gradfuzz.programs.arithmetic.half_numpy import refused_op
from gradfuzz.programs.language.precision import HALF
from gradfuzz.programs.language.syntax import Param

LIMITS = DialectLimits("JAX", {}, precisions=(*HALF, "float32", "float64"), kinks=True)
"""Of the dialect, which asks jax:unrolled: Python runs the loops."""


def unsupported(shown: ReproducerInput) -> str | None:
    """Why JAX cannot be asked; None where it can."""
    return refusal(LIMITS, shown) or refused_op(shown.question.program, shown.question.precision)


def port(shown: ReproducerInput) -> str:
    asked = shown.question, shown.place, "jax:unrolled", shown.expected, shown.allowed, shown.across
    return as_port(script(*asked, title=shown.title("JAX")))


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
    """A script that asks JAX the same without gradfuzz; exits with 1 while an entry exceeds `allowed`.

    `oracle_name` is the entry point. `expected` sets the scale of the default of `allowed`; the script
    computes the expected values itself. JAX is imported here only if it runs the loops.
    """
    way = oracle_name.removeprefix("jax:")
    kind = way.partition(":")[0]
    imports, function = function_source(question, point_index, kind)
    gradient, helpers = _gradient(question, way, kind)
    what = "derivative" if question.modes else "value"
    title = title or f"The {what} of this function by JAX ({way}) is not the true one."
    dtype = 'np.dtype("bfloat16").type' if question.precision == "bfloat16" else f"np.{question.precision}"
    settings = f'jax.config.update("jax_enable_x64", True)\nF = {dtype}\n'
    if "C(" in function or ", C)" in function:
        settings += f"C = np.{'complex128' if question.precision == 'float64' else 'complex64'}\n"
    head = heading(question, title, "jax", "\n".join(imports))
    parts = [
        f"{head}{settings}\n{inputs_source(question, point_index)}",
        *([columns_source(question, point_index, kind)] if kind in BATCHED else []),
        function,
        *helpers,
        gradient,
        truth_source(question, point_index, expected, allowed, across, dtypes=dtypes),
    ]
    return "\n\n".join(parts)


def function_source(question: Question, point_index: int, kind: str) -> tuple[list[str], str]:
    """The imports that the function needs, and itself: with JAX's loops, or unrolled."""
    if kind == "unrolled":
        function = JaxEmitter(question.precision).function(question.program, "f")
    else:
        function = _structured(question, point_index, kind)
    imports = ["import jax", "import jax.numpy as jnp"]
    imports += ["import jax.scipy.linalg"] if "jax.scipy." in function else []
    return [*imports, *(["from jax import lax"] if "lax." in function else [])], function


def _structured(question: Question, point_index: int, kind: str) -> str:
    """The function with JAX's loops."""
    from gradfuzz.oracles.jax.answers import trip_counts
    from gradfuzz.oracles.jax.lowered import program_source
    from gradfuzz.oracles.jax.vmap import style_of

    batched = kind in BATCHED
    style: Style = style_of(question) if batched else next((s for s in STYLES if s == kind), "scan")
    asked = range(len(question.points)) if batched else [point_index]
    bound = max([1, *(n for k in asked for n in trip_counts(question, k))])
    return program_source(question.program, question.precision, style, bound)


def _gradient(question: Question, way: str, kind: str) -> tuple[str, list[str]]:
    """The function `gradient()` of the script, and the sources that it needs."""
    batched, outside, whole = kind in BATCHED, kind == "grad_of_vmap", kind == "jacobian"
    jit = way == "vmap" if batched else kind != "unrolled" and not way.endswith(":nojit")
    simple = not batched and not whole and question.modes == ("rev",) and len(question.weights) == 1
    names = "".join(f'directions["{name}"], ' for name in question.wrt if question.order > 1)
    ws, vs = "weights", f"({names.rstrip()})"
    if outside:
        ws, vs = "tuple(w if w is None else spread(w) for w in weights)", f"tuple(map(spread, {vs}))"
    by, modes = "jacobians" if whole else "derivative", ", ".join(f'"{mode}"' for mode in question.modes)

    def array(given: str, p: Param) -> str:
        is_host = kind == "unrolled" and not p.type.is_float and not p.type.shape
        return f"{given}.item()" if is_host else f"jnp.asarray({given})"

    text = gradient_source(
        question,
        kind,
        vmap="jax.vmap",
        option="in_axes",
        array=array,
        derivative=(
            "jax.vjp(of_wrt, *xs)[1](weights[0])" if simple else f"{by}(of_wrt, xs, {ws}, {vs}, [{modes}])[1]"
        ),
        to_numpy="np.asarray({})",
        compiled="jax.jit({})" if jit else "{}",
        outputs=("{}" if simple else "({},)", "{}"),
    )
    if simple or not question.modes:
        return text, []
    steps = ["along"] if question.order > 1 else []
    needed = ["jacobians"] if whole else ["weighted", "gradient_of", *steps, "before_the_last", "derivative"]
    helpers = plain_source_in("gradfuzz.oracles.jax.derivatives", *needed)
    return text, [*helpers.values(), *([SPREAD] if outside else [])]
