"""Findings of calls that have one root cause: a rule of the library that is wrong."""

from __future__ import annotations

from collections.abc import Sequence

from gradfuzz.fuzzer.results.finding import FINITE, Cluster, Finding
from gradfuzz.fuzzer.results.identity import rule_label


def clusters(findings: Sequence[Finding]) -> tuple[Cluster, ...]:
    """The findings by the rule to blame: one that alone differentiates the call of a finding, wrong in
    the same mode and in a class of the same group.
    """
    blamed = {(_owner(finding), finding.rules[0]) for finding in findings if len(finding.rules) == 1}
    members: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        for rule in finding.rules:
            key = _owner(finding), rule
            if key in blamed:
                members.setdefault(key, []).append(finding)
                break
    return tuple(
        Cluster(rule_label(found[0].target, rule), tuple(finding.id for finding in found))
        for (_, rule), found in members.items()
        if len(found) > 1
    )


def _owner(finding: Finding) -> str:
    """What the findings of one cluster have in common besides the rule."""
    kind = "wrong numbers" if finding.kind in FINITE else finding.kind.value
    mode = finding.modes[-1] if finding.modes else "value"
    return f"{finding.target} {kind} {mode}"
