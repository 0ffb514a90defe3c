"""The ways in which programs use an op, and draws that visit them all soon.

A derivative rule has branches: a sum over the axes that were broadcast, one formula for tall and one for wide
matrices, a case for each value of a parameter. A branch runs only if a program uses the op in its way.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterator, Set
from typing import TypeVar

from gradfuzz.programs.language.program import Program, walk
from gradfuzz.programs.language.syntax import ArrayConst, Call, Const, For, ParamValue, While
from gradfuzz.programs.language.typecheck import expression_type, typecheck
from gradfuzz.programs.language.types import Type

T = TypeVar("T")

Usage = tuple[str, ...]
"""One fact about a call, or two that are so of the same call."""


def usages(program: Program, op: str) -> frozenset[Usage]:
    """How a program uses an op: facts about each of its calls, alone and in pairs."""
    variables = typecheck(program).variables
    loops = [node for node in walk(program) if isinstance(node, (For, While))]
    inside = {id(node) for loop in loops for node in walk(loop)}
    found: set[Usage] = set()
    for call in walk(program):
        if isinstance(call, Call) and call.op == op:
            types = [expression_type(argument, variables) for argument in call.args]
            facts = set(_facts(call, types, expression_type(call, variables)))
            facts.add("in a loop" if id(call) in inside else "alone")
            found.update((fact,) for fact in facts)
            found.update(itertools.combinations(sorted(facts), 2))
    return frozenset(found)


def _facts(call: Call, types: list[Type], result: Type) -> Iterator[str]:
    rank = types[0].rank if types else 0
    for name, value in call.params:
        yield f"{name} {_parameter(name, value, rank)}"
    for k, (argument, type_) in enumerate(zip(call.args, types, strict=True)):
        yield f"operand {k} {_shape(type_.sizes)}"
        if isinstance(argument, (Const, ArrayConst)):
            yield f"operand {k} constant"
        elif len(types) > 1 and type_.shape != result.shape:
            yield f"operand {k} unlike the result"


def _parameter(name: str, value: ParamValue, rank: int) -> str:
    """A parameter's value; of shapes, permutations and patterns only that there is one."""
    if isinstance(value, int) and not isinstance(value, bool) and name == "axis" and rank:
        place = value % rank
        return "last" if place == rank - 1 else "first" if place == 0 else "between"
    if isinstance(value, tuple):
        return f"of {len(value)}"
    return str(value)


def _shape(sizes: tuple[int, ...]) -> str:
    if len(sizes) < 2:
        return "scalar" if not sizes else "empty" if sizes == (0,) else "vector"
    rows, columns = sizes[-2:]
    form = "square" if rows == columns else "tall" if rows > columns else "wide"
    return ("empty " if 0 in sizes else "") + ("stack of " if len(sizes) > 2 else "") + form


def most_varied(stream: Iterator[T], features: Callable[[T], Set[Hashable]], pool: int) -> Iterator[T]:
    """Draws of a stream, those first that have the most features which none before had.

    Of each `pool` draws one is yielded at least; the others only while they bring something new.
    """
    seen: set[Hashable] = set()
    while waiting := [(draw, features(draw)) for draw in itertools.islice(stream, pool)]:
        fresh = True
        while waiting:
            best = max(range(len(waiting)), key=lambda k: len(waiting[k][1] - seen))
            draw, own = waiting.pop(best)
            if not fresh and own <= seen:
                break
            fresh = False
            seen |= own
            yield draw
