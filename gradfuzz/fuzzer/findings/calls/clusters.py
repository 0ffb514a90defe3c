"""Findings of calls that have one root cause: a known bug, or a rule of the library that is wrong."""

from __future__ import annotations

from collections.abc import Sequence

from gradfuzz.fuzzer.results.finding import FINITE, Cluster, Finding
from gradfuzz.fuzzer.results.identity import blamed_rule, rule_label
from gradfuzz.fuzzer.results.known_reports import entries_of, reports_of


def clusters(findings: Sequence[Finding]) -> tuple[Cluster, ...]:
    """The findings by the known bug, or by the rule to blame: one that alone differentiates the calls, wrong
    in the same mode and in a class of the same group.
    """
    members: dict[tuple[str, ...], list[str]] = {}
    for finding in findings:
        if cause := _cause(finding):
            members.setdefault(cause, []).append(finding.id)
    return tuple(Cluster(label, tuple(ids)) for (label, *_), ids in members.items() if len(ids) > 1)


def _cause(finding: Finding) -> tuple[str, ...]:
    """A label, and what the findings of its cluster have in common besides; empty without a cause."""
    for known in (*reports_of(finding), *entries_of(finding)):
        return (f"{finding.target}: {known.what} ({known.cited})",)
    kind = "wrong numbers" if finding.kind in FINITE else finding.kind.value
    rule = blamed_rule(finding)
    return (rule_label(finding.target, rule), kind, finding.modes[-1]) if rule else ()
