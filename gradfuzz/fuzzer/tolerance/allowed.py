"""The allowed error of an answer, derived from the computation itself.

    allowed = SAFETY * (noise + u |g|) + bound of the truth            entry by entry

u is the unit roundoff of the target's dtype. Noise is what rounding every primitive result to u does to the
engine's derivative of the same program: the spread of its lanes in perturbed arithmetic (see `perturbed`).
There is no absolute and no relative tolerance anywhere: a gradient that cancels is allowed what the
cancellation costs, and one that is structurally zero is allowed nothing.

The same run shows where a point cannot be judged: an intermediate leaves the dtype's range, or rounding may
change a decision.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gradfuzz.engine import Rules, derivative
from gradfuzz.errors import EvaluationError, NotDifferentiableError, TripLimitError
from gradfuzz.fuzzer.results.finding import Reason
from gradfuzz.fuzzer.tolerance.alternatives import LOSSY, written_otherwise
from gradfuzz.fuzzer.tolerance.beyond_range import BeyondRangeNamespace
from gradfuzz.fuzzer.tolerance.lanes import FEW_DRAWN, LANES, spread
from gradfuzz.fuzzer.tolerance.perturbed import (
    A_FEW,
    EPS,
    FINE_EPS,
    MARGINS,
    SMALL,
    PerturbedNamespace,
    unit_roundoff,
)
from gradfuzz.oracles.base import Array, Mode, Point, Question, output_key
from gradfuzz.programs.arithmetic.object_namespace import OutOfRangeError, UndecidedError
from gradfuzz.programs.evaluation.interpret import evaluate
from gradfuzz.programs.graphs.graph import Graph, numbers_in
from gradfuzz.programs.language.precision import FORMATS, Precision
from gradfuzz.programs.language.program import Program

SAFETY = 8.0
"""K: a right answer may be off by this many times its estimated noise."""

_NORMAL: Mapping[Precision, tuple[float, float]] = {
    name: (f.normal * MARGINS[name], f.largest / MARGINS[name]) for name, f in FORMATS.items()
}

_SIMILAR = 4.0
"""Two estimates of the same noise hardly ever differ by more than this factor."""

_SATURATED = 64.0
"""Noise that grows this much faster than the perturbation is not that of a differentiable computation."""

_MINOR = 1e-3
"""Noise this small beside the largest of the same array is no sign of chaos."""

LARGE = 2**17
"""A derivative of so many numbers, intermediate ones included, is measured in few lanes."""

TRIPS = 1_000
"""The default limit of iterations that are measured: many times what a drawn program takes.

A program that never ends, which shrinking may try, reaches it at once.
"""


@dataclass(frozen=True, slots=True)
class _How:
    """How a derivative is perturbed. The effect of the usual `eps`, None, must be in proportion to it."""

    regrouped: bool = False
    eps: float | None = None
    others: tuple[float, ...] = ()


_USUAL = _How()

_AT_RANDOM = _How(eps=2.0**-52)
"""float64 itself, rounded to either side."""


@dataclass(frozen=True, slots=True, eq=False)
class Tolerance:
    """What rounding may do at one point. With a `reason` the point cannot be judged and the rest is empty.
    Entries whose noise is infinite cannot be judged either: `message` says why.

    `value_noise` has one array per output (zeros for int and bool outputs), `noise` one per differentiated
    input, both in absolute units. `values` and `gradient` are the engine's in float64. `partial` says that a
    form in which libraries write the derivative may lose an amount that could not be measured. `extreme` says
    that the square of an intermediate leaves the range of the dtype: such a form may do so, too.

    Of large arrays, `likely` is what rounding does to each entry where errors go either way, and `tilt` what
    it does to <g, g>, as a share. `open` are the sizes of the differences whose sign rounding may turn, the
    likeliest first.
    """

    precision: Precision
    reason: Reason | None = None
    message: str = ""
    values: tuple[Array, ...] = ()
    value_noise: tuple[Array, ...] = ()
    gradient: Mapping[str, Array] = field(default_factory=dict)
    noise: Mapping[str, Array] = field(default_factory=dict)
    partial: bool = False
    extreme: bool = False
    likely: Mapping[str, Array] = field(default_factory=dict)
    tilt: Mapping[str, float] = field(default_factory=dict)
    open: tuple[float, ...] = ()

    @property
    def leaves_range(self) -> bool:
        """Whether an intermediate is too near the end of the dtype's range."""
        return self.reason is Reason.RANGE or (self.reason is None and bool(self.message))

    def of_bounds(self, outputs: int, bounds: Mapping[str, Array]) -> Tolerance:
        """What an answer is allowed that does not round and knows its own `bounds`."""
        if self.reason is not None:
            return self
        noise = {name: bound / SAFETY for name, bound in bounds.items()}
        values = tuple(noise.pop(output_key(k)) for k in range(outputs))
        return Tolerance("float64", value_noise=values, noise=noise)

    def of_approximation(self, accuracy: float) -> Tolerance:
        """What the gradient of an approximation is allowed beside rounding: `accuracy` times the largest
        entry by the same input. An entry that is 0 whatever is rounded is granted nothing. Where an entry
        leaves the range, the largest one is not known, and nothing can be judged.
        """
        noise = dict(self.noise)
        for name, g in self.gradient.items():
            granted = accuracy / SAFETY * float(np.max(np.abs(g), initial=0.0))
            granted = granted if math.isfinite(granted) else math.inf
            noise[name] = noise[name] + np.where((g == 0.0) & (noise[name] == 0.0), 0.0, granted)
        return replace(self, noise=noise)

    def allowed(self, true: Array, noise: Array, bound: Array) -> Array:
        """The allowed error of one array, entry by entry."""
        result: Array = SAFETY * (noise + unit_roundoff(self.precision) * np.abs(true)) + bound
        return result


