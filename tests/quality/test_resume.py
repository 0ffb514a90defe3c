"""A sweep that is killed at any moment loses nothing that it said, and resumed it ends as if nobody had
killed it.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gradfuzz.fuzzer.results.events import Event, FindingFound, SweepFinished
from gradfuzz.fuzzer.results.review import Review
from gradfuzz.fuzzer.store.runs import Store
from gradfuzz.fuzzer.sweep import SweepConfig, slot, sweep
from gradfuzz.fuzzer.sweep import programs as sweeping
from gradfuzz.fuzzer.sweep.recorder import Recorder
from gradfuzz.reports.machine.json import sweep_document

ROOT = Path(__file__).parents[2]
MUTANT = "mutant:nx-1747"
CONFIG = SweepConfig((MUTANT,), max_examples=6, orders=(1,), precisions=("float64",), checks=("vjp",))
STORE = Path(".gradfuzz") / "store.sqlite"


def untimed(document: dict[str, Any]) -> dict[str, Any]:
    """Without what the clock says, and what earlier sweeps had to do with it."""
    timeless = {**document, "seconds": 0, "environment": {**document["environment"], "started": ""}}
    return json.loads(json.dumps(timeless))


# Here -------------------------------------------------------------------------------------------------------


def part(path: Path, stop: int | None = None, *, resume: bool) -> list[Event]:
    """A sweep that writes into the store, left alone after so many events."""
    events: list[Event] = []
    with Store(path, write=True) as store:
        recorder = Recorder(store, CONFIG, resume=resume)
        stream = sweep(CONFIG, recorder)
        for event in stream:
            recorder.handle(event)
            events.append(event)
            if len(events) == stop:
                break
        if isinstance(events[-1], SweepFinished):
            store.review(recorder.run, Review(), complete=True)
        stream.close()  # type: ignore[attr-defined]  # it is a generator
    return events


def document(events: list[Event]) -> dict[str, Any]:
    assert isinstance(events[-1], SweepFinished)
    return untimed(sweep_document(events[-1]))


def test_a_sweep_that_was_left_again_and_again_ends_as_one_that_was_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[object] = []

    def counting(work: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *given: done.append(given) or work(*given)  # type: ignore[func-returns-value]

    for module, name in ((slot, "run"), (sweeping, "prove")):
        monkeypatch.setattr(module, name, counting(getattr(module, name)))
    whole = list(sweep(CONFIG))
    needed = len(done)
    assert any(isinstance(event, FindingFound) for event in whole)
    path = tmp_path / "store.sqlite"
    stops = (2, 4, 5, 6)
    for number, stop in enumerate(stops):
        events = part(path, stop, resume=number > 0)
        with Store(path) as store:
            assert {e.finding.id for e in events if isinstance(e, FindingFound)} <= {
                f.id for f in store.findings(1)
            }
    assert document(part(path, resume=True)) == document(whole)
    assert len(done) - needed <= needed + len(stops), (
        "what was done is not done again, but for what was under way"
    )
    with Store(path) as store:
        assert document([store.finished(1)[0]]) == document(whole), "the record says the same"
        assert [run.complete for run in store.runs()] == [True]


# With a signal ----------------------------------------------------------------------------------------------

FLAGS = [
    *("--max-examples", "6", "--orders", "1", "--dtypes", "float64", "--checks", "vjp"),
    *("--jobs", "2", "--format", "json"),
]


def start(folder: Path, *more: str) -> subprocess.Popen[bytes]:
    with (folder / "out").open("wb") as out, (folder / "err").open("wb") as err:
        return subprocess.Popen(
            [sys.executable, "-m", "gradfuzz", "sweep", MUTANT, *FLAGS, *more],
            stdout=out,
            stderr=err,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "1000"},
        )


def finish(folder: Path, *more: str) -> dict[str, Any]:
    with start(folder, *more) as process:
        assert process.wait() == 1, (folder / "err").read_text()
    return untimed(json.loads((folder / "out").read_text()))


def unfinished(folder: Path) -> bool:
    """Opens the store, if there is one; whether there is something to resume. All that was said is in it."""
    said = set(re.findall(r"\bGF-[0-9a-f]{4,}", (folder / "err").read_text()))
    if not (folder / STORE).exists():
        assert not said
        return False
    with Store(folder / STORE) as store:
        runs = store.runs()
        there = {finding.id for run in runs for finding in store.findings(run.number)}
        assert said <= there, f"{said - there} was said, and is lost"
        assert store._database.rows("PRAGMA integrity_check") == [("ok",)]
        return any(not run.complete for run in runs)


def kills(tmp_path: Path, number: int, rng: random.Random, *more: str) -> None:
    """So many sweeps, of `more` targets, too, killed at random moments and resumed; each that comes to its
    end ends as one that nobody killed.

    One that is killed when it has been told, in its last milliseconds, has nothing to resume: the next one is
    in a folder of its own.
    """
    (tmp_path / "whole").mkdir()
    begun = time.monotonic()
    whole = finish(tmp_path / "whole", *more)
    seconds = time.monotonic() - begun
    assert whole["findings"]
    killed = ended = 0
    folder = tmp_path / "0"
    folder.mkdir()
    resume: list[str] = []
    while killed < number:
        begun = time.monotonic()
        process = start(folder, *more, *resume)
        try:
            process.wait(rng.uniform(0.0, seconds))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            killed += 1
            print(f"kill {killed}", flush=True)
            resume = ["--resume"] if unfinished(folder) else []
            if not resume and (folder / "out").stat().st_size:
                assert untimed(json.loads((folder / "out").read_text())) == whole
                ended += 1
                folder = tmp_path / str(ended)
                folder.mkdir()
        else:
            assert process.returncode == 1, (folder / "err").read_text()
            seconds = min(seconds, time.monotonic() - begun)
            assert untimed(json.loads((folder / "out").read_text())) == whole
            ended += 1
            folder = tmp_path / str(ended)
            folder.mkdir()
            resume = []
    assert finish(folder, *more, *resume) == whole
    assert not unfinished(folder)
    print(
        f"\n{killed} kills, {ended + 1} sweeps that came to their end, all equal to the one that was not"
        " killed"
    )


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="SIGKILL")
def test_three_kills(tmp_path: Path, seed: int) -> None:
    kills(tmp_path, 3, random.Random(seed))


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="SIGKILL")
def test_fifty_kills(tmp_path: Path, seed: int) -> None:
    kills(tmp_path, 50, random.Random(seed + 1), "mutant:swift-78264")


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc")
def test_workers_end_with_a_sweep_that_was_killed(tmp_path: Path) -> None:
    process = start(tmp_path)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    workers: list[str] = []
    while process.poll() is None and len(workers) < 3:  # two workers, and what cleans up after them
        workers = children.read_text().split()
        time.sleep(0.05)
    time.sleep(1.0)
    process.kill()
    process.wait()
    assert len(workers) == 3
    until = time.monotonic() + 60
    while time.monotonic() < until and any(alive(worker) for worker in workers):
        time.sleep(0.1)
    assert not [worker for worker in workers if alive(worker)]


def alive(process: str) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False
