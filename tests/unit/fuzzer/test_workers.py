"""Workers that die, batches in parts, machines that do not agree."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from gradfuzz.errors import UsageError, WorkerDiedError
from gradfuzz.fuzzer.results.codec import encode
from gradfuzz.fuzzer.results.finding import Class
from gradfuzz.fuzzer.sweep import SweepConfig, sweep
from gradfuzz.fuzzer.sweep.batch import Batch, joined, run
from gradfuzz.fuzzer.sweep.slot import Slot
from gradfuzz.fuzzer.sweep.work_item import WorkItem
from gradfuzz.fuzzer.workers import census
from gradfuzz.fuzzer.workers.local import Here, Pool

ORACLES = ("engine", "mutant:dropped-tangent")
ITEM = WorkItem(1, 4, 4, "loops", 3, ORACLES, orders=(1,))


# Processes --------------------------------------------------------------------------------------------------


def dies(_number: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def dies_at_first(folder: str) -> str:
    """Kills its process twice, then answers."""
    deaths = len(list(Path(folder).iterdir()))
    if deaths < 2:
        Path(folder, str(deaths)).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "answered"


def doubled(number: int) -> int:
    time.sleep(0.05)
    return 2 * number


@pytest.mark.slow
def test_only_the_work_that_kills_is_given_up() -> None:
    pool = Pool(2)
    try:
        deadly = pool.submit(dies, 0)
        others = [pool.submit(doubled, number) for number in range(6)]
        assert [one.result() for one in others] == [0, 2, 4, 6, 8, 10]
        with pytest.raises(WorkerDiedError, match="3 worker processes died of it"):
            deadly.result()
        assert pool.load().lost >= 1
    finally:
        pool.close()


def test_work_is_done_again_where_a_process_died(tmp_path: Path) -> None:
    pool = Pool(1)
    try:
        assert pool.submit(dies_at_first, str(tmp_path)).result() == "answered"
        assert pool.load().lost == 2
    finally:
        pool.close()


# Parts of a batch -------------------------------------------------------------------------------------------


def leaves(item: WorkItem) -> list[WorkItem]:
    """The smallest parts: an oracle and a program each."""
    parts = item.parts()
    return [leaf for part in parts for leaf in leaves(part)] if parts else [item]


@pytest.mark.slow
def test_parts_add_up_to_the_batch() -> None:
    parts = leaves(ITEM)
    assert [(part.asks, part.only) for part in parts[:2]] == [("engine", (4, 5)), ("engine", (5, 6))]
    assert len(parts) == len(ORACLES) * ITEM.count
    assert encode(Batch, joined([(part, run(part)) for part in parts])) == encode(Batch, run(ITEM))


def test_a_program_that_kills_every_worker_is_set_aside() -> None:
    """It is a crash of the oracle that was asked, and everything else of the batch is as it was."""
    deadly = (ORACLES[0], 6)

    def give(do: Callable[[WorkItem], Batch], item: WorkItem) -> Future[Any]:
        begin, end = item.only or (item.first, item.first + item.count)
        kills = do is run and item.asks in ("", deadly[0]) and begin <= deadly[1] < end
        future: Future[Any] = Future()
        if kills:
            future.set_exception(WorkerDiedError("3 workers died of it"))
        else:
            future.set_result(do(item))
        return future

    batch, whole = Slot(ITEM, give).result(), run(ITEM)
    assert batch is not None
    (crash,) = [raw for raw in batch.raws if raw.deadly]
    assert (crash.case.oracle, crash.index, crash.case.kind) == (*deadly, Class.ERROR)
    assert "every worker that asked this died" in crash.case.message
    own, other = (batch.counts[name] for name in ORACLES)
    assert encode(type(other), other) == encode(type(other), whole.counts[ORACLES[1]])
    assert own.drawn == whole.counts[ORACLES[0]].drawn
    assert own.checks < whole.counts[ORACLES[0]].checks
    assert [encode(type(r), r) for r in batch.raws if not r.deadly] == [
        encode(type(r), r) for r in whole.raws if (r.case.oracle, r.index) != deadly
    ]


def test_what_cannot_be_set_aside_is_an_error() -> None:
    def give(do: Callable[[WorkItem], Batch], item: WorkItem) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_exception(WorkerDiedError("3 workers died of it"))
        return future

    with pytest.raises(WorkerDiedError):
        Slot(ITEM, give).result()


def test_a_deadly_program_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    submit = Here.submit

    def deadly(self: Here, f: Any, *args: Any, **more: Any) -> Future[Any]:
        """The engine's first program kills whoever asks about it."""
        _, do, item, *_ = *args, None, None
        if do is run and item.number == 0 and item.asks in ("", "engine") and item.is_about(0):
            future: Future[Any] = Future()
            future.set_exception(WorkerDiedError("3 workers died of it"))
            return future
        return submit(self, f, *args, **more)

    monkeypatch.setattr(Here, "submit", deadly)
    *_, finished = sweep(SweepConfig(("engine", "mutant:nx-1747"), max_examples=8, orders=(1,), jobs=1))
    assert finished.complete
    (finding,) = [one for one in finished.findings if one.target == "engine"]
    assert finding.kind is Class.ERROR
    assert "every worker that asked this died" in finding.note
    assert "not asked again" in finding.note


# Machines ---------------------------------------------------------------------------------------------------

FACTS = census.facts(["torch"])


@pytest.mark.parametrize("name", ["gradfuzz", "mpmath", "OMP_NUM_THREADS", "torch"])
def test_machines_that_do_not_agree_are_named(name: str) -> None:
    """What is gradfuzz's own must be as it is here, the rest the same everywhere."""
    workers = {"tcp://10.0.0.1:1": FACTS, "tcp://10.0.0.2:2": {**FACTS, name: "other"}}
    census.check(FACTS, {"tcp://10.0.0.1:1": FACTS}, ["torch"], {"tcp://10.0.0.1:1": set()})
    with pytest.raises(UsageError, match=rf"worker tcp://10\.0\.0\.2:2: {re.escape(name)} is other"):
        census.check(FACTS, workers, ["torch"], {worker: set() for worker in workers})


def test_a_library_has_to_be_the_same_only_where_it_is_served() -> None:
    workers = {"a": FACTS, "b": {**FACTS, "torch": ""}}
    census.check(FACTS, workers, ["torch"], {"a": {"torch"}, "b": set()})
    with pytest.raises(UsageError, match=r"worker b: torch is not installed.*--resources 'torch=1'"):
        census.check(FACTS, workers, ["torch"], {"a": set(), "b": set()})


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("nowhere", "names no cluster; give local:4, tcp://HOST:PORT"),
        ("local:none", "names no cluster; local:4 has four workers"),
        ("missing.json", "there is no file 'missing.json'"),
    ],
)
def test_a_cluster_that_there_is_not(place: str, words: str) -> None:
    with pytest.raises(UsageError, match=re.escape(words)):
        next(sweep(SweepConfig(("engine",), cluster=place)))


def test_workers_are_of_one_kind() -> None:
    with pytest.raises(UsageError, match="workers of one kind"):
        next(sweep(SweepConfig(("engine",), cluster="local:2", jobs=2)))