def tolerances(
    question: Question, *, trip_limit: int = TRIPS, others: tuple[float, ...] = ()
) -> list[Tolerance]:
    """One tolerance per point, from reverse mode. Of `question.modes` only the order matters. Of decisions
    that are `open` those of the sizes `others` are taken the other way.
    """
    return _by_modes(question, _only("rev", question.order), trip_limit, how=_How(others=others))


def wide_tolerances(
    question: Question,
    *,
    trip_limit: int = TRIPS,
    forward: bool = True,
    reverse: Sequence[Tolerance] | None = None,
) -> list[Tolerance]:
    """One tolerance per point, the widest of those of all modes: reverse, forward, and the question's.

    The two sets of rules write the same derivative differently, as libraries do: the slope of tanh is 1 - y*y
    in one and (1 - y)(1 + y) in the other, and the second derivative of the latter cancels near zero. A
    disagreement must exceed what each of them loses, and what the forms of `alternatives` lose where they can
    be computed. In float64 it must also exceed what random rounding of every result loses (Monte Carlo
    arithmetic): a sine of a huge number loses all, which is out of proportion to any perturbation. Forward
    modes, which build a gradient entry by entry, count unless `forward` is False. `reverse` is what
    `tolerances` says of these points, where that is known.
    """
    order = question.order
    in_reverse = _only("rev", order)
    modes = [question.modes, in_reverse, _only("fwd", order)] if forward else [in_reverse]
    by_modes = {m: _by_modes(question, m, trip_limit) for m in dict.fromkeys(modes) if m != in_reverse}
    by_modes[in_reverse] = _by_modes(question, in_reverse, trip_limit) if reverse is None else list(reverse)
    found = [_widest(same) for same in zip(*(by_modes[m] for m in dict.fromkeys(modes)), strict=True)]
    further = [_by_modes(question, in_reverse, trip_limit, how=_How(regrouped=True))]
    if EPS[question.precision] > unit_roundoff(question.precision):
        further.append(_by_modes(question, in_reverse, trip_limit, how=_AT_RANDOM))
    for rules in written_otherwise(question.program):
        others = _by_modes(question, in_reverse, trip_limit, rules)
        further.append(list(map(_with_half_of_its_digits, others, found)) if rules is LOSSY else others)
    for others in further:
        pairs = zip(found, others, strict=True)
        found = [_also_granted(t, other) for t, other in pairs]
    return found


def _also_granted(tolerance: Tolerance, other: Tolerance) -> Tolerance:
    """The tolerance, widened by that of another form of the derivative where both are known."""
    if tolerance.reason is not None:
        return tolerance
    return _widest([tolerance, other]) if other.reason is None else replace(tolerance, partial=True)


