"""One batch of a sweep: draw programs, ask every oracle, judge. It is the unit of work of a worker process.

A batch depends only on its number and the sweep's seed, so it is the same in every process and for any number
of processes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from gradfuzz.fuzzer.questions.tested import Tested, added, counted
from gradfuzz.fuzzer.questions.weighted import by_references
from gradfuzz.fuzzer.results.counts import Counts
from gradfuzz.fuzzer.results.finding import CheckResult, Class, Verdict
from gradfuzz.fuzzer.results.raw import Raw
from gradfuzz.fuzzer.sweep.cases import drawn
from gradfuzz.fuzzer.sweep.work_item import WorkItem
from gradfuzz.fuzzer.verdict.metamorphic_checks import peer_cases, variant_cases
from gradfuzz.fuzzer.verdict.shared import evaluator, oracle
from gradfuzz.oracles.base import Answer, Oracle, Question
from gradfuzz.programs.language.program import called, to_text
from gradfuzz.strategies import FAMILIES

_SLOW_QUESTIONS, _SLOW_POINTS = 3, 2
"""A slow oracle that is asked one by one gets this many questions about a program, at this many points."""

_BY_SHAPE = 4
"""Oracles that recompile for every shape are asked this many times less in families with many shapes."""

_OFTENER = 4
"""Oracles that a family is about are asked this many times more often."""


Numbered = tuple[int, Question]
Judged = tuple[int, CheckResult]
"""A question and a verdict with the number of their program in the sweep."""


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """The result of an order."""

    number: int
    programs: int
    counts: Mapping[str, Counts]
    raws: tuple[Raw, ...]
    explained: Mapping[tuple[str, Class], int]
    """(oracle, class) -> how many higher-order disagreements on programs that disagree at first order too."""
    latest: str
    """The text of the last program."""
    coverage: Mapping[str, int]
    tested: Tested = field(default_factory=dict)
    """What the programs contained."""
    conventions: Mapping[str, int] = field(default_factory=dict)
    """How many checks met each row of the conventions table."""


def run(item: WorkItem) -> Batch:
    """Draws programs, asks the oracles, and judges the answers. Of a part of a batch, that part: its draws
    are those of the whole.
    """
    found = drawn(item, [oracle(name) for name in item.oracles])
    asked: list[Numbered] = []
    coverage: Counter[str] = Counter()
    conventions: Counter[str] = Counter()
    parts: list[Tested] = []
    for index, draw in enumerate(found, item.first):
        own = item.questions(draw, index)
        asked += [(index, question) for question in own]
        parts.append(counted(own))
        coverage.update(FAMILIES[item.family].reached(draw))
    counts: dict[str, Counts] = {}
    raws: list[Raw] = []
    explained: Counter[tuple[str, Class]] = Counter()
    for name in (item.asks,) if item.asks else item.oracles:
        target = oracle(name)
        judged = _ask(target, asked, item, stride_of(target, item))
        able = {k for k, case in judged if case.verdict is not Verdict.UNSUPPORTED}
        refused = len({k for k, _ in judged} - able)
        ops = Counter(op for k in able for op in called(found[k - item.first].program))
        about = sum(item.is_about(k) for k in range(item.first, item.first + len(found)))
        counts[name] = Counts(drawn=about, programs=len(able), refused=refused, ops=ops)
        for _, case in judged:
            counts[name].count(case)
            conventions.update(case.conventions)
        wrong = [(k, case) for k, case in judged if case.verdict.is_wrong]
        first_order = {k for k, case in wrong if case.question.order <= 1}
        for k, case in wrong:
            assert case.kind is not None, "a disagreement has a class"
            if case.question.order > 1 and k in first_order:
                explained[name, case.kind] += 1
            else:
                alone = replace(case, question=replace(case.question, points=(case.point,)))
                points = case.question.points if target.traits.batched else ()
                place = next((n for n, point in enumerate(points) if point is case.point), 0)
                raws.append(Raw(alone, item.family, k, points, place))
    latest = to_text(found[-1].program) if found else ""
    seen = coverage, added(parts), conventions
    return Batch(item.number, len(found), counts, tuple(raws), explained, latest, *seen)


def joined(parts: Sequence[tuple[WorkItem, Batch]]) -> Batch:
    """The batch whose parts these are. All draw the same programs, so one says what was drawn."""
    batches = [batch for _, batch in parts]
    counts: dict[str, Counts] = {}
    explained: Counter[tuple[str, Class]] = Counter()
    conventions: Counter[str] = Counter()
    for batch in batches:
        for name, own in batch.counts.items():
            counts.setdefault(name, Counts()).add(own)
        explained.update(batch.explained)
        conventions.update(batch.conventions)
    raws = tuple(raw for batch in batches for raw in batch.raws)
    return replace(batches[0], counts=counts, raws=raws, explained=explained, conventions=conventions)


def set_aside(item: WorkItem) -> Batch:
    """The batch of a program that workers did not survive to ask: a crash of the oracle that was asked."""
    words = "worker death: every worker that asked this died"
    assert item.only is not None, "a part with one program"
    index, name = item.only[0], item.asks or item.oracles[0]
    found = drawn(item, [oracle(one) for one in item.oracles])
    question = item.questions(found[index - item.first], index)[0]
    answer, point = Answer("error", message=words), question.points[0]
    alone = replace(question, points=(point,))
    case = CheckResult(name, alone, point, None, answer, Verdict.CRASHED, kind=Class.ERROR, message=words)
    counts = Counts(drawn=1, programs=1, ops=Counter(called(question.program)))
    counts.count(case)
    raw = Raw(case, item.family, index, deadly=True)
    return Batch(item.number, len(found), {name: counts}, (raw,), {}, to_text(found[-1].program), {})


def stride_of(target: Oracle, item: WorkItem) -> int:
    """A sweep asks a target about one in this many programs of a family; about every one if it was named.

    In families with many shapes, targets that recompile for each shape are asked less often. In families
    about batches, targets that answer all points together are asked more often, the others less.
    """
    if target.name in item.named:
        return 1
    row = FAMILIES[item.family]
    stride = target.traits.sampling_stride
    if target.traits.recompiles_per_shape and row.shapes:
        stride *= _BY_SHAPE
    if not row.together:
        return stride
    return max(1, stride // _OFTENER) if target.traits.batched else stride * _OFTENER


def _ask(target: Oracle, asked: Sequence[Numbered], item: WorkItem, stride: int) -> list[Judged]:
    """Every verdict on one oracle, with the program's number. Points that cannot be judged are not asked."""
    result: list[Judged] = []
    ready: list[tuple[int, int, Question, list[int]]] = []
    most = _SLOW_POINTS if _one_by_one(target) and not target.traits.batched else None
    for turn, (index, question) in enumerate(_share(target, asked, item.first, stride)):
        if not item.is_about(index):
            continue
        points = range(len(question.points))[:most]
        refusal = target.supports(question)
        if refusal is not None:
            answer, unsupported = Answer("unsupported", message=refusal), Verdict.UNSUPPORTED
            for point in question.points[:most]:
                case = CheckResult(target.name, question, point, None, answer, unsupported, message=refusal)
                result.append((index, case))
            continue
        if not by_references(question, item.checks):
            ready.append((turn, index, question, list(points)))
            continue
        judgeable = evaluator().judgeable(question)
        fair = [k for k in points if k in judgeable]
        unfair = [k for k in points if k not in judgeable]
        cases = evaluator().cases(target.name, question, [Answer("ok")] * len(unfair), at=unfair)
        result += [(index, case) for case in cases]
        if fair:
            ready.append((turn, index, question, fair))
    parts = [replace(q, points=tuple(q.points[k] for k in fair)) for *_, q, fair in ready]
    answered = zip(ready, parts, target.answer_all(parts), strict=True)
    for (turn, index, question, fair), part, given in answered:
        if by_references(question, item.checks):
            cases = evaluator().cases(target.name, question, given, at=fair)
            cases = [replace(case, question=part) for case in cases] if target.traits.batched else cases
        else:
            cases = peer_cases(evaluator(), target.name, part, given)
        if "twins" in item.checks and part.modes:
            cases += _variant_cases(target, part, given, cases, index + turn, item)
        result += [(index, case) for case in cases]
    return result


