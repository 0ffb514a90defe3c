"""From a disagreement as it was met to a finding: asked again alone, confirmed, shrunk, shown at three points, with a script."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gradfuzz.errors import EvaluationError
from gradfuzz.fuzzer.batch import Raw, is_slow, jury, oracle
from gradfuzz.fuzzer.diagnose import Witness, diagnose
from gradfuzz.fuzzer.finding import Case, Class, Finding, Reason, Verdict
from gradfuzz.fuzzer.judge import check_name
from gradfuzz.fuzzer.reductions import canonical_names
from gradfuzz.fuzzer.reproducer import reproducer
from gradfuzz.fuzzer.rewrite import map_expressions
from gradfuzz.fuzzer.showcase import clearest, finding_point, grid, worst
from gradfuzz.fuzzer.shrink import operations, shrink
from gradfuzz.fuzzer.specimen import Specimen
from gradfuzz.fuzzer.standards import standards
from gradfuzz.fuzzer.survey import asked, survey
from gradfuzz.fuzzer.twin_checks import like_engine
from gradfuzz.oracles.base import Oracle
from gradfuzz.oracles.registry import resolve
from gradfuzz.programs.interpret import interpret
from gradfuzz.programs.numpy_namespace import NumpyNamespace
from gradfuzz.programs.precision import is_float
from gradfuzz.programs.printer import to_text
from gradfuzz.programs.syntax import Const, Expr, For, Program, Repeat, While, walk

__all__ = ["Proof", "library", "prove", "signature", "skeleton"]

_TIMES = 5
"""How often a shrunk disagreement is asked again."""

_BUDGET, _SLOW_BUDGET = 800, 40
"""Candidates that shrinking may ask about: a slow oracle compiles each of them."""

_BATCH = 12
"""How many candidates an oracle is asked about at once that has a cheaper way for many."""


_SMALL = 4
"""A program of one loop and so many operations needs no further shrinking."""

_TRIPS = 64
"""A candidate with a longer loop is no candidate: what is drawn has 17 trips at most."""


@dataclass(frozen=True, slots=True, eq=False)
class Proof:
    """A finding, or the reason and words why the disagreement is none after all. The finding's id is not given yet: it is its signature.

    `kinds` has the classes of disagreement that the finding's program shows at ordinary points, `wrong_ways` the ways into the library that are
    wrong about it.
    """

    finding: Finding | None
    reason: Reason | None = None
    message: str = ""
    kinds: frozenset[Class] = frozenset()
    wrong_ways: tuple[str, ...] = ()


def _met(raw: Raw) -> Specimen:
    """The disagreement as a specimen, with the points that were answered in the same call."""
    question = raw.case.question
    if not raw.points:
        return Specimen.of(question)
    place = next(k for k, point in enumerate(raw.points) if point is raw.case.point)
    return Specimen.of(replace(question, points=raw.points), place, together=True)


def library(oracle_name: str) -> str:
    """Whose bug it is: "torch" for "torch:scan"; every mutant is its own library."""
    base, _, rest = oracle_name.partition(":")
    return oracle_name if base in ("mutant", "cmd") and rest else base


def prove(raw: Raw) -> Proof:
    """Everything between a disagreement and a finding."""
    case = raw.case
    target = oracle(case.oracle)
    assert case.kind is not None, "a disagreement has a class"
    first = _met(raw)
    again = _confirmed(first, target)
    if not _same(again, case.kind, case.message):
        if again.verdict is Verdict.INCONCLUSIVE:
            return Proof(None, again.reason, again.message)
        return Proof(None, Reason.REFERENCES, f"asked again, alone, {target.name} answers otherwise")
    trial = _Trial(target, case.kind, case.message)
    specimen = _smallest(first, trial, target)
    smallest = _confirmed(specimen, target)
    if not _akin(smallest, case.kind, case.message):
        specimen, smallest = first, again
    return _finding(raw, specimen, smallest, target)


def _smallest(first: Specimen, trial: _Trial, target: Oracle) -> Specimen:
    """The shrunk specimen; where it is still large, a standard program that is wrong in the same way, shrunk."""
    budget = _SLOW_BUDGET if is_slow(target) else _BUDGET
    batch = 1 if type(target).answer_all is Oracle.answer_all else _BATCH
    specimen = shrink(first, trial.interesting, budget=budget, batch=batch).specimen
    if _is_small(specimen.program):
        return specimen
    candidates = list(standards(specimen))
    wrong = next((s for s, holds in zip(candidates, trial.interesting(candidates), strict=True) if holds), None)
    return specimen if wrong is None else shrink(wrong, trial.interesting, budget=budget // 4, batch=batch).specimen


def _is_small(program: Program) -> bool:
    loops = sum(isinstance(node, (For, While, Repeat)) for node in walk(program))
    return loops <= 1 and operations(program) <= _SMALL


def _confirmed(specimen: Specimen, target: Oracle) -> Case:
    return asked(specimen, target, jury(), confirm=True)


def _same(case: Case, kind: Class, message: str) -> bool:
    """Whether a case is the same kind of wrong; a crash is the same with the same exception."""
    if kind is Class.ERROR:
        return case.verdict is Verdict.CRASHED and _exception(case.message) == _exception(message)
    return case.verdict is Verdict.DISAGREE and case.kind is kind


_OF_VALUES = frozenset({Class.SIGN_FLIP, Class.RATIO_BLOWUP, Class.WRONG_VALUE})


def _akin(case: Case, kind: Class, message: str) -> bool:
    """The same for a smaller program. A gradient of matrices has the class of its worst entry, and which entry that is changes with the
    sizes: there, another way to be a wrong number counts as the same.
    """
    if _same(case, kind, message):
        return True
    of_matrices = any(p.type.rank > 1 for p in case.question.program.params)
    return of_matrices and case.verdict is Verdict.DISAGREE and {case.kind, kind} <= _OF_VALUES


def _exception(message: str) -> str:
    return re.split(r"[:\s]", message, maxsplit=1)[0]


class _Trial:
    """What shrinking asks: does this one still disagree, clearly, in the same way?"""

    def __init__(self, target: Oracle, kind: Class, message: str) -> None:
        self._target = target
        self._kind = kind
        self._message = message

    def interesting(self, specimens: Sequence[Specimen]) -> list[bool]:
        """The cheap tests first: the engine's tolerance, then the target, then a comparison with the engine, and only then the truth."""
        result = [False] * len(specimens)
        ready = []
        for k, specimen in enumerate(specimens):
            question = specimen.question()
            if self._target.supports(question) is None and self._fair(specimen):
                ready.append((k, specimen, question))
        answers = self._target.answer_all([question for *_, question in ready])
        for (k, specimen, _), given in zip(ready, answers, strict=True):
            question, answer = specimen.alone().question(), given[specimen.place]
            (tolerance,) = jury().tolerances(question)
            if self._target.name != "engine" and like_engine(answer, tolerance):
                continue
            (case,) = jury().cases(self._target.name, question, [answer])
            result[k] = _akin(case, self._kind, self._message)
        return result

    def _fair(self, specimen: Specimen) -> bool:
        points = [specimen.alone(), *(replace(specimen, inputs=other, others=(), place=0) for other in specimen.others)]
        return all(_ends(point) and jury().tolerances(point.question())[0].reason is None for point in points)


