"""Batching: from a graph for one instance to the graph for a whole batch.

Ops become ops with batch axes in front (`rules`). A loop whose trip count is the same for all instances stays
that loop. A loop whose trip counts differ runs until the last instance is done: a finished lane keeps its
carries and evaluates the body at a running lane's inputs. So nothing is computed at a point that no instance
asked for: no NaN appears in an unused lane and comes back as 0 * NaN in a derivative, and an index out of
range is an error of an actual instance. (Where the derivative of that instance is itself infinite, it may
come out as NaN: 0 * inf of the finished lanes.) A branch on a batched predicate runs each side that some
instance takes, in the same way, and selects.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gradfuzz.engine.batching.lanes import Lanes
from gradfuzz.engine.batching.rules import batch_op
from gradfuzz.engine.modes.inline import copy_node
from gradfuzz.engine.rules.functions import broadcast_to, maximum, permute_dims, reshape, sum, where
from gradfuzz.engine.rules.value import Value, apply
from gradfuzz.programs.graphs.builder import GraphBuilder, constant
from gradfuzz.programs.graphs.graph import Atom, Branch, Constant, Equation, Graph, Loop, Node, Var
from gradfuzz.programs.language.syntax import ParamValue
from gradfuzz.programs.language.types import INT, Type


def batch(
    graph: Graph, batched: Sequence[bool], shape: int | tuple[int, ...], rules: type[Batching] | None = None
) -> tuple[Graph, tuple[bool, ...]]:
    """`graph` for a batch: inputs marked `batched` have batch axes of sizes `shape` in front.

    Returns the graph and which of its outputs have the batch axes; the others are the same for every
    instance. A mutant passes its own `rules`. Raises `NotDifferentiableError` for an op without a batching
    rule.
    """
    lanes = Lanes((shape,) if isinstance(shape, int) else shape)
    batching = (rules or Batching)(GraphBuilder(simplify=True), lanes)
    inputs = batching.inputs(graph.inputs, batched)
    outputs = batching.run(graph, inputs)
    return batching.finish(inputs, outputs, f"batched_{graph.name}"), tuple(o.batched for o in outputs)


@dataclass(frozen=True, slots=True)
class Lane:
    """A value of the graph as it is in the batched graph.

    `trips` is for a stack written by a loop with a trip count per instance: a stack of bools of the batch's
    shape, true where the instance took the iteration.
    """

    value: Value
    batched: bool
    trips: Value | None = None


class Batching:
    """Walks a graph and builds the batched one."""

    def __init__(self, builder: GraphBuilder, lanes: Lanes, level: int = 0) -> None:
        self.builder = builder
        self.lanes = lanes
        self.level = level

    def nested(self) -> Batching:
        """The same rules for an inner graph."""
        return type(self)(GraphBuilder(simplify=True), self.lanes, self.level + 1)

    def value(self, atom: Atom) -> Value:
        return Value(self.builder, atom, self.level)

    def input(self, type: Type, name: str, batched: bool) -> Lane:
        """A new input for one of `type`."""
        shape = self.lanes.shape if batched else ()
        full = Type(type.dtype, (None, *shape, *type.shape[1:]) if type.is_stack else (*shape, *type.shape))
        return Lane(self.value(self.builder.input(full, name)), batched)

    def inputs(self, variables: Sequence[Var], batched: Sequence[bool]) -> list[Lane]:
        """New inputs for those of a graph."""
        return [self.input(v.type, v.name, b) for v, b in zip(variables, batched, strict=True)]

    def finish(self, inputs: Sequence[Lane], outputs: Sequence[Lane], name: str = "f") -> Graph:
        """The graph of what was built."""
        variables = [a for a in _atoms(inputs) if isinstance(a, Var)]
        return self.builder.finish(variables, _atoms(outputs), name)

    def spread(self, lane: Lane) -> Lane:
        """`lane` with the batch axes."""
        return lane if lane.batched else Lane(self.traced(self.lanes.spread(lane.value, False)), True)

    @staticmethod
    def traced(value: object) -> Value:
        """`value`, the result of an op on values."""
        assert isinstance(value, Value), "an op of a value is a value"
        return value

    def run(self, graph: Graph, inputs: Sequence[Lane]) -> list[Lane]:
        """The outputs of `graph` for a batch of `inputs`."""
        known: dict[Var, Lane] = dict(zip(graph.inputs, inputs, strict=True))

        def read(atom: Atom) -> Lane:
            return Lane(self.value(atom), False) if isinstance(atom, Constant) else known[atom]

        for node in graph.nodes:
            known.update(zip(node.outputs, self.node(node, [read(a) for a in node.inputs]), strict=True))
        return [read(a) for a in graph.outputs]

    def node(self, node: Node, args: Sequence[Lane]) -> list[Lane]:
        """The outputs of one node."""
        if not any(a.batched or a.trips is not None for a in args):
            return [Lane(self.value(v), False) for v in copy_node(self.builder, node, _atoms(args))]
        if isinstance(node, Equation):
            values, batched = [a.value for a in args], [a.batched for a in args]
            result = batch_op(self.lanes, node.op, values, batched, dict(node.params))
            return [Lane(self.traced(result), True)]
        if isinstance(node, Branch):
            return self.branch(node, args) if args[0].batched else self.common_branch(node, args)
        return self.loop(node, args)

    # Masks --------------------------------------------------------------------------------------------------

    def any(self, live: Value) -> Value:
        """Whether at least one instance is live."""
        return self.traced(sum(apply("astype", live, dtype="int")) > 0)

    def select(self, live: Value, then: Value, otherwise: Value) -> Value:
        """`then` where an instance is live, else `otherwise`; both are batched."""
        ones = [1] * (then.ndim - self.lanes.rank)
        mask = reshape(live, (*self.lanes.shape, *ones)) if ones else live
        return self.traced(where(mask, then, otherwise))

    def guard(self, live: Value, lanes: Sequence[Lane]) -> list[Lane]:
        """`lanes` with the values of dead instances replaced by those of the first live one."""
        flat = reshape(live, (self.lanes.count,))
        so_far = apply("cumulative_sum", apply("astype", flat, dtype="int"), axis=0)
        first = sum(apply("astype", so_far < 1, dtype="int"))
        guarded = []
        for lane in lanes:
            if not lane.batched:
                guarded.append(lane)
                continue
            shape = lane.value.shape[self.lanes.rank :]
            pattern: tuple[ParamValue, ...] = ("at", *(("slice", 0, n) for n in shape))
            chosen = apply("index", reshape(lane.value, (self.lanes.count, *shape)), first, pattern=pattern)
            guarded.append(Lane(self.select(live, lane.value, broadcast_to(chosen, lane.value.shape)), True))
        return guarded

    # Branches -----------------------------------------------------------------------------------------------

    def common_branch(self, node: Branch, args: Sequence[Lane]) -> list[Lane]:
        """A branch in which all instances take the same side."""
        sides = []
        for graph in (node.then, node.otherwise):
            side = self.nested()
            inputs = side.inputs(graph.inputs, [a.batched for a in args[1:]])
            sides.append((side, inputs, side.run(graph, inputs)))
        batched = [a.batched or b.batched for a, b in zip(sides[0][2], sides[1][2], strict=True)]
        graphs = []
        for side, inputs, outputs in sides:
            full = [side.spread(o) if b else o for o, b in zip(outputs, batched, strict=True)]
            graphs.append(side.finish(inputs, full))
        predicate, *operands = _atoms(args)
        names = [v.name for v in node.outputs]
        results = self.builder.branch(predicate, operands, graphs[0], graphs[1], names)
        return [Lane(self.value(r), b) for r, b in zip(results, batched, strict=True)]

    def branch(self, node: Branch, args: Sequence[Lane]) -> list[Lane]:
        """Each side for the instances that take it, and a selection."""
        predicate = args[0].value
        then = self._side(node.then, predicate, args[1:])
        otherwise = self._side(node.otherwise, self.traced(apply("logical_not", predicate)), args[1:])
        return [Lane(self.select(predicate, a, b), True) for a, b in zip(then, otherwise, strict=True)]

    def _side(self, graph: Graph, live: Value, operands: Sequence[Lane]) -> list[Value]:
        """One side's outputs where it is live, computed if it is live anywhere; elsewhere anything finite."""
        side, skipped = self.nested(), GraphBuilder()
        mask = side.input(Type("bool"), "live", True)
        inputs = side.inputs(graph.inputs, [a.batched for a in operands])
        outputs = [side.spread(o) for o in side.run(graph, side.guard(mask.value, inputs))]
        computed = side.finish([mask, *inputs], outputs)
        copies = [skipped.input(v.type, v.name) for v in computed.inputs]
        zeros = skipped.finish(copies, [skipped.zeros(a.type) for a in computed.outputs])
        given, names = [live.atom, *_atoms(operands)], ["side"] * len(outputs)
        results = self.builder.branch(self.any(live).atom, given, computed, zeros, names)
        return [self.value(r) for r in results]

    # Loops --------------------------------------------------------------------------------------------------

    def loop(self, node: Loop, args: Sequence[Lane]) -> list[Lane]:
        """A loop: without masks if all instances have the same trip count."""
        parts = _Parts.of(node, args)
        counted = parts.count is not None and parts.count.batched
        if counted or any(s.trips is not None for s in parts.stacks):
            return self.masked_for(node, parts)
        return self.common_loop(node, parts)

    def common_loop(self, node: Loop, parts: _Parts) -> list[Lane]:
        """A loop with the same iterations for all instances. Which carries are batched is a fixpoint."""
        carried = [a.batched for a in parts.initial]
        while True:
            inner = self.nested()
            flags = parts.flags(node, carried)
            inputs = inner.inputs(node.body.inputs, flags)
            outputs = inner.run(node.body, inputs)
            reached = [a or o.batched for a, o in zip(carried, outputs, strict=False)]
            if reached == carried:
                break
            carried = reached
        condition = node.condition
        if condition is not None:
            test = self.nested()
            n = len(condition.inputs)
            seen = test.inputs(node.body.inputs[:n], flags[:n])
            (verdict,) = test.run(condition, seen)
            if verdict.batched:
                return self.masked_while(node, parts)
            condition = test.finish(seen, [verdict], condition.name)
        ni = len(carried)
        full = [inner.spread(o) if b else o for o, b in zip(outputs, carried, strict=False)] + outputs[ni:]
        initial = [self.spread(a) if b else a for a, b in zip(parts.initial, carried, strict=True)]
        results = self.builder.loop_as(
            node,
            parts.atoms,
            initial=_atoms(initial),
            stacks=[self.by_trip(a) for a in parts.stacks],
            body=inner.finish(inputs, full, node.body.name),
            condition=condition,
        )
        lanes = [Lane(self.value(r), o.batched) for r, o in zip(results, full, strict=True)]
        return [*lanes[:ni], *map(self.from_trips, lanes[ni:], node.lengths)]

    def by_trip(self, lane: Lane) -> Atom:
        """What a loop reads: a stack unchanged, an array with its axis of rows in front of the batch axes."""
        if lane.value.type.is_stack or not lane.batched:
            return lane.value.atom
        rank = self.lanes.rank
        axes = (rank, *range(rank), *range(rank + 1, lane.value.ndim))
        return self.traced(permute_dims(lane.value, axes)).atom

    def from_trips(self, lane: Lane, length: int | None) -> Lane:
        """What a loop has written: a stack unchanged, an array with the batch axes in front."""
        if length is None or not lane.batched:
            return lane
        rank = self.lanes.rank
        axes = (*range(1, rank + 1), 0, *range(rank + 1, lane.value.ndim))
        return Lane(self.traced(permute_dims(lane.value, axes)), True)

    def masked_while(self, node: Loop, parts: _Parts) -> list[Lane]:
        """A while loop until all instances are done. The first carry says which are live."""
        assert node.condition is not None, "the caller has found that it is batched"
        nc, ni = len(parts.constants), len(parts.initial)
        initial = [self.spread(a) for a in parts.initial]
        if node.form == "while":
            (live,) = self.run(node.condition, [*parts.constants, *initial])
        else:
            live = Lane(self.value(constant(True)), False)
        inner, flags = self.nested(), parts.flags(node, [True] * ni)
        inputs = inner.inputs(node.body.inputs, flags)
        mask = inner.input(Type("bool"), "live", True)
        after, written = inner.trip(node, parts, mask.value, inputs)
        (goes_on,) = inner.run(node.condition, [*inputs[:nc], *after])
        live_after = Lane(apply("logical_and", mask.value, inner.spread(goes_on).value), True)
        places = [*inputs[:nc], mask, *inputs[nc:]]
        test = self.nested()
        seen = test.inputs(node.body.inputs, flags)
        tested = test.input(Type("bool"), "live", True)
        anyone = Lane(test.any(tested.value), False)
        results = self.builder.loop(
            "while",
            constants=_atoms(parts.constants),
            initial=_atoms([self.spread(live), *initial]),
            body=inner.finish(places, [live_after, *after, *written, mask], node.body.name),
            condition=test.finish([*seen[:nc], tested, *seen[nc:]], [anyone], node.condition.name),
            checkpoint=node.checkpoint,
        )
        return self._masked_results([self.value(r) for r in results[1:]], ni, written)

    def masked_for(self, node: Loop, parts: _Parts) -> list[Lane]:
        """A counted loop, or one over stacks, with a trip count per instance."""
        nc, ni = len(parts.constants), len(parts.initial)
        inner = self.nested()
        inputs = inner.inputs(node.body.inputs, parts.flags(node, [True] * ni))
        constants, stacks, extra_written, count = [*parts.constants], [*parts.stacks], [], None
        trips = next((s.trips for s in parts.stacks if s.trips is not None), None)
        if trips is not None:
            mask = inner.input(Type("bool"), "live", True)
            stacks.append(Lane(trips, True))
            places = [*inputs[:-1], mask, inputs[-1]]
        else:
            assert parts.count is not None, "the caller has found that it is batched"
            count = self.greatest(parts.count.value)
            counts = inner.input(INT, "counts", True)
            constants.append(parts.count)
            places = [*inputs[:nc], counts, *inputs[nc:]]
            mask = Lane(inner.traced(counts.value > inputs[-1].value), True)
            extra_written.append(mask)
        after, written = inner.trip(node, parts, mask.value, inputs)
        results = self.builder.loop_as(
            node,
            parts.atoms,
            constants=_atoms(constants),
            initial=_atoms([self.spread(a) for a in parts.initial]),
            stacks=[self.by_trip(a) for a in stacks],
            body=inner.finish(places, [*after, *written, *extra_written], node.body.name),
            count=None if count is None else count.atom,
            lengths=(),
        )
        values = [self.value(r) for r in results]
        return self._masked_results(values if trips is None else [*values, trips], ni, written)

    def trip(
        self, node: Loop, parts: _Parts, live: Value, inputs: Sequence[Lane]
    ) -> tuple[list[Lane], list[Lane]]:
        """One iteration of the live instances: all carries after it, and what is written to stacks."""
        outputs = self.run(node.body, self.guard(live, inputs))
        pairs = zip(outputs, node.split(inputs)[1], strict=False)
        new = [Lane(self.select(live, self.spread(o).value, old.value), True) for o, old in pairs]
        return new, outputs[len(new) :]

    def greatest(self, counts: Value) -> Value:
        """The largest of a batch of counts, at least 0."""
        inner = self.nested()
        flat = inner.builder.input(Type("int", (self.lanes.count,)), "counts")
        best, index = inner.builder.input(INT, "n"), inner.builder.input(INT, "k")
        larger = maximum(inner.value(best), inner.value(flat)[inner.value(index)])
        (result,) = self.builder.loop(
            "for",
            constants=[self.traced(reshape(counts, (self.lanes.count,))).atom],
            initial=[constant(0)],
            body=inner.builder.finish([flat, best, index], [larger.atom], "greatest"),
            count=constant(self.lanes.count),
        )
        return self.value(result)

    def _masked_results(self, values: Sequence[Value], carries: int, written: Sequence[Lane]) -> list[Lane]:
        """The outputs of a masked loop; the last of `values` is the stack of who took which iteration."""
        *results, trips = values
        out = [Lane(v, True) for v in results[:carries]]
        return out + [Lane(v, w.batched, trips) for v, w in zip(results[carries:], written, strict=True)]


@dataclass(frozen=True, slots=True)
class _Parts:
    """The arguments of a loop."""

    constants: Sequence[Lane]
    initial: Sequence[Lane]
    stacks: Sequence[Lane]
    count: Lane | None
    atoms: Sequence[Atom]

    @classmethod
    def of(cls, node: Loop, args: Sequence[Lane]) -> _Parts:
        constants, initial, stacks, count = node.split(args)
        return cls(constants, initial, stacks, count[0] if count else None, _atoms(args))

    def flags(self, node: Loop, carried: Sequence[bool]) -> list[bool]:
        """Which inputs of the body are batched."""
        counter = [False] if node.form == "for" else []
        return [*(a.batched for a in self.constants), *carried, *(a.batched for a in self.stacks), *counter]


def _atoms(lanes: Sequence[Lane]) -> list[Atom]:
    return [a.value.atom for a in lanes]
