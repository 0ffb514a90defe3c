"""Short reproducers for JAX."""

from __future__ import annotations

import re

import numpy as np

from gradfuzz.oracles.base import Array
from gradfuzz.oracles.emit.short import (
    ShortInput,
    assembled,
    by_jacobians,
    calling,
    input_lines,
    literal,
    objective,
    picked,
    stages,
    tuple_of,
    used,
    value_line,
)
from gradfuzz.oracles.emit.vmap_source import BATCHED
from gradfuzz.oracles.jax.emit import JaxEmitter
from gradfuzz.oracles.jax.script import structured_source

_TOTAL = "jnp.sum({})"


def short(shown: ShortInput, oracle_name: str) -> str:
    """The lines that ask JAX the same by this entry point; empty for one that has no short form."""
    way = oracle_name.removeprefix("jax:")
    kind = way.partition(":")[0]
    if kind in BATCHED or (kind == "jacobian" and not shown.simple):
        return ""
    question = shown.question
    unrolled = kind == "unrolled"
    function = (
        JaxEmitter(question.precision).function(question.program, "f")
        if unrolled
        else structured_source(question, 0, kind)
    )
    jit = not unrolled and not way.endswith(":nojit")
    lines = _lines(shown, jit=jit, whole=kind == "jacobian")
    scalar = question.modes[-1:] == ("fwd",) and kind != "jacobian" and _is_one_number(shown)
    imports = ["import jax", "import jax.numpy as jnp"]
    imports += ["import jax.scipy.linalg"] if "jax.scipy." in function else []
    imports += ["from jax import lax"] if used(function, "lax") else []
    settings = ["", 'jax.config.update("jax_enable_x64", True)']
    wide = question.precision == "float64"
    dtype = "jnp.bfloat16" if question.precision == "bfloat16" else f"np.{question.precision}"
    for name, own in (("F", dtype), ("C", f"np.{'complex128' if wide else 'complex64'}")):
        function = re.sub(rf"(?<![.\w]){name}\b", own, function)
    if used(function, "np"):
        imports += ["import numpy as np"]
    inputs = _inputs(shown, unrolled)
    return assembled(shown, [*imports, *settings], function, inputs, lines, scalar=scalar)


def _is_one_number(shown: ShortInput) -> bool:
    """Whether all that is differentiated by is one number: it is pushed forward without a batch."""
    return sum(np.asarray(shown.inputs[name]).size for name in shown.question.wrt) == 1


def _inputs(shown: ShortInput, unrolled: bool) -> list[str]:
    def other(value: Array) -> str:
        return literal(value) if unrolled and not value.shape else f"jnp.array({literal(value)})"

    return input_lines(shown, lambda value: _array(value, shown.question.precision), other)


def _array(value: Array, precision: str) -> str:
    value = np.asarray(value)
    if not value.shape:
        return f"jnp.{precision}({literal(value)})"
    return (
        f'jnp.array({literal(value)}, "{precision}")'
        if value.size
        else f'jnp.zeros({value.shape}, "{precision}")'
    )


def _lines(shown: ShortInput, *, jit: bool, whole: bool) -> list[str]:
    """The lines that differentiate."""
    question, wrt = shown.question, shown.wrt()
    xs = ", ".join(wrt)

    def run(function: str) -> str:
        return f"jax.jit({function})" if jit else function

    if not question.modes:
        return value_line(shown, run("f"))
    if whole:
        last, lines = by_jacobians(shown, "jax.jac{mode}({g})({x})", "jnp.tensordot")
        return [*lines, f"got = {run(last)}({xs})"]
    which, at = picked(shown)
    if question.modes == ("rev",) and not shown.one and len(question.weights) == 1:
        pulled = f"jax.vjp({calling(shown)}, {xs})[1](cotangent)"
        pulled = f"jax.jit(lambda {xs}: {pulled})({xs})" if jit else pulled
        return [f"got = {pulled}[{shown.place}]"]
    first, lines = objective(shown, _TOTAL)
    reverse = f"jax.grad({{g}}{which})({{xs}})"
    last, stage_lines = stages(shown, first, reverse, "jax.jvp({g}, {xs}, {v})[1]", _TOTAL)
    lines += stage_lines
    if question.modes[-1] == "rev":
        return [*lines, f"got = {run(f'jax.grad({last}{which})')}({xs}){at}"]
    if _is_one_number(shown):
        inputs = [np.asarray(shown.inputs[name]) for name in question.wrt]
        units = tuple_of([_array(np.ones_like(x, float), question.precision) for x in inputs])
        pushed = f"jax.jvp({last}, {tuple_of(wrt)}, {units})[1]"
        pushed = f"jax.jit(lambda {xs}: {pushed})({xs})" if jit else pushed
        return [*lines, f"got = {pushed}"]
    return [*lines, f"got = {run(f'jax.jacfwd({last}{which})')}({xs}){at}"]
