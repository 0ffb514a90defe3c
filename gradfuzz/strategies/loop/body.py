"""Loop bodies: temporaries, then updates of the carries, with branches and early exits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from gradfuzz.programs import FLOAT, Assign, Block, Break, Continue, Expr, If, Name, Stmt, Type, call
from gradfuzz.strategies.drawing.algebra import (
    absolute,
    at,
    compare,
    cut,
    integer,
    multiply,
    number,
    numbers,
    patterns,
    set_at,
    stack,
    total,
)
from gradfuzz.strategies.drawing.dice import Dice, Draw, Odds
from gradfuzz.strategies.drawing.op_set import INEQUALITIES, chosen, offers
from gradfuzz.strategies.drawing.validation import check_choices, check_int, check_types, reject
from gradfuzz.strategies.loop.expression import Scope, comparison, makes_scalar, operand, update
from gradfuzz.strategies.loop.patterns import REDUCTIONS, check_carried

Inner = Callable[[Scope], tuple[list[Stmt], str]]
"""Writes an inner loop in the given scope: its statements, and the float scalar that is its result."""


class Fresh:
    """Names that the program does not use yet."""

    def __init__(self, taken: Sequence[str] = ()) -> None:
        self._taken = set(taken)

    def __call__(self, *wishes: str) -> str:
        """The first unused name of `wishes`, or the last with a number."""
        k = 2
        name = next((w for w in wishes if w not in self._taken), "")
        while not name:
            name = "" if f"{wishes[-1]}{k}" in self._taken else f"{wishes[-1]}{k}"
            k += 1
        self._taken.add(name)
        return name


@dataclass(frozen=True, slots=True)
class BodyPlan:
    """A body's parts, drawn before their details, so that shrinking can change one and keep the others."""

    temporaries: int = 0
    branch: bool = False
    leave: str = ""
    overwritten: bool = False
    pair: str = "in turn"

    @classmethod
    def drawn(
        cls,
        dice: Dice,
        *,
        temporaries: Odds[int] | None = None,
        branches: bool = True,
        exits: tuple[str, ...] = (),
    ) -> BodyPlan:
        """A plan with early exits among `exits`. It always takes the same number of draws."""
        count = dice.weighted(TEMPORARIES if temporaries is None else temporaries)
        branch, leave = dice.chance(15), dice.weighted(_EXITS)
        overwritten, pair = dice.chance(5), dice.weighted(_PAIRS)
        return cls(count, branch and branches, leave if leave.split()[0] in exits else "", overwritten, pair)


TEMPORARIES = Odds((74, 0), (20, 1), (6, 2))
"""How many temporaries a body has."""
_EXITS = Odds((85, "none"), (4, "break last"), (4, "break first"), (7, "continue"))
_PAIRS = Odds((5, "in turn"), (3, "at once"), (3, "swap"))


