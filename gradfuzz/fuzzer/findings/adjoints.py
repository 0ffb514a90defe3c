"""The derivative by a loop's carry at the start of each iteration, asked of the target through the program.

The program gets an input e with one entry per iteration, and its loop begins with `carry = carry + e[k]` in
iteration k. At e = 0 it is the same function, and its gradient by e[k] is the adjoint of the carry before
iteration k. This needs no knowledge of how the target works.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gradfuzz.fuzzer.questions.candidate import Candidate
from gradfuzz.fuzzer.questions.loop_forms import (
    TRIPS,
    float_carry,
    fresh_name,
    loop_trips,
    only_loop,
    with_loop,
)
from gradfuzz.fuzzer.results.evidence import Adjoints
from gradfuzz.fuzzer.verdict.shared import evaluator
from gradfuzz.oracles.base import Oracle
from gradfuzz.programs.language.program import Program
from gradfuzz.programs.language.syntax import Assign, Call, Const, For, Name, Param, Stmt
from gradfuzz.programs.language.types import Type
from gradfuzz.programs.text.expressions import call


def adjoints(candidate: Candidate, target: Oracle) -> Adjoints | None:
    """The target's adjoint before each iteration next to the truth. None where the program has no such loop,
    or where the target or the truth has no answer.

    The order must be one. The candidate's own inputs are differentiated along.
    """
    carry, trips = float_carry(candidate.program), loop_trips(candidate)
    if len(candidate.modes) != 1 or candidate.others or carry is None or not trips or trips > TRIPS:
        return None
    perturbed, e = with_perturbed_carry(candidate, carry, trips)
    question = perturbed.question()
    if target.supports(question) is not None:
        return None
    (reference_value,) = evaluator().reference_values(question)
    if reference_value.truth.status != "ok":
        return None
    (answer,) = target.answer(question)
    got = answer.gradient.get(e)
    if answer.status != "ok" or got is None or np.shape(got) != (trips,):
        return None
    expected = reference_value.truth.gradient[e]
    return Adjoints(carry, tuple(expected.tolist()), tuple(np.asarray(got, np.float64).tolist()))


def with_perturbed_carry(candidate: Candidate, carry: str, trips: int) -> tuple[Candidate, str]:
    """The candidate with an input of zeros, one entry added to the carry per iteration; and its name.

    A scalar is added to every entry of an array: the derivative by it is the sum of theirs.
    """
    program = candidate.program
    loop = only_loop(program)
    assert loop is not None, "a loop has a carry"
    e = fresh_name(program, ("e", "eps", "e"))
    before: tuple[Stmt, ...] = ()
    if isinstance(loop, For):
        body = (_added(carry, e, loop.target), *loop.body)
    else:
        trip = fresh_name(program, ("k", "trip", "k"), besides=e)
        count = Assign(trip, call("add", Name(trip), Const(1)))
        before, body = (Assign(trip, Const(0)),), (_added(carry, e, trip), count, *loop.body)
    changed = with_loop(program, loop, (*before, replace(loop, body=body)))
    program = Program(program.name, (*program.params, Param(e, Type("float", (trips,)))), changed.body)
    inputs = {**candidate.inputs, e: np.zeros(trips, candidate.precision)}
    directions = {**candidate.directions, e: np.ones(trips)}
    wrt = (*candidate.wrt, e)
    return replace(candidate, program=program, inputs=inputs, wrt=wrt, directions=directions), e


def _added(carry: str, e: str, trip: str) -> Assign:
    entry = Call("index", (Name(e), Name(trip)), (("pattern", ("at",)),))
    return Assign(carry, call("add", Name(carry), entry))
