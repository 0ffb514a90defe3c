"""The derivative that a library would run for a function, without its rounding: is the rule right?

Where the numbers do not agree plainly, this is asked before anything is excused. JAX and Torch give their own
derivative as a graph. In balls it says what the rule means, and in balls of the dtype's digits what rounding
its own steps may do. So there are four cases, entry by entry:

    the rule is wrong                                             wrong
    it is right, and the answer is not finite                     wrong, where value and truth are in range
    it is right, and the answer is what its steps round to        right, if half of the digits are left,
                                                                  in the entry, or it is 0; below float64,
                                                                  beside the largest entry
                                                                  else of the class *precision*, in float64
    it is right, and the answer is something else                 not decided here: a kernel may be wrong
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from gradfuzz.errors import EvaluationError
from gradfuzz.fuzzer.measuring.setting import Setting
from gradfuzz.fuzzer.measuring.subject import Subject
from gradfuzz.fuzzer.results.finding import FINITE, CheckResult, Class, Verdict
from gradfuzz.fuzzer.tolerance.allowed import SAFETY
from gradfuzz.fuzzer.tolerance.differences import LOST
from gradfuzz.fuzzer.verdict.classify import compare
from gradfuzz.fuzzer.verdict.judge import decided
from gradfuzz.oracles.base import Array, Question, Truth, known
from gradfuzz.oracles.references.balls import SAME, enclosures, roundings
from gradfuzz.oracles.rule import constants
from gradfuzz.programs.language.precision import FORMATS

_OF_NUMBERS = (None, *FINITE, Class.NON_FINITE, Class.PRECISION)

_NARROW = 1e-4
"""A rule is right where it is known to this share of an entry, or of what rounding does to it: its constants
are known to the digits of the dtype.
"""


@dataclass(frozen=True, slots=True, eq=False)
class OwnRule:
    """The gradient that a library's rule means, with bounds.

    The bounds `folded` let each constant of the rule stand for any number that rounds to it. `noise` is how
    far rounding its steps may carry the gradient, NaN where that is not known.
    """

    gradient: Mapping[str, Array]
    bounds: Mapping[str, Array]
    folded: Mapping[str, Array]
    noise: Mapping[str, Array]


def own_rule(subject: Subject, question: Question) -> OwnRule | None:
    """The rule that the library runs for a question at its first point; None where it gives no graph."""
    point = question.points[0]
    values = tuple(np.asarray(point.inputs[p.name]) for p in question.program.params)
    line = tuple(np.asarray(question.directions[name]) for name in question.wrt)
    lines = (line,) * len(question.modes)
    setting = Setting(subject, values, tuple(question.weights), lines, tuple(question.modes), None)
    pushes = subject.framework.pushes and setting.modes == ("fwd",)
    names, shapes = question.wrt, [np.shape(point.inputs[name]) for name in question.wrt]

    def joined(parts: list[list[Array]]) -> list[Array]:
        """The outputs of the graph, or those of all entries as arrays of the inputs' shapes."""
        if not pushes:
            return parts[0]
        ends = np.cumsum([math.prod(shape) for shape in shapes])[:-1]
        columns = np.split(np.array([part for (part,) in parts]), ends)
        return [column.reshape(shape) for column, shape in zip(columns, shapes, strict=True)]

    def enclosed(known: frozenset[float]) -> tuple[list[Array], list[Array]]:
        found = [enclosures(graph, given, rounded=subject.precision, known=known) for given in asks]
        middles = joined([[one.middle for one in outputs] for outputs in found])
        return middles, joined([[one.radius for one in outputs] for outputs in found])

    try:
        graph = setting.graph_of_push() if pushes else setting.graph_of_gradient()
        asks = setting.each_entry() if pushes else [setting.given]
        own = constants(question)
        middles, radii = enclosed(own)
        _, free = enclosed(frozenset()) if own else (middles, radii)
    except Exception:  # noqa: BLE001 - a library may raise anything while it is traced
        return None
    try:
        rounded = joined([roundings(graph, given, subject.precision) for given in asks])
    except (EvaluationError, ArithmeticError):
        rounded = [np.full(np.shape(middle), np.nan) for middle in middles]
    if [np.shape(middle) for middle in middles] != shapes:
        return None
    bounds, folded, gradient, noise = (
        dict(zip(names, arrays, strict=True)) for arrays in (radii, free, middles, rounded)
    )
    return OwnRule(gradient, bounds, folded, noise)


