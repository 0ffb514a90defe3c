"""The page around the articles: verdict, matrix, lists of findings and causes, what was tested."""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gradfuzz.fuzzer.results.events import SweepFinished, TargetSummary
from gradfuzz.fuzzer.results.finding import SYSTEMATIC, Cluster, Finding
from gradfuzz.fuzzer.results.known_reports import KnownReport, reports_of
from gradfuzz.fuzzer.results.shown import functions
from gradfuzz.oracles.target_name import TargetName
from gradfuzz.programs.language.program import Program, walk
from gradfuzz.programs.language.syntax import Call
from gradfuzz.reports.common import numbers, summary, words
from gradfuzz.reports.common.headline import judged
from gradfuzz.reports.common.standing import Standing, Standings
from gradfuzz.reports.common.systems import System, systems

# The matrix of targets and families -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MatrixCell:
    """One target and family: a few words, a line of figures, and the name of a style."""

    words: str
    figures: str
    style: str


MatrixRow = tuple[str, str, tuple[MatrixCell, ...]]
"""The system, its version and number of ways, and a cell for each family."""


def matrix(finished: SweepFinished) -> tuple[tuple[str, ...], list[MatrixRow]]:
    """(families, rows)."""
    families = tuple(dict.fromkeys(s.family for s in finished.summaries))
    asked = {(s.summary.name, s.summary.version, s.summary.family): s for s in systems(finished.summaries)}
    found = Counter((TargetName.of(f.target).system, f.version, f.family) for f in finished.findings)
    rows: list[MatrixRow] = []
    for name, version in dict.fromkeys((name, version) for name, version, _ in asked):
        ways = max(asked[name, version, f].ways for f in families if (name, version, f) in asked)
        cells = tuple(_cell(asked.get((name, version, f)), found[name, version, f]) for f in families)
        rows.append((name, f"{version}{f', {ways} ways' if ways > 1 else ''}", cells))
    return families, rows


def _cell(asked: System | None, found: int) -> MatrixCell:
    if asked is None or not asked.summary.checks:
        return MatrixCell("not asked", "", "silent")
    checks, disagree, told = asked.summary.checks, asked.summary.disagree, judged(asked.summary)
    share = f"{told:,} of {numbers.count(checks, 'check')} judged"
    if found:
        return MatrixCell(numbers.count(found, "finding"), share, "found")
    if disagree:
        some = f"{numbers.count(disagree, 'check')} disagree"
        return MatrixCell(some, f"{share}; see other findings of this target", "found")
    return MatrixCell("agrees", share, "agrees") if told else MatrixCell("nothing judged", share, "silent")


def counts(of: TargetSummary, columns: Sequence[str]) -> tuple[str, ...]:
    """The counts in these columns, and the largest error of an agreeing check over the allowed error."""
    tally = summary.tally(of)
    return *(f"{tally[name]:,}" for name in columns), numbers.number(of.worst_agreeing, 2)


# Findings and causes ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FindingRow:
    """A row of the table of findings: the numbers of the clearest point where they can be compared."""

    finding: Finding
    expected: str
    got: str
    ratio: str
    standing: Standing
    reports: tuple[KnownReport, ...]


def rows(findings: Sequence[Finding], standings: Standings) -> Iterator[FindingRow]:
    """The rows in the order of the findings, which is their rank."""
    for finding in findings:
        point = finding.clearest
        expected, got = numbers.pair(point.entry_expected, point.entry_got)
        told = (expected, got, numbers.times(point.ratio)) if finding.kind.of_numbers else ("", "", "")
        yield FindingRow(finding, *told, standings.of(finding), reports_of(finding))


@dataclass(frozen=True, slots=True)
class CauseRow:
    """A row of the table of causes."""

    letter: str
    target: str
    summary: str
    reported: str
    ops: str
    kinds: str
    seen: int
    findings: tuple[str, ...]
    more: int


_MOST_LINKS = 12
_PLAIN = frozenset(
    {"add", "subtract", "multiply", "divide", "negative", "less", "index", "logical_not", "where"}
)
"""Ops that are named only where there is no other."""


def causes(clusters: Sequence[Cluster], findings: Sequence[Finding]) -> Iterator[CauseRow]:
    """A row per cluster, in the clusters' order."""
    known = {finding.id: finding for finding in findings}
    for k, cluster in enumerate(clusters):
        members = [known[name] for name in cluster.findings if name in known]
        target, colon, told = cluster.label.partition(": ")
        reported = {f.cause.reported for f in members if f.cause and f.cause.reported != SYSTEMATIC}
        reported |= {report.name for f in members for report in reports_of(f)}
        yield CauseRow(
            letter=_letter(k),
            target=target if colon else "",
            summary=told if colon else cluster.label,
            reported=", ".join(sorted(reported)),
            ops=_ops(members),
            kinds=", ".join(dict.fromkeys(words.plain_kind(f) for f in members)),
            seen=sum(f.seen for f in members),
            findings=cluster.findings[:_MOST_LINKS],
            more=max(0, len(cluster.findings) - _MOST_LINKS),
        )


def _letter(k: int) -> str:
    """A, B, ... Z, AA, AB, ..."""
    letters = string.ascii_uppercase
    return (_letter(k // 26 - 1) if k >= 26 else "") + letters[k % 26]


def _ops(members: Sequence[Finding]) -> str:
    """The functions that are called, or the ops of the shrunk programs, without `_PLAIN` ones if others are
    there.
    """
    there = dict.fromkeys(op for f in members for op in functions(f) or _called(f.program))
    telling = [op for op in there if op not in _PLAIN] or list(there)
    return ", ".join(telling[:6]) + (", ..." if len(telling) > 6 else "")


def _called(program: Program) -> Iterator[str]:
    return (node.op for node in walk(program) if isinstance(node, Call))


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
