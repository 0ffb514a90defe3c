"""The status table of a target: op by situation, each cell one word, with what was wrong in words below."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from gradfuzz.fuzzer.batch import jury
from gradfuzz.fuzzer.finding import Case, Verdict
from gradfuzz.fuzzer.grids import GRIDS, GridRow
from gradfuzz.fuzzer.report_card import Label, ProbeReport, ProbeTable, Value
from gradfuzz.oracles.base import Answer, Oracle, Question

__all__ = ["status"]

_WORDS: dict[Verdict, str] = {
    Verdict.DISAGREE: "wrong",
    Verdict.CRASHED: "error",
    Verdict.INCONCLUSIVE: "inconclusive",
    Verdict.CONVENTION: "ok",
    Verdict.AGREE: "ok",
    Verdict.UNSUPPORTED: "unsupported",
}
"""What a cell says; of several verdicts the first in this order. A convention of the ledger is not wrong."""

_ORDER = list(dict.fromkeys(_WORDS.values()))

_LABELS = {
    "wrong": Label.DIFFERS,
    "error": Label.CRASHED,
    "inconclusive": Label.INCONCLUSIVE,
    "unsupported": Label.UNSUPPORTED,
    "ok": Label.AGREES,
}


def status(target: str, oracles: Sequence[Oracle], suite: str, progress: Callable[[str], None]) -> ProbeReport:
    """The table of `target`, whose ways are `oracles`; ways that answer a row alike share a line."""
    grid = GRIDS[suite]
    rows = grid.rows()
    lines: list[tuple[Value, ...]] = []
    notes: list[str] = []
    totals: Counter[str] = Counter()
    for number, row in enumerate(rows):
        progress(f"{target}: {row.op} ({number + 1} of {len(rows)})")
        merged: dict[tuple[str, ...], list[str]] = {}
        for oracle in oracles:
            cells = [_cell(oracle, questions) for questions in row.cells]
            merged.setdefault(tuple(word for word, _ in cells), []).append(oracle.name)
            notes += [_note(row, oracle, column, text) for column, (_, text) in zip(grid.columns, cells, strict=True) if text]
            totals.update(word for word, _ in cells if word)
        nothing = {words for words in merged if set(words) <= {"", "unsupported"}}
        for words, names in merged.items():
            if words in nothing and len(nothing) < len(merged):
                continue  # ways that cannot be asked at all, where others can
            way = ["all" if len(names) == len(oracles) else ", ".join(names)] if len(oracles) > 1 else []
            worst = min((w for w in words if w), key=_ORDER.index, default="unsupported")
            lines.append((row.op, row.use, *way, *words, _LABELS[worst].value))
    columns = ("op", "use", *(["way"] if len(oracles) > 1 else []), *grid.columns, "label")
    counted = ", ".join(f"{word} {totals[word]}" for word in _ORDER if totals[word])
    table = ProbeTable("Status", columns, tuple(lines), (f"Tried: {grid.tried}", *dict.fromkeys(notes)))
    version = oracles[0].version if oracles else ""
    return ProbeReport(target, version, suite, (table,), (f"In all: {counted}.",))


def _note(row: GridRow, oracle: Oracle, column: str, text: str) -> str:
    return f"{oracle.name}, {row.op} ({row.use}), {column}: {text}"


def _cell(oracle: Oracle, questions: Sequence[Question]) -> tuple[str, str]:
    """The worst word for some questions, and what there is to say about it."""
    words: list[tuple[str, str]] = []
    for question in questions:
        refusal = oracle.supports(question)
        nothing = [Answer("unsupported", message=refusal or "")] * len(question.points)
        answers = nothing if refusal is not None else oracle.answer(question)
        words += [(_WORDS[case.verdict], _said(case)) for case in jury().cases(oracle.name, question, answers, confirm=True)]
    return min(words, key=lambda found: _ORDER.index(found[0]), default=("", ""))


def _said(case: Case) -> str:
    """What goes below the table."""
    if case.verdict is Verdict.DISAGREE:
        ratio = "" if case.ratio is None else f", {case.ratio:.4g} times as much"
        where = (
            ""
            if case.worst is None
            else f" at {case.worst[0]}{list(case.worst[1])}: expected {case.expected:.7g}, got {case.got:.7g}{ratio}"
        )
        return f"{case.kind.value if case.kind else 'wrong'} in {', '.join(case.question.modes)}{where}. {case.message}".rstrip()
    if case.verdict in (Verdict.CRASHED, Verdict.INCONCLUSIVE):
        return case.message or (case.reason.value if case.reason else "")
    return ""
