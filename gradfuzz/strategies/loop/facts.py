"""Facts read off a program without running it: its loops, their carries, and where its parameters go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from gradfuzz.programs import (
    Assign,
    Block,
    Break,
    Call,
    Const,
    Continue,
    Expr,
    For,
    If,
    Name,
    Program,
    Repeat,
    Stmt,
    While,
    typecheck,
    walk,
)
from gradfuzz.programs.language.program import names_in
from gradfuzz.programs.language.syntax import Node, own_statements
from gradfuzz.programs.language.types import Type

LoopStmt = For | While | Repeat


def names(*nodes: Expr | Stmt | Block) -> set[str]:
    """The names that are read."""
    return set().union(*map(names_in, nodes))


def _conjuncts(condition: Expr) -> Iterator[Expr]:
    if isinstance(condition, Call) and condition.op == "logical_and":
        for part in condition.args:
            yield from _conjuncts(part)
    else:
        yield condition


def _exits(block: Block) -> Iterator[If]:
    """The branches that leave the loop with this body, not those that leave an inner loop."""
    for stmt in own_statements(block):
        if isinstance(stmt, If) and any(isinstance(s, Break) for s in (*stmt.body, *stmt.orelse)):
            yield stmt


_LINEAR = {"add", "subtract", "negative", "sum", "mean"} | {"index", "stack", "concat", "cumulative_sum"}


def reads_carry_nonlinearly(expr: Expr, carry: str) -> bool:
    """Whether the derivative of `expr` by `carry` depends on `carry`, judged by the expression's form."""
    if not isinstance(expr, Call):
        return False
    inside = [carry in names(a) for a in expr.args]
    if not any(inside):
        return False
    if expr.op in _LINEAR:
        return any(reads_carry_nonlinearly(a, carry) for a in expr.args)
    if expr.op in ("multiply", "matmul"):
        return all(inside) or any(reads_carry_nonlinearly(a, carry) for a in expr.args)
    if expr.op == "divide":
        return inside[1] or reads_carry_nonlinearly(expr.args[0], carry)
    return True


@dataclass(slots=True)
class LoopFacts:
    """A loop. `carries` are the float names that the body assigns and that had a value before, `temporaries`
    the others.

    `count` is the bound on the trips: a constant, or the name of an int. `initial` holds the last expression
    assigned to each carry before the loop. `before` are the names assigned by then, `earlier` and `after` the
    names read before and after the loop. `nodes` are the nodes of the body, and `read` counts the names it
    reads.
    """

    stmt: LoopStmt
    form: str
    count: int | str | None
    counter: str | None
    by_value: bool
    outer: LoopFacts | None
    carries: tuple[str, ...]
    temporaries: tuple[str, ...]
    initial: dict[str, Expr]
    before: frozenset[str]
    nodes: tuple[Node, ...]
    earlier: set[str] = field(default_factory=set)
    after: set[str] = field(default_factory=set)
    read: Counter[str] = field(init=False)
    calls: list[Call] = field(init=False)
    ifs: list[If] = field(init=False)
    _assigned: dict[str, list[Expr]] = field(init=False)

    def __post_init__(self) -> None:
        self.read = Counter(n.id for n in self.nodes if isinstance(n, Name))
        self.calls = [n for n in self.nodes if isinstance(n, Call)]
        self.ifs = [n for n in self.nodes if isinstance(n, If)]
        self._assigned = {}
        for n in self.nodes:
            if isinstance(n, Assign):
                self._assigned.setdefault(n.target, []).append(n.value)

    @property
    def condition(self) -> Expr | None:
        """The condition for the next iteration; None for a counted loop."""
        return None if isinstance(self.stmt, For) else self.stmt.condition

    def assignments(self, name: str) -> list[Expr]:
        """All that the body assigns to `name`, inner loops and branches included."""
        return self._assigned.get(name, [])

    def calls_any(self, *ops: str) -> bool:
        """Whether the body calls one of `ops`."""
        return any(c.op in ops for c in self.calls)

    def branches(self) -> list[If]:
        """The branches of the body, except those that only leave an iteration early."""
        return [n for n in self.ifs if not isinstance(n.body[0], (Break, Continue))]

    def leaves(self, kind: type[Break] | type[Continue]) -> list[If]:
        """The branches that leave an iteration, or the loop."""
        return [n for n in self.ifs if any(isinstance(s, kind) for s in n.body)]

    def by_counter(self, op: str) -> list[str]:
        """The arrays that `op` ("index" or "index_update") accesses in the body at the counter's place."""
        if self.counter is None:
            return []
        skip = 1 if op == "index" else 2
        there = [c.args[0] for c in self.calls if c.op == op and self.counter in names(*c.args[skip:])]
        return [array.id for array in there if isinstance(array, Name)]


