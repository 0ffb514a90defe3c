"""Reports for a terminal: the end of a sweep, answers to one program, report cards, proofs, targets.

Each function returns something that rich can print. Colour alone says nothing: every mark is a word.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console, Group, RenderableType
from rich.rule import Rule
from rich.text import Text

from gradfuzz.fuzzer.results.events import SweepFinished, TargetSummary
from gradfuzz.fuzzer.results.finding import CheckResult, Class, Finding, Verdict
from gradfuzz.fuzzer.results.proof import ProofRecord
from gradfuzz.fuzzer.results.report_card import Label, ProbeReport, ProbeTable
from gradfuzz.fuzzer.results.review import Review
from gradfuzz.oracles.base import Array, check_name, output_key
from gradfuzz.oracles.target_name import TargetName
from gradfuzz.reports.common import account, numbers, plain, titles, words
from gradfuzz.reports.common.headline import faults, own_faults
from gradfuzz.reports.common.pieces import STYLES, UNSIZED, headed, paragraph, program, show
from gradfuzz.reports.common.proofs import styled
from gradfuzz.reports.common.standing import Standings, divided, news
from gradfuzz.reports.common.summary import FAILURES, columns, systems, tally
from gradfuzz.reports.common.tables import spoken
from gradfuzz.reports.terminal import functions
from gradfuzz.reports.terminal.block import finding, in_short
from gradfuzz.reports.terminal.sheet import Sheet

# Sweep ------------------------------------------------------------------------------------------------------


def render(finished: SweepFinished, review: Review | None) -> str:
    """The end of a sweep as text without colours, for files."""
    file = io.StringIO()
    plainly = Console(file=file, width=UNSIZED, highlight=False, color_system=None)
    show(plainly, sweep(finished, {}, review=review))
    return file.getvalue()


def sweep(
    finished: SweepFinished,
    scripts: Mapping[str, Path],
    *,
    show_scripts: bool = False,
    review: Review | None = None,
) -> RenderableType:
    """The end of a sweep: what is new, summary matrix, functions or reasons, what was tested, review, seed,
    rerun command. A known finding has one line.
    """
    files = {plain.line(item.id): scripts.get(item.id) for item in finished.findings}
    finished, review = plain.inert(finished), plain.inert(review)
    standings = Standings(review)

    def whole(item: Finding) -> list[RenderableType]:
        standing = standings.of(item)
        block = finding(item, files.get(item.id), show_script=show_scripts, standing=standing)
        return [block, Rule(style="dim")]

    parts = _findings(finished, review, whole)
    if finished.summaries:
        parts.append(_matrix(finished))
    parts += functions.section(finished.functions) or _reasons(finished)
    parts += _tested(finished)
    return Group(*parts, *_end(finished, review))


def brief(
    finished: SweepFinished, scripts: Mapping[str, Path], *, review: Review | None = None
) -> RenderableType:
    """The end of a sweep on a screen: the first of what is new in a few lines each, the rest in one, known
    findings and causes in a line for each kind, and a row for each system.
    """
    finished, review = plain.inert(finished), plain.inert(review)
    told = news(finished.findings, review)
    new, known = divided(finished.findings, review)
    parts: list[RenderableType] = [Text(told, style="bold"), Text("")] if told else []
    for item in new[:_IN_SHORT]:
        parts += [*in_short(item), Text("")]
    lines = _some([f"{item.id}  {titles.title(item)}" for item in new[_IN_SHORT:]])
    lines += [f"Known, {how}: {', '.join(item.id for item in items)}" for how, items in known.items()]
    lines += [f"One cause, {line}" for line in _causes(finished)[:_MOST_KNOWN]]
    parts += [*map(_line, lines), Text("")] if lines else []
    if finished.summaries:
        parts.append(_systems(finished))
    parts += [Text(told, overflow="fold") for told in functions.in_short(finished.functions)]
    more = ["--verbose has the tables, and what was tested"]
    more += ["`gradfuzz show ID` a page of each finding"] if finished.findings else []
    more += [f"scripts are in {next(iter(scripts.values())).parent}"] if scripts else []
    parts += [Text(f"More: {'; '.join(more)}.", style="dim", overflow="fold")]
    told_above = replace(review, known=()) if review is not None else None
    for heading, entries in account.remembered(told_above):
        ids = ", ".join(entry.partition(" ")[0].rstrip(":") for entry in entries)
        parts.append(_line(f"{heading}: {ids}"))
    return Group(*parts, *_end(finished, None))


def _line(text: str) -> Text:
    """A text that ends where the line does."""
    return Text(text, no_wrap=True, overflow="ellipsis")


def _findings(
    finished: SweepFinished, review: Review | None, told_of: Callable[[Finding], list[RenderableType]]
) -> list[RenderableType]:
    """What is new first, then what is known, and the causes."""
    told = news(finished.findings, review)
    parts: list[RenderableType] = [Text(told, style="bold"), Text("")] if told else []
    new, known = divided(finished.findings, review)
    for item in new:
        parts += told_of(item)
    for how, items in known.items():
        lines = [f"{words.title(one)}; {words.in_short(one)} {words.failed(one)}" for one in items]
        parts += [*headed(f"Known, {how}:", _some([" ".join(line.split()) for line in lines])), Text("")]
    if causes := [f"  {line}" for line in _causes(finished)]:
        parts += [*headed("Findings that seem to have one cause:", causes), Text("")]
    return parts


def _causes(finished: SweepFinished) -> list[str]:
    """A line for each cause of several findings."""
    return [f"{one.label}: {', '.join(one.findings)}" for one in finished.clusters if len(one.findings) > 1]


def _end(finished: SweepFinished, review: Review | None) -> list[RenderableType]:
    """What became of earlier findings, faults, the outcome, and the command that repeats the sweep."""
    parts: list[RenderableType] = []
    for heading, lines in account.remembered(review):
        parts += headed(f"{heading}:", _some(lines))
    parts += [Text(fault, style="bold", overflow="fold") for fault in faults(finished)]
    parts += [program(fault.traceback.rstrip()) for fault in finished.own_faults]
    if told := own_faults(finished):
        parts.append(Text(told, style="bold", overflow="fold"))
    parts.append(Text(account.outcome(finished), style="bold"))
    parts.append(Text(f"Seed {finished.seed}. Again: {finished.rerun}", overflow="fold"))
    return parts


def _systems(finished: SweepFinished) -> Sheet:
    """A row for each system and family."""
    numeric = ["checks", "disagree", "findings", "inconclusive"]
    table = Sheet("system", "family", *numeric, numeric=numeric)
    for one in systems(finished.summaries):
        s = one.summary
        told = tally(s)
        found = _found_in(s, finished)
        unsure = f"{told['inconclusive']:,}"
        counts = f"{told['checks']:,}", _marked(s.disagree, "disagree"), _marked(found, "disagree"), unsure
        table.add_row(titles.versioned(s.name, s.version), s.family, *counts)
    return table


def _found_in(summary: TargetSummary, finished: SweepFinished) -> int:
    """The findings of a target, or of all ways into a system, in a family."""
    return sum(
        summary.name in (f.target, TargetName.of(f.target).system)
        and (summary.version, summary.family) == (f.version, f.family)
        for f in finished.findings
    )


def _some(lines: Sequence[str]) -> list[str]:
    more = len(lines) - _MOST_KNOWN
    rest = [f"  and {more:,} more: `gradfuzz findings` lists them"] if more > 0 else []
    return [*(f"  {line}" for line in lines[:_MOST_KNOWN]), *rest]


_MOST_KNOWN = 8
"""The most findings of a kind that have a line of their own."""

_IN_SHORT = 3
"""So many new findings have a few lines each on a screen."""

_MOST_ROWS = 32
"""With more rows than this, the ways of a system share one row."""

_TOGETHER = "; the ways into a system are added up, --report json tells them apart"


def _matrix(finished: SweepFinished) -> Sheet:
    checks, agree, disagree, *others = columns(finished.summaries)
    numeric = [checks, agree, disagree, "findings", *others, "worst"]
    families = list(dict.fromkeys(s.family for s in finished.summaries))
    apart = len(finished.summaries) <= _MOST_ROWS
    shown = ["target", *(["family"] if len(families) > 1 else []), *numeric]
    caption = "worst: the largest error of an agreeing check, 1 is what was allowed"
    table = Sheet(
        *shown,
        numeric=numeric,
        title=f"Targets by family: {', '.join(families)}",
        caption=caption if apart else caption + _TOGETHER,
    )
    for s in finished.summaries if apart else [one.summary for one in systems(finished.summaries)]:
        found = _found_in(s, finished)
        cells: dict[str, str | Text] = {
            **{column: f"{n:,}" for column, n in tally(s).items()},
            "target": titles.versioned(s.name, s.version),
            "family": s.family,
            "disagree": _marked(s.disagree, "disagree"),
            "findings": _marked(found, "disagree"),
            **{name: _marked(tally(s)[name], "crashed") for name in FAILURES},
            "worst": numbers.number(s.worst_agreeing, 2),
        }
        table.add_row(*(cells[column] for column in shown))
    return table


def _reasons(finished: SweepFinished) -> list[RenderableType]:
    lines = [f"{n:>8,}  {reason.value}" for n, reason in account.inconclusive(finished)]
    return [*headed("Inconclusive, and why:", lines), Text("")] if lines else []


def _tested(finished: SweepFinished) -> list[RenderableType]:
    told = [("Asked", "; ".join(account.asked(finished))), ("Not asked", "; ".join(account.never(finished)))]
    told += [("Coverage", account.coverage(finished))]
    told += [(f"Tested by {what}", counts) for what, counts in account.tested(finished)]
    told += [("Proofs", account.proofs(finished))]
    told += [("Conventions met", account.met(finished)), ("Ran on", account.environment(finished))]
    return [Text(f"{what}: {text}", overflow="fold") for what, text in told if text]


# Check ------------------------------------------------------------------------------------------------------


def check(text: str, cases: Sequence[tuple[str, CheckResult]]) -> RenderableType:
    """The answers to one program: per point the truth and a row per oracle, loop form and entry."""
    cases = plain.inert(cases)
    parts: list[RenderableType] = [program(plain.block(text)), Text("")]
    for at in words.by_point(cases):
        parts += _checked_point(at)
    return Group(*parts)


def _checked_point(at: Sequence[tuple[str, CheckResult]]) -> list[RenderableType]:
    first = words.told_best(at)
    parts: list[RenderableType] = [Text(f"At {numbers.inputs(first.point.inputs)}", style="bold")]
    if first.truth is not None and first.truth.status == "ok":
        by = f", {_say(first.references)}" if first.references else ""
        values = ", ".join(numbers.array(value) for value in first.truth.values)
        parts.append(paragraph(f"The value is {values}{by}."))
    forms = any(loop for loop, _ in at)
    columns = ("asked", "by", "expected", "", "got", "ratio", "verdict")
    table = Sheet("oracle", *["loop"] * forms, *columns, numeric={"expected", "got", "ratio"})
    remarks: dict[str, None] = {}
    for loop, case in at:
        head = [case.oracle, *[loop] * forms, check_name(case.question.modes)]
        verdict = Text(words.verdict_of(case), style=STYLES.get(case.verdict.value, ""))
        for k, row in enumerate(_entries(case)):
            table.add_row(*(head if k == 0 else [""] * len(head)), *row, verdict if k == 0 else "")
        if case.verdict is not Verdict.AGREE and (remark := words.remark(case)):
            met = ", ".join(case.conventions) if case.answer.limit is None else ""
            known = f" (see `gradfuzz targets conventions`: {met})" if met else ""
            remarks.setdefault(f"{case.oracle}: {remark}{known}")
    parts.append(table)
    parts += [paragraph(remark, style="dim") for remark in remarks]
    return [*parts, Text("")]


def _say(references: Sequence[str]) -> str:
    return f"{'says' if len(references) == 1 else 'say'} {' and '.join(references)}"


_Entry = tuple[str, str, str, str, str]
_NOTHING: _Entry = ("", "", "", "", "")


def _entries(case: CheckResult) -> list[_Entry]:
    """(input, expected, bound, got, ratio), a row per entry of the gradient, or of the judged outputs."""
    truth, answer = case.truth, case.answer
    if truth is None or truth.status != "ok":
        return [_NOTHING]
    expected, bounds, got = truth.gradient, truth.bounds, answer.gradient
    if case.question.order == 0 or case.kind is Class.WRONG_PRIMAL:
        outputs = (truth.values, truth.value_bounds, answer.values)
        expected, bounds, got = ({output_key(k): v for k, v in enumerate(of)} for of in outputs)
    agree = case.verdict is Verdict.AGREE
    rows = [_array_entries(name, true, bounds[name], got.get(name), agree) for name, true in expected.items()]
    return list(itertools.chain(*rows)) or [_NOTHING]


def _array_entries(name: str, expected: Array, bound: Array, got: Array | None, agree: bool) -> list[_Entry]:
    answer = None if got is None else np.asarray(got)
    rows: list[_Entry] = []
    for index in np.ndindex(expected.shape):
        true, off = float(expected[index]), numbers.bound(float(bound[index]))
        if answer is None or answer.shape != expected.shape:
            left, right = numbers.number(true), "" if answer is None else f"shape {answer.shape}"
            size = ""
        else:
            left, right = numbers.pair(true, float(answer[index]), agree=agree)
            size = numbers.times(float(answer[index]) / true if true else None, agree=agree)
        rows.append((numbers.where(name, index), left, off, right, size))
    return rows


# Probe ------------------------------------------------------------------------------------------------------


def probe(report: ProbeReport, folder: Path | None = None) -> RenderableType:
    """A report card: its tables, the summary, and the scripts' `folder` or how to get them."""
    report = plain.inert(report)
    title = f"{titles.versioned(report.target, report.version)}: {report.suite}"
    parts: list[RenderableType] = [Text(title, style="bold"), Text("")]
    for table in report.tables:
        parts += [_probe_table(table), *map(paragraph, table.notes), Text("")]
    parts += [paragraph(sentence, style="bold") for sentence in report.summary]
    if report.cells:
        where = f"A script for each number: {report.rerun} --scripts FOLDER, or --script N to print one."
        if folder is not None:
            there = f"The scripts of the numbered cells are in {folder}"
            where = f"{there}; each exits with 1 while the cell is wrong."
        parts.append(paragraph(where))
    return Group(*parts)


