"""Writes a sweep into the store while it runs, and is its memo.

The recorder gets every event before any report, so whatever is printed is already on disk.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping

from gradfuzz.errors import UsageError
from gradfuzz.fuzzer.results.codec import Json
from gradfuzz.fuzzer.results.events import Event, FindingFound, Progress, SweepFinished, SweepStarted
from gradfuzz.fuzzer.results.functions import FunctionSummary
from gradfuzz.fuzzer.store.runs import Run, Store
from gradfuzz.fuzzer.sweep.config import SweepConfig, differences, settings_of
from gradfuzz.fuzzer.sweep.memo import Result, Work, key, pack, unpack

_PAUSE = 2.0
"""Seconds between two records of a sweep's progress."""


class Recorder:
    """The recorder of one sweep.

    With `resume` it continues the last unfinished run with the same settings; `UsageError` without one.
    """

    def __init__(self, store: Store, config: SweepConfig, *, resume: bool = False) -> None:
        self.store = store
        self._config = config
        self._resume = resume
        self._run: int | None = None
        self._said = float("-inf")
        self._known: set[str] = set()
        self.unfinished: int | None = None
        """The last run with the same settings, where it did not end and is not resumed."""

    @property
    def run(self) -> int:
        assert self._run is not None, "the sweep has started"
        return self._run

    def handle(self, event: Event) -> None:
        """Writes the event into the store."""
        if isinstance(event, SweepStarted):
            settings = settings_of(self._config, event.targets)
            if self._resume:
                self._run = self._last_unfinished(settings).number
            else:
                runs = reversed(self.store.runs())
                last = next((run for run in runs if not differences(run.settings, settings)), None)
                ended = last is None or last.complete or self.store.is_written(last.number)
                self.unfinished = None if last is None or ended else last.number
                self._run = self.store.begin(event, settings)
            self.store.write(self._run)
        elif isinstance(event, FindingFound):
            self.store.found(self.run, event.finding)
        elif isinstance(event, Progress):
            if time.monotonic() >= self._said + _PAUSE:
                self._said = time.monotonic()
                self.store.progress(self.run, event)
        elif isinstance(event, SweepFinished):
            self.store.finish(self.run, event)

    # Memo

    def recall(self, work: Work) -> Result | None:
        """The result of the work, if an earlier part of the sweep did it."""
        if not self._resume or self._run is None:
            return None
        name = key(work)
        data = self.store.work(self.run, name)
        if data is not None:
            self._known.add(name)
        return None if data is None else unpack(work, data)

    def keep(self, work: Work, result: Result) -> None:
        """Records a result for a resumed sweep."""
        name = key(work)
        if name not in self._known:
            self.store.keep(self.run, name, pack(result))

    def functions(self, target: str, version: str) -> Iterator[tuple[FunctionSummary, ...]]:
        """What each earlier sweep of the functions of this release asked, the latest first."""
        return self.store.functions(target, version, self.run)

    # Which run

    def _last_unfinished(self, settings: Mapping[str, Json]) -> Run:
        """The last unfinished run with the same settings."""
        runs = [run for run in reversed(self.store.runs()) if not run.complete]
        if not runs:
            why = f"{self.store.path} has no unfinished sweep"
            raise UsageError(f"there is nothing to resume: {why}; leave out --resume")
        same = [run for run in runs if not differences(run.settings, settings)]
        if same:
            return next((run for run in same if not self.store.is_written(run.number)), same[0])
        last = runs[0]
        words, command = "; ".join(differences(last.settings, settings)), last.settings["rerun"]
        raise UsageError(
            f"there is nothing to resume: the last unfinished sweep, run {last.number}, differs:"
            f" {words}. Its command was: {command}. Give that with --resume, or leave out --resume"
        )