class ProgramFacts:
    """The loops of a program in the order of the text, and its names."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.types: dict[str, Type] = typecheck(program).variables
        self.floats = tuple(p.name for p in program.params if p.type.is_float)
        self.ints = tuple(p.name for p in program.params if p.type.dtype == "int")
        self.loops: list[LoopFacts] = []
        self.reads = [n.id for n in walk(program) if isinstance(n, Name)]
        self.depends: dict[str, frozenset[str]] = self._dependences()
        self._visit(program.body, {p.name: Name(p.name) for p in program.params}, None)
        self.top = [loop for loop in self.loops if loop.outer is None]

    def active(self, expr: Expr) -> bool:
        """Whether `expr` depends on a float parameter."""
        return any(self.depends.get(n) for n in names(expr))

    def _dependences(self) -> dict[str, frozenset[str]]:
        """Which float parameters each name may depend on through values: a fixed point of assignments."""
        depends: dict[str, frozenset[str]] = {name: frozenset((name,)) for name in self.floats}
        assignments = [(s.target, names(s.value)) for s in walk(self.program) if isinstance(s, Assign)]
        changed = True
        while changed:
            changed = False
            for target, sources in assignments:
                known = depends.get(target, frozenset())
                found = known.union(*(depends.get(s, ()) for s in sources))
                if found != known:
                    depends[target] = found
                    changed = True
        return depends

    def _visit(self, block: Block, known: dict[str, Expr], outer: LoopFacts | None) -> None:
        for k, stmt in enumerate(block):
            if isinstance(stmt, Assign):
                known[stmt.target] = stmt.value
            elif isinstance(stmt, If):
                self._visit(stmt.body, known, outer)
                self._visit(stmt.orelse, known, outer)
            elif isinstance(stmt, (For, While, Repeat)):
                loop = self._loop(stmt, known, outer)
                loop.earlier, loop.after = names(*block[:k]), names(*block[k + 1 :])
                self.loops.append(loop)
                inside = dict(known)
                self._visit(stmt.body, inside, loop)
                known.update({name: inside[name] for name in loop.carries})

    def _loop(self, stmt: LoopStmt, known: dict[str, Expr], outer: LoopFacts | None) -> LoopFacts:
        nodes = tuple(walk(stmt.body))
        assigned = dict.fromkeys(s.target for s in nodes if isinstance(s, Assign))
        floats = [n for n in assigned if self.types[n].is_float]
        form = {For: "for", While: "while", Repeat: "repeat"}[type(stmt)]
        counter: str | None = None
        count: int | str | None = None
        by_value = False
        if isinstance(stmt, For):
            counter, count = stmt.target, _count(stmt.count)
        else:
            for part in _conjuncts(stmt.condition):
                match part:
                    case Call("less", (Name(left), right)) if (
                        left in assigned and not self.types[left].is_float
                    ):
                        counter, count = left, _count(right)
                    case _:
                        by_value = True
        carries = tuple(n for n in floats if n in known)
        loop = LoopFacts(
            stmt,
            form,
            count,
            counter,
            by_value,
            outer,
            carries,
            tuple(n for n in floats if n not in known),
            {n: known[n] for n in carries},
            frozenset(known),
            nodes,
        )
        loop.by_value = by_value or any(self.any_float(names(e.condition)) for e in _exits(stmt.body))
        return loop

    def any_float(self, found: Iterable[str]) -> bool:
        """Whether one of the names is a float."""
        return any(n in self.types and self.types[n].is_float for n in found)


def _count(expr: Expr) -> int | str | None:
    if isinstance(expr, Const) and isinstance(expr.value, int):
        return int(expr.value)
    return expr.id if isinstance(expr, Name) else None
