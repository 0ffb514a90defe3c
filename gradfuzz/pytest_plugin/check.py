"""One test: asks the target, judges the answers, and passes, fails, xfails or skips."""

from __future__ import annotations

import datetime
import functools
import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np
import pytest

from gradfuzz.errors import GradfuzzError
from gradfuzz.fuzzer.probe.status import asked_columns, confirmed, in_words
from gradfuzz.fuzzer.questions.grids import GRIDS, Grid
from gradfuzz.fuzzer.results.codec import encode
from gradfuzz.fuzzer.results.counts import Counts
from gradfuzz.fuzzer.results.events import TargetSummary
from gradfuzz.fuzzer.results.finding import CheckResult, Finding, Reason, Verdict
from gradfuzz.fuzzer.results.records import to_document
from gradfuzz.fuzzer.results.review import BaselineEntry
from gradfuzz.fuzzer.store.baseline import accepts
from gradfuzz.fuzzer.sweep.totals import summarized
from gradfuzz.oracles.base import Oracle
from gradfuzz.oracles.registry import resolve
from gradfuzz.oracles.target_name import TargetName
from gradfuzz.pytest_plugin.cells import Cell, Put, puts
from gradfuzz.pytest_plugin.findings import Wrong, as_met, distinct, shrunk
from gradfuzz.pytest_plugin.options import Options, Profile, options
from gradfuzz.reports.common import plain, words
from gradfuzz.reports.common.numbers import count, inputs

_SHRUNK = 4
"""The most findings of one test that are shrunk; each takes seconds or minutes."""

_REASONS = 3
"""The most reasons that one test prints."""


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """An answer with its verdict."""

    put: Put
    place: int
    oracle: Oracle
    case: CheckResult


class GradfuzzCheck:
    """The fixture. A test calls it once; `target`, `suite`, `op` and `check` say what the test is about."""

    def __init__(self, cell: Cell, item: pytest.Item) -> None:
        self._cell = cell
        self._item = item
        self.called = False
        self.said: str | None = None
        """The results of the test as JSON, for the end of the session."""

    @property
    def target(self) -> str:
        return self._cell.target

    @property
    def suite(self) -> str:
        return self._cell.suite

    @property
    def op(self) -> str:
        return self._cell.op

    @property
    def check(self) -> str:
        return self._cell.check

    def __repr__(self) -> str:
        return f"<gradfuzz_check of {self.target}: {self.suite}, {self.op}, {self.check}>"

    def __call__(self) -> None:
        """Fails on a wrong answer, xfails if the baseline accepts all of them, skips without a verdict."""
        __tracebackhide__ = True
        self.called = True
        given = options(self._item.config)
        started = time.monotonic()
        try:
            judged = _judged(self._cell, given.profile)
        except GradfuzzError as error:
            pytest.fail(f"{self.target} cannot be asked: {error}", pytrace=False)
        wrong = [Wrong(j.put, j.place, j.oracle, j.case) for j in judged if j.case.verdict.is_wrong]
        findings, dropped = _findings(self._cell, wrong, given)
        judged = [replace(j, case=dropped.get(id(j.case), j.case)) for j in judged]
        known, expired = _accepted(findings, given)
        self.said = _document(self._cell, judged, findings, known, expired, time.monotonic() - started)
        self._note(judged, findings)
        self._end(judged, [w for w in wrong if id(w.case) not in dropped], findings, known, expired)

    def _note(self, judged: Sequence[Judged], findings: Sequence[Finding]) -> None:
        """Adds properties of the test, which go into the JUnit XML."""
        from gradfuzz.reports.terminal.concise import line

        verdicts = Counter(j.case.verdict for j in judged)
        told = ", ".join(f"{verdict.value} {verdicts[verdict]}" for verdict in Verdict if verdicts[verdict])
        version = next((j.oracle.version for j in judged), "")
        if verdicts[Verdict.AGREE] and all(
            _vacuous(j.case) for j in judged if j.case.verdict is Verdict.AGREE
        ):
            told += "; the true derivative is zero wherever they agree"
        self._item.user_properties.append(("gradfuzz", f"{self.target} {version}: {told or 'nothing asked'}"))
        for finding in findings:
            self._item.user_properties.append(("gradfuzz_finding", plain.line(line(finding))))
        if findings:
            self._item.user_properties.append(("gradfuzz_rerun", self._cell.rerun))

    def _end(
        self,
        judged: Sequence[Judged],
        wrong: Sequence[Wrong],
        findings: Sequence[Finding],
        known: Sequence[BaselineEntry],
        expired: Sequence[BaselineEntry],
    ) -> None:
        __tracebackhide__ = True
        accepted = {entry.signature for entry in known}
        if findings and all(finding.signature in accepted for finding in findings):
            reasons = [f"{e.id}: {e.reason}{f' ({e.link})' if e.link else ''}" for e in known]
            pytest.xfail("; ".join(reasons))
        if wrong:
            pytest.fail(_message(self._cell, judged, wrong, findings, known, expired), pytrace=False)
        if any(j.case.verdict in (Verdict.AGREE, Verdict.CONVENTION) for j in judged):
            return
        undecided = [j for j in judged if j.case.verdict is Verdict.INCONCLUSIVE]
        if undecided:
            pytest.skip(f"inconclusive: {_reasons(undecided)}")
        _skip_unasked(self._cell, judged)


