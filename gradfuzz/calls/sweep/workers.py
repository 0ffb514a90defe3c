"""Worker processes that call functions of libraries: a call may end its process, or never end.

A worker writes every call into its box, a piece of memory that the sweep can read, before it makes the call.
When the process dies or hangs, the box says at which call. A worker works in an empty folder, without a
network.
"""

from __future__ import annotations

import contextlib
import mmap
import multiprocessing
import os
import pickle
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from gradfuzz.calls.findings.prove import deadly
from gradfuzz.calls.libraries.library import library_named
from gradfuzz.calls.sweep.turn import Result, Turn, run
from gradfuzz.fuzzer.results.call import Call
from gradfuzz.fuzzer.results.finding import Finding
from gradfuzz.fuzzer.sweep.workers import begin, single_threaded

_BOX = 1 << 20
"""The most bytes of a noted call."""

_HEAD = 24
"""The bytes of a box before the call: its length, and when it was noted."""

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
    result: Result


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
        worker = self._free.pop() if self._free else self._started()
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

    def _started(self) -> _Worker:
        self._count += 1
        folder = Path(self._folder.name, str(self._count))
        folder.mkdir()
        return _Worker(self._context, folder)

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


class _Worker:
    """One process and its box."""

    def __init__(self, context: Any, folder: Path) -> None:
        self.draft: Finding | None = None
        self._box = folder / "box"
        self._box.write_bytes(bytes(_BOX))
        work = folder / "empty"
        work.mkdir()
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs, str(self._box), str(work)), daemon=True)
        with single_threaded(), _quickly_compiled(folder.parent / "xla"):
            self.process.start()
        theirs.close()

    def noted(self) -> Call | None:
        """The last call that was noted."""
        data = self._box.read_bytes()
        length = int.from_bytes(data[:8], "little")
        if not length:
            return None
        call: Call = pickle.loads(data[_HEAD : _HEAD + length])  # noqa: S301 - written by our own process
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


# In the worker ----------------------------------------------------------------------------------------------


def _work(pipe: Connection, box: str, folder: str) -> None:
    """Works off turns until the pipe is closed."""
    began = multiprocessing.get_context("spawn").RawValue("b", 0)
    begin(began)
    os.chdir(folder)
    sys.addaudithook(_without_network)
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)  # libraries write there as they like
    os.dup2(nothing, 2)
    with Path(box).open("r+b") as file, mmap.mmap(file.fileno(), _BOX) as memory:
        note, begun = _Note(memory), set[str]()
        while True:
            try:
                turn = pipe.recv()
            except EOFError:
                return
            if turn.library not in begun:
                begun.add(turn.library)
                library_named(turn.library).begin()
            if turn.only is not None:
                pipe.send(deadly(turn.only))
            try:
                result = run(turn, note)
            except Exception as error:  # noqa: BLE001 - told with the function, and the sweep goes on
                result = Result(words=f"an error of gradfuzz: {type(error).__name__}: {error}")
            note.nothing()
            pipe.send(result)


class _Note:
    """Writes calls into a box."""

    def __init__(self, memory: mmap.mmap) -> None:
        self._memory = memory

    def __call__(self, call: Call) -> None:
        data = pickle.dumps(call)
        if len(data) > _BOX - _HEAD:
            data = b""
        self._memory[:8] = len(data).to_bytes(8, "little")
        self._memory[8:_HEAD] = time.monotonic_ns().to_bytes(16, "little")
        self._memory[_HEAD : _HEAD + len(data)] = data

    def nothing(self) -> None:
        self._memory[:_HEAD] = bytes(_HEAD)


_NETWORK = ("socket.connect", "socket.bind", "socket.getaddrinfo", "os.system")


def _without_network(event: str, _arguments: object) -> None:
    """Python's own report of what a function is about to do."""
    if event in _NETWORK:
        raise PermissionError(f"a function that is called has no business with {event}")
