"""Sections about a finding in Markdown, shared by the whole report and the text of an issue.

The arguments are inert already; what Markdown could take for markup is escaped here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gradfuzz.fuzzer.results.evidence import Aspect, Evidence, Variant
from gradfuzz.fuzzer.results.finding import Finding
from gradfuzz.fuzzer.results.known_reports import reports_of
from gradfuzz.fuzzer.results.report_card import Label
from gradfuzz.reports.common import tables, words
from gradfuzz.reports.common.plain import code, code_cell, fenced, markdown, source
from gradfuzz.reports.common.summary import COUNTS

_NUMERIC = frozenset(
    {
        "expected",
        "got",
        "ratio",
        "trip",
        "seen",
        "findings",
        "functions",
        "share",
        "calls",
        "without it",
        *COUNTS,
    }
)

_OWN_TABLE = (Aspect.BODY, Aspect.SIGN)
"""Aspects whose variants are shown in a table, not in a line."""


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are Markdown already; numbers are aligned right."""
    rules = ["---:" if column in _NUMERIC else "---" for column in columns]
    return "\n".join(f"| {' | '.join(row)} |" for row in (columns, rules, *rows))


def bullets(lines: Iterable[str]) -> str:
    """A list of lines that are Markdown already."""
    return "\n".join(f"- {line}" for line in lines)


def definition(finding: Finding) -> str:
    """The program or call, and which function of its outputs is differentiated where that is not obvious."""
    weights = words.weights(finding, "script")
    return fenced(source(finding), "python") + (f"\n\n{weights}" if weights else "")


def links(finding: Finding) -> list[str]:
    """A link to each known report that the finding fits."""
    return [f"[{code(report.name)}](<{report.link}>)" for report in reports_of(finding)]


def reported(finding: Finding) -> str:
    """The known reports and entries that the finding fits, and what they are about; empty without one."""
    what = dict.fromkeys(report.what for report in reports_of(finding))
    told = f"Reported as {', '.join(links(finding))}: {markdown('; '.join(what))}." if what else ""
    return " ".join(filter(None, [told, markdown(words.listed(finding))]))


def points(finding: Finding) -> str:
    """Expected and actual at the three points."""
    rows = []
    for row in tables.points(finding):
        what = (row.names, code_cell(row.inputs), code_cell(row.by))
        rows.append((*what, _with_bound(row), row.got, row.ratio, row.times_allowed))
    return table(("point", "input", "by", "expected", "got", "ratio", "error / allowed"), rows)


def characterisation(evidence: Evidence) -> list[str]:
    """A block each for loop bodies, signs, and values of an input."""
    blocks: list[str] = []
    shown = [*tables.tables([v for v in evidence.variants if v.aspect in _OWN_TABLE])]
    if evidence.curve is not None and (along := tables.along(evidence.curve)):
        shown.append(along)
    for part in shown:
        blocks += [f"**{markdown(part.title)}.** {markdown(part.caption)}", _variants(part)]
    return blocks


def properties(evidence: Evidence) -> list[str]:
    """A line for each aspect that was varied: dtype, loop form, mode, order, batch, way."""
    told: dict[Aspect, list[str]] = {aspect: [] for aspect in Aspect if aspect not in _OWN_TABLE}
    for variant in evidence.variants:
        if variant.aspect in told:
            told[variant.aspect].append(_told(variant))
    return [f"{aspect.value}: {'; '.join(variants)}" for aspect, variants in told.items() if variants]


def _told(variant: Variant) -> str:
    (row,) = tables.tables([variant])[0].rows
    at = f" at {markdown(row.at)}" if row.at else ""
    wrong = variant.label is Label.DIFFERS and row.expected and row.got
    numbers = f" (expected {row.expected}, got {row.got})" if wrong else ""
    return f"{code(row.name)}{at} {row.mark.word}{numbers}"


def _variants(part: tables.Table) -> str:
    columns = [part.first, *["at"] * part.at, "expected", "got", "ratio", ""]
    rows = []
    for row in part.rows:
        at = [markdown(row.at)] * part.at
        word = f"**{row.mark.word}**" if row.mark.word == Label.DIFFERS.value else row.mark.word
        flip = ", other sign" if row.flipped else ""
        rows.append([code_cell(row.name), *at, _with_bound(row), row.got, row.ratio, f"{word}{flip}"])
    return table([markdown(column) for column in columns], rows)


def _with_bound(row: tables.PointRow | tables.VariantRow) -> str:
    return f"{row.expected} {row.bound}" if row.bound and row.bound != "exact" else row.expected
