"""What a sweep asked and ran on, and what became of earlier findings: the same lines in every text report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gradfuzz.fuzzer.results.events import SweepFinished
from gradfuzz.fuzzer.results.finding import Reason
from gradfuzz.fuzzer.results.review import BaselineEntry, Review
from gradfuzz.reports.common import words
from gradfuzz.reports.common.functions import noun, share
from gradfuzz.reports.common.headline import work
from gradfuzz.reports.common.numbers import count, sums
from gradfuzz.reports.common.standing import safe_link
from gradfuzz.reports.common.summary import group, systems

_MOST = 12
"""The most names in a line; the rest is only counted."""


def outcome(finished: SweepFinished) -> str:
    """The number of findings, the amount of work, and whether the sweep was complete."""
    if finished.findings:
        return f"{count(len(finished.findings), 'finding')} in {work(finished, thousands='')}"
    wrong = sum(summary.disagree for summary in finished.summaries)
    if wrong:  # it ended before any was shrunk
        left = f"{count(wrong, 'disagreement')} not followed up; the same command with --resume does that"
        return f"No findings yet, and {left}: {work(finished, thousands='')}"
    return f"No findings in {work(finished, thousands='')}"


def inconclusive(finished: SweepFinished) -> list[tuple[int, Reason]]:
    """The reasons why checks were inconclusive, the most frequent first."""
    totals = sums(summary.inconclusive for summary in finished.summaries)
    return [(n, reason) for reason, n in totals.most_common()]


def asked(finished: SweepFinished) -> list[str]:
    """About how many programs each way was asked, and of how many it could answer nothing; of a sweep with
    many ways those into one system together.
    """
    summaries = finished.summaries
    if not any(s.programs or s.refused for s in summaries):  # from a run that did not count them
        return []
    if len(summaries) > _MOST:
        summaries = tuple(one.summary for one in systems(summaries))
    families = list(dict.fromkeys(s.family for s in summaries))
    programs = finished.programs // max(len(families), 1)
    lines: list[str] = []
    for s in summaries:
        drawn = s.drawn or programs
        waited = drawn - s.programs - s.refused
        why = [f"could not answer {s.refused:,}"] if s.refused else []
        why += [f"{waited:,} went to other ways, in turn"] if waited > 0 else []
        family = f", {s.family}" if len(families) > 1 else ""
        told = f"{s.programs:,} of {count(drawn, noun([s.family]))}"
        others = f" ({', '.join(why)})" if why else ""
        lines.append(f"{s.name}{family}: {told}{others}")
    return lines


def never(finished: SweepFinished) -> list[str]:
    """The ops about which no way of a system was asked."""
    lines: list[str] = []
    for system, ways in group(finished.summaries).items():
        families = list(dict.fromkeys(way.family for way in ways if way.programs))
        for family in families:
            each = [set(way.never) for way in ways if way.family == family]
            never = sorted(set.intersection(*each))
            where = f", {family}" if len(families) > 1 else ""
            lines += [f"{system}{where}: never about {_some(never)}"] if never else []
    return lines


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
    others = sum(bool(n) for n in counts.values()) - _MOST
    never = [name for name, n in counts.items() if not n]
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


def proofs(finished: SweepFinished) -> str:
    """How many checks were proofs, of the rules in exact numbers, and why others had no graph; empty where no
    rule was asked.
    """
    total = sum(s.proofs for s in finished.summaries)
    untraced = sums(summary.untraced for summary in finished.summaries)
    if not total and not untraced:
        return ""
    line = f"{total:,} of {count(finished.checks, 'check')} ({share(total, finished.checks)})"
    reasons = [f"{n:,} {reason}" for reason, n in untraced.most_common(_MOST)]
    return f"{line}; no graph of the rule: {'; '.join(reasons)}" if reasons else line


def environment(finished: SweepFinished) -> str:
    """Versions and platform in a line."""
    return ", ".join(f"{name} {value}" for name, value in finished.environment.items())


def remembered(review: Review | None) -> list[tuple[str, list[str]]]:
    """(heading, lines) of accepted, expired and stale entries of the baseline, and of fixed findings."""
    if review is None:
        return []
    fixed = [" ".join(words.title(f).split()) for f in review.fixed]
    sections = [
        ("Known, and accepted by the baseline", list(map(_entry, review.known))),
        ("No longer accepted by the baseline", list(map(_entry, review.expired))),
        ("In the baseline, and fixed: the entry can go", list(map(_entry, review.stale))),
        ("Fixed since they were recorded", fixed),
    ]
    return [(heading, lines) for heading, lines in sections if lines]


def _entry(entry: BaselineEntry) -> str:
    until = f"; until {entry.expires.isoformat()}" if entry.expires else ""
    link = f"; {entry.link}" if safe_link(entry.link) else ""
    return f"{entry.id}: {entry.target}: {entry.reason}{link}{until}"
