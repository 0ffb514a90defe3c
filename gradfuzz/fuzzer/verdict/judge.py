"""One answer against the truth: the verdict of a check.

The order matters (docs/judging.md says why): whether the question is well posed comes first, then the
program's own value, then the derivative.

    the oracle cannot be asked                            unsupported
    no truth, or rounding may turn a decision             inconclusive, with the reason
    the library raised                                    crashed
    wrong shape, wrong dtype                              disagree
    a value clearly beyond what rounding allows           disagree (wrong_primal)
    on a kink: between the one-sided slopes               convention
               outside them, by entry or along a line     disagree, where one selection alone makes the kink
    a derivative clearly beyond what rounding allows      disagree
    a near miss, of the value or the derivative           inconclusive
    a wrong derivative at a documented limit              convention
    rounding could hide the whole derivative              inconclusive
    otherwise                                             agree

Where the ledger of conventions has a row that explains a convention or an inconclusive case, the case names
it. NaN is no finding where such a row says that it is a legal answer (the norm of a zero vector).

"Clearly" is `CLEAR` times what is allowed. Right answers hardly ever need more than what is allowed
(docs/tolerance.md has the distribution), and a wrong one is hardly ever wrong by so little: what lies between
is not called either.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gradfuzz.errors import EvaluationError, GradfuzzError
from gradfuzz.fuzzer.conventions import predicted
from gradfuzz.fuzzer.conventions.accepted import Span, right_by
from gradfuzz.fuzzer.conventions.convention import Convention, excused
from gradfuzz.fuzzer.conventions.situation import AtPoint
from gradfuzz.fuzzer.conventions.table import CONVENTIONS, explaining
from gradfuzz.fuzzer.conventions.ties import Ties, ties
from gradfuzz.fuzzer.results.finding import CheckResult, Class, Reason, Verdict
from gradfuzz.fuzzer.tolerance.allowed import SAFETY, Tolerance
from gradfuzz.fuzzer.verdict.along import entries_of, noise_of, products
from gradfuzz.fuzzer.verdict.classify import CLEAR, Comparison, compare
from gradfuzz.oracles.base import (
    ALONG,
    Answer,
    Array,
    Doubt,
    Point,
    ProbedQuestion,
    Question,
    Slopes,
    Truth,
    by_output,
    known,
    output_key,
)
from gradfuzz.oracles.references.legal import legal_gradients
from gradfuzz.programs.arithmetic.numpy_namespace import NumpyNamespace
from gradfuzz.programs.evaluation.interpret import arguments_of, interpret
from gradfuzz.programs.language.precision import FORMATS, Precision
from gradfuzz.programs.language.program import names_in

_DROWNED = 0.5
"""An entry is drowned in noise where its allowed error is more than this share of it: agreeing says nothing
then.
"""

_PLAINLY = 0.25
"""An answer is plainly right within this share of what rounding of the result alone allows: 2 u |g|."""

_MANY, _CANCELLED = 2**14, 2.0**-5
"""Of more entries than these some cancel, up to this share: that no more is known of them is not told."""

_NEXT_TO_0 = 64.0
"""A derivative below the normal numbers is 0 for the dtype: a right answer is within so many of them."""

_NEGLIGIBLE = 2.0**-60
"""A bound is of no account below this share of the largest number in sight: a derivative that is exactly zero
has such bounds.
"""

_NEARLY = 2.0**10
"""Numbers are as good as equal within so many roundings of the largest input, where rounding may part them.
"""

_MORE = (predicted.or_nan, predicted.of_the_side_taken)
"""What a row of programs accepts beside what is right."""

_RAISING = (Reason.PRIMAL, Reason.RANGE, Reason.TRIP_LIMIT)
"""Why the engine has no tolerance where an exception may be of the point: rounding takes another branch,
Python's floats raise at the end of the range, a loop is given up. Any other exception stands in the place of
a derivative that is known.
"""


def judge(
    oracle: str, question: Question, point_index: int, answer: Answer, truth: Truth, tolerance: Tolerance
) -> CheckResult:
    """The verdict on `answer`, what `oracle` said to `question` at one of its points.

    `truth` and `tolerance` belong to the same question and point. Never says disagree where rounding, a kink
    or the range of the dtype could explain the answer.
    """
    point = question.points[point_index]
    case = CheckResult(oracle, question, point, truth, answer, Verdict.INCONCLUSIVE)
    engine = tolerance
    if answer.bounds is not None:
        tolerance = tolerance.of_bounds(len(answer.values), answer.bounds)
    case = _excused(_judged(case, truth, tolerance), tolerance, engine)
    if case.verdict is not Verdict.CONVENTION and (
        case.verdict is not Verdict.INCONCLUSIVE or case.reason is Reason.TRIP_LIMIT
    ):
        return case
    return replace(case, conventions=case.conventions or conventions_met(question, case.point))


def joined(case: CheckResult, truth: Truth, engine: Tolerance) -> CheckResult:
    """The case; where the references alone call a number wrong, it counts if the engine joins them about
    another entry that is wrong, and is inconclusive otherwise. Both references compute with one arithmetic of
    objects; the engine runs the program's graph in floats.
    """
    of_numbers = case.verdict is Verdict.DISAGREE and case.kind is not None and case.kind.of_numbers
    if not of_numbers or truth.status != "ok" or engine.reason is not None or not engine.values:
        return case
    own: Mapping[str, Array]
    noise: Mapping[str, Array]
    bounds: Mapping[str, Array]
    if case.kind is Class.WRONG_PRIMAL:
        expected, own = by_output(truth.values), by_output(engine.values)
        noise, bounds = by_output(engine.value_noise), by_output(truth.value_bounds)
        got = by_output(case.answer.values)
    else:
        if not all(name in engine.gradient for name in case.question.wrt):
            return case
        own, noise = products(case.question, engine.gradient), noise_of(case.question, engine)
        expected, bounds = {name: truth.gradient[name] for name in own}, truth.bounds
        got = products(case.question, case.answer.gradient)
    allowed = {n: engine.allowed(e, noise[n], bounds[n]) for n, e in expected.items()}
    comparison = compare(expected, own, allowed, case.question.precision)
    if comparison is None or not comparison.clear:
        return case
    apart = {n: ~(np.abs(np.asarray(own[n], np.float64) - e) <= allowed[n]) for n, e in expected.items()}
    rest = {n: np.where(apart[n], np.inf, case.allowed[n]) for n in expected}
    other = compare(expected, got, rest, case.question.precision)
    if other is not None and other.clear:
        kinds = (Class.WRONG_PRIMAL, Class.WRONG_RULE)
        return decided(other, case, kind=case.kind if case.kind in kinds else other.kind)
    return case.unsettled(
        Reason.REFERENCES, "gradfuzz's own engine and its references do not agree about the derivative"
    )


def _excused(case: CheckResult, tolerance: Tolerance, engine: Tolerance) -> CheckResult:
    """The case, or a convention where a row that the program meets accepts the answer.

    What the engine computes is the derivative of the sides that the comparisons of the program take.
    """
    question, side = case.question, None
    if case.verdict is not Verdict.DISAGREE or case.kind is None or not case.kind.of_derivatives:
        return case
    if engine.reason is None and all(name in engine.gradient for name in question.wrt):
        own, noise = products(question, engine.gradient), noise_of(question, engine)
        granted = {n: CLEAR * engine.allowed(e, noise[n], np.zeros_like(e)) for n, e in own.items()}
        side = {name: Span(e, e, granted=granted[name]) for name, e in own.items()}
    at = AtPoint(case, products(question, case.answer.gradient), tolerance, side)
    return excused(at, _rows(case))


def _rows(case: CheckResult) -> Iterator[tuple[Convention, str]]:
    """Those that the program meets and that accept more than what is right, with their sources; and the limit
    that the target documents there.
    """
    met, limit = _ties(case.question, case.point), case.answer.limit
    for row in CONVENTIONS:
        if met is not None and row.name in met.conventions and row.accepts in _MORE:
            yield row, row.source(row.ops[0]) or ""
    if limit is not None:
        why = f"{limit.what}, as documented"
        yield Convention(limit.name, why, {}, predicted.anything), limit.link


def conventions_met(question: Question, point: Point) -> tuple[str, ...]:
    """The rows of the ledger that a program meets at a point, in its order."""
    met = _ties(question, point)
    return () if met is None else explaining(met.conventions)


def _judged(case: CheckResult, truth: Truth, tolerance: Tolerance) -> CheckResult:
    answer = case.answer
    if answer.status == "unsupported":
        return replace(case, verdict=Verdict.UNSUPPORTED, message=answer.message)
    if answer.status == "inconclusive":
        return replace(case, reason=Reason.REFERENCES, message=answer.message)
    if truth.status != "ok":
        return _without_truth(case, truth, tolerance)
    if answer.status == "error" and tolerance.reason not in _RAISING:
        return replace(case, verdict=Verdict.CRASHED, kind=Class.ERROR, message=answer.message)
    if tolerance.reason is not None:
        return replace(case, reason=tolerance.reason, message=tolerance.message)
    malformed = _malformed(case)
    if malformed is not None:
        return malformed
    value = _judge_values(case, truth, tolerance)
    return value if value is not None else _judge_gradient(case, truth, tolerance)


def plainly_right(
    oracle: str, question: Question, point_index: int, answer: Answer, truth: Truth
) -> CheckResult | None:
    """Agreement that needs no tolerance: every entry is as near to the truth as rounding the result alone
    allows. None where it is not.

    `judge` would grant at least as much, so this only saves the work of finding out how much more.
    """
    if answer.status != "ok" or truth.status != "ok" or answer.bounds is not None:
        return None
    nothing = {name: np.zeros_like(true) for name, true in truth.gradient.items()}
    strict = Tolerance(question.precision, value_noise=tuple(map(np.zeros_like, truth.values)), noise=nothing)
    case = CheckResult(oracle, question, question.points[point_index], truth, answer, Verdict.INCONCLUSIVE)
    if _malformed(case) is not None:
        return None
    values, _ = _compare_values(case, truth, strict)
    if values is not None and values.largest > _PLAINLY:
        return None
    judged = _judge_gradient(case, truth, strict)
    if judged.verdict is not Verdict.AGREE or (judged.error_over_allowed or 0.0) > _PLAINLY:
        return None
    return judged


# No truth ---------------------------------------------------------------------------------------------------

_REASONS = {Doubt.DOMAIN: Reason.DOMAIN, Doubt.RANGE: Reason.RANGE, Doubt.TRIP_LIMIT: Reason.TRIP_LIMIT}
"""The other doubts are all for want of a reference."""


def _without_truth(case: CheckResult, truth: Truth, tolerance: Tolerance) -> CheckResult:
    if truth.kink and case.answer.status == "error":  # there is a value, and slopes on either side
        return replace(case, verdict=Verdict.CRASHED, kind=Class.ERROR, message=case.answer.message)
    if truth.kink:
        return _judge_kink(case, truth, tolerance)
    reason = Reason.REFERENCES if truth.doubt is None else _REASONS.get(truth.doubt, Reason.REFERENCES)
    is_asked = reason is Reason.DOMAIN and case.question.order == 1 and case.answer.status == "ok"
    beside = _beyond_choices(case, truth, tolerance) if is_asked and _malformed(case) is None else None
    return beside or replace(case, reason=reason, message=truth.message)


def _judge_kink(case: CheckResult, truth: Truth, tolerance: Tolerance) -> CheckResult:
    """Between the one-sided slopes is a convention. Outside is wrong where the kink comes from one choice of
    one op.

    With two choices at once the sum rule fails for conventions: max(x, 0) - abs(x) / 2 has the slope 1/2 on
    both sides of 0, and 0 by legal choices for each. There is wrong what no choices make.
    """
    question, answer = case.question, case.answer
    unclear = replace(case, reason=Reason.KINK, message=truth.message)
    if question.order != 1 or answer.status != "ok" or _malformed(case) is not None:
        return unclear
    if tolerance.reason is Reason.PRIMAL:
        return _beyond_choices(case, truth, tolerance) or unclear
    if tolerance.reason is not None:
        return unclear
    sided = truth.side_bounds is not None and _finite(truth.left or {}) and _finite(truth.right or {})
    spans = right_by(truth) if sided else None
    if spans is None:
        return _beyond_choices(case, truth, tolerance) or unclear
    got, met = products(question, answer.gradient), _ties(question, case.point)
    several = met is not None and met.count > 1
    sizes = {name: np.maximum(np.abs(span.low), np.abs(span.high)) for name, span in spans.items()}
    noise, bounds = noise_of(question, tolerance), truth.side_bounds or {}
    allowed = {n: tolerance.allowed(y, noise[n], bounds[n]) for n, y in sizes.items()}
    case = replace(case, allowed=allowed)
    # Along a line several choices may go either way, beyond the slopes on both sides.
    across = _legal_across(case, truth.across) if several else truth.across
    at = AtPoint(replace(case, truth=replace(truth, across=across)), got, tolerance)
    comparison, line = at.compared(spans)
    if comparison is None or comparison.kind is None:
        message = "between the slopes to the left and to the right"
        return decided(comparison, case, verdict=Verdict.CONVENTION, message=message)
    message = line or "outside the slopes to the left and to the right of a kink"
    wrong = decided(comparison, _disagrees(case, comparison.kind, message))
    if comparison.kind is Class.NON_FINITE and _excused(wrong, tolerance, tolerance) is not wrong:
        return wrong
    is_sure = comparison.clear and _values_hold(case, truth, tolerance)
    if is_sure and met is not None and (met.count == 1 or (several and line)):
        return wrong
    return _beyond_choices(case, truth, tolerance) or unclear


def _legal_across(case: CheckResult, across: Sequence[Slopes]) -> tuple[Slopes, ...]:
    """The lowest and the highest slope that legal choices make along the same directions."""
    asked = ProbedQuestion.of(case.question, [slopes.direction for slopes in across])
    ends = legal_gradients(asked, case.point) if across else None
    if ends is None:
        return ()
    rows = zip(across, ends[0][ALONG].tolist(), ends[1][ALONG].tolist(), strict=True)
    return tuple(
        replace(slopes, left=low, right=high, bound=0.0) for slopes, low, high in rows if math.isfinite(low)
    )


def _beyond_choices(case: CheckResult, truth: Truth, tolerance: Tolerance) -> CheckResult | None:
    """The disagreement about an entry that no legal choices at ties make; None where there is none. Where the
    program is not defined, about one that does not lead there.

    Lost digits are none: the rule of a library may have other branches than what it computes. Where nothing
    is known of the noise, since rounding may part a tie, or a number is infinite, half of the digits are
    granted, and numbers that are next to each other may be equal.
    """
    question, form = case.question, FORMATS[case.question.precision]
    is_defined = truth.doubt is not Doubt.DOMAIN
    if not names_in(question.program) & {*question.wrt}:  # it stands in for a function that is not traced
        return None
    largest = max(float(np.max(np.abs(x), initial=1.0)) for x in case.point.inputs.values())
    near = 0.0 if tolerance.reason is None else _NEARLY * form.roundoff * largest
    ends = legal_gradients(question, case.point, near)
    if ends is None:
        return None
    spans = {name: Span(low, ends[1][name]) for name, low in ends[0].items()}
    sizes = {name: np.maximum(np.abs(span.low), np.abs(span.high)) for name, span in spans.items()}
    engine = None
    if tolerance.reason is None:
        noise = dict(noise_of(question, tolerance))
        engine = products(question, tolerance.gradient) if tolerance.gradient else None
    else:
        share = form.half_of_the_digits / SAFETY
        tolerance = Tolerance(question.precision, value_noise=tuple(_share(share, y) for y in truth.values))
        noise = {name: _share(share, size) for name, size in sizes.items()}
    if is_defined and not _values_hold(case, truth, tolerance):
        return None
    got = products(question, case.answer.gradient)
    expected = {name: span.nearest(got[name]) for name, span in spans.items()}
    allowed = {n: tolerance.allowed(size, noise[n], np.zeros_like(size)) for n, size in sizes.items()}
    if not is_defined:  # 0 times infinity may meet any entry
        allowed = {name: np.where(np.isfinite(got[name]), a, np.inf) for name, a in allowed.items()}
    comparison = compare(expected, got, allowed, question.precision)
    kind = None if comparison is None or not comparison.clear else comparison.kind
    if kind is None or kind is Class.PRECISION:
        return None
    if is_defined:
        message = "no choice of sides at the ties of the program gives this number"
        return decided(comparison, _disagrees(case, kind, message), allowed=allowed)
    if engine is None or _is_off(engine, spans, allowed):
        return None
    message = f"this entry has a derivative, though others have none: {truth.words}"
    wrong = _disagrees(replace(case, references=("engine",)), kind, message)
    return decided(comparison, wrong, allowed=allowed)


def _is_off(gradient: Mapping[str, Array], spans: Mapping[str, Span], allowed: Mapping[str, Array]) -> bool:
    """Whether an entry that is known lies outside of its span."""
    for name, span in spans.items():
        known = np.isfinite(allowed[name])
        got, limit = gradient[name][known], allowed[name][known]
        if not np.all(np.abs(got - np.clip(got, span.low[known], span.high[known])) <= limit):
            return True
    return False


def _share(share: float, x: Array) -> Array:
    """A share of the largest finite entry, for each."""
    return np.full(np.shape(x), share * float(np.max(np.abs(x), where=np.isfinite(x), initial=0.0)))


def _ties(question: Question, point: Point) -> Ties | None:
    """The ties and conventions that the program meets at a point; None where it cannot be run there."""
    try:
        return ties(question.program, point, question.precision)
    except EvaluationError:
        return None


def _finite(arrays: Mapping[str, Array]) -> bool:
    return all(np.all(np.isfinite(a)) for a in arrays.values())


# Shape and dtype --------------------------------------------------------------------------------------------


def _malformed(case: CheckResult) -> CheckResult | None:
    """A disagreement where the answer does not even have the right form."""
    question, answer = case.question, case.answer
    if len(answer.values) != len(question.weights):
        message = f"{len(answer.values)} values for {len(question.weights)} outputs"
        return _disagrees(case, Class.WRONG_SHAPE, message)
    pairs = enumerate(zip(answer.values, question.weights, strict=True))
    expected = [(output_key(k), y, w) for k, (y, w) in pairs]
    if question.order:
        along = isinstance(question, ProbedQuestion) and ALONG in answer.gradient
        missing = [name for name in question.wrt if name not in answer.gradient and not along]
        if missing:
            return _disagrees(case, Class.WRONG_SHAPE, f"no gradient for {', '.join(missing)}")
        if not along:
            expected += [(name, answer.gradient[name], case.point.inputs[name]) for name in question.wrt]
    for name, array, like in expected:
        if like is None:
            continue
        if np.shape(array) != np.shape(like):
            message = f"{name} has shape {np.shape(array)}, not {np.shape(like)}"
            return _disagrees(case, Class.WRONG_SHAPE, message)
        wanted = [np.dtype(question.precision if answer.bounds is None else "float64")]
        if answer.bounds is None and name in question.wrt and like.dtype != wanted[0]:
            # An argument keeps its dtype; one that is given in more digits may be rounded before it is asked.
            is_wider = np.dtype(like.dtype).itemsize > wanted[0].itemsize
            wanted = [like.dtype, *wanted] if is_wider else [like.dtype]
        if np.asarray(array).dtype not in wanted:
            message = f"{name} is {np.asarray(array).dtype}, not {wanted[0]}"
            return _disagrees(case, Class.WRONG_DTYPE, message)
    return None


def _disagrees(case: CheckResult, kind: Class, message: str = "") -> CheckResult:
    return replace(case, verdict=Verdict.DISAGREE, kind=kind, message=message)


# Values -----------------------------------------------------------------------------------------------------


def _compare_values(
    case: CheckResult, truth: Truth, tolerance: Tolerance
) -> tuple[Comparison | None, dict[str, Array]]:
    expected = by_output(truth.values)
    names = list(expected)
    rows = zip(names, truth.values, tolerance.value_noise, truth.value_bounds, strict=True)
    allowed = {name: tolerance.allowed(true, noise, bound) for name, true, noise, bound in rows}
    got = {name: np.asarray(y, np.float64) for name, y in zip(names, case.answer.values, strict=True)}
    if any(got[name].shape != expected[name].shape for name in names):
        return None, allowed
    return compare(expected, got, allowed, case.question.precision), allowed


def _values_hold(case: CheckResult, truth: Truth, tolerance: Tolerance) -> bool:
    if not truth.values:
        return False
    comparison, _ = _compare_values(case, truth, tolerance)
    return comparison is None or comparison.kind is None


def _judge_values(case: CheckResult, truth: Truth, tolerance: Tolerance) -> CheckResult | None:
    """A verdict where the value itself is off; None where it is right.

    What an answer in exact numbers says of the value may be an approximation, as good as the dtype: the way
    that computes it is judged by that.
    """
    comparison, allowed = _compare_values(case, truth, tolerance)
    if comparison is None or comparison.kind is None:
        return None
    if case.answer.bounds is not None and comparison.kind is Class.PRECISION:
        return None
    if not comparison.clear:
        message = "the value is just beyond what rounding allows"
        return decided(comparison, case, reason=Reason.PRIMAL, message=message)
    got = f"{comparison.got:.17g} where {comparison.expected:.17g} is right"
    message = f"the value of {comparison.entry[0]} is {got}"
    return decided(comparison, _disagrees(case, Class.WRONG_PRIMAL, message), allowed=allowed)


# Derivative -------------------------------------------------------------------------------------------------


def _judge_gradient(case: CheckResult, truth: Truth, tolerance: Tolerance) -> CheckResult:
    if not case.question.order:
        comparison, allowed = _compare_values(case, truth, tolerance)
        is_free = [bool(np.all(np.isinf(a))) for a in allowed.values() if np.size(a)]
        if is_free and all(is_free):
            return replace(case, reason=Reason.RANGE, message=tolerance.message, allowed=allowed)
        return decided(comparison, case, verdict=Verdict.AGREE, allowed=allowed)
    got = products(case.question, case.answer.gradient)
    expected = {name: truth.gradient[name] for name in got}
    noise = noise_of(case.question, tolerance)
    allowed = {
        name: tolerance.allowed(true, noise[name], truth.bounds[name]) for name, true in expected.items()
    }
    unsure = _unsure(case, truth, tolerance, noise)
    leaves_range, meets_infinity = _leaves_range(truth, case.question.precision), _meets_infinity(case, got)
    if leaves_range or meets_infinity:  # 0 times infinity may meet any other entry
        unsure = {name: unsure[name] | ~np.isfinite(g) for name, g in got.items()}
    allowed = {name: np.where(unsure[name], np.inf, a) for name, a in allowed.items()}
    case = replace(case, allowed=allowed)
    some = [name for name, e in expected.items() if np.size(e)]
    if some and all(np.all(unsure[name]) for name in some):
        reason, message = Reason.REFERENCES, f"the derivative by {some[0]} is not known to enough digits"
        if leaves_range:
            reason, message = Reason.RANGE, f"the derivative is too large for {case.question.precision}"
        elif meets_infinity:
            reason, message = (
                Reason.RANGE,
                "a number inside the program is infinite, and 0 times infinity is NaN",
            )
        return replace(case, reason=reason, message=message)
    comparison = compare(expected, got, allowed, case.question.precision)
    if not some:
        return replace(case, verdict=Verdict.AGREE)
    # The allowed errors of a million entries add up, and the entries themselves are known to be judged.
    many = isinstance(case.question, ProbedQuestion) and entries_of(case.question) > _MANY
    drowned = not many and _drowned(expected, allowed, truth.bounds)
    if comparison is not None and comparison.kind is not None:
        return _off(case, comparison, drowned=drowned)
    unjudged = _unjudged(case, expected, got, truth, tolerance)
    case = replace(case, unjudged=unjudged)
    if drowned or (unjudged and all(map(np.all, unjudged.values()))):
        reason, message = Reason.NOISE, "rounding may be larger than the derivative"
        if tolerance.message:
            reason, message = Reason.RANGE, tolerance.message
        return decided(comparison, case, reason=reason, message=message)
    return decided(comparison, case, verdict=Verdict.AGREE, message=tolerance.message if unjudged else "")


def _leaves_range(truth: Truth, precision: Precision) -> bool:
    """Whether an entry of the true gradient is no number of the dtype, or a value none of float64."""
    slopes = truth.gradient.values()
    return any(np.any(np.abs(g) > FORMATS[precision].largest) for g in slopes) or any(
        np.any(np.isinf(bound)) for bound in (*truth.bounds.values(), *truth.value_bounds)
    )


class _RaisesOverflow(NumpyNamespace):
    """`FloatingPointError` where a number becomes too large for the dtype."""

    def context(self) -> contextlib.AbstractContextManager[None]:
        return np.errstate(all="ignore", over="raise")


def _meets_infinity(case: CheckResult, got: Mapping[str, Array]) -> bool:
    """Whether forward mode gives NaN or infinity where a number inside the program is too large for the
    dtype: the tangents of all other inputs are 0 there, times an infinite slope.
    """
    question = case.question
    if "fwd" not in question.modes or all(np.all(np.isfinite(g)) for g in got.values()):
        return False
    arithmetic = _RaisesOverflow(question.precision)
    try:
        interpret(question.program, arguments_of(case.point.inputs), arithmetic)
    except FloatingPointError:
        return True
    except GradfuzzError:
        return False
    return False


def _off(case: CheckResult, comparison: Comparison, *, drowned: bool) -> CheckResult:
    """The verdict where an entry is off by more than is allowed."""
    if comparison.kind is Class.NON_FINITE and drowned:
        message = "rounding may be larger than the derivative, so a division may end in NaN"
        return replace(case, reason=Reason.NOISE, message=message)
    if not comparison.clear:
        times = f"{comparison.error_over_allowed:.1f} times as much"
        times = f"{times}, and from {comparison.enough:.3g} times on it is wrong"
        message = f"just beyond what rounding allows: {times}"
        return decided(comparison, case, reason=Reason.NOISE, message=message)
    exact = case.answer.bounds is not None and comparison.kind is Class.PRECISION
    kind = Class.WRONG_RULE if exact else comparison.kind
    return decided(comparison, case, verdict=Verdict.DISAGREE, kind=kind)


def _unsure(
    case: CheckResult, truth: Truth, tolerance: Tolerance, noise: Mapping[str, Array]
) -> dict[str, Array]:
    """The entries for which the truth's own bound is wider than what rounding is granted."""
    inputs = (case.point.inputs[name] for name in case.question.wrt)
    values = map(known, truth.values, truth.value_bounds)
    numbers = (*values, *(known(g, truth.bounds[name]) for name, g in truth.gradient.items()), *inputs)
    largest = max((float(np.max(np.abs(a), initial=0.0)) for a in numbers), default=0.0)
    found = {}
    for name in noise:
        true, bound = truth.gradient[name], truth.bounds[name]
        granted = tolerance.allowed(true, noise[name], np.zeros_like(true))
        found[name] = np.asarray(bound > np.maximum(granted, _NEGLIGIBLE * largest))
    return found


