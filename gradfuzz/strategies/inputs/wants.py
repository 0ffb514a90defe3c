"""What a program requires of its inputs: domains, structures, and bounds of ints."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from gradfuzz.programs import OPS, Assign, Call, Name, Program, typecheck, walk
from gradfuzz.programs.language.program import names_in
from gradfuzz.programs.language.syntax import Expr
from gradfuzz.programs.language.typecheck import expression_type
from gradfuzz.strategies.inputs.array import Domain
from gradfuzz.strategies.inputs.matrix import Structure

_STRONGEST: tuple[Structure, ...] = ("spd", "lower", "upper", "symmetric", "general")
"""A matrix that several ops read gets the first structure that one of them needs: it suits all of them."""


@dataclass(frozen=True, slots=True)
class Wants:
    """The requirements by parameter name. A parameter without an entry may be anything."""

    domains: Mapping[str, Domain]
    """Float scalars that the program divides by, or passes directly to log, sqrt or pow."""
    structures: Mapping[str, Structure]
    """Matrices, or stacks of them, that ops of linear algebra read, directly or after other ops."""
    below: Mapping[str, int]
    """Ints that are indices, with the length of the axis they index."""
    most_trips: int | None
    """The largest trip count that stays inside the arrays indexed by counters."""


@functools.lru_cache(maxsize=64)
def wants_of(program: Program) -> Wants:
    """The requirements, read off the statements without running them."""
    assigned = {s.target for s in walk(program) if isinstance(s, Assign)}
    free = {p.name for p in program.params if p.type.is_float and not p.type.shape} - assigned
    domains: dict[str, Domain] = {}
    for node in walk(program):
        if not isinstance(node, Call):
            continue
        if node.op in ("log", "sqrt", "pow"):
            _restrict(domains, node.args[0], free, "positive")
        elif node.op == "divide":
            _restrict(domains, node.args[1], free, "nonzero")
        elif node.op == "integer_pow" and cast("int", node.param("n")) < 0:
            _restrict(domains, node.args[0], free, "nonzero")
    below, most = _ints(program)
    return Wants(domains, _structures(program), below, most)


def _restrict(domains: dict[str, Domain], argument: object, free: set[str], domain: Domain) -> None:
    if isinstance(argument, Name) and argument.id in free and domains.get(argument.id) != "positive":
        domains[argument.id] = domain


def _ints(program: Program) -> tuple[dict[str, int], int | None]:
    """Upper bounds of the ints that are indices, and the most trips where other names are indices."""
    ints = {p.name for p in program.params if p.type.dtype == "int"}
    places = [place for node in walk(program) if isinstance(node, Call) for place in _places(node)]
    if not ints or not places:
        return {}, None
    types = typecheck(program).variables
    below: dict[str, int] = {}
    most: int | None = None
    for array, axis, name in places:
        length = expression_type(array, types).sizes[axis]
        if name in ints:
            below[name] = min(below.get(name, length), length)
        else:
            most = length if most is None else min(most, length)
    return below, most


def _places(node: Call) -> list[tuple[Expr, int, str]]:
    """The arrays that a call indexes by a name, each with the axis."""
    if node.op in ("index", "index_update"):
        indices = iter(node.args[1 if node.op == "index" else 2 :])
        pattern = cast("tuple[object, ...]", node.param("pattern"))
        found = [(node.args[0], axis, next(indices)) for axis, entry in enumerate(pattern) if entry == "at"]
    else:
        found = [(node.args[0], cast("int", node.param("axis")), node.args[k]) for k in OPS[node.op].indices]
    return [(array, axis, index.id) for array, axis, index in found if isinstance(index, Name)]


def _structures(program: Program) -> dict[str, Structure]:
    """The structures of the parameters, found by following each matrix through the assignments."""
    calls = [
        n
        for n in walk(program)
        if isinstance(n, Call) and OPS[n.op].kind == "linalg" and n.op != "vector_norm"
    ]
    if not calls:
        return {}
    origins = {p.name: {p.name} for p in program.params if p.type.is_float and p.type.rank > 1}
    square = {p.name: p.type.shape[-1] == p.type.shape[-2] for p in program.params if p.name in origins}
    statements = [s for s in walk(program) if isinstance(s, Assign)]
    for _ in statements:  # a matrix passes through at most this many names
        for s in statements:
            origins.setdefault(s.target, set()).update(*(origins.get(name, ()) for name in names_in(s.value)))
    found: dict[str, Structure] = {}
    for call in calls:
        structure = _wanted(call)
        for name in {origin for read in names_in(call.args[0]) for origin in origins.get(read, ())}:
            fits = structure if square[name] else "general"
            found[name] = min(fits, found.get(name, fits), key=_STRONGEST.index)
    return found


def _wanted(call: Call) -> Structure:
    if OPS[call.op].domain == "positive definite":
        return "spd"
    if call.op == "triangular_solve":
        return "lower" if dict(call.params).get("lower", True) else "upper"
    return "symmetric" if call.op in ("eigh", "eigvalsh") else "general"