@dataclass(frozen=True, slots=True)
class Body:
    """The updates of `carries`. `passed` are scalar carries that hold a parameter and only pass it on."""

    carries: Mapping[str, Type]
    plan: BodyPlan
    passed: tuple[str, ...] = ()
    inner: Inner | None = None

    def draw(self, dice: Dice, scope: Scope, fresh: Fresh) -> list[Stmt]:
        """The statements; `scope` is what the body may read besides the carries."""
        for name, t in self.carries.items():
            scope = scope.having(name, t)
        body: list[Stmt] = []
        base: str | None = None
        first = next(iter(self.carries))
        if self.inner is not None:
            statements, base = self.inner(scope)
            body += statements
            scope = scope.having(base, FLOAT, first=True)
        for _ in range(self.plan.temporaries if self.inner is None else 0):
            t = self.carries[first]
            name = fresh("t", "u", "s", "t")
            body.append(Assign(name, self._rebuilt(dice, scope, first, base or first)))
            base = name
            scope = scope.having(name, t, first=True)
        leaves = self._can_decide(dice, scope, first)
        if leaves and self.plan.leave in ("continue", "break first"):
            body.append(self._exit(dice, scope, first))
        body += self._updates(dice, scope, fresh, base)
        for name in self.passed:
            body.append(Assign(name, chosen(dice, _HANDED_ON)(Name(name))))
        if leaves and self.plan.leave == "break last":
            body.append(self._exit(dice, scope, first))
        return body

    def _updates(self, dice: Dice, scope: Scope, fresh: Fresh, base: str | None) -> list[Stmt]:
        names, scalars = list(self.carries), all(t == FLOAT for t in self.carries.values())
        if self.plan.pair != "in turn" and len(names) == 2 and base is None and scalars:
            a, b = names
            saved = fresh("t", "u", "s", "t")
            inner = scope.without(a).having(saved, FLOAT)
            first = Name(b) if self.plan.pair == "swap" else update(dice, inner, Name(b), ())
            return [Assign(saved, Name(a)), Assign(a, first), Assign(b, update(dice, inner, Name(saved), ()))]
        statements: list[Stmt] = []
        for k, name in enumerate(names):
            others = [n for n in names if n != name and self.carries[n] == FLOAT]
            inner = scope if not others or dice.chance(50) else scope.having(others[0], FLOAT, first=True)
            fits = base is not None and scope.types[base].shape == self.carries[name].shape
            source = base if base is not None and fits and (k == 0 or dice.chance(30)) else name
            statements.append(self._update(dice, inner, name, source, first=k == 0))
        return statements

    def _update(self, dice: Dice, scope: Scope, name: str, base: str, *, first: bool) -> Stmt:
        if first and self.plan.branch and self._can_decide(dice, scope, name):
            yes = Assign(name, self._rebuilt(dice, scope, name, base))
            condition = self._decision(dice, scope, name)
            no = (Assign(name, self._rebuilt(dice, scope, name, base)),) if dice.chance(50) else ()
            return If(condition, (yes,), no)
        if self.plan.overwritten and base == name and self.carries[name] == FLOAT and scope.raw:
            parameter = dice.pick(sorted(scope.raw))
            return Assign(name, update(dice, scope.without(name), Name(parameter), ()))
        return Assign(name, self._rebuilt(dice, scope, name, base))

    def _rebuilt(self, dice: Dice, scope: Scope, name: str, base: str) -> Expr:
        """The next value of the carry `name`, computed from `base`, which has the same type."""
        shape = self.carries[name].sizes
        if not shape:
            return self._scalar(dice, scope, name, base)
        if len(shape) == 1:
            return self._vector(dice, scope, base, shape[0])
        if len(shape) == 2 and shape[0] == shape[1] and dice.has("matmul") and dice.chance(75):
            return self._matrix(dice, scope, base, shape)
        return update(dice, scope, Name(base), shape)

    def _scalar(self, dice: Dice, scope: Scope, name: str, base: str) -> Expr:
        if base != name and offers(dice, _TWICE) and dice.chance(40):
            twice = chosen(dice, _TWICE)
            return twice.filled(t=Name(base), c=Name(name), p=operand(dice, scope.without(base)))
        return update(dice, scope, Name(base), ())

    def _vector(self, dice: Dice, scope: Scope, base: str, length: int) -> Expr:
        sets = dice.has("index", "index_update")
        below = scope.counter is not None and scope.limit is not None and scope.limit <= length
        if scope.counter is not None and below and sets and dice.chance(60):
            place = Name(scope.counter)
            return set_at(base, update(dice, scope, at(base, place), ()), place)
        choice = dice.below(10)
        if choice < 5 and 1 < length <= 3 and dice.has("index", "stack"):
            turn = dice.below(length)
            scalars = scope.without(base)
            turned = [at(base, integer((k + turn) % length)) for k in range(length)]
            return stack(*(update(dice, scalars, entry, (), depth=1) for entry in turned))
        if choice < 6 and length and sets:
            source, component = at(base, integer(dice.below(length))), integer(dice.below(length))
            return set_at(base, update(dice, scope, source, ()), component)
        if choice < 8 and length > 1 and offers(dice, _MOVED):
            return update(dice, scope, chosen(dice, _MOVED)(base, length), (length,))
        matrices = scope.names((length, length))
        if matrices and choice < 9 and dice.has("matmul"):
            return call("matmul", Name(dice.pick(matrices)), Name(base))
        return update(dice, scope, Name(base), (length,))

    def _matrix(self, dice: Dice, scope: Scope, base: str, shape: tuple[int, ...]) -> Expr:
        others = [n for n in scope.names(shape) if n not in self.carries and n != base]
        a: Expr = Name(dice.pick(others)) if others else Name(base)
        if dice.has("permute_dims") and dice.chance(25):
            a = call("permute_dims", a, axes=(1, 0))
        pair = (a, Name(base)) if dice.chance(50) else (Name(base), a)
        product = call("matmul", *pair)
        if not offers(dice, _WITH_PRODUCT) or dice.chance(45):
            return product
        return chosen(dice, _WITH_PRODUCT)(product, operand(dice, scope))

    def _can_decide(self, dice: Dice, scope: Scope, name: str) -> bool:
        """Whether the ops can compare the counter, or the carry `name`, with anything."""
        return (scope.counter is not None and offers(dice, _ON_COUNTER)) or self._can_compare(dice, name)

    def _can_compare(self, dice: Dice, name: str) -> bool:
        return bool(dice.having(INEQUALITIES)) and makes_scalar(dice, self.carries[name])

    def _decision(self, dice: Dice, scope: Scope, name: str) -> Expr:
        """A bool scalar that depends on a value, on the counter, or on both."""
        compares = self._can_compare(dice, name)
        counter = scope.counter if offers(dice, _ON_COUNTER) else None
        if counter is not None and (dice.chance(40) or not compares):
            first = _on_counter(dice, counter)
        else:
            first = self._on_value(dice, scope, name)
        if not compares or not offers(dice, _CONDITIONS) or not dice.chance(12):
            return first
        second = self._on_value(dice, scope, name)
        return chosen(dice, _CONDITIONS).filled(a=first, b=second)

    def _on_value(self, dice: Dice, scope: Scope, name: str) -> Expr:
        return comparison(dice, scope, scalar_of(dice, name, self.carries[name]), exclude=name)

    def _exit(self, dice: Dice, scope: Scope, name: str) -> Stmt:
        leave = self.plan.leave.split()[0]
        counter = scope.counter if offers(dice, _ON_COUNTER) else None
        if counter is not None and (dice.chance(45) or not self._can_compare(dice, name)):
            condition = _on_counter(dice, counter)
        elif leave == "break":
            value = scalar_of(dice, name, self.carries[name])
            condition = compare(dice.having(INEQUALITIES)[0], value, dice.weighted(_STOPS))
        else:
            condition = self._on_value(dice, scope, name)
        if leave == "break":
            return If(condition, (Break(),))
        if self.carries[name] == FLOAT and dice.has("multiply") and dice.chance(40):
            return If(condition, (Assign(name, multiply(Name(name), number(0.5))), Continue()))
        return If(condition, (Continue(),))