def _with_half_of_its_digits(tolerance: Tolerance, usual: Tolerance) -> Tolerance:
    """A tolerance without what it grants an entry that loses more than half of its digits, in float64. One
    that is 0, as the `usual` rules have it, has no digits.
    """
    if tolerance.precision != "float64" or tolerance.reason is not None or usual.reason is not None:
        return tolerance
    share = FORMATS["float64"].half_of_the_digits / SAFETY
    noise = {}
    for name, own in tolerance.noise.items():
        size = np.abs(usual.gradient[name])
        noise[name] = np.where((size != 0.0) & (own > share * size), 0.0, own)
    return replace(tolerance, noise=noise)


def _only(mode: Mode, order: int) -> tuple[Mode, ...]:
    return (mode,) * order


def _widest(tolerances: Sequence[Tolerance]) -> Tolerance:
    """The first tolerance, widened by the others. Where another form of the derivative leaves the range, and
    the first does not, the noise of the others is not known.
    """
    refused = next((t for t in tolerances if t.reason is not None), None)
    if refused is not None:
        return refused
    first = tolerances[0]
    columns = zip(*(t.value_noise for t in tolerances), strict=True)
    noise = {name: functools.reduce(_wider, [t.noise[name] for t in tolerances]) for name in first.noise}
    value_noise = tuple(functools.reduce(_wider, noises) for noises in columns)
    partial, extreme = (
        any(flags) for flags in zip(*((t.partial, t.extreme) for t in tolerances), strict=True)
    )
    infinite = [any(map(np.any, map(np.isinf, t.noise.values()))) for t in tolerances]
    partial = partial or infinite != [infinite[0]] * len(infinite)
    return replace(first, value_noise=value_noise, noise=noise, partial=partial, extreme=extreme)


def _wider(noise: Array, other: Array) -> Array:
    """The larger one, entry by entry, where the other one is finite."""
    return np.asarray(np.where(np.isinf(other), noise, np.maximum(noise, other)))


def _by_modes(
    question: Question,
    modes: tuple[Mode, ...],
    trip_limit: int,
    rules: Rules | None = None,
    *,
    how: _How = _USUAL,
) -> list[Tolerance]:
    program, wrt = question.program, question.wrt
    try:
        graph = _derivative(program, wrt, modes, rules)
    except NotDifferentiableError as error:
        return [Tolerance(question.precision, Reason.DOMAIN, str(error)) for _ in question.points]
    result: dict[int, Tolerance] = {}
    for group in _alike(question):
        points = [question.points[k] for k in group]
        found = _together(graph, question, points, trip_limit, how)
        result.update(zip(group, found, strict=True))
    return [result[k] for k in range(len(question.points))]


@functools.lru_cache(maxsize=64)
def _derivative(
    program: Program, wrt: tuple[str, ...], modes: tuple[Mode, ...], rules: Rules | None = None
) -> Graph:
    return derivative(program, wrt=wrt, modes=modes, rules=rules)


def _alike(question: Question) -> list[list[int]]:
    """The points that can share a run: those whose int and bool inputs are equal."""
    exact = [p.name for p in question.program.params if p.type.dtype != "float"]
    groups: dict[tuple[bytes, ...], list[int]] = {}
    for k, point in enumerate(question.points):
        groups.setdefault(tuple(np.asarray(point.inputs[name]).tobytes() for name in exact), []).append(k)
    return list(groups.values())


def _together(
    graph: Graph, question: Question, points: Sequence[Point], trip_limit: int, how: _How
) -> list[Tolerance]:
    """All points in one run where they take the same branches, otherwise each in its own."""
    if len(points) > 1:
        try:
            return _run(graph, question, points, trip_limit, how)
        except (EvaluationError, FloatingPointError, OverflowError):
            pass
    return [_alone(graph, question, point, trip_limit, how) for point in points]


