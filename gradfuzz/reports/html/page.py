"""The page around the articles: the matrix of targets, and the lists of findings and causes."""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Iterator, Sequence

from gradfuzz.fuzzer.results.events import SweepFinished, TargetSummary
from gradfuzz.fuzzer.results.finding import SYSTEMATIC, Cluster, Finding
from gradfuzz.fuzzer.results.known_reports import reports_of
from gradfuzz.fuzzer.results.shown import functions
from gradfuzz.oracles.target_name import TargetName
from gradfuzz.programs.language.program import Program, walk
from gradfuzz.programs.language.syntax import Call
from gradfuzz.reports.common import numbers, summary, words
from gradfuzz.reports.common.headline import judged
from gradfuzz.reports.common.summary import System, systems

# The matrix of targets and families -------------------------------------------------------------------------


MatrixCell = tuple[str, str, str]
"""One target and family: a few words, a line of figures, and the name of a style."""

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
        return "not asked", "", "silent"
    checks, disagree, told = asked.summary.checks, asked.summary.disagree, judged(asked.summary)
    share = f"{told:,} of {numbers.count(checks, 'check')} judged"
    if found:
        return numbers.count(found, "finding"), share, "found"
    if disagree:
        some = f"{numbers.count(disagree, 'check')} disagree"
        return some, f"{share}; see other findings of this target", "found"
    return ("agrees", share, "agrees") if told else ("nothing judged", share, "silent")


def counts(of: TargetSummary, columns: Sequence[str]) -> tuple[str, ...]:
    """The counts in these columns, and the largest error of an agreeing check over the allowed error."""
    tally = summary.tally(of)
    return *(f"{tally[name]:,}" for name in columns), numbers.number(of.worst_agreeing, 2)


# Findings and causes ----------------------------------------------------------------------------------------


def at_clearest(finding: Finding) -> tuple[str, str, str]:
    """Expected, got and ratio at the clearest point; empty where they cannot be compared."""
    if not finding.kind.of_numbers:
        return "", "", ""
    point = finding.clearest
    return *numbers.pair(point.entry_expected, point.entry_got), numbers.times(point.ratio)


_MOST_LINKS = 12
_PLAIN = frozenset(
    {"add", "subtract", "multiply", "divide", "negative", "less", "index", "logical_not", "where"}
)
"""Ops that are named only where there is no other."""


def causes(clusters: Sequence[Cluster], findings: Sequence[Finding]) -> Iterator[dict[str, object]]:
    """A row of the table of causes for each cluster, in the clusters' order."""
    known = {finding.id: finding for finding in findings}
    for k, cluster in enumerate(clusters):
        members = [known[name] for name in cluster.findings if name in known]
        target, colon, told = cluster.label.partition(": ")
        reported = {f.cause.reported for f in members if f.cause and f.cause.reported != SYSTEMATIC}
        reported |= {report.name for f in members for report in reports_of(f)}
        yield {
            "letter": _letter(k),
            "target": target if colon else "",
            "summary": told if colon else cluster.label,
            "reported": ", ".join(sorted(reported)),
            "ops": _ops(members),
            "kinds": ", ".join(dict.fromkeys(words.plain_kind(f) for f in members)),
            "seen": sum(f.seen for f in members),
            "findings": cluster.findings[:_MOST_LINKS],
            "more": max(0, len(cluster.findings) - _MOST_LINKS),
        }


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