def _vacuous(case: CheckResult) -> bool:
    return case.truth is not None and not any(np.any(slope) for slope in case.truth.gradient.values())


def _skip_unasked(cell: Cell, judged: Sequence[Judged]) -> NoReturn:
    if not judged:
        pytest.skip(f"the suite {cell.suite} asks {cell.target} nothing about the {cell.check} of {cell.op}")
    pytest.skip(f"unsupported: {_reasons(judged)}")


# Asking -----------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=8)
def _ways(target: str) -> tuple[Oracle, ...]:
    """The ways into a target; their processes are shared by all tests."""
    return tuple(resolve(target, together=True, supervised=True))


def _judged(cell: Cell, profile: Profile) -> list[Judged]:
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
            judged += [Judged(put, k, oracle, case) for k, case in enumerate(cases)]
    return judged


def _asked_ways(cell: Cell, profile: Profile) -> Iterator[tuple[Oracle, frozenset[str] | None]]:
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


def _findings(
    cell: Cell, wrong: Sequence[Wrong], given: Options
) -> tuple[list[Finding], dict[int, CheckResult]]:
    """A finding for each sort of wrong answer; and of answers that were not wrong when they were asked again,
    the cases as they stand now.
    """
    findings: dict[str, Finding] = {}
    dropped: dict[int, CheckResult] = {}
    left = _SHRUNK
    for one in distinct(wrong):
        alike = [other for other in wrong if other.sort == one.sort]
        finding = as_met(one, cell.suite, len(alike))
        if left and _shrinks(finding, given):
            left -= 1
            smaller, why = shrunk(one, cell.suite, len(alike))
            if smaller is None:
                for other in alike:
                    case = replace(
                        other.case,
                        verdict=Verdict.INCONCLUSIVE,
                        kind=None,
                        reason=Reason.REFERENCES,
                        message=why,
                    )
                    dropped[id(other.case)] = case
                continue
            finding = smaller
        findings.setdefault(finding.signature, finding)
    return list(findings.values()), dropped


def _shrinks(finding: Finding, given: Options) -> bool:
    """Whether to shrink: in the nightly profile, and where the baseline may have the shrunk finding."""
    if given.profile == "nightly":
        return True
    entries = [item.entry for item in given.known.accepted]
    if any(entry.signature == finding.signature for entry in entries):
        return False
    return any(TargetName.of(entry.target).owner == TargetName.of(finding.target).owner for entry in entries)


def _accepted(findings: Sequence[Finding], given: Options) -> tuple[list[BaselineEntry], list[BaselineEntry]]:
    """The entries of the baseline that accept findings, and those that no longer do."""
    today = datetime.datetime.now(datetime.UTC).date()
    names = {finding.signature: finding.id for finding in findings}
    up = [
        replace(item.entry, id=names[item.entry.signature])
        for item in given.known.accepted
        if item.entry.signature in names
    ]
    return [e for e in up if accepts(e, today)], [e for e in up if not accepts(e, today)]