def _alone(graph: Graph, question: Question, point: Point, trip_limit: int, how: _How) -> Tolerance:
    try:
        return _run(graph, question, [point], trip_limit, how)[0]
    except EvaluationError as error:
        reason = next((known for kind, known in _REASONS.items() if isinstance(error, kind)), Reason.DOMAIN)
        return Tolerance(question.precision, reason, str(error))
    except (FloatingPointError, OverflowError) as error:
        why = f"{error} while the derivative is computed in float64"
        return _beyond(graph, question, point, trip_limit, how, why)


def _beyond(
    graph: Graph, question: Question, point: Point, trip_limit: int, how: _How, why: str
) -> Tolerance:
    """The tolerance where an intermediate leaves the range: infinite for the entries that depend on it."""
    try:
        return replace(_run(graph, question, [point], trip_limit, how, beyond=True)[0], message=why)
    except UndecidedError as error:
        return Tolerance(question.precision, _REASONS[UndecidedError], str(error))
    except (EvaluationError, FloatingPointError, OverflowError):
        return Tolerance(question.precision, Reason.RANGE, why)


_REASONS: Mapping[type[EvaluationError], Reason] = {
    UndecidedError: Reason.PRIMAL,
    TripLimitError: Reason.TRIP_LIMIT,
    OutOfRangeError: Reason.RANGE,
}


_CHAOTIC = "the computation is chaotic: its rounding errors are not in proportion to the roundoff"


def _run(
    graph: Graph,
    question: Question,
    points: Sequence[Point],
    trip_limit: int,
    how: _How,
    *,
    beyond: bool = False,
) -> list[Tolerance]:
    """The points' tolerances from one run. Raises where a point cannot be judged or branches differ. With
    `beyond` intermediates may leave the range.
    """
    arithmetic = BeyondRangeNamespace if beyond else PerturbedNamespace
    few = len(points) == 1 and numbers_in(graph) > LARGE
    made = functools.partial(arithmetic, question.precision, len(points), few=few, others=how.others)
    made = functools.partial(made, regrouped=how.regrouped)
    namespace = made(how.eps)
    try:
        outputs = _evaluate(graph, question, points, namespace, trip_limit)
    except UndecidedError as error:
        if isinstance(namespace, BeyondRangeNamespace) and namespace.lost:  # no number may be why
            raise OutOfRangeError(str(error)) from error
        raise
    met = namespace.met()
    least, most = _NORMAL[question.precision]
    measured = [_measured(outputs, k, namespace) for k in range(len(points))]
    finer = None
    result = []
    for k, (values, noises) in enumerate(measured):
        smallest, largest = (1.0, 1.0) if beyond else (met.smallest[k], met.largest[k])
        if smallest < least or largest > most:
            extreme = smallest if smallest < least else largest
            why = f"an intermediate of {extreme:.3g} is too near the end of {question.precision}'s range"
            result.append(_beyond(graph, question, points[k], trip_limit, how, why))
            continue
        if how.eps is None and (beyond or met.strayed[k]):
            if finer is None:
                fine = made(FINE_EPS[question.precision])
                finer = (_evaluate(graph, question, points, fine, trip_limit), fine)
            _, fine_noises = _measured(finer[0], k, finer[1])
            chaotic = _out_of_proportion(values, noises, fine_noises)
            if beyond:
                noises = [np.where(out, np.inf, n) for out, n in zip(chaotic, noises, strict=True)]
            elif few and sum(map(np.count_nonzero, chaotic)) <= A_FEW * sum(map(np.size, chaotic)):
                # By chance all draws of one entry among a million are small.
                pairs = zip(chaotic, noises, fine_noises, strict=True)
                noises = [np.where(out, np.maximum(n, fine), n) for out, n, fine in pairs]
            elif any(map(np.any, chaotic)):
                result.append(Tolerance(question.precision, Reason.NOISE, _CHAOTIC))
                continue
        count = len(question.weights)
        likely, tilts = _likely(outputs[count:], namespace) if few else ([], [])
        if few:
            noises = list(map(_as_of_its_line, noises))
        squared = beyond or smallest < math.sqrt(least) or largest > math.sqrt(most)
        result.append(
            Tolerance(
                question.precision,
                values=tuple(values[:count]),
                value_noise=tuple(noises[:count]),
                gradient=dict(zip(question.wrt, values[count:], strict=False)),
                noise=dict(zip(question.wrt, noises[count:], strict=False)),
                extreme=squared,
                likely=dict(zip(question.wrt, likely, strict=False)),
                tilt=dict(zip(question.wrt, tilts, strict=False)),
                open=tuple(dict.fromkeys(size for _, size in sorted(namespace.open))),
            )
        )
    return result


