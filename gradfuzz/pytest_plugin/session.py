"""The end of the session: the results of all tests with the mark in pytest's summary and in reports."""

from __future__ import annotations

import datetime
import json
import shlex
import time
from collections.abc import Iterable
from dataclasses import replace

import pytest

from gradfuzz.errors import GradfuzzError
from gradfuzz.fuzzer.findings.clusters import clusters
from gradfuzz.fuzzer.results.codec import decode
from gradfuzz.fuzzer.results.environment import environment
from gradfuzz.fuzzer.results.events import SweepFinished, TargetSummary
from gradfuzz.fuzzer.results.finding import Finding
from gradfuzz.fuzzer.results.ranking import rank
from gradfuzz.fuzzer.results.review import BaselineEntry, Review
from gradfuzz.fuzzer.store import baseline
from gradfuzz.pytest_plugin.findings import CellResult
from gradfuzz.pytest_plugin.options import options
from gradfuzz.reports.common import plain
from gradfuzz.reports.common.numbers import count, sums
from gradfuzz.reports.common.summary import FAILURES, tally, total
from gradfuzz.reports.terminal.concise import line

_SHOWN = 20
"""The most findings in pytest's summary."""


class Gathered:
    """The results of the tests so far."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._said: list[CellResult] = []
        self._began = datetime.datetime.now(datetime.UTC), time.monotonic()
        self._lines: list[str] = []

    def add(self, said: str) -> None:
        """Adds the results of one test."""
        self._said.append(decode(CellResult, json.loads(said)))

    def finish(self, session: pytest.Session) -> None:
        """Writes reports and the baseline. An unwritable file is in the summary and fails the session."""
        try:
            self._accept()
            self._report(interrupted=session.exitstatus == pytest.ExitCode.INTERRUPTED)
        except (GradfuzzError, OSError) as error:
            self._lines.append(f"Not written: {error}".replace("--report ", "--gradfuzz-report "))
            if session.exitstatus == pytest.ExitCode.OK:
                session.exitstatus = pytest.ExitCode.INTERNAL_ERROR

    def tell(self, terminal: pytest.TerminalReporter) -> None:
        """Writes a section of pytest's summary: what was judged of which target, and the findings."""
        finished, review = self._finished(interrupted=False)
        terminal.section("gradfuzz")
        for target in dict.fromkeys(said.cell[0] for said in self._said):
            terminal.line(self._of_target(target))
        known = {entry.signature: entry for entry in review.known}
        for finding in finished.findings[:_SHOWN]:
            entry = known.get(finding.signature)
            terminal.line(f"{plain.line(line(finding))}{f' (accepted: {entry.reason})' if entry else ''}")
        if len(finished.findings) > _SHOWN:
            more = count(len(finished.findings) - _SHOWN, "more finding")
            terminal.line(f"... and {more}; --gradfuzz-report has all of them")
        for text in self._lines:
            terminal.line(text)

    def _of_target(self, target: str) -> str:
        summaries = [s for said in self._said if said.cell[0] == target for s in said.summaries]
        if not summaries:
            return f"{target}: nothing asked"
        counts = tally(whole := total(summaries))
        told = ("agree", "disagree", *FAILURES, "convention", "unsupported", "inconclusive")
        words = ", ".join(f"{name} {counts[name]:,}" for name in told if counts[name]) or "nothing asked"
        return f"{f'{target} {whole.version}'.strip()}: {words}"

    # The end in the form of a sweep's

    def _finished(self, *, interrupted: bool) -> tuple[SweepFinished, Review]:
        """The results in the order of the tests' subjects, whichever worker was first."""
        said = sorted(self._said, key=lambda one: one.cell)
        findings = _named(said)
        conventions = sums(one.conventions for one in said)
        summaries = _summaries(said)
        finished = SweepFinished(
            seed=0,
            seconds=time.monotonic() - self._began[1],
            programs=sum(one.questions for one in said),
            checks=sum(summary.checks for summary in summaries),
            summaries=summaries,
            findings=findings,
            complete=not interrupted,
            interrupted=interrupted,
            rerun=shlex.join(["pytest", *map(str, self._config.invocation_params.args)]),
            clusters=clusters(findings),
            conventions=dict(sorted(conventions.items(), key=lambda item: (-item[1], item[0]))),
            environment=environment(self._began[0]),
        )
        known = _entries((entry for one in said for entry in one.review.known), findings)
        expired = _entries((entry for one in said for entry in one.review.expired), findings)
        return finished, Review(known=known, expired=expired)

    def _report(self, *, interrupted: bool) -> None:
        given = options(self._config)
        if not given.reports:
            return
        from gradfuzz.cli.reporting import outputs, written

        finished, review = self._finished(interrupted=interrupted)
        for output in outputs(given.reports):
            text = written(output, finished, review)
            path = [f"The {output.name} report is in {output.path}."]
            self._lines += text.splitlines() if output.path is None else path

    def _accept(self) -> None:
        """Writes new findings into the baseline, if an option asks for it."""
        given = options(self._config)
        if given.accept is None or given.file is None:
            return
        finished, review = self._finished(interrupted=False)
        accepted, known = given.known, {entry.signature for entry in review.known}
        new = [finding for finding in finished.findings if finding.signature not in known]
        for finding in new:
            accepted = baseline.added(accepted, finding, baseline.entry_of(finding, given.accept))
        if new:
            baseline.write(accepted, given.file)
        self._lines.append(f"{count(len(new), 'finding')} accepted in {given.file}.")


def _named(said: Iterable[CellResult]) -> tuple[Finding, ...]:
    """The findings, each once, with distinct ids. The one that ranks first gives the numbers."""
    met: dict[str, list[Finding]] = {}
    for finding in (finding for one in said for finding in one.findings):
        met.setdefault(finding.signature, []).append(finding)
    found = {
        signature: replace(min(alike, key=rank), seen=sum(finding.seen for finding in alike))
        for signature, alike in met.items()
    }
    digits = 4
    while len({signature[:digits] for signature in found}) < len(found):
        digits += 1
    return tuple(sorted((replace(f, id=f"GF-{s[:digits]}") for s, f in found.items()), key=rank))


def _entries(entries: Iterable[BaselineEntry], findings: Iterable[Finding]) -> tuple[BaselineEntry, ...]:
    """The entries, each once, with the ids of the findings."""
    ids = {finding.signature: finding.id for finding in findings}
    return tuple({entry.signature: replace(entry, id=ids[entry.signature]) for entry in entries}.values())


def _summaries(said: Iterable[CellResult]) -> tuple[TargetSummary, ...]:
    """A summary for each way and suite."""
    found: dict[tuple[str, str], list[TargetSummary]] = {}
    for summary in (summary for one in said for summary in one.summaries):
        found.setdefault((summary.name, summary.family), []).append(summary)
    return tuple(map(total, found.values()))
