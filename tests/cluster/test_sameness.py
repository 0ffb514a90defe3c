"""A sweep on a Dask cluster is that of one process, on workers that are alike and on others."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gradfuzz
from gradfuzz.errors import UsageError
from gradfuzz.fuzzer.results.events import SweepFinished
from gradfuzz.fuzzer.sweep import SweepConfig, sweep
from gradfuzz.reports.machine.json import sweep_document

pytest.importorskip("distributed")
pytestmark = pytest.mark.slow  # schedulers and workers are started: seconds each

ROOT = Path(gradfuzz.__file__).parents[1]
CONFIG = SweepConfig(("engine", "mutant:nx-1747", "mutant:dropped-tangent"), max_examples=48, seed=3)


def document(config: SweepConfig) -> dict[str, Any]:
    """All that is said of a sweep but when it was."""
    *_, finished = sweep(config)
    assert isinstance(finished, SweepFinished)
    assert finished.findings
    told = sweep_document(dataclasses.replace(finished, seconds=0.0))
    told["environment"].pop("started")
    return told


def changed(**more: Any) -> dict[str, Any]:
    return document(dataclasses.replace(CONFIG, **more))


def test_who_does_the_work_changes_nothing() -> None:
    alone = changed(jobs=1)
    assert changed(jobs=2) == alone
    assert changed(cluster="local:3") == alone


@contextlib.contextmanager
def cluster(folder: Path, *workers: tuple[str, dict[str, str]]) -> Iterator[str]:
    """The file of a scheduler whose workers have these resources and variables."""
    place = folder / "scheduler.json"
    with (folder / "log").open("ab") as log, contextlib.ExitStack() as stack:

        def start(*words: str, **more: str) -> None:
            environment = {**os.environ, "PYTHONPATH": str(ROOT), **more}
            process = subprocess.Popen(
                [sys.executable, "-m", "dask", *words], stdout=log, stderr=log, env=environment
            )
            stack.callback(process.wait)
            stack.callback(process.kill)

        start("scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", str(place))
        while not place.exists():
            time.sleep(0.1)
        for resources, variables in workers:
            options = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--scheduler-file", str(place))
            start("worker", *options, "--resources", resources, **variables)
        from distributed import Client

        with Client(scheduler_file=str(place), set_as_default=False) as client:
            client.wait_for_workers(len(workers), timeout=60)
        yield str(place)


def test_questions_go_where_their_target_is(tmp_path: Path) -> None:
    """A machine without a mutant is not asked about it: here it would end at the attempt."""
    two = ("mutant:nx-1747=1", {}), ("engine=1 mutant:dropped-tangent=1", {})
    with cluster(tmp_path, *two) as place:
        with pytest.raises(UsageError, match=r"only some workers serve .*; with --apart each system"):
            changed(cluster=place)
        assert changed(cluster=place, apart=True) == changed(jobs=1, apart=True)


def test_a_machine_that_differs_is_named(tmp_path: Path) -> None:
    two = ("a=1", {"OMP_NUM_THREADS": "1"}), ("a=1", {"OMP_NUM_THREADS": "7"})
    with cluster(tmp_path, *two) as place, pytest.raises(UsageError, match=r"worker tcp://.*OMP_NUM_THREADS"):
        changed(cluster=place)
