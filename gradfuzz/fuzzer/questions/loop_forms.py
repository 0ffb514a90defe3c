"""A program's loop in the other forms, and how a candidate's program runs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import replace

from gradfuzz.errors import EvaluationError, ProgramTypeError
from gradfuzz.fuzzer.questions.candidate import Candidate
from gradfuzz.programs.arithmetic.numpy_namespace import NumpyNamespace
from gradfuzz.programs.evaluation.interpret import TripCount, arguments_of, interpret
from gradfuzz.programs.language.program import Program, names_in, walk
from gradfuzz.programs.language.syntax import (
    Assign,
    Block,
    Const,
    Continue,
    For,
    If,
    Name,
    Repeat,
    Stmt,
    While,
)
from gradfuzz.programs.language.typecheck import typecheck
from gradfuzz.programs.text.expressions import call
from gradfuzz.strategies.loop.facts import ProgramFacts

TRIPS = 64
"""Longer loops are asked about only where they were drawn: drawn loops have at most 17 iterations."""

Loop = For | While | Repeat


def ends(candidate: Candidate) -> bool:
    """Whether the program runs and soon ends. Many changed programs never end."""
    try:
        _run(candidate, [])
    except EvaluationError:
        return False
    return True


def loop_trips(candidate: Candidate) -> int | None:
    """The trip count of the only loop. None where there are several loops, or where the loop runs long."""
    trace: list[int] = []
    with contextlib.suppress(EvaluationError):
        _run(candidate, trace)
    counts = [entry for entry in trace if isinstance(entry, TripCount)]
    return int(counts[0]) if len(counts) == 1 else None


def _run(candidate: Candidate, trace: list[int]) -> None:
    inputs, arithmetic = arguments_of(candidate.inputs), NumpyNamespace(candidate.precision)
    interpret(candidate.program, inputs, arithmetic, trip_limit=TRIPS, trace=trace)


def only_loop(program: Program) -> Loop | None:
    """The program's loop; None where there is not exactly one, or where it is in a branch."""
    loops = [n for n in walk(program) if isinstance(n, (For, While, Repeat))]
    return loops[0] if len(loops) == 1 and loops[0] in program.body else None


def fresh_name(program: Program, wanted: Sequence[str], *, besides: str = "") -> str:
    """The first of the names that the program does not use, else the last one numbered; never `besides`."""
    used = names_in(program) | {p.name for p in program.params} | {besides}
    used |= {n.target for n in walk(program) if isinstance(n, (Assign, For))}
    numbered = (f"{wanted[-1]}{k}" for k in range(len(used) + 1))
    return next(name for name in (*wanted, *numbered) if name not in used)


def loop_forms(candidate: Candidate) -> dict[str, Program]:
    """The program with its loop as `for`, `while` and `repeat`, of the trip count at the candidate's inputs.

    Only forms that are programs. Empty where there is not exactly one loop, where its trip count is zero, or
    where it cannot be run.
    """
    program = candidate.program
    loop, trips = only_loop(program), loop_trips(candidate)
    if loop is None or not trips:
        return {}
    counter = loop.target if isinstance(loop, For) else fresh_name(program, ("i", "k", "i"))
    spare = fresh_name(program, ("k", "n", "k"), besides=counter)
    step = (Assign(spare, call("add", Name(spare), Const(1))),)
    # The body reads the iteration's number, and the loop counts on before it: `continue` skips neither.
    number: Block = ()
    if isinstance(loop, For) and counter in names_in(loop.body):
        number = (Assign(counter, call("subtract", Name(spare), Const(1))),)
    again = call("less", Name(spare), Const(trips))
    start = Assign(spare, Const(0))
    first = _first_values(program, loop)
    forms = {
        "for": with_loop(program, loop, (*first, For(counter, Const(trips), loop.body))),
        "while": with_loop(program, loop, (*first, start, While(again, (*step, *number, *loop.body)))),
    }
    if not any(isinstance(n, Continue) for n in walk(loop.body)):  # a body-first loop cannot have it
        forms["repeat"] = with_loop(program, loop, (start, Repeat((*step, *number, *loop.body), again)))
    return {name: form for name, form in forms.items() if _is_typed(form)}


def _is_typed(program: Program) -> bool:
    """Whether it is a program: a body that always leaves its loop never comes to a condition at its end."""
    try:
        typecheck(program)
    except ProgramTypeError:
        return False
    return True


def _first_values(program: Program, loop: While | Repeat | For) -> Block:
    """Zeros for names that only the body assigns and that are read later.

    After a body-first loop such a reading is allowed, after the others it is not.
    """
    before, after = program.body[: program.body.index(loop)], program.body[program.body.index(loop) + 1 :]
    known = {p.name for p in program.params} | {s.target for s in before if isinstance(s, Assign)}
    names = dict.fromkeys(n.target for n in walk(loop.body) if isinstance(n, Assign))
    return _zeros(program, (name for name in names if name not in known and name in names_in(after)))


def _zeros(program: Program, names: Iterable[str]) -> Block:
    types = typecheck(program).variables
    result = []
    for name in names:
        zero = Const({"int": 0, "bool": False}.get(types[name].dtype, 0.0))
        shape = types[name].shape
        result.append(Assign(name, call("broadcast_to", zero, shape=shape) if shape else zero))
    return tuple(result)


def without_repeat(program: Program) -> Program | None:
    """The program with each of its `repeat` loops as a `while`, of the same meaning; None where it has none,
    or where that is no program.
    """
    fresh = fresh_name(program, ("go", "again", "go"))

    def changed(block: Block) -> Block:
        result: list[Stmt] = []
        for s in block:
            if isinstance(s, If):
                s = replace(s, body=changed(s.body), orelse=changed(s.orelse))
            elif isinstance(s, Loop):
                s = replace(s, body=changed(s.body))
            if isinstance(s, Repeat):
                result.append(Assign(fresh, Const(True)))
                s = While(Name(fresh), (*s.body, Assign(fresh, s.condition)))
            result.append(s)
        return tuple(result)

    if not any(isinstance(n, Repeat) for n in walk(program)):
        return None
    # Names that only loops assign may be read after a body-first one, and not after the others.
    own = {p.name for p in program.params} | {s.target for s in program.body if isinstance(s, Assign)}
    assigned = dict.fromkeys(n.target for n in walk(program) if isinstance(n, Assign))
    first = _zeros(program, (name for name in assigned if name not in own))
    made = replace(program, body=(*first, *changed(program.body)))
    return made if _is_typed(made) else None


def with_loop(program: Program, loop: Stmt, instead: Block) -> Program:
    """The program with other statements in place of its loop."""
    k = program.body.index(loop)
    return replace(program, body=(*program.body[:k], *instead, *program.body[k + 1 :]))


def float_carry(program: Program) -> str | None:
    """A float carry of the only loop, if possible one that is read after it. None where there is none."""
    if only_loop(program) is None:
        return None
    (loop,) = ProgramFacts(program).loops
    return next((name for name in loop.carries if name in loop.after), next(iter(loop.carries), None))
