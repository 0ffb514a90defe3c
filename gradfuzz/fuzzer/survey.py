"""Where a shrunk disagreement shows: other ways into the same library, modes, precisions and loop forms, one changed at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gradfuzz.errors import EvaluationError
from gradfuzz.fuzzer.finding import Case, Verdict
from gradfuzz.fuzzer.judge import check_name
from gradfuzz.fuzzer.jury import Jury
from gradfuzz.fuzzer.specimen import Specimen
from gradfuzz.oracles.base import Answer, Mode, Oracle, Precision
from gradfuzz.programs.interpret import interpret
from gradfuzz.programs.numpy_namespace import NumpyNamespace
from gradfuzz.programs.parse_expr import call
from gradfuzz.programs.precision import is_float
from gradfuzz.programs.syntax import Assign, Block, Const, Continue, For, If, Name, Program, Repeat, Return, Stmt, While, walk
from gradfuzz.programs.typecheck import typecheck

__all__ = ["Survey", "answered", "asked", "loop_forms", "survey"]

_WRONG = (Verdict.DISAGREE, Verdict.CRASHED)
_MODES: tuple[tuple[Mode, ...], ...] = (("rev",), ("fwd",))
_PRECISIONS: tuple[Precision, ...] = ("float64", "float32")


@dataclass(frozen=True, slots=True)
class Survey:
    """What came of it: a note in words (empty where there is nothing to tell), the ways that are wrong, the target's own among them, and
    what the target itself said.
    """

    note: str
    wrong_ways: tuple[str, ...]
    cases: tuple[tuple[Specimen, Case], ...] = ()


def survey(specimen: Specimen, target: Oracle, ways: Sequence[Oracle], jury: Jury) -> Survey:
    """Asks where else the specimen is answered wrongly by the same library, and where rightly."""
    cases: list[tuple[Specimen, Case]] = []

    def verdict(other: Specimen) -> Verdict:
        if target.supports(other.question()) is not None:
            return Verdict.UNSUPPORTED
        cases.append((other, asked(other, target, jury)))
        return cases[-1][1].verdict

    by_way = {target.name: Verdict.DISAGREE}
    by_way |= {way.name: _verdict(specimen, way, jury) for way in ways if way.name != target.name}
    parts = [_sentence("ways", by_way)]
    if specimen.modes:
        modes = {check_name(m): verdict(replace(specimen, modes=m)) for m in _MODES if m != specimen.modes}
        parts.append(_sentence("checks", {check_name(specimen.modes): Verdict.DISAGREE, **modes}))
    precisions = {
        str(p): verdict(_in_precision(specimen, p)) if p != specimen.precision else Verdict.DISAGREE
        for p in dict.fromkeys((*_PRECISIONS, specimen.precision))
    }
    parts.append(_sentence("precisions", precisions))
    forms = loop_forms(specimen)
    if forms:
        found = {f"{form} loop": verdict(replace(specimen, program=program)) for form, program in forms.items()}
        parts.append(_sentence("loop forms", found))
    wrong_ways = tuple(name for name, v in by_way.items() if v in _WRONG)
    return Survey(" ".join(part for part in parts if part), wrong_ways, tuple(cases))


def asked(specimen: Specimen, way: Oracle, jury: Jury, *, confirm: bool = False) -> Case:
    """The verdict on what `way` says about a specimen, asked together with the specimen's others where it answers them in one call."""
    (case,) = jury.cases(way.name, specimen.alone().question(), [answered(specimen, way)], confirm=confirm)
    return case


def answered(specimen: Specimen, way: Oracle) -> Answer:
    """What `way` says about a specimen: in one call with the specimen's others where it answers together, alone where not."""
    return way.answer(specimen.question())[specimen.place] if way.together else way.answer(specimen.alone().question())[0]


def _verdict(specimen: Specimen, way: Oracle, jury: Jury) -> Verdict:
    return Verdict.UNSUPPORTED if way.supports(specimen.question()) is not None else asked(specimen, way, jury).verdict


def _sentence(what: str, verdicts: Mapping[str, Verdict]) -> str:
    """What is wrong and what is right, as in: Of the loop forms, wrong: repeat loop; right: for loop. Empty where nothing differs."""
    wrong = [name for name, v in verdicts.items() if v in _WRONG]
    right = [name for name, v in verdicts.items() if v in (Verdict.AGREE, Verdict.CONVENTION)]
    if not right:
        return f"Wrong in all {what} that can be asked: {', '.join(wrong)}." if len(wrong) > 1 else ""
    return f"Of the {what}, wrong: {', '.join(wrong) or 'none'}; right: {', '.join(right)}."


