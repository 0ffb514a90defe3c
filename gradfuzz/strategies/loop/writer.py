"""Whole loop programs: parameters, statements before the loop, one or two loops, statements after it.

Most programs are one loop over one scalar. Each rarer feature is drawn independently, so that most pairs of
features occur.
"""

from __future__ import annotations

import math

from gradfuzz.programs import (
    FLOAT,
    INT,
    ArrayConst,
    Assign,
    Call,
    Const,
    Expr,
    For,
    Name,
    Param,
    Program,
    Repeat,
    Return,
    Stmt,
    Type,
    While,
    call,
)
from gradfuzz.programs.language.program import names_in
from gradfuzz.strategies.drawing.algebra import (
    absolute,
    add,
    at,
    both,
    compare,
    integer,
    multiply,
    number,
    numbers,
    patterns,
    stack,
    total,
)
from gradfuzz.strategies.drawing.dice import TRIPS, Dice, Draw
from gradfuzz.strategies.drawing.op_set import JOINS, chosen, offers
from gradfuzz.strategies.loop.body import Body, Fresh, scalar_from, scalar_of
from gradfuzz.strategies.loop.expression import Scope, operand, reduced, update
from gradfuzz.strategies.loop.patterns import REDUCTIONS
from gradfuzz.strategies.loop.plan import LoopOptions, LoopPlan, Plan

Names = tuple[str, ...]
Carries = dict[str, Type]


