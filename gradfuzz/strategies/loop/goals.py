"""Goals of the strategies: situations in which some system has returned a wrong gradient.

A goal is read off the program, the points and the question; nothing is run.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gradfuzz.programs import Break, Call, Const, Continue, Expr, Name, Program, walk
from gradfuzz.strategies.drawing.dice import TRIPS
from gradfuzz.strategies.loop.case import MODES, GeneratedCase, Modes
from gradfuzz.strategies.loop.facts import Facts, LoopFacts, names, reads_carry_nonlinearly


class View:
    """A case and the facts of its program."""

    def __init__(self, case: GeneratedCase) -> None:
        self.case: GeneratedCase = case
        self.facts: Facts = _facts(case.program)
        self.loops: list[LoopFacts] = self.facts.loops
        self.floats: tuple[str, ...] = self.facts.floats
        self._numbers = [
            np.concatenate([np.ravel(p[n]).astype(np.float64) for n in self.floats] or [np.zeros(0)])
            for p in case.points
        ]

    def trips(self, loop: LoopFacts) -> set[int]:
        """The trip counts known without running: constants, and int inputs at the points."""
        counts: set[int] = set()
        if isinstance(loop.count, int):
            counts = {loop.count}
        elif loop.count in self.facts.ints:
            counts = {int(p[loop.count]) for p in self.case.points if p[loop.count].ndim == 0}
        return {max(n, 1) for n in counts} if loop.form == "repeat" else counts

    def twice(self, loop: LoopFacts) -> bool:
        """Whether the loop makes two iterations or more, unless it stops by value."""
        return any(n >= 2 for n in self.trips(loop))

    def any_number(self, test: Callable[[npt.NDArray[np.float64]], npt.NDArray[np.bool_]]) -> bool:
        return any(bool(np.any(test(n))) for n in self._numbers)

    def zeros(self) -> set[int]:
        """The numbers of exact zeros in the points."""
        return {int(np.sum(n == 0.0)) for n in self._numbers}


@functools.lru_cache(maxsize=256)
def _facts(program: Program) -> Facts:
    return Facts(program)


@dataclass(frozen=True, slots=True)
class Goal:
    """A situation that the draws must reach. `mutants` are numbers of the planted bugs that it reveals."""

    name: str
    description: str
    test: Callable[[View], bool]
    mutants: tuple[str, ...] = ()


# Loops ------------------------------------------------------------------------------------------------------


def _loop(name: str, description: str, test: Callable[[View, LoopFacts], bool], *mutants: str) -> Goal:
    """A goal that is reached by one loop of the program."""
    return Goal(name, description, lambda v: any(test(v, loop) for loop in v.loops), mutants)


def _trips(n: int) -> Goal:
    return _loop(
        f"trips {n}",
        f"a loop of {n} trips, constant or an input",
        lambda v, x: n in v.trips(x),
        *(["M10"] if n == 0 else []),
    )


def _data_dependent(v: View, loop: LoopFacts) -> bool:
    return loop.by_value


def _constant_start(v: View, loop: LoopFacts) -> bool:
    return any(not v.facts.active(loop.initial[c]) for c in loop.carries)


def _parameter_start(v: View, loop: LoopFacts) -> bool:
    return any(v.facts.active(loop.initial[c]) for c in loop.carries)


def _built(v: View, loop: LoopFacts) -> bool:
    calls = [e for start in loop.initial.values() for e in walk(start) if isinstance(e, Call)]
    return loop.outer is None and any(c.op == "stack" and v.facts.active(c) for c in calls)


def _captured(loop: LoopFacts, floats: Iterable[str]) -> set[str]:
    """The float parameters that the body reads and never assigns."""
    return set(loop.read) & set(floats) - set(loop.carries)


def _scaled_constant(v: View, loop: LoopFacts) -> bool:
    """A carry that starts from a constant and is multiplied by a captured value."""
    captured = {n for n in set(loop.read) if v.facts.depends.get(n) and n not in loop.carries}
    return any(
        call.op == "multiply"
        and any(_pair(call, c, captured) for c in loop.carries if not v.facts.active(loop.initial[c]))
        for call in loop.calls
    )


def _pair(call: Call, carry: str, others: set[str]) -> bool:
    a, b = (names(arg) for arg in call.args)
    return (carry in a and bool(b & others)) or (carry in b and bool(a & others))


def _handed_on(v: View, loop: LoopFacts) -> bool:
    return any(
        isinstance(start, Name) and start.id in v.floats and names(*loop.assignments(c)) == {c}
        for c, start in loop.initial.items()
    )


def _only_in_condition(v: View, loop: LoopFacts) -> bool:
    if loop.condition is None:
        return False
    return any(v.facts.reads.count(n) == 1 for n in names(loop.condition) & set(v.floats))


def _dropped(v: View, loop: LoopFacts) -> bool:
    return loop.outer is None and any(c not in loop.after for c in loop.carries)


def _overwritten(v: View, loop: LoopFacts) -> bool:
    reads = set(loop.read) | (names(loop.condition) if loop.condition is not None else set())
    return any(c not in reads for c in loop.carries)


def _together(v: View, loop: LoopFacts) -> bool:
    return any(
        a in names(*loop.assignments(b)) and b in names(*loop.assignments(a))
        for a in loop.carries
        for b in loop.carries
        if a < b
    )


def _swapped(v: View, loop: LoopFacts) -> bool:
    saved = {
        t: value.id for t in loop.temporaries for value in loop.assignments(t) if isinstance(value, Name)
    }
    return any(
        a in loop.carries
        and any(
            t in names(*loop.assignments(b)) and b in names(*loop.assignments(a))
            for b in loop.carries
            if b != a
        )
        for t, a in saved.items()
    )


def _used_twice(v: View, loop: LoopFacts) -> bool:
    return any(loop.read[t] > 1 for t in loop.temporaries)


def _counter_read(v: View, loop: LoopFacts) -> bool:
    """Whether the counter is part of a value, not only of its own step or of indices."""
    if loop.counter is None:
        return False
    counter = Name(loop.counter)
    steps = loop.assignments(loop.counter)
    found = [
        c
        for c in loop.calls
        if counter in c.args and c not in steps and c.op not in ("index", "index_update", "remainder")
    ]
    return any(c.op not in ("less", "equal", "greater_equal", "greater", "not_equal") for c in found)


def _shape(v: View, name: str) -> tuple[int | None, ...]:
    return v.facts.types[name].shape


def _rebuilt(v: View, loop: LoopFacts) -> bool:
    arrays = {n for n in (*loop.carries, *loop.temporaries) if len(_shape(v, n)) == 1}
    return any(
        c.op == "stack"
        and any(isinstance(e, Call) and e.op == "index" and names(e.args[0]) & arrays for e in walk(c))
        for c in loop.calls
    )


def _elementwise(v: View, loop: LoopFacts) -> bool:
    arrays = {c for c in loop.carries if len(_shape(v, c)) == 1}
    return any(
        c.op in ("multiply", "add", "sin", "divide") and Name(a) in c.args for c in loop.calls for a in arrays
    )


def _matrix(v: View, loop: LoopFacts) -> bool:
    return any(len(_shape(v, c)) == 2 for c in loop.carries) and any(c.op == "matmul" for c in loop.calls)


def _mixed(v: View, loop: LoopFacts) -> bool:
    return len({bool(_shape(v, c)) for c in loop.carries}) == 2


def _sequence(v: View, loop: LoopFacts) -> bool:
    return loop.by_value and bool(set(loop.by_counter("index")) & set(v.floats))


def _inner_reads_carry(v: View, loop: LoopFacts) -> bool:
    return loop.outer is not None and bool(set(loop.read) & set(loop.outer.carries))


def _triangular(v: View, loop: LoopFacts) -> bool:
    return loop.outer is not None and isinstance(loop.count, str) and loop.count == loop.outer.counter


def _branch_on(v: View, loop: LoopFacts, *, value: bool) -> bool:
    return any(v.facts.any_float(names(b.condition)) == value for b in loop.branches())


def _body_ops(*ops: str) -> Callable[[View, LoopFacts], bool]:
    return lambda _, loop: any(c.op in ops for c in loop.calls)


def _nonlinear(v: View, loop: LoopFacts) -> bool:
    return any(reads_carry_nonlinearly(e, c) for c in loop.carries for e in loop.assignments(c))


def _inline_divisor(v: View, loop: LoopFacts) -> bool:
    return any(c.op == "divide" and v.facts.active(c.args[1]) for c in loop.calls)


def _repeat_with_temporary(v: View, loop: LoopFacts) -> bool:
    return loop.form == "repeat" and any(v.facts.depends.get(t) for t in loop.temporaries)


def _asked(v: View, expr: Expr) -> bool:
    return any(v.facts.depends.get(n, frozenset()) & set(v.case.wrt) for n in names(expr))


_LOOP_GOALS = (
    *(_trips(n) for _, n in TRIPS.rows),
    _loop(
        "static trips",
        "a trip count known when the program is built",
        lambda v, x: isinstance(x.count, int) and not x.by_value,
    ),
    _loop(
        "run-time trips",
        "a trip count that is an input",
        lambda v, x: x.count in v.facts.ints and not x.by_value,
    ),
    _loop("data-dependent trips", "a loop that stops by a float value", _data_dependent),
    _loop("for", "a counted loop", lambda v, x: x.form == "for"),
    _loop("while", "a loop that tests first", lambda v, x: x.form == "while"),
    _loop("repeat", "a loop whose body comes first", lambda v, x: x.form == "repeat"),
    _loop(
        "while by value", "test first, on a float value", lambda v, x: x.form == "while" and x.by_value, "M10"
    ),
    _loop(
        "repeat by value",
        "body first, then a test on a float value",
        lambda v, x: x.form == "repeat" and x.by_value,
    ),
    _loop("constant start", "a carry that starts from a constant", _constant_start),
    _loop("parameter start", "a carry whose initial value depends on a parameter", _parameter_start),
    _loop(
        "constant start, scaled",
        "a carry that starts from a constant, multiplied by a captured value",
        _scaled_constant,
    ),
    _loop("array built from scalars", "an array that starts as scalars made from parameters", _built, "M15"),
    _loop("parameter carried", "a parameter copied into a carry that is handed on", _handed_on),
    _loop("parameter closed over", "a parameter read in the body", lambda v, x: bool(_captured(x, v.floats))),
    _loop(
        "parameter in the condition",
        "a parameter that decides about the next trip",
        lambda v, x: x.condition is not None and bool(names(x.condition) & set(v.floats)),
    ),
    _loop(
        "parameter only in the condition", "a parameter that is read nowhere else", _only_in_condition, "M22"
    ),
    _loop(
        "parameter in the condition and the body",
        "a parameter that decides about the next trip and is read in it",
        lambda v, x: x.condition is not None and bool(names(x.condition) & _captured(x, v.floats)),
        "M22",
    ),
    _loop(
        "parameter before and after",
        "a parameter used before the loop and after it",
        lambda v, x: x.outer is None and bool(x.earlier & x.after & set(v.floats)),
    ),
    _loop(
        "value from before, used after",
        "computed before the loop, used after it",
        lambda v, x: bool(_kept(v, x) & x.after),
    ),
    _loop(
        "value from before, used in and after",
        "computed before the loop, used in it and after it",
        lambda v, x: bool(_kept(v, x) & x.after & set(x.read)),
        "M6",
    ),
    _loop("dropped carry", "a carry that nobody reads after the loop", _dropped, "M21"),
    _loop("overwritten carry", "a carry assigned without being read", _overwritten),
    _loop("two carries together", "two carries, each updated from the other", _together),
    _loop("swapped carries", "two carries that change places", _swapped),
    _loop("temporary", "a value made in the body", lambda v, x: bool(x.temporaries)),
    _loop("temporary used twice", "a value made in the body and read more than once", _used_twice),
    _loop("counter in the body", "the loop counter as a number", _counter_read),
    _loop("vector rebuilt", "a vector carry rebuilt from its own components", _rebuilt, "M9"),
    _loop("vector elementwise", "a vector carry updated as a whole", _elementwise),
    _loop("matrix carry", "a matrix carry with matmul", _matrix),
    _loop("scalar next to array", "a scalar carry next to an array carry", _mixed, "M18"),
    _loop("array read by the counter", "v[i] in the body", lambda v, x: bool(x.by_counter("index"))),
    _loop(
        "array written by the counter",
        "v[i] = e in the body",
        lambda v, x: bool(x.by_counter("index_update")),
    ),
    _loop("stops by value over a sequence", "a loop that reads v[i] and stops by value", _sequence),
    _loop(
        "whole sequence differentiated",
        "the same, differentiated with respect to the sequence",
        lambda v, x: _sequence(v, x) and bool(set(x.by_counter("index")) & set(v.case.wrt)),
    ),
    _loop("nested", "a loop in a loop", lambda v, x: x.outer is not None, "M7"),
    _loop("inner reads the outer carry", "an inner loop that reads the outer carry", _inner_reads_carry),
    _loop("triangular", "an inner loop whose trips are the outer counter", _triangular, "M10"),
    Goal("chained", "a loop after a loop", lambda v: len(v.facts.top) > 1, ("M17",)),
    Goal(
        "fed by a loop",
        "a loop that reads what an earlier one made",
        lambda v: (
            len(v.facts.top) > 1
            and bool(
                set(v.facts.top[0].carries)
                & (names(v.facts.top[1].stmt) | names(*v.facts.top[1].initial.values()))
            )
        ),
    ),
    _loop("break", "an early exit", lambda v, x: bool(x.leaves(Break)), "M8"),
    _loop("continue", "the rest of a trip skipped", lambda v, x: bool(x.leaves(Continue)), "M8"),
    _loop(
        "branch on a value",
        "a branch in the body on a float value",
        lambda v, x: _branch_on(v, x, value=True),
        "M12",
    ),
    _loop(
        "branch on the counter",
        "a branch in the body on the counter",
        lambda v, x: _branch_on(v, x, value=False),
        "M12",
    ),
    _loop("tanh in the body", "", _body_ops("tanh")),
    _loop("exp in the body", "", _body_ops("exp")),
    _loop(
        "selection in the body", "maximum, minimum or where", _body_ops("maximum", "minimum", "where"), "M14"
    ),
    _loop("division in the body", "a divisor that depends on a parameter", _inline_divisor, "M3"),
    _loop(
        "order of adjoints",
        "two trips and more, the carry times a parameter",
        lambda v, x: v.twice(x) and _times(v, x),
        "M1",
    ),
    _loop(
        "repeat with a temporary",
        "body first, with a value made in it, two trips and more",
        lambda v, x: v.twice(x) and _repeat_with_temporary(v, x),
        "M2",
    ),
    _loop(
        "nonlinear in the carry",
        "two trips and more, a nonlinear body",
        lambda v, x: v.twice(x) and _nonlinear(v, x),
        "M3",
    ),
    _loop(
        "captured, constant start",
        "two trips and more, a constant initial carry, differentiated by a captured parameter",
        lambda v, x: (
            v.twice(x)
            and all(not v.facts.active(e) for e in x.initial.values())
            and bool(_captured(x, v.case.wrt))
        ),
        "M4",
    ),
    _loop(
        "differentiated start",
        "differentiated by a parameter of the initial value",
        lambda v, x: x.outer is None and any(_asked(v, e) for e in x.initial.values()),
        "M5",
    ),
)


def _times(v: View, loop: LoopFacts) -> bool:
    active = {n for n in set(loop.read) if v.facts.depends.get(n)}
    return any(
        c.op in ("multiply", "matmul") and any(_pair(c, n, active) for n in loop.carries) for c in loop.calls
    )


def _kept(v: View, loop: LoopFacts) -> set[str]:
    """Names computed before the loop that the loop does not assign."""
    if loop.outer is not None:
        return set()
    return {n for n in loop.before if n not in loop.carries and n not in v.floats and v.facts.depends.get(n)}


# Outputs, questions and points ------------------------------------------------------------------------------


def _op(name: str, description: str, test: Callable[[View, Call], bool]) -> Goal:
    return Goal(
        name, description, lambda v: any(test(v, n) for n in walk(v.case.program) if isinstance(n, Call))
    )


def _scale(least: float, most: float) -> Callable[[View, Call], bool]:
    """A product with a power of ten from `least` to `most`: only outputs are scaled so."""

    def test(_: View, call: Call) -> bool:
        return call.op == "multiply" and any(
            isinstance(a, Const) and least <= abs(a.value) <= most for a in call.args
        )

    return test


def _slices(v: View, call: Call) -> bool:
    patterns = [(a.args[0], a.param("pattern")) for a in call.args if isinstance(a, Call) and a.op == "index"]
    return (
        call.op == "multiply"
        and len(patterns) == 2
        and patterns[0][0] == patterns[1][0]
        and patterns[0][1] != patterns[1][1]
    )


def _differentiated(modes: Modes) -> Goal:
    return Goal("-".join(modes), f"differentiated {', then '.join(modes)}", lambda v: v.case.modes == modes)


def _equal_inputs(v: View) -> bool:
    pairs = [(a, b) for a in v.floats for b in v.floats if a < b]
    return any(np.array_equal(p[a], p[b]) for p in v.case.points for a, b in pairs)


def _all_equal(v: View) -> bool:
    return any(p[n].size > 1 and bool(np.all(p[n] == p[n].flat[0])) for p in v.case.points for n in v.floats)


_QUESTION_GOALS = (
    Goal("several outputs", "more than one output", lambda v: len(v.case.program.result.values) > 1),
    Goal(
        "array output",
        "an output that is an array",
        lambda v: any(isinstance(e, Name) and bool(_shape(v, e.id)) for e in v.case.program.result.values),
    ),
    Goal(
        "input returned",
        "an input returned unchanged",
        lambda v: any(isinstance(e, Name) and e.id in v.floats for e in v.case.program.result.values),
    ),
    _op(
        "same input twice",
        "an op with one input for both arguments",
        lambda v, c: (
            len(c.args) == 2
            and c.args[0] == c.args[1]
            and isinstance(c.args[0], Name)
            and c.args[0].id in v.floats
        ),
    ),
    _op("overlapping slices", "two overlapping slices of one array multiplied", _slices),
    _op("small output", "an output scaled by 1e-6 or 1e-3", _scale(1e-6, 1e-3)),
    _op("large output", "an output scaled by 1e3 or 1e6", _scale(1e3, 1e6)),
    _op("scale 1e-6", "an output scaled by 1e-6", _scale(1e-6, 1e-6)),
    _op("scale 1e6", "an output scaled by 1e6", _scale(1e6, 1e6)),
    Goal(
        "one input alone",
        "one input differentiated, others constant",
        lambda v: len(v.case.wrt) == 1 < len(v.floats),
    ),
    Goal(
        "all inputs together",
        "several inputs, all differentiated",
        lambda v: len(v.case.wrt) == len(v.floats) > 1,
    ),
    *(_differentiated(modes) for _, modes in MODES.rows if len(modes) < 3),
    Goal("third order", "three differentiations", lambda v: len(v.case.modes) == 3),
    Goal(
        "forward over forward",
        "two forward differentiations",
        lambda v: v.case.modes[-2:] == ("fwd", "fwd"),
        ("M20",),
    ),
    Goal("float32", "", lambda v: v.case.precision == "float32"),
    Goal("float64", "", lambda v: v.case.precision == "float64"),
)
_POINT_GOALS = (
    Goal(
        "near zero",
        "an input between 1e-12 and 1e-6",
        lambda v: v.any_number(lambda x: (np.abs(x) > 0.9e-12) & (np.abs(x) < 1.1e-6)),
    ),
    Goal(
        "1e-12",
        "an input of 1e-12",
        lambda v: v.any_number(lambda x: np.isclose(np.abs(x), 1e-12, rtol=1e-6, atol=0.0)),
    ),
    Goal("one zero", "exactly one zero", lambda v: 1 in v.zeros()),
    Goal("two zeros", "two exact zeros and more", lambda v: any(n >= 2 for n in v.zeros())),
    Goal(
        "power of two",
        "an input 2^k, k not 0",
        lambda v: v.any_number(lambda x: (np.abs(np.frexp(x)[0]) == 0.5) & (np.abs(x) != 1.0)),
    ),
    Goal("negative", "a negative input", lambda v: v.any_number(lambda x: x < 0)),
    Goal(
        "large",
        "an input between 100 and 1000",
        lambda v: v.any_number(lambda x: (np.abs(x) >= 100.0) & (np.abs(x) <= 1000.0)),
    ),
    Goal("huge", "an input from 2^24 up", lambda v: v.any_number(lambda x: np.abs(x) >= 2.0**24)),
    Goal(
        "tiny",
        "an input below 1e-15",
        lambda v: v.any_number(lambda x: (np.abs(x) > 0) & (np.abs(x) < 1e-15)),
    ),
    Goal("equal inputs", "two inputs with one value", _equal_inputs),
    Goal("equal entries", "an array whose entries are all equal", _all_equal),
)

GOALS: tuple[Goal, ...] = (*_LOOP_GOALS, *_QUESTION_GOALS, *_POINT_GOALS)
"""All goals, in the order in which they are shown."""
