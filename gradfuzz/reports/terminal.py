"""What people read on a terminal: findings, the summary of a sweep, answers to one program, report cards, targets.

Each function returns something that rich can print. Nothing is said by colour alone: every mark is a word.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.syntax import Syntax
from rich.text import Text

from gradfuzz.fuzzer.events import SweepFinished, TargetSummary
from gradfuzz.fuzzer.finding import Case, Class, Cluster, Finding, FindingPoint, Reason, Verdict
from gradfuzz.fuzzer.report_card import Label, ProbeReport, ProbeTable
from gradfuzz.oracles.base import Array
from gradfuzz.programs.printer import to_text
from gradfuzz.reports import numbers, words
from gradfuzz.reports.sheet import Sheet

__all__ = ["check", "console", "conventions", "finding", "probe", "program", "show", "sweep", "targets"]

_UNSIZED = 110
"""The width of text that goes to a file or a pipe, where nobody says how wide a line may be."""

_STYLES: dict[str, str] = {
    "disagree": "bold red",
    "differs": "bold red",
    "agree": "green",
    "agrees": "green",
    "agrees by coincidence": "yellow",
    "crashed": "magenta",
    "wrong": "bold red",
    "error": "magenta",
    "ok": "green",
    "inconclusive": "yellow",
    "vacuous": "dim",
    "unsupported": "dim",
}


def console(file: IO[str], *, width: int | None = None) -> Console:
    """A console on `file`; NO_COLOR, TERM and COLUMNS are obeyed by rich."""
    result = Console(file=file, width=width, highlight=False, soft_wrap=False)
    if width is None and not result.is_terminal and "COLUMNS" not in result._environ:  # noqa: SLF001 - what rich itself has read
        result = Console(file=file, width=_UNSIZED, highlight=False)
    return result


def show(to: Console, what: RenderableType) -> None:
    """Print `what`; where nobody looks at the page as a page, without the blanks that fill its lines."""
    if to.is_terminal:
        to.print(what)
        return
    with to.capture() as captured:
        to.print(what)
    to.file.writelines(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def program(text: str) -> RenderableType:
    """A program, or a script, highlighted where colours are shown; the background stays the terminal's."""
    return Padding(Syntax(text.rstrip(), "python", theme="ansi_dark", background_color="default", word_wrap=True), (0, 2))


# Sweep -----------------------------------------------------------------------------------------------------------------


def finding(item: Finding, script: Path | None = None, *, show_script: bool = False) -> RenderableType:
    """One finding: title, program, the three points, the verdict in words, where it shows, the script."""
    parts: list[RenderableType] = [Text(words.title(item), style="bold"), program(to_text(item.program)), _points(item)]
    parts += [_paragraph(words.verdict(item)), _paragraph(words.cause(item)), _paragraph(words.judged(item), style="dim")]
    if item.note:
        parts.append(_paragraph(f"Where it shows: {item.note}"))
    if show_script and item.script:
        parts += [_paragraph("A script that shows it without gradfuzz:"), program(item.script)]
    elif script is not None:
        parts.append(Padding(Text(f"Script: {script}", overflow="fold"), (0, 2)))
    return Group(*parts)


def sweep(finished: SweepFinished, scripts: Mapping[str, Path], *, show_scripts: bool = False) -> RenderableType:
    """The end of a sweep: findings, summary matrix, reasons, coverage, seed and rerun command."""
    parts: list[RenderableType] = []
    for item in finished.findings:
        parts += [finding(item, scripts.get(item.id), show_script=show_scripts), Rule(style="dim")]
    if len(finished.findings) > 1:
        parts.append(_clusters(finished.clusters))
    if finished.summaries:
        parts.append(_matrix(finished))
    parts += _reasons(finished.summaries)
    parts += _coverage(finished.coverage)
    parts.append(Text(_outcome(finished), style="bold"))
    parts.append(Text(f"Seed {finished.seed}. Again: {finished.rerun}", overflow="fold"))
    return Group(*parts)


def _clusters(clusters: Sequence[Cluster]) -> RenderableType:
    """The findings by root cause, as far as can be told."""
    lines = [Text("Findings by cause, as far as can be told:")]
    lines += [Text(f"  {c.label}: {', '.join(c.findings)}", overflow="fold") for c in clusters]
    return Group(*lines, Text(""))


