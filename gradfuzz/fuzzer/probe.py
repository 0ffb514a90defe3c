"""A report card: one target on a fixed grid of canonical cases, in tables, with a label per row.

A label says what was found at this row, never more. A row that agrees is vacuous where the true derivative is zero here and at the
neighbouring points. Where a target differs anywhere, its rows that agree are asked at their neighbouring points, too, and are
called a coincidence where the same program differs there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gradfuzz.errors import UsageError
from gradfuzz.fuzzer.answering import first_supported
from gradfuzz.fuzzer.batch import jury
from gradfuzz.fuzzer.classify import CLEAR, classify_entry
from gradfuzz.fuzzer.finding import Case, Class, Verdict
from gradfuzz.fuzzer.grids import GRIDS
from gradfuzz.fuzzer.questions import plain_question
from gradfuzz.fuzzer.report_card import Label, ProbeReport, ProbeTable, Value
from gradfuzz.fuzzer.status import status
from gradfuzz.fuzzer.suites import SUITES, CanonicalCase, CanonicalTable
from gradfuzz.oracles.base import Answer, Array, Mode, Oracle, Point, Precision, Question, Truth
from gradfuzz.programs.precision import is_float
from gradfuzz.programs.syntax import Program

__all__ = ["probe"]

_STEPS = (-0.125, 0.125)
"""How far the neighbouring points are: far enough to leave a coincidence, near enough to stay in every domain of the suites."""

_AT_ONCE = 16
"""Programs asked about before there is a sign of life."""

_REVERSE: tuple[Mode, ...] = ("rev",)

_VERDICTS: Mapping[Verdict, Label] = {
    Verdict.DISAGREE: Label.DIFFERS,
    Verdict.AGREE: Label.AGREES,
    Verdict.CONVENTION: Label.INCONCLUSIVE,
    Verdict.INCONCLUSIVE: Label.INCONCLUSIVE,
    Verdict.UNSUPPORTED: Label.UNSUPPORTED,
    Verdict.CRASHED: Label.CRASHED,
}

_FORMS = {"repeat": "body-first form (repeat)", "while": "test-first form (while)", "for": "counted form (for)"}

_Asked = tuple[Program, Precision, tuple[str, ...], int]


@dataclass(frozen=True, slots=True)
class _Row:
    """What one way into the target says to one canonical case."""

    case: CanonicalCase
    way: str
    modes: tuple[Mode, ...]
    expected: float | None
    got: float | None
    kind: str | None
    label: Label


def probe(
    target: str,
    oracles: Sequence[Oracle],
    suite: str = "loops",
    progress: Callable[[str], None] | None = None,
    *,
    ops: Sequence[str] | None = None,
) -> ProbeReport:
    """The report card of `target`, whose ways are `oracles`, over the cases of `suite`. `progress` hears what is being done.

    `ops`: the ops that the rows of a grid are to be about (None: all). Raises `UsageError` for an unknown suite or op.
    """
    if suite in GRIDS:
        return status(target, oracles, suite, progress or (lambda _: None), ops)
    if suite not in SUITES:
        raise UsageError(f"unknown suite {suite!r}; the suites are {', '.join([*SUITES, *GRIDS])}")
    if ops is not None:
        raise UsageError(f"the suite {suite} is about loops and has no ops to choose from; the suites {', '.join(GRIDS)} have")
    oracles = [oracle for oracle in oracles if not oracle.together] or oracles
    tables = SUITES[suite]()
    groups = _groups([case for table in tables for case in table.cases])
    found = {oracle.name: _ask(groups, oracle, progress or (lambda _: None)) for oracle in oracles}
    rows = {table.title: [found[oracle.name][id(case)] for case in table.cases for oracle in oracles] for table in tables}
    reports = tuple(_table(table, rows[table.title], len(oracles)) for table in tables)
    everything = [row for table in tables for row in rows[table.title]]
    forms = [sentence for table in tables if table.by_form for sentence in _form_sentences(rows[table.title])]
    version = oracles[0].version if oracles else ""
    rerun = f"gradfuzz probe {target} --suite {suite}"
    return ProbeReport(target, version, suite, reports, (f"In all: {_counted(everything)}.", *forms), rerun=rerun)


# Asking ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Group:
    """The cases of one program that are asked together: at their own points, and at the points around them."""

    cases: list[CanonicalCase]
    here: Question
    here_at: dict[bytes, int]
    around: Question
    around_at: dict[bytes, int]


def _groups(cases: Sequence[CanonicalCase]) -> list[_Group]:
    together: dict[_Asked, list[CanonicalCase]] = {}
    for case in cases:
        together.setdefault((case.program, case.precision, case.wrt, case.order), []).append(case)
    result = []
    for (program, precision, wrt, order), same in together.items():
        here = {_key(case.inputs): Point(case.inputs) for case in same}
        around = {_key(inputs): Point(inputs) for case in same for inputs in _neighbours(case)}
        question = plain_question(program, list(here.values()), precision, wrt, _REVERSE * order)
        result.append(_Group(same, question, _places(here), replace(question, points=tuple(around.values())), _places(around)))
    return result


def _ask(groups: Sequence[_Group], oracle: Oracle, progress: Callable[[str], None]) -> dict[int, _Row]:
    """The rows of one oracle, by the identity of their canonical case."""
    judged = _judged(oracle, [group.here for group in groups], progress)
    pairs = [
        (group, case, found[group.here_at[_key(case.inputs)]])
        for group, found in zip(groups, judged, strict=True)
        for case in group.cases
    ]
    rows = {id(case): _row(case, here, _truths_around(group, case)) for group, case, here in pairs}
    if any(row.label is Label.DIFFERS for row in rows.values()):
        doubtful = [
            group for group in groups if any(rows[id(case)].label in (Label.AGREES, Label.VACUOUS) for case in group.cases)
        ]
        progress(f"{oracle.name}: the points around those that agree")
        for group, found in zip(doubtful, _judged(oracle, [group.around for group in doubtful], progress), strict=True):
            for case in group.cases:
                row = rows[id(case)]
                near = [_entry_label(found[group.around_at[_key(inputs)]], case.entry) for inputs in _neighbours(case)]
                if row.label in (Label.AGREES, Label.VACUOUS) and Label.DIFFERS in near:
                    rows[id(case)] = replace(row, label=Label.COINCIDENCE)
    return rows


def _judged(oracle: Oracle, questions: Sequence[Question], progress: Callable[[str], None]) -> list[list[Case]]:
    """The verdicts on each question, one per point, in the first modes that the oracle supports; many are asked in one go."""
    judged = []
    asked = [first_supported(oracle, question) for question in questions]
    for start in range(0, len(asked), _AT_ONCE):
        batch = asked[start : start + _AT_ONCE]
        progress(f"{oracle.name}: programs {start + 1}-{start + len(batch)} of {len(asked)}")
        refusals = [oracle.supports(question) for question in batch]
        given = iter(oracle.answer_all([q for q, refusal in zip(batch, refusals, strict=True) if refusal is None]))
        for question, refusal in zip(batch, refusals, strict=True):
            answers = next(given) if refusal is None else [Answer("unsupported", message=refusal)] * len(question.points)
            judged.append(jury().cases(oracle.name, question, answers, confirm=True))
    return judged


def _truths_around(group: _Group, case: CanonicalCase) -> list[Truth]:
    rulings = jury().rulings(group.around, confirm=True)
    return [rulings[group.around_at[_key(inputs)]].truth for inputs in _neighbours(case)]


def _neighbours(case: CanonicalCase) -> Iterator[Mapping[str, Array]]:
    for step in _STEPS:
        yield {
            name: (value.astype(np.float64) + step).astype(value.dtype) if name in case.wrt and is_float(value.dtype) else value
            for name, value in case.inputs.items()
        }


def _places(points: Mapping[bytes, Point]) -> dict[bytes, int]:
    return {key: k for k, key in enumerate(points)}


def _key(inputs: Mapping[str, Array]) -> bytes:
    return b"".join(np.asarray(inputs[name]).tobytes() for name in sorted(inputs))


# Labels ----------------------------------------------------------------------------------------------------------------


def _row(canonical: CanonicalCase, here: Case, around: Sequence[Truth]) -> _Row:
    """The row of one case: `here` is the verdict at its own point, `around` the truths at the neighbouring ones."""
    label = _entry_label(here, canonical.entry)
    if (
        label is Label.AGREES
        and here.truth is not None
        and all(_is_zero(truth, canonical.entry) for truth in (here.truth, *around))
    ):
        label = Label.VACUOUS
    name, index = canonical.entry
    expected = float(here.truth.gradient[name][index]) if here.truth is not None and name in here.truth.gradient else None
    got = _entry(here.answer.gradient.get(name), index)
    kind = _entry_class(here, canonical.entry) if label is Label.DIFFERS else None
    return _Row(canonical, here.oracle, here.question.modes, expected, got, kind.value if kind else None, label)


def _entry(value: Array | None, index: tuple[int, ...]) -> float | None:
    if value is None or np.ndim(value) != len(index) or any(k >= n for k, n in zip(index, np.shape(value), strict=True)):
        return None
    return float(np.asarray(value)[index])


def _entry_label(case: Case, entry: tuple[str, tuple[int, ...]]) -> Label:
    """The label of one entry, by the verdict on the whole answer and, where entries differ, by its own error."""
    name, index = entry
    if case.verdict is not Verdict.DISAGREE or name not in case.allowed or case.truth is None:
        return _VERDICTS[case.verdict]
    got = _entry(case.answer.gradient.get(name), index)
    if got is None:
        return Label.DIFFERS
    error = abs(got - float(case.truth.gradient[name][index]))
    return Label.AGREES if error <= CLEAR * float(case.allowed[name][index]) else Label.DIFFERS


def _entry_class(case: Case, entry: tuple[str, tuple[int, ...]]) -> Class | None:
    """How the entry is wrong, which need not be how the worst entry is."""
    name, index = entry
    got = _entry(case.answer.gradient.get(name), index)
    if got is None or case.truth is None or name not in case.allowed:
        return case.kind
    return classify_entry(float(case.truth.gradient[name][index]), got, float(case.allowed[name][index]))


def _is_zero(truth: Truth, entry: tuple[str, tuple[int, ...]]) -> bool:
    """Whether the true derivative is zero, as far as its bound tells."""
    name, index = entry
    if truth.status != "ok" or name not in truth.gradient:
        return False
    return abs(float(truth.gradient[name][index])) <= float(truth.bounds[name][index])


# Tables ----------------------------------------------------------------------------------------------------------------


def _table(table: CanonicalTable, rows: Sequence[_Row], ways: int) -> ProbeTable:
    """The rows of all ways; ways that say the same share a row, and are named where there are several."""
    merged: dict[tuple[object, ...], list[_Row]] = {}
    for row in rows:
        told = row.got if row.label is Label.DIFFERS else None
        merged.setdefault((id(row.case), row.label, row.kind, told), []).append(row)
    lines: list[tuple[Value, ...]] = []
    for same in merged.values():
        first = same[0]
        ratio = first.got / first.expected if first.expected and first.got is not None else None
        way = ["all" if len(same) == ways else ", ".join(row.way for row in same)] if ways > 1 else []
        lines.append((*first.case.cells, *way, first.expected, first.got, ratio, first.kind, first.label.value))
    columns = (*table.columns, *(["way"] if ways > 1 else []), "expected", "got", "ratio", "class", "label")
    notes = [f"Tried: {table.tried}", f"{_counted(rows)}."]
    return ProbeTable(table.title, columns, tuple(lines), (*notes, *(_form_sentences(rows) if table.by_form else ())))


def _counted(rows: Sequence[_Row]) -> str:
    counts = Counter(row.label for row in rows)
    return ", ".join(f"{label.value} {counts[label]}" for label in Label if counts[label])


def _form_sentences(rows: Sequence[_Row]) -> list[str]:
    """Per way: which loop forms differ and which agree, for which bodies."""
    labels: dict[tuple[str, Value], dict[str, set[Label]]] = {}
    for row in rows:
        body, form, *_ = row.case.cells
        labels.setdefault((row.way, body), {}).setdefault(str(form), set()).add(row.label)
    outcomes: dict[tuple[str, tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for (way, body), forms in labels.items():
        wrong = tuple(form for form, found in forms.items() if Label.DIFFERS in found)
        right = tuple(form for form, found in forms.items() if Label.AGREES in found and Label.DIFFERS not in found)
        if wrong:
            outcomes.setdefault((way, wrong, right), []).append(str(body))
    return [f"{way}: {_outcome(wrong, right)} (tried: {' | '.join(bodies)})." for (way, wrong, right), bodies in outcomes.items()]


def _outcome(wrong: Sequence[str], right: Sequence[str]) -> str:
    if not right:
        return "wrong in every loop form"
    return f"wrong in the {' and the '.join(_FORMS[form] for form in wrong)} only; {' and '.join(right)} {'agree' if len(right) > 1 else 'agrees'}"
