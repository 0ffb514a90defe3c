"""What a sweep asked and ran on, and what became of earlier findings: the same lines in every text report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gradfuzz.fuzzer.results.events import SweepFinished
from gradfuzz.fuzzer.results.finding import Reason
from gradfuzz.fuzzer.results.review import BaselineEntry, Review
from gradfuzz.reports.common.numbers import count
from gradfuzz.reports.common.standing import safe_link

_MOST = 12
"""The most names in a line; the rest is only counted."""


def outcome(finished: SweepFinished) -> str:
    """The number of findings, the amount of work, and whether the sweep was complete."""
    found = count(len(finished.findings), "finding") if finished.findings else "No findings"
    work = (
        f"{count(finished.programs, 'program')}, {count(finished.checks, 'check')}, {finished.seconds:.0f} s"
    )
    if finished.interrupted:
        return f"{found} in {work}. Interrupted: this is the part that was done."
    return (
        f"{found} in {work}."
        if finished.complete
        else f"{found} in {work}. Incomplete: it ended before all was asked."
    )


def inconclusive(finished: SweepFinished) -> list[tuple[int, Reason]]:
    """The reasons why checks were inconclusive, the most frequent first."""
    totals: dict[Reason, int] = {}
    for summary in finished.summaries:
        for reason, n in summary.inconclusive.items():
            totals[reason] = totals.get(reason, 0) + n
    return sorted(((n, reason) for reason, n in totals.items()), key=lambda item: -item[0])


def coverage(finished: SweepFinished) -> str:
    """How many triggers were drawn; empty where none is counted."""
    counts = finished.coverage
    if not counts:
        return ""
    missing = [name for name, n in counts.items() if n == 0]
    rare = sorted((n, name) for name, n in counts.items() if n)[:3]
    line = f"{len(counts) - len(missing)} of {len(counts)} triggers drawn"
    if rare:
        line += f"; rarest {', '.join(f'{name} ({n})' for n, name in rare)}"
    if missing:
        line += f"; never {_some(missing)}"
    return f"{line}."


def tested(finished: SweepFinished) -> list[tuple[str, str]]:
    """(what, how many of each), as in ("trips", "0 (12), 1 (20), 2-4 (150); never >16")."""
    return [(what, _tally(counts)) for what, counts in finished.tested.items() if counts]


def _tally(counts: Mapping[str, int]) -> str:
    most = sorted(counts, key=lambda name: -counts[name])[:_MOST]
    parts = [", ".join(f"{name} ({counts[name]:,})" for name in counts if counts[name] and name in most)]
    others, never = (
        sum(bool(n) for n in counts.values()) - _MOST,
        [name for name, n in counts.items() if not n],
    )
    parts += [f"{others} others"] if others > 0 else []
    parts += [f"never {_some(never)}"] if never else []
    return "; ".join(filter(None, parts))


def _some(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return f"{', '.join(names[:_MOST])}{more}"


def met(finished: SweepFinished) -> str:
    """The rows of the conventions table that checks met."""
    return ", ".join(f"{name} ({n:,})" for name, n in finished.conventions.items() if n)


def environment(finished: SweepFinished) -> str:
    """Versions and platform in a line."""
    return ", ".join(f"{name} {value}" for name, value in finished.environment.items())


def remembered(review: Review | None) -> list[tuple[str, list[str]]]:
    """(heading, lines) of accepted, expired and stale entries of the baseline, and of fixed findings."""
    if review is None:
        return []
    sections = [
        ("Known, the baseline accepts them", [_entry(e) for e in review.known]),
        ("No longer accepted by the baseline", [_entry(e) for e in review.expired]),
        ("In the baseline, and fixed: the entry can go", [_entry(e) for e in review.stale]),
        (
            "Fixed since they were recorded",
            [f"{f.id}: {f.kind.value} in {f.target}, {f.check} {f.precision}" for f in review.fixed],
        ),
    ]
    return [(heading, lines) for heading, lines in sections if lines]


def _entry(entry: BaselineEntry) -> str:
    until = f"; until {entry.expires.isoformat()}" if entry.expires else ""
    link = f"; {entry.link}" if safe_link(entry.link) else ""
    return f"{entry.id}: {entry.target}: {entry.reason}{link}{until}"
