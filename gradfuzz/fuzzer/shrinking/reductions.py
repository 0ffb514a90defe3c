"""Smaller candidates: everything that shrinking tries, simplest result first.

A reduction proposes candidates. Most of them mean something else than the program they come from, and many do
not type-check. The driver keeps only those that are still interesting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from gradfuzz.fuzzer.questions.candidate import Candidate, Draft
from gradfuzz.fuzzer.questions.rewrite import block_edits, expression_edits, rename, substitute
from gradfuzz.fuzzer.shrinking.point_reductions import fewer_points, plainer_companions, shared_inputs
from gradfuzz.fuzzer.shrinking.shape_reductions import fewer_axes, plainer_parameters, shorter_axes
from gradfuzz.oracles.base import Array
from gradfuzz.programs.language.ops import OPS
from gradfuzz.programs.language.syntax import (
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
    Param,
    Program,
    Repeat,
    Return,
    Stmt,
    While,
    walk,
)
from gradfuzz.programs.language.types import FLOAT

Reduction = Callable[[Candidate], Iterator[Draft]]

PLAIN_FLOATS = (0.5, 2.0, 1.5, 0.25, 3.0, 1.0, 0.75, -0.5, -2.0, -1.5, 0.0, -1.0)
"""Inputs, the plainest first. 1 and -1 come late: too many wrong derivatives are right there."""

_PLAIN_CONSTANTS = (1.0, 2.0, 0.5, 3.0, -1.0, 0.0)
_TRIPS = (1, 2, 3)


def plainness(value: float, plain: tuple[float, ...] = PLAIN_FLOATS) -> tuple[int, int]:
    """How plain a number is, plainest lowest: its place among the plain ones, else its number of digits."""
    if value in plain:
        return 0, plain.index(value)
    return 1, len(repr(float(value)))


def _edited(candidate: Candidate, blocks: Iterator[Block]) -> Iterator[Program]:
    for body in blocks:
        if body and isinstance(body[-1], Return):
            yield replace(candidate.program, body=body)


# Statements -------------------------------------------------------------------------------------------------


def _without_statements(candidate: Candidate) -> Iterator[Draft]:
    """One statement less. Of a loop or a branch, first all of it, then only what is around its body."""

    def delete(block: Block) -> Iterator[Block]:
        for k, statement in enumerate(block):
            if isinstance(statement, Return):
                continue
            yield (*block[:k], *block[k + 1 :])
            for body in _bodies(statement):
                yield (*block[:k], *body, *block[k + 1 :])

    yield from _edited(candidate, block_edits(candidate.program.body, delete))


def _bodies(statement: Stmt) -> Iterator[Block]:
    if isinstance(statement, If):
        yield statement.body
        yield statement.orelse
    elif isinstance(statement, For) and not _escapes(statement.body):
        yield substitute(statement.body, statement.target, Const(0))
    elif isinstance(statement, (While, Repeat)) and not _escapes(statement.body):
        yield statement.body


def _escapes(block: Block) -> bool:
    """Whether a break or continue in `block` belongs to the loop around it."""
    for statement in block:
        if isinstance(statement, (Break, Continue)):
            return True
        if isinstance(statement, If) and (_escapes(statement.body) or _escapes(statement.orelse)):
            return True
    return False


def _flattened(candidate: Candidate) -> Iterator[Draft]:
    """A loop or branch replaced by its body, and an assigned constant replaced by a parameter.

    The latter because the loop may only have made a variable vary.
    """
    params = [Name(p.name) for p in candidate.program.params if p.type == FLOAT]

    def flatten(block: Block) -> Iterator[Block]:
        for k, statement in enumerate(block):
            for body in _bodies(statement):
                yield (*block[:k], *body, *block[k + 1 :])

    def vary(block: Block) -> Iterator[Block]:
        for k, statement in enumerate(block):
            if (
                isinstance(statement, Assign)
                and isinstance(statement.value, Const)
                and isinstance(statement.value.value, float)
            ):
                for param in params:
                    yield (*block[:k], replace(statement, value=param), *block[k + 1 :])

    for flat in block_edits(candidate.program.body, flatten):
        yield from _edited(candidate, block_edits(flat, vary))


def _inlined(candidate: Candidate) -> Iterator[Draft]:
    """A temporary replaced by its value wherever the rest of its block reads it."""

    def inline(block: Block) -> Iterator[Block]:
        for k, statement in enumerate(block):
            if isinstance(statement, Assign):
                yield (*block[:k], *substitute(block[k + 1 :], statement.target, statement.value))

    yield from _edited(candidate, block_edits(candidate.program.body, inline))


def _loop_forms(candidate: Candidate) -> Iterator[Draft]:
    """Loops as `for` with few iterations, then as `while`. A counter of the program becomes the loop's."""
    names = {n.target for n in walk(candidate.program) if isinstance(n, (Assign, For))} | {
        p.name for p in candidate.program.params
    }
    fresh = next(f"k{n}" for n in range(len(names) + 1) if f"k{n}" not in names)

    def simpler(block: Block) -> Iterator[Block]:
        for k, loop in enumerate(block):
            if not isinstance(loop, (While, Repeat)):
                continue
            before, after = block[:k], block[k + 1 :]
            for trips in _TRIPS:
                for counter in _counters(loop.body):
                    own = _without_assignments(before, counter), _without_assignments(loop.body, counter)
                    yield (*own[0], For(counter, Const(trips), own[1]), *after)
                yield (*before, For(fresh, Const(trips), loop.body), *after)
            if isinstance(loop, Repeat):
                yield (*before, While(loop.condition, loop.body), *after)

    yield from _edited(candidate, block_edits(candidate.program.body, simpler))


