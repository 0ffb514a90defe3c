"""Runs a traced JAX function one primitive at a time, without compiling the whole program.

Compiling is the cost of asking JAX: about a tenth of a second per derivative, where tracing takes a
hundredth. A jaxpr, the result of tracing, has been through the same vjp, jvp and loop rules, so running it
step by step hides none of their mistakes. Exact primitives run in NumPy (`exact`), the others in JAX,
compiled once per shape and kept for all programs; loops and branches run in Python.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from gradfuzz.oracles.jax.compile import quick_jit
from gradfuzz.oracles.jax.exact import exact
from gradfuzz.tracing.jax.walker import constants_and_carries

try:
    from jax.extend import core as core
except ImportError:  # JAX before 0.4.36
    from jax import core as core

_MOST_STEPS = 20_000
"""A scan with more primitive steps than this is compiled."""

Function = Callable[..., Sequence[Any]]


class Traced:
    """A function of such arguments, traced once. JAX differentiates, maps and compiles it like any other."""

    def __init__(self, function: Callable[..., Any], arguments: Sequence[Any]) -> None:
        self._closed, shapes = jax.make_jaxpr(function, return_shape=True)(*arguments)
        self._structure = jax.tree_util.tree_structure(shapes)

    def __call__(self, *arguments: Any) -> Any:
        results = self.flat(*jax.tree_util.tree_leaves(arguments))
        return jax.tree_util.tree_unflatten(self._structure, results)

    @functools.cached_property
    def step_by_step(self) -> Callable[..., Any]:
        """The same function, run without compilation."""
        run, form = block(self._closed), self._structure
        return lambda *each: jax.tree_util.tree_unflatten(form, run(jax.tree_util.tree_leaves(each)))

    @property
    def flat(self) -> Function:
        """The function of the arguments' leaves; what it returns is flat, too."""
        flat: Function = core.jaxpr_as_fun(self._closed)
        return flat


class _Stack:
    """The stacked results of a scan: kept as entries until the array is needed."""

    __slots__ = ("_array", "entries")

    def __init__(self, entries: Sequence[Any]) -> None:
        self.entries = entries
        self._array: Any = None

    def array(self) -> Any:
        if self._array is None:
            self._array = np.stack(self.entries)
        return self._array


def block(closed: core.ClosedJaxpr, *, takes_stacks: bool = False) -> Callable[[Sequence[Any]], list[Any]]:
    """A function from the jaxpr's inputs to its outputs, both flat. All variables have places in one list
    of values.
    """
    jaxpr = closed.jaxpr
    places: dict[Any, int] = {}
    template: list[Any] = []

    def place(var: Any) -> int:
        if isinstance(var, core.Literal):
            template.append(np.asarray(var.val, var.aval.dtype))
            return len(template) - 1
        if var not in places:
            places[var] = len(template)
            template.append(None)
        return places[var]

    for var, value in zip(jaxpr.constvars, closed.consts, strict=True):
        template[place(var)] = np.asarray(value)
    inputs = [place(v) for v in jaxpr.invars]
    stacks = set(inputs) if takes_stacks else set()  # the places where a stack may be
    steps: list[tuple[Callable[..., Any], list[int], int, list[int]]] = []
    for eqn in _needed(jaxpr):
        function, reads_stacks = _function(eqn)
        reads, writes = [place(v) for v in eqn.invars], [place(v) for v in eqn.outvars]
        several = eqn.primitive.multiple_results
        if not reads and not several and not eqn.effects:  # a constant
            template[writes[0]] = function()
            continue
        if eqn.primitive.name == "scan":
            stacks.update(writes)
        if not reads_stacks and not stacks.isdisjoint(reads):
            function = _of_arrays(function)
        steps.append((function, reads, -1 if several else writes[0], writes))
    outputs = [place(v) for v in jaxpr.outvars]

    def run(args: Sequence[Any]) -> list[Any]:
        values = template.copy()
        for k, arg in zip(inputs, args, strict=True):
            values[k] = arg
        for function, reads, write, writes in steps:
            result = function(*[values[k] for k in reads])
            if write >= 0:
                values[write] = result
            else:
                for k, each in zip(writes, result, strict=True):
                    values[k] = each
        return _arrays([values[k] for k in outputs])

    return run


