"""Canonical cases asked of one oracle: a labelled row for each.

A row that agrees is vacuous where the true derivative is zero here and at the neighbouring points. Where the
oracle differs anywhere, its rows that agree are also asked at their neighbouring points, and are a
coincidence where the same program differs there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gradfuzz.fuzzer.questions.suites import CanonicalCase
from gradfuzz.fuzzer.questions.weighted import plain_question
from gradfuzz.fuzzer.results.finding import CheckResult
from gradfuzz.fuzzer.results.report_card import Label
from gradfuzz.fuzzer.verdict import labels
from gradfuzz.fuzzer.verdict.checking import first_supported, refused
from gradfuzz.fuzzer.verdict.labels import entry_label
from gradfuzz.fuzzer.verdict.shared import evaluator
from gradfuzz.oracles.base import Array, Mode, Oracle, Point, Question, Truth
from gradfuzz.programs.language.precision import Precision
from gradfuzz.programs.language.program import Program

_AT_ONCE = 16
"""Programs that are asked about between two progress messages."""

_REVERSE: tuple[Mode, ...] = ("rev",)

_Asked = tuple[Program, Precision, tuple[str, ...], int]


@dataclass(frozen=True, slots=True)
class LabelledRow:
    """One entry point's answer to one canonical case."""

    case: CanonicalCase
    way: str
    modes: tuple[Mode, ...]
    expected: float | None
    bound: float | None
    got: float | None
    kind: str | None
    label: Label


@dataclass(frozen=True, slots=True, eq=False)
class CaseGroup:
    """The cases of one program that are asked together: at their own and at neighbouring points."""

    cases: list[CanonicalCase]
    here: Question
    here_at: dict[bytes, int]
    around: Question
    around_at: dict[bytes, int]
    exact: bool
    """Whether they are asked in these modes alone, or in the first modes of the order that an oracle has."""


def groups(
    cases: Sequence[CanonicalCase], modes: tuple[Mode, ...] | None = None, *, in_company: bool = False
) -> list[CaseGroup]:
    """The cases by program. `modes` None: any of each case's order.

    With `in_company` each point is asked together with its neighbours.
    """
    together: dict[_Asked, list[CanonicalCase]] = {}
    for case in cases:
        together.setdefault((case.program, case.precision, case.wrt, case.order), []).append(case)
    result = []
    for (program, precision, wrt, order), same in together.items():
        here = {_key(case.inputs): Point(case.inputs) for case in same}
        around = {_key(inputs): Point(inputs) for case in same for inputs in _around(case)}
        if in_company:
            here = {**here, **around}
        steps = _REVERSE * order if modes is None else modes
        question = plain_question(program, list(here.values()), precision, wrt, steps)
        nearby = replace(question, points=tuple(around.values()))
        result.append(
            CaseGroup(same, question, _places(here), nearby, _places(around), exact=modes is not None)
        )
    return result


def _never() -> bool:
    return False


def rows(
    groups: Sequence[CaseGroup],
    oracle: Oracle,
    progress: Callable[[str], None],
    late: Callable[[], bool] = _never,
    *,
    around: bool = True,
) -> dict[int, LabelledRow]:
    """The rows of one oracle, by the id of their canonical case; `around` also looks for coincidences. Once
    it is `late` nothing more is asked, and the rows are those that were answered.
    """
    judged = _judged(oracle, [(group.here, group.exact) for group in groups], progress, late)
    result = {}
    for group, found in zip(groups, judged, strict=False):
        for case in group.cases:
            here = found[group.here_at[_key(case.inputs)]]
            result[id(case)] = _row(case, here, _truths_around(group, case))
    if not around or all(row.label is not Label.DIFFERS for row in result.values()):
        return result
    agreeing = {key for key, row in result.items() if row.label in (Label.AGREES, Label.VACUOUS)}
    doubtful = [group for group in groups if any(id(case) in agreeing for case in group.cases)]
    progress(f"{oracle.name}: points next to those that agree")
    judged = _judged(oracle, [(group.around, group.exact) for group in doubtful], progress, late)
    for group, found in zip(doubtful, judged, strict=False):
        for case in group.cases:
            near = (entry_label(found[group.around_at[_key(at)]], case.entry) for at in _around(case))
            if id(case) in agreeing and Label.DIFFERS in near:
                result[id(case)] = replace(result[id(case)], label=Label.COINCIDENCE)
    return result


def _judged(
    oracle: Oracle,
    questions: Sequence[tuple[Question, bool]],
    progress: Callable[[str], None],
    late: Callable[[], bool],
) -> list[list[CheckResult]]:
    """The verdicts on each question, one per point, until it is `late`; many questions are asked at once.

    With each is whether it is asked as it is, or in the first modes that the oracle supports.
    """
    judged = []
    asked = [question if exact else first_supported(oracle, question) for question, exact in questions]
    for start in range(0, len(asked), _AT_ONCE):
        if late():
            break
        batch = asked[start : start + _AT_ONCE]
        progress(f"{oracle.name}: programs {start + 1}-{start + len(batch)} of {len(asked)}")
        refusals = [oracle.supports(question) for question in batch]
        pairs = list(zip(batch, refusals, strict=True))
        given = iter(oracle.answer_all([question for question, refusal in pairs if refusal is None]))
        for question, refusal in pairs:
            answers = next(given) if refusal is None else refused(question, refusal)
            judged.append(evaluator().cases(oracle.name, question, answers, confirm=True))
    return judged


def _truths_around(group: CaseGroup, case: CanonicalCase) -> list[Truth]:
    reference_values = evaluator().reference_values(group.around, confirm=True)
    return [reference_values[group.around_at[_key(inputs)]].truth for inputs in _around(case)]


def _around(case: CanonicalCase) -> Iterator[Mapping[str, Array]]:
    return labels.neighbours(case.inputs, case.wrt)


def _places(points: Mapping[bytes, Point]) -> dict[bytes, int]:
    return {key: k for k, key in enumerate(points)}


def _key(inputs: Mapping[str, Array]) -> bytes:
    return b"".join(np.asarray(inputs[name]).tobytes() for name in sorted(inputs))


def _row(canonical: CanonicalCase, here: CheckResult, around: Sequence[Truth]) -> LabelledRow:
    """The row of one case: `here` is the verdict at its own point, `around` the truths around it."""
    entry = canonical.entry
    label = entry_label(here, entry)
    if label is Label.AGREES and here.truth is not None and labels.is_vacuous((here.truth, *around), entry):
        label = Label.VACUOUS
    expected, bound = labels.true_entry(here.truth, entry) or (None, None)
    got = labels.answered_entry(here.answer, entry)
    kind = labels.entry_class(here, entry) if label is Label.DIFFERS else None
    named = kind.value if kind else None
    return LabelledRow(canonical, here.oracle, here.question.modes, expected, bound, got, named, label)
