"""Trip counts that are known before a program runs.

`lax.scan` needs its length. A trip count is known where it depends only on int and bool constants:
`range(3)`, but also `i = 0` before, `while i < 3:` and `i = i + 1` inside. It is found by running the int
part of the graph.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence

from gradfuzz.errors import DomainError, TripLimitError
from gradfuzz.programs.arithmetic.numpy_namespace import NumpyNamespace
from gradfuzz.programs.evaluation.interpret import TRIP_LIMIT
from gradfuzz.programs.graphs.graph import Atom, Branch, Equation, Graph, Loop, Var
from gradfuzz.programs.language.syntax import Const

_Value = int | None
"""An int or bool scalar; None: unknown."""

_NAMESPACE = NumpyNamespace()


def known_trips(graph: Graph) -> dict[Loop, int]:
    """The trip count of every loop that has the same known count whenever it is reached.

    Raises `TripLimitError` where such a count exceeds the trip limit.
    """
    counts = _Counts()
    counts.graph(graph, [None] * len(graph.inputs))
    return {loop: trips for loop, trips in counts.trips.items() if trips is not None}


class _Counts:
    """Runs graphs on the known inputs."""

    def __init__(self) -> None:
        self.trips: dict[Loop, int | None] = {}

    def graph(self, graph: Graph, inputs: Sequence[_Value]) -> list[_Value]:
        values: dict[Var, int] = {}

        def known(atoms: Sequence[Atom]) -> list[_Value]:
            return [_constant(a) if not isinstance(a, Var) else values.get(a) for a in atoms]

        def learn(variables: Sequence[Var], results: Sequence[_Value]) -> None:
            values.update({v: r for v, r in zip(variables, results, strict=True) if r is not None})

        learn(graph.inputs, inputs)
        for node in graph.nodes:
            match node:
                case Equation(op, atoms, params, output):
                    if output.type.is_float or output.type.shape:
                        continue
                    learn([output], [_operate(op, known(atoms), dict(params))])
                case Branch(predicate, operands, then, otherwise, outputs):
                    learn(outputs, self.branch(known([predicate])[0], known(operands), then, otherwise))
                case Loop():
                    count = None if node.count is None else known([node.count])[0]
                    learn(node.carries, self.loop(node, known(node.constants), known(node.initial), count))
        return known(graph.outputs)

    def branch(
        self, predicate: _Value, operands: Sequence[_Value], then: Graph, otherwise: Graph
    ) -> list[_Value]:
        if predicate is not None:
            return self.graph(then if predicate else otherwise, operands)
        ways = zip(self.graph(then, operands), self.graph(otherwise, operands), strict=True)
        return [a if a == b else None for a, b in ways]

    def loop(
        self, loop: Loop, constants: Sequence[_Value], carries: Sequence[_Value], count: _Value
    ) -> list[_Value]:
        trips = 0
        while True:
            goes_on: _Value
            if loop.form == "for":
                goes_on = None if count is None else trips < count
            elif loop.form == "repeat" and trips == 0:
                goes_on = True
            else:
                assert loop.condition is not None, f"a {loop.form} loop has a condition"
                (goes_on,) = self.graph(loop.condition, [*constants, *carries])
            if goes_on is None:
                return self.unknown(loop, constants)
            if not goes_on:
                break
            if trips == TRIP_LIMIT:
                words = f"after {TRIP_LIMIT} trips, the trip limit; choose a smaller count"
                raise TripLimitError(f"a loop is still running {words}")
            carries = self.trip(loop, constants, carries, trips)
            trips += 1
        self.trips[loop] = trips if self.trips.get(loop, trips) == trips else None
        return list(carries)

    def unknown(self, loop: Loop, constants: Sequence[_Value]) -> list[_Value]:
        """A loop with an unknown trip count: its body runs once, with unknown carries."""
        self.trips[loop] = None
        nothing: list[_Value] = [None] * len(loop.initial)
        self.trip(loop, constants, nothing, None)
        return nothing

    def trip(
        self, loop: Loop, constants: Sequence[_Value], carries: Sequence[_Value], index: _Value
    ) -> list[_Value]:
        stacks: list[_Value] = [None] * len(loop.stacks)
        own = [index] if loop.form == "for" else []
        return self.graph(loop.body, [*constants, *carries, *stacks, *own])[: len(loop.initial)]


def _constant(atom: Atom) -> _Value:
    value = None if isinstance(atom, Var) else atom.value
    return int(value.number) if isinstance(value, Const) and value.dtype in ("int", "bool") else None


def _operate(op: str, inputs: Sequence[_Value], params: Mapping[str, object]) -> _Value:
    if any(value is None for value in inputs) or not hasattr(_NAMESPACE, op):
        return None
    with _NAMESPACE.context(), contextlib.suppress(DomainError):
        return int(getattr(_NAMESPACE, op)(*inputs, **params))
    return None
