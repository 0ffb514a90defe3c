"""Derivatives of Python functions and of programs.

Every function here takes a Python function of arrays, a `Program` or a `Graph`, and composes with every other: the derivative
of a derivative is traced like any function. What is returned is computed in float64, or in float32 where all float arrays are float32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from gradfuzz.engine.forward import ForwardMode
from gradfuzz.engine.functions import permute_dims, reshape, stack
from gradfuzz.engine.inline import or_zeros
from gradfuzz.engine.reverse import ReverseMode
from gradfuzz.engine.tracing import Function, Traced, call_graph, trace_function, type_of
from gradfuzz.engine.value import Operand, Value
from gradfuzz.errors import NotDifferentiableError, UsageError
from gradfuzz.programs.builder import GraphBuilder
from gradfuzz.programs.graph import Graph
from gradfuzz.programs.raising import to_program
from gradfuzz.programs.syntax import Program
from gradfuzz.programs.types import Type

__all__ = ["grad", "hessian", "jacobian", "jvp", "trace", "value_and_grad", "vjp"]

Mode = Literal["fwd", "rev"]


def trace(f: Callable[..., Any], *examples: Operand) -> Program:
    """The program that `f` runs for arguments of the types of `examples`.

    Python's own loops and branches are unrolled; `engine.while_loop` and its kin stay loops. Raises `NotDifferentiableError`
    where `f` needs a value while it is traced (`if x > 0`).
    """
    code = getattr(f, "__code__", None)
    names = code.co_varnames[: code.co_argcount] if code is not None else ()
    return to_program(trace_function(f, [type_of(_floated(e)) for e in examples], names).graph)


def vjp(f: Function, *args: Operand) -> tuple[Any, Callable[..., tuple[Any, ...]]]:
    """f(*args), and the function from cotangents of the result to the tuple of cotangents of all arguments.

    The pullback takes one cotangent per output. An argument that is not float gets None.
    """
    traced, operands = _trace(f, args)
    active = [v.type.is_float for v in traced.graph.inputs]
    graph = _reverse(traced.graph, active)
    count = len(traced.graph.outputs)
    values = call_graph(traced.graph, operands)
    floats = [k for k, a in enumerate(traced.graph.outputs) if a.type.is_float]

    def pullback(*cotangents: Operand) -> tuple[Any, ...]:
        if len(cotangents) != count:
            raise UsageError(f"the pullback takes {count} cotangents, one per output, got {len(cotangents)}")
        results = call_graph(graph, [*operands, *(cotangents[k] for k in floats)])[count:]
        supply = iter(results)
        return tuple([next(supply) if a else None for a in active][: len(args)])

    return traced.restore(values), pullback


def jvp(f: Function, primals: Sequence[Operand], tangents: Sequence[Operand]) -> tuple[Any, Any]:
    """f(*primals), and its derivative along `tangents` (one per primal, of its shape; None: zero)."""
    if len(primals) != len(tangents):
        raise UsageError(f"jvp takes one tangent per primal: {len(primals)} primals, {len(tangents)} tangents")
    traced, operands = _trace(f, primals)
    graph = traced.graph
    moving = [k for k, t in enumerate(tangents) if t is not None and graph.inputs[k].type.is_float]
    builder = GraphBuilder(simplify=True)
    inputs = [builder.input(v.type, v.name) for v in graph.inputs]
    dots = {k: builder.input(graph.inputs[k].type, f"{graph.inputs[k].name}_dot") for k in moving}
    mode = ForwardMode(builder)
    values, slopes = mode.run(graph, inputs, [mode.value(dots[k]) if k in dots else None for k in range(len(inputs))])
    filled = [or_zeros(mode, s, a).atom for s, a in zip(slopes, values, strict=True)]
    joined = builder.finish([*inputs, *dots.values()], [*values, *filled], f"jvp_{graph.name}")
    results = call_graph(joined, [*operands, *(tangents[k] for k in moving)])
    return traced.restore(results[: len(values)]), traced.restore(results[len(values) :])


def value_and_grad(f: Function, argnums: int | Sequence[int] = 0) -> Callable[..., tuple[Any, Any]]:
    """The function that returns f(*args), which must be one float scalar, and its gradient with respect to `argnums`."""
    places = (argnums,) if isinstance(argnums, int) else tuple(argnums)

    def function(*args: Operand) -> tuple[Any, Any]:
        args = tuple(_floated(a) if k in places else a for k, a in enumerate(args))
        traced, operands = _trace(f, args)
        graph = traced.graph
        if len(graph.outputs) != 1 or graph.outputs[0].type != Type("float"):
            found = ", ".join(str(a.type) for a in graph.outputs)
            raise NotDifferentiableError(
                f"grad needs a function with one float scalar as its result, this one returns {found}; use vjp or jacobian"
            )
        for k in places:
            if not 0 <= k < len(args) or not graph.inputs[k].type.is_float:
                raise UsageError(
                    f"grad with respect to argument {k}: there are {len(args)} arguments, and it must be a float one"
                )
        derived = _reverse(graph, [k in places for k in range(len(graph.inputs))])
        value, *parts = call_graph(derived, [*operands, 1.0])
        return value, parts[0] if isinstance(argnums, int) else tuple(parts)

    return function


def grad(f: Function, argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """The gradient of f, which must return one float scalar, with respect to `argnums` (an int, or several)."""
    both = value_and_grad(f, argnums)
    return lambda *args: both(*args)[1]


def jacobian(f: Function, argnum: int = 0, *, mode: Mode = "rev") -> Callable[..., Any]:
    """The Jacobian of f, which must return one float array, of shape (*result.shape, *argument.shape).

    `mode` "rev" pulls back one unit cotangent per entry of the result, "fwd" pushes one unit tangent per entry of the argument.
    """
    if mode not in ("rev", "fwd"):
        raise UsageError(f"jacobian with mode={mode!r}; it is 'rev' or 'fwd'")

    def function(*args: Operand) -> Any:
        args = tuple(_floated(a) if k == argnum else a for k, a in enumerate(args))
        shape = _shape(args[argnum])
        if mode == "rev":
            value, pullback = vjp(f, *args)
            rows = [pullback(unit)[argnum] for unit in _units(_shape(value))]
            return _assemble(rows, _shape(value), shape)
        columns = []
        value = None
        for unit in _units(shape):
            value, column = jvp(f, args, [unit if k == argnum else None for k in range(len(args))])
            columns.append(column)
        if value is None:
            return np.zeros((*_shape(vjp(f, *args)[0]), *shape))
        result = _assemble(columns, shape, _shape(value))
        return _swap(result, len(shape))

    return function


def hessian(f: Function, argnum: int = 0) -> Callable[..., Any]:
    """The matrix of second derivatives of f (one float scalar), of shape (*argument.shape, *argument.shape): forward over reverse."""
    return jacobian(grad(f, argnum), argnum, mode="fwd")


def _floated(value: Operand) -> Operand:
    """A plain int as a float: who writes grad(f)(2) means 2.0."""
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _trace(f: Function, args: Sequence[Operand]) -> tuple[Traced, list[Any]]:
    traced = trace_function(f, [type_of(a) for a in args])
    return traced, [*args, *traced.captured]


def _reverse(graph: Graph, active: Sequence[bool]) -> Graph:
    """`graph` with one cotangent per float output after its inputs, and the cotangents of the active inputs after its outputs."""
    builder = GraphBuilder(simplify=True)
    inputs = [builder.input(v.type, v.name) for v in graph.inputs]
    mode = ReverseMode(builder)
    tape = mode.forward(graph, inputs, active)
    seeds = [builder.input(a.type, "g") if a.type.is_float else None for a in graph.outputs]
    parts = tape.backward([None if s is None else mode.value(s) for s in seeds])
    filled = [or_zeros(mode, p, v).atom for p, v, a in zip(parts, graph.inputs, active, strict=True) if a]
    return builder.finish([*inputs, *(s for s in seeds if s is not None)], [*tape.outputs, *filled], f"vjp_{graph.name}")


def _shape(value: Operand) -> tuple[int, ...]:
    return value.shape if isinstance(value, Value) else np.shape(value)


def _units(shape: tuple[int, ...]) -> list[Any]:
    size = int(np.prod(shape, dtype=int))
    return [row.reshape(shape)[()] for row in np.eye(size)]


def _assemble(parts: Sequence[Any], outer: tuple[int, ...], inner: tuple[int, ...]) -> Any:
    """`parts`, one per entry of `outer` and each of shape `inner`, as one array."""
    if not outer:
        return parts[0]
    if not parts:
        return np.zeros((*outer, *inner))
    return reshape(stack(parts), (*outer, *inner))


def _swap(array: Any, first: int) -> Any:
    """The first axes moved to the end."""
    rank = len(_shape(array))
    order = (*range(first, rank), *range(first))
    if order == tuple(range(rank)):
        return array
    return permute_dims(array, order)
