"""Traces Python functions by running them once on values that record."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gradfuzz.engine.api.vectorize import Sizes, Trace, Vectorized, align, here, is_vectorized, settled, union
from gradfuzz.engine.batching.batch import batch
from gradfuzz.engine.compiling.compile import compile
from gradfuzz.engine.modes.inline import inline
from gradfuzz.engine.modes.prune import prune
from gradfuzz.engine.rules.value import ACTIVE, DTYPES, Operand, Value, as_atom
from gradfuzz.errors import UsageError
from gradfuzz.programs.graphs.builder import GraphBuilder
from gradfuzz.programs.graphs.graph import Atom, Graph, Var
from gradfuzz.programs.graphs.lower import lower
from gradfuzz.programs.language.precision import FORMATS, Precision, is_float
from gradfuzz.programs.language.program import Program
from gradfuzz.programs.language.syntax import Const
from gradfuzz.programs.language.types import Type, promote

Function = Callable[..., Any] | Program | Graph


def active_builder() -> GraphBuilder | None:
    """The graph that is being traced, or None."""
    stack = ACTIVE.get()
    return stack[-1] if stack else None


@contextmanager
def build(builder: GraphBuilder) -> Iterator[int]:
    """Makes `builder` the innermost trace; yields its level."""
    stack = ACTIVE.get()
    token = ACTIVE.set((*stack, builder))
    try:
        yield len(stack) + 1
    finally:
        ACTIVE.reset(token)


def type_of(value: Operand) -> Type:
    """The type of a value, a number or an array; for a vectorized one, that of an instance."""
    if isinstance(value, Vectorized):
        whole = type_of(value.data)
        return Type(whole.dtype, value.shape)
    if isinstance(value, Value):
        return value.type
    if isinstance(value, (bool, int, float, complex)):
        return Type(Const(value).dtype)
    array = np.asarray(value)
    if array.dtype.kind not in "biuc" and not is_float(array.dtype):
        instead = "pass floats, complex numbers, ints, bools or arrays of them"
        raise UsageError(f"{value!r} of dtype {array.dtype} cannot be differentiated; {instead}")
    return Type(DTYPES.get(array.dtype.kind, "float"), array.shape)


@dataclass(frozen=True, slots=True)
class TracedFunction:
    """A traced function: a graph of its arguments and closed-over values, and the form of its result."""

    graph: Graph
    captured: tuple[Var | Vectorized, ...]
    """Values of enclosing traces, which the graph takes after the arguments; instances of vectorized ones."""
    single: bool
    """Whether the function returned one value and not a tuple."""
    axes: tuple[tuple[str, ...], ...] = ()
    """The named axes of each result; empty: no result has any."""
    foreign: Sizes = field(default_factory=dict)
    """The named axes of closed-over values."""

    def axes_of(self, k: int) -> tuple[str, ...]:
        """The named axes of result `k`."""
        return self.axes[k] if self.axes else ()

    def batch_shape(self, k: int) -> tuple[int | None, ...]:
        """The sizes of the named axes of result `k`."""
        return self.graph.outputs[k].type.shape[: len(self.axes_of(k))]

    def restore(self, results: Sequence[Any]) -> Any:
        """The results in the form that the function returned."""
        if any(self.axes):
            results = [Vectorized(r, a) if a else r for r, a in zip(results, self.axes, strict=True)]
        return results[0] if self.single else tuple(results)


def trace_function(
    f: Function,
    types: Sequence[Type],
    names: Sequence[str] = (),
    *,
    axes: Sequence[tuple[str, ...]] = (),
    by_instance: bool = False,
) -> TracedFunction:
    """Runs `f` on recording arguments of `types`. A program or a graph is used as it is.

    Arguments with named `axes` are vectorized; their types have these axes in front. With `by_instance`,
    closed-over values are seen one instance at a time.
    """
    if isinstance(f, Program):
        f = lower(f)
    if isinstance(f, Graph):
        if any(axes):
            return trace_function(_caller(f), types, [v.name for v in f.inputs], axes=axes)
        expected = [v.type for v in f.inputs]
        pairs = zip(types, expected, strict=False)
        given = [t.with_dtype(promote((e.dtype, t.dtype))) if e.is_inexact else t for t, e in pairs]
        if given != expected or len(types) != len(expected):
            taken, got = (", ".join(map(str, some)) for some in (expected, types))
            raise UsageError(f"{f.name} takes ({taken}), got ({got})")
        return TracedFunction(f, (), len(f.outputs) == 1)
    builder = Trace(by_instance=by_instance)
    inputs = [builder.input(t, names[k] if k < len(names) else f"x{k}") for k, t in enumerate(types)]
    with build(builder) as level:
        values = [Value(builder, v, level) for v in inputs]
        result = f(*[Vectorized(v, axes[k]) if axes and axes[k] else v for k, v in enumerate(values)])
        single = not isinstance(result, (tuple, list))
        results = [settled(r) if by_instance else here(r) for r in ([result] if single else result)]
    named = tuple(r.axes if isinstance(r, Vectorized) else () for r in results)
    data = [r.data if isinstance(r, Vectorized) else r for r in results]
    outputs = [builder.use(r.atom if isinstance(r, Value) else as_atom(r)) for r in data]
    instances = [var for _, var in builder.instances]
    given_all = [*inputs, *builder.captured.values(), *instances]
    graph = builder.finish(given_all, outputs, getattr(f, "__name__", "f"))
    captured: tuple[Var | Vectorized, ...] = (*builder.captured, *(value for value, _ in builder.instances))
    return TracedFunction(graph, captured, single, named, builder.foreign)


def _caller(graph: Graph) -> Callable[..., Any]:
    """`graph` as a function of vectorized arguments."""

    def call(*args: Operand) -> Any:
        results = call_instances(graph, args)
        return results[0] if len(results) == 1 else tuple(results)

    call.__name__ = graph.name
    return call


def by_instance(f: Function, *operands: Operand) -> Any:
    """f(*operands), traced on one instance and then batched: each instance has its own loops and branches."""
    traced = trace_function(f, [type_of(o) for o in operands], by_instance=True)
    return traced.restore(call_instances(traced.graph, [*operands, *traced.captured]))


def call_instances(graph: Graph, operands: Sequence[Operand]) -> list[Any]:
    """The outputs of `graph`, which takes an instance of each vectorized operand."""
    seen = [here(o) for o in operands]
    if not is_vectorized(*seen):
        return call_graph(graph, seen)
    sizes = union(seen)
    arrays = [align(o, sizes) if isinstance(o, Vectorized) else o for o in seen]
    batched, flags = batch(graph, [isinstance(o, Vectorized) for o in seen], tuple(sizes.values()))
    results = call_graph(batched, arrays)
    return [Vectorized(r, tuple(sizes)) if b else r for r, b in zip(results, flags, strict=True)]


def call_graph(graph: Graph, operands: Sequence[Operand]) -> list[Any]:
    """The outputs of `graph`: recorded where an operand is traced, computed otherwise."""
    builder = active_builder()
    if builder is not None and any(isinstance(o, (Value, Var)) for o in operands):
        level = len(ACTIVE.get())
        atoms: list[Atom] = []
        for o, v in zip(operands, graph.inputs, strict=True):
            atom = o if isinstance(o, Var) else o.atom if isinstance(o, Value) else as_atom(o)
            atoms.append(builder.to(atom, v.type.dtype) if v.type.is_inexact else atom)
        return [Value(builder, a, level) for a in inline(builder, graph, [builder.use(a) for a in atoms])]
    return list(compile(prune(graph), precision=precision_of(operands))(*operands))


def precision_of(operands: Sequence[Operand]) -> Precision:
    """The precision of all float and complex arrays; float64 where they differ or there are none.

    Plain Python floats do not count.
    """
    kinds = {np.asarray(o).dtype for o in operands if isinstance(o, (np.ndarray, np.generic))}
    floats = {k for k in kinds if is_float(k)} | {np.empty(0, k).real.dtype for k in kinds if k.kind == "c"}
    return next((name for name, f in FORMATS.items() if floats == {f.dtype}), "float64")
