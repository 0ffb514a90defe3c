"""Derivatives of Python functions and of programs.

Every function here takes a Python function of arrays, a `Program` or a `Graph`, and composes with every
other: the derivative of a derivative is traced like any function. Arguments may be vectorized (see
`vectorize`): then a derivative is that of each instance. Results are computed in the dtype that all float
arrays have (float32, bfloat16, float16), or in float64 where they differ.

Arguments and results may be complex. The gradient of a real L with respect to z = a + ib is dL/da + i dL/db,
the direction in which L grows fastest, and so is every cotangent; a tangent is the change of z. Then Re
sum(conj(cotangent) tangent) is the change of L. A holomorphic function with slope s has the cotangent conj(s)
g.

`checkpoint` bounds the memory that reverse mode needs for a long loop, and changes no bit of a result: "none"
keeps the carries of every iteration, "sqrt" about sqrt(n) of n, an int k at most k (see `derivative`). The
others are computed again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from gradfuzz.engine.api.tracing import (
    Function,
    TracedFunction,
    active_builder,
    call_graph,
    precision_of,
    trace_function,
    type_of,
)
from gradfuzz.engine.api.vectorize import Vectorized, align, devectorize, union
from gradfuzz.engine.modes.forward import pushforward
from gradfuzz.engine.modes.inline import or_zeros
from gradfuzz.engine.modes.reverse import ReverseMode, checked
from gradfuzz.engine.rules.functions import permute_dims, reshape, stack
from gradfuzz.engine.rules.value import Operand, shape_of
from gradfuzz.errors import NotDifferentiableError, UsageError
from gradfuzz.programs.graphs.builder import GraphBuilder
from gradfuzz.programs.graphs.graph import Checkpoint, Graph
from gradfuzz.programs.graphs.raising import to_program
from gradfuzz.programs.language.precision import FORMATS, Precision
from gradfuzz.programs.language.program import Program
from gradfuzz.programs.language.types import Type

Mode = Literal["fwd", "rev"]
Pullback = Callable[..., tuple[Any, ...]]


def trace(f: Callable[..., Any], *examples: Operand) -> Program:
    """The program that `f` runs for arguments of the types of `examples`.

    Python's own loops and branches are unrolled; `engine.while_loop` and similar functions stay loops. Raises
    `NotDifferentiableError` where `f` needs a value while it is traced (`if x > 0`).
    """
    code = getattr(f, "__code__", None)
    names = code.co_varnames[: code.co_argcount] if code is not None else ()
    return to_program(trace_function(f, [type_of(_floated(e)) for e in examples], names).graph)


def vjp(f: Function, *args: Operand, checkpoint: Checkpoint = "none") -> tuple[Any, Pullback]:
    """f(*args), and the function from cotangents of the result to the tuple of cotangents of all arguments.

    The pullback takes one cotangent per output, complex where the output is. The cotangent of an argument
    that is neither float nor complex is None.
    """
    traced, operands, named = _trace(f, args, range(len(args)))
    active = [v.type.is_inexact for v in traced.graph.inputs]
    graph = _reverse(traced.graph, active, checked(checkpoint))
    count = len(traced.graph.outputs)
    values = call_graph(traced.graph, operands)
    floats = [k for k, a in enumerate(traced.graph.outputs) if a.type.is_inexact]

    def pullback(*cotangents: Operand) -> tuple[Any, ...]:
        if len(cotangents) != count:
            raise UsageError(f"the pullback takes {count} cotangents, one per output, got {len(cotangents)}")
        types = [a.type for a in traced.graph.outputs]
        aligned = [_matching(cotangents[k], types[k], traced.axes_of(k), operands) for k in floats]
        results = call_graph(graph, [*operands, *aligned])[count:]
        supply = iter(results)
        parts = [next(supply) if a else None for a in active][: len(args)]
        return tuple(_named(part, axes) for part, axes in zip(parts, named, strict=True))

    return traced.restore(values), pullback


def jvp(f: Function, primals: Sequence[Operand], tangents: Sequence[Operand]) -> tuple[Any, Any]:
    """f(*primals), and its derivative along `tangents`.

    Each primal has one tangent of its shape, complex only where the primal is; None means zero.
    """
    if len(primals) != len(tangents):
        given = f"{len(primals)} primals, {len(tangents)} tangents"
        raise UsageError(f"jvp takes one tangent per primal: {given}")
    traced, operands, named = _trace(f, primals, [k for k, t in enumerate(tangents) if t is not None])
    graph = traced.graph
    moving = [k for k, t in enumerate(tangents) if t is not None and graph.inputs[k].type.is_inexact]
    dots = [_matching(tangents[k], graph.inputs[k].type, named[k], operands) for k in moving]
    results = call_graph(pushforward(graph, moving), [*operands, *dots])
    count = len(graph.outputs)
    return traced.restore(results[:count]), traced.restore(results[count:])


def value_and_grad(
    f: Function, argnums: int | Sequence[int] = 0, *, checkpoint: Checkpoint = "none"
) -> Callable[..., tuple[Any, Any]]:
    """The function that returns f(*args), one float scalar, and its gradient with respect to `argnums`."""
    places = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    checked(checkpoint)

    def function(*args: Operand) -> tuple[Any, Any]:
        args = tuple(_floated(a) if k in places else a for k, a in enumerate(args))
        traced, operands, named = _trace(f, args, places)
        graph = traced.graph
        batch = traced.batch_shape(0) if graph.outputs else ()
        if len(graph.outputs) != 1 or graph.outputs[0].type != Type("float", batch):
            found = ", ".join(str(a.type) for a in graph.outputs)
            is_complex = graph.outputs and graph.outputs[0].type.is_complex
            instead = "take real(), imag() or abs() of it" if is_complex else "use vjp or jacobian"
            needed = "grad needs a function with one float scalar as its result"
            raise NotDifferentiableError(f"{needed}, this one returns {found}; {instead}")
        for k in places:
            if not 0 <= k < len(args) or not graph.inputs[k].type.is_inexact:
                allowed = f"there are {len(args)} arguments, and it must be a float or complex one"
                raise UsageError(f"grad with respect to argument {k}: {allowed}")
        derived = _reverse(graph, [k in places for k in range(len(graph.inputs))], checkpoint)
        one = _matching(1.0, graph.outputs[0].type, traced.axes_of(0), operands)
        value, *parts = call_graph(derived, [*operands, one])
        parts = [_named(part, named[k]) for k, part in zip(places, parts, strict=True)]
        gradient = parts[0] if isinstance(argnums, int) else tuple(parts)
        return traced.restore([value]) if traced.single else value, gradient

    return function


def grad(
    f: Function, argnums: int | Sequence[int] = 0, *, checkpoint: Checkpoint = "none"
) -> Callable[..., Any]:
    """The gradient of f, which must return one float scalar, with respect to `argnums` (an int, or several).

    With respect to a complex z = a + ib it is dL/da + i dL/db.
    """
    both = value_and_grad(f, argnums, checkpoint=checkpoint)
    return lambda *args: both(*args)[1]


def jacobian(
    f: Function, argnum: int = 0, *, mode: Mode = "rev", checkpoint: Checkpoint = "none"
) -> Callable[..., Any]:
    """The Jacobian of f, which must return one float array, of shape (*result.shape, *argument.shape).

    `mode` "rev" pulls back one unit cotangent per entry of the result; "fwd" pushes one unit tangent per
    entry of the argument. A complex argument or result raises `UsageError`: neither an array of conj(s) nor
    one of s would be right for all functions.
    """
    if mode not in ("rev", "fwd"):
        raise UsageError(f"jacobian with mode={mode!r}; it is 'rev' or 'fwd'")

    def function(*args: Operand) -> Any:
        args = tuple(_floated(a) if k == argnum else a for k, a in enumerate(args))
        shape = shape_of(args[argnum])
        _refuse_complex(args[argnum], "an argument")
        precision = precision_of([devectorize(a) for a in args])
        if mode == "rev":
            value, pullback = vjp(f, *args, checkpoint=checkpoint)
            _refuse_complex(value, "a result")
            rows = [pullback(unit)[argnum] for unit in _units(shape_of(value), precision)]
            if not rows:
                return np.zeros((*shape_of(value), *shape), precision)
            return _assemble(rows, shape_of(value), shape)
        columns, value = [], None
        for unit in _units(shape, precision):
            value, column = jvp(f, args, [unit if k == argnum else None for k in range(len(args))])
            columns.append(column)
        value = vjp(f, *args)[0] if value is None else value
        _refuse_complex(value, "a result")
        if not columns:
            return np.zeros((*shape_of(value), *shape), precision)
        return _swap(_assemble(columns, shape, shape_of(value)), len(shape))

    return function


def hessian(f: Function, argnum: int = 0, *, checkpoint: Checkpoint = "none") -> Callable[..., Any]:
    """The matrix of second derivatives of f (one float scalar), by forward over reverse mode.

    Its shape is (*argument.shape, *argument.shape).
    """
    return jacobian(grad(f, argnum, checkpoint=checkpoint), argnum, mode="fwd")


def _refuse_complex(value: Operand, what: str) -> None:
    if type_of(value).is_complex:
        real = "the function of real arguments a, b with z = complex(a, b), and take real(z) and imag(z)"
        found = f"{what} of type {type_of(value)}"
        raise UsageError(f"jacobian and hessian with {found}: give {real} of results")


def _floated(value: Operand) -> Operand:
    """A plain int as a float: grad(f)(2) means 2.0."""
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _trace(
    f: Function, args: Sequence[Operand], places: Sequence[int]
) -> tuple[TracedFunction, list[Any], list[tuple[str, ...]]]:
    """`f` traced, the operands of its graph, and the named axes of each argument.

    The arguments at `places` get the named axes of all arguments, and of closed-over values that reach a
    result.
    """
    sizes = union(args)
    precision = precision_of([devectorize(a) for a in args])
    while True:
        whole = [
            (
                Vectorized(align(_number(a, precision), sizes), tuple(sizes))
                if sizes and k in places and type_of(a).is_inexact
                else a
            )
            for k, a in enumerate(args)
        ]
        named = [a.axes if isinstance(a, Vectorized) else () for a in whole]
        data = [devectorize(a) for a in whole]
        traced = trace_function(f, [type_of(a) for a in data], axes=named)
        reached = {name for axes in traced.axes for name in axes}
        more = {name: n for name, n in traced.foreign.items() if name in reached and name not in sizes}
        if not more:
            return traced, [*data, *traced.captured], named
        sizes = {**sizes, **more}


def _named(part: Any, axes: tuple[str, ...]) -> Any:
    return Vectorized(part, axes) if axes and part is not None else part


def _number(value: Operand, precision: Precision) -> Operand:
    """A Python number that will be repeated in an array gets the arrays' precision, as it has none itself."""
    if active_builder() is not None or type(value) not in (int, float, complex):
        return value
    format = FORMATS[precision]
    return format.complex_dtype(value) if type(value) is complex else format.dtype.type(value)