def _of_arrays(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function of arrays as one of stacks."""
    return lambda *operands: function(*_arrays(operands))


def _arrays(values: Sequence[Any]) -> list[Any]:
    return [v.array() if type(v) is _Stack else v for v in values]


def _needed(jaxpr: Any) -> list[Any]:
    """The equations whose results are read."""
    read = {v for v in jaxpr.outvars if not isinstance(v, core.Literal)}
    needed = []
    for eqn in reversed(jaxpr.eqns):
        if not read.isdisjoint(eqn.outvars):
            needed.append(eqn)
            read.update(v for v in eqn.invars if not isinstance(v, core.Literal))
    return needed[::-1]


# Equations --------------------------------------------------------------------------------------------------


def _function(eqn: Any) -> tuple[Callable[..., Any], bool]:
    """The function of an equation, which returns what `bind` does, and whether it can read stacks."""
    params = eqn.params
    match eqn.primitive.name:
        case "scan":
            return _scan(eqn)
        case "while":
            return _while(params), False
        case "cond":
            return _cond(params), False
        case "jit" | "pjit" | "closed_call" | "custom_jvp_call" | "custom_vjp_call":
            called = params["jaxpr"] if "jaxpr" in params else params["call_jaxpr"]
            run = block(called, takes_stacks=True)
            return lambda *args: run(args), True
    return exact(eqn) or _in_jax(eqn), False


def _in_jax(eqn: Any) -> Callable[..., Any]:
    """The equation as a function of arrays, with one result or a list."""
    primitive, params = eqn.primitive, eqn.params
    try:
        function = _compiled(primitive, tuple(sorted(params.items())))
    except TypeError:  # a parameter that cannot be hashed
        function = functools.partial(primitive.bind, **params)
    if primitive.multiple_results:
        return lambda *args: [np.asarray(r) for r in function(*args)]
    return lambda *args: np.asarray(function(*args))


@functools.lru_cache(maxsize=4096)
def _compiled(primitive: Any, params: tuple[tuple[str, Any], ...]) -> Callable[..., Any]:
    """A primitive as a compiled function; eager dispatch takes three times as long per call."""
    return quick_jit(functools.partial(primitive.bind, **dict(params)))


def _steps(closed: core.ClosedJaxpr) -> int:
    """About how many primitives one run takes."""
    total = 0
    for eqn in closed.jaxpr.eqns:
        values = *eqn.params.values(), *eqn.params.get("branches", ())
        inner = sum(_steps(p) for p in values if isinstance(p, core.ClosedJaxpr))
        total += max(1, inner * eqn.params.get("length", 1))
    return total


def _scan(eqn: Any) -> tuple[Function, bool]:
    params = eqn.params
    consts, carries = constants_and_carries(params)
    length, closed = params["length"], params["jaxpr"]
    if length * _steps(closed) > _MOST_STEPS:
        return lambda *args: [np.asarray(r) for r in eqn.primitive.bind(*args, **params)], False
    if length == 0:
        stacked = [np.empty(v.aval.shape, v.aval.dtype) for v in eqn.outvars[carries:]]
        return lambda *args: [*args[consts : consts + carries], *stacked], False
    body = block(closed)
    order = range(length - 1, -1, -1) if params["reverse"] else range(length)

    def scan(*args: Any) -> list[Any]:
        shared, state = _arrays(args[:consts]), _arrays(args[consts : consts + carries])
        read = [xs.entries if type(xs) is _Stack else np.asarray(xs) for xs in args[consts + carries :]]
        trips = []
        for k in order:
            results = body([*shared, *state, *(xs[k] for xs in read)])
            state = results[:carries]
            trips.append(results[carries:])
        if params["reverse"]:
            trips.reverse()
        return [*state, *(_Stack(ys) for ys in zip(*trips, strict=True))]

    return scan, True


def _while(params: Any) -> Function:
    """The loop. With a batched condition it runs while a lane is live; finished lanes keep their carries."""
    test, body = block(params["cond_jaxpr"]), block(params["body_jaxpr"])
    tests, bodies = params["cond_nconsts"], params["body_nconsts"]

    def run(*args: Any) -> list[Any]:
        for_test, for_body, state = args[:tests], args[tests : tests + bodies], list(args[tests + bodies :])
        while np.any(live := np.asarray(test([*for_test, *state])[0])):
            after = body([*for_body, *state])
            if live.ndim:
                after = [_selected(live, new, old) for new, old in zip(after, state, strict=True)]
            state = after
        return state

    return run


def _selected(live: Any, new: Any, old: Any) -> Any:
    """`new` in the live lanes, `old` in the others; the batch axes come first."""
    return np.where(live.reshape(live.shape + (1,) * (np.ndim(new) - live.ndim)), new, old)


def _cond(params: Any) -> Function:
    branches = [block(b) for b in params["branches"]]
    last = len(branches) - 1
    return lambda index, *operands: branches[min(max(int(index), 0), last)](operands)
