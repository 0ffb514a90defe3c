"""What scheduling costs: batches that take a set time, on 1 to 1,000 simulated workers of a Dask cluster.

    python -m benchmarks.scale [--workers N,...] [--seconds S] [--programs N]

Scheduler, workers and client are processes of this machine; many simulated workers share one, and a batch
is a pause. The client is the real one, with its store. Printed are the processor time of scheduler and client
for a batch, and the client's memory: at the end of each run, and of a sweep of many programs without a
cluster, whose batches are answered at once.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from gradfuzz.fuzzer.results.counts import Counts
from gradfuzz.fuzzer.results.events import Progress
from gradfuzz.fuzzer.results.finding import Verdict
from gradfuzz.fuzzer.store.runs import Store
from gradfuzz.fuzzer.sweep import SweepConfig, slot, sweep
from gradfuzz.fuzzer.sweep.batch import Batch, run
from gradfuzz.fuzzer.sweep.recorder import Recorder
from gradfuzz.fuzzer.sweep.work_item import WorkItem

_FASTEST = 100.0
"""Batches in a second that the simulated workers do together at most: more, and their one process is the
bottleneck.
"""

_QUIET = {
    "DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__INTERVAL": "1h",
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
    "DASK_DISTRIBUTED__WORKER__PROFILE__INTERVAL": "1h",
    "DASK_DISTRIBUTED__WORKER__PROFILE__CYCLE": "1h",
}
"""A real worker watches its own process. A thousand of these on one machine would do nothing else."""

_TOGETHER = 125
"""Simulated workers that share a process."""

_PAUSE = "GRADFUZZ_BENCHMARK_PAUSE"
"""The variable with the seconds of a batch. Variables of gradfuzz travel with the work."""


def simulated(item: WorkItem) -> Batch:
    """A batch of the usual size, after a pause."""
    time.sleep(float(os.environ.get(_PAUSE, "0")))
    counts = Counts(checks=640, drawn=item.count, programs=item.count, ops={"sin", "exp", "maximum"})
    counts.verdicts[Verdict.AGREE] = 640
    every = {name: replace(counts, verdicts=counts.verdicts.copy()) for name in item.oracles}
    tested = {"op": {f"op {k}": 3 for k in range(40)}, "order": {"1": 16, "2": 16, "3": 16}}
    text, coverage = "def f(x):\n    return x\n", {"nested loops": 3}
    return Batch(item.number, item.count, every, (), {}, text, coverage, tested)


# Processes --------------------------------------------------------------------------------------------------


async def _serve(address: str, number: int) -> None:
    from distributed import Worker

    from gradfuzz.fuzzer.workers import cluster

    # They share a process here.
    cluster._one = contextlib.nullcontext()  # type: ignore[assignment]  # noqa: SLF001
    workers = [Worker(address, nthreads=1, dashboard=False, memory_limit=0) for _ in range(number)]
    await asyncio.gather(*workers)
    await asyncio.Event().wait()


@contextlib.contextmanager
def _cluster(number: int, folder: Path) -> Iterator[tuple[str, int]]:
    """The address of a cluster of so many workers, and the number of the scheduler's process."""
    place = folder / "scheduler.json"
    place.unlink(missing_ok=True)
    environment = {**os.environ, **_QUIET}
    scheduler = [sys.executable, "-m", "dask", "scheduler", "--port", "0", "--no-dashboard"]
    with (folder / "log").open("ab") as log, contextlib.ExitStack() as stack:

        def start(command: list[str]) -> subprocess.Popen[bytes]:
            process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)  # noqa: S603
            stack.callback(process.wait)
            stack.callback(process.kill)
            return process

        first = start([*scheduler, "--scheduler-file", str(place)])
        while not place.exists():
            time.sleep(0.1)
        for part in range(0, number, _TOGETHER):
            count = min(_TOGETHER, number - part)
            start([sys.executable, "-m", "benchmarks.scale", "--serve", str(place), str(count)])
        yield str(place), first.pid


def _used(process: int) -> float:
    """Seconds of processor time of a process."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _memory() -> float:
    """Resident MiB of this process."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGESIZE") / 2**20


# Measurements -----------------------------------------------------------------------------------------------


def clustered(number: int, seconds: float, folder: Path) -> str:
    """A row: so many workers, for so many seconds."""
    pause = max(0.5, number / _FASTEST)
    os.environ[_PAUSE] = str(pause)
    with _cluster(number, folder) as (place, scheduler):
        _until(place, number)
        config = SweepConfig(("engine",), max_examples=10**9, cluster=place)
        with Store(folder / "store.sqlite", write=True) as store:
            recorder = Recorder(store, config)
            begun: tuple[float, float, float, int] | None = None
            events = sweep(config, recorder)
            for event in events:
                recorder.handle(event)
                if not isinstance(event, Progress) or not event.programs:
                    continue
                now = time.process_time(), _used(scheduler), time.monotonic(), event.programs
                begun = begun or now
                if now[2] - begun[2] >= seconds:
                    break
            assert begun is not None, "a batch came back"
            client, theirs, took, programs = (b - a for a, b in zip(begun, now, strict=True))
            batches = programs / 16
            events.close()  # type: ignore[attr-defined]  # it is a generator
    speed, busy = batches / took, batches * pause / (number * took)
    return (
        f"| {number:,} | {pause:g} | {speed:.1f} | {busy:.0%} | {1e3 * theirs / batches:.2f} |"
        f" {1e3 * client / batches:.2f} | {_memory():.0f} |"
    )


def _until(place: str, number: int) -> None:
    """Returns when all workers are there."""
    from distributed import Client

    with Client(scheduler_file=place, set_as_default=False) as client:
        client.wait_for_workers(number, timeout=600)


def alone(programs: int, folder: Path) -> Iterator[str]:
    """Rows: the client's time and memory in a sweep of so many programs, answered at once."""
    os.environ[_PAUSE] = "0"
    config = SweepConfig(("engine",), max_examples=programs, jobs=1)
    with Store(folder / "alone.sqlite", write=True) as store:
        recorder, shown, begun = Recorder(store, config), 1000, time.process_time()
        for event in sweep(config, recorder):
            recorder.handle(event)
            if isinstance(event, Progress) and event.programs >= shown:
                milliseconds = 1e3 * (time.process_time() - begun) / (event.programs / 16)
                yield f"| {event.programs:,} | {milliseconds:.2f} | {_memory():.0f} |"
                shown *= 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--workers", default="1,10,100,1000")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--programs", type=int, default=1_000_000)
    parser.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        import json

        address = json.loads(Path(options.serve[0]).read_text(encoding="utf-8"))["address"]
        asyncio.run(_serve(address, int(options.serve[1])))
        return
    slot.run = simulated
    assert run is not simulated
    with tempfile.TemporaryDirectory(prefix="gradfuzz-scale-") as name:
        folder = Path(name)
        print(
            "| workers | a batch, s | batches/s | busy | scheduler, ms a batch | client, ms a batch | MiB |"
        )
        print("|---|---|---|---|---|---|---|")
        for number in map(int, filter(None, options.workers.split(","))):
            print(clustered(number, options.seconds, folder), flush=True)
        print("\n| programs | client, ms a batch | MiB |\n|---|---|---|")
        for row in alone(options.programs, folder):
            print(row, flush=True)


if __name__ == "__main__":
    main()
