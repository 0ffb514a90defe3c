"""Goals of the strategies: situations in which some system has returned a wrong gradient.

A goal is read off the program, the points and the question; nothing is run.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gradfuzz.programs import Break, Call, Const, Continue, Expr, Name, Program, walk
from gradfuzz.strategies.drawing.dice import TRIPS
from gradfuzz.strategies.loop.case import MODES, CaseView, GeneratedCase, Modes
from gradfuzz.strategies.loop.facts import LoopFacts, ProgramFacts, names, reads_carry_nonlinearly


class View(CaseView):
    """A case and the facts of its program."""

    def __init__(self, case: GeneratedCase) -> None:
        super().__init__(case)
        self.facts: ProgramFacts = _facts(case.program)
        self.loops: list[LoopFacts] = self.facts.loops
        self.floats: tuple[str, ...] = self.facts.floats
        self.numbers: list[npt.NDArray[np.float64]] = [
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

    def any_size(self, test: Callable[[npt.NDArray[np.float64]], npt.NDArray[np.bool_]]) -> bool:
        """Whether `test` holds of the absolute value of a number of the points."""
        return any(bool(np.any(test(np.abs(n)))) for n in self.numbers)

    def zeros(self) -> set[int]:
        """The numbers of exact zeros in the points."""
        return {int(np.sum(n == 0.0)) for n in self.numbers}


@functools.lru_cache(maxsize=256)
def _facts(program: Program) -> ProgramFacts:
    return ProgramFacts(program)


@dataclass(frozen=True, slots=True)
class Goal:
    """A situation that the draws must reach. `mutants` are numbers of the planted bugs that it reveals."""

    name: str
    description: str
    test: Callable[[View], bool]
    mutants: tuple[str, ...] = ()


def _goals(tests: Mapping[str, Callable[[View], bool]]) -> tuple[Goal, ...]:
    """Goals from texts "name: description [planted bugs]"; description and bugs may be missing."""
    found = [(re.fullmatch(r"(.*?)(?:: (.*?))?(?: \[(.*)\])?", text), test) for text, test in tests.items()]
    return tuple(Goal(m[1], m[2] or "", test, tuple((m[3] or "").split())) for m, test in found if m)


# Loops ------------------------------------------------------------------------------------------------------


def _by_loop(tests: Mapping[str, Callable[[View, LoopFacts], bool]]) -> tuple[Goal, ...]:
    """Goals that one loop of the program reaches."""

    def some(test: Callable[[View, LoopFacts], bool]) -> Callable[[View], bool]:
        return lambda v: any(test(v, loop) for loop in v.loops)

    return _goals({text: some(test) for text, test in tests.items()})


def _built(v: View, loop: LoopFacts) -> bool:
    calls = [e for start in loop.initial.values() for e in walk(start) if isinstance(e, Call)]
    return loop.outer is None and any(c.op == "stack" and v.facts.active(c) for c in calls)


def _captured(loop: LoopFacts, floats: Iterable[str]) -> set[str]:
    """The float parameters that the body reads and never assigns."""
    return set(loop.read) & set(floats) - set(loop.carries)


def _scaled_constant(v: View, loop: LoopFacts) -> bool:
    """A carry that starts from a constant and is multiplied by a captured value."""
    captured = {n for n in set(loop.read) if v.facts.depends.get(n) and n not in loop.carries}
    constant = [c for c in loop.carries if not v.facts.active(loop.initial[c])]
    products = [call for call in loop.calls if call.op == "multiply"]
    return any(_pair(call, c, captured) for call in products for c in constant)


def _pair(call: Call, carry: str, others: set[str]) -> bool:
    a, b = (names(arg) for arg in call.args)
    return (carry in a and bool(b & others)) or (carry in b and bool(a & others))


def _handed_on(v: View, loop: LoopFacts) -> bool:
    copies = [c for c, start in loop.initial.items() if isinstance(start, Name) and start.id in v.floats]
    return any(names(*loop.assignments(c)) == {c} for c in copies)


def _overwritten(v: View, loop: LoopFacts) -> bool:
    reads = set(loop.read) | (names(loop.condition) if loop.condition is not None else set())
    return any(c not in reads for c in loop.carries)


def _together(v: View, loop: LoopFacts) -> bool:
    read = _read_by(loop)
    return any(a in read[b] and b in read[a] for a in loop.carries for b in loop.carries if a < b)


def _read_by(loop: LoopFacts) -> dict[str, set[str]]:
    """What the assignments of each carry read."""
    return {c: names(*loop.assignments(c)) for c in loop.carries}


def _swapped(v: View, loop: LoopFacts) -> bool:
    values = [(t, value) for t in loop.temporaries for value in loop.assignments(t)]
    saved = {t: value.id for t, value in values if isinstance(value, Name)}
    swaps, read = [(t, a) for t, a in saved.items() if a in loop.carries], _read_by(loop)
    return any(t in read[b] and b in read[a] for t, a in swaps for b in loop.carries if b != a)


def _counter_read(v: View, loop: LoopFacts) -> bool:
    """Whether the counter is part of a value, not only of its own step or of indices."""
    if loop.counter is None:
        return False
    counter = Name(loop.counter)
    steps = loop.assignments(loop.counter)
    no_values = {"index", "index_update", "remainder"}
    no_values |= {"less", "equal", "greater_equal", "greater", "not_equal"}
    return any(counter in c.args and c not in steps and c.op not in no_values for c in loop.calls)


def _shape(v: View, name: str) -> tuple[int | None, ...]:
    return v.facts.types[name].shape


def _rebuilt(v: View, loop: LoopFacts) -> bool:
    arrays = {n for n in (*loop.carries, *loop.temporaries) if len(_shape(v, n)) == 1}
    parts = [e for c in loop.calls if c.op == "stack" for e in walk(c) if isinstance(e, Call)]
    return any(e.op == "index" and names(e.args[0]) & arrays for e in parts)


def _elementwise(v: View, loop: LoopFacts) -> bool:
    arrays = {c for c in loop.carries if len(_shape(v, c)) == 1}
    calls = [c for c in loop.calls if c.op in ("multiply", "add", "sin", "divide")]
    return any(Name(a) in c.args for c in calls for a in arrays)


def _sequence(v: View, loop: LoopFacts) -> bool:
    return loop.by_value and bool(set(loop.by_counter("index")) & set(v.floats))


def _decides(v: View, loop: LoopFacts, others: Iterable[str]) -> set[str]:
    """The names among `others` that decide about the next trip."""
    return set() if loop.condition is None else names(loop.condition) & set(others)


def _branch_on(v: View, loop: LoopFacts, *, value: bool) -> bool:
    return any(v.facts.any_float(names(b.condition)) == value for b in loop.branches())


def _fed(v: View, loop: LoopFacts) -> bool:
    if len(v.facts.top) < 2:
        return False
    first, second = v.facts.top[:2]
    return bool(set(first.carries) & (names(second.stmt) | names(*second.initial.values())))


def _nonlinear(v: View, loop: LoopFacts) -> bool:
    return any(reads_carry_nonlinearly(e, c) for c in loop.carries for e in loop.assignments(c))


def _starts_constant(v: View, loop: LoopFacts) -> bool:
    return not any(map(v.facts.active, loop.initial.values()))


def _asked(v: View, expr: Expr) -> bool:
    return any(v.facts.depends.get(n, frozenset()) & set(v.case.wrt) for n in names(expr))


def _times(v: View, loop: LoopFacts) -> bool:
    active = {n for n in set(loop.read) if v.facts.depends.get(n)}
    products = [c for c in loop.calls if c.op in ("multiply", "matmul")]
    return any(_pair(c, n, active) for c in products for n in loop.carries)


def _kept(v: View, loop: LoopFacts) -> set[str]:
    """Names computed before the loop that the loop does not assign."""
    if loop.outer is not None:
        return set()
    return {n for n in loop.before if n not in loop.carries and n not in v.floats and v.facts.depends.get(n)}


_LOOP_GOALS = _by_loop(
    {
        **{
            f"trips {n}: a loop of {n} trips, constant or an input{'' if n else ' [M10]'}": (
                lambda v, x, n=n: n in v.trips(x)  # type: ignore[misc]
            )
            for _, n in TRIPS.rows
        },
        "static trips: a trip count known when the program is built": (
            lambda v, x: isinstance(x.count, int) and not x.by_value
        ),
        "run-time trips: a trip count that is an input": (
            lambda v, x: x.count in v.facts.ints and not x.by_value
        ),
        "data-dependent trips: a loop that stops by a float value": lambda v, x: x.by_value,
        "for: a counted loop": lambda v, x: x.form == "for",
        "while: a loop that tests first": lambda v, x: x.form == "while",
        "repeat: a loop whose body comes first": lambda v, x: x.form == "repeat",
        "while by value: test first, on a float value [M10]": lambda v, x: x.form == "while" and x.by_value,
        "repeat by value: body first, then a test on a float value": (
            lambda v, x: x.form == "repeat" and x.by_value
        ),
        "constant start: a carry that starts from a constant": (
            lambda v, x: any(not v.facts.active(x.initial[c]) for c in x.carries)
        ),
        "parameter start: a carry whose initial value depends on a parameter": (
            lambda v, x: any(v.facts.active(x.initial[c]) for c in x.carries)
        ),
        "constant start, scaled: a carry that starts from a constant, multiplied by a captured value": (
            _scaled_constant
        ),
        "array built from scalars: an array that starts as scalars made from parameters [M15]": _built,
        "parameter carried: a parameter copied into a carry that is handed on": _handed_on,
        "parameter closed over: a parameter read in the body": lambda v, x: bool(_captured(x, v.floats)),
        "parameter in the condition: a parameter that decides about the next trip": (
            lambda v, x: bool(_decides(v, x, v.floats))
        ),
        "parameter only in the condition: a parameter that is read nowhere else [M22]": (
            lambda v, x: any(v.facts.reads.count(n) == 1 for n in _decides(v, x, v.floats))
        ),
        "parameter in the condition and the body: a parameter that decides about the next trip and is read in"
        " it [M22]": lambda v, x: bool(_decides(v, x, _captured(x, v.floats))),
        "parameter before and after: a parameter used before the loop and after it": (
            lambda v, x: x.outer is None and bool(x.earlier & x.after & set(v.floats))
        ),
        "value from before, used after: computed before the loop, used after it": (
            lambda v, x: bool(_kept(v, x) & x.after)
        ),
        "value from before, used in and after: computed before the loop, used in it and after it [M6]": (
            lambda v, x: bool(_kept(v, x) & x.after & set(x.read))
        ),
        "dropped carry: a carry that nobody reads after the loop [M21]": (
            lambda v, x: x.outer is None and any(c not in x.after for c in x.carries)
        ),
        "overwritten carry: a carry assigned without being read": _overwritten,
        "two carries together: two carries, each updated from the other": _together,
        "swapped carries: two carries that change places": _swapped,
        "temporary: a value made in the body": lambda v, x: bool(x.temporaries),
        "temporary used twice: a value made in the body and read more than once": (
            lambda v, x: any(x.read[t] > 1 for t in x.temporaries)
        ),
        "counter in the body: the loop counter as a number": _counter_read,
        "vector rebuilt: a vector carry rebuilt from its own components [M9]": _rebuilt,
        "vector elementwise: a vector carry updated as a whole": _elementwise,
        "matrix carry: a matrix carry with matmul": (
            lambda v, x: any(len(_shape(v, c)) == 2 for c in x.carries) and x.calls_any("matmul")
        ),
        "scalar next to array: a scalar carry next to an array carry [M18]": (
            lambda v, x: len({bool(_shape(v, c)) for c in x.carries}) == 2
        ),
        "array read by the counter: v[i] in the body": lambda v, x: bool(x.by_counter("index")),
        "array written by the counter: v[i] = e in the body": (
            lambda v, x: bool(x.by_counter("index_update"))
        ),
        "stops by value over a sequence: a loop that reads v[i] and stops by value": _sequence,
        "whole sequence differentiated: the same, differentiated with respect to the sequence": (
            lambda v, x: _sequence(v, x) and bool(set(x.by_counter("index")) & set(v.case.wrt))
        ),
        "nested: a loop in a loop [M7]": lambda v, x: x.outer is not None,
        "inner reads the outer carry: an inner loop that reads the outer carry": (
            lambda v, x: x.outer is not None and bool(set(x.read) & set(x.outer.carries))
        ),
        "triangular: an inner loop whose trips are the outer counter [M10]": (
            lambda v, x: x.outer is not None and isinstance(x.count, str) and x.count == x.outer.counter
        ),
        "chained: a loop after a loop [M17]": lambda v, x: len(v.facts.top) > 1,
        "fed by a loop: a loop that reads what an earlier one made": _fed,
        "break: an early exit [M8]": lambda v, x: bool(x.leaves(Break)),
        "continue: the rest of a trip skipped [M8]": lambda v, x: bool(x.leaves(Continue)),
        "branch on a value: a branch in the body on a float value [M12]": (
            lambda v, x: _branch_on(v, x, value=True)
        ),
        "branch on the counter: a branch in the body on the counter [M12]": (
            lambda v, x: _branch_on(v, x, value=False)
        ),
        "tanh in the body": lambda v, x: x.calls_any("tanh"),
        "exp in the body": lambda v, x: x.calls_any("exp"),
        "selection in the body: maximum, minimum or where [M14]": (
            lambda v, x: x.calls_any("maximum", "minimum", "where")
        ),
        "division in the body: a divisor that depends on a parameter [M3]": (
            lambda v, x: any(c.op == "divide" and v.facts.active(c.args[1]) for c in x.calls)
        ),
        "order of adjoints: two trips and more, the carry times a parameter [M1]": (
            lambda v, x: v.twice(x) and _times(v, x)
        ),
        "repeat with a temporary: body first, with a value made in it, two trips and more [M2]": (
            lambda v, x: v.twice(x) and x.form == "repeat" and any(map(v.facts.depends.get, x.temporaries))
        ),
        "nonlinear in the carry: two trips and more, a nonlinear body [M3]": (
            lambda v, x: v.twice(x) and _nonlinear(v, x)
        ),
        "captured, constant start: two trips and more, a constant initial carry, differentiated by a captured"
        " parameter [M4]": (
            lambda v, x: (
                v.twice(x)
                and not any(map(v.facts.active, x.initial.values()))
                and bool(_captured(x, v.case.wrt))
            )
        ),
        "differentiated start: differentiated by a parameter of the initial value [M5]": (
            lambda v, x: x.outer is None and any(_asked(v, e) for e in x.initial.values())
        ),
    }
)


# Outputs, questions and points ------------------------------------------------------------------------------


def _some_call(test: Callable[[View, Call], bool]) -> Callable[[View], bool]:
    return lambda v: any(test(v, n) for n in v.calls)


def _scaled(least: float, most: float) -> Callable[[View], bool]:
    """A product with a power of ten from `least` to `most`: only outputs are scaled so."""

    def test(_: View, call: Call) -> bool:
        constants = [a.value for a in call.args if isinstance(a, Const) and call.op == "multiply"]
        return any(least <= abs(value) <= most for value in constants)

    return _some_call(test)


def _slices(v: View, call: Call) -> bool:
    patterns = [(a.args[0], a.param("pattern")) for a in call.args if isinstance(a, Call) and a.op == "index"]
    if call.op != "multiply" or len(patterns) != 2:
        return False
    (a, first), (b, second) = patterns
    return a == b and first != second


def _same_input(v: View, call: Call) -> bool:
    match call.args:
        case (Name(a), Name(b)):
            return a == b and a in v.floats
    return False


def _differentiated(modes: Modes) -> Callable[[View], bool]:
    return lambda v: v.case.modes == modes


def _equal_inputs(v: View) -> bool:
    pairs = [(a, b) for a in v.floats for b in v.floats if a < b]
    return any(np.array_equal(p[a], p[b]) for p in v.case.points for a, b in pairs)


def _all_equal(v: View) -> bool:
    return any(p[n].size > 1 and bool(np.all(p[n] == p[n].flat[0])) for p in v.case.points for n in v.floats)


_OTHER_GOALS = _goals(
    {
        "several outputs: more than one output": lambda v: len(v.outputs) > 1,
        "array output: an output that is an array": (
            lambda v: any(isinstance(e, Name) and bool(_shape(v, e.id)) for e in v.outputs)
        ),
        "input returned: an input returned unchanged": (
            lambda v: any(isinstance(e, Name) and e.id in v.floats for e in v.outputs)
        ),
        "same input twice: an op with one input for both arguments": _some_call(_same_input),
        "overlapping slices: two overlapping slices of one array multiplied": _some_call(_slices),
        "small output: an output scaled by 1e-6 or 1e-3": _scaled(1e-6, 1e-3),
        "large output: an output scaled by 1e3 or 1e6": _scaled(1e3, 1e6),
        "scale 1e-6: an output scaled by 1e-6": _scaled(1e-6, 1e-6),
        "scale 1e6: an output scaled by 1e6": _scaled(1e6, 1e6),
        "one input alone: one input differentiated, others constant": (
            lambda v: len(v.case.wrt) == 1 < len(v.floats)
        ),
        "all inputs together: several inputs, all differentiated": (
            lambda v: len(v.case.wrt) == len(v.floats) > 1
        ),
        **{
            f"{'-'.join(modes)}: differentiated {', then '.join(modes)}": _differentiated(modes)
            for _, modes in MODES.rows
            if len(modes) < 3
        },
        "third order: three differentiations": lambda v: len(v.case.modes) == 3,
        "forward over forward: two forward differentiations [M20]": (
            lambda v: v.case.modes[-2:] == ("fwd", "fwd")
        ),
        "float32": lambda v: v.case.precision == "float32",
        "float64": lambda v: v.case.precision == "float64",
        "near zero: an input between 1e-12 and 1e-6": lambda v: v.any_size(
            lambda x: (x > 0.9e-12) & (x < 1.1e-6)
        ),
        "1e-12: an input of 1e-12": lambda v: v.any_size(lambda x: np.isclose(x, 1e-12, rtol=1e-6, atol=0.0)),
        "one zero: exactly one zero": lambda v: 1 in v.zeros(),
        "two zeros: two exact zeros and more": lambda v: any(n >= 2 for n in v.zeros()),
        "power of two: an input 2^k, k not 0": (
            lambda v: v.any_size(lambda x: (np.frexp(x)[0] == 0.5) & (x != 1.0))
        ),
        "negative: a negative input": lambda v: any(bool(np.any(n < 0)) for n in v.numbers),
        "large: an input between 100 and 1000": lambda v: v.any_size(lambda x: (x >= 100.0) & (x <= 1000.0)),
        "huge: an input from 2^24 up": lambda v: v.any_size(lambda x: x >= 2.0**24),
        "tiny: an input below 1e-15": lambda v: v.any_size(lambda x: (x > 0) & (x < 1e-15)),
        "equal inputs: two inputs with one value": _equal_inputs,
        "equal entries: an array whose entries are all equal": _all_equal,
    }
)

GOALS: tuple[Goal, ...] = (*_LOOP_GOALS, *_OTHER_GOALS)
"""All goals, in the order in which they are shown."""
