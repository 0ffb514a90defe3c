"""The store: runs, their findings, and the finished work of runs that did not end.

A run is one sweep. Its findings are stored as soon as they are found. The work it has done is kept until it
is complete, so that it can be resumed. A finding that is fixed stays in its run, but `recorded` leaves it out
until a run finds it again.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from gradfuzz.errors import RecordError, StoreError
from gradfuzz.fuzzer.results.codec import Json
from gradfuzz.fuzzer.results.events import Progress, SweepFinished, SweepStarted
from gradfuzz.fuzzer.results.finding import Finding
from gradfuzz.fuzzer.results.functions import FAMILY, FunctionSummary
from gradfuzz.fuzzer.results.identity import signature_of
from gradfuzz.fuzzer.results.records import from_document, loads, to_document
from gradfuzz.fuzzer.results.review import Review
from gradfuzz.fuzzer.store.database import Database

DEFAULT = Path(".gradfuzz") / "store.sqlite"
"""The path of the store, relative to the current directory."""

_RESUMABLE = 8
"""This many unfinished runs keep their work; that of older ones is deleted."""

_PARTS = 256
"""This many parts of sweeps keep theirs, so that they can be merged."""

_PARTS_OF_SWEEPS = "SELECT number FROM runs WHERE json_extract(settings, '$.config.shard') IS NOT NULL"

_ALL = 2**62
"""More than any number of a run."""


@dataclass(frozen=True, slots=True)
class Run:
    """A sweep in the store."""

    number: int
    began: str
    """In UTC, as in "2026-03-01T12:00:00+00:00"."""
    settings: Mapping[str, Json]
    complete: bool


@dataclass(frozen=True, slots=True)
class Recorded:
    """A finding as the latest run recorded it. The first run that recorded it began at `first`."""

    run: int
    finding: Finding
    first: str


class Store:
    """A store opened to read, or to read and write. Methods raise `StoreError` where the file forbids it."""

    def __init__(self, path: Path = DEFAULT, *, write: bool = False) -> None:
        if path.is_dir():
            path = path / DEFAULT.name
        self.path = path
        self._database = Database(path, write=write)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the store; others may write."""
        self._database.close()

    # Runs

    def runs(self) -> list[Run]:
        """All runs, oldest first."""
        rows = self._database.rows("SELECT number, began, settings, complete FROM runs ORDER BY number")
        return [Run(n, began, loads(s, str(self.path)), bool(complete)) for n, began, s, complete in rows]

    def run(self, number: int) -> Run:
        """The run of this number; `RecordError` without one."""
        runs = {run.number: run for run in self.runs()}
        if number not in runs:
            there = f"its runs are {min(runs)} to {max(runs)}" if runs else "it has no run"
            raise RecordError(f"{self.path}: there is no run {number}; {there}")
        return runs[number]

    def begin(self, started: SweepStarted, settings: Mapping[str, Json]) -> int:
        """Begins a new run; returns its number."""
        database = self._database
        began = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        row = began, _text(settings), _text(to_document(started))
        kept = "SELECT number FROM runs WHERE NOT complete ORDER BY number DESC LIMIT ?"
        parts = f"{_PARTS_OF_SWEEPS} ORDER BY number DESC LIMIT ?"
        with database.transaction():
            number = database.execute("INSERT INTO runs (began, settings, started) VALUES (?, ?, ?)", *row)
            database.execute(
                f"DELETE FROM work WHERE run NOT IN ({kept}) AND run NOT IN ({parts})",  # noqa: S608 - no input
                *(_RESUMABLE, _PARTS),
            )
        return number

    def write(self, run: int) -> None:
        """Makes this the only writer of a run until the store is closed. `StoreError` if there is one."""
        if not self._database.hold(f"run-{run}"):
            words = f"another gradfuzz is at work on run {run}; wait for its end"
            raise StoreError(f"{self.path}: {words}")

    def is_written(self, run: int) -> bool:
        """Whether some gradfuzz is at work on a run."""
        return self._database.is_held(f"run-{run}")

    def progress(self, run: int, progress: Progress) -> None:
        """Records a run's progress, which is what remains of it if it is killed."""
        with self._database.transaction():
            self._set(run, "progress", to_document(progress))

    def finish(self, run: int, finished: SweepFinished) -> None:
        """Records the end of a run. Until `review` is recorded it can be resumed, with the same end."""
        with self._database.transaction():
            self._database.execute("DELETE FROM findings WHERE run = ?", run)
            self._insert(run, finished.findings)
            self._set(run, "finished", to_document(replace(finished, findings=(), shard=None)))

    def review(self, run: int, review: Review, *, complete: bool) -> None:
        """Records what became of earlier findings; those that are fixed no longer count as recorded.

        Deletes the work of a complete run, unless it is a part of a sweep.
        """
        database = self._database
        with database.transaction():
            self._set(run, "review", to_document(review))
            database.execute("UPDATE runs SET complete = ? WHERE number = ?", complete, run)
            for finding in review.fixed:
                database.execute("INSERT OR REPLACE INTO fixed VALUES (?, ?)", signature_of(finding), run)
            if complete:
                others = f"run NOT IN ({_PARTS_OF_SWEEPS})"
                database.execute(f"DELETE FROM work WHERE run = ? AND {others}", run)  # noqa: S608 - no input

    def _set(self, run: int, column: str, document: Json) -> None:
        statement = f"UPDATE runs SET {column} = ? WHERE number = ?"  # noqa: S608 - a name of ours
        self._database.execute(statement, _text(document), run)

    def finished(self, run: int) -> tuple[SweepFinished, Review | None]:
        """The end of a run and its review; for a killed run, what was recorded of it."""
        query = "SELECT started, progress, finished, review FROM runs WHERE number = ?"
        ((started, progress, finished, review),) = self._database.rows(query, self.run(run).number)
        source = f"{self.path}, run {run}"
        findings = self.findings(run)
        if finished is None:
            first = from_document(loads(started, source), SweepStarted, source)
            last = None if progress is None else from_document(loads(progress, source), Progress, source)
            return cut_short(first, last, findings), None
        end = replace(from_document(loads(finished, source), SweepFinished, source), findings=findings)
        return end, None if review is None else from_document(loads(review, source), Review, source)

    def functions(
        self, target: str, version: str, before: int = _ALL
    ) -> Iterator[tuple[FunctionSummary, ...]]:
        """What each sweep of the functions of this release alone asked, the latest first; only of runs whose
        number is less than `before`.
        """
        for run in reversed(self.runs()):
            config = run.settings["config"]
            alone = config["families"] == [FAMILY] and config["targets"] == [target]
            if run.number >= before or not alone or run.settings["versions"].get(target) != version:
                continue
            ((text,),) = self._database.rows("SELECT finished FROM runs WHERE number = ?", run.number)
            if text is not None:
                source = f"{self.path}, run {run.number}"
                yield from_document(loads(text, source), SweepFinished, source).functions

    # Findings

    def found(self, run: int, finding: Finding) -> None:
        """Records a finding of a run in its present state."""
        with self._database.transaction():
            self._insert(run, [finding])

    def findings(self, run: int) -> tuple[Finding, ...]:
        """The findings of a run, in its order."""
        query = "SELECT id, document FROM findings WHERE run = ? ORDER BY place"
        rows = self._database.rows(query, self.run(run).number)
        return tuple(self._finding(id, document) for id, document in rows)

    def recorded(self) -> list[Recorded]:
        """Every finding once, newest run first, without those that are fixed."""
        query = """
            SELECT latest.run, latest.id, latest.document, runs.began
            FROM (SELECT *, max(run) FROM findings GROUP BY signature) AS latest
            JOIN runs ON number = (SELECT min(run) FROM findings WHERE signature = latest.signature)
            WHERE latest.run > coalesce((SELECT run FROM fixed WHERE signature = latest.signature), 0)
            ORDER BY latest.run DESC, latest.place
            """
        rows = self._database.rows(query)
        return [Recorded(run, self._finding(id, document), first) for run, id, document, first in rows]

    def ids(self) -> list[str]:
        """The ids of all findings, fixed ones too."""
        return [id for (id,) in self._database.rows("SELECT DISTINCT id FROM findings ORDER BY id")]

    def latest(self, id: str) -> Finding | None:
        """The finding with this id as the latest run recorded it."""
        query = "SELECT id, document FROM findings WHERE id = ? ORDER BY run DESC LIMIT 1"
        rows = self._database.rows(query, id)
        return self._finding(*rows[0]) if rows else None

    def first_seen(self, before: int) -> dict[str, str]:
        """For each signature in runs before this one, when the first run with it began."""
        query = """
            SELECT signature, began FROM runs
            JOIN (SELECT signature, min(run) AS first FROM findings WHERE run < ? GROUP BY signature)
            ON number = first
            """
        return dict(self._database.rows(query, before))

    def _insert(self, run: int, findings: Iterable[Finding]) -> None:
        for finding in findings:
            self._database.execute(
                """
                INSERT INTO findings VALUES (?, ?, ?, ?, (SELECT count(*) FROM findings WHERE run = ?), ?)
                ON CONFLICT DO UPDATE
                SET id = excluded.id, target = excluded.target, document = excluded.document
                """,
                *(run, signature_of(finding), finding.id, finding.target, run, _text(to_document(finding))),
            )

    def _finding(self, id: str, document: str) -> Finding:
        source = f"{self.path}, {id}"
        return from_document(loads(document, source), Finding, source)

    # Work

    def work(self, run: int, key: str) -> bytes | None:
        """The result of a piece of work that the run has done, or None."""
        rows = self._database.rows("SELECT result FROM work WHERE run = ? AND key = ?", run, key)
        return rows[0][0] if rows else None

    def finished_work(self, run: int) -> Iterator[tuple[str, bytes]]:
        """All pieces of work of the run, with their keys."""
        yield from self._database.rows("SELECT key, result FROM work WHERE run = ? ORDER BY key", run)

    def keep(self, run: int, key: str, result: bytes) -> None:
        """Records the result of a piece of work."""
        with self._database.transaction():
            self._database.execute("INSERT OR IGNORE INTO work VALUES (?, ?, ?)", run, key, result)


def cut_short(started: SweepStarted, progress: Progress | None, findings: Sequence[Finding]) -> SweepFinished:
    """The end of a sweep that was killed before it had one."""
    progress = progress or Progress(0.0, 0, 0, "")
    return SweepFinished(
        seed=started.seed,
        seconds=progress.seconds,
        programs=progress.programs,
        checks=progress.checks,
        summaries=progress.summaries,
        findings=tuple(findings),
        complete=False,
        interrupted=True,
        rerun=started.rerun,
    )


def _text(document: Any) -> str:
    return json.dumps(document, allow_nan=False)
