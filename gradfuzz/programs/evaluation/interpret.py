"""The interpreter: runs a program, or its functional form, in any arithmetic.

`interpret` walks the statements and `evaluate` walks a graph; neither knows the other, so that a mistake in
the lowering from one to the other shows as a disagreement. Both make closures of what they run (see `calls`)
and keep them for the next run.

A trace records what was decided on the way: 0 or 1 for every `if` and, when a loop ends, its trip count
(`TripCount`). A namespace that is given the same list adds what its own selections decide.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradfuzz.errors import TripLimitError
from gradfuzz.programs.arithmetic.namespace import Namespace
from gradfuzz.programs.evaluation.calls import (
    DECIDE,
    LIMIT,
    TRACE,
    Environment,
    Frame,
    Operand,
    Read,
    call,
    convert,
)
from gradfuzz.programs.graphs.graph import Atom, Branch, Equation, Graph, Loop, Var
from gradfuzz.programs.graphs.rematerialize import columns, materialized, replay, trip_by_trip
from gradfuzz.programs.language import syntax
from gradfuzz.programs.language.ops import result_type
from gradfuzz.programs.language.precision import is_float
from gradfuzz.programs.language.program import Program
from gradfuzz.programs.language.recent import Recent
from gradfuzz.programs.language.typecheck import typecheck

TRIP_LIMIT = 10_000
"""The most trips where nothing else is said: more than a generated program needs, and quick to reach."""


class TripCount(int):
    """How many trips a loop took, as it stands in a trace among decisions."""


_NORMAL, _BREAK, _CONTINUE = range(3)
Run = Callable[[Environment], int | None]
"""A statement; what it returns says how it ended (None: normally)."""


def interpret(
    program: Program,
    inputs: Mapping[str, Any],
    namespace: Namespace,
    *,
    trip_limit: int = TRIP_LIMIT,
    trace: list[int] | None = None,
) -> tuple[Any, ...]:
    """The outputs of `program` at `inputs`, computed by `namespace`.

    Float inputs are the namespace's own values, int scalars Python ints, bool scalars Python bools. Decisions
    and trip counts are appended to `trace`.

    Raises `TripLimitError` where one run of a loop takes more than `trip_limit` trips, `DomainError` for an
    index outside its array, and what the namespace raises.
    """
    compiled = _programs.get(program)
    return compiled.run([inputs[p.name] for p in program.params], namespace, trip_limit, trace)


def entered(value: Any) -> Any:
    """An array as an argument: scalar ints and bools are Python's own."""
    return value[()] if np.ndim(value) or is_float(value.dtype) else value.item()