def _ends(specimen: Specimen) -> bool:
    """Whether the program can be run at all, and soon ends: many a candidate never does."""
    inputs = {name: v if v.shape else v[()] if is_float(v.dtype) else v.item() for name, v in specimen.inputs.items()}
    try:
        interpret(specimen.program, inputs, NumpyNamespace(specimen.precision), trip_limit=_TRIPS)
    except EvaluationError:
        return False
    return True


# Finding ---------------------------------------------------------------------------------------------------------------


def _finding(raw: Raw, specimen: Specimen, smallest: Case, target: Oracle) -> Proof:
    assert smallest.kind is not None, "a disagreement has a class"
    around = _on_grid(specimen, target)
    wrong = [smallest, *(case for case in around if case.verdict is smallest.verdict)]
    clear = clearest([case for case in wrong if _same(case, smallest.kind, smallest.message)])
    most = worst(wrong)
    repeated = sum(_same(asked(specimen, target, jury()), smallest.kind, smallest.message) for _ in range(_TIMES))
    ways = resolve(library(target.name))
    found = survey(specimen, target, ways, jury())
    note = " ".join(part for part in (_what(smallest), _company(specimen), found.note) if part)
    witnesses = [
        Witness(specimen, smallest),
        *(Witness(replace(specimen, inputs=case.point.inputs), case) for case in around),
        *(Witness(*pair) for pair in found.cases),
        Witness(_met(raw), raw.case, drawn=True),
    ]
    modes = specimen.modes if smallest.kind is not Class.WRONG_PRIMAL else ()
    finding = Finding(
        id="",
        target=target.name,
        version=target.version,
        check=check_name(modes),
        kind=smallest.kind,
        family=raw.family,
        precision=specimen.precision,
        modes=specimen.modes,
        wrt=specimen.wrt,
        program=specimen.program,
        original=raw.case.question.program,
        weights=specimen.weights,
        directions=specimen.directions,
        smallest=finding_point(smallest),
        clearest=finding_point(clear),
        worst=finding_point(most),
        seen=1,
        references=smallest.references,
        reproduced=(repeated, _TIMES),
        note=note,
        cause=diagnose(witnesses, together=target.together, jury=jury()),
        script=reproducer(specimen, clear, target),
    )
    finding = replace(finding, id=signature(finding))
    return Proof(finding, kinds=frozenset(c.kind for c in wrong if c.kind is not None), wrong_ways=found.wrong_ways)


