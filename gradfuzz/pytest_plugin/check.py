"""One test: asks the target, judges the answers, and passes, fails, xfails or skips."""

from __future__ import annotations

import datetime
import functools
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest

from gradfuzz.errors import GradfuzzError
from gradfuzz.fuzzer.probe.status import asked_columns, confirmed, in_words
from gradfuzz.fuzzer.questions.grids import GRIDS, Grid
from gradfuzz.fuzzer.results.codec import encode
from gradfuzz.fuzzer.results.counts import Counts
from gradfuzz.fuzzer.results.finding import CheckResult, Finding, Reason, Verdict
from gradfuzz.fuzzer.results.review import Review
from gradfuzz.fuzzer.store.baseline import concerns, standing
from gradfuzz.fuzzer.sweep.totals import summarized
from gradfuzz.oracles.base import Oracle
from gradfuzz.oracles.registry import resolve
from gradfuzz.oracles.target_name import TargetName
from gradfuzz.pytest_plugin.cells import SuiteCell, puts
from gradfuzz.pytest_plugin.findings import CellResult, JudgedAnswer, as_met, kinds_of, shrunk
from gradfuzz.pytest_plugin.options import Profile, SuiteOptions, options
from gradfuzz.reports.common import plain, words
from gradfuzz.reports.common.numbers import count, inputs

_SHRUNK = 4
"""The most findings of one test that are shrunk; each takes seconds or minutes."""

_REASONS, _ALIKE = 3, 8
"""The most reasons, and the most answers that are wrong alike, that one test prints."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one test found, and what the baseline says of it."""

    judged: Sequence[JudgedAnswer]
    wrong: Sequence[JudgedAnswer]
    findings: tuple[Finding, ...]
    review: Review


class GradfuzzCheck:
    """The fixture. A test calls it once; `target`, `suite`, `op` and `check` say what the test is about."""

    def __init__(self, cell: SuiteCell, item: pytest.Item) -> None:
        self._cell = cell
        self._item = item
        self.target, self.suite, self.op, self.check = cell.target, cell.suite, cell.op, cell.check
        self.called = False
        self.said: str | None = None
        """The results of the test as JSON, for the end of the session."""

    def __repr__(self) -> str:
        return f"<gradfuzz_check of {self.target}: {self.suite}, {self.op}, {self.check}>"

    def __call__(self) -> None:
        """Fails on a wrong answer, xfails if the baseline accepts all of them, skips without a verdict."""
        __tracebackhide__ = True
        self.called = True
        given = options(self._item.config)
        try:
            judged = _judged(self._cell, given.profile)
        except GradfuzzError as error:
            pytest.fail(f"{self.target} cannot be asked: {error}", pytrace=False)
        found = _outcome(self._cell, judged, given)
        self.said = json.dumps(encode(CellResult, _result(self._cell, found)), allow_nan=False)
        self._note(found)
        self._end(found)

    def _note(self, found: Outcome) -> None:
        """Adds properties of the test, which go into the JUnit XML."""
        from gradfuzz.reports.terminal.concise import line

        counted = Counter((j.case.verdict, _verdict(j.case)) for j in found.judged)
        order = sorted(counted, key=lambda pair: (list(Verdict).index(pair[0]), pair[1]))
        told = ", ".join(f"{word} {counted[verdict, word]}" for verdict, word in order)
        version = next((j.oracle.version for j in found.judged), "")
        agreeing = [j.case for j in found.judged if j.case.verdict is Verdict.AGREE]
        if agreeing and all(map(_vacuous, agreeing)):
            told += "; the true derivative is zero wherever they agree"
        notes = [("gradfuzz", f"{self.target} {version}: {told or 'nothing asked'}")]
        notes += [("gradfuzz_finding", plain.line(line(finding))) for finding in found.findings]
        notes += [("gradfuzz_rerun", self._cell.rerun)] if found.findings else []
        self._item.user_properties.extend(notes)

    def _end(self, found: Outcome) -> None:
        __tracebackhide__ = True
        accepted = {entry.signature for entry in found.review.known}
        if found.findings and all(finding.signature in accepted for finding in found.findings):
            reasons = [f"{e.id}: {e.reason}{f' ({e.link})' if e.link else ''}" for e in found.review.known]
            pytest.xfail("; ".join(reasons))
        if found.wrong:
            pytest.fail(_message(self._cell, found), pytrace=False)
        if any(j.case.verdict in (Verdict.AGREE, Verdict.CONVENTION) for j in found.judged):
            return
        undecided = [j for j in found.judged if j.case.verdict is Verdict.INCONCLUSIVE]
        if undecided:
            pytest.skip(f"inconclusive: {_reasons(undecided)}")
        if found.judged:
            pytest.skip(f"unsupported: {_reasons(found.judged)}")
        pytest.skip(f"the suite {self.suite} asks {self.target} nothing about the {self.check} of {self.op}")