# Words ------------------------------------------------------------------------------------------------------


def _message(
    cell: Cell,
    judged: Sequence[Judged],
    wrong: Sequence[Wrong],
    findings: Sequence[Finding],
    known: Sequence[BaselineEntry],
    expired: Sequence[BaselineEntry],
) -> str:
    asked = sum(j.case.verdict is not Verdict.UNSUPPORTED for j in judged)
    version = wrong[0].oracle.version
    lines = [
        f"{cell.target} {version}: {len(wrong)} of {count(asked, 'answer')} about {cell.op} ({cell.suite},"
        f" {cell.check}) are wrong"
    ]
    for one in distinct(wrong):
        lines += ["", *_told(one, [other for other in wrong if other.sort == one.sort])]
    lines += [""] + [plain.line(f"{words.title(f)}: {words.summary(f)}") for f in findings]
    lines += [f"Accepted by the baseline: {e.id}, {e.reason}" for e in known]
    lines += [f"No longer accepted by the baseline since {e.expires}: {e.id}, {e.reason}" for e in expired]
    return "\n".join([*lines, f"Again: {cell.rerun}"])


def _told(one: Wrong, alike: Sequence[Wrong]) -> Iterator[str]:
    """A wrong answer as lines, and where else it occurred."""
    case, question = one.case, one.case.question
    asked = dict.fromkeys(
        (one.oracle.name, one.put.situation, question.precision, f"by {', '.join(question.modes)}")
    )
    yield f"{', '.join(asked)}: {plain.line(in_words(case))}"
    if case.worst is not None and case.error_over_allowed is not None:
        by = f", say {' and '.join(case.references)}" if case.references else ""
        yield f"  The error is {case.error_over_allowed:.3g} times what rounding allows{by}."
    yield from (f"    {line}" for line in plain.program(question.program).splitlines())
    yield f"  at {plain.line(inputs(case.point.inputs))}"
    others = list(
        dict.fromkeys(f"{other.put.situation} ({other.oracle.name})" for other in alike if other is not one)
    )
    if others:
        yield (
            "  Wrong alike:"
            f" {', '.join(others[:8])}{f' and {len(others) - 8} more' if len(others) > 8 else ''}."
        )


def _reasons(judged: Sequence[Judged]) -> str:
    told = dict.fromkeys(
        j.case.message or j.case.answer.message or (j.case.reason.value if j.case.reason else "")
        for j in judged
    )
    reasons = [plain.line(reason) for reason in told if reason]
    return "; ".join(reasons[:_REASONS]) + (
        f"; and {len(reasons) - _REASONS} more reasons" if len(reasons) > _REASONS else ""
    )


# For the end of the session ---------------------------------------------------------------------------------


def _document(
    cell: Cell,
    judged: Sequence[Judged],
    findings: Sequence[Finding],
    known: Sequence[BaselineEntry],
    expired: Sequence[BaselineEntry],
    seconds: float,
) -> str:
    """The results for the process that gathers them, as JSON."""
    counts: dict[tuple[str, str], Counts] = {}
    conventions: Counter[str] = Counter()
    for j in judged:
        counts.setdefault((j.oracle.name, j.oracle.version), Counts()).count(j.case)
        conventions.update(j.case.conventions)
    summaries = [
        summarized(name, version, cell.suite, counted) for (name, version), counted in counts.items()
    ]
    document: dict[str, Any] = {
        "cell": [cell.target, cell.suite, cell.op, cell.check],
        "questions": len({id(j.put) for j in judged}),
        "seconds": seconds,
        "summaries": [encode(TargetSummary, summary) for summary in summaries],
        "findings": [to_document(finding) for finding in findings],
        "known": [encode(BaselineEntry, entry) for entry in known],
        "expired": [encode(BaselineEntry, entry) for entry in expired],
        "conventions": dict(conventions),
    }
    return json.dumps(document, allow_nan=False)