def _variant_cases(
    target: Oracle, part: Question, given: list[Answer], cases: list[CheckResult], turn: int, item: WorkItem
) -> list[CheckResult]:
    """A metamorphic variant of the question; for a slow target only the same entry point without jit."""
    if target.traits.slow:
        name = f"{target.name}:nojit"
        if name not in item.oracles:
            return []
        return variant_cases(evaluator(), target, part, given, cases, turn, eager=oracle(name))
    skipped = {"other modes", "stacked"} if target.traits.recompiles_per_shape else set()
    if len(part.modes) == 1 and {"vjp", "jvp"} <= set(item.checks):
        skipped.add("other modes")  # it is asked anyway
    return variant_cases(evaluator(), target, part, given, cases, turn, frozenset(skipped))


def _share(target: Oracle, asked: Sequence[Numbered], begin: int, stride: int) -> list[Numbered]:
    """What a target is asked in a batch that begins with program `begin`.

    One program per window of `stride` programs: the first in the batch that the target supports. A window
    that began in an earlier batch was served there.
    """
    groups: dict[int, dict[int, list[Question]]] = {}
    for index, question in asked:
        if index // stride * stride >= begin:
            groups.setdefault(index // stride, {}).setdefault(index, []).append(question)
    result = []
    for group in groups.values():
        able = (k for k, own in group.items() if any(target.supports(q) is None for q in own))
        index = next(able, next(iter(group)))
        result += [(index, question) for question in _some(group[index], index // stride, target)]
    return result


def _some(questions: list[Question], turn: int, target: Oracle) -> list[Question]:
    """All questions, or a few of them in turn."""
    if not _one_by_one(target) or len(questions) <= _SLOW_QUESTIONS:
        return questions
    return [questions[(turn + k) % len(questions)] for k in range(_SLOW_QUESTIONS)]


def _one_by_one(target: Oracle) -> bool:
    """Whether the target is slow and many questions are no cheaper for it than each alone."""
    return target.traits.slow and not target.traits.supports_many