def by_rule(case: CheckResult, truth: Truth, rule: OwnRule) -> CheckResult | None:
    """The verdict on a case that has an answer, where the rule decides; None where it does not."""
    question, form = case.question, FORMATS[case.question.precision]
    if case.kind not in _OF_NUMBERS:
        return None
    got = {name: np.asarray(case.answer.gradient[name], np.float64) for name in question.wrt}
    expected = {name: truth.gradient[name] for name in question.wrt}
    sizes = [np.abs(known(e, truth.bounds[name])) for name, e in expected.items()]
    largest = max(float(np.max(size, initial=0.0)) for size in sizes)
    for bounds in (rule.bounds, rule.folded):
        wide = {n: truth.bounds[n] + bounds[n] for n in got}
        granted = {n: wide[n] + SAFETY * form.roundoff * np.abs(expected[n]) for n in got}
        off = compare(expected, rule.gradient, granted, question.precision)
        if off is None or not off.clear:
            break
    if off is not None and off.clear:
        return None if off.kind is Class.NON_FINITE else _wrong(case, expected, got, granted)
    if not all(np.all(np.isfinite(g)) for g in got.values()):
        flushed = {n: a + form.normal for n, a in granted.items()}  # an entry that underflows is no NaN
        return _wrong(case, expected, got, flushed) if _in_range(case, truth) else None
    by_steps = True
    for name, e in expected.items():
        error = np.abs(got[name] - e)
        apart = np.abs(rule.gradient[name] - e)
        narrow = wide[name] <= _NARROW * np.maximum(np.abs(e), rule.noise[name])
        if not np.all((apart <= wide[name] + SAME * np.abs(e)) & narrow):
            return None
        if not np.all(error <= granted[name] + SAFETY * rule.noise[name]):
            return None
        left = form.half_of_the_digits * (np.abs(e) if question.precision == "float64" else largest)
        unjudged = case.unjudged.get(name, False)  # such an entry needs digits of its own
        left = np.where(unjudged, left, np.maximum(left, LOST * form.roundoff * largest))
        by_steps = by_steps and bool(np.all((error <= left) | (e == 0.0)))
    if case.verdict is Verdict.AGREE and question.precision == "float64" and not case.unjudged:
        return None
    if by_steps:
        message = "the library's own rule is right, and rounding its steps explains the rest"
        return replace(case, verdict=Verdict.AGREE, kind=None, reason=None, message=message, unjudged={})
    if question.precision == "float64" and case.verdict is Verdict.DISAGREE:
        return replace(case, kind=Class.PRECISION)
    return None


def _in_range(case: CheckResult, truth: Truth) -> bool:
    """Whether value and gradient are numbers of the dtype, and no value of the library is infinite."""
    largest = FORMATS[case.question.precision].largest
    arrays = (*truth.values, *truth.gradient.values())
    inside = all(np.all(np.abs(a) <= largest) for a in arrays) and not any(
        np.any(np.isinf(b)) for b in (*truth.bounds.values(), *truth.value_bounds)
    )
    return inside and not any(np.any(np.isinf(np.asarray(y, np.float64))) for y in case.answer.values)


def _wrong(
    case: CheckResult, expected: Mapping[str, Array], got: Mapping[str, Array], allowed: Mapping[str, Array]
) -> CheckResult | None:
    """The case as a disagreement by its worst entry; None where the answer is near the truth all the same."""
    found = compare(expected, got, allowed, case.question.precision)
    if found is None or not found.clear:
        return None
    changes = {"kind": found.kind, "reason": None, "message": "", "allowed": dict(allowed), "unjudged": {}}
    return decided(found, case, verdict=Verdict.DISAGREE, **changes)
