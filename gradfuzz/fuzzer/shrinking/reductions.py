"""Smaller candidates: everything that shrinking tries, simplest result first.

A reduction proposes candidates. Most of them mean something else than the program they come from, and many do
not type-check. The driver keeps only those that are still interesting.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from gradfuzz.fuzzer.questions.axes import removed, spliced
from gradfuzz.fuzzer.questions.candidate import Candidate, Draft
from gradfuzz.fuzzer.questions.loop_forms import Loop
from gradfuzz.fuzzer.questions.rewrite import ExprRewrite, block_edits, expression_edits, rename, substitute
from gradfuzz.fuzzer.shrinking.point_reductions import fewer_points, plainer_companions, shared_inputs
from gradfuzz.fuzzer.shrinking.shape_reductions import fewer_axes, shorter_axes
from gradfuzz.oracles.base import Array
from gradfuzz.programs.language.ops import OPS
from gradfuzz.programs.language.program import Program, walk
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
    Repeat,
    Return,
    Stmt,
    While,
)
from gradfuzz.programs.language.types import FLOAT

Reduction = Callable[[Candidate], Iterator[Draft]]

PLAIN_FLOATS = (0.5, 2.0, 1.5, 0.25, 3.0, 1.0, 0.75, -0.5, -2.0, -1.5, 0.0, -1.0)
"""Inputs, the plainest first. 1 and -1 come late: too many wrong derivatives are right there."""

PLAIN_CONSTANTS = (1.0, 2.0, 0.5, 3.0, -1.0, 0.0)
_SIMPLE = (Const(1.0), Const(2.0), Const(0.5))
_TRIPS = (1, 2, 3)


def plainness(value: float, plain: tuple[float, ...] = PLAIN_FLOATS) -> int:
    """How plain a number is, plainest lowest: its place among the plain ones, else 100 and its digits."""
    return plain.index(value) if value in plain else 100 + len(repr(float(value)))


def _edited(candidate: Candidate, blocks: Iterator[Block]) -> Iterator[Program]:
    for body in blocks:
        if body and isinstance(body[-1], Return):
            yield replace(candidate.program, body=body)


def _of_statements(rewrite: Callable[[Stmt], Iterable[Block]]) -> Reduction:
    """The reduction that puts what `rewrite` gives in the place of one statement, at any depth."""
    edits = _in_place(rewrite)
    return lambda candidate: _edited(candidate, block_edits(candidate.program.body, edits))


def _in_place(rewrite: Callable[[Stmt], Iterable[Block]]) -> Callable[[Block], Iterator[Block]]:
    def edits(block: Block) -> Iterator[Block]:
        for k, statement in enumerate(block):
            for instead in rewrite(statement):
                yield spliced(block, k, *instead)

    return edits


def _of_expressions(rewrite: ExprRewrite) -> Reduction:
    """The reduction that puts what `rewrite` gives in the place of one expression, at any depth."""
    return lambda candidate: _edited(candidate, expression_edits(candidate.program.body, rewrite))


# Statements -------------------------------------------------------------------------------------------------


@_of_statements
def _without_statements(statement: Stmt) -> Iterator[Block]:
    """One statement less. Of a loop or a branch, first all of it, then only what is around its body."""
    if not isinstance(statement, Return):
        yield ()
        yield from _bodies(statement)


def _bodies(statement: Stmt) -> Iterator[Block]:
    if isinstance(statement, If):
        yield statement.body
        yield statement.orelse
    elif isinstance(statement, Loop) and not _escapes(statement.body):
        body = statement.body
        yield substitute(body, statement.target, Const(0)) if isinstance(statement, For) else body


def _escapes(block: Block) -> bool:
    """Whether a break or continue in `block` belongs to the loop around it."""
    branches = [(*s.body, *s.orelse) for s in block if isinstance(s, If)]
    return any(isinstance(s, (Break, Continue)) for s in block) or any(map(_escapes, branches))


def _flattened(candidate: Candidate) -> Iterator[Draft]:
    """A loop or branch replaced by its body, and an assigned constant replaced by a parameter.

    The latter because the loop may only have made a variable vary.
    """
    params = [Name(p.name) for p in candidate.program.params if p.type == FLOAT]

    def vary(s: Stmt) -> Iterator[Block]:
        if isinstance(s, Assign) and isinstance(s.value, Const) and isinstance(s.value.value, float):
            yield from ((replace(s, value=param),) for param in params)

    for flat in block_edits(candidate.program.body, _in_place(_bodies)):
        yield from _edited(candidate, block_edits(flat, _in_place(vary)))


def _inlined(candidate: Candidate) -> Iterator[Draft]:
    """A temporary replaced by its value wherever the rest of its block reads it."""

    def inline(block: Block) -> Iterator[Block]:
        for k, statement in enumerate(block):
            if isinstance(statement, Assign):
                yield (*block[:k], *substitute(block[k + 1 :], statement.target, statement.value))

    yield from _edited(candidate, block_edits(candidate.program.body, inline))


def _loop_forms(candidate: Candidate) -> Iterator[Draft]:
    """Loops as `for` with few iterations, then as `while`. A counter of the program becomes the loop's."""
    program = candidate.program
    names = {n.target for n in walk(program) if isinstance(n, (Assign, For))}
    names |= {p.name for p in program.params}
    fresh = next(f"k{n}" for n in range(len(names) + 1) if f"k{n}" not in names)

    def simpler(block: Block) -> Iterator[Block]:
        for k, loop in enumerate(block):
            if not isinstance(loop, (While, Repeat)):
                continue
            for trips in _TRIPS:
                for counter in _counters(loop.body):
                    before = _without_assignments(block[:k], counter)
                    body = _without_assignments(loop.body, counter)
                    yield (*before, For(counter, Const(trips), body), *block[k + 1 :])
                yield spliced(block, k, For(fresh, Const(trips), loop.body))
            if isinstance(loop, Repeat):
                yield spliced(block, k, While(loop.condition, loop.body))

    yield from _edited(candidate, block_edits(program.body, simpler))