def _probe_table(source: ProbeTable) -> Sheet:
    if source.heads:
        return _status_table(source)
    numeric = {
        column
        for k, column in enumerate(source.columns)
        if any(isinstance(row[k], (int, float)) for row in source.rows)
    }
    table = Sheet(*source.columns, numeric=numeric, title=source.title)
    place = {column: k for k, column in enumerate(source.columns)}
    for row in source.rows:
        agree = row[-1] != Label.DIFFERS.value
        cells = [*map(_cell, row[:-1]), spoken(str(row[-1]))]
        if "ratio" in place:
            expected, got, ratio = (row[place[name]] for name in ("expected", "got", "ratio"))
            if isinstance(expected, float) and isinstance(got, float):
                cells[place["expected"]], cells[place["got"]] = numbers.pair(expected, got, agree=agree)
            cells[place["ratio"]] = numbers.times(ratio if isinstance(ratio, float) else None, agree=agree)
        table.add_row(*(Text(cell, style=STYLES.get(cell, "")) for cell in cells))
    return table


def _status_table(source: ProbeTable) -> Sheet:
    """A word per cell. The row's label would only repeat the worst of them."""
    table = Sheet(*source.columns[:-1], title=source.title, heads=source.heads)
    for row in source.rows:
        table.add_row(*(Text(str(cell), style=STYLES.get(str(cell), "")) for cell in row[:-1]))
    return table


