"""Counts of an oracle's verdicts."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from gradfuzz.fuzzer.results.failure import Failure, failure_of
from gradfuzz.fuzzer.results.finding import CheckResult, Reason, Verdict
from gradfuzz.oracles.base import UNTRACED

_NUMBER, _LONGEST = re.compile(r"\d[\d.,]*\b"), 120
"""A reason is the same whatever its numbers, and in a line."""

_DECIDED = (Verdict.AGREE, Verdict.DISAGREE, Verdict.CONVENTION)


@dataclass(slots=True)
class Counts:
    """Verdicts of one oracle. Adds up over batches."""

    checks: int = 0
    verdicts: Counter[Verdict] = field(default_factory=Counter)
    reasons: Counter[Reason] = field(default_factory=Counter)
    failures: Counter[Failure] = field(default_factory=Counter)
    worst_agreeing: float = 0.0
    drawn: int = 0
    """Programs about which it could have been asked."""
    programs: int = 0
    """Programs about which it was asked something."""
    refused: int = 0
    """Programs whose turn came, and of which it supports nothing."""
    proofs: int = 0
    """Checks of a rule in exact numbers that are decided."""
    untraced: Counter[str] = field(default_factory=Counter)
    """Why there was no graph of a rule, and how often."""
    ops: Counter[str] = field(default_factory=Counter)
    """By op: how many of the programs about which it was asked something have it."""

    def add(self, other: Counts) -> None:
        """Adds `other` to this."""
        self.checks += other.checks
        self.verdicts.update(other.verdicts)
        self.reasons.update(other.reasons)
        self.failures.update(other.failures)
        self.worst_agreeing = max(self.worst_agreeing, other.worst_agreeing)
        self.drawn += other.drawn
        self.programs += other.programs
        self.refused += other.refused
        self.proofs += other.proofs
        self.untraced.update(other.untraced)
        self.ops.update(other.ops)

    def count(self, case: CheckResult) -> None:
        """Counts one more verdict. A question that the oracle does not support is no check."""
        self.verdicts[case.verdict] += 1
        self.checks += case.verdict is not Verdict.UNSUPPORTED
        if case.reason is not None:
            self.reasons[case.reason] += 1
        self.proofs += case.answer.bounds is not None and case.verdict in _DECIDED
        if case.message.startswith(UNTRACED):
            self.untraced[_NUMBER.sub("N", case.message.removeprefix(UNTRACED))[:_LONGEST]] += 1
        if case.verdict is Verdict.CRASHED:
            self.failures[failure_of(case.message)] += 1
        if case.verdict is Verdict.AGREE and case.error_over_allowed is not None:
            self.worst_agreeing = max(self.worst_agreeing, case.error_over_allowed)