def _vacuous(case: CheckResult) -> bool:
    return case.truth is not None and not any(np.any(slope) for slope in case.truth.gradient.values())


# Asking -----------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=8)
def _ways(target: str) -> tuple[Oracle, ...]:
    """The ways into a target; their processes are shared by all tests."""
    return tuple(resolve(target, together=True, supervised=True))


def _judged(cell: SuiteCell, profile: Profile) -> list[JudgedAnswer]:
    """All answers. A way gets all questions at once: that is cheaper where each must be compiled."""
    asked = puts(cell.suite, cell.op, cell.check)
    if profile == "quick":
        asked = tuple(put for put in asked if put.use == asked[0].use)
    judged = []
    for oracle, columns in _asked_ways(cell, profile):
        mine = [put for put in asked if columns is None or put.situation in columns]
        able = [put for put in mine if oracle.supports(put.question) is None]
        answers = dict(zip(map(id, able), oracle.answer_all([put.question for put in able]), strict=True))
        for put in mine:
            cases = confirmed(oracle, put.question, answers.get(id(put)))
            judged += [JudgedAnswer(put, k, oracle, case) for k, case in enumerate(cases)]
    return judged


def _asked_ways(cell: SuiteCell, profile: Profile) -> Iterator[tuple[Oracle, frozenset[str] | None]]:
    """The ways to ask, each with its columns of a grid (None: all). "nightly" adds secondary ways."""
    ways = _ways(cell.target)
    plainly = [way for way in ways if profile == "nightly" or not way.traits.secondary] or list(ways)
    grid: Grid | None = GRIDS.get(cell.suite)
    if grid is None:
        one_by_one = [way for way in plainly if not way.traits.batched] or plainly
        yield from ((way, None) for way in one_by_one)
        return
    for way in plainly:
        columns = asked_columns(way, plainly, grid, variants=profile == "nightly")
        if columns:
            yield way, columns


# Findings ---------------------------------------------------------------------------------------------------


def _outcome(cell: SuiteCell, judged: Sequence[JudgedAnswer], given: SuiteOptions) -> Outcome:
    """A finding for each sort of wrong answer. What is not wrong when it is asked again is inconclusive."""
    wrong = [j for j in judged if j.case.verdict.is_wrong]
    findings: dict[str, Finding] = {}
    dropped: dict[int, CheckResult] = {}
    left = _SHRUNK
    for alike in kinds_of(wrong):
        finding = as_met(alike[0], cell.suite, len(alike))
        if left and _shrinks(finding, given):
            left -= 1
            smaller, why = shrunk(alike[0], cell.suite, len(alike))
            if smaller is None:
                for case in (other.case for other in alike):
                    dropped[id(case)] = case.unsettled(Reason.REFERENCES, why)
                continue
            finding = smaller
        findings.setdefault(finding.signature, finding)
    return Outcome(
        [replace(j, case=dropped.get(id(j.case), j.case)) for j in judged],
        [j for j in wrong if id(j.case) not in dropped],
        tuple(findings.values()),
        Review(*standing(given.known, list(findings.values()), _today())),
    )


