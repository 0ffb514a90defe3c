"""A target's status table: op by situation, one word a cell; below it the wrong cells with scripts."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from gradfuzz.errors import UsageError
from gradfuzz.fuzzer.findings.representative import relative_error
from gradfuzz.fuzzer.findings.reproducer import reproducer
from gradfuzz.fuzzer.questions.candidate import Candidate
from gradfuzz.fuzzer.questions.grids import GRIDS, Grid, GridRow
from gradfuzz.fuzzer.results.failure import Failure, failure_of
from gradfuzz.fuzzer.results.finding import CheckResult, Verdict
from gradfuzz.fuzzer.results.report_card import ProbeCell, ProbeReport, ProbeTable, Value
from gradfuzz.fuzzer.verdict.labels import VERDICTS
from gradfuzz.fuzzer.verdict.shared import evaluator
from gradfuzz.oracles.base import Answer, Oracle, Question

_WORDS: dict[Verdict, str] = {
    Verdict.DISAGREE: "wrong",
    Verdict.CRASHED: Failure.EXCEPTION.value,
    Verdict.INCONCLUSIVE: "inconclusive",
    Verdict.CONVENTION: "ok",
    Verdict.AGREE: "ok",
    Verdict.UNSUPPORTED: "unsupported",
}
"""What a cell says; of several verdicts the first in this order. A known convention is not wrong."""

_FAILURES = tuple(failure.value for failure in Failure)
"""What a cell says where there is no answer."""

_ORDER = list(dict.fromkeys(("wrong", *_FAILURES, *_WORDS.values())))

_LABELS = {word: VERDICTS[verdict] for verdict, word in _WORDS.items()} | dict.fromkeys(
    _FAILURES, VERDICTS[Verdict.CRASHED]
)
"""The label of a line by its word; "ok" has that of agreement, the later one."""

_AS_BAD = 0.99
"""Of wrong answers that are off by nearly as much, the first is shown: rounding decides which is largest."""

_SHOWN = ("wrong", *_FAILURES)
"""The words of cells that get a number and a script."""


def status(
    target: str,
    oracles: Sequence[Oracle],
    suite: str,
    progress: Callable[[str], None],
    ops: Sequence[str] | None,
    late: Callable[[], bool],
) -> ProbeReport:
    """The table of `target`, whose entry points are `oracles`, on all rows of `suite` or only those of `ops`.

    Entry points share a line where none contradicts another. Those that answer all points of a question in
    one call are asked in the columns made for them; where a target has no others, in all columns. Rows that
    come when it is `late` are not asked, which a note says.
    """
    grid = GRIDS[suite]
    asked = {oracle: columns for oracle in oracles if (columns := asked_columns(oracle, oracles, grid))}
    if not asked:
        about = "several points answered in one vectorized call"
        raise UsageError(f"the suite {suite} is about {about}, and {target} has no such calls")
    rows = grid.about(ops)
    heads = ("op", "use", *(["way"] if len(asked) > 1 else []))
    told = _Told()
    lines: list[tuple[Value, ...]] = []
    cut: tuple[str, ...] = ()
    for number, row in enumerate(rows):
        if late():
            cut = (f"The time was up: {len(rows) - number} of {len(rows)} rows were not asked.",)
            break
        progress(f"{target}: {row.op} ({number + 1} of {len(rows)})")
        answered = {oracle.name: _answered(oracle, row, grid, columns) for oracle, columns in asked.items()}
        told.add(row, grid, answered)
        able = {name: cells for name, cells in answered.items() if not _refused(cells)} or answered
        for names, words in _lines(able):
            way = ["all" if len(names) == len(able) > 1 else ", ".join(names)] if len(asked) > 1 else []
            label = min((w for w in words if w), key=_ORDER.index, default="unsupported")
            lines.append((row.op, row.use, *way, *words, _LABELS[label].value))
    notes = (f"Tried: {grid.tried}", *cut, *_left_out(oracles, asked), *told.notes())
    table = ProbeTable("Status", (*heads, *grid.columns, "label"), tuple(lines), notes, len(heads))
    rerun = f"gradfuzz probe {target} --suite {suite}" + (f" --op {','.join(ops)}" if ops else "")
    summary, shown = tuple(told.summary()), tuple(told.shown)
    return ProbeReport(target, oracles[0].version, suite, (table,), summary, shown, rerun)


def _left_out(oracles: Sequence[Oracle], asked: Collection[Oracle]) -> list[str]:
    names = [oracle.name for oracle in oracles if oracle.traits.secondary and oracle not in asked]
    said = (
        f"Not asked: {', '.join(names)}. They run the same ways with other settings; name one as the target."
    )
    return [said] if names else []


def asked_columns(
    oracle: Oracle, oracles: Sequence[Oracle], grid: Grid, *, variants: bool = False
) -> frozenset[str]:
    """The columns in which an oracle is asked, given all oracles of its target.

    Oracles that run another one differently are asked only with `variants`.
    """
    if not variants and oracle.traits.secondary and not all(other.traits.secondary for other in oracles):
        return frozenset()
    if all(other.traits.batched for other in oracles):
        return frozenset(grid.columns)
    return grid.together if oracle.traits.batched else frozenset(grid.columns) - grid.together


# Cells ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Cell:
    """One entry point's result in one cell: the worst word, its text, and if wrong the clearest case."""

    word: str
    text: str = ""
    by: tuple[str, ...] = ()
    """The modes by which it is wrong, from the case that is shown."""
    references: tuple[str, ...] = ()
    script: Callable[[], str] = str