def _matching(value: Operand, type: Type, axes: tuple[str, ...], operands: Sequence[Operand]) -> Any:
    """A tangent or cotangent as data of `type` with leading named `axes`; without axes it is repeated."""
    if type_of(value).is_complex and not type.is_complex:
        raise UsageError(f"a complex tangent or cotangent for what is of type {type}; give its real part")
    if not axes and not isinstance(value, Vectorized):
        return value
    sizes = {name: n or 0 for name, n in zip(axes, type.shape, strict=False)}
    return align(_number(value, precision_of(operands)), sizes)


def _reverse(graph: Graph, active: Sequence[bool], checkpoint: Checkpoint) -> Graph:
    """`graph` with a cotangent per float output as further inputs, and those of active inputs as outputs."""
    builder = GraphBuilder(simplify=True)
    inputs = [builder.input(v.type, v.name) for v in graph.inputs]
    mode = ReverseMode(builder, checkpoint=checkpoint)
    tape = mode.forward(graph, inputs, active)
    seeds = [builder.input(a.type, "g") if a.type.is_inexact else None for a in graph.outputs]
    parts = tape.backward([None if s is None else mode.value(s) for s in seeds])
    filled = [or_zeros(mode, p, v).atom for p, v, a in zip(parts, graph.inputs, active, strict=True) if a]
    given = [*inputs, *(s for s in seeds if s is not None)]
    return builder.finish(given, [*tape.outputs, *filled], f"vjp_{graph.name}")


def _units(shape: tuple[int, ...], precision: Precision) -> list[Any]:
    size = int(np.prod(shape, dtype=int))
    return [row.reshape(shape)[()] for row in np.eye(size, dtype=precision)]


def _assemble(parts: Sequence[Any], outer: tuple[int, ...], inner: tuple[int, ...]) -> Any:
    """`parts`, one of shape `inner` per entry of `outer`, as one array."""
    if not outer:
        return parts[0]
    if not parts:
        return np.zeros((*outer, *inner))
    return reshape(stack(parts), (*outer, *inner))


def _swap(array: Any, first: int) -> Any:
    """The first axes moved to the end."""
    rank = len(shape_of(array))
    order = (*range(first, rank), *range(first))
    if order == tuple(range(rank)):
        return array
    return permute_dims(array, order)