class Writer:
    """A program while it is written."""

    def __init__(self, draw: Draw, options: LoopOptions) -> None:
        self.dice = Dice(draw, options.ops, options.about)
        self.options = options
        self.plan = Plan.drawn(self.dice, options)
        self.params: dict[str, Type] = {}
        self.before: list[Stmt] = []
        self.fresh = Fresh()
        self.limit: int | None = None

    def program(self) -> Program:
        """The program; every name in it is read."""
        self._parameters()
        scope = Scope(dict(self.params), raw=frozenset(n for n, t in self.params.items() if t == FLOAT))
        scope = self._before(scope)
        passed, inside = self._passed(scope)
        carries = self._carries(scope)
        body = self._loop(self.plan.first_loop, inside, carries, passed=passed)
        if self.plan.second == "after":
            carries, more = self._chained(scope, carries)
            body += more
        outputs, after = self._after(scope, carries)
        return self._tidy((*self.before, *body, *after), outputs)

    # Before -------------------------------------------------------------------------------------------------

    def _parameters(self) -> None:
        """One to `max_params` float scalars; an array parameter counts as one of them."""
        dice, kind = self.dice, self.plan.kind
        arrays = 0
        if kind == "sequence":
            least = self.options.min_trips
            self.limit = dice.pick([n for n in (3, 2, 5, 1, 8) if n >= least] or [least])
            arrays = self._parameter(("v", "w"), Type("float", (self.limit,)))
        elif kind == "vector" and dice.chance(60):
            arrays = self._parameter(("v", "w"), Type("float", (dice.pick((2, 3)),)))
        elif kind == "matrix":
            arrays = self._parameter(("a", "m"), Type("float", (2, 2)))
        for name in ("x", "y", "z")[: min(self.plan.scalars, self.options.max_params - arrays)]:
            self._parameter((name,), FLOAT)

    def _parameter(self, wishes: tuple[str, ...], type_: Type) -> int:
        self.params[self.fresh(*wishes)] = type_
        return 1

    def _before(self, scope: Scope) -> Scope:
        """A value computed before the loop, or a second name for an input."""
        scalars = scope.names(())
        if scalars and self.plan.before == "value":
            name = self.fresh("p", "q")
            source = Name(self.dice.pick(scalars))
            self.before.append(Assign(name, update(self.dice, scope, source, (), depth=1)))
            scope = scope.having(name, FLOAT, first=True)
        elif scalars and self.plan.before == "alias":
            name = self.fresh("p", "q")
            self.before.append(Assign(name, Name(self.dice.pick(scalars))))
            scope = scope.having(name, FLOAT)
        return scope

    def _passed(self, scope: Scope) -> tuple[Names, Scope]:
        """A parameter copied into a carry that the loop passes on. The body sees only the copy."""
        scalars = [n for n in scope.names(()) if n in self.params]
        if not scalars or not self.plan.passed:
            return (), scope
        source, name = self.dice.pick(scalars), self.fresh("c", "d")
        self.before.append(Assign(name, Name(source)))
        return (name,), scope.without(source).having(name, FLOAT, first=True)

    def _carries(self, scope: Scope) -> Carries:
        """The carries with their types; their initial values are written."""
        dice = self.dice
        types: list[Type]
        if self.plan.kind == "pair":
            types = [FLOAT, FLOAT]
        elif self.plan.kind == "vector":
            types = [next((t for t in self.params.values() if t.rank), Type("float", (dice.pick((2, 3)),)))]
        elif self.plan.kind == "mixed":
            types = [FLOAT, Type("float", (dice.pick((2, 3)),))]
            types = types[::-1] if dice.chance(30) else types
        elif self.plan.kind == "matrix":
            types = [Type("float", (2, 2)) if dice.chance(75) else Type("float", (2,))]
        elif self.plan.kind == "sequence" and dice.chance(40):
            types = [*([FLOAT] if dice.chance(40) else []), Type("float", (self.limit,))]
        else:
            types = [FLOAT]
        carries: Carries = {}
        for t in types:
            name = self.fresh("acc", "b", "c", "d") if not t.shape else self.fresh("h", "g", "h")
            self.before.append(Assign(name, self._initial(scope, t)))
            carries[name] = t
        return carries

    def _initial(self, scope: Scope, type_: Type) -> Expr:
        """A constant, or an expression of the parameters."""
        dice = self.dice
        shape = type_.sizes
        constant = not dice.chance(40)
        if not shape and not dice.having(JOINS):
            return Name(dice.pick(scope.names(())))
        if not shape:
            if constant or not scope.names(()):
                return dice.weighted(_STARTS)
            if dice.chance(50):
                return Name(dice.pick(scope.names(())))
            return update(dice, scope, operand(dice, scope), (), depth=1)
        same = [n for n in scope.names(shape) if n in self.params]
        stacks = dice.has("stack") if len(shape) == 1 else dice.has("stack", "reshape")
        if constant or not (same or stacks or dice.has("broadcast_to")):
            if len(shape) == 2:
                ones = tuple(number(r == c) for r in range(shape[0]) for c in range(shape[1]))
                return ArrayConst("float", shape, ones)
            return ArrayConst("float", shape, tuple(dice.weighted(_STARTS) for _ in range(shape[0])))
        if same and (dice.chance(70) or not (stacks or dice.has("broadcast_to"))):
            return Name(dice.pick(same))
        if dice.has("broadcast_to") and (math.prod(shape) > 4 or dice.chance(30) or not stacks):
            return call("broadcast_to", operand(dice, scope), shape=shape)
        places = range(math.prod(shape))
        parts = [operand(dice, scope) if dice.chance(60) else dice.weighted(_STARTS) for _ in places]
        entries = stack(*parts)
        return entries if len(shape) == 1 else call("reshape", entries, shape=shape)

    # Loops --------------------------------------------------------------------------------------------------

    def _loop(
        self, plan: LoopPlan, scope: Scope, carries: Carries, passed: Names = (), outer: str | None = None
    ) -> list[Stmt]:
        """A loop over `carries`; `outer` is the counter of the loop around it."""
        options = self.options
        most = options.max_trips if plan is self.plan.first_loop else min(options.max_trips, 3)
        most = most if self.limit is None else min(most, self.limit)
        counter = self.fresh("i", "j", "k", "i")
        count = self._count(plan, most, outer)
        value: Expr | None = None
        if self._stops_by_value(plan, most):
            if isinstance(count, Const):
                count = integer(min(_CEILINGS[int(count.number) % len(_CEILINGS)], most))
            value, scope = self._stop(plan, scope, carries, passed)
        limit = None if plan.early or outer else self.limit
        if limit is None and isinstance(count, Const) and not plan.early:
            limit = int(count.number)
        sequence = None
        if self.plan.kind == "sequence" and outer is None:
            sequence = next((n for n, t in self.params.items() if t.rank), None)
        for name in passed:
            scope = scope.having(name, FLOAT)
        inside = Scope(scope.types, counter, limit, scope.raw, scope.first, sequence)
        nested = self.plan.second == "inside" and plan is self.plan.first_loop
        inner = (lambda s: self._inner(s, carries, counter)) if nested else None
        body = Body(dict(carries), plan.body, passed, inner)
        return self._assembled(plan, counter, count, value, body.draw(self.dice, inside, self.fresh))

    def _assembled(
        self, plan: LoopPlan, counter: str, count: Expr, value: Expr | None, body: list[Stmt]
    ) -> list[Stmt]:
        if plan.form == "for":
            return [For(counter, count, tuple(body))]
        start = Assign(counter, integer(0))
        step = Assign(counter, add(Name(counter), integer(1)))
        below: Expr = compare("less", Name(counter), count)
        condition = below if value is None else both(value, below)
        block = (step, *body) if plan.early else (*body, step)
        return [start, While(condition, block) if plan.form == "while" else Repeat(block, condition)]

    def _count(self, plan: LoopPlan, most: int, outer: str | None) -> Expr:
        """The trip count: a constant, the parameter n, or for an inner loop the outer counter."""
        if plan.count == "outer" and outer is not None and plan.form == "for" and self.options.min_trips == 0:
            return Name(outer)
        if plan.count == "input" and self.options.run_time and self.plan.second != "after":
            self.params.setdefault("n", INT)
            return Name("n")
        least = min(max(self.options.min_trips, 1 if plan.form == "repeat" else 0), most)
        table = TRIPS.where(lambda n: least <= n <= most)
        if table.rows:
            return integer(table.at(plan.place * table.total // 100))
        return integer(least + plan.place % (most - least + 1))

    def _stops_by_value(self, plan: LoopPlan, most: int) -> bool:
        if plan.form == "for" or most == 0 or self.options.min_trips > (plan.form == "repeat"):
            return False
        return self.options.by_value and plan.by_value >= 100 - (26 if self.limit is None else 55)

    def _stop(self, plan: LoopPlan, scope: Scope, carries: Carries, passed: Names) -> tuple[Expr, Scope]:
        """A condition on the first carry. Its bound may be a parameter that occurs nowhere else."""
        name, t = next(iter(carries.items()))
        carry: Expr = Name(name)
        if t.rank == 1 and t.shape[0] and self.dice.has("index"):
            carry = at(name, integer(0))
        elif t.rank:
            carry = scalar_from(self.dice, name, t)
        scalars = [n for n in scope.names(()) if n in self.params]
        bound: Expr = number(2.0)
        if isinstance(plan.bound, float):
            bound = number(plan.bound)
        elif plan.bound == "carried" and passed:
            bound = add(Name(passed[0]), number(4.0))
        elif scalars:
            last = Name(scalars[-1])
            bound = add(last, number(2.0)) if plan.bound == "parameter + 2" else last
            if plan.bound == "parameter alone" and len(scalars) > 1:
                scope = scope.without(scalars[-1])
        if plan.bound == 4.0 and self.dice.has("abs"):
            carry = absolute(carry)
        return compare("less", carry, bound), scope

    def _inner(self, scope: Scope, carries: Carries, counter: str) -> tuple[list[Stmt], str]:
        """An inner loop: over the outer scalar carry, or over a carry that restarts in each iteration."""
        dice, plan = self.dice, self._second_loop()
        own = next((n for n, t in carries.items() if t == FLOAT), None)
        if own is not None and dice.chance(40):
            return self._loop(plan, scope.without(own), {own: FLOAT}, outer=counter), own
        name = self.fresh("s", "r", "s")
        outer = [Name(own)] if own is not None else []
        one = [number(1.0)] if dice.having(JOINS) else []
        start: Expr = dice.pick([*one, *outer, operand(dice, scope)])
        seen = scope if own is None else scope.having(own, FLOAT, first=True)
        return [Assign(name, start), *self._loop(plan, seen, {name: FLOAT}, outer=counter)], name

    def _chained(self, scope: Scope, carries: Carries) -> tuple[Carries, list[Stmt]]:
        """A second loop: over the same carries, or over a new one that starts from the first result."""
        dice, plan = self.dice, self._second_loop()
        first, t = next(iter(carries.items()))
        if not dice.chance(50):
            return carries, self._loop(plan, scope, {first: t})
        name = self.fresh("b", "c", "d")
        read = scope.having(first, t, first=True) if t == FLOAT else scope.having(first, t)
        constant = dice.having(JOINS) and dice.chance(50)
        start = dice.weighted(_STARTS) if constant else scalar_of(dice, first, t)
        statements = [Assign(name, start), *self._loop(plan, read, {name: FLOAT})]
        return {name: FLOAT, **carries}, statements

    def _second_loop(self) -> LoopPlan:
        assert self.plan.second_loop is not None, "the plan has a second loop"
        return self.plan.second_loop

    # After --------------------------------------------------------------------------------------------------

    def _after(self, scope: Scope, carries: Carries) -> tuple[list[Expr], list[Stmt]]:
        """The outputs, and the statements that compute them after the loop."""
        dice, options = self.dice, self.options
        names = list(carries)
        result = self._result(names[0], carries[names[0]])
        others: list[Expr] = []
        for name in names[1:]:
            what = dice.below(10)
            if what < 4:  # dropped
                continue
            value = self._result(name, carries[name])
            if what < 7 and not carries[name].shape and offers(dice, _TOGETHER):
                result = chosen(dice, _TOGETHER)(result, value)
            else:
                others.append(value)
        values_before = [n for n in scope.names(()) if n not in self.params]
        scalars = scope.names(())
        ends = offers(dice, _ENDS)
        if ends and values_before and dice.chance(60):
            result = chosen(dice, _ENDS).filled(r=result, p=Name(values_before[0]))
        elif ends and scalars and dice.chance(22):
            result = chosen(dice, _ENDS).filled(r=result, p=Name(dice.pick(scalars)))
        after: list[Stmt] = []
        if dice.has("multiply") and dice.chance(12):
            result = multiply(result, dice.weighted(_SCALES))
        if not isinstance(result, (Name, Const)) and dice.chance(15):
            name = self.fresh("out", "o")
            after.append(Assign(name, result))
            result = Name(name)
        if scalars and dice.chance(8):
            others.append(Name(dice.pick(scalars)))  # often an input returned unchanged
        return [result, *others][: options.max_outputs], after

    def _result(self, name: str, type_: Type) -> Expr:
        dice = self.dice
        if not type_.shape or dice.chance(45):
            return Name(name)
        if type_.rank == 1 and type_.shape[0] and dice.has("index") and dice.chance(30):
            return at(name, integer(0))
        if type_.rank == 2 and dice.has("sum", "multiply", "reshape") and dice.chance(30):
            # A different weight for each entry.
            size = math.prod(type_.sizes)
            weights = ArrayConst("float", (size,), tuple(number(1.0 + k / 2) for k in range(size)))
            return total(multiply(call("reshape", Name(name), shape=(size,)), weights))
        return reduced(dice, Name(name)) if offers(dice, REDUCTIONS) else scalar_from(dice, name, type_)

    def _tidy(self, body: tuple[Stmt, ...], outputs: list[Expr]) -> Program:
        """The program without unused values and parameters. At least one float parameter is used."""
        body, read = _without_dead((*body, Return(tuple(outputs))))
        floats = [n for n, t in self.params.items() if t.is_float]
        if not read & set(floats):
            name, t = floats[0], self.params[floats[0]]
            extra = Name(name) if not t.shape else scalar_from(self.dice, name, t)
            outputs = [Call(self.dice.having(JOINS)[0], (outputs[0], extra)), *outputs[1:]]
            body, read = _without_dead((*body[:-1], Return(tuple(outputs))))
        return Program("f", tuple(Param(n, t) for n, t in self.params.items() if n in read), body)


def _without_dead(body: tuple[Stmt, ...]) -> tuple[tuple[Stmt, ...], set[str]]:
    """`body` without assignments to names that are never read, and the names that are read."""
    while True:
        read = names_in(body)
        kept = tuple(s for s in body if not isinstance(s, Assign) or s.target in read)
        if len(kept) == len(body):
            return body, read
        body = kept


_CEILINGS = (8, 5, 17)
"""The most iterations of a loop that stops by value."""
_STARTS = numbers((8, 1.0), (2, 0.0), (3, 0.5), (2, 2.0), (1, -1.0))
_ENDS = patterns((4, "r * p"), (3, "r + p"), (2, "sin(r) + p"), (1, "r * r * p"), (1, "p / (2.0 + sin(r))"))
_TOGETHER = patterns((1, "a + b"), (1, "a * b"), (1, "a - b"))
_SCALES = numbers((2, 1e3), (2, 1e-3), (3, 1e6), (3, 1e-6))
