"""Rechecks recorded findings: is the target right now, still wrong, or undecided?

A finding is asked at each of its points, with the other points of its call if there are any, and judged by
the usual evaluator. The recorded answer plays no part.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from gradfuzz.errors import (
    GradfuzzError,
    RecordError,
    SilentTargetError,
    UnknownTargetError,
    WorkerDiedError,
)
from gradfuzz.fuzzer.findings.survey import asked
from gradfuzz.fuzzer.questions.candidate import Candidate
from gradfuzz.fuzzer.results.finding import CheckResult, Finding, FindingPoint, Verdict
from gradfuzz.fuzzer.results.own_fault import OwnFault, attempt
from gradfuzz.fuzzer.results.replayed import Replayed, Status
from gradfuzz.fuzzer.verdict.rounding import sustained
from gradfuzz.fuzzer.verdict.shared import evaluator
from gradfuzz.fuzzer.workers.local import Here, Pool
from gradfuzz.fuzzer.workers.worker import Workers
from gradfuzz.oracles.base import Array, Oracle
from gradfuzz.oracles.registry import resolve
from gradfuzz.oracles.target_name import TargetName
from gradfuzz.programs.language.typecheck import typecheck
from gradfuzz.programs.language.types import Type

_TIMES = 5
"""How often a finding that did not repeat every time is asked."""


def replay_all(findings: Iterable[Finding]) -> Iterator[Replayed]:
    """Yields what became of each finding. Libraries are asked in a separate process, which they may crash."""
    pool: Pool | None = None
    try:
        for finding in findings:
            workers: Workers = Here()
            if TargetName.of(finding.target).library not in ("engine", "mutant"):
                workers = pool = pool or Pool(1)
            try:
                yield workers.submit(_replayed, finding).result()
            except WorkerDiedError:
                yield Replayed(finding, Status.ERROR, f"{finding.target} took its process down")
    finally:
        if pool is not None:
            pool.close(at_once=True)


def _replayed(finding: Finding) -> Replayed:
    found = attempt(f"asking again about {finding.id}", replay, finding)
    if isinstance(found, OwnFault):
        return Replayed(finding, Status.ERROR, f"gradfuzz itself failed: {found.error}", found)
    return found


def replay(finding: Finding) -> Replayed:
    """Asks again at each of its points; a call is made and judged as when it was found."""
    if finding.call is not None:
        from gradfuzz.fuzzer.turns.replay import replayed

        return replayed(finding)
    try:
        target = _target(finding)
        _check(finding)
        cases = list(_cases(finding, target))
    except GradfuzzError as error:
        why = " ".join(str(error).split())
        if isinstance(error, UnknownTargetError) and not isinstance(error, SilentTargetError):
            why = f"unknown target {finding.target!r}; `gradfuzz targets` lists those that there are"
        return Replayed(finding, Status.ERROR, why)
    wrong = [case for case in cases if case.verdict.is_wrong]
    if wrong:
        return Replayed(finding, Status.FAILED, _still(wrong[0], target))
    unclear = [case for case in cases if case.verdict in (Verdict.INCONCLUSIVE, Verdict.UNSUPPORTED)]
    if unclear:
        return Replayed(finding, Status.ERROR, _why_not(unclear[0]))
    return Replayed(finding, Status.FIXED, f"{target.name} {target.version} is right at each of its points")


def _target(finding: Finding) -> Oracle:
    """The library's entry point that was wrong."""
    ways = resolve(finding.target, together=True, supervised=True)
    found = next((way for way in ways if way.name == finding.target), None)
    if found is None:
        names = ", ".join(way.name for way in ways)
        raise RecordError(f"the target {finding.target!r} has several ways in, {names}; name one of them")
    return found


def _cases(finding: Finding, target: Oracle) -> Iterator[CheckResult]:
    """The verdicts at the distinct points. At the smallest point both references must confirm, as before."""
    times = 1 if finding.reproduced[0] == finding.reproduced[1] else _TIMES
    seen: set[bytes] = set()
    for point in (finding.smallest, finding.clearest, finding.worst):
        inside = b"".join(value.tobytes() for _, value in sorted(point.inputs.items()))
        if inside in seen or (seen and finding.others):
            continue
        seen.add(inside)
        candidate = _candidate(finding, point)
        refusal = target.supports(candidate.question())
        if refusal is not None:
            raise RecordError(f"{target.name} cannot be asked this: {refusal}")
        for _ in range(times):
            case = asked(candidate, target, confirm=point is finding.smallest)
            yield sustained(case, candidate.question(), candidate.place, target, evaluator())


def _candidate(finding: Finding, point: FindingPoint) -> Candidate:
    asked = finding.wrt, finding.modes, finding.weights, finding.directions
    company = finding.others, finding.place
    return Candidate(finding.program, point.inputs, finding.precision, *asked, *company)


# Words ------------------------------------------------------------------------------------------------------


def _still(case: CheckResult, target: Oracle) -> str:
    at = ", ".join(f"{name} = {np.asarray(value).tolist()}" for name, value in case.point.inputs.items())
    if case.expected is None or case.got is None:
        return f"{target.name} {target.version} at {at}: {case.message}"
    return f"{target.name} {target.version} at {at}: expected {case.expected!r}, got {case.got!r}"


def _why_not(case: CheckResult) -> str:
    reason = case.reason.value if case.reason else case.verdict.value
    return f"{case.verdict.value}: {reason}" + (f" ({case.message})" if case.message else "")


# Form -------------------------------------------------------------------------------------------------------


def _check(finding: Finding) -> None:
    """`RecordError` or `ProgramTypeError` where the parts of a finding, perhaps hand-written, do not fit."""
    typed = typecheck(finding.program)
    params = {p.name: p.type for p in finding.program.params}
    points = [finding.smallest.inputs, finding.clearest.inputs, finding.worst.inputs, *finding.others]
    for inputs in points:
        if set(inputs) != set(params):
            given = ", ".join(inputs) or "of a point"
            raise RecordError(f"the inputs {given} are not those of the program, {', '.join(params)}")
        for name, value in inputs.items():
            _fits(f"the input {name}", value, params[name], finding.precision)
    for name in finding.wrt:
        if name not in params or not params[name].is_float:
            raise RecordError(f"wrt names {name!r}, which is no float input of the program")
        _fits(f"the direction of {name}", finding.directions.get(name), params[name], "float64")
    if len(finding.weights) != len(typed.outputs):
        raise RecordError(f"there are {len(finding.weights)} weights for {len(typed.outputs)} outputs")
    for k, (weight, output) in enumerate(zip(finding.weights, typed.outputs, strict=True)):
        if output.is_float:
            _fits(f"the weight of output {k}", weight, output, "float64")
    if not 0 <= finding.place <= len(finding.others):
        raise RecordError(f"place is {finding.place} among {len(finding.others)} others")


def _fits(what: str, value: Array | None, type: Type, precision: str) -> None:
    dtype = {"float": precision, "int": "int64", "bool": "bool"}[type.dtype]
    if value is None or value.dtype.name != dtype or value.shape != type.sizes:
        given = "missing" if value is None else f"{value.dtype.name} of shape {list(value.shape)}"
        raise RecordError(f"{what} is {given}, and must be {dtype} of shape {list(type.sizes)}")