def _outcome(finished: SweepFinished) -> str:
    found = numbers.count(len(finished.findings), "finding") if finished.findings else "No findings"
    work = f"{numbers.count(finished.programs, 'program')}, {numbers.count(finished.checks, 'check')}, {finished.seconds:.0f} s"
    if finished.interrupted:
        return f"{found} in {work}. Interrupted: this is the part that was done."
    return f"{found} in {work}." if finished.complete else f"{found} in {work}. Incomplete: it ended before all was asked."


def _points(item: Finding) -> RenderableType:
    table = Sheet("point", "input", "expected", "", "got", "ratio", numeric={"expected", "got", "ratio"})
    kinds = {"smallest": item.smallest, "clearest": item.clearest, "worst": item.worst}
    merged: dict[tuple[str, ...], list[str]] = {}
    for kind, point in kinds.items():
        merged.setdefault(_point_row(point), []).append(kind)
    for row, names in merged.items():
        table.add_row("all three" if len(names) == 3 else " and ".join(names), *row)
    return Padding(table, (0, 0, 0, 1))


def _point_row(point: FindingPoint) -> tuple[str, ...]:
    name, index = point.entry
    expected, got = numbers.pair(point.entry_expected, point.entry_got)
    if math.isnan(point.entry_got) and not point.got:
        got = "nothing"
    bound = float(point.bound[name][index]) if name in point.bound else 0.0
    by = f"  by {numbers.where(name, index)}" if len(point.expected) > 1 or index else ""
    return numbers.inputs(point.inputs) + by, expected, numbers.bound(bound), got, numbers.times(point.ratio)


def _matrix(finished: SweepFinished) -> Sheet:
    optional = [c for c in ("convention", "crashed") if any(getattr(s, c) for s in finished.summaries)]
    numeric = ["checks", "agree", "disagree", "findings", "inconclusive", "unsupported", *optional, "worst"]
    families = list(dict.fromkeys(s.family for s in finished.summaries))
    shown = ["target", *(["family"] if len(families) > 1 else []), *numeric]
    table = Sheet(
        *shown,
        numeric=numeric,
        title=f"Targets by family: {', '.join(families)}",
        caption="worst: the largest error of an agreeing check, 1 is what was allowed",
    )
    for s in finished.summaries:
        found = sum(f.target == s.name and f.family == s.family for f in finished.findings)
        cells: dict[str, str | Text] = {
            "target": f"{s.name} {s.version}",
            "family": s.family,
            "checks": f"{s.checks:,}",
            "agree": f"{s.agree:,}",
            "disagree": _marked(s.disagree, "disagree"),
            "findings": _marked(found, "disagree"),
            "convention": f"{s.convention:,}",
            "inconclusive": f"{sum(s.inconclusive.values()):,}",
            "unsupported": f"{s.unsupported:,}",
            "crashed": _marked(s.crashed, "crashed"),
            "worst": numbers.number(s.worst_agreeing, 2),
        }
        table.add_row(*(cells[column] for column in shown))
    return table


def _reasons(summaries: Iterable[TargetSummary]) -> list[RenderableType]:
    totals: dict[Reason, int] = {}
    for summary in summaries:
        for reason, n in summary.inconclusive.items():
            totals[reason] = totals.get(reason, 0) + n
    if not totals:
        return []
    lines = [f"{n:>8,}  {reason.value}" for reason, n in sorted(totals.items(), key=lambda item: -item[1])]
    return [Text("Inconclusive, and why:"), *(Text(line, overflow="fold") for line in lines), Text("")]


def _coverage(coverage: Mapping[str, int]) -> list[RenderableType]:
    if not coverage:
        return []
    missing = [name for name, n in coverage.items() if n == 0]
    rare = sorted((n, name) for name, n in coverage.items() if n)[:3]
    line = f"Coverage: {len(coverage) - len(missing)} of {len(coverage)} triggers drawn"
    if rare:
        line += f"; rarest {', '.join(f'{name} ({n})' for n, name in rare)}"
    if missing:
        line += f"; never {', '.join(missing)}"
    return [Text(f"{line}.", overflow="fold")]


# Check -----------------------------------------------------------------------------------------------------------------


def check(text: str, cases: Sequence[tuple[str, Case]]) -> RenderableType:
    """The answers to one program: per point the truth and a row per oracle and loop form. Arrays take a row per entry."""
    parts: list[RenderableType] = [program(text), Text("")]
    for at in _by_point(cases):
        parts += _checked_point(at)
    return Group(*parts)


