"""Sections about a finding in Markdown, shared by the whole report and the text of an issue.

The arguments are inert already; what Markdown could take for markup is escaped here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gradfuzz.fuzzer.results.evidence import Aspect, Evidence, Variant
from gradfuzz.fuzzer.results.finding import Finding
from gradfuzz.fuzzer.results.report_card import Label
from gradfuzz.reports.common import tables
from gradfuzz.reports.common.plain import code, code_cell, fenced, markdown, program

_NUMERIC = frozenset(
    {"expected", "got", "ratio", "trip", "seen", "checks", "findings"}
    | {"agree", "disagree", "convention", "inconclusive", "unsupported", "crashed"}
)


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are Markdown already; numbers are aligned right."""
    rules = ["---:" if column in _NUMERIC else "---" for column in columns]
    return "\n".join(f"| {' | '.join(row)} |" for row in (columns, rules, *rows))


def definition(finding: Finding) -> str:
    """The program, and which function of its outputs is differentiated where that is not obvious."""
    plainly = len(finding.weights) == 1 and all(
        w is not None and not w.shape and w == 1 for w in finding.weights
    )
    told = (
        ""
        if plainly
        else "\n\nThe derivative is of a weighted sum of the outputs; the script has the weights."
    )
    return fenced(program(finding.program), "python") + told


def points(finding: Finding) -> str:
    """Expected and actual at the three points."""
    rows = [
        (
            row.names,
            code_cell(row.inputs),
            code_cell(row.by),
            _with_bound(row.expected, row.bound),
            row.got,
            row.ratio,
            row.times_allowed,
        )
        for row in tables.points(finding)
    ]
    return table(("point", "input", "by", "expected", "got", "ratio", "error / allowed"), rows)


def characterisation(evidence: Evidence) -> list[str]:
    """A block each for loop bodies, values of an input, signs, adjoints by iteration, and step sizes."""
    blocks: list[str] = []
    along = None if evidence.curve is None else tables.along(evidence.curve)
    for part in (
        *tables.tables([v for v in evidence.variants if v.aspect in (Aspect.BODY, Aspect.SIGN)]),
        along,
    ):
        if part is not None:
            blocks += [f"**{markdown(part.title)}.** {markdown(part.caption)}", _variants(part)]
    if evidence.adjoints is not None and (rows := tables.adjoints(evidence.adjoints)):
        blocks += [
            f"**Trip by trip.** The derivative by {code(evidence.adjoints.carry)} as it enters each trip of"
            " the loop."
        ]
        blocks += [table(("trip", "expected", "got", "ratio"), rows)]
    if evidence.differences is not None and (told := tables.differences(evidence.differences)):
        blocks.append(markdown(told))
    return blocks


def properties(evidence: Evidence) -> list[str]:
    """A line for each aspect that was varied: dtype, loop form, mode, order, batch, way."""
    lines = []
    for aspect in Aspect:
        told = (
            [_told(v) for v in evidence.variants if v.aspect is aspect]
            if aspect not in (Aspect.BODY, Aspect.SIGN)
            else []
        )
        if told:
            lines.append(f"{aspect.value}: {'; '.join(told)}")
    return lines


def _told(variant: Variant) -> str:
    (row,) = tables.tables([variant])[0].rows
    at = f" at {markdown(row.at)}" if row.at else ""
    numbers = (
        f" (expected {row.expected}, got {row.got})"
        if variant.label is Label.DIFFERS and row.expected and row.got
        else ""
    )
    return f"{code(row.name)}{at} {row.mark.word}{numbers}"


def _variants(part: tables.Table) -> str:
    columns = [part.first, *(["at"] if part.at else []), "expected", "got", "ratio", ""]
    rows = []
    for row in part.rows:
        at = [markdown(row.at)] if part.at else []
        word = f"**{row.mark.word}**" if row.mark.word == Label.DIFFERS.value else row.mark.word
        flip = ", sign flip" if row.flipped else ""
        rows.append(
            [
                code_cell(row.name),
                *at,
                _with_bound(row.expected, row.bound),
                row.got,
                row.ratio,
                f"{word}{flip}",
            ]
        )
    return table([markdown(column) for column in columns], rows)


def _with_bound(expected: str, bound: str) -> str:
    return f"{expected} {bound}" if bound and bound != "exact" else expected
