"""What the tracers share: which precision the arguments have, what the parameters are called, and the program
that is made of a trace.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradfuzz.engine.api.tracing import trace_function, type_of
from gradfuzz.engine.modes.prune import prune
from gradfuzz.engine.rules.value import Operand, Value
from gradfuzz.errors import EvaluationError, PrecisionError, ProgramError, UntraceableError, UsageError
from gradfuzz.programs.arithmetic.numpy_namespace import NumpyNamespace
from gradfuzz.programs.evaluation.interpret import entered, evaluate, interpret
from gradfuzz.programs.graphs.graph import Graph, Var
from gradfuzz.programs.graphs.raising import to_program
from gradfuzz.programs.language.precision import FORMATS, Precision, is_float
from gradfuzz.programs.language.program import Program
from gradfuzz.programs.language.typecheck import RESERVED
from gradfuzz.programs.language.types import Type

Array = np.ndarray[Any, Any]


def float_dtype(arrays: Sequence[Array]) -> np.dtype[Any]:
    """The one dtype that all float arguments have; float64 where there are none. `UntraceableError` where
    there are several, or complex ones.
    """
    for a in arrays:
        if a.dtype.kind not in "biu" and not is_float(a.dtype):
            raise UntraceableError(
                f"an argument of dtype {a.dtype}: those of a program are floats, ints and bools"
            )
    kinds = {a.dtype for a in arrays if is_float(a.dtype)}
    if len(kinds) > 1:
        raise UntraceableError(
            f"arguments of {' and '.join(sorted(k.name for k in kinds))}: a program has one precision; give"
            " them all one dtype"
        )
    dtype = kinds.pop() if kinds else np.dtype(np.float64)
    precision_of(dtype)
    return dtype


def precision_of(dtype: np.dtype[Any]) -> Precision:
    """The name of a float dtype that a program may be run in; `UntraceableError` for another one."""
    for name, known in FORMATS.items():
        if known.dtype == dtype:
            return name
    raise UntraceableError(f"arguments of {dtype}: a program is run in {', '.join(FORMATS)}")


def inputs_of(f: Callable[..., Any], arrays: Sequence[Array]) -> tuple[list[Type], list[str]]:
    """The types of the arguments, and the names that `f` has for them: x0, x1, ... where it has none that
    fit.
    """
    names = positional(f)[: len(arrays)]
    unfit = any(n in RESERVED or n.startswith("_") or not n.isascii() for n in names)
    if unfit or len(names) < len(arrays):
        names = [f"x{k}" for k in range(len(arrays))]
    return [type_of(a) for a in arrays], names


def positional(f: Callable[..., Any]) -> list[str]:
    """The names of the positional parameters of `f`; none where they are not known."""
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        return []
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


@dataclass(frozen=True, slots=True)
class _Trace:
    """What is being traced: the arguments that record, what they stand for, and whether it is a derivative,
    in which conventions have been decided.
    """

    values: Sequence[Value]
    arrays: Sequence[Array]
    derivative: bool


_TRACED: ContextVar[_Trace | None] = ContextVar("traced", default=None)


def finished(
    run: Callable[..., Any], types: Sequence[Type], names: Sequence[str], arrays: Sequence[Array]
) -> Program:
    """The program of what `run` does with recording values that stand for `arrays`; `UntraceableError` where
    the trace fits no program.
    """
    return program_of(graph_of(run, types, names, arrays))


def program_of(graph: Graph) -> Program:
    """A graph as a program; `UntraceableError` where no program says it."""
    try:
        return to_program(graph)
    except (ProgramError, UsageError) as error:
        raise UntraceableError(f"the trace is no program: {error}") from error


def graph_of(
    run: Callable[..., Any],
    types: Sequence[Type],
    names: Sequence[str],
    arrays: Sequence[Array],
    *,
    derivative: bool = False,
) -> Graph:
    """The graph of what `run` does with recording values that stand for `arrays`."""

    def told(*values: Value) -> Any:
        token = _TRACED.set(_Trace(values, arrays, derivative))
        try:
            return run(*values)
        finally:
            _TRACED.reset(token)

    told.__name__ = getattr(run, "__name__", "f")
    try:
        return prune(trace_function(told, types, names).graph)
    except (ProgramError, UsageError) as error:
        raise UntraceableError(f"the trace is no program: {error}") from error


def bounded(x: Operand) -> Operand:
    """A constant with a number of the order of the largest float in place of what is infinite, as masks have
    it: its exponential is 0 all the same.

    Where infinity itself would be the result, `confirm` sees the difference. `UntraceableError` for NaN, with
    which nothing is computed.
    """
    if not isinstance(x, (float, np.ndarray, np.generic)) or np.all(np.isfinite(x)):
        return x
    traced = _TRACED.get()
    assert traced is not None, "a function is being traced"
    if traced.derivative:  # balls know what is infinite, and what is none
        return x
    if np.any(np.isnan(x)):
        raise UntraceableError("a constant is NaN, with which nothing can be computed exactly")
    most = FORMATS[precision_of(float_dtype(traced.arrays))].largest / 4.0
    return np.clip(x, -most, most)


def need_symmetric(x: Operand, name: str) -> None:
    """`UntraceableError` where a matrix is not equal to its adjoint whatever the arguments are, as is seen at
    some beside the given ones.

    LAPACK reads one triangle of it: a gradient may stand in either or in both halves.
    """
    traced = _TRACED.get()
    if traced is not None and traced.derivative:
        return
    try:
        values = _at_others(x) if isinstance(x, Value) else [np.asarray(x)]
    except EvaluationError as error:
        raise UntraceableError(
            f"{name} of a matrix that cannot be computed next to the arguments: {error}"
        ) from error
    for value in values:
        apart = value - np.conj(np.swapaxes(value, -1, -2))
        if not np.max(np.abs(apart), initial=0.0) <= 1e-9 * np.max(np.abs(value), initial=0.0):
            raise UntraceableError(
                f"{name} reads one triangle of a matrix that need not be symmetric; where its gradient stands"
                " is a convention (write it of (x + x.T) / 2)",
                detached=True,
            )


def at_arguments(x: Value, precision: Precision) -> Array:
    """The value at the arguments of the trace, in a precision. Raises what evaluating raises."""
    known, graph = _up_to(x)
    inputs = [entered(known[v]) for v in graph.inputs]
    return np.asarray(evaluate(graph, inputs, NumpyNamespace(precision))[0])


def _at_others(x: Value) -> list[Array]:
    """The value at some arguments beside those of the trace. What comes into a loop or a branch may be any
    number there.
    """
    known, graph = _up_to(x)
    rng, found = np.random.default_rng(0), []
    for size in (1e-3, 1e-2):
        moved = []
        for v in graph.inputs:
            anything = np.full(v.type.sizes, v.type.is_inexact, v.type.dtype)  # 1.0, or 0 as an index
            reach, a = (size, known[v]) if v in known else (0.5, anything)
            if is_float(a.dtype) or a.dtype.kind == "c":
                factor = 1.0 + reach * rng.uniform(-1, 1, a.shape)
                a = a.astype(complex if a.dtype.kind == "c" else float) * factor
                a = a + size * size * rng.uniform(-1, 1, a.shape)
            moved.append(entered(a))
        found.append(np.asarray(evaluate(graph, moved, NumpyNamespace("float64"))[0]))
    return found


def _up_to(x: Value) -> tuple[dict[Var, Array], Graph]:
    """The arguments of the trace, and what was recorded up to a value. What comes into a loop or a branch is
    one more input.
    """
    traced = _TRACED.get()
    assert traced is not None, "a function is being traced"
    known = {v.atom: a for v, a in zip(traced.values, traced.arrays, strict=True) if isinstance(v.atom, Var)}
    nodes = x.builder.nodes
    made = {v for node in nodes for v in node.outputs}
    read = [a for node in nodes for a in node.inputs] + [x.atom]
    inputs = list(dict.fromkeys([*known, *(a for a in read if isinstance(a, Var) and a not in made)]))
    return known, prune(Graph(tuple(inputs), tuple(nodes), (x.atom,)))


def confirm(program: Program, arrays: Sequence[Array], outputs: Sequence[Any], dtype: np.dtype[Any]) -> None:
    """`UntraceableError` where the program does not give what the function itself gave: a function that
    changes from call to call, or an op that means something else.

    Half of the digits must be the same: the program may round otherwise.
    """
    precision = precision_of(dtype)
    inputs = {p.name: entered(a) for p, a in zip(program.params, arrays, strict=True)}
    try:
        values = interpret(program, inputs, NumpyNamespace(precision))
    except PrecisionError:
        return
    except EvaluationError as error:
        raise UntraceableError(
            f"the traced program cannot be evaluated at these arguments: {error}"
        ) from error
    if len(values) != len(outputs):
        raise UntraceableError(
            f"the function gives {len(outputs)} results, and gave {len(values)} when it was traced"
        )
    unit = FORMATS[precision].roundoff
    reach = max([1.0, *(float(np.max(np.abs(a), initial=0.0)) for a in arrays if is_float(a.dtype))])
    least = 64 * unit * (reach if np.isfinite(reach) else 1.0)
    for k, (value, output) in enumerate(zip(values, outputs, strict=True)):
        here, there = np.asarray(value, np.float64), np.asarray(output, np.float64)
        finite = np.abs(there[np.isfinite(there)]) if there.shape == here.shape else there
        bound = unit**0.5 * float(np.max(finite, initial=0.0)) + least
        if here.shape != there.shape or not np.allclose(here, there, rtol=0.0, atol=bound, equal_nan=True):
            raise UntraceableError(
                f"the traced program gives {np.array2string(here, threshold=6)} for output {k} at these"
                f" arguments, the function {np.array2string(there, threshold=6)}: it changes from call to"
                " call, or does something that the trace does not see"
            )