def _counters(body: Block) -> list[str]:
    """Names that `body` steps, as in `i = i + 1`."""
    steps = [s for s in body if isinstance(s, Assign)]
    return [s.target for s in steps if s.value == Call("add", (Name(s.target), Const(1)))]


def _without_assignments(block: Block, name: str) -> Block:
    return tuple(s for s in block if not (isinstance(s, Assign) and s.target == name))


@_of_statements
def _fewer_trips(loop: Stmt) -> Iterator[Block]:
    if not isinstance(loop, For):
        return
    now = loop.count.value if isinstance(loop.count, Const) else None
    options = [*_TRIPS, now // 2, now - 1] if isinstance(now, int) else _TRIPS
    for trips in options:
        if not isinstance(now, int) or 0 < trips < now:
            yield (replace(loop, count=Const(trips)),)


# Expressions ------------------------------------------------------------------------------------------------


@_of_expressions
def _smaller_expressions(e: Expr) -> Iterator[Expr]:
    """A call replaced by one of its operands, a name inside it, or a constant."""
    if not isinstance(e, Call):
        return
    yield from e.args
    inner = (n for a in e.args for n in walk(a) if isinstance(n, Name) and n not in e.args)
    yield from dict.fromkeys(inner)
    yield from _SIMPLE
    if OPS[e.op].kind in ("comparison", "logic"):
        yield from (Const(True), Const(False))
    elif not any(isinstance(n, Const) and isinstance(n.value, float) for n in walk(e)):
        # It may be an int: counters and conditions have no float constant.
        yield from (Const(1), Const(2))


def _fewer_names(candidate: Candidate) -> Iterator[Draft]:
    """A name replaced by a constant or by a parameter before it."""
    params = [Name(p.name) for p in candidate.program.params if p.type.is_float]

    def fewer(e: Expr) -> Iterator[Expr]:
        if isinstance(e, Name):
            yield from (*_SIMPLE, Const(1))
            yield from (p for p in params if p != e)

    yield from _edited(candidate, expression_edits(candidate.program.body, fewer))


_PLAIN_OPS: Mapping[int, tuple[str, ...]] = {1: ("sin",), 2: ("multiply", "add", "subtract")}
"""By the number of arguments, the plainest first."""


@_of_expressions
def _plainer_ops(e: Expr) -> Iterator[Expr]:
    if isinstance(e, Call) and OPS[e.op].kind in ("arithmetic", "function", "selection"):
        options = _PLAIN_OPS.get(len(e.args), ())
        for op in options[: options.index(e.op)] if e.op in options else options:
            yield Call(op, e.args)


@_of_expressions
def _plainer_parameters(e: Expr) -> Iterator[Expr]:
    """An op's parameter at its default, an axis 0, or one entry of a window, stride or padding smaller."""
    if not isinstance(e, Call):
        return
    defaults = dict(OPS[e.op].params)
    for k, (name, value) in enumerate(e.params):
        options: list[Any] = [] if defaults[name] in (..., value) else [defaults[name]]
        if name == "axis" and value not in (0, None):
            options.append(0)
        elif name in ("window", "strides", "padding") and isinstance(value, tuple):
            options += _smaller(value)
        yield from (replace(e, params=spliced(e.params, k, (name, option))) for option in options)


def _smaller(value: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    for k, entry in enumerate(value):
        if isinstance(entry, int) and entry > 1:
            yield spliced(value, k, entry - 1)
        elif isinstance(entry, tuple) and any(entry):
            yield spliced(value, k, (0, 0))


@_of_expressions
def _plainer_constants(e: Expr) -> Iterator[Expr]:
    if not isinstance(e, Const) or isinstance(e.value, bool):
        return
    if isinstance(e.value, int):
        yield from (Const(n) for n in (0, 1, 2, e.value // 2, e.value - 1) if abs(n) < abs(e.value))
    else:
        now = plainness(e.number, PLAIN_CONSTANTS)
        yield from (Const(v) for v in PLAIN_CONSTANTS if plainness(v, PLAIN_CONSTANTS) < now)


# Signature --------------------------------------------------------------------------------------------------


def _fewer_outputs(candidate: Candidate) -> Iterator[Draft]:
    program, values = candidate.program, candidate.program.result.values
    places = range(len(values))
    if len(values) == 1:
        return
    for k in places:
        for kept in ((k,), removed(tuple(places), k)):
            body = (*program.body[:-1], Return(tuple(values[j] for j in kept)))
            weights = tuple(candidate.weights[j] for j in kept)
            yield replace(candidate, program=replace(program, body=body), weights=weights)


def _fewer_params(candidate: Candidate) -> Iterator[Draft]:
    """A parameter dropped, or made a constant; fewer parameters differentiated."""
    program, wrt = candidate.program, candidate.wrt
    for k, param in enumerate(program.params):
        if wrt == (param.name,):
            continue
        rest = removed(program.params, k)
        yield replace(program, params=rest)
        others = [Name(other.name) for other in rest if other.type == param.type]
        for value in (*others, *_as_constants(param, candidate.inputs[param.name])):
            yield Program(program.name, rest, substitute(program.body, param.name, value))
    if len(wrt) > 1:
        for kept in (*((name,) for name in wrt), *(removed(wrt, k) for k in range(len(wrt)))):
            directions = {name: v for name, v in candidate.directions.items() if name in kept}
            yield replace(candidate, wrt=kept, directions=directions)


def _as_constants(param: Param, value: Array) -> Iterator[Expr]:
    if param.type.shape:
        return
    if param.type.dtype == "float":
        yield from _SIMPLE
    yield Const(value.item())


# Numbers ----------------------------------------------------------------------------------------------------

_PLAIN: Mapping[str, tuple[Any, ...]] = {"float": PLAIN_FLOATS, "int": (1, 2, 3, 0), "bool": (True, False)}


def _plainer_inputs(candidate: Candidate) -> Iterator[Draft]:
    for param in candidate.program.params:
        value = candidate.inputs[param.name]
        options = _PLAIN[param.type.dtype]
        for option in options:
            yield candidate.with_input(param.name, np.full_like(value, option))
        if value.size > 1:
            yield candidate.with_input(param.name, np.resize(options, value.shape).astype(value.dtype))
        for k, entry in enumerate(value.ravel().tolist()):
            rounded = isinstance(entry, float) and np.isfinite(entry)
            digits = (0, 1, 2, 3) if rounded else ()
            for v in (*(options if value.size > 1 else ()), *(round(entry, n) for n in digits)):
                changed = value.copy()
                changed.reshape(-1)[k] = v
                yield candidate.with_input(param.name, changed)


def _plainer_weights(candidate: Candidate) -> Iterator[Draft]:
    """All weights and directions 1, then only those of one output or input."""
    yield candidate.mapped(np.ones_like)
    for k, weight in enumerate(candidate.weights):
        if weight is not None:
            yield replace(candidate, weights=spliced(candidate.weights, k, np.ones_like(weight)))
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
    _plainer_parameters,
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
    params = _names("x y z w", "x")
    counted, carried, others = _names("i j k", "i"), _names("acc b c d", "c"), _names("t u v", "t")
    names = {param.name: next(params) for param in program.params}
    loops = [n for n in walk(program) if isinstance(n, Loop)]
    counters = {loop.target for loop in loops if isinstance(loop, For)}
    counters |= {n for loop in loops if not isinstance(loop, For) for n in _counters(loop.body)}
    looped = {s.target for loop in loops for s in walk(loop.body) if isinstance(s, Assign)}
    carries = looped & {s.target for s in program.body if isinstance(s, Assign)}
    for node in walk(program):
        if isinstance(node, (Assign, For)) and node.target not in names:
            pool = counted if node.target in counters else carried if node.target in carries else others
            names[node.target] = next(pool)
    return candidate.renamed(rename(program, names, "f"), names)


def _names(first: str, then: str) -> Iterator[str]:
    """The `first` names, then numbered ones."""
    known = first.split()
    return itertools.chain(known, (f"{then}{n}" for n in itertools.count(len(known) + 1)))
