"""Reproducers for JAX: the oracle's question as a script without gradfuzz."""

from __future__ import annotations

from collections.abc import Mapping

from gradfuzz.oracles.base import Array, Question
from gradfuzz.oracles.emit.plain_source import plain_source_in
from gradfuzz.oracles.emit.script import heading, inputs_source
from gradfuzz.oracles.emit.script_verdict import Across, truth_source
from gradfuzz.oracles.emit.vmap_source import BATCHED, SPREAD, columns_source, gradient_source
from gradfuzz.oracles.jax.emit import JaxEmitter
from gradfuzz.oracles.jax.loops import STYLES, Style


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
    batched = kind in BATCHED
    if kind == "unrolled":
        function = JaxEmitter(question.precision).function(question.program, "f")
    else:
        function = structured_source(question, point_index, kind)
    if batched:
        gradient, helpers = _batched(question, kind, jit=way == "vmap")
    else:
        jit = kind != "unrolled" and not way.endswith(":nojit")
        gradient, helpers = _gradient(question, jit, kind == "unrolled", kind == "jacobian")
    what = "derivative" if question.modes else "value"
    title = title or f"The {what} of this function by JAX ({way}) is not the true one."
    imports = "import jax\nimport jax.numpy as jnp\n"
    imports += "import jax.scipy.linalg\n" if "jax.scipy." in function else ""
    imports += "from jax import lax\n" if "lax." in function else ""
    dtype = 'np.dtype("bfloat16").type' if question.precision == "bfloat16" else f"np.{question.precision}"
    settings = f'jax.config.update("jax_enable_x64", True)\nF = {dtype}\n'
    if "C(" in function or ", C)" in function:
        settings += f"C = np.{'complex128' if question.precision == 'float64' else 'complex64'}\n"
    parts = [
        f"{heading(question, title, 'jax', imports)}{settings}\n{inputs_source(question, point_index)}",
        *([columns_source(question, point_index, kind)] if batched else []),
        function,
        *helpers,
        gradient,
        truth_source(question, point_index, expected, allowed, across, dtypes=dtypes),
    ]
    return "\n\n".join(parts)


def structured_source(question: Question, point_index: int, kind: str) -> str:
    """The function with JAX's loops."""
    from gradfuzz.oracles.jax.answers import trip_counts
    from gradfuzz.oracles.jax.lowered import program_source
    from gradfuzz.oracles.jax.vmap import style_of

    batched = kind in BATCHED
    style: Style = style_of(question) if batched else next((s for s in STYLES if s == kind), "scan")
    asked = range(len(question.points)) if batched else [point_index]
    bound = max([1, *(n for k in asked for n in trip_counts(question, k))])
    return program_source(question.program, question.precision, style, bound)


def _differentiating(question: Question) -> list[str]:
    """The functions of `derivatives` that `derivative` needs, and itself."""
    steps = ["along"] if question.order > 1 else []
    return ["weighted", "gradient_of", *steps, "before_the_last", "derivative"]


def _helpers(*names: str) -> list[str]:
    """The sources of functions of `derivatives`."""
    return list(plain_source_in("gradfuzz.oracles.jax.derivatives", *names).values())


def _batched(question: Question, kind: str, jit: bool) -> tuple[str, list[str]]:
    """The gradient function and its helpers, for all instances in one call."""
    modes = ", ".join(f'"{mode}"' for mode in question.modes)
    names = ", ".join(f'directions["{name}"]' for name in question.wrt if question.order > 1)
    outside = kind == "grad_of_vmap"
    along = f"({names + ',' if names else ''})"
    ws = "tuple(w if w is None else spread(w) for w in weights)" if outside else "weights"
    vs = f"tuple(map(spread, {along}))" if outside else along
    text = gradient_source(
        question,
        kind,
        vmap="jax.vmap",
        option="in_axes",
        array=lambda column, _: f"jnp.asarray({column})",
        derivative=f"derivative(of_wrt, xs, {ws}, {vs}, [{modes}])[1]",
        to_numpy="np.asarray({})",
    )
    if jit:
        text = text.replace("mapped(*arguments)", "jax.jit(mapped)(*arguments)")
    helpers = _helpers(*_differentiating(question)) if question.modes else []
    return text, [*helpers, *([SPREAD] if outside and question.modes else [])]


def _gradient(question: Question, jit: bool, unrolled: bool, whole: bool = False) -> tuple[str, list[str]]:
    """The function `gradient()` of the script, and the sources it needs. `whole`: by Jacobians."""
    single = len(question.program.result.values) == 1
    lines = ["def gradient():", f"    arguments = {_arguments(question, unrolled)}"]
    decorator = ["    @jax.jit"] if jit else []
    if not question.modes:
        lines += ["", *decorator, "    def outputs_of(arguments):"]
        call = "f(*(arguments[name] for name in inputs))"
        lines += [f"        return {f'({call},)' if single else call}", ""]
        lines += ['    return {f"output {k}": np.asarray(y) for k, y in enumerate(outputs_of(arguments))}']
        return "\n".join(lines) + "\n", []
    call = "f(*(changed[name] for name in inputs))"
    simple = single and question.modes == ("rev",) and not whole
    lines += ["", *decorator, "    def slopes_of(arguments):", "        def of_wrt(*xs):"]
    lines += ["            changed = {**arguments, **dict(zip(wrt, xs))}"]
    lines += [f"            return {call if simple or not single else f'({call},)'}", ""]
    lines += ["        xs = tuple(arguments[name] for name in wrt)"]
    helpers: list[str] = []
    if simple:
        lines += ["        _, pull = jax.vjp(of_wrt, *xs)", "        return pull(weights[0])", ""]
    else:
        along = "tuple(directions[name] for name in wrt)" if question.order > 1 else "()"
        modes = ", ".join(f'"{mode}"' for mode in question.modes)
        by = "jacobians" if whole else "derivative"
        lines += [f"        return {by}(of_wrt, xs, weights, {along}, [{modes}])[1]", ""]
        helpers = _helpers(*(["jacobians"] if whole else _differentiating(question)))
    lines += ["    return {name: np.asarray(slope) for name, slope in zip(wrt, slopes_of(arguments))}"]
    return "\n".join(lines) + "\n", helpers


def _arguments(question: Question, unrolled: bool) -> str:
    """The inputs of the function; if unrolled, int and bool scalars are Python's."""
    params = question.program.params
    plain = [p.name for p in params if unrolled and not p.type.is_float and not p.type.shape]
    if not plain:
        return "{name: jnp.asarray(value) for name, value in inputs.items()}"
    host, array = '"{0}": inputs["{0}"].item()', '"{0}": jnp.asarray(inputs["{0}"])'
    entries = [(host if p.name in plain else array).format(p.name) for p in params]
    return f"{{{', '.join(entries)}}}"