def _cell(value: str | float | int | None) -> str:
    if value is None:
        return "-"
    return numbers.number(value) if isinstance(value, float) else str(value)


# Proofs and recorded findings -------------------------------------------------------------------------------


def proofs(records: Sequence[ProofRecord]) -> RenderableType:
    """Each proof with its three numbers, and a blank line between two."""
    parts: list[RenderableType] = []
    for proof in records:
        parts += [Text(line, style, overflow="fold") for line, style in styled(proof)]
        parts.append(Text(""))
    return Group(*parts[:-1])


def listing(rows: Sequence[tuple[Finding, str, int, str]]) -> RenderableType:
    """A table of findings, each with its state, its latest run, and the day on which it was first seen."""
    table = Sheet("id", "what", "target", "state", "run", "since", numeric=["run"], heads=2)
    for recorded, state, run, since in rows:
        item = plain.inert(recorded)
        target = titles.versioned(item.target, item.version)
        table.add_row(item.id, titles.title(item), target, state, str(run), since)
    return table


# Targets ----------------------------------------------------------------------------------------------------


def targets(rows: Sequence[Mapping[str, object]]) -> RenderableType:
    """The targets of this machine. The columns are those of the first row."""
    if not rows:
        return Text("No oracles.")
    rows = plain.inert(rows)
    table = Sheet(*rows[0])
    for row in rows:
        table.add_row(*map(_told, row.values()))
    return table