def _counters(body: Block) -> list[str]:
    """Names that `body` steps, as in `i = i + 1`."""
    return [
        s.target
        for s in body
        if isinstance(s, Assign)
        and isinstance(s.value, Call)
        and s.value.op == "add"
        and s.value.args == (Name(s.target), Const(1))
    ]


def _without_assignments(block: Block, name: str) -> Block:
    return tuple(s for s in block if not (isinstance(s, Assign) and s.target == name))


def _fewer_trips(candidate: Candidate) -> Iterator[Draft]:
    def fewer(block: Block) -> Iterator[Block]:
        for k, loop in enumerate(block):
            if not isinstance(loop, For):
                continue
            now = loop.count.value if isinstance(loop.count, Const) else None
            options = [*_TRIPS, now // 2, now - 1] if isinstance(now, int) else [*_TRIPS]
            for trips in options:
                if not isinstance(now, int) or 0 < trips < now:
                    yield (*block[:k], replace(loop, count=Const(trips)), *block[k + 1 :])

    yield from _edited(candidate, block_edits(candidate.program.body, fewer))


# Expressions ------------------------------------------------------------------------------------------------


def _smaller_expressions(candidate: Candidate) -> Iterator[Draft]:
    """A call replaced by one of its operands, a name inside it, or a constant."""

    def smaller(e: Expr) -> Iterator[Expr]:
        if not isinstance(e, Call):
            return
        yield from e.args
        yield from dict.fromkeys(
            n for a in e.args for n in walk(a) if isinstance(n, Name) and n not in e.args
        )
        yield from (Const(1.0), Const(2.0), Const(0.5))
        if OPS[e.op].kind in ("comparison", "logic"):
            yield from (Const(True), Const(False))
        elif _whole(e):
            yield from (Const(1), Const(2))

    yield from _edited(candidate, expression_edits(candidate.program.body, smaller))


def _whole(e: Expr) -> bool:
    """Whether an expression may be an int: counters and conditions without a float constant."""
    return not any(isinstance(n, Const) and isinstance(n.value, float) for n in walk(e))


def _fewer_names(candidate: Candidate) -> Iterator[Draft]:
    """A name replaced by a constant or by a parameter before it."""
    params = [Name(p.name) for p in candidate.program.params if p.type.is_float]

    def fewer(e: Expr) -> Iterator[Expr]:
        if isinstance(e, Name):
            yield from (Const(1.0), Const(2.0), Const(0.5), Const(1))
            yield from (p for p in params if p != e)

    yield from _edited(candidate, expression_edits(candidate.program.body, fewer))


_PLAIN_OPS: Mapping[int, tuple[str, ...]] = {1: ("sin",), 2: ("multiply", "add", "subtract")}
"""By the number of arguments, the plainest first."""


def _plainer_ops(candidate: Candidate) -> Iterator[Draft]:
    def plainer(e: Expr) -> Iterator[Expr]:
        if isinstance(e, Call) and OPS[e.op].kind in ("arithmetic", "function", "selection"):
            options = _PLAIN_OPS.get(len(e.args), ())
            for op in options[: options.index(e.op)] if e.op in options else options:
                yield Call(op, e.args)

    yield from _edited(candidate, expression_edits(candidate.program.body, plainer))


def _plainer_constants(candidate: Candidate) -> Iterator[Draft]:
    def plainer(e: Expr) -> Iterator[Expr]:
        if not isinstance(e, Const) or isinstance(e.value, bool):
            return
        if isinstance(e.value, int):
            yield from (Const(n) for n in (0, 1, 2, e.value // 2, e.value - 1) if abs(n) < abs(e.value))
        else:
            yield from (
                Const(v)
                for v in _PLAIN_CONSTANTS
                if plainness(v, _PLAIN_CONSTANTS) < plainness(e.number, _PLAIN_CONSTANTS)
            )

    yield from _edited(candidate, expression_edits(candidate.program.body, plainer))


# Signature --------------------------------------------------------------------------------------------------


def _fewer_outputs(candidate: Candidate) -> Iterator[Draft]:
    values = candidate.program.result.values
    if len(values) == 1:
        return
    for k in range(len(values)):
        for kept in ((k,), tuple(j for j in range(len(values)) if j != k)):
            body = (*candidate.program.body[:-1], Return(tuple(values[j] for j in kept)))
            weights = tuple(candidate.weights[j] for j in kept)
            yield replace(candidate, program=replace(candidate.program, body=body), weights=weights)


def _fewer_params(candidate: Candidate) -> Iterator[Draft]:
    """A parameter dropped, or made a constant; fewer parameters differentiated."""
    program = candidate.program
    for k, param in enumerate(program.params):
        if candidate.wrt == (param.name,):
            continue
        rest = program.params[:k] + program.params[k + 1 :]
        yield replace(program, params=rest)
        for other in rest:
            if other.type == param.type:
                yield Program(program.name, rest, substitute(program.body, param.name, Name(other.name)))
        for value in _as_constants(param, candidate.inputs[param.name]):
            yield Program(program.name, rest, substitute(program.body, param.name, value))
    if len(candidate.wrt) > 1:
        for name in candidate.wrt:
            yield replace(
                candidate,
                wrt=(name,),
                directions={k: v for k, v in candidate.directions.items() if k == name},
            )
        for name in candidate.wrt:
            kept = tuple(n for n in candidate.wrt if n != name)
            yield replace(
                candidate, wrt=kept, directions={k: v for k, v in candidate.directions.items() if k in kept}
            )


def _as_constants(param: Param, value: Array) -> Iterator[Expr]:
    if param.type.shape:
        return
    if param.type.dtype == "float":
        yield from (Const(1.0), Const(2.0), Const(0.5))
    yield Const(value.item())


# Numbers ----------------------------------------------------------------------------------------------------


def _plainer_inputs(candidate: Candidate) -> Iterator[Draft]:
    for param in candidate.program.params:
        value = candidate.inputs[param.name]
        options: tuple[Any, ...]
        if param.type.dtype == "float":
            options = PLAIN_FLOATS
        elif param.type.dtype == "int":
            options = (1, 2, 3, 0)
        else:
            options = (True, False)
        whole = [np.full_like(value, v) for v in options]
        if value.size > 1:
            whole.append(
                np.resize(
                    np.array(PLAIN_FLOATS if param.type.dtype == "float" else options), value.shape
                ).astype(value.dtype)
            )
        for whole_value in whole:
            yield candidate.with_input(param.name, whole_value)
        for k, entry in enumerate(value.ravel().tolist()):
            more = (
                [round(entry, digits) for digits in (0, 1, 2, 3)]
                if isinstance(entry, float) and np.isfinite(entry)
                else []
            )
            for v in [*(options if value.size > 1 else ()), *more]:
                changed = value.copy()
                changed.reshape(-1)[k] = v
                yield candidate.with_input(param.name, changed)


def _plainer_weights(candidate: Candidate) -> Iterator[Draft]:
    """All weights and directions 1, then only those of one output or input."""
    yield candidate.mapped(np.ones_like)
    for k, weight in enumerate(candidate.weights):
        if weight is not None:
            yield replace(
                candidate, weights=(*candidate.weights[:k], np.ones_like(weight), *candidate.weights[k + 1 :])
            )
    for name, direction in candidate.directions.items():
        yield replace(candidate, directions={**candidate.directions, name: np.ones_like(direction)})


REDUCTIONS: tuple[Reduction, ...] = (
    fewer_points,
    _fewer_outputs,
    _without_statements,
    _fewer_params,
    shared_inputs,
    fewer_axes,
    shorter_axes,
    _loop_forms,
    _fewer_trips,
    _smaller_expressions,
    _inlined,
    _flattened,
    _fewer_names,
    _plainer_ops,
    plainer_parameters,
    _plainer_constants,
    _plainer_inputs,
    plainer_companions,
    _plainer_weights,
)
"""In the order in which they are tried: those that remove most come first."""


# Names ------------------------------------------------------------------------------------------------------


def canonical_names(candidate: Candidate) -> Candidate:
    """The same program as f(x, y, ...) with carries acc, b, ..., counters i, j, ..., other names t, u, ..."""
    program = candidate.program
    names: dict[str, str] = {}
    pools = {
        "param": iter(["x", "y", "z", "w", *(f"x{n}" for n in range(5, 100))]),
        "counter": iter(["i", "j", "k", *(f"i{n}" for n in range(4, 100))]),
        "carry": iter(["acc", "b", "c", "d", *(f"c{n}" for n in range(5, 100))]),
        "other": iter(["t", "u", "v", *(f"t{n}" for n in range(4, 100))]),
    }
    for param in program.params:
        names[param.name] = next(pools["param"])
    counters = {s.target for s in walk(program) if isinstance(s, For)}
    counters |= {n for s in walk(program) if isinstance(s, (While, Repeat)) for n in _counters(s.body)}
    looped = {
        s.target
        for loop in walk(program)
        if isinstance(loop, (While, Repeat, For))
        for s in walk(loop.body)
        if isinstance(s, Assign)
    }
    outside = {s.target for s in program.body if isinstance(s, Assign)}
    for node in walk(program):
        if isinstance(node, (Assign, For)) and node.target not in names:
            role = (
                "counter"
                if node.target in counters
                else "carry"
                if node.target in looped & outside
                else "other"
            )
            names[node.target] = next(pools[role])
    return candidate.renamed(rename(program, names, "f"), names)
