"""Gradients of many entries, judged along a few random directions: the dot-product test.

The truth of <g, w> costs one derivative along a line, whatever the number of entries. The weights w are
random and in inverse proportion to what rounding may do to each entry, so that no entry hides behind another:
all may err by the same share of the sum. Entries that rounding cannot change have a direction of their own,
and those that it may change by any amount have none.

Right answers err to either side, and the sum of n errors is about sqrt(n) of one. Where it is more, a closer
look is taken: entry by entry, or, above `MANY` entries, by bisection. docs/tolerance.md says what is still
seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gradfuzz.fuzzer.questions.weighted import seed_of
from gradfuzz.fuzzer.results.finding import CheckResult, Verdict
from gradfuzz.fuzzer.tolerance.allowed import TRIPS, Tolerance, wide_tolerances
from gradfuzz.fuzzer.tolerance.perturbed import unit_roundoff
from gradfuzz.fuzzer.verdict.kinks import on_a_line
from gradfuzz.oracles.base import ALONG, Answer, Array, Point, ProbedQuestion, Question, Truth
from gradfuzz.programs.language.precision import FORMATS, Precision
from gradfuzz.programs.language.reach import cut, part_reached

FEW = 6
"""Up to this many entries are judged one by one at once."""

MANY = 400
"""More entries than these are never judged one by one."""

_PROBES = 2
"""An error that is missed by a direction has to be missed by two."""

STRAY = 2.0
"""The errors of n right entries add up to less than this many times sqrt(n) of what one is allowed."""

_SPREAD = 64
_SPREAD_OF_HALF = 4
"""No weight of a direction is less than two to minus this power of another, so that all are numbers of the
dtype. Entries that are farther apart have directions of their own.
"""

_ON_LINES = 2**14
"""The function on a line is measured for so many entries."""

_ONE_BY_ONE = 2**12
"""So many products are added up without any rounding."""

_HALVED = 2**16
"""More products than these are added up in pairs first."""

_BITS = 20
"""The weights have so many bits, or those of the dtype."""

Probe = Mapping[str, Array]

Entry = tuple[int, tuple[int, ...]]
"""The place of an input in `wrt`, and an index."""


def entries_of(question: Question) -> int:
    """How many numbers a gradient has."""
    return sum(np.size(question.points[0].inputs[name]) for name in question.wrt) if question.points else 0


def signs(shape: Sequence[int], rng: np.random.Generator, precision: Precision) -> Array:
    """Random numbers of either sign between 1/2 and 1, exact in a precision."""
    bits = min(_BITS, round(-math.log2(FORMATS[precision].roundoff)) - 1)
    if math.prod(shape) > _ON_LINES:  # one draw for the size and the sign
        drawn = rng.integers(-(2 ** (bits - 1)), 2 ** (bits - 1), shape, np.int32) * 2.0**-bits
        drawn += np.copysign(0.5, drawn)
        return np.asarray(drawn)
    sizes = rng.integers(2 ** (bits - 1), 2**bits, shape) / 2.0**bits
    return np.asarray(sizes * rng.choice([-1.0, 1.0], shape))


def probed(question: Question, tolerance: Tolerance) -> ProbedQuestion:
    """The question along directions that suit `tolerance`; the same in every run."""
    shapes = {name: np.shape(question.points[0].inputs[name]) for name in question.wrt}
    allowed = {name: np.ones(shape) for name, shape in shapes.items()}
    if tolerance.reason is None:
        unit = unit_roundoff(question.precision)
        known = {n: tolerance.noise[n] + unit * np.abs(tolerance.gradient[n]) for n in shapes}
        # Where each entry may change by any amount, the answer is asked all the same, and nothing follows.
        allowed = known if any(np.any(np.isfinite(a)) for a in known.values()) else allowed
    exponents = {n: np.frexp(a)[1] for n, a in allowed.items()}
    half = FORMATS[question.precision].roundoff > FORMATS["float32"].roundoff
    spread = _SPREAD_OF_HALF if half else _SPREAD
    rng = np.random.default_rng(seed_of(question.points[0].inputs.values()))

    def drawn(weights: Mapping[str, Array]) -> Probe:
        is_drawn = ((n, w, w.size <= _ON_LINES or np.any(w)) for n, w in weights.items())
        return {
            n: signs(shapes[n], rng, question.precision) * w if some else np.zeros(w.shape)
            for n, w, some in is_drawn
        }

    probes = [drawn({n: a == 0.0 for n, a in allowed.items()})]
    some = {n: (a > 0.0) & np.isfinite(a) for n, a in allowed.items()}
    several = sorted({b for n in shapes for b in _bands(exponents[n][some[n]], spread)})
    for band in several:
        below = {n: exponents[n] - band * spread for n in shapes}
        there = {n: some[n] & (e >= 0) & (e < spread) if several[1:] else some[n] for n, e in below.items()}
        weights = {n: np.where(there[n], _power_of_2(-e), 0.0) for n, e in below.items()}
        probes += [drawn(weights) for _ in range(_PROBES)]
    return ProbedQuestion.of(question, [p for p in probes if any(np.any(w) for w in p.values())])


def _power_of_2(exponents: Array) -> Array:
    """2 to exponents of normal numbers, by their bits: `np.ldexp` takes four times as long."""
    biased = exponents.astype(np.int64)
    biased += 1023
    biased <<= 52
    return np.asarray(biased.view(np.float64))


def _bands(exponents: Array, spread: int) -> list[int]:
    """In which bands of this width there are exponents: mostly it is one."""
    ends = [int(find(exponents)) // spread for find in (np.min, np.max)] if exponents.size else []
    return ends[:1] if len({*ends}) < 2 else [int(one) for one in np.unique(exponents // spread)]


def suspicious(case: CheckResult) -> bool:
    """Whether an answer that seems right along directions is worth a closer look."""
    if case.verdict is not Verdict.AGREE:
        return case.verdict is not Verdict.UNSUPPORTED
    entries = max(entries_of(case.question), 1)
    return (case.error_over_allowed or 0.0) > STRAY / math.sqrt(entries)


Judge = Callable[[ProbedQuestion], CheckResult]
"""The verdict on the same answer along other directions."""


def located(
    case: CheckResult, judge: Judge, confirm: Judge, tolerance: Tolerance | None = None
) -> CheckResult:
    """Where a suspicion lies: the verdict on one entry, as a case about the question itself.

    `case` comes from a `ProbedQuestion`. `confirm` is asked about the entry in which the answer differs most
    from the gradient of `tolerance`, if there is one. Where that entry is right, the entry is found by
    bisection: `judge` is asked about halves of the direction that errs most.
    """
    question = case.question
    assert isinstance(question, ProbedQuestion), "judged along directions"
    if case.worst is None or case.worst[0] != ALONG:  # not the derivative
        return told(confirm(question) if case.verdict is Verdict.DISAGREE else case)
    guess = None if tolerance is None else farthest(case, tolerance)
    if guess is not None:
        found = of_entry(question, guess, confirm)
        if found.verdict is Verdict.DISAGREE:
            return found
    if case.verdict is Verdict.AGREE and entries_of(question) > _ON_LINES:
        return told(case)
    (_, (number,)) = case.worst
    probe = question.probes[number]
    places = np.flatnonzero(np.concatenate([np.ravel(w) for w in probe.values()]))
    while len(places) > 1:
        half = places[: len(places) // 2]
        there = judge(ProbedQuestion.of(question, [_only(probe, half)]))
        excess = (there.error_over_allowed or 0.0) * math.sqrt(len(half))
        places = half if excess > STRAY or there.verdict is Verdict.DISAGREE else places[len(half) :]
    ((name, one),) = ((n, w) for n, w in _only(probe, places).items() if np.any(w))
    index = np.unravel_index(int(np.flatnonzero(one)[0]), np.shape(one))
    return of_entry(question, (question.wrt.index(name), tuple(map(int, index))), confirm)


def farthest(case: CheckResult, tolerance: Tolerance, least: float = 0.0) -> Entry | None:
    """The entry that is farthest from what the engine computes, in units of what is allowed; None where the
    answer has no entries, or they are not numbers, or none is off by more than `least` of these units.
    """
    best, found = least, None
    if tolerance.reason is not None or ALONG in case.answer.gradient:
        return None
    for number, name in enumerate(case.question.wrt):
        right, got = tolerance.gradient[name], np.asarray(case.answer.gradient[name], np.float64)
        allowed = tolerance.allowed(right, tolerance.noise[name], np.zeros(np.shape(right)))
        with np.errstate(all="ignore"):
            ratios = np.where((got == right) | np.isinf(allowed), 0.0, np.abs(got - right) / allowed)
        if np.size(ratios) and np.nanmax(ratios) > best:
            best = float(np.nanmax(ratios))
            place = np.unravel_index(int(np.nanargmax(ratios)), np.shape(ratios))
            found = number, tuple(map(int, place))
    return found


def at_entry(question: Question, entry: Entry) -> ProbedQuestion:
    """The question along the coordinate direction of one entry."""
    number, index = entry
    unit = {name: np.zeros(np.shape(question.points[0].inputs[name])) for name in question.wrt}
    unit[question.wrt[number]][index] = 1.0
    return ProbedQuestion.of(question, [unit])


def _only(probe: Probe, places: Array) -> Probe:
    """A direction with the weights at `places` alone, which count the entries of all inputs."""
    found, begin = {}, 0
    for name, w in probe.items():
        own = places[(places >= begin) & (places < begin + w.size)] - begin
        found[name] = np.zeros(np.shape(w))
        found[name].flat[own] = w.flat[own]
        begin += w.size
    return found


def of_entry(question: Question, entry: Entry, judge: Judge) -> CheckResult:
    """The verdict on one entry; the others are not known: NaN."""
    case = judge(at_entry(question, entry))
    number, index = entry
    shapes = {n: np.shape(case.point.inputs[n]) for n in question.wrt}
    name = question.wrt[number]

    def alone(arrays: Mapping[str, Array]) -> dict[str, Array]:
        found = {n: np.full(shape, np.nan) for n, shape in shapes.items()}
        if ALONG in arrays:
            found[name][index] = float(arrays[ALONG][0])
        return found

    plain, truth = told(case), case.truth
    if ALONG in case.answer.gradient:
        plain = replace(plain, answer=replace(case.answer, gradient=alone(case.answer.gradient)))
    if truth is not None and plain.truth is not None and truth.status == "ok":
        known = replace(plain.truth, gradient=alone(truth.gradient), bounds=alone(truth.bounds))
        plain = replace(plain, truth=known, allowed=alone(case.allowed))
    along_it = case.worst is not None and case.worst[0] == ALONG
    return replace(plain, worst=(name, index) if along_it else case.worst)


def told(case: CheckResult) -> CheckResult:
    """A case along directions as one about the question itself, without the numbers along them."""
    truth = case.truth
    if truth is not None:
        truth = replace(truth, gradient={}, bounds={}, left=None, right=None, side_bounds=None, across=())
    worst = None if case.worst is not None and case.worst[0] == ALONG else case.worst
    return replace(case, question=case.question.plain, truth=truth, worst=worst, allowed={})


def wide_along(question: Question, *, trip_limit: int = TRIPS) -> list[Tolerance]:
    """The widest tolerance where the entries are many: that of reverse mode for each of them, and, where
    forward mode is asked, that of all modes for the function on each line.
    """
    assert isinstance(question, ProbedQuestion), "judged along directions"
    (point,) = question.points
    (widest,) = wide_tolerances(question, trip_limit=trip_limit, forward=False)
    if widest.reason is not None:
        return [widest]
    noise = noise_of(question, widest)[ALONG]
    is_short = entries_of(question) <= _ON_LINES  # a line is a constant of the program
    for k, probe in enumerate(question.probes if is_short and "fwd" in question.modes else ()):
        line = on_a_line(question, point, probe)
        (found,) = wide_tolerances(line, trip_limit=trip_limit)
        if found.reason is not None:
            return [found]
        noise[k] = max(noise[k], float(found.noise[line.wrt[0]]))
    return [replace(widest, noise={**widest.noise, ALONG: noise})]


# Projection -------------------------------------------------------------------------------------------------


def products(question: Question, gradient: Mapping[str, Array]) -> dict[str, Array]:
    """A gradient as the truth of the question has it: by input, or its products with the probes."""
    if not isinstance(question, ProbedQuestion):
        return {name: np.asarray(gradient[name], np.float64) for name in question.wrt}
    if ALONG in gradient:
        return {ALONG: np.asarray(gradient[ALONG], np.float64)}
    return {ALONG: np.array([_total(w, gradient, question.wrt) for w in question.probes])}


def _total(probe: Probe, gradient: Mapping[str, Array], wrt: Sequence[str]) -> float:
    terms: list[float] = []
    for name in wrt:
        weights, numbers = _there(probe[name], np.asarray(gradient[name], np.float64))
        products = weights * numbers
        while products.size > _HALVED:  # a few additions lose less than the products have lost
            half = (products.size + 1) // 2
            products[: products.size - half] += products[half:]
            products = products[:half]
        terms += (
            products.tolist()
            if products.size <= _ONE_BY_ONE
            else [float(np.sum(products, dtype=np.longdouble))]
        )
    return math.fsum(terms) if all(map(math.isfinite, terms)) else math.nan


def noise_of(question: Question, tolerance: Tolerance) -> Mapping[str, Array]:
    """What rounding does to a gradient in that form: the sum of what it does to the entries."""
    if not isinstance(question, ProbedQuestion):
        return tolerance.noise
    if ALONG in tolerance.noise:
        return {ALONG: tolerance.noise[ALONG]}
    unit = unit_roundoff(question.precision)
    known = {n: tolerance.noise[n] + unit * np.abs(tolerance.gradient.get(n, 0.0)) for n in question.wrt}

    def weighed(weights: Array, noise: Array) -> float:
        own, noise = _there(weights, noise)
        return float(np.dot(np.abs(own), noise))

    sums = [sum(weighed(w[n], known[n]) for n in question.wrt) for w in question.probes]
    return {ALONG: np.array(sums)}


def _there(weights: Array, *parts: Array) -> list[Array]:
    """The weights that are not 0, and the numbers that have them, in one row each."""
    if np.all(weights):
        return [np.ravel(x) for x in (weights, *parts)]
    there = weights != 0.0
    return [x[there] for x in (weights, *parts)]


# One entry of the part that it reaches ----------------------------------------------------------------------
# Where a layer of ten thousand entries has one that is wrong, all but a hundred of its numbers stand still,
# and need not be computed in hundreds of bits to say so.


@dataclass(frozen=True, slots=True, eq=False)
class Reached:
    """A question along one entry, and the same of the part that the entry reaches."""

    asked: ProbedQuestion
    question: ProbedQuestion

    def answer(self, answer: Answer, truth: Truth) -> Answer:
        """An answer to `asked` as one to `question`, whose values are those of its `truth`: the values of a
        part are not the program's.
        """
        values = tuple(np.asarray(y, self.asked.precision) for y in truth.values)
        return Answer("ok", values, products(self.asked, answer.gradient))


def reached(asked: ProbedQuestion) -> Reached | None:
    """The same question of the part of its program that its only probe, an entry, reaches; None where the
    order is not one, or the part is not known.
    """
    entry = _only_entry(asked.probes[0]) if len(asked.probes) == 1 else None
    if asked.order != 1 or len(asked.points) != 1 or entry is None:
        return None
    part = part_reached(asked.program, *entry)
    if part is None:
        return None
    (point,), (probe,) = asked.points, asked.probes
    inputs = {c.name: cut(np.asarray(point.inputs[c.source]), c.box) for c in part.inputs}
    moving = {c.name: cut(np.asarray(probe[c.source]), c.box) for c in part.inputs if c.source == entry[0]}
    plain = Question(
        part.program,
        (Point(inputs),),
        asked.precision,
        tuple(moving),
        asked.modes,
        tuple(_cut_weights(asked.weights[k], box) for k, box in part.outputs),
        {c.name: cut(asked.directions[c.source], c.box) for c in part.inputs if c.name in moving},
    )
    return Reached(asked, ProbedQuestion.of(plain, [moving]))


def _only_entry(probe: Mapping[str, Array]) -> tuple[str, tuple[int, ...]] | None:
    """The entry along which a probe goes by one; None where it does not."""
    places = [(name, k) for name, w in probe.items() for k in np.flatnonzero(w).tolist()]
    if len(places) != 1:
        return None
    name, place = places[0]
    index = tuple(map(int, np.unravel_index(place, np.shape(probe[name]))))
    return (name, index) if probe[name][index] == 1.0 else None


def _cut_weights(weights: Array | None, box: tuple[tuple[int, ...] | None, ...]) -> Array | None:
    return None if weights is None else cut(np.asarray(weights), box)
