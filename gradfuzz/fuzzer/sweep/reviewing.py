"""The state of earlier findings at the end of a sweep: known, expired, stale, fixed.

Each sweep draws other programs, so that a finding did not come up says little. Those of the baseline and of
the store that did not come up for the sweep's targets are therefore rechecked: of the store the newest, and
only a few.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence

from gradfuzz.fuzzer.results.events import SweepFinished
from gradfuzz.fuzzer.results.finding import Finding
from gradfuzz.fuzzer.results.identity import signature_of, signatures
from gradfuzz.fuzzer.results.own_fault import OwnFault
from gradfuzz.fuzzer.results.replayed import Status
from gradfuzz.fuzzer.results.review import Baseline, BaselineEntry, Review
from gradfuzz.fuzzer.store.baseline import matches, standing
from gradfuzz.fuzzer.store.runs import Store
from gradfuzz.fuzzer.sweep.replaying import replay_all

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
    failed: Callable[[OwnFault], None] = lambda fault: None,
) -> Review:
    """The review of a sweep, which is run number `run` of the store. After Ctrl-C nothing is rechecked.

    `tell` is called with a sentence on how many findings are rechecked, `failed` where gradfuzz itself fails
    at one.
    """
    today = today or datetime.datetime.now(datetime.UTC).date()
    found = {own: finding.id for finding in finished.findings for own in signatures(finding)}
    known, expired = standing(baseline, finished.findings, today)
    asked = {summary.name for summary in finished.summaries}
    recorded = store.recorded() if store else []
    missing = [
        item for item in baseline.accepted if not any(matches(item, finding) for finding in finished.findings)
    ]
    entries = [
        (item.entry, found_before)
        for item in missing
        if (found_before := item.finding or _accepted(item.entry, store)) is not None
    ]
    accepted = {signature_of(finding) for _, finding in entries}
    waiting = [finding for _, finding in entries]
    for record in recorded:
        signature = signature_of(record.finding)
        if signature not in found and signature not in accepted:
            waiting.append(record.finding)
    waiting = [finding for finding in waiting if finding.target in asked][:_AT_MOST]
    right = set() if finished.interrupted else _right(waiting, tell, failed)
    first = store.first_seen(run) if store else {}
    return Review(
        known=known,
        expired=expired,
        stale=tuple(entry for entry, finding in entries if signature_of(finding) in right),
        fixed=tuple(record.finding for record in recorded if signature_of(record.finding) in right),
        first_seen=tuple({id: first[s][:10] for s, id in found.items() if s in first}.items()),
    )


def _accepted(entry: BaselineEntry, store: Store | None) -> Finding | None:
    """The finding of an entry, if the store has it."""
    finding = None if store is None else store.latest(entry.id)
    return finding if finding is not None and signature_of(finding) == entry.signature else None


def counted(finished: SweepFinished, review: Review) -> tuple[Finding, ...]:
    """The findings of the sweep that the baseline does not accept."""
    known = {entry.signature for entry in review.known}
    return tuple(finding for finding in finished.findings if signature_of(finding) not in known)


def _right(
    findings: Sequence[Finding], tell: Callable[[str], None], failed: Callable[[OwnFault], None]
) -> set[str]:
    """The signatures of which every finding is fixed."""
    if findings:
        plural = "s" if len(findings) > 1 else ""
        tell(f"Asking again about {len(findings)} earlier finding{plural} that did not come up.")
    outcomes = list(zip(map(signature_of, findings), replay_all(findings), strict=True))
    for _, outcome in outcomes:
        if outcome.own_fault is not None:
            failed(outcome.own_fault)
    wrong = {signature for signature, outcome in outcomes if outcome.status is not Status.FIXED}
    return {signature for signature, _ in outcomes} - wrong