_HANDED_ON = patterns((3, "p"), (2, "p * 0.5"), (1, "-p"))
_TWICE = patterns(
    *((4, "t * t"), (3, "sin(t) + t * p"), (3, "t * t + c"), (2, "t / (1.0 + t * t)"), (1, "t * c - p * t"))
)
"""An expression of a temporary `t`, used more than once, the carry `c` and another scalar."""
_MOVED: Odds[Callable[[str, int], Expr]] = Odds(
    (1, lambda name, length: call("concat", cut(name, 1, length), cut(name, 0, 1))),
    (1, lambda name, length: call("flip", Name(name))),
    (1, lambda name, length: call("cumulative_sum", Name(name))),
)
"""Vectors of the same length with their entries moved."""
_WITH_PRODUCT = patterns((1, "m * p"), (1, "m + p"), (1, "m / (2.0 + sin(p))"))
_CONDITIONS = patterns((1, "a and b"), (1, "a or b"), (1, "not a"))
_STOPS = numbers((4, 2.0), (4, 4.0), (3, 10.0), (1, 100.0), (2, 0.75))
"""The bounds at which a break by value leaves."""
_ON_COUNTER = patterns(
    *((1, "i % 2 == 0"), (1, "i != 1"), (1, "i == n"), (1, "i >= n"), (1, "i < n"), (1, "i > n"))
)