def _shrinks(finding: Finding, given: SuiteOptions) -> bool:
    """Whether to shrink: in the nightly profile, and where the baseline may have the shrunk finding."""
    if given.profile == "nightly":
        return True
    if any(standing(given.known, [finding], _today())):
        return False
    targets = [item.entry.target for item in given.known.accepted]
    ours = any(TargetName.of(target).owner == TargetName.of(finding.target).owner for target in targets)
    return ours or any(concerns(rule.accept, finding.target) for rule in given.known.rules)


def _today() -> datetime.date:
    return datetime.datetime.now(datetime.UTC).date()


# Words ------------------------------------------------------------------------------------------------------


def _message(cell: SuiteCell, found: Outcome) -> str:
    asked = sum(j.case.verdict is not Verdict.UNSUPPORTED for j in found.judged)
    lines = [
        f"{cell.target} {found.wrong[0].oracle.version}: {len(found.wrong)} of {count(asked, 'answer')} about"
        f" {cell.op} ({cell.suite}, {cell.check}) are wrong"
    ]
    for alike in kinds_of(found.wrong):
        lines += ["", *_told(*alike)]
    lines += ["", *(plain.line(words.one_line(finding)) for finding in found.findings)]
    lines += [f"Accepted by the baseline: {e.id}, {e.reason}" for e in found.review.known]
    no_longer = "No longer accepted by the baseline since"
    lines += [f"{no_longer} {e.expires}: {e.id}, {e.reason}" for e in found.review.expired]
    return "\n".join([*lines, f"Again: {cell.rerun}"])


def _told(one: JudgedAnswer, *alike: JudgedAnswer) -> Iterator[str]:
    """A wrong answer as lines, and where else it occurred."""
    case, question = one.case, one.case.question
    modes = f"by {', '.join(question.modes)}"
    asked = dict.fromkeys((one.oracle.name, one.put.situation, question.precision, modes))
    yield f"{', '.join(asked)}: {plain.line(in_words(case))}"
    if case.worst is not None and case.error_over_allowed is not None:
        by = f", say {' and '.join(case.references)}" if case.references else ""
        yield f"  The error is {case.error_over_allowed:.3g} times what rounding allows{by}."
    yield from (f"    {line}" for line in plain.program(question.program).splitlines())
    yield f"  at {plain.line(inputs(case.point.inputs))}"
    others = list(dict.fromkeys(f"{other.put.situation} ({other.oracle.name})" for other in alike))
    if others:
        more = f" and {len(others) - _ALIKE} more" if len(others) > _ALIKE else ""
        yield f"  Wrong alike: {', '.join(others[:_ALIKE])}{more}."


def _verdict(case: CheckResult) -> str:
    """The verdict, and of a crash which failure it is."""
    return words.verdict_of(case) if case.verdict is Verdict.CRASHED else case.verdict.value


def _reasons(judged: Sequence[JudgedAnswer]) -> str:
    told = dict.fromkeys(words.remark(j.case) for j in judged)
    reasons = [plain.line(reason) for reason in told if reason]
    more = f"; and {len(reasons) - _REASONS} more reasons" if len(reasons) > _REASONS else ""
    return "; ".join(reasons[:_REASONS]) + more


# For the end of the session ---------------------------------------------------------------------------------


def _result(cell: SuiteCell, found: Outcome) -> CellResult:
    """What the process that gathers the results gets."""
    counts: dict[tuple[str, str], Counts] = {}
    conventions: Counter[str] = Counter()
    for j in found.judged:
        counts.setdefault((j.oracle.name, j.oracle.version), Counts()).count(j.case)
        conventions.update(j.case.conventions)
    summaries = tuple(summarized(*way, cell.suite, counted) for way, counted in counts.items())
    questions, asked = len({id(j.put) for j in found.judged}), (cell.target, cell.suite, cell.op, cell.check)
    return CellResult(asked, questions, summaries, found.findings, found.review, dict(conventions))
