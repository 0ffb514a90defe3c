"""The families of programs that a sweep draws from."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from gradfuzz.programs.language.functions import FUNCTIONS
from gradfuzz.programs.language.ops import OPS
from gradfuzz.programs.language.precision import Precision
from gradfuzz.programs.language.program import Program, called, walk
from gradfuzz.programs.language.syntax import Call
from gradfuzz.strategies.complex.goals import COMPLEX_GOALS, ComplexView
from gradfuzz.strategies.complex.program import OPS as COMPLEX_OPS
from gradfuzz.strategies.complex.program import complex_cases
from gradfuzz.strategies.drawing.dice import Draw
from gradfuzz.strategies.drawing.draw import draws
from gradfuzz.strategies.drawing.op_set import LOOP_OPS, ops_of
from gradfuzz.strategies.drawing.variety import most_varied, usages
from gradfuzz.strategies.function_program import function_cases, function_triggers
from gradfuzz.strategies.linalg.goals import MATRIX_GOALS, LinalgView
from gradfuzz.strategies.linalg.program import linalg_cases
from gradfuzz.strategies.linalg.recipes import WEIGHTS
from gradfuzz.strategies.loop.case import GeneratedCase, cases
from gradfuzz.strategies.loop.coverage import triggers
from gradfuzz.strategies.loop.facts import ProgramFacts
from gradfuzz.strategies.loop.goals import GOALS
from gradfuzz.strategies.loop.patterns import terms, updates
from gradfuzz.strategies.loop.program import loops, loops_about
from gradfuzz.strategies.tensor.goals import TENSOR_GOALS, TensorView
from gradfuzz.strategies.tensor.program import tensor_cases
from gradfuzz.strategies.tensor.recipes import TENSOR_OPS
from gradfuzz.strategies.vectorize_program import VECTORIZE_GOALS, VectorizeView, vectorize_cases

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
    facts = ProgramFacts(program)
    calls = [node for node in walk(program) if isinstance(node, Call) and node.op == op]
    return any(facts.active(operand) for call in calls for operand in call.args)


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


def _about(
    strategy: Callable[..., st.SearchStrategy[GeneratedCase]], vocabulary: Collection[str]
) -> Callable[..., st.SearchStrategy[GeneratedCase]]:
    """The cases of a strategy in given precisions, about all ops or about those of `ops` that it knows."""
    return lambda precisions, ops=None: strategy(ops=_known(ops, vocabulary), precisions=precisions)


def _complex_cases(precisions: tuple[Precision, ...], ops: Ops = None) -> st.SearchStrategy[GeneratedCase]:
    wide = tuple(p for p in precisions if p in ("float32", "float64")) or ("float64",)
    return complex_cases(ops=_known(ops, COMPLEX_OPS), precisions=wide)


def _family(
    cases: Callable[..., st.SearchStrategy[GeneratedCase]],
    view: Callable[[GeneratedCase], Any],
    goals: Mapping[str, Callable[[Any], bool]],
    **traits: Any,
) -> Family:
    """A family whose goals are tests of what a view sees in a case."""

    def reached(case: GeneratedCase) -> frozenset[str]:
        seen = view(case)
        return frozenset(name for name, test in goals.items() if test(seen))

    return Family(cases, tuple(goals), reached, **traits)


FAMILIES: dict[str, Family] = {
    "loops": Family(_loop_cases, tuple(g.name for g in GOALS), triggers, shapes=False, turns=_SLOPED),
    "linalg": _family(_about(linalg_cases, WEIGHTS), LinalgView, MATRIX_GOALS, turns=WEIGHTS),
    "tensor": _family(_about(tensor_cases, TENSOR_OPS), TensorView, TENSOR_GOALS, turns=TENSOR_OPS),
    "complex": _family(_complex_cases, ComplexView, COMPLEX_GOALS, turns=COMPLEX_OPS),
    "vectorize": _family(
        lambda precisions: vectorize_cases(precisions=precisions),
        VectorizeView,
        VECTORIZE_GOALS,
        together=True,
    ),
    "elementwise": Family(
        _about(function_cases, FUNCTIONS),
        tuple(FUNCTIONS),
        function_triggers,
        shapes=False,
        turns=FUNCTIONS,
        every=1,
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