def scalar_of(dice: Dice, name: str, type_: Type) -> Expr:
    """A float scalar that depends on the carry `name`."""
    if not type_.shape:
        return absolute(Name(name)) if dice.has("abs") and dice.chance(20) else Name(name)
    if type_.rank == 1 and type_.shape[0] and dice.has("index") and dice.chance(50):
        return at(name, integer(0))
    return scalar_from(dice, name, type_)


def scalar_from(dice: Dice, name: str, type_: Type) -> Expr:
    """The sum of an array; without the op `sum` another scalar of the array."""
    if dice.has("sum"):
        return total(Name(name))
    if offers(dice, REDUCTIONS):
        return chosen(dice, REDUCTIONS)(Name(name))
    return at(name, *(integer(0) for _ in type_.sizes))


def _on_counter(dice: Dice, counter: str) -> Expr:
    """The counter compared with a small number."""
    form = chosen(dice, _ON_COUNTER)
    return form(Name(counter), *(integer(dice.below(3)) for _ in range(1, form.arity)))


# Strategies -------------------------------------------------------------------------------------------------


@st.composite
def loop_bodies(
    draw: Draw,
    *,
    carries: Mapping[str, Type] | None = None,
    names: Mapping[str, Type] | None = None,
    counter: str | None = "i",
    limit: int | None = None,
    max_temporaries: int = 2,
    branches: bool = True,
    exits: tuple[str, ...] = (),
    ops: tuple[str, ...] | None = None,
) -> Block:
    """Bodies that update each of `carries` (by default the scalar acc), reading `names` (by default the
    scalars x and y).

    `counter` is an int that the body may read. With `limit` the counter is below it, so that it may index
    arrays of that length. `exits` may hold "break" and "continue". `ops`: the only ops to use (None: all), as
    in `loops`. Shrinks towards `acc = acc * x`.
    """
    carries = {"acc": FLOAT} if carries is None else carries
    names = {"x": FLOAT, "y": FLOAT} if names is None else names
    check_types("carries", carries)
    check_types("names", names)
    if not carries or any(not t.is_float or t.is_stack for t in carries.values()):
        reject(f"carries={dict(carries)!r}: give at least one carry; carries are floats")
    both_ways = sorted({*carries} & {*names})
    if both_ways:
        shared = f"share {', '.join(both_ways)}; a name is one or the other"
        reject(f"carries={dict(carries)!r} and names={dict(names)!r} {shared}")
    if any(not t.is_float or t.is_stack for t in names.values()):
        reject(f"names={dict(names)!r}: a body reads floats; name its int as counter")
    check_int("max_temporaries", max_temporaries, 0)
    if exits != ():
        check_choices("exits", exits, ("break", "continue"))
    dice = Dice(draw, check_carried(ops))
    taken = (*carries, *names, *(() if counter is None else (counter,)))
    raw = frozenset(n for n, t in names.items() if t == FLOAT)
    temporaries = TEMPORARIES.where(lambda n: n <= max_temporaries)
    plan = BodyPlan.drawn(dice, temporaries=temporaries, branches=branches, exits=exits)
    return tuple(Body(carries, plan).draw(dice, Scope(names, counter, limit, raw), Fresh(taken)))