def _answered(oracle: Oracle, row: GridRow, grid: Grid, columns: frozenset[str]) -> list[_Cell]:
    """The cells of one entry point. All its questions are asked at once, which saves compilations."""
    pairs = zip(grid.columns, row.cells, strict=True)
    asked = [questions if column in columns else () for column, questions in pairs]
    able = [q for questions in asked for q in questions if oracle.supports(q) is None]
    answers = {id(q): given for q, given in zip(able, oracle.answer_all(able), strict=True)}
    return [_cell(oracle, questions, answers) for questions in asked]


def _cell(oracle: Oracle, questions: Sequence[Question], answers: Mapping[int, list[Answer]]) -> _Cell:
    verdicts = [(q, confirmed(oracle, q, answers.get(id(q)))) for q in questions]
    found = [(q, k, case) for q, cases in verdicts for k, case in enumerate(cases)]
    if not found:
        return _Cell("")
    word = min((_word(case) for *_, case in found), key=_ORDER.index)
    same = [entry for entry in found if _word(entry[2]) == word]
    if word not in _SHOWN:
        return _Cell(word, "" if word == "ok" else _reason(same[0][2]))
    most = max(relative_error(case) for *_, case in same)
    question, place, case = next(entry for entry in same if relative_error(entry[2]) >= _AS_BAD * most)
    by = dict.fromkeys(", ".join(told.question.modes) for told in (case, *(other for *_, other in same)))
    candidate = Candidate.of(question, place, together=oracle.traits.batched)
    script = functools.partial(reproducer, candidate, case, oracle)
    return _Cell(word, in_words(case), tuple(by), case.references, script)


def confirmed(oracle: Oracle, question: Question, answers: list[Answer] | None) -> list[CheckResult]:
    """The verdicts; `answers` None: the oracle cannot be asked.

    Both references check what is not plain agreement; what is then wrong is asked again, alone.
    """
    if answers is None:
        nothing = Answer("unsupported", message=oracle.supports(question) or "")
        return evaluator().cases(oracle.name, question, [nothing] * len(question.points))
    cases = evaluator().cases(oracle.name, question, answers)
    if any(case.verdict is not Verdict.AGREE for case in cases):
        cases = evaluator().cases(oracle.name, question, answers, confirm=True)
    if any(_word(case) in _SHOWN for case in cases):
        return evaluator().cases(oracle.name, question, oracle.answer(question), confirm=True)
    return cases


def _word(case: CheckResult) -> str:
    """What a cell says of a case."""
    return failure_of(case.message).value if case.verdict is Verdict.CRASHED else _WORDS[case.verdict]


def _reason(case: CheckResult) -> str:
    return case.message or case.answer.message or (case.reason.value if case.reason else "")


def in_words(case: CheckResult) -> str:
    """A wrong answer in words: the exception, or the entry that is off most."""
    if case.verdict is Verdict.CRASHED:
        return f"{_reason(case).rstrip('.')}."
    kind = case.kind.value if case.kind else "wrong"
    where = ""
    if case.worst is not None:
        name, index = case.worst
        ratio = "" if not case.ratio else f", {case.ratio:.4g} times as much"
        at = f"{name}{list(index)}" if index else name
        where = f" at {at}: expected {case.expected:.7g}, got {case.got:.7g}{ratio}"
    message = f" {case.message.rstrip('.')}." if case.message else ""
    return f"{kind}{where}.{message}"


def _by(cells: Mapping[str, _Cell]) -> tuple[str, ...]:
    """The modes by which a cell is wrong, with the entry points where not all of them are."""
    ways: dict[str, list[str]] = {}
    for name, cell in cells.items():
        for modes in cell.by:
            ways.setdefault(modes, []).append(name)
    pairs = ways.items()
    return tuple(m if len(names) == len(cells) else f"{m} ({', '.join(names)})" for m, names in pairs)


