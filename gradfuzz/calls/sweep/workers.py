"""Worker processes that call functions of libraries: a call may end its process, or never end.

A worker writes every call into its box, a piece of memory that the sweep can read, before it makes the call.
When the process dies or hangs, the box says at which call. A worker works in an empty folder, without a
network.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from gradfuzz.calls.sweep import homes
from gradfuzz.calls.sweep.turn import Result, Turn
from gradfuzz.calls.sweep.worker import BOX, HEAD, READY, child
from gradfuzz.errors import TargetProcessError
from gradfuzz.fuzzer.results.call import Call
from gradfuzz.fuzzer.results.finding import Finding
from gradfuzz.fuzzer.sweep.replaying import Replayed
from gradfuzz.fuzzer.sweep.workers import single_threaded

_STARTING = 300.0
"""Seconds until a worker that does not come up in an environment is given up."""

HANGS = 60.0
"""Seconds until a call is given up. It hangs where the library alone takes as long, when it is made again."""


@dataclass(frozen=True, slots=True)
class Died:
    """A process that ended, or was ended, in the middle of a turn."""

    turn: Turn
    call: Call | None
    """The last call that it noted."""
    words: str
    """What happened: "segmentation fault", "no answer within 60 s"."""
    draft: Finding | None = None
    """The finding of its only call."""


@dataclass(frozen=True, slots=True)
class Done:
    turn: Turn
    result: Result | Replayed
    """What became of a finding, where the turn is about one."""


class Workers:
    """Worker processes; each has one turn at a time."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._context = multiprocessing.get_context("spawn")
        self._folder = tempfile.TemporaryDirectory(prefix="gradfuzz-calls-", ignore_cleanup_errors=True)
        self._free: list[_Worker] = []
        self._busy: dict[_Worker, Turn] = {}
        self._count = 0

    def has_room(self) -> bool:
        """Whether a worker is free."""
        return len(self._busy) < self.size

    @property
    def turns(self) -> Sequence[Turn]:
        """The turns under way."""
        return list(self._busy.values())

    def give(self, turn: Turn) -> None:
        """Hands out a turn."""
        worker = next((one for one in self._free if one.home == turn.home), None)
        if worker is not None:
            self._free.remove(worker)
        else:
            worker = self._started(turn)
        worker.pipe.send(turn)
        self._busy[worker] = turn

    def taken(self, seconds: float) -> list[Done | Died]:
        """What came within so many seconds: the first results, or nothing."""
        found: list[Done | Died] = []
        ready = wait([worker.pipe for worker in self._busy], timeout=seconds)
        for worker, turn in list(self._busy.items()):
            if worker.pipe in ready:
                found += self._received(worker, turn)
            elif worker.is_stuck():
                words = f"no answer within {HANGS:g} s"
                found.append(Died(turn, worker.noted(), words, worker.draft))
                self._drop(worker)
        return found

    def close(self) -> None:
        """Ends all processes."""
        for worker in [*self._free, *self._busy]:
            worker.end()
        self._free.clear()
        self._busy.clear()
        self._folder.cleanup()

    def _started(self, turn: Turn) -> _Worker:
        if len(self._free) + len(self._busy) >= self.size:  # one of another home makes room
            self._free.pop().end()
        self._count += 1
        folder = Path(self._folder.name, str(self._count))
        folder.mkdir()
        return _Worker(self._context, folder, turn)

    def _received(self, worker: _Worker, turn: Turn) -> list[Done | Died]:
        try:
            result = worker.pipe.recv()
        except (EOFError, OSError):
            worker.process.join()
            died = Died(turn, worker.noted(), _ending(worker.process.exitcode), worker.draft)
            self._drop(worker)
            return [died]
        if isinstance(result, Finding):
            worker.draft = result
            return []
        del self._busy[worker]
        worker.draft = None
        self._free.append(worker)
        return [Done(turn, result)]

    def _drop(self, worker: _Worker) -> None:
        del self._busy[worker]
        worker.end()


@contextlib.contextmanager
def _quickly_compiled(folder: Path) -> Iterator[None]:
    """JAX compiles each operation anew for each shape, and that is nearly all of its time. Without
    optimization it takes half of that, and what is kept in a folder it compiles once: in `folder`, or in that
    which the user has named to JAX, from sweep to sweep.
    """
    before = {name: os.environ.get(name) for name in ("XLA_FLAGS", _KEPT)}
    os.environ["XLA_FLAGS"] = f"{before['XLA_FLAGS'] or ''} {_QUICK}".strip()
    os.environ.setdefault(_KEPT, str(folder))
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})


_KEPT = "JAX_COMPILATION_CACHE_DIR"
_QUICK = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"


def _ending(code: int | None) -> str:
    """How a process ended, in words."""
    if code is not None and code < 0:
        with contextlib.suppress(ValueError):
            return (signal.strsignal(-code) or signal.Signals(-code).name).lower()
    return f"the process ended with exit code {code}"


class _Guest:
    """A process in the environment of a target, as `multiprocessing` has its own."""

    def __init__(self, turn: Turn, pipe: Connection, box: Path, work: Path) -> None:
        number = pipe.fileno()
        command = [*homes.command(turn.home), turn.library, str(number), str(box), str(work)]
        self._said = work.with_name("stderr")
        with self._said.open("wb") as said:
            self._process = subprocess.Popen(  # noqa: S603 - a module of gradfuzz, without a shell
                command, cwd=work, pass_fds=[number], stdin=subprocess.DEVNULL, stdout=said, stderr=said
            )

    @property
    def exitcode(self) -> int | None:
        return self._process.returncode

    def join(self) -> None:
        self._process.wait()

    def kill(self) -> None:
        self._process.kill()

    def words(self) -> str:
        """The last line that it wrote."""
        lines = self._said.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return lines[-1] if lines else "it said nothing"


class _Worker:
    """One process and its box."""

    def __init__(self, context: Any, folder: Path, turn: Turn) -> None:
        """A process for `turn` and those of the same home. `TargetProcessError` where none comes up."""
        self.home = turn.home
        self.draft: Finding | None = None
        self._box = folder / "box"
        self._box.write_bytes(bytes(BOX))
        work = folder / "empty"
        work.mkdir()
        self.pipe, theirs = context.Pipe()
        with theirs, single_threaded(), _quickly_compiled(folder.parent / "xla"):
            if not self.home:
                arguments = theirs, str(self._box), str(work)
                self.process = context.Process(target=child, args=arguments, daemon=True)
                self.process.start()
                return
            self.process = guest = _Guest(turn, theirs, self._box, work)
        if not self._is_up():
            self.end()
            told = f"no worker came up in the environment of {self.home}: {guest.words()}"
            raise TargetProcessError("exit", told)

    def _is_up(self) -> bool:
        """Whether the process in the environment says that it is ready."""
        try:
            return bool(self.pipe.poll(_STARTING) and self.pipe.recv() == READY)
        except (EOFError, OSError):
            return False

    def noted(self) -> Call | None:
        """The last call that was noted."""
        data = self._box.read_bytes()
        length = int.from_bytes(data[:8], "little")
        if not length:
            return None
        call: Call = pickle.loads(data[HEAD : HEAD + length])  # noqa: S301 - written by our own process
        return call

    def is_stuck(self) -> bool:
        """Whether its last call was long ago."""
        with self._box.open("rb") as box:
            box.seek(8)
            noted = int.from_bytes(box.read(16), "little")
        return bool(noted) and time.monotonic_ns() - noted > HANGS * 1e9

    def end(self) -> None:
        self.pipe.close()
        with contextlib.suppress(OSError, ValueError):
            self.process.kill()
            self.process.join()
