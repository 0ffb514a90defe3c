"""One finding on a terminal: program or call, points, tables of variants, verdict, cause, script."""

from __future__ import annotations

import textwrap
from pathlib import Path

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from gradfuzz.fuzzer.results.finding import Finding
from gradfuzz.reports.common import plain, tables, words
from gradfuzz.reports.common.pieces import STYLES, paragraph, program
from gradfuzz.reports.common.standing import Standing
from gradfuzz.reports.terminal.sheet import Sheet

_MARGIN = (0, 0, 0, 1)


def finding(
    item: Finding, script: Path | None = None, *, show_script: bool = False, standing: Standing | None = None
) -> RenderableType:
    """One finding; `script` is the path of its script."""
    item = plain.inert(item)
    parts = _told(item, standing)
    if show_script:
        parts += [program(fault.traceback.rstrip()) for fault in item.own_faults]
    shown = tables.tables(item.evidence.variants) if item.evidence else ()
    for table in shown:
        parts += [Text(""), Padding(_variants(table), _MARGIN)]
    parts += [Text("")] if shown else []
    if show_script:
        parts += _to_run(item)
        if item.script and item.ports.get("short"):
            parts += [paragraph("A script that computes the truth, too, and tells by its exit code:")]
            parts += [program(item.script)]
    elif script is not None:
        parts.append(paragraph(f"Script: {script}"))
    return Group(*parts)


def in_short(item: Finding) -> list[RenderableType]:
    """One finding in five lines or so: what, both numbers, the cause, and where it is reported."""
    told = (words.in_short(item), words.cause(item))
    shown = [*(textwrap.shorten(one, _SHORT, placeholder=" ...") for one in told), words.failed(item)]
    return [_title(item, None), *(paragraph(f"{one[:1].upper()}{one[1:]}") for one in shown if one)]


_SHORT = 140
"""The most characters of what is said about a finding on a screen that has several."""


def page(item: Finding) -> RenderableType:
    """One finding at a glance: what is wrong, the cause, reports, and a few lines to run."""
    item = plain.inert(item)
    more = f"gradfuzz show {item.id} --full has its tables and scripts; --as issue writes a report of it."
    return Group(*_told(item, None), Text(""), *_to_run(item), paragraph(more, style="dim"))


def _told(item: Finding, standing: Standing | None) -> list[RenderableType]:
    """What is wrong, at which points, why, and where it is reported."""
    parts: list[RenderableType] = [
        _title(item, standing),
        program(plain.source(item)),
        _points(item),
        paragraph(words.verdict(item)),
        *([paragraph(told)] if (told := words.cause(item)) else []),
        paragraph(words.judged(item), style="dim"),
    ]
    if told := words.reported(item):
        parts.append(paragraph(told))
    if item.note:
        parts.append(paragraph(f"Where it shows: {item.note}"))
    if told := words.failed(item):
        parts.append(paragraph(told, style="bold"))
    return parts


def _to_run(item: Finding) -> list[RenderableType]:
    """The finding in a few lines, or its whole script where it has none."""
    if short := item.ports.get("short"):
        return [paragraph("In a few lines:"), program(short)]
    told = "A script that computes the truth, too, and tells by its exit code:"
    return [paragraph(told), program(item.script)] if item.script else []


def _title(item: Finding, standing: Standing | None) -> Text:
    title = Text(words.title(item), style="bold", overflow="fold")
    if standing is not None and standing.word:
        since = f" since {standing.since}" if standing.since else ""
        title.append(f"  {standing.word}{since}")
    return title


def _points(item: Finding) -> RenderableType:
    table = Sheet("point", "input", "expected", "", "got", "ratio", numeric={"expected", "got", "ratio"})
    by = any(len(p.expected) > 1 or p.entry[1] for p in (item.smallest, item.clearest, item.worst))
    for row in tables.points(item):
        inputs = f"{row.inputs}  by {row.by}" if by else row.inputs
        table.add_row(row.names, inputs, row.expected, row.bound, row.got, row.ratio)
    return Padding(table, _MARGIN)


def _variants(table: tables.Table) -> Sheet:
    grouped, at = ["what"] * table.grouped, ["at"] * table.at
    columns = (*grouped, table.first, *at, "expected", "got", "ratio", "label")
    sheet = Sheet(*columns, numeric={"expected", "got", "ratio"}, title=table.title)
    above = ""
    for row in table.rows:
        what = ["" if row.group == above else row.group] * table.grouped
        label = Text(row.mark.word, style=STYLES.get(row.mark.word, ""))
        sheet.add_row(*what, row.name, *[row.at] * table.at, row.expected, row.got, row.ratio, label)
        above = row.group
    return sheet