# Lines ------------------------------------------------------------------------------------------------------


def _refused(cells: Sequence[_Cell]) -> bool:
    """Whether an entry point cannot be asked about a row at all."""
    return {cell.word for cell in cells} <= {"", "unsupported"}


def _lines(answered: Mapping[str, Sequence[_Cell]]) -> list[tuple[list[str], list[str]]]:
    """Names of entry points and words of their cells; those without a contradiction share a line."""
    lines: list[tuple[list[str], list[str]]] = []
    for name, cells in answered.items():
        words = [cell.word for cell in cells]
        for names, line in lines:
            if all(a == b or not a or not b for a, b in zip(line, words, strict=True)):
                names.append(name)
                line[:] = [a or b for a, b in zip(line, words, strict=True)]
                break
        else:
            lines.append(([name], words))
    return lines


# Notes ------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Told:
    """What the cells say in words, gathered row by row."""

    shown: list[ProbeCell] = field(default_factory=list)
    totals: Counter[str] = field(default_factory=Counter)
    places: dict[tuple[str, str], dict[str, None]] = field(default_factory=dict)
    """By word and reason: inconclusive cells, or entry points that do not support the question."""
    unasked: dict[str, Counter[str]] = field(default_factory=dict)
    """By entry point: how many rows it cannot be asked about at all, by reason."""
    rows: int = 0

    def add(self, row: GridRow, grid: Grid, answered: Mapping[str, Sequence[_Cell]]) -> None:
        """Adds one row, by the names of the entry points that are asked about it."""
        self.rows += 1
        for name, cells in answered.items():
            if _refused(cells):
                reason = next((cell.text for cell in cells if cell.text), "")
                self.unasked.setdefault(name, Counter())[reason] += any(cell.word for cell in cells)
            else:
                self.totals.update(cell.word for cell in cells if cell.word)
        able = {name: cells for name, cells in answered.items() if not _refused(cells)}
        for k, column in enumerate(grid.columns):
            alike: dict[tuple[str, ...], dict[str, _Cell]] = {}
            for name, cells in able.items():
                alike.setdefault((cells[k].word, cells[k].text, *cells[k].by[:1]), {})[name] = cells[k]
            for (word, text, *_), same in alike.items():
                if word in _SHOWN:
                    first = next(iter(same.values()))
                    where = (tuple(same), row.op, row.use, column, _by(same))
                    self.shown.append(ProbeCell(word, *where, text, first.references, first.script()))
                elif word == "inconclusive":
                    self.places.setdefault((word, text), {}).setdefault(f"{row.op} ({row.use}), {column}")
                elif word == "unsupported":
                    self.places.setdefault((word, text), {}).update(dict.fromkeys(same))

    def notes(self) -> Iterator[str]:
        """The numbered cells, then each message that many cells share, once."""
        numbers: dict[str, int] = {}
        for number, cell in enumerate(self.shown, 1):
            first = numbers.setdefault(cell.text, number) if cell.word in _FAILURES else number
            text = cell.text if first == number else f"as [{first}]."
            asked = f"By {'; '.join(cell.by)}. Ways: {', '.join(cell.ways)}."
            yield f"[{number}] {cell.word}: {cell.op}, {cell.column} ({cell.use}): {text} {asked}"
        for (word, text), places in self.places.items():
            unsupported = f"{word}, {', '.join(places)}: {text}"
            yield unsupported if word == "unsupported" else f"{word}: {text}: {'; '.join(places)}"

    def summary(self) -> Iterator[str]:
        """How many cells have each word, which references confirm it, and what was not asked."""
        counted = ", ".join(f"{word} {self.totals[word]}" for word in _ORDER if self.totals[word])
        yield f"Cells of all ways together: {counted or 'none'}."
        behind = Counter(cell.references for cell in self.shown if cell.word == "wrong")
        if behind:
            named = [(n, " and ".join(names), len(names) > 1) for names, n in behind.most_common()]
            parts = [f"{n} by {names}{'' if several else ' alone'}" for n, names, several in named]
            yield f"The references that confirm the numbered wrong cells: {', '.join(parts)}."
        refusing: dict[tuple[str, int], list[str]] = {}
        for way, reasons in self.unasked.items():
            for reason, n in reasons.items():
                refusing.setdefault((reason, n), []).append(way)
        for (reason, n), ways in refusing.items():
            if n:
                rows = f"{n} of {self.rows} rows ({reason})"
                yield f"Cannot be asked: {', '.join(ways)}, {rows}."
