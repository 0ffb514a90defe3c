"""A function of JAX with what it stops held: `stop_gradient` gives what it gives at other arguments.

Its jaxpr is computed twice side by side, at the arguments and at those that hold. A stopped value of the
first is that of the second. So it is of draws whose quantiles are held.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax
import numpy as np
from jax.extend import core

from gradfuzz.errors import UntraceableError
from gradfuzz.tracing.common import quantiles
from gradfuzz.tracing.jax.trace import body_of
from gradfuzz.tracing.jax.walker import all_equations, constants_and_carries

Sides = Sequence[Sequence[Any]]
Pair = tuple[list[Any], list[Any]]
"""What stands at the arguments, and at those that hold."""


STOP, GAMMA = "stop_gradient", "random_gamma"
"""The primitives of which something is held."""


def held(
    call: Callable[..., Sequence[Any]], xs: Sequence[Any], holding: Sequence[Any], what: str = STOP
) -> list[Any]:
    """The outputs of `call` at `xs`, with what it stops as it is at `holding`, or the quantiles of its draws.
    `UntraceableError` where something else than a call, a loop or a branch stops or draws inside.
    """
    closed = jax.make_jaxpr(lambda *xs: tuple(call(*xs)))(*xs)
    if what == GAMMA and not _has(all_equations(closed), GAMMA):
        raise UntraceableError("the function draws from no distribution whose quantiles could be held")
    return _run(closed, (list(xs), list(holding)), what)[0]


def _has(equations: Iterable[Any], what: str) -> bool:
    return any(e.primitive.name == what for e in equations)


def _drawn(equation: Any, inputs: Sides) -> Pair:
    """The draws from gamma distributions, or their logarithms."""
    (there,) = _bound(equation, inputs[1])
    is_log, form = equation.params["log_space"], jax.ShapeDtypeStruct(there.shape, there.dtype)

    def moved(draws: Any, shapes: Any, moved: Any) -> Any:
        found = np.exp(draws, dtype=float) if is_log else np.asarray(draws, float)
        found = quantiles.of_gamma(found, np.asarray(shapes, float), np.asarray(moved, float))
        return np.asarray(np.log(found) if is_log else found, there.dtype)

    shapes = inputs[1][1], inputs[0][1]
    return [jax.pure_callback(moved, form, there, *shapes, vmap_method="broadcast_all")], [there]


def _run(closed: Any, inputs: Sides, what: str) -> Pair:
    """Both sides of a jaxpr."""
    jaxpr, consts = getattr(closed, "jaxpr", closed), getattr(closed, "consts", ())
    names = *jaxpr.constvars, *jaxpr.invars
    sides = [dict(zip(names, (*consts, *values), strict=True)) for values in inputs]

    def read(atoms: Sequence[Any], side: dict[Any, Any]) -> list[Any]:
        return [a.val if isinstance(a, core.Literal) else side[a] for a in atoms]

    for equation in jaxpr.eqns:
        here, there = (read(equation.invars, side) for side in sides)
        for side, outputs in zip(sides, _equation(equation, (here, there), what), strict=True):
            side.update(zip(equation.outvars, outputs, strict=True))
    return read(jaxpr.outvars, sides[0]), read(jaxpr.outvars, sides[1])


def _equation(equation: Any, inputs: Sides, what: str) -> Pair:
    name, p = equation.primitive.name, equation.params
    if name == what:
        return _drawn(equation, inputs) if what == GAMMA else (list(inputs[1]), list(inputs[1]))
    inside = [v for v in p.values() if hasattr(v, "jaxpr") or hasattr(v, "eqns") or isinstance(v, tuple)]
    if not _has(_equations(inside), what):
        return _bound(equation, inputs[0]), _bound(equation, inputs[1])
    if name == "scan":
        return _scan(p, inputs, what)
    if name == "while":
        return _while(p, inputs, what)
    if name == "cond":
        count = len(inputs[0]) - 1
        branches = [
            lambda *values, branch=branch: _run(branch, (list(values[:count]), list(values[count:])), what)
            for branch in p["branches"]
        ]
        here, there = jax.lax.switch(inputs[0][0], branches, *inputs[0][1:], *inputs[1][1:])
        return list(here), list(there)
    body = body_of(equation)
    if body is None:
        raise UntraceableError(f"JAX's {name} has a {what} inside, and gradfuzz cannot hold that")
    return _run(body, inputs, what)


def _equations(inside: Sequence[Any]) -> list[Any]:
    jaxprs = [j for v in inside for j in (v if isinstance(v, tuple) else [v])]
    return [e for j in jaxprs if hasattr(getattr(j, "jaxpr", j), "eqns") for e in all_equations(j)]


def _bound(equation: Any, values: Sequence[Any]) -> list[Any]:
    bound = equation.primitive.get_bind_params(equation.params)
    functions, params = bound if isinstance(bound, tuple) else ((), bound)  # without functions since JAX 0.10
    found = equation.primitive.bind(*functions, *values, **params)
    return list(found) if equation.primitive.multiple_results else [found]


def _scan(p: Any, inputs: Sides, what: str) -> Pair:
    fixed, carried = constants_and_carries(p)
    start = fixed + carried

    def trip(carry: Pair, rows: Pair) -> tuple[Pair, Pair]:
        sides = zip(inputs, carry, rows, strict=True)
        here, there = _run(p["jaxpr"], [[*i[:fixed], *c, *r] for i, c, r in sides], what)
        return (here[:carried], there[:carried]), (here[carried:], there[carried:])

    first = inputs[0][fixed:start], inputs[1][fixed:start]
    rows = inputs[0][start:], inputs[1][start:]
    last, made = jax.lax.scan(trip, first, rows, length=p["length"], reverse=p["reverse"])
    return [*last[0], *made[0]], [*last[1], *made[1]]


def _while(p: Any, inputs: Sides, what: str) -> Pair:
    tested, fixed = p["cond_nconsts"], p["cond_nconsts"] + p["body_nconsts"]

    def goes_on(state: Pair) -> Any:
        sides = zip(inputs, state, strict=True)
        return _run(p["cond_jaxpr"], [[*i[:tested], *s] for i, s in sides], what)[0][0]

    def trip(state: Pair) -> Pair:
        sides = zip(inputs, state, strict=True)
        return _run(p["body_jaxpr"], [[*i[tested:fixed], *s] for i, s in sides], what)

    last: Pair = jax.lax.while_loop(goes_on, trip, (inputs[0][fixed:], inputs[1][fixed:]))
    return last
