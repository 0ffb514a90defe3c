"""The state of earlier findings at the end of a sweep: known, expired, stale, fixed.

Each sweep draws other programs, so that a finding did not come up says little. Those of the baseline and of
the store that did not come up for the sweep's targets are therefore rechecked: of the store the newest, and
only a few.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import replace

from gradfuzz.fuzzer.results.events import SweepFinished
from gradfuzz.fuzzer.results.finding import Finding
from gradfuzz.fuzzer.results.review import Baseline, Review
from gradfuzz.fuzzer.store.baseline import accepts
from gradfuzz.fuzzer.store.runs import Store, signature_of
from gradfuzz.fuzzer.sweep.replaying import Status, replay_all

_AT_MOST = 24
"""This many findings are rechecked at the end of a sweep."""


def review(
    finished: SweepFinished,
    baseline: Baseline,
    store: Store | None = None,
    run: int = 0,
    *,
    today: datetime.date | None = None,
    tell: Callable[[str], None] = lambda words: None,
) -> Review:
    """The review of a sweep, which is run number `run` of the store. After Ctrl-C nothing is rechecked.

    `tell` is called with a sentence on how many findings are rechecked.
    """
    today = today or datetime.datetime.now(datetime.UTC).date()
    found = {signature_of(finding): finding.id for finding in finished.findings}
    entries = [item.entry for item in baseline.accepted]
    up = [replace(entry, id=found[entry.signature]) for entry in entries if entry.signature in found]
    asked = {summary.name for summary in finished.summaries}
    recorded = store.recorded() if store else []
    waiting: dict[str, Finding] = {item.entry.signature: item.finding for item in baseline.accepted}
    for record in recorded:
        waiting.setdefault(signature_of(record.finding), record.finding)
    missing = {s: finding for s, finding in waiting.items() if s not in found and finding.target in asked}
    right = set() if finished.interrupted else _right(dict(list(missing.items())[:_AT_MOST]), tell)
    first = store.first_seen(run) if store else {}
    return Review(
        known=tuple(entry for entry in up if accepts(entry, today)),
        expired=tuple(entry for entry in up if not accepts(entry, today)),
        stale=tuple(entry for entry in entries if entry.signature in right),
        fixed=tuple(record.finding for record in recorded if signature_of(record.finding) in right),
        first_seen=tuple((id, first[s][:10]) for s, id in found.items() if s in first),
    )


def counted(finished: SweepFinished, review: Review) -> tuple[Finding, ...]:
    """The findings of the sweep that the baseline does not accept."""
    known = {entry.signature for entry in review.known}
    return tuple(finding for finding in finished.findings if signature_of(finding) not in known)


def _right(findings: dict[str, Finding], tell: Callable[[str], None]) -> set[str]:
    """The signatures of the fixed findings."""
    if findings:
        plural = "s" if len(findings) > 1 else ""
        tell(f"Asking again about {len(findings)} earlier finding{plural} that did not come up.")
    outcomes = zip(findings, replay_all(findings.values()), strict=True)
    return {signature for signature, outcome in outcomes if outcome.status is Status.FIXED}
