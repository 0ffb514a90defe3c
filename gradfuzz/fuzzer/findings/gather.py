"""Measures the evidence that a finding shows beside its points; `evidence.py` lists the kinds.

Evidence that cannot be measured is left out. Nothing here argues for or against the finding, which is proved
before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from gradfuzz.errors import GradfuzzError
from gradfuzz.fuzzer.findings.curve import curve
from gradfuzz.fuzzer.findings.survey import Survey
from gradfuzz.fuzzer.findings.variants import variants
from gradfuzz.fuzzer.questions.candidate import Candidate
from gradfuzz.fuzzer.results.evidence import Evidence
from gradfuzz.fuzzer.results.finding import CheckResult, Class
from gradfuzz.fuzzer.verdict.labels import Entry
from gradfuzz.oracles.base import Oracle

T = TypeVar("T")


def gather(
    candidate: Candidate, smallest: CheckResult, surveyed: Survey, entry: Entry, target: Oracle
) -> Evidence:
    """The evidence for a shrunk disagreement: `smallest` is its verdict, `entry` the entry it shows."""
    asked = replace(candidate, modes=()) if smallest.kind is Class.WRONG_PRIMAL else candidate
    return Evidence(
        _or_none(lambda: curve(asked, entry, target)),
        _or_none(lambda: variants(asked, smallest, surveyed.outcomes, entry, target)) or (),
    )


def _or_none(part: Callable[[], T]) -> T | None:
    """A part of the evidence; None where it needs an invalid program or one that cannot be evaluated."""
    try:
        return part()
    except GradfuzzError:
        return None
