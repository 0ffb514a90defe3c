"""How answers are judged, disagreements shrunk, and sweeps run.

    check_program    asks several oracles about one program and judges what they say
    sweep.sweep      draws programs, asks, judges, shrinks; yields events
    CheckResult      the verdict on one answer; Finding: disagreements of one kind, shrunk

    results      what comes of a sweep, as data
    questions    what is asked
    tolerance    how large an error is allowed
    conventions  which answers are right where no derivative decides
    verdict      truth and answer compared
    measuring    a function, asked and judged
    proving      the rules of a library, evaluated in balls
    calling      calls of a library's functions: drawn, made, judged
    shrinking    smaller programs and calls with the same disagreement
    findings     from a disagreement to a finding
    turns        the turns of functions, in processes of their own
    workers      where the work of a sweep is done
    probe        report cards
    store        what is kept on disk
    sweep        the run, the self-test, replay and bisection

The data is here at once; what needs the references and the strategies is loaded when it is first used.
"""

from __future__ import annotations

import importlib as _importlib
import typing as _typing

from gradfuzz.fuzzer.results.events import (
    Event,
    FindingFound,
    Progress,
    SweepFinished,
    SweepStarted,
    TargetSummary,
)
from gradfuzz.fuzzer.results.finding import CheckResult, Class, Finding, FindingPoint, Reason, Verdict

Case = CheckResult
"""The former name of `CheckResult`."""

if _typing.TYPE_CHECKING:
    from gradfuzz.fuzzer.verdict.checking import Check, check_program

__all__ = [
    "Case",
    "Check",
    "CheckResult",
    "Class",
    "Event",
    "Finding",
    "FindingFound",
    "FindingPoint",
    "Progress",
    "Reason",
    "SweepFinished",
    "SweepStarted",
    "TargetSummary",
    "Verdict",
    "check_program",
]

_LATER = {"Check": "verdict.checking", "check_program": "verdict.checking"}
"""The modules of the names that are loaded when first used."""


def __getattr__(name: str) -> _typing.Any:
    if name not in _LATER:
        raise AttributeError(
            f"module 'gradfuzz.fuzzer' has no attribute {name!r}; it has {', '.join(__all__)}"
        )
    value = getattr(_importlib.import_module(f"gradfuzz.fuzzer.{_LATER[name]}"), name)
    globals()[name] = value
    return value
