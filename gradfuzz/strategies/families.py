"""The families of programs that a sweep draws from."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from hypothesis import strategies as st

from gradfuzz.programs.language.functions import FUNCTIONS
from gradfuzz.programs.language.ops import OPS
from gradfuzz.programs.language.precision import Precision
from gradfuzz.programs.language.program import Program, called, names_in, walk
from gradfuzz.programs.language.syntax import Assign, Call
from gradfuzz.strategies.complex.goals import COMPLEX_GOALS, complex_triggers
from gradfuzz.strategies.complex.program import complex_cases
from gradfuzz.strategies.complex.recipes import COMPLEX_RECIPES
from gradfuzz.strategies.drawing.dice import Draw
from gradfuzz.strategies.drawing.draw import draws
from gradfuzz.strategies.drawing.op_set import LOOP_OPS, ops_of
from gradfuzz.strategies.drawing.variety import most_varied, usages
from gradfuzz.strategies.function_program import function_cases, function_triggers
from gradfuzz.strategies.linalg.goals import MATRIX_GOALS, matrix_triggers
from gradfuzz.strategies.linalg.program import linalg_cases
from gradfuzz.strategies.linalg.recipes import WEIGHTS
from gradfuzz.strategies.loop.case import GeneratedCase, cases
from gradfuzz.strategies.loop.coverage import triggers
from gradfuzz.strategies.loop.goals import GOALS
from gradfuzz.strategies.loop.patterns import terms, updates
from gradfuzz.strategies.loop.program import loops, loops_about
from gradfuzz.strategies.tensor.goals import TENSOR_GOALS, tensor_triggers
from gradfuzz.strategies.tensor.program import tensor_cases
from gradfuzz.strategies.tensor.recipes import TENSOR_OPS
from gradfuzz.strategies.vectorize_program import VECTORIZE_GOALS, vectorize_cases, vectorize_triggers

Ops = Collection[str] | None
"""The ops to draw, where a family can be drawn by its ops; None: all."""


@dataclass(frozen=True, slots=True)
class Family:
    """How to draw the cases of a family, its goals, and which of them a case reaches."""

    cases: Callable[..., st.SearchStrategy[GeneratedCase]]
    """The cases in given precisions; a family with `turns` also takes the ops to draw, or None for all."""
    goals: tuple[str, ...]
    reached: Callable[[GeneratedCase], frozenset[str]]
    together: bool = False
    """Whether all points of a case are answered in one call."""
    shapes: bool = True
    """Whether the programs have arrays of many shapes."""
    turns: Collection[str] = ()
    """Ops that cases can be about; a sweep gives each its turn."""
    every: int = 2
    """One in this many cases is about the op whose turn it is; the others are about anything."""


_SLOPED = tuple(op for op in LOOP_OPS if OPS[op].kind not in ("comparison", "logic"))
"""The ops of loops that may have a derivative."""

_COMPLEX_OPS = tuple(dict.fromkeys(recipe.op for recipe in COMPLEX_RECIPES))


def _known(ops: Ops, vocabulary: Collection[str]) -> tuple[str, ...] | None:
    """Those of `ops` that a family knows; None, for all, where it knows none of them."""
    return None if ops is None else tuple(op for op in vocabulary if op in ops) or None


def _loop_cases(precisions: tuple[Precision, ...], ops: Ops = None) -> st.SearchStrategy[GeneratedCase]:
    """A further point costs far less than a further program, which must be compiled."""
    known = _known(ops, LOOP_OPS)
    programs = loops(ops=known) if known and updates(frozenset(known)).rows else None
    return cases(programs=programs, precisions=precisions, min_points=3, max_points=6)


@st.composite
def _having(draw: Draw, op: str, programs: st.SearchStrategy[Program]) -> Program:
    """The first of a few programs that applies the op to what depends on a parameter. Without one it is the
    first that has the op, or else the first.
    """
    found: list[Program] = []
    for _ in range(_REDRAWN):
        found.append(draw(programs))
        if _acts_on_parameters(found[-1], op):
            return found[-1]
    return next((program for program in found if op in called(program)), found[0])


def _acts_on_parameters(program: Program, op: str) -> bool:
    """Whether an operand of the op depends on a float parameter: of a constant no rule is asked."""
    depend = {p.name for p in program.params if p.type.is_float}
    assigned = [node for node in walk(program) if isinstance(node, Assign)]
    while more := {a.target for a in assigned if names_in(a.value) & depend} - depend:
        depend |= more
    calls = [node for node in walk(program) if isinstance(node, Call) and node.op == op]
    return any(names_in(operand) & depend for call in calls for operand in call.args)


_REDRAWN = 30
"""So many programs are drawn at most: of some ops only a pattern in fifty has them."""


def _loops_about(precisions: tuple[Precision, ...], op: str, ops: Ops) -> st.SearchStrategy[GeneratedCase]:
    """Loops of a few ops: they are quickly judged, and what they show is soon shrunk."""
    few = frozenset(name for name in (*_FEW, *_beside(op), op) if ops is None or name in ops)
    if not updates(few).rows:
        return _loop_cases(precisions, ops)
    programs = _having(op, loops_about(op, few))
    return cases(programs=programs, precisions=precisions, min_points=3, max_points=6)


_FEW = ("multiply", "add", "less", "sum", "index")
"""What every loop can do with: an update, a counter, an array read."""


@functools.cache
def _beside(op: str) -> tuple[str, ...]:
    """The other ops of the smallest pattern of an expression that has an op."""
    rows = (*terms(None, scalar=True).rows, *updates(None).rows)
    having = sorted((sorted(found) for _, option in rows if op in (found := ops_of(option))), key=len)
    return tuple(having[0]) if having else ()


def _linalg_cases(precisions: tuple[Precision, ...], ops: Ops = None) -> st.SearchStrategy[GeneratedCase]:
    return linalg_cases(ops=_known(ops, WEIGHTS), precisions=precisions)


def _tensor_cases(precisions: tuple[Precision, ...], ops: Ops = None) -> st.SearchStrategy[GeneratedCase]:
    return tensor_cases(ops=_known(ops, TENSOR_OPS), precisions=precisions)


def _complex_cases(precisions: tuple[Precision, ...], ops: Ops = None) -> st.SearchStrategy[GeneratedCase]:
    wide = tuple(p for p in precisions if p in ("float32", "float64")) or ("float64",)
    return complex_cases(ops=_known(ops, _COMPLEX_OPS), precisions=wide)


def _vectorize_cases(precisions: tuple[Precision, ...]) -> st.SearchStrategy[GeneratedCase]:
    return vectorize_cases(precisions=precisions)


def _function_cases(precisions: tuple[Precision, ...], ops: Ops = None) -> st.SearchStrategy[GeneratedCase]:
    return function_cases(ops=_known(ops, FUNCTIONS), precisions=precisions)


FAMILIES: dict[str, Family] = {
    "loops": Family(_loop_cases, tuple(g.name for g in GOALS), triggers, shapes=False, turns=_SLOPED),
    "linalg": Family(_linalg_cases, tuple(MATRIX_GOALS), matrix_triggers, turns=WEIGHTS),
    "tensor": Family(_tensor_cases, tuple(TENSOR_GOALS), tensor_triggers, turns=TENSOR_OPS),
    "complex": Family(_complex_cases, tuple(COMPLEX_GOALS), complex_triggers, turns=_COMPLEX_OPS),
    "vectorize": Family(_vectorize_cases, VECTORIZE_GOALS, vectorize_triggers, together=True),
    "elementwise": Family(
        _function_cases, tuple(FUNCTIONS), function_triggers, shapes=False, turns=FUNCTIONS, every=1
    ),
}
"""The families by name, the default first."""


def cases_of(
    family: str, precisions: tuple[Precision, ...], ops: Ops = None
) -> st.SearchStrategy[GeneratedCase]:
    """Cases of a family, of all ops or of `ops`, where it can be drawn by its ops."""
    row = FAMILIES[family]
    return row.cases(precisions) if ops is None or not row.turns else row.cases(precisions, ops)


def cases_about(
    family: str, precisions: tuple[Precision, ...], op: str, seed: str, ops: Ops = None
) -> Iterator[GeneratedCase]:
    """Cases of a family about one of its `turns`, of all ops or of `ops`, that use it in ever new ways."""
    if family == "loops":
        strategy, pool = _loops_about(precisions, op, ops), _POOL_OF_LOOPS
    else:
        strategy, pool = FAMILIES[family].cases(precisions, (op,)), _POOL
    drawn = itertools.islice(draws(strategy, seed), 1, None)
    return most_varied(drawn, lambda case: usages(case.program, op), pool)


_POOL, _POOL_OF_LOOPS = 16, 6
"""So many cases are drawn for the most varied of them. A loop takes ten times as long to draw."""
