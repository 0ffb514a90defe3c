"""A report card: one target on a fixed grid of canonical cases, in tables, with a label per row.

A label says what was found at this row, never more. `rows.py` makes the labels.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Sequence

from gradfuzz.errors import UsageError
from gradfuzz.fuzzer.probe.status import status
from gradfuzz.fuzzer.questions.grids import GRIDS
from gradfuzz.fuzzer.questions.suites import SUITES, CanonicalTable
from gradfuzz.fuzzer.results.functions import FAMILY
from gradfuzz.fuzzer.results.report_card import Label, ProbeReport, ProbeTable, Value
from gradfuzz.fuzzer.verdict.rows import LabelledRow, groups, rows
from gradfuzz.oracles.base import Oracle

_FORMS = {
    "repeat": "body-first form (repeat)",
    "while": "test-first form (while)",
    "for": "counted form (for)",
}


def probe(
    target: str,
    oracles: Sequence[Oracle],
    suite: str = "loops",
    progress: Callable[[str], None] | None = None,
    *,
    ops: Sequence[str] | None = None,
    max_time: float | None = None,
) -> ProbeReport:
    """The report card of `target`, whose entry points are `oracles`, over the cases of `suite`.

    `progress` is called with what is being done. `ops` restricts a grid to rows about these ops (None: all).
    After `max_time` seconds nothing more is asked, and the report has what was answered. Raises `UsageError`
    for an unknown suite or op, or a time that is not above 0.
    """
    if max_time is not None and not max_time > 0:
        raise UsageError(f"max_time is {max_time}; give a time in seconds above 0")
    end = math.inf if max_time is None else time.monotonic() + max_time

    def late() -> bool:
        return time.monotonic() >= end

    progress = progress or (lambda _: None)
    if suite in GRIDS:
        return status(target, oracles, suite, progress, ops, late)
    if suite not in SUITES:
        raise UsageError(f"unknown suite {suite!r}; the suites are {', '.join([*SUITES, *GRIDS, FAMILY])}")
    if ops is not None:
        others = f"the suites {', '.join(GRIDS)} have"
        raise UsageError(f"the suite {suite} is about loops and has no ops to choose from; {others}")
    oracles = [oracle for oracle in oracles if not oracle.traits.batched] or oracles
    tables = SUITES[suite]()
    asked = groups([case for table in tables for case in table.cases])
    found = {oracle.name: rows(asked, oracle, progress, late) for oracle in oracles}
    told: dict[str, list[LabelledRow]] = {}
    for table in tables:
        pairs = [(oracle.name, id(case)) for case in table.cases for oracle in oracles]
        told[table.title] = [found[name][case] for name, case in pairs if case in found[name]]
    missing = sum(len(table.cases) for table in tables) * len(oracles) - sum(map(len, told.values()))
    cut = (f"The time was up: {missing} rows were not asked.",) if missing else ()
    reports = tuple(_table(table, told[table.title], len(oracles)) for table in tables)
    everything = [row for same in told.values() for row in same]
    forms = [sentence for table in tables if table.by_form for sentence in _form_sentences(told[table.title])]
    version = oracles[0].version if oracles else ""
    summary = (f"In all: {_counted(everything)}.", *cut, *forms)
    rerun = f"gradfuzz probe {target} --suite {suite}"
    return ProbeReport(target, version, suite, reports, summary, rerun=rerun)


# Tables -----------------------------------------------------------------------------------------------------


def _table(table: CanonicalTable, rows: Sequence[LabelledRow], ways: int) -> ProbeTable:
    """The rows of all entry points. Those with equal answers share a row; it names them if several."""
    merged: dict[tuple[object, ...], list[LabelledRow]] = {}
    for row in rows:
        told = row.got if row.label is Label.DIFFERS else None
        merged.setdefault((id(row.case), row.label, row.kind, told), []).append(row)
    lines: list[tuple[Value, ...]] = []
    for same in merged.values():
        first = same[0]
        ratio = first.got / first.expected if first.expected and first.got is not None else None
        way = ["all" if len(same) == ways else ", ".join(row.way for row in same)] if ways > 1 else []
        numbers = first.expected, first.got, ratio
        lines.append((*first.case.cells, *way, *numbers, first.kind, first.label.value))
    columns = (*table.columns, *(["way"] if ways > 1 else []), "expected", "got", "ratio", "class", "label")
    forms = _form_sentences(rows) if table.by_form else ()
    notes = (f"Tried: {table.tried}", f"{_counted(rows)}.", *forms)
    return ProbeTable(table.title, columns, tuple(lines), notes)


def _counted(rows: Sequence[LabelledRow]) -> str:
    counts = Counter(row.label for row in rows)
    return ", ".join(f"{label.value} {counts[label]}" for label in Label if counts[label])


def _form_sentences(rows: Sequence[LabelledRow]) -> list[str]:
    """Per entry point: which loop forms differ and which agree, for which bodies."""
    labels: dict[tuple[str, Value], dict[str, set[Label]]] = {}
    for row in rows:
        body, form, *_ = row.case.cells
        labels.setdefault((row.way, body), {}).setdefault(str(form), set()).add(row.label)
    outcomes: dict[tuple[str, tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for (way, body), forms in labels.items():
        wrong = tuple(form for form, found in forms.items() if Label.DIFFERS in found)
        right = tuple(form for form, found in forms.items() if Label.AGREES in found and form not in wrong)
        if wrong:
            outcomes.setdefault((way, wrong, right), []).append(str(body))
    return [
        f"{way}: {_outcome(wrong, right)} (tried: {' | '.join(bodies)})."
        for (way, wrong, right), bodies in outcomes.items()
    ]


def _outcome(wrong: Sequence[str], right: Sequence[str]) -> str:
    if not right:
        return "wrong in every loop form"
    forms = " and the ".join(_FORMS[form] for form in wrong)
    agree = "agree" if len(right) > 1 else "agrees"
    return f"wrong in the {forms} only; {' and '.join(right)} {agree}"
