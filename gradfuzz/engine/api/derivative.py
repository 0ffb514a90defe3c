"""From a program to the graph of its derivative, of any order and in any mix of modes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from gradfuzz.engine.batching.batch import batch
from gradfuzz.engine.modes.forward import ForwardMode
from gradfuzz.engine.modes.inline import inline, or_zeros
from gradfuzz.engine.modes.prune import prune
from gradfuzz.engine.modes.reverse import ReverseMode, checked
from gradfuzz.engine.rules.functions import broadcast_to, conj, real, reshape, stack
from gradfuzz.engine.rules.functions import sum as total
from gradfuzz.engine.rules.value import Value, apply
from gradfuzz.errors import UsageError
from gradfuzz.programs.graphs.builder import GraphBuilder, constant
from gradfuzz.programs.graphs.graph import Atom, Checkpoint, Constant, Graph, Var
from gradfuzz.programs.graphs.lower import lower
from gradfuzz.programs.language.program import Program
from gradfuzz.programs.language.syntax import ArrayConst, Const

Mode = Literal["fwd", "rev"]

_UNROLLED = 4
"""A forward-mode gradient with respect to up to this many entries is written out entry by entry."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The classes of the two modes. A mutant is another pair, with one method overridden."""

    forward: type[ForwardMode] = ForwardMode
    reverse: type[ReverseMode] = ReverseMode


def derivative(
    program: Program | Graph,
    *,
    wrt: Sequence[str],
    modes: Sequence[Mode],
    rules: Rules | None = None,
    checkpoint: Checkpoint = "none",
) -> Graph:
    """The graph of the outputs of `program` and of the gradient that `modes` ask for, innermost first.

    F(x) is the sum over the float outputs of <weight, output>, and of Re <weight, output> = Re
    sum(conj(weight) output) over complex ones. The gradient for a complex parameter z = a + ib is dF/da + i
    dF/db, the steepest ascent of F. The graph takes the parameters of the program, then one weight per such
    output, then, for two or more modes, one direction per name in `wrt`. It returns the outputs, then one
    gradient per name in `wrt`: of F for one mode, of D F[v] for two, of D^2 F[v, v] for three. Every mode but
    the last contracts with v. Without a mode only the outputs are returned.

    `checkpoint` bounds the memory of long loops in reverse mode and changes no bit of a result: "none" keeps
    the carries of all n iterations; "sqrt" about sqrt(n) of them, whatever the order; an int k at most k for
    each loop of the program (its tangents with it), while backward loops that are differentiated in reverse
    again still keep a state per iteration. What is not kept is computed again.

    Raises `UsageError` for names in `wrt` that are no float parameters, and for an invalid `checkpoint`.
    """
    graph = lower(program) if isinstance(program, Program) else program
    rules = rules or Rules()
    by_name = {v.name: k for k, v in enumerate(graph.inputs)}
    for name in wrt:
        if name not in by_name or not graph.inputs[by_name[name]].type.is_inexact:
            floats = [v.name for v in graph.inputs if v.type.is_inexact]
            known = f"the float and complex parameters are {', '.join(floats) or 'none'}"
            raise UsageError(f"cannot differentiate with respect to {name!r}; {known}")
    places = [by_name[n] for n in wrt]
    outputs = [k for k, a in enumerate(graph.outputs) if a.type.is_inexact]
    weights = [Var(graph.outputs[k].type, "weight") for k in outputs]
    along = [graph.inputs[k] for k in places] if len(modes) > 1 else []
    directions = [Var(v.type, f"{v.name}_v") for v in along]
    step = _Step(graph, places, outputs, len(weights), len(directions), rules, checked(checkpoint))
    current = step.start(weights, directions)
    for mode in modes[:-1]:
        current = step.contract(current, mode)
    return prune(step.gradient(current, modes[-1]) if modes else step.values(current))


_Gradient = tuple[list[Atom], list[Value]]
"""The outputs of a graph, and a part for each differentiated parameter."""