def arguments_of(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The arrays of a point as arguments of `interpret`."""
    return {name: entered(value) for name, value in inputs.items()}


def evaluate(
    graph: Graph, inputs: Sequence[Any], namespace: Namespace, *, trip_limit: int = TRIP_LIMIT
) -> tuple[Any, ...]:
    """The outputs of `graph` at `inputs`, computed by `namespace`. A stack is a Python list with one entry
    per trip.
    """
    return _graphs.get(graph).run(inputs, namespace, trip_limit, None)


@dataclass(frozen=True, slots=True)
class _Function:
    """A program or a graph inside an environment: where it wants its inputs, how it runs, how its outputs are
    read.
    """

    inputs: Sequence[int]
    run: Run
    outputs: Sequence[Read]

    def call(self, environment: Environment, arguments: Sequence[Any]) -> list[Any]:
        for place, value in zip(self.inputs, arguments, strict=True):
            environment[place] = value
        self.run(environment)
        return [read(environment) for read in self.outputs]


@dataclass(frozen=True, slots=True)
class _Compiled:
    """Closures, and the layout of the environment they run in."""

    frame: Frame
    function: _Function

    def run(
        self, inputs: Sequence[Any], namespace: Namespace, trip_limit: int, trace: list[int] | None
    ) -> tuple[Any, ...]:
        with namespace.context() if hasattr(namespace, "context") else contextlib.nullcontext():
            environment = self.frame.bind(namespace)
            environment[TRACE] = [] if trace is None else trace
            environment[LIMIT] = trip_limit
            return tuple(map(materialized, self.function.call(environment, inputs)))


# Statements -------------------------------------------------------------------------------------------------


class _Statements:
    """Makes closures of a program's statements."""

    def __init__(self, program: Program) -> None:
        self.frame = Frame()
        self._types = typecheck(program).variables
        self._places: dict[str, int] = {}

    def function(self, program: Program) -> _Function:
        inputs = [self._place(p.name) for p in program.params]
        run = self.block(program.body[:-1])
        return _Function(inputs, run, [self.expression(e).read for e in program.result.values])

    def _place(self, name: str) -> int:
        if name not in self._places:
            self._places[name] = self.frame.place()
        return self._places[name]

    def _store(self, name: str, value: Operand) -> Run:
        read = convert(self.frame, value, self._types[name].dtype).read
        return _store(self._place(name), read)

    def expression(self, expr: syntax.Expr) -> Operand:
        if isinstance(expr, syntax.Name):
            return Operand.at(self._places[expr.id], self._types[expr.id])
        if isinstance(expr, (syntax.Const, syntax.ArrayConst)):
            return Operand.of(self.frame, expr)
        assert isinstance(expr, syntax.Call)
        operands, params = [self.expression(a) for a in expr.args], dict(expr.params)
        result = result_type(expr.op, tuple(o.type for o in operands), params)
        return call(self.frame, expr.op, operands, params, result)

    def block(self, block: syntax.Block) -> Run:
        return _sequence([self.statement(s) for s in block])

    def statement(self, statement: syntax.Stmt) -> Run:
        match statement:
            case syntax.Assign(target, value):
                return self._store(target, self.expression(value))
            case syntax.While(condition, body, line):
                trips = functools.partial(_while, self.expression(condition).read)
                return _looped(trips, self.block(body), line)
            case syntax.Repeat(body, condition, line):
                run = self.block(body)
                return _looped(functools.partial(_repeat, self.expression(condition).read), run, line)
            case syntax.For(counter, bound, body, line):
                count = self.expression(bound).read
                place = self._place(counter)
                return _looped(functools.partial(_for, place, count), self.block(body), line)
            case syntax.If(condition, body, orelse):
                return _if(self.expression(condition).read, self.block(body), self.block(orelse))
            case syntax.Break():
                return lambda _: _BREAK
            case syntax.Continue():
                return lambda _: _CONTINUE
        raise AssertionError(f"{statement} inside a block; the parser lets `return` stand last only")


def _store(target: int, read: Read) -> Run:
    def run(environment: Environment) -> None:
        environment[target] = read(environment)

    return run


def _sequence(run: Sequence[Run]) -> Run:
    if len(run) == 1:
        return run[0]
    if len(run) == 2:
        first, second = run
        return lambda environment: first(environment) or second(environment)

    def sequence(environment: Environment) -> int | None:
        for statement in run:
            ended = statement(environment)
            if ended:
                return ended
        return None

    return sequence


def _if(condition: Read, body: Run, orelse: Run) -> Run:
    def run(environment: Environment) -> int | None:
        if _holds(condition, environment):
            environment[TRACE].append(1)
            return body(environment)
        environment[TRACE].append(0)
        return orelse(environment)

    return run


def _holds(condition: Read, environment: Environment) -> bool:
    value = condition(environment)
    if value is True or value is False:
        return value
    decided: bool = environment[DECIDE](value)
    return decided


Trips = Callable[[Environment], Iterator[None]]
"""The trips of a loop: each is asked for when the one before has ended."""


def _looped(trips: Trips, body: Run, line: int) -> Run:
    def run(environment: Environment) -> None:
        count, limit = 0, environment[LIMIT]
        for _ in trips(environment):
            if count == limit:
                raise _too_long(limit, line)
            count += 1
            if body(environment) == _BREAK:
                break
        environment[TRACE].append(TripCount(count))

    return run


def _while(condition: Read, environment: Environment) -> Iterator[None]:
    while _holds(condition, environment):
        yield


def _repeat(condition: Read, environment: Environment) -> Iterator[None]:
    yield
    yield from _while(condition, environment)


def _for(target: int, count: Read, environment: Environment) -> Iterator[None]:
    for index in range(count(environment)):
        environment[target] = index
        yield


def _too_long(limit: int, line: int = 0) -> TripLimitError:
    return TripLimitError(
        f"a loop is still running after {limit} trips, the trip limit; it may never end at these inputs: "
        "choose others, or raise the limit",
        line=line,
    )


# The functional form ----------------------------------------------------------------------------------------


class _Equations:
    """Makes closures of a graph and of the graphs inside it. Values have places of their own, and no graph is
    inside itself.
    """

    def __init__(self) -> None:
        self.frame = Frame()
        self._places: dict[Var, int] = {}

    def function(self, graph: Graph) -> _Function:
        inputs = [self._place(v) for v in graph.inputs]
        run = _sequence([self._node(n) for n in graph.nodes])
        return _Function(inputs, run, [self._operand(a).read for a in graph.outputs])

    def _place(self, var: Var) -> int:
        if var not in self._places:
            self._places[var] = self.frame.place()
        return self._places[var]

    def _operand(self, atom: Atom) -> Operand:
        if isinstance(atom, Var):
            return Operand.at(self._places[atom], atom.type)
        return Operand.of(self.frame, atom.value)

    def _node(self, node: Equation | Loop | Branch) -> Run:
        match node:
            case Equation(op, inputs, params, output):
                operands = [self._operand(a) for a in inputs]
                result = call(self.frame, op, operands, dict(params), output.type)
                return _store(self._place(output), result.read)
            case Loop():
                return self._loop(node)
            case Branch():
                return self._branch(node)

    def _reads(self, atoms: Sequence[Atom]) -> list[Read]:
        return [self._operand(a).read for a in atoms]

    def _entries(self, stack: Var) -> Read:
        """What a loop reads entry by entry. Those of an array of ints or bools are Python's own."""
        read = self._operand(stack).read
        if stack.type.is_stack or stack.type.is_float or len(stack.type.shape) > 1:
            return read
        return lambda environment: read(environment).tolist()

    def _branch(self, node: Branch) -> Run:
        predicate, operands = self._operand(node.predicate).read, self._reads(node.operands)
        then, otherwise = self.function(node.then), self.function(node.otherwise)
        targets = [self._place(v) for v in node.outputs]

        def run(environment: Environment) -> None:
            chosen = then if _holds(predicate, environment) else otherwise
            results = chosen.call(environment, [r(environment) for r in operands])
            for place, value in zip(targets, results, strict=True):
                environment[place] = value

        return run

    def _loop(self, node: Loop) -> Run:
        constants, initial = self._reads(node.constants), self._reads(node.initial)
        stacks = [self._entries(s) for s in node.stacks]
        arrays = [k for k, n in enumerate(node.lengths, len(node.initial)) if n is not None]
        joined = self.frame.method("stack", {"axis": 0}) if arrays else 0
        count = None if node.count is None else self._operand(node.count).read
        body = self.function(node.body)
        condition = None if node.condition is None else self.function(node.condition)
        targets = [self._place(v) for v in node.outputs]
        carried, counted = len(initial), node.form == "for"
        replayed = node.checkpoint != "none" and len(targets) > carried

        def goes_on(environment: Environment, shared: Sequence[Any], carries: Sequence[Any]) -> bool:
            assert condition is not None, f"a {node.form} loop has a condition"
            (value,) = condition.call(environment, [*shared, *carries])
            return _holds(lambda _: value, environment)

        def finish(environment: Environment, values: Sequence[Any]) -> None:
            for place, value in zip(targets, values, strict=True):
                environment[place] = value
            for k in arrays:
                environment[targets[k]] = environment[joined](*environment[targets[k]])

        def run_replayed(environment: Environment) -> None:
            shared, own = [r(environment) for r in constants], environment.copy()
            trips = trip_by_trip(
                lambda *arguments: body.call(own, [*shared, *arguments]),
                None if condition is None else lambda carries: goes_on(own, shared, carries),
                carried,
                len(targets) - carried,
            )
            final, written = replay(
                node.form,
                node.checkpoint,
                trips,
                tuple([r(environment) for r in initial]),
                stacks=[r(environment) for r in stacks],
                count=None if count is None else count(environment),
                reverse=node.reverse,
                written=len(targets) - carried,
                trip_limit=environment[LIMIT],
            )
            finish(environment, [*final, *written])

        def run(environment: Environment) -> None:
            shared = [r(environment) for r in constants]
            carries = [r(environment) for r in initial]
            read = [r(environment) for r in stacks]
            written: list[list[Any]] = [[] for _ in range(len(targets) - carried)]
            limit = environment[LIMIT]

            def trip(index: int, *entries: Any) -> None:
                results = body.call(environment, [*shared, *carries, *entries, *([index] if counted else [])])
                carries[:] = results[:carried]
                for stack, entry in zip(written, results[carried:], strict=True):
                    stack.append(entry)

            if counted:
                trips = len(read[0]) if count is None else max(0, count(environment))
                if trips > limit:
                    raise _too_long(limit)
                indices = range(trips)[::-1] if node.reverse else range(trips)
                for at in zip(indices, *columns(read, indices), strict=False):
                    trip(*at)
            else:
                trips = 0
                while (node.form == "repeat" and trips == 0) or goes_on(environment, shared, carries):
                    if trips == limit:
                        raise _too_long(limit)
                    trip(trips)
                    trips += 1
            if node.reverse:
                for stack in written:
                    stack.reverse()
            finish(environment, [*carries, *written])

        return run_replayed if replayed else run


def _compile_program(program: Program) -> _Compiled:
    statements = _Statements(program)
    return _Compiled(statements.frame, statements.function(program))


def _compile_graph(graph: Graph) -> _Compiled:
    equations = _Equations()
    return _Compiled(equations.frame, equations.function(graph))


_programs = Recent(_compile_program, 1024)
_graphs = Recent(_compile_graph, 1024)