def _evaluate(
    graph: Graph, question: Question, points: Sequence[Point], namespace: PerturbedNamespace, trip_limit: int
) -> tuple[Any, ...]:
    inputs: list[Any] = []
    for param in question.program.params:
        values = [np.asarray(point.inputs[param.name]) for point in points]
        if param.type.dtype == "float":
            inputs.append(namespace.inputs(values))
        else:
            inputs.append(values[0] if param.type.shape else values[0].item())
    inputs += [namespace.inputs([w] * len(points)) for w in question.weights if w is not None]
    if question.order > 1:
        inputs += [namespace.inputs([question.directions[name]] * len(points)) for name in question.wrt]
    return evaluate(graph, inputs, namespace, trip_limit=trip_limit)


def _measured(
    outputs: Sequence[Any], point: int, namespace: PerturbedNamespace
) -> tuple[list[Array], list[Array]]:
    """The exact lane of each output at one point, and the others' spread, scaled to the target's roundoff;
    infinite where a lane has no number.
    """
    values: list[Array] = []
    noises: list[Array] = []
    for output in outputs:
        array = np.asarray(output)
        if array.dtype != np.float64:
            values.append(array)
            noises.append(np.zeros(array.shape))
            continue
        lanes = array[..., point * namespace.lanes : (point + 1) * namespace.lanes]
        exact = lanes[..., 0]
        with np.errstate(invalid="ignore"):  # two infinities
            apart = spread(lanes)
        values.append(exact.copy() if namespace.lanes < LANES else exact)
        noises.append(np.where(np.isfinite(apart), apart * namespace.scale, np.inf))
    return values, noises


def _likely(gradient: Sequence[Array], namespace: PerturbedNamespace) -> tuple[list[Array], list[float]]:
    """What the lanes that round at random do to each entry of a gradient, and to <g, g>, as a share of it."""
    likely, tilts = [], []
    for lanes in gradient:
        with np.errstate(all="ignore"):  # what leaves the range says nothing
            likely.append(_as_of_its_line(namespace.scale * spread(lanes[..., :FEW_DRAWN])))
            exact, *drawn = (lanes[..., k].ravel(order="K") for k in range(FEW_DRAWN))
            size = float(np.dot(exact, exact)) or 1.0
            tilt = max(abs(float(np.dot(one - exact, exact))) for one in drawn)
            tilts.append(namespace.scale * tilt / size)
    return likely, tilts


def _as_of_its_line(noise: Array) -> Array:
    """Noise that few lanes measured, at least a quarter of what its row and column suggest; 0 where nothing
    is rounded. By chance all draws of one entry among a million are small.
    """
    if noise.ndim < 2 or not noise.size:
        return noise
    rows = noise.reshape(-1, noise.shape[-1])
    by_row = rows.mean(axis=1)
    if not np.all(np.isfinite(by_row)):
        return noise
    suggested = np.outer(by_row, rows.mean(axis=0) * (0.25 / (float(np.mean(by_row)) or 1.0)))
    np.maximum(rows, suggested, out=suggested)
    suggested[rows == 0.0] = 0.0
    return suggested.reshape(noise.shape)


def _out_of_proportion(
    values: Sequence[Array], noises: Sequence[Array], finer: Sequence[Array]
) -> list[Array]:
    """The entries to which a smaller perturbation does not do similarly: it gives more noise, or far less to
    one whose noise exceeds its value.

    A chaotic computation has some; eight lanes cannot sample what it loses. An entry that is 0 to first
    order, such as the square of an entry that vanishes, has a noise that shrinks with the square of the
    perturbation: beside other entries that is no chaos.
    """
    found = []
    for value, noise, fine in zip(values, noises, finer, strict=True):
        largest = np.max(noise[np.isfinite(noise)], initial=0.0)
        drowned = (noise > SMALL * np.abs(value)) & (noise > _MINOR * largest)
        found.append((fine > _SIMILAR * noise) | (drowned & (noise > _SATURATED * fine)))
    return found
