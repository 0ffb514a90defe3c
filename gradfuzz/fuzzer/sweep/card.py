"""The report card of a library's functions: a few calls of each by one seed, a word for each derivative."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence

from gradfuzz.errors import TargetProcessError, UsageError
from gradfuzz.fuzzer.calling.judge import COMBINATIONS
from gradfuzz.fuzzer.results import functions as outcomes
from gradfuzz.fuzzer.results.events import Progress, SweepFinished
from gradfuzz.fuzzer.results.failure import Failure, failure_of
from gradfuzz.fuzzer.results.finding import Class, Finding, Verdict
from gradfuzz.fuzzer.results.functions import FAMILY, FunctionSummary
from gradfuzz.fuzzer.results.report_card import Label, ProbeCell, ProbeReport, ProbeTable, Value
from gradfuzz.fuzzer.sweep.config import SweepConfig
from gradfuzz.fuzzer.sweep.plans import sweep

CALLS = 2
"""Calls of each function."""

_COLUMNS = tuple(" ".join(modes) for modes in COMBINATIONS)

_WORDS = (
    ("wrong", Verdict.DISAGREE, Label.DIFFERS),
    ("exception", Verdict.CRASHED, Label.CRASHED),
    ("ok", Verdict.AGREE, Label.AGREES),
    ("ok", Verdict.CONVENTION, Label.AGREES),
    ("inconclusive", Verdict.INCONCLUSIVE, Label.INCONCLUSIVE),
)
"""What a cell says; of several verdicts the first."""

_LABELS = {
    **dict.fromkeys((failure.value for failure in Failure), Label.CRASHED),
    **{word: label for word, _, label in reversed(_WORDS)},
    "refused": Label.UNSUPPORTED,
}
_ORDER = ("wrong", *(failure.value for failure in Failure), "ok", "inconclusive", "refused")

_TRIED = (
    f"{CALLS} calls of each function, drawn by a fixed seed; reverse and forward mode, and the four mixtures"
    " of second order, innermost mode first. Second order is not asked where the first is wrong or missing."
    " A cell has the worst word of its calls. It says `inconclusive` only where all of them are."
)


def card(
    target: str,
    progress: Callable[[str], None],
    *,
    functions: Collection[str] | None = None,
    max_time: float | None = None,
    jobs: int | None = None,
) -> ProbeReport:
    """The report card of a library, or of a module of the user's own; of these `functions` (None: all).

    `progress` is called with what is being done. After `max_time` seconds nothing more is asked.
    """
    if max_time is not None and not (max_time > 0 and math.isfinite(max_time)):
        raise UsageError(f"max_time is {max_time}; give a time in seconds above 0")
    config = SweepConfig((target,), (FAMILY,), max_examples=CALLS, max_time=max_time, jobs=jobs)
    end: SweepFinished | None = None
    for event in sweep(config, only=functions):
        if isinstance(event, Progress):
            progress(f"{target}: {event.doing} ({event.programs} calls)")
        elif isinstance(event, SweepFinished):
            end = event
    assert end is not None, "a sweep ends with its summary"
    if fault := end.summaries[0].fault:
        raise TargetProcessError("exit", f"{target} was not tested: {fault}")
    return report(target, end, functions)


def report(target: str, end: SweepFinished, functions: Collection[str] | None = None) -> ProbeReport:
    """What a sweep of functions found out, as a report card."""
    differentiable = [one for one in end.functions if one.outcome in outcomes.DIFFERENTIABLE]
    asked = [one for one in differentiable if one.outcome != outcomes.NOT_REACHED]
    missed = len(differentiable) - len(asked)
    cut = (f"The time was up: {missed} functions were not called.",) if missed else ()
    has_overloads = any(map(_overload, asked))
    rows = tuple(_row(one, has_overloads) for one in sorted(asked, key=lambda one: one.name))
    heads = ("function", *(["overload"] if has_overloads else []))
    cells = tuple(_cell(target, finding) for finding in end.findings)
    numbered = [
        f"[{number}] {cell.word}: {cell.op}, {cell.column or 'the value'}: {cell.text} ({cell.use})"
        for number, cell in enumerate(cells, 1)
    ]
    notes = (f"Tried: {_TRIED}", *cut, *_notes(asked), *numbered)
    table = ProbeTable("Functions", (*heads, *_COLUMNS, "label"), rows, notes, heads=len(heads))
    version = end.summaries[0].version if end.summaries else ""
    names = f" --op {','.join(functions)}" if functions is not None else ""
    rerun = f"gradfuzz probe {target} --suite {FAMILY}{names}"
    return ProbeReport(target, version, FAMILY, (table,), tuple(_summary(rows, len(heads))), cells, rerun)


def _overload(one: FunctionSummary) -> str:
    """Which of several operators of one name it is, by its schema: "array" of `gradient.array`."""
    return one.signature.partition("(")[0].partition(".")[2]


def _row(one: FunctionSummary, has_overload: bool) -> tuple[Value, ...]:
    words = [_word(one, modes) for modes in _COLUMNS]
    worst = min((word for word in words if word), key=_ORDER.index, default="refused")
    return (one.name, *([_overload(one)] if has_overload else []), *words, _LABELS[worst].value)


def _word(one: FunctionSummary, modes: str) -> str:
    found = [word for word, verdict, _ in _WORDS if one.answers.get(f"{modes}: {verdict.value}")]
    return found[0] if found else "refused" if modes in one.lacks else ""


def _notes(asked: Sequence[FunctionSummary]) -> Iterator[str]:
    """Which functions took no call, in the library's words, and where gradfuzz itself raised."""
    for one in sorted(asked, key=lambda one: one.name):
        if one.outcome == outcomes.REFUSED:
            yield f"{one.name} accepted no call that was drawn, or has no derivative: {one.why}"
        elif one.outcome == outcomes.BROKEN:
            yield f"{one.name} was not finished, by an error of gradfuzz itself; please report it: {one.why}"


def _cell(target: str, finding: Finding) -> ProbeCell:
    word = failure_of(finding.note).value if finding.kind is Class.ERROR else "wrong"
    text = finding.note or "; ".join(finding.facts)
    name = finding.culprits[0] if finding.culprits else ""
    by = (", ".join(finding.modes),) if finding.modes else ()
    code = "; ".join((finding.code or "").splitlines())
    references = tuple(finding.references)
    return ProbeCell(
        word, (target,), name, code, " ".join(finding.modes), by, text, references, finding.script
    )


def _summary(rows: Sequence[tuple[Value, ...]], heads: int) -> Iterator[str]:
    for k, modes in enumerate(_COLUMNS, start=heads):
        counts = Counter(str(row[k]) for row in rows)
        told = ", ".join(f"{word} {counts[word]}" for word in _ORDER if counts[word])
        yield f"{modes}: {told or 'not asked'}."
