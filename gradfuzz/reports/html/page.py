"""The page around the articles: verdict, matrix, lists of findings and causes, what was tested."""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gradfuzz.fuzzer.results.events import SweepFinished
from gradfuzz.fuzzer.results.finding import Cluster, Finding, Reason
from gradfuzz.fuzzer.results.review import BaselineEntry, Review
from gradfuzz.oracles.target_name import TargetName
from gradfuzz.programs.language.syntax import Call, walk
from gradfuzz.reports.common import numbers
from gradfuzz.reports.common.headline import judged
from gradfuzz.reports.common.standing import Standing, Standings, safe_link
from gradfuzz.reports.common.systems import System, systems
from gradfuzz.reports.common.words import MALFORMED
from gradfuzz.reports.html.article import anchor

# The matrix of targets and families -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Cell:
    """One target and family: a few words, a line of figures, and the name of a style."""

    words: str
    figures: str
    style: str


def matrix(finished: SweepFinished) -> tuple[tuple[str, ...], tuple[tuple[str, str, tuple[Cell, ...]], ...]]:
    """(families, rows of (system, version and number of ways, a cell per family))."""
    families = tuple(dict.fromkeys(s.family for s in finished.summaries))
    asked = {(s.summary.name, s.summary.version, s.summary.family): s for s in systems(finished.summaries)}
    found = Counter((TargetName.of(f.target).system, f.version, f.family) for f in finished.findings)
    rows = []
    for name, version in dict.fromkeys((name, version) for name, version, _ in asked):
        ways = max(asked[name, version, f].ways for f in families if (name, version, f) in asked)
        cells = tuple(_cell(asked.get((name, version, f)), found[name, version, f]) for f in families)
        rows.append((name, f"{version}{f', {ways} ways' if ways > 1 else ''}", cells))
    return families, tuple(rows)


def _cell(asked: System | None, found: int) -> Cell:
    if asked is None or not asked.summary.checks:
        return Cell("not asked", "", "silent")
    summary = asked.summary
    told = judged(summary)
    share = f"{told:,} of {numbers.count(summary.checks, 'check')} judged"
    if found:
        return Cell(numbers.count(found, "finding"), share, "found")
    if summary.disagree:
        return Cell(
            f"{numbers.count(summary.disagree, 'check')} disagree",
            f"{share}; see other findings of this target",
            "found",
        )
    return Cell("agrees", share, "agrees") if told else Cell("nothing judged", share, "silent")


@dataclass(frozen=True, slots=True)
class Tally:
    """The counts of one target and family."""

    target: str
    family: str
    counts: tuple[str, ...]


COUNTS = ("checks", "agree", "disagree", "convention", "inconclusive", "unsupported", "crashed", "worst")


def tallies(finished: SweepFinished) -> tuple[Tally, ...]:
    """All counts; `worst` is the largest error of an agreeing check over the allowed error."""
    return tuple(
        Tally(
            f"{s.name} {s.version}",
            s.family,
            (
                *(
                    f"{n:,}"
                    for n in (
                        s.checks,
                        s.agree,
                        s.disagree,
                        s.convention,
                        sum(s.inconclusive.values()),
                        s.unsupported,
                        s.crashed,
                    )
                ),
                numbers.number(s.worst_agreeing, 2),
            ),
        )
        for s in finished.summaries
    )


def reasons(finished: SweepFinished) -> tuple[tuple[str, int], ...]:
    """The reasons why checks were inconclusive, most frequent first."""
    totals: dict[Reason, int] = {}
    for summary in finished.summaries:
        for reason, n in summary.inconclusive.items():
            totals[reason] = totals.get(reason, 0) + n
    return tuple((reason.value, n) for reason, n in sorted(totals.items(), key=lambda item: -item[1]))


# Findings and causes ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table of findings. `severity`, `size` and the like are sort keys."""

    anchor: str
    id: str
    target: str
    kind: str
    severity: int
    check: str
    precision: str
    family: str
    expected: str
    got: str
    ratio: str
    size: float
    """error over allowed"""
    seen: int
    cause: str
    standing: Standing


def rows(findings: Sequence[Finding], standings: Standings) -> Iterator[Row]:
    """The rows in the order of the findings, which is their rank."""
    for finding in findings:
        point = finding.clearest
        expected, got = numbers.pair(point.entry_expected, point.entry_got)
        if finding.kind in MALFORMED:
            expected = got = ""
        yield Row(
            anchor(finding.id),
            finding.id,
            finding.target,
            finding.kind.value.replace("_", " "),
            finding.kind.severity,
            finding.check,
            finding.precision,
            finding.family,
            expected,
            got,
            "" if finding.kind in MALFORMED else numbers.times(point.ratio),
            point.error_over_allowed,
            finding.seen,
            finding.cause.summary if finding.cause else "",
            standings.of(finding),
        )


