"""The steps of a JAX function: the equations of its jaxpr, computed one by one."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import numpy as np
from jax.extend import core

from gradfuzz.private_names import missing, private
from gradfuzz.tracing.common.graph import Array
from gradfuzz.tracing.common.units import Unit
from gradfuzz.tracing.jax.source import place_of
from gradfuzz.tracing.jax.trace import PLAIN_CALLS
from gradfuzz.tracing.jax.walker import constants_and_carries

_TABLES = ("jax.interpreters.ad.primitive_jvps", "jax.interpreters.ad.primitive_transposes")
"""The rules of primitives; the second table has those that reverse mode needs, too."""


def units(f: Callable[..., Any], arrays: Sequence[Array], mode: str) -> Iterator[Unit]:
    """The steps of `f` at `arrays`, in order; of a loop the first trip, before the loop itself."""
    closed = jax.make_jaxpr(f)(*arrays)
    yield from _walk(closed.jaxpr, closed.consts, list(arrays), mode)


def _walk(jaxpr: Any, consts: Sequence[Any], args: Sequence[Any], mode: str) -> Iterator[Unit]:
    known: dict[Any, Any] = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*consts, *args), strict=True))

    def read(atom: Any) -> Any:
        return atom.val if isinstance(atom, core.Literal) else known[atom]

    for equation in jaxpr.eqns:
        values = [read(v) for v in equation.invars]
        alone = _alone(jaxpr, equation)
        name = equation.primitive.name
        inner = equation.params.get("jaxpr", equation.params.get("call_jaxpr"))
        if name in PLAIN_CALLS:
            yield from _walk(getattr(inner, "jaxpr", inner), getattr(inner, "consts", ()), values, mode)
        elif name == "scan" and equation.params["length"]:
            fixed = sum(constants_and_carries(equation.params))
            first = [*values[:fixed], *(rows[0] for rows in values[fixed:])]
            yield from _walk(inner.jaxpr, inner.consts, first, mode)
        elif name == "cond":
            branches = equation.params["branches"]
            taken = branches[int(np.clip(int(values[0]), 0, len(branches) - 1))]
            yield from _walk(taken.jaxpr, taken.consts, values[1:], mode)
        if name not in (*PLAIN_CALLS, "cond"):
            yield from _unit(equation, alone, values, mode)
        known.update(zip(equation.outvars, alone(*values), strict=True))


def _alone(jaxpr: Any, equation: Any) -> Callable[..., Sequence[Any]]:
    """An equation as a function of its operands."""
    named = list(dict.fromkeys(v for v in equation.invars if not isinstance(v, core.Literal)))
    unknown = {"effects": frozenset(), "debug_info": jaxpr.debug_info.with_unknown_names()}
    own = jaxpr.replace(constvars=[], invars=named, outvars=equation.outvars, eqns=[equation], **unknown)
    run = core.jaxpr_as_fun(core.ClosedJaxpr(own, []))

    def call(*values: Any) -> Sequence[Any]:
        given = dict(zip(equation.invars, values, strict=True))
        found: Sequence[Any] = run(*(given[v] for v in named))
        return found

    return call


def _unit(
    equation: Any, alone: Callable[..., Sequence[Any]], values: Sequence[Any], mode: str
) -> Iterator[Unit]:
    def is_float(v: Any) -> bool:
        return hasattr(v.aval, "dtype") and jax.numpy.issubdtype(v.aval.dtype, jax.numpy.floating)

    places = [k for k, v in enumerate(equation.invars) if is_float(v)]
    results = [k for k, v in enumerate(equation.outvars) if is_float(v)]
    if not places or not results:
        return

    def call(*xs: Any) -> tuple[Any, ...]:
        given = list(values)
        for k, x in zip(places, xs, strict=True):
            given[k] = x
        found = alone(*given)
        return tuple(found[k] for k in results)

    arrays = tuple(np.asarray(values[k]) for k in places)
    yield Unit(_name(equation), _rule(equation, mode), call, arrays)


def _name(equation: Any) -> str:
    """The function with a custom rule, or the primitive."""
    inner = equation.params.get("call_jaxpr")
    info = getattr(getattr(inner, "jaxpr", inner), "debug_info", None)
    return str(getattr(info, "func_name", "") or equation.primitive.name)


def _rule(equation: Any, mode: str) -> str:
    """Where the rule of an equation is written."""
    for key in ("jvp_jaxpr_fun", "bwd"):
        info = getattr(equation.params.get(key), "debug_info", None)
        if info is not None:
            name, _, place = str(info.func_src_info or "").partition(" at ")
            return f"{place_of(place)}, in {name}" if place else name
    primitive = equation.primitive
    tables = _TABLES if mode == "rev" else _TABLES[:1]
    gone = missing(*tables)
    if gone is not None:
        return gone
    for table in tables:
        for function in _functions(private(table).get(primitive)):
            code = getattr(inspect.unwrap(function), "__code__", None)
            if code is not None and "/ad.py" not in code.co_filename:
                return f"{place_of(code.co_filename)}:{code.co_firstlineno}, in the rule of {primitive.name}"
    return ""


def _functions(rule: Any) -> Iterator[Callable[..., Any]]:
    """A rule, or those of the operands that it was put together of."""
    if isinstance(rule, functools.partial):
        for part in rule.args:
            for one in part if isinstance(part, tuple) else [part]:
                yield from _functions(one)
    elif callable(rule):
        yield rule