def _on_grid(specimen: Specimen, target: Oracle) -> list[Case]:
    if target.together:
        return []
    question = specimen.question(grid(specimen))
    fair = jury().judgeable(question)
    if not fair:
        return []
    answers = target.answer(replace(question, points=tuple(question.points[k] for k in fair)))
    return jury().cases(target.name, question, answers, at=fair)


def _what(case: Case) -> str:
    """What a reader has to know beside the numbers."""
    parts = []
    if case.kind in (Class.ERROR, Class.WRONG_SHAPE, Class.WRONG_DTYPE, Class.WRONG_PRIMAL):
        parts.append(f"{case.message.rstrip('.')}.")
    elif case.truth is not None and case.truth.kink:
        parts.append(
            "The point is a kink; the answer lies outside the slopes to its left and right, of which the nearer is shown."
        )
    if len(case.references) == 1:
        parts.append(f"Only {case.references[0]} can tell the truth here.")
    return " ".join(parts)


def _company(specimen: Specimen) -> str:
    """Which points are answered in the same call."""
    if not specimen.others:
        return ""
    texts = [", ".join(f"{name} = {np.asarray(value).tolist()}" for name, value in other.items()) for other in specimen.others]
    count = f"{len(texts)} more point{'s' if len(texts) > 1 else ''}"
    return f"Answered in one call with {count}: {'; '.join(texts)}."


# Signature -------------------------------------------------------------------------------------------------------------


def skeleton(program: Program) -> str:
    """The text of a program with names and constants erased, and of sizes only whether they are 0, 1 or more.

    It is equal for programs that are built alike.
    """

    def erase(e: Expr) -> Expr:
        if isinstance(e, Const) and not isinstance(e.value, bool):
            return Const(1.0) if isinstance(e.value, float) else Const(1)
        return e

    inputs = {p.name: np.zeros(p.type.sizes) for p in program.params}
    named = canonical_names(Specimen(program, inputs, "float64", (), (), (), {})).program
    params = tuple(replace(p, type=replace(p.type, shape=tuple(min(n, 2) for n in p.type.sizes))) for p in named.params)
    return to_text(replace(named, params=params, body=map_expressions(named.body, erase)))


def signature(finding: Finding) -> str:
    """64 hex digits that are the same wherever the same library is wrong about programs built alike."""
    return hashlib.sha256(f"{library(finding.target)}\n{skeleton(finding.program)}".encode()).hexdigest()
