"""From statements to the functional form: names become values, loops and branches become equations.

`break` and `continue` become bools: `run` says that the loop goes on, `live` that this trip does. What
follows a branch that may leave the trip is put under `live`. Everything else keeps its shape, so that a loop
of the program is a loop of the graph.
"""

from __future__ import annotations

from collections.abc import Callable

from gradfuzz.programs.graphs.builder import GraphBuilder, constant
from gradfuzz.programs.graphs.graph import TEMPORARY, Atom, Constant, Graph, LoopForm, Var
from gradfuzz.programs.language import syntax
from gradfuzz.programs.language.program import Program, walk
from gradfuzz.programs.language.recent import Recent
from gradfuzz.programs.language.typecheck import typecheck
from gradfuzz.programs.language.types import INT, Type

_RUN, LIVE, _COUNTER = "run?", "live?", "trip?"
"""Names that no program can have."""

_FORMS: dict[type, LoopForm] = {syntax.While: "while", syntax.Repeat: "repeat", syntax.For: "for"}
Environment = dict[str, Atom]


def lower(program: Program) -> Graph:
    """The functional form of `program`: one input per parameter, one output per returned value, in order.

    Raises `ProgramTypeError` where the program does not type-check.
    """
    return _recent.get(program)


def _lowered(program: Program) -> Graph:
    typed = typecheck(program)
    builder = GraphBuilder()
    environment: Environment = {p.name: builder.input(p.type, p.name) for p in program.params}
    inputs = [a for a in environment.values() if isinstance(a, Var)]
    lowering = _Lowering(typed.variables)
    lowering.block(program.body[:-1], builder, environment)
    outputs = [lowering.expression(e, builder, environment) for e in program.result.values]
    return builder.finish(inputs, outputs, program.name)


_recent = Recent(_lowered, 1024)


def _leaves(body: syntax.Block, kinds: type | tuple[type, ...]) -> bool:
    """Whether `body` has a break or continue (as `kinds` says) of the loop it stands in."""
    return any(isinstance(stmt, kinds) for stmt in syntax.own_statements(body))


def _assigned(body: syntax.Block) -> dict[str, None]:
    """The names assigned in `body`, in the order of the text."""
    return dict.fromkeys(node.target for node in walk(body) if isinstance(node, syntax.Assign))