def _unjudged(
    case: CheckResult,
    expected: Mapping[str, Array],
    got: Mapping[str, Array],
    truth: Truth,
    tolerance: Tolerance,
) -> dict[str, Array]:
    """The entries about which agreeing says nothing; empty where there are none.

    Those may be off by any amount, or are known not to be zero and may be off by half of it. An entry that is
    right to the last bits is judged, and so is one that is next to 0 for the dtype.
    """
    allowed, bounds = case.allowed, truth.bounds
    if isinstance(case.question, ProbedQuestion):  # the entries themselves are known to the engine alone
        if not all(name in tolerance.gradient and name in tolerance.noise for name in case.question.wrt):
            return {}
        expected = {name: np.asarray(tolerance.gradient[name]) for name in case.question.wrt}
        bounds = {name: np.zeros_like(e) for name, e in expected.items()}
        allowed = {n: tolerance.allowed(e, tolerance.noise[n], bounds[n]) for n, e in expected.items()}
        along = ALONG in case.answer.gradient
        got = {} if along else {n: np.asarray(case.answer.gradient[n], np.float64) for n in expected}
    form = FORMATS[case.question.precision]
    found = {}
    for name, e in expected.items():
        with np.errstate(invalid="ignore"):  # of an entry that leaves the range nothing may be known
            found[name] = maybe = np.asarray(~(allowed[name] < _DROWNED * np.abs(e)))
            right, room, bound = (np.asarray(x)[maybe] for x in (e, allowed[name], bounds[name]))
            is_0 = (np.abs(right) <= form.normal) & (room <= _NEXT_TO_0 * form.normal)
            drowned = (np.abs(right) > bound) & (room >= _DROWNED * np.abs(right)) & ~is_0
            nothing = np.isinf(room) | drowned
            if name in got:
                off = np.abs(np.asarray(got[name])[maybe] - right)
                nothing &= ~(off <= _PLAINLY * SAFETY * form.roundoff * np.abs(right))
            maybe[maybe] = nothing
    count, size = (sum(int(f(x)) for x in found.values()) for f in (np.count_nonzero, np.size))
    is_known = all(np.all(np.isfinite(allowed[name])) for name in found)
    if isinstance(case.question, ProbedQuestion) and size > _MANY and count <= _CANCELLED * size and is_known:
        return {}
    return found if count else {}


def _drowned(
    expected: Mapping[str, Array], allowed: Mapping[str, Array], bounds: Mapping[str, Array]
) -> bool:
    """Whether rounding could have made every derivative that is known not to be zero into zero, or another
    one.
    """
    telling = drowned = 0
    for name, true in expected.items():
        columns = (np.ravel(array).tolist() for array in (true, allowed[name], bounds[name]))
        for e, a, b in zip(*columns, strict=True):
            if abs(e) > b:
                telling += a < _DROWNED * abs(e)
                drowned += a >= _DROWNED * abs(e)
    return drowned > 0 and telling == 0


def decided(comparison: Comparison | None, case: CheckResult, **changes: Any) -> CheckResult:
    """The case with `changes`, and with the entry that decided."""
    case = replace(case, **changes)
    if comparison is None:
        return case
    size = comparison.error_over_allowed if case.verdict is Verdict.DISAGREE else comparison.largest
    return replace(
        case,
        worst=comparison.entry,
        expected=comparison.expected,
        got=comparison.got,
        ratio=comparison.ratio,
        error_over_allowed=None if math.isnan(size) else size,
    )