def _told(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "-"
    return "-" if value is None else str(value)


def conventions(rows: Sequence[Mapping[str, Any]]) -> RenderableType:
    """The conventions table: per row why there is no derivative, and each system's answers to the examples.

    An example has a second line where forward mode answers differently.
    """
    parts: list[RenderableType] = []
    for row in plain.inert(rows):
        systems = list(dict.fromkeys(name for example in row["examples"] for name in example["answers"]))
        table = Sheet("example", "at", "left", "right", *systems)
        for example in row["examples"]:
            at = ", ".join(f"{name} = {_entries_of(value)}" for name, value in example["at"].items())
            slopes = [_entries_of(side) for side in example["slopes"] or ("-", "-")]
            table.add_row(example["expression"], at, *slopes, *_told_by(systems, example["answers"]))
            if example["forward"]:
                others = _told_by(systems, {**example["answers"], **example["forward"]})
                table.add_row("  in forward mode", "", "", "", *others)
        title = Text(": ".join([row["name"], *([", ".join(row["ops"])] if row["ops"] else [])]), style="bold")
        source = f" ({row['source']})" if row["source"] else ""
        parts += [title, paragraph(f"{row['why']}.{source}"), *([table] if systems else [])]
        parts += [paragraph(f"{names}: {url}") for names, url in row["functions"].items()] + [Text("")]
    return Group(*parts)


def _told_by(systems: Sequence[str], answers: Mapping[str, Any]) -> list[str]:
    return [_entries_of(answers[system]) if system in answers else "-" for system in systems]


def _entries_of(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_entries_of, value))}]"
    return numbers.number(value, 3) if isinstance(value, float) else str(value)


# Pieces -----------------------------------------------------------------------------------------------------


def _marked(n: int, style: str) -> Text:
    return Text(f"{n:,}", style=STYLES[style] if n else "")