class _Lowering:
    def __init__(self, types: dict[str, Type]) -> None:
        self.types = types

    # Expressions --------------------------------------------------------------------------------------------

    def expression(
        self, expr: syntax.Expr, builder: GraphBuilder, environment: Environment, name: str = TEMPORARY
    ) -> Atom:
        if isinstance(expr, syntax.Name):
            return environment[expr.id]
        if isinstance(expr, (syntax.Const, syntax.ArrayConst)):
            return Constant(expr)
        atoms = [self.expression(a, builder, environment) for a in expr.args]
        return builder.emit_as(name, expr.op, *atoms, **dict(expr.params))

    def assign(
        self, target: str, value: syntax.Expr, builder: GraphBuilder, environment: Environment
    ) -> None:
        atom = self.expression(value, builder, environment, target)
        if self.types[target].is_inexact:
            atom = builder.to(atom, self.types[target].dtype)
        environment[target] = atom

    # Statements ---------------------------------------------------------------------------------------------

    def block(self, body: syntax.Block, builder: GraphBuilder, environment: Environment) -> None:
        for k, stmt in enumerate(body):
            self.statement(stmt, builder, environment)
            rest = body[k + 1 :]
            if rest and isinstance(stmt, syntax.If) and _leaves((stmt,), (syntax.Break, syntax.Continue)):
                self.choose(environment[LIVE], rest, (), builder, environment, leaving=True)
                return

    def statement(self, stmt: syntax.Stmt, builder: GraphBuilder, environment: Environment) -> None:
        match stmt:
            case syntax.Assign(target, value):
                self.assign(target, value, builder, environment)
            case syntax.If(condition, body, orelse):
                predicate = self.expression(condition, builder, environment)
                self.choose(predicate, body, orelse, builder, environment)
            case syntax.While() | syntax.Repeat() | syntax.For():
                self.loop(stmt, builder, environment)
            case syntax.Break():
                environment[_RUN] = environment[LIVE] = constant(False)
            case syntax.Continue():
                environment[LIVE] = constant(False)
            case syntax.Return():
                raise AssertionError("the type checker lets return stand only at the end")

    def choose(
        self,
        predicate: Atom,
        body: syntax.Block,
        orelse: syntax.Block,
        builder: GraphBuilder,
        environment: Environment,
        *,
        leaving: bool = False,
    ) -> None:
        """A branch. A name that only one side assigns is known afterwards where it was known before, or a
        side leaves the trip.
        """
        sides = []
        for block in (body, orelse):
            inner, local = GraphBuilder(), dict(environment)
            self.block(block, inner, local)
            sides.append((inner, local))
        leaving = leaving or _leaves((*body, *orelse), (syntax.Break, syntax.Continue))
        names = [n for n in _assigned((*body, *orelse)) if leaving or all(n in local for _, local in sides)]
        names += [n for n in (_RUN, LIVE) if any(local.get(n) != environment.get(n) for _, local in sides)]
        if names:
            then, otherwise = (
                (inner, [local[n] if n in local else inner.zeros(self.types[n]) for n in names])
                for inner, local in sides
            )
            results = builder.join(predicate, then, otherwise, names)
            environment.update(zip(names, results, strict=True))

    def loop(
        self, stmt: syntax.While | syntax.Repeat | syntax.For, builder: GraphBuilder, environment: Environment
    ) -> None:
        breaks = _leaves(stmt.body, syntax.Break)
        before = dict(environment)
        names = [n for n in _assigned(stmt.body) if n in environment or isinstance(stmt, syntax.Repeat)]
        for n in names:
            if n not in before:
                before[n] = builder.zeros(self.types[n])  # made in a body-first loop and known after it
        if breaks:
            names.append(_RUN)
            before[_RUN] = constant(True)
        counted = isinstance(stmt, syntax.For)
        count = self.expression(stmt.count, builder, environment) if isinstance(stmt, syntax.For) else None
        if counted and breaks:
            names.append(_COUNTER)
            before[_COUNTER] = constant(0)

        body, local = GraphBuilder(), dict(before)
        carries = [body.input(before[n].type, n) for n in names]
        local.update(zip(names, carries, strict=True))
        local[LIVE] = constant(True)
        counter = body.input(INT, stmt.target) if isinstance(stmt, syntax.For) and not breaks else None
        if isinstance(stmt, syntax.For):
            local[stmt.target] = local[_COUNTER] if counter is None else counter
        self.block(stmt.body, body, local)
        if counted and breaks:
            local[_COUNTER] = body.emit_as("i", "add", carries[-1], constant(1))
        outputs = [local[n] for n in names]

        condition, seen = GraphBuilder(), dict(before)
        tested = [condition.input(before[n].type, n) for n in names]
        seen.update(zip(names, tested, strict=True))
        test: Callable[[GraphBuilder], Atom]
        if isinstance(stmt, syntax.For):
            assert count is not None
            limit = count
            test = lambda b: b.emit("less", seen[_COUNTER], limit)  # noqa: E731 - three tests, one place that uses them
        else:
            wanted = stmt.condition
            test = lambda b: self.expression(wanted, b, seen)  # noqa: E731
        needs_condition = breaks or not counted
        verdict: Atom = constant(True)
        if breaks:
            inner = GraphBuilder()
            stop = (GraphBuilder(), [constant(False)])
            (verdict,) = condition.join(seen[_RUN], (inner, [test(inner)]), stop, ["go"])
        elif not counted:
            verdict = test(condition)

        results = builder.join_loop(
            "while" if breaks and counted else _FORMS[type(stmt)],
            (body, [*carries, *([counter] if counter else [])], outputs),
            (condition, tested, [verdict]) if needs_condition else None,
            initial=[before[n] for n in names],
            count=None if needs_condition else count,
        )
        for n, result in zip(names, results, strict=True):
            if n not in (_RUN, _COUNTER):
                environment[n] = result
