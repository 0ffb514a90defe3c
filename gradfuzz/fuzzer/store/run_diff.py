"""Compares two sets of findings: new, gone, still there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gradfuzz.fuzzer.results.finding import Finding
from gradfuzz.fuzzer.results.identity import signature_of


@dataclass(frozen=True, slots=True)
class Difference:
    """Findings are equal where their signatures are. `still` has the later set's findings."""

    new: tuple[Finding, ...]
    gone: tuple[Finding, ...]
    still: tuple[Finding, ...]


def difference(before: Sequence[Finding], after: Sequence[Finding]) -> Difference:
    """The difference from one set to a later one."""
    old, now = ({signature_of(finding) for finding in findings} for findings in (before, after))
    return Difference(
        new=tuple(finding for finding in after if signature_of(finding) not in old),
        gone=tuple(finding for finding in before if signature_of(finding) not in now),
        still=tuple(finding for finding in after if signature_of(finding) in old),
    )
