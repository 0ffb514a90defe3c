"""The functional form of a program as JAX source: the oracle runs the same text that a reproducer shows.

    style         known trip count    counted at run time            ended by a condition
    "scan"        lax.scan            lax.scan over a bound on the trip count, each trip under lax.cond
    "fori_loop"   lax.fori_loop       lax.fori_loop                  lax.while_loop
    "while_loop"  lax.while_loop      lax.while_loop                 lax.while_loop

`trips` finds the known trip counts. A `lax.while_loop` ended by a condition counts its iterations and stops
at the trip limit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, get_args

from gradfuzz.errors import NotDifferentiableError
from gradfuzz.oracles.emit.graph import FunctionScope, GraphWriter
from gradfuzz.oracles.jax.emit import JaxEmitter
from gradfuzz.programs.evaluation.interpret import TRIP_LIMIT
from gradfuzz.programs.graphs.graph import Atom, Branch, Graph, Loop, Var
from gradfuzz.programs.language.precision import Precision

Style = Literal["scan", "fori_loop", "while_loop"]
STYLES: tuple[Style, ...] = get_args(Style)

_WIDTH = 72
"""A shorter side of a branch is a lambda."""


def loop_source(
    graph: Graph, precision: Precision, style: Style, trips: Mapping[Loop, int], bound: int
) -> str:
    """`graph` as a function `f` that returns the output, or a tuple of several.

    `trips` are the known trip counts; `bound` is the most iterations of the other loops, which only "scan"
    reads.
    """
    return _JaxLoops(precision, style, trips, bound).function(graph, "f")


def _packed(texts: Sequence[str]) -> str:
    """Several values as one: a tuple, or the value itself where there is only one."""
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"


class _JaxLoops(GraphWriter):
    def __init__(self, precision: Precision, style: Style, trips: Mapping[Loop, int], bound: int) -> None:
        emitter = JaxEmitter(precision)
        super().__init__(emitter)
        self.strong = emitter.strong
        self.style = style
        self.trips = trips
        self.bound = bound

    def strong_texts(self, scope: FunctionScope, atoms: Sequence[Atom]) -> list[str]:
        return [self.strong(self.piece(scope, a)).text for a in atoms]

    def outputs(self, scope: FunctionScope, graph: Graph) -> list[str]:
        """Adds the graph's statements to `scope` and returns its outputs."""
        self.nodes(scope, graph)
        return self.strong_texts(scope, graph.outputs)

    def known(self, scope: FunctionScope, loop: Loop, graph: Graph) -> FunctionScope:
        """The inside of a function for the loop's body or condition, where the loop's constants are known."""
        return self.inner(scope, graph.inputs[: len(loop.constants)], loop.constants)

    def unpacked(self, inner: FunctionScope, names: Sequence[str]) -> str:
        """The one parameter that contains `names`."""
        if len(names) == 1:
            return names[0]
        state = inner.name("carry")
        inner.add(f"{', '.join(names)} = {state}")
        return state

    def initial(self, scope: FunctionScope, loop: Loop) -> list[str]:
        return self.strong_texts(scope, loop.initial)

    def targets(self, scope: FunctionScope, loop: Loop) -> list[str]:
        return [self.new(scope, v) for v in loop.carries]

    def count(self, scope: FunctionScope, loop: Loop) -> str:
        """The loop's trip count as a number or a name."""
        if loop in self.trips:
            return str(self.trips[loop])
        assert loop.count is not None, "a counted loop has a count"
        text = self.piece(scope, loop.count).text
        if text.isidentifier() or text.isdecimal():
            return text
        name = scope.name("count")
        scope.add(f"{name} = {text}")
        return name

    # Branches -----------------------------------------------------------------------------------------------

    def branch(self, scope: FunctionScope, node: Branch) -> None:
        if not node.outputs:
            return
        sides = ("then", node.then), ("otherwise", node.otherwise)
        ways = [self.way(scope, node, graph, hint) for hint, graph in sides]
        predicate = self.piece(scope, node.predicate).text
        targets = [self.new(scope, v) for v in node.outputs]
        scope.add(f"{', '.join(targets)} = lax.cond({predicate}, {', '.join(ways)})")

    def way(self, scope: FunctionScope, branch: Branch, graph: Graph, hint: str) -> str:
        """One side of a branch, as a function without arguments."""
        inner = self.inner(scope, graph.inputs, branch.operands)
        result = _packed(self.outputs(inner, graph))
        if not inner.lines and len(result) <= _WIDTH:
            return f"lambda: {result}"
        return self.define(scope, hint, [], inner, result)

    # Loops --------------------------------------------------------------------------------------------------

    def loop(self, scope: FunctionScope, node: Loop) -> None:
        if node.stacks or node.written or node.reverse:
            raise NotDifferentiableError(
                "a loop over stacks is a derivative already; JAX is asked to differentiate, not to run one"
            )
        if not node.carries:
            return
        trips = self.trips.get(node)
        if self.style == "scan" and trips is not None:
            self.scan(scope, node, trips)
        elif self.style == "scan":
            self.bounded_scan(scope, node)
        elif self.style == "fori_loop" and (trips is not None or node.form == "for"):
            self.fori_loop(scope, node)
        else:
            self.while_loop(scope, node)

    def scan(self, scope: FunctionScope, loop: Loop, trips: int) -> None:
        """A scan of known length."""
        initial = _packed(self.initial(scope, loop))
        body = self.body(scope, loop, "{carries}, {index}", "{carries}, None")
        over = f"jnp.arange({trips})" if _reads_index(loop) else f"None, length={trips}"
        scope.add(f"{_packed(self.targets(scope, loop))}, _ = lax.scan({body}, {initial}, {over})")

    def bounded_scan(self, scope: FunctionScope, loop: Loop) -> None:
        """A scan over the loop's largest trip count at these points; surplus iterations change nothing."""
        initial = self.initial(scope, loop)
        over, params, first = f"None, length={self.bound}", ["carry", "_"], list[str]()
        if loop.form == "for":
            count = self.count(scope, loop)
            body = self.body(scope, loop, "{carries}, {index}")
            step = f"lax.cond(k < {count}, {body}, lambda carry, k: carry, carry, k)"
            over, params = f"jnp.arange({self.bound})", ["carry", "k"]
        elif loop.form == "while":
            again = self.again(scope, loop)
            step = f"lax.cond({again}(carry), {self.body(scope, loop)}, lambda carry: carry, carry)"
        else:
            step = f"lax.cond(carry[0], {self.body_and_condition(scope, loop)}, lambda carry: carry, carry)"
            initial, first = ["True", *initial], ["_"]
        name = self.define(scope, "step", params, self.inner(scope, (), ()), f"{step}, None")
        targets = _packed([*first, *self.targets(scope, loop)])
        scope.add(f"{targets}, _ = lax.scan({name}, {_packed(initial)}, {over})")

    def fori_loop(self, scope: FunctionScope, loop: Loop) -> None:
        initial = _packed(self.initial(scope, loop))
        count = self.count(scope, loop)
        body = self.body(scope, loop, "{index}, {carries}")
        scope.add(f"{', '.join(self.targets(scope, loop))} = lax.fori_loop(0, {count}, {body}, {initial})")

    def while_loop(self, scope: FunctionScope, loop: Loop) -> None:
        """A loop that may not end is stopped at the trip limit."""
        trips = () if loop in self.trips else ("trips",)
        first, start = ["_"] * len(trips), ["np.int64(0)"] * len(trips)
        initial = self.initial(scope, loop)
        if loop.form == "for":
            first, start = ["_"], ["np.int64(0)"]
            again = f"lambda carry: carry[0] < {self.count(scope, loop)}"
            body = self.counted_body(scope, loop)
        elif loop.form == "repeat":
            first, start = ["_", *first], ["True", *start]
            again, body = "lambda carry: carry[0]", self.body_and_condition(scope, loop, trips)
        elif trips:
            again, body = self.again(scope, loop, trips), self.counted_body(scope, loop)
        else:
            again, body = self.again(scope, loop), self.body(scope, loop)
        targets = ", ".join([*first, *self.targets(scope, loop)])
        scope.add(f"{targets} = lax.while_loop({again}, {body}, {_packed([*start, *initial])})")

    # Bodies and conditions ----------------------------------------------------------------------------------

    def body(
        self, scope: FunctionScope, loop: Loop, params: str = "{carries}", result: str = "{carries}"
    ) -> str:
        """Adds one iteration as a function of the carries; `params` may contain "{carries}" and "{index}"."""
        inner = self.known(scope, loop, loop.body)
        carries = [self.new(inner, v) for v in _carried(loop, loop.body)]
        index = self.new(inner, loop.body.inputs[-1]) if _reads_index(loop) else "_"
        params = params.format(carries=self.unpacked(inner, carries), index=index)
        outputs = self.outputs(inner, loop.body)
        return self.define(scope, "body", [params], inner, result.format(carries=_packed(outputs)))

    def counted_body(self, scope: FunctionScope, loop: Loop) -> str:
        """Adds one iteration as a function of (trip count, carries)."""
        inner = self.known(scope, loop, loop.body)
        index = self.new(inner, loop.body.inputs[-1]) if loop.form == "for" else inner.name("trips")
        state = self.unpacked(inner, [index, *(self.new(inner, v) for v in _carried(loop, loop.body))])
        outputs = self.outputs(inner, loop.body)
        return self.define(scope, "body", [state], inner, _packed([f"{index} + 1", *outputs]))

    def again(self, scope: FunctionScope, loop: Loop, trips: Sequence[str] = ()) -> str:
        """Adds the condition as a function of (trip count if `trips` has a name for it, carries)."""
        assert loop.condition is not None, f"a {loop.form} loop has a condition"
        inner = self.known(scope, loop, loop.condition)
        extra = [inner.name(n) for n in trips]
        state = self.unpacked(inner, [*extra, *(self.new(inner, v) for v in _carried(loop, loop.condition))])
        (condition,) = self.outputs(inner, loop.condition)
        if extra:
            condition = f"jnp.logical_and({extra[0]} < {TRIP_LIMIT}, {condition})"
        return self.define(scope, "again", [state], inner, condition)

    def body_and_condition(self, scope: FunctionScope, loop: Loop, trips: Sequence[str] = ()) -> str:
        """Adds an iteration of a body-first loop as a function of (again, trip count if `trips`, carries)."""
        assert loop.condition is not None, "a body-first loop has a condition"
        inner = self.known(scope, loop, loop.body)
        extra = [inner.name(n) for n in trips]
        state = self.unpacked(inner, ["_", *extra, *(self.new(inner, v) for v in _carried(loop, loop.body))])
        outputs = self.outputs(inner, loop.body)
        carries = self.named(inner, loop, outputs)
        (again,) = self.outputs(inner, loop.condition)
        if extra:
            again = f"jnp.logical_and({extra[0]} < {TRIP_LIMIT - 1}, {again})"
        results = [again, *(f"{n} + 1" for n in extra), *carries]
        return self.define(scope, "body", [state], inner, _packed(results))


def _carried(loop: Loop, graph: Graph) -> Sequence[Var]:
    """The inputs of the body or the condition that are carries."""
    start = len(loop.constants)
    return graph.inputs[start : start + len(loop.initial)]


def _reads_index(loop: Loop) -> bool:
    """Whether the body reads the iteration's index."""
    if loop.form != "for":
        return False
    index = loop.body.inputs[-1]
    return index in loop.body.outputs or any(index in node.inputs for node in loop.body.nodes)