def _by_point(cases: Sequence[tuple[str, Case]]) -> list[list[tuple[str, Case]]]:
    points: dict[str, list[tuple[str, Case]]] = {}
    for loop, case in cases:
        points.setdefault(numbers.inputs(case.point.inputs), []).append((loop, case))
    return list(points.values())


def _checked_point(at: Sequence[tuple[str, Case]]) -> list[RenderableType]:
    first = next((case for _, case in at if case.truth is not None and case.truth.status == "ok"), at[0][1])
    parts: list[RenderableType] = [Text(f"At {numbers.inputs(first.point.inputs)}", style="bold")]
    if first.truth is not None and first.truth.status == "ok":
        by = f", {_say(first.references)}" if first.references else ""
        values = ", ".join(numbers.array(value) for value in first.truth.values)
        parts.append(_paragraph(f"The value is {values}{by}."))
    forms = any(loop for loop, _ in at)
    columns = ["oracle", *(["loop"] if forms else []), "asked", "by", "expected", "", "got", "ratio", "verdict"]
    table = Sheet(*columns, numeric={"expected", "got", "ratio"})
    remarks: dict[str, None] = {}
    for loop, case in at:
        head = [case.oracle, *([loop] if forms else []), words.check_name(case)]
        verdict = Text(case.verdict.value, style=_STYLES.get(case.verdict.value, ""))
        if case.kind is not None:
            verdict.append(f" {case.kind.value}")
        for k, row in enumerate(_entries(case)):
            table.add_row(*(head if k == 0 else [""] * len(head)), *row, verdict if k == 0 else "")
        remark = case.message or case.answer.message or (case.reason.value if case.reason else "")
        if remark and case.verdict is not Verdict.AGREE:
            known = f" (see `gradfuzz targets conventions`: {', '.join(case.conventions)})" if case.conventions else ""
            remarks.setdefault(f"{case.oracle}: {remark}{known}")
    parts.append(table)
    parts += [_paragraph(remark, style="dim") for remark in remarks]
    return [*parts, Text("")]


def _say(references: Sequence[str]) -> str:
    return f"{'says' if len(references) == 1 else 'say'} {' and '.join(references)}"


_Entry = tuple[str, str, str, str, str]


def _entries(case: Case) -> list[_Entry]:
    """(input, expected, bound, got, ratio), one row per entry of the gradient, or of the outputs where it is the value that is judged."""
    truth, answer = case.truth, case.answer
    if truth is None or truth.status != "ok":
        return [("", "", "", "", "")]
    agree = case.verdict is Verdict.AGREE
    rows: list[_Entry] = []
    if case.question.order == 0 or case.kind is Class.WRONG_PRIMAL:
        for k, (expected, bound) in enumerate(zip(truth.values, truth.value_bounds, strict=True)):
            rows += _array_entries(f"output {k}", expected, bound, answer.values[k] if k < len(answer.values) else None, agree)
    else:
        for name, expected in truth.gradient.items():
            rows += _array_entries(name, expected, truth.bounds[name], answer.gradient.get(name), agree)
    return rows or [("", "", "", "", "")]


def _array_entries(name: str, expected: Array, bound: Array, got: Array | None, agree: bool) -> list[_Entry]:
    answer = None if got is None else np.asarray(got)
    rows: list[_Entry] = []
    for index in np.ndindex(expected.shape):
        true, off = float(expected[index]), numbers.bound(float(bound[index]))
        if answer is None or answer.shape != expected.shape:
            told = "" if answer is None else f"shape {answer.shape}"
            rows.append((numbers.where(name, index), numbers.number(true), off, told, ""))
        else:
            left, right = numbers.pair(true, float(answer[index]), agree=agree)
            size = numbers.times(float(answer[index]) / true if true else None, agree=agree)
            rows.append((numbers.where(name, index), left, off, right, size))
    return rows


# Probe -----------------------------------------------------------------------------------------------------------------


