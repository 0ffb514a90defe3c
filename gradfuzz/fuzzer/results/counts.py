"""Counts of an oracle's verdicts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from gradfuzz.fuzzer.results.failure import Failure, failure_of
from gradfuzz.fuzzer.results.finding import CheckResult, Reason, Verdict


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
    ops: set[str] = field(default_factory=set)
    """The ops of the programs about which it was asked something."""

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
        self.ops |= other.ops

    def count(self, case: CheckResult) -> None:
        """Counts one more verdict. A question that the oracle does not support is no check."""
        self.verdicts[case.verdict] += 1
        self.checks += case.verdict is not Verdict.UNSUPPORTED
        if case.reason is not None:
            self.reasons[case.reason] += 1
        if case.verdict is Verdict.CRASHED:
            self.failures[failure_of(case.message)] += 1
        if case.verdict is Verdict.AGREE and case.error_over_allowed is not None:
            self.worst_agreeing = max(self.worst_agreeing, case.error_over_allowed)