@dataclass(frozen=True, slots=True)
class _Step:
    """One differentiation.

    A graph of order 0 returns the program's outputs; higher orders return them and then the next scalar. All
    take the same inputs: parameters, weights, directions.
    """

    program: Graph
    places: list[int]
    outputs: list[int]
    weights: int
    directions: int
    rules: Rules
    checkpoint: Checkpoint

    def start(self, weights: list[Var], directions: list[Var]) -> Graph:
        g = self.program
        return Graph((*g.inputs, *weights, *directions), g.nodes, g.outputs, g.name)

    def values(self, graph: Graph) -> Graph:
        return Graph(graph.inputs, graph.nodes, graph.outputs[: len(self.program.outputs)], graph.name)

    def _build(self, graph: Graph, rest: Callable[[GraphBuilder, list[Var]], list[Atom]], name: str) -> Graph:
        builder = GraphBuilder(simplify=True)
        inputs = [builder.input(v.type, v.name) for v in graph.inputs]
        return builder.finish(inputs, rest(builder, inputs), name)

    def contract(self, graph: Graph, mode: Mode) -> Graph:
        """The next scalar: the derivative along the directions."""

        def rest(builder: GraphBuilder, inputs: list[Var]) -> list[Atom]:
            along = [Value(builder, v) for v in inputs[len(inputs) - self.directions :]]
            if mode == "fwd":
                values, slope = self._tangent(graph, builder, inputs, along)
            else:
                values, parts = self._gradient(graph, builder, inputs)
                products = [_inner(p, v) for p, v in zip(parts, along, strict=True)]
                slope = _sum(builder, products)
            return [*values, slope.atom]

        return self._build(graph, rest, f"d{graph.name}")

    def gradient(self, graph: Graph, mode: Mode) -> Graph:
        """The last step: one gradient per differentiated parameter."""

        def rest(builder: GraphBuilder, inputs: list[Var]) -> list[Atom]:
            if mode == "rev":
                values, parts = self._gradient(graph, builder, inputs)
                return [*values, *(p.atom for p in parts)]
            values = inline(builder, self.values(graph), inputs)
            parts = [self._by_units(graph, builder, inputs, k) for k in range(len(self.places))]
            return [*values, *(p.atom for p in parts)]

        return self._build(graph, rest, f"grad_{graph.name}")

    def _by_units(self, graph: Graph, builder: GraphBuilder, inputs: list[Var], which: int) -> Value:
        """A gradient by forward mode: one tangent per entry."""
        zeros = [Value(builder, builder.zeros(self.program.inputs[p].type)) for p in self.places]
        zero = zeros[which]
        shape = zero.shape
        size = int(np.prod(shape, dtype=int))
        if size > _UNROLLED and not zero.type.is_complex:
            return self._by_units_at_once(graph, builder, inputs, which)

        def along(k: int, unit: float | complex) -> Value:
            only = [Value(builder, _unit(shape, k, unit)) if j == which else None for j in range(len(zeros))]
            return self._tangent(graph, builder, inputs, only)[1]

        slopes: list[Value]
        if zero.type.is_complex:  # a unit is complex too: in a loop a tangent has the type of its carry
            slopes = [apply("complex", along(k, 1.0 + 0.0j), along(k, 1j)) for k in range(size)]
        else:
            slopes = [along(k, 1.0) for k in range(size)]
        if not shape:
            return slopes[0]
        if not slopes:
            return zero
        result = reshape(stack(slopes), shape)
        assert isinstance(result, Value), "a stack of values is a value"
        return result

    def _by_units_at_once(self, graph: Graph, builder: GraphBuilder, inputs: list[Var], which: int) -> Value:
        """The same as one directional derivative, batched over all directions: the graph stays small."""
        inner = GraphBuilder(simplify=True)
        copies = [inner.input(v.type, v.name) for v in inputs]
        direction = inner.input(self.program.inputs[self.places[which]].type, "v")
        only = [Value(inner, direction) if j == which else None for j in range(len(self.places))]
        slope = self._tangent(graph, inner, copies, only)[1]
        one = prune(inner.finish([*copies, direction], [slope.atom]))
        shape = direction.type.sizes
        size = int(np.prod(shape, dtype=int))
        batched, (moves,) = batch(one, [*[False] * len(copies), True], size)
        square = broadcast_to(Value(builder, constant(1.0)), (size, size))
        units = reshape(apply("tril", apply("triu", square, k=0), k=0), (size, *shape))
        (slopes,) = inline(builder, batched, [*inputs, units.atom])
        result = (reshape if moves else broadcast_to)(Value(builder, slopes), shape)
        assert isinstance(result, Value), "made of values"
        return result

    def _scalar(self, graph: Graph) -> list[int]:
        """The outputs of `graph` that make up the scalar to differentiate."""
        n = len(self.program.outputs)
        return self.outputs if len(graph.outputs) == n else [n]

    def _tangent(
        self, graph: Graph, builder: GraphBuilder, inputs: list[Var], along: Sequence[Value | None]
    ) -> tuple[list[Atom], Value]:
        tangents: list[Value | None] = [None] * len(inputs)
        for place, v in zip(self.places, along, strict=True):
            tangents[place] = v
        values, slopes = self.rules.forward(builder).run(graph, inputs, tangents)
        n = len(self.program.outputs)
        parts: list[Value] = []
        for k, weight in zip(self._scalar(graph), self._seeds(graph, builder, inputs), strict=True):
            slope = slopes[k]
            if slope is not None:
                parts.append(slope if len(graph.outputs) > n else _inner(weight, slope))
        return values[:n], _sum(builder, parts)

    def _gradient(self, graph: Graph, builder: GraphBuilder, inputs: list[Var]) -> _Gradient:
        mode = self.rules.reverse(builder, checkpoint=self.checkpoint)
        tape = mode.forward(graph, inputs, [k in self.places for k in range(len(inputs))])
        gs: list[Value | None] = [None] * len(graph.outputs)
        for k, seed in zip(self._scalar(graph), self._seeds(graph, builder, inputs), strict=True):
            gs[k] = seed
        parts = tape.backward(gs)
        filled = [or_zeros(mode, parts[p], inputs[p]) for p in self.places]
        return tape.outputs[: len(self.program.outputs)], filled

    def _seeds(self, graph: Graph, builder: GraphBuilder, inputs: list[Var]) -> list[Value]:
        """The cotangents of the scalar's outputs."""
        if len(graph.outputs) > len(self.program.outputs):
            return [Value(builder, constant(1.0))]
        first = len(self.program.inputs)
        return [Value(builder, v) for v in inputs[first : first + self.weights]]


def _inner(a: Value, b: Value) -> Value:
    """Re <a, b>, the inner product of the pairs of real and imaginary parts."""
    result = real(total(conj(a) * b))
    assert isinstance(result, Value), "a product of values is a value"
    return result


def _sum(builder: GraphBuilder, parts: Sequence[Value]) -> Value:
    result = parts[0] if parts else Value(builder, constant(0.0))
    for part in parts[1:]:
        result = result + part
    return result


def _unit(shape: tuple[int, ...], k: int, unit: float | complex) -> Atom:
    if not shape:
        return constant(unit)
    size = int(np.prod(shape, dtype=int))
    entries = tuple(Const(unit if j == k else 0 * unit) for j in range(size))
    return Constant(ArrayConst(Const(unit).dtype, shape, entries))