def probe(report: ProbeReport, folder: Path | None = None) -> RenderableType:
    """A report card: its tables, the summary, and where the scripts are: in `folder`, or how to get them."""
    parts: list[RenderableType] = [Text(f"{report.target} {report.version}: {report.suite}", style="bold"), Text("")]
    for table in report.tables:
        parts.append(_probe_table(table))
        parts += [_paragraph(note) for note in table.notes]
        parts.append(Text(""))
    parts += [_paragraph(sentence, style="bold") for sentence in report.summary]
    if report.cells and folder is not None:
        parts.append(_paragraph(f"The scripts of the numbered cells are in {folder}; each exits with 1 while the cell is wrong."))
    elif report.cells:
        parts.append(_paragraph(f"A script for each number: {report.rerun} --scripts FOLDER, or --script N to print one."))
    return Group(*parts)


def _probe_table(source: ProbeTable) -> Sheet:
    if source.heads:
        return _status_table(source)
    numeric = {column for k, column in enumerate(source.columns) if any(isinstance(row[k], (int, float)) for row in source.rows)}
    table = Sheet(*source.columns, numeric=numeric, title=source.title)
    place = {column: k for k, column in enumerate(source.columns)}
    for row in source.rows:
        agree = row[-1] != Label.DIFFERS.value
        cells = [_cell(value) for value in row]
        if "ratio" in place:
            expected, got, ratio = (row[place[name]] for name in ("expected", "got", "ratio"))
            if isinstance(expected, float) and isinstance(got, float):
                cells[place["expected"]], cells[place["got"]] = numbers.pair(expected, got, agree=agree)
            cells[place["ratio"]] = numbers.times(ratio if isinstance(ratio, float) else None, agree=agree)
        table.add_row(*(Text(cell, style=_STYLES.get(cell, "")) for cell in cells))
    return table


def _status_table(source: ProbeTable) -> Sheet:
    """A word per cell; the label would only repeat the worst of them."""
    table = Sheet(*source.columns[:-1], title=source.title, heads=source.heads)
    for row in source.rows:
        table.add_row(*(Text(str(cell), style=_STYLES.get(str(cell), "")) for cell in row[:-1]))
    return table


def _cell(value: str | float | int | None) -> str:
    if value is None:
        return "-"
    return numbers.number(value) if isinstance(value, float) else str(value)


# Targets ---------------------------------------------------------------------------------------------------------------


def targets(rows: Sequence[Mapping[str, object]]) -> RenderableType:
    """What can be asked here. The columns are those of the first row."""
    if not rows:
        return Text("No oracles.")
    table = Sheet(*rows[0])
    for row in rows:
        table.add_row(*map(_told, row.values()))
    return table


def _told(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "-"
    return "-" if value is None else str(value)


def conventions(rows: Sequence[Mapping[str, Any]]) -> RenderableType:
    """The ledger of conventions: per row why there is no derivative, and what each system answers to the examples.

    Where forward mode says otherwise an example has a second line.
    """
    parts: list[RenderableType] = []
    for row in rows:
        systems = list(dict.fromkeys(name for example in row["examples"] for name in example["answers"]))
        table = Sheet("example", "at", "left", "right", *systems)
        for example in row["examples"]:
            at = ", ".join(f"{name} = {_entries_of(value)}" for name, value in example["at"].items())
            slopes = [_entries_of(side) for side in example["slopes"] or ("-", "-")]
            table.add_row(*map(Text, (example["expression"], at, *slopes, *_told_by(systems, example["answers"]))))
            if example["forward"]:
                others = _told_by(systems, {**example["answers"], **example["forward"]})
                table.add_row(*map(Text, ("  in forward mode", "", "", "", *others)))
        source = f" ({row['source']})" if row["source"] else ""
        parts += [Text(f"{row['name']}: {', '.join(row['ops'])}", style="bold"), _paragraph(f"{row['why']}.{source}")]
        parts += [table, Text("")]
    return Group(*parts)


def _told_by(systems: Sequence[str], answers: Mapping[str, Any]) -> list[str]:
    return [_entries_of(answers[system]) if system in answers else "-" for system in systems]


def _entries_of(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_entries_of, value))}]"
    return numbers.number(value, 3) if isinstance(value, float) else str(value)


# Pieces ----------------------------------------------------------------------------------------------------------------


def _marked(n: int, style: str) -> Text:
    return Text(f"{n:,}", style=_STYLES[style] if n else "")


def _paragraph(text: str, style: str = "") -> RenderableType:
    return Padding(Text(text, style=style, overflow="fold"), (0, 2))