def _in_precision(specimen: Specimen, precision: Precision) -> Specimen:
    with np.errstate(over="ignore", under="ignore"):
        inputs = {name: v.astype(precision) if is_float(v.dtype) else v for name, v in specimen.inputs.items()}
        others = tuple(
            {n: v.astype(precision) if is_float(v.dtype) else v for n, v in other.items()} for other in specimen.others
        )
    return replace(specimen, precision=precision, inputs=inputs, others=others)


# Loop forms ------------------------------------------------------------------------------------------------------------


def loop_forms(specimen: Specimen) -> dict[str, Program]:
    """The program with its loop as `for`, `while` and `repeat` of as many trips as it takes at the specimen's inputs.

    Empty where there is not exactly one loop, where it takes no trip, or where it cannot be run.
    """
    program = specimen.program
    loops = [n for n in walk(program) if isinstance(n, (For, While, Repeat))]
    if len(loops) != 1 or any(isinstance(n, If) and loops[0] in walk(n) for n in walk(program) if n is not loops[0]):
        return {}
    (loop,) = loops
    trips = _trips(specimen)
    if not trips:
        return {}
    names = {n.id for n in walk(program) if isinstance(n, Name)} | {
        n.target for n in walk(program) if isinstance(n, (Assign, For))
    }
    counter = (
        loop.target if isinstance(loop, For) else next(n for n in ("i", "k", *(f"i{m}" for m in range(100))) if n not in names)
    )
    spare = next(n for n in ("k", "n", *(f"k{m}" for m in range(100))) if n not in {*names, counter})
    step = (Assign(spare, call("add", Name(spare), Const(1))),)
    # The body reads the trip's number, and the loop counts one on before it: so `continue` is no trap.
    number = (
        (Assign(counter, call("subtract", Name(spare), Const(1))),)
        if isinstance(loop, For) and _reads(loop.body, counter)
        else ()
    )
    again = call("less", Name(spare), Const(trips))
    start = Assign(spare, Const(0))
    first = _first_values(program, loop)
    forms = {
        "for": _with_loop(program, loop, (*first, For(counter, Const(trips), loop.body))),
        "while": _with_loop(program, loop, (*first, start, While(again, (*step, *number, *loop.body)))),
    }
    if not any(isinstance(n, Continue) for n in walk(loop.body)):  # which a body-first loop cannot have
        forms["repeat"] = _with_loop(program, loop, (start, Repeat((*step, *number, *loop.body), again)))
    return forms


def _first_values(program: Program, loop: While | Repeat | For) -> Block:
    """Zeros for what only the body assigns and the rest reads: after a body-first loop that is allowed, after the others it is not."""
    before, after = program.body[: program.body.index(loop)], program.body[program.body.index(loop) + 1 :]
    known = {p.name for p in program.params} | {s.target for s in before if isinstance(s, Assign)}
    types = typecheck(program).variables
    names = dict.fromkeys(n.target for n in walk(loop.body) if isinstance(n, Assign))
    result = []
    for name in names:
        if name not in known and _reads(after, name):
            zero = Const(0.0) if types[name].is_float else Const(0)
            shape = types[name].shape
            result.append(Assign(name, call("broadcast_to", zero, shape=shape) if shape else zero))
    return tuple(result)


def _reads(block: Block, name: str) -> bool:
    return any(isinstance(n, Name) and n.id == name for n in walk(block))


def _with_loop(program: Program, loop: Stmt, instead: Block) -> Program:
    k = program.body.index(loop)
    return replace(program, body=(*program.body[:k], *instead, *program.body[k + 1 :]))


def _trips(specimen: Specimen) -> int:
    """How many trips the only loop takes, 0 where it cannot be told."""
    inputs = {name: v if v.shape else v[()] if is_float(v.dtype) else v.item() for name, v in specimen.inputs.items()}
    body = specimen.program.body
    end = next(k for k, s in enumerate(body) if isinstance(s, (For, While, Repeat))) + 1
    trace: list[int] = []
    try:
        until = replace(specimen.program, body=(*body[:end], Return((Const(0.0),))))
        interpret(until, inputs, NumpyNamespace(specimen.precision), trace=trace)
    except EvaluationError:
        return 0
    return trace[-1] if trace else 0
