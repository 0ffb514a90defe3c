"""A real scheduler and two workers. Workers are killed, one is cut off, the scheduler is restarted, and the
client is killed and resumed: the run ends as one that nobody disturbed.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gradfuzz

pytest.importorskip("distributed")
pytestmark = pytest.mark.slow("minutes: workers are killed thirty times")

ROOT = Path(gradfuzz.__file__).parents[1]
HERE, THERE, NAME = "10.77.41.1", "10.77.41.2", "gradfuzz-faults"
PORT = 18786
KILLS = 30
TARGETS = ("engine", "mutant:nx-1747", "mutant:dropped-tangent")
FLAGS = ("--max-examples", "1200", "--seed", "11", "--format", "json")


def ip(*words: str) -> bool:
    done = subprocess.run(["ip", *words], capture_output=True, check=False)
    return done.returncode == 0


@contextlib.contextmanager
def network() -> Iterator[None]:
    """A second network, joined to this one by a cable that can be cut."""
    if shutil.which("ip") is None or not ip("netns", "add", NAME):
        pytest.skip("no network of its own can be made here: that needs root and the command ip")
    try:
        ip("link", "add", "gf-here", "type", "veth", "peer", "name", "gf-there", "netns", NAME)
        ip("addr", "add", f"{HERE}/24", "dev", "gf-here")
        ip("link", "set", "gf-here", "up")
        ip("-n", NAME, "addr", "add", f"{THERE}/24", "dev", "gf-there")
        ip("-n", NAME, "link", "set", "gf-there", "up")
        ip("-n", NAME, "link", "set", "lo", "up")
        yield
    finally:
        ip("netns", "del", NAME)
        ip("link", "del", "gf-here")


class Kept:
    """A process that is started again whenever it ends."""

    def __init__(self, command: list[str], folder: Path) -> None:
        self._command = command
        self._folder = folder
        self._over = False
        self.process = self._started()
        self._thread = threading.Thread(target=self._keep, daemon=True)
        self._thread.start()

    def _started(self) -> subprocess.Popen[bytes]:
        ttl = {"DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "8 s"}
        environment = {**os.environ, "PYTHONPATH": str(ROOT), **ttl}
        with (self._folder / "dask.log").open("ab") as log:
            return subprocess.Popen(
                self._command,
                cwd=self._folder,
                env=environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _keep(self) -> None:
        while not self._over:
            self.process.wait()
            if not self._over:
                time.sleep(0.5)
                self.process = self._started()

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def end(self) -> None:
        self._over = True
        self.kill()
        self._thread.join(10)


def dask(*words: str) -> list[str]:
    return [sys.executable, "-m", "dask", *words]


def started(folder: Path, *more: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "gradfuzz", "sweep", *TARGETS, *FLAGS, "--store", "store.sqlite", *more]
    with (folder / "out.json").open("wb") as out, (folder / "err").open("ab") as err:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        return subprocess.Popen(command, cwd=folder, env=environment, stdout=out, stderr=err)


def result(folder: Path, process: subprocess.Popen[bytes], seconds: float = 600.0) -> dict[str, Any]:
    process.wait(seconds)
    document: dict[str, Any] = json.loads((folder / "out.json").read_text(encoding="utf-8"))
    document.pop("seconds")
    document["environment"].pop("started")
    return document


def test_a_run_ends_the_same_whatever_happens_to_its_machines(tmp_path: Path) -> None:
    quiet, loud = tmp_path / "quiet", tmp_path / "loud"
    quiet.mkdir()
    loud.mkdir()
    expected = result(quiet, started(quiet, "--jobs", "2"))
    assert expected["complete"]
    assert expected["findings"]
    dice = random.Random(0)
    place = f"tcp://{HERE}:{PORT}"
    with network(), contextlib.ExitStack() as stack:
        scheduler = Kept(dask("scheduler", "--host", HERE, "--port", str(PORT), "--no-dashboard"), loud)
        stack.callback(scheduler.end)
        options = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--death-timeout", "20")
        inside = ["ip", "netns", "exec", NAME, *dask("worker", place, "--host", THERE, *options)]
        workers = [Kept(dask("worker", place, "--host", HERE, *options), loud), Kept(inside, loud)]
        for worker in workers:
            stack.callback(worker.end)
        client = started(loud, "--cluster", place)
        stack.callback(client.kill)
        kills = 0
        for number in range(KILLS):
            time.sleep(dice.uniform(0.2, 4.0))
            if client.poll() is not None:
                break
            workers[dice.randrange(2)].kill()
            kills += 1
            if number == KILLS // 4:
                ip("link", "set", "gf-here", "down")
                time.sleep(15.0)
                ip("link", "set", "gf-here", "up")
            elif number == KILLS // 2:
                scheduler.kill()
            elif number == 3 * KILLS // 4:
                client.kill()
                client.wait()
                client = started(loud, "--cluster", place, "--resume")
                stack.callback(client.kill)
        print(f"{kills} kills")
        found = result(loud, client)
    assert kills == KILLS, "the sweep was too short"
    assert found == expected
