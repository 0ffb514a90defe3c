"""A finding at one point; its three points: smallest, clearest, worst."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from gradfuzz.fuzzer.questions.candidate import Candidate
from gradfuzz.fuzzer.results.finding import CheckResult, Finding, FindingPoint
from gradfuzz.oracles.base import Array, by_output, check_name, output_index
from gradfuzz.programs.language.program import Program

_ROUND = (0.5, 2.0, 1.7, 1.5, 3.0, 0.25, 0.75, -0.5, -2.0)
"""Round numbers: what a person would try."""

_ORDINARY = (*_ROUND, 0.001, 0.01, 0.1, 0.3, 0.7, 0.9, 1.0, 5.0, 10.0, -0.001, -0.1, -1.0)
"""Ordinary values, also near zero and larger: the error may be far worse there than at a round number."""

_PLAIN_RATIO = 0.25
"""An answer is plainly wrong where it is off by this share."""


def grid(candidate: Candidate) -> list[Mapping[str, Array]]:
    """The candidate's own inputs, then each float input in turn at every ordinary value."""
    return [candidate.inputs, *_varied(candidate)]


def _varied(candidate: Candidate) -> Iterator[Mapping[str, Array]]:
    floats = [p.name for p in candidate.program.params if p.type.is_float]
    for value in _ORDINARY:
        for name in sorted(floats, key=lambda n: n not in candidate.wrt):
            old = candidate.inputs[name]
            pattern = [value * (1 + k / 4) for k in range(max(1, old.size))]
            yield {**candidate.inputs, name: np.resize(np.array(pattern), old.shape).astype(old.dtype)}


def clearest(cases: Sequence[CheckResult]) -> CheckResult:
    """The first case at round numbers where the answer is plainly wrong; without one, the first case."""
    return next((case for case in cases if _plain(case)), cases[0])


def _plain(case: CheckResult) -> bool:
    expected, got = case.expected, case.got
    entries = [v for a in case.point.inputs.values() for v in np.ravel(a).tolist()]
    if expected is None or got is None or not all(map(_is_round, entries)):
        return False
    if not math.isfinite(got):
        return True
    largest = max(abs(expected), abs(got))
    return 0.01 <= largest <= 100 and abs(got - expected) >= _PLAIN_RATIO * abs(expected)


def _is_round(value: float) -> bool:
    round_ = (v * (1 + k / 4) for v in _ROUND for k in range(4))
    return value in (0.0, 1.0, -1.0) or any(abs(value - v) <= 1e-6 * abs(value) for v in round_)


def worst(cases: Sequence[CheckResult]) -> CheckResult:
    """The case with the largest relative error, which is infinite where the true derivative is zero."""
    return max(cases, key=relative_error)


def relative_error(case: CheckResult) -> float:
    """The relative error of the worst entry; infinite where there is none."""
    expected, got = case.expected, case.got
    if expected is None or got is None or not math.isfinite(got) or expected == 0.0:
        return math.inf
    return abs(got - expected) / abs(expected)


def finding_point(case: CheckResult) -> FindingPoint:
    """A case as a finding's row. For a wrong value "gradient" holds the outputs as "output 0", ..."""
    truth, answer = case.truth, case.answer
    expected, bound = dict[str, Array](), dict[str, Array]()
    got: dict[str, Array] = {name: np.asarray(g) for name, g in answer.gradient.items()}
    if truth is not None and case.worst is not None and output_index(case.worst[0]) is not None:
        expected, bound = by_output(truth.values), by_output(truth.value_bounds)
        got = by_output(map(np.asarray, answer.values))
    elif truth is not None and truth.status == "ok":
        expected, bound = dict(truth.gradient), dict(truth.bounds)
    elif truth is not None and truth.left is not None and truth.right is not None:
        # At a kink: the slope that is nearer to the answer, if there is one.
        for name, left in truth.left.items():
            right, near = truth.right[name], got.get(name, left)
            expected[name] = np.where(np.abs(near - left) <= np.abs(near - right), left, right)
            bound[name] = np.zeros_like(left)
    entry = case.worst or _first_entry(expected)
    return FindingPoint(
        inputs=case.point.inputs,
        expected=expected,
        got=got,
        bound=bound,
        entry=entry,
        entry_expected=_at(expected, entry) if case.expected is None else case.expected,
        entry_got=_at(got, entry) if case.got is None else case.got,
        ratio=case.ratio,
        error_over_allowed=math.inf if case.error_over_allowed is None else case.error_over_allowed,
        allowed=case.allowed,
    )


def finding_at(candidate: Candidate, case: CheckResult, version: str, family: str, met: Program) -> Finding:
    """The finding of a disagreement at a candidate, whose inputs are all of its points: without an id, a note
    and a script. `version` is the oracle's, `met` the program before it was shrunk.
    """
    assert case.kind is not None, "a disagreement has a class"
    point = finding_point(case)
    return Finding(
        id="",
        target=case.oracle,
        version=version,
        check=check_name(candidate.modes),
        kind=case.kind,
        family=family,
        precision=candidate.precision,
        modes=candidate.modes,
        wrt=candidate.wrt,
        program=candidate.program,
        original=met,
        weights=candidate.weights,
        directions=candidate.directions,
        smallest=point,
        clearest=point,
        worst=point,
        seen=1,
        references=case.references,
        reproduced=(1, 1),
        others=candidate.others,
        place=candidate.place,
    )


def _first_entry(arrays: Mapping[str, Array]) -> tuple[str, tuple[int, ...]]:
    """The entry that is shown of an answer that cannot be compared entry by entry."""
    return next(((name, (0,) * a.ndim) for name, a in arrays.items() if a.size), ("", ()))


def _at(arrays: Mapping[str, Array], entry: tuple[str, tuple[int, ...]]) -> float:
    """One entry; NaN where there is none."""
    name, index = entry
    array = arrays.get(name)
    if array is None or array.ndim != len(index) or not array.size:
        return math.nan
    return float(np.real(array[index]))  # a complex answer has the wrong dtype, which is said beside it