@dataclass(frozen=True, slots=True)
class Cause:
    """A row of the table of causes."""

    letter: str
    target: str
    summary: str
    reported: str
    ops: str
    kinds: str
    seen: int
    findings: tuple[tuple[str, str], ...]
    """(anchor, id)"""
    more: int


_MOST_LINKS = 12
_PLAIN = frozenset(
    {"add", "subtract", "multiply", "divide", "negative", "less", "index", "logical_not", "where"}
)
"""Ops that are named only where there is no other."""


def causes(clusters: Sequence[Cluster], findings: Sequence[Finding]) -> tuple[Cause, ...]:
    """A row per cluster, in the clusters' order."""
    known = {finding.id: finding for finding in findings}
    made = []
    for k, cluster in enumerate(clusters):
        members = [known[name] for name in cluster.findings if name in known]
        target, colon, summary = cluster.label.partition(": ")
        reported = {f.cause.reported for f in members if f.cause and f.cause.reported != "systematic"}
        made.append(
            Cause(
                _letter(k),
                target if colon else "",
                summary if colon else cluster.label,
                ", ".join(sorted(reported)),
                _ops(members),
                ", ".join(dict.fromkeys(f.kind.value.replace("_", " ") for f in members)),
                sum(f.seen for f in members),
                tuple((anchor(name), name) for name in cluster.findings[:_MOST_LINKS]),
                max(0, len(cluster.findings) - _MOST_LINKS),
            )
        )
    return tuple(made)


def _letter(k: int) -> str:
    """A, B, ... Z, AA, AB, ..."""
    letters = string.ascii_uppercase
    return (_letter(k // 26 - 1) if k >= 26 else "") + letters[k % 26]


def _ops(members: Sequence[Finding]) -> str:
    """The ops of the shrunk programs, without `_PLAIN` ones where others occur."""
    there = dict.fromkeys(node.op for f in members for node in walk(f.program) if isinstance(node, Call))
    telling = [op for op in there if op not in _PLAIN] or list(there)
    return ", ".join(telling[:6]) + (", ..." if len(telling) > 6 else "")


# Earlier sweeps and the baseline ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Accepted:
    """An entry of the baseline."""

    anchor: str
    id: str
    target: str
    reason: str
    link: str
    expires: str


def accepted(entries: Sequence[BaselineEntry], shown: Sequence[Finding]) -> tuple[Accepted, ...]:
    """Entries as rows; `anchor` is empty where the report has no article of the finding."""
    here = {finding.id for finding in shown}
    return tuple(
        Accepted(
            anchor(e.id) if e.id in here else "",
            e.id,
            e.target,
            e.reason,
            safe_link(e.link),
            e.expires.isoformat() if e.expires else "never",
        )
        for e in entries
    )


def earlier(review: Review | None) -> tuple[tuple[str, str, str], ...]:
    """(id, target, class) of fixed findings."""
    return (
        tuple((f.id, f"{f.target} {f.version}", f.kind.value.replace("_", " ")) for f in review.fixed)
        if review
        else ()
    )


# What was tested --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Bar:
    """A name, a count, and its share of the largest in percent."""

    name: str
    n: int
    share: int


def tested(counts: Mapping[str, Mapping[str, int]]) -> tuple[tuple[str, tuple[Bar, ...]], ...]:
    """A list of bars per kind of thing; ops by frequency, the others in their given order."""
    return tuple((kind, bars(names, by_size=kind == "op")) for kind, names in counts.items() if names)


def bars(counts: Mapping[str, int], *, by_size: bool) -> tuple[Bar, ...]:
    """Counts as bars."""
    most = max(counts.values(), default=0)
    items = sorted(counts.items(), key=lambda item: -item[1]) if by_size else counts.items()
    return tuple(Bar(name, n, max(1, round(100 * n / most)) if n else 0) for name, n in items)


def coverage(counts: Mapping[str, int]) -> tuple[tuple[Bar, ...], tuple[str, ...]]:
    """(goals that were drawn, names of those that were not)."""
    drawn = {name: n for name, n in counts.items() if n}
    return bars(drawn, by_size=True), tuple(name for name, n in counts.items() if not n)
