"""Tracing Python functions: running them once on values that record."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradfuzz.engine.compile import Precision, compile
from gradfuzz.engine.inline import inline
from gradfuzz.engine.prune import prune
from gradfuzz.engine.value import ACTIVE, Operand, Value, as_atom
from gradfuzz.errors import UsageError
from gradfuzz.programs.builder import GraphBuilder
from gradfuzz.programs.graph import Atom, Graph, Var
from gradfuzz.programs.lower import lower
from gradfuzz.programs.syntax import Program
from gradfuzz.programs.types import Type

__all__ = ["Function", "Traced", "active_builder", "build", "call_graph", "trace_function", "type_of"]

Function = Callable[..., Any] | Program | Graph


def active_builder() -> GraphBuilder | None:
    """The graph that is being traced just now, or None."""
    stack = ACTIVE.get()
    return stack[-1] if stack else None


@contextmanager
def build(builder: GraphBuilder) -> Iterator[int]:
    """Makes `builder` the innermost trace; gives its level."""
    stack = ACTIVE.get()
    token = ACTIVE.set((*stack, builder))
    try:
        yield len(stack) + 1
    finally:
        ACTIVE.reset(token)


def type_of(value: Operand) -> Type:
    """The type of a value, a number or an array."""
    if isinstance(value, Value):
        return value.type
    if isinstance(value, (bool, int, float)):
        return Type("bool" if isinstance(value, bool) else "int" if isinstance(value, int) else "float")
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        raise UsageError(f"{value!r} of dtype {array.dtype} cannot be differentiated; pass floats, ints, bools or arrays of them")
    return Type("bool" if array.dtype.kind == "b" else "float" if array.dtype.kind == "f" else "int", array.shape)


@dataclass(frozen=True, slots=True)
class Traced:
    """What a function did: a graph of its arguments and of what it closed over, and the form of its result."""

    graph: Graph
    captured: tuple[Var, ...]
    """Values of enclosing traces; the graph takes them after the arguments."""
    single: bool
    """Whether the function returned one value and not a tuple."""

    def restore(self, results: Sequence[Any]) -> Any:
        """The results in the form in which the function returned them."""
        return results[0] if self.single else tuple(results)


def trace_function(f: Function, types: Sequence[Type], names: Sequence[str] = ()) -> Traced:
    """Runs `f` on recording arguments of `types`. A program or a graph is taken as it is."""
    if isinstance(f, Program):
        f = lower(f)
    if isinstance(f, Graph):
        expected = [v.type for v in f.inputs]
        given = [Type("float", t.shape) if e.is_float and t.dtype == "int" else t for t, e in zip(types, expected, strict=False)]
        if given != expected or len(types) != len(expected):
            raise UsageError(f"{f.name} takes ({', '.join(map(str, expected))}), got ({', '.join(map(str, types))})")
        return Traced(f, (), len(f.outputs) == 1)
    builder = GraphBuilder()
    inputs = [builder.input(t, names[k] if k < len(names) else f"x{k}") for k, t in enumerate(types)]
    with build(builder) as level:
        result = f(*[Value(builder, v, level) for v in inputs])
    single = not isinstance(result, (tuple, list))
    outputs = [builder.use(r.atom if isinstance(r, Value) else as_atom(r)) for r in ([result] if single else result)]
    captured = tuple(builder.captured)
    graph = builder.finish([*inputs, *builder.captured.values()], outputs, getattr(f, "__name__", "f"))
    return Traced(graph, captured, single)


def call_graph(graph: Graph, operands: Sequence[Operand]) -> list[Any]:
    """The outputs of `graph`: recorded where an operand is traced, computed otherwise."""
    builder = active_builder()
    if builder is not None and any(isinstance(o, (Value, Var)) for o in operands):
        level = len(ACTIVE.get())
        atoms: list[Atom] = [o if isinstance(o, Var) else o.atom if isinstance(o, Value) else as_atom(o) for o in operands]
        atoms = [builder.to_float(a) if v.type.is_float else a for a, v in zip(atoms, graph.inputs, strict=True)]
        return [Value(builder, a, level) for a in inline(builder, graph, [builder.use(a) for a in atoms])]
    return list(compile(prune(graph), precision=_precision(operands))(*operands))


def _precision(operands: Sequence[Operand]) -> Precision:
    """float32 where every float array is; plain Python floats do not count."""
    kinds = {np.asarray(o).dtype for o in operands if isinstance(o, (np.ndarray, np.generic))}
    floats = {k for k in kinds if k.kind == "f"}
    return "float32" if floats == {np.dtype(np.float32)} else "float64"
