"""A process that calls functions of a library: a call may end it, or never end.

A process writes every call into its box, a piece of memory that others can read, before it makes the call.
When it dies or hangs, the box says at which call. It works in an empty folder, without a network.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from gradfuzz.errors import TargetProcessError, WorkerDiedError
from gradfuzz.fuzzer.results.call import Call
from gradfuzz.fuzzer.results.finding import Finding
from gradfuzz.fuzzer.results.replayed import Replayed
from gradfuzz.fuzzer.turns import homes
from gradfuzz.fuzzer.turns.turn import Result, Turn
from gradfuzz.fuzzer.turns.worker import BOX, HEAD, READY
from gradfuzz.fuzzer.turns.xla import flags_of
from gradfuzz.fuzzer.workers.worker import ENVIRONMENT
from gradfuzz.oracles.foreign.worker import last_words

_LOOK = 1.0
"""Seconds between two looks into a box."""

_STARTING = 300.0
"""Seconds until a process that does not come up is given up."""

_LEAVING = 1.0
"""Seconds that a process and its output have to end after it went silent."""

_CHUNK, _LAST = 1 << 16, 1 << 14
"""The bytes of its output that are read at once, and those of the end that are kept."""

HANGS = 60.0
"""Seconds until a call is given up. It hangs where the library alone takes as long, when it is made again."""


@dataclass(frozen=True, slots=True)
class Died:
    """A process that ended, or was ended, in the middle of a turn."""

    call: Call | None
    """The last call that it noted."""
    words: str
    """What happened: "segmentation fault", "no answer within 60 s"."""
    draft: Finding | None = None
    """The finding of its only call, in the modes that were asked last."""
    stderr: str = ""
    """The end of what it wrote."""


class CallProcess:
    """A process in which calls are made, and the next one where it dies. It has one turn at a time."""

    def __init__(self, compiled: Path | None = None) -> None:
        """`compiled` is the folder of what JAX compiles, which processes may share (None: one of its own)."""
        self._folder = tempfile.TemporaryDirectory(prefix="gradfuzz-calls-", ignore_cleanup_errors=True)
        self._compiled = compiled or Path(self._folder.name, "compiled")
        self._worker: _Worker | None = None
        self._count = 0
        self._closed = False

    def run(self, turn: Turn) -> Result | Replayed | Died:
        """What came of a turn: of one about a finding, what became of it.

        Raises `TargetProcessError` where no process comes up.
        """
        if self._worker is not None and self._worker.home != turn.home:
            self._drop()
        if self._worker is None:
            self._worker = self._started(turn)
        worker, draft, sent = self._worker, None, False
        while True:
            try:
                if not sent:
                    worker.pipe.send(turn)
                    sent = True
                if worker.pipe.poll(_LOOK):
                    result = worker.pipe.recv()
                    if not isinstance(result, Finding):
                        return cast("Result | Replayed", result)
                    draft = result
                    continue
            except (EOFError, OSError):
                if self._closed:
                    raise WorkerDiedError("the sweep has ended") from None
                worker.process.wait()
                words = _ending(worker.process.returncode)
            else:
                if not worker.is_stuck():
                    continue
                words = f"no answer within {HANGS:g} s"
            self._drop()
            return Died(worker.noted(), words, draft, worker.stderr())

    def close(self) -> None:
        """Ends the process, from whatever thread."""
        self._closed = True
        if self._worker is not None:
            self._worker.process.kill()
            self._worker.process.wait()
        self._folder.cleanup()

    def _started(self, turn: Turn) -> _Worker:
        self._count += 1
        folder = Path(self._folder.name, str(self._count))
        folder.mkdir()
        return _Worker(folder, turn, self._compiled)

    def _drop(self) -> None:
        if self._worker is not None:
            self._worker.end()
            self._worker = None


def _environment(compiled: Path, turn: Turn) -> dict[str, str]:
    """The variables of a process for a turn.

    JAX compiles each operation anew for each shape, and that is most of its time. What is kept in a folder it
    compiles once: in `compiled`, or in that which the user has named to JAX, from sweep to sweep. Beside
    gradfuzz a process finds the modules that this one finds.
    """
    found = {_COMPILED: str(compiled), **ENVIRONMENT, **os.environ}
    if not turn.home:
        found["PYTHONPATH"] = os.pathsep.join(str(Path(entry).absolute()) for entry in sys.path)
    if turn.library == "jax":
        found["XLA_FLAGS"] = flags_of(homes.command(turn.library, turn.home)[0])
    return found


_COMPILED = "JAX_COMPILATION_CACHE_DIR"


def _ending(code: int | None) -> str:
    """How a process ended, in words."""
    if code is not None and code < 0:
        with contextlib.suppress(ValueError):
            return (signal.strsignal(-code) or signal.Signals(-code).name).lower()
    return f"the process ended with exit code {code}"


class _Tail(threading.Thread):
    """Reads a pipe to its end, so that nobody who writes there waits, and keeps the last bytes."""

    def __init__(self, pipe: IO[bytes]) -> None:
        super().__init__(daemon=True)
        self._pipe = pipe
        self._last = b""
        self.start()

    def run(self) -> None:
        with self._pipe:
            while chunk := os.read(self._pipe.fileno(), _CHUNK):
                self._last = (self._last + chunk)[-_LAST:]

    def text(self) -> str:
        """The end of what was written by a process that ended."""
        self.join(_LEAVING)  # a process that it started may have the pipe, too
        return self._last.decode(errors="replace")


class _Worker:
    """One process and its box."""

    def __init__(self, folder: Path, turn: Turn, compiled: Path) -> None:
        """A process for `turn` and those of the same home. `TargetProcessError` where none comes up."""
        self.home = turn.home
        self._box = folder / "box"
        self._box.write_bytes(bytes(BOX))
        work = folder / "empty"
        work.mkdir()
        self.pipe, theirs = multiprocessing.Pipe()
        number = theirs.fileno()
        command = homes.command(turn.library, turn.home)
        with theirs:
            try:
                self.process = subprocess.Popen(  # noqa: S603 - a module of gradfuzz, without a shell
                    [*command, str(number), str(self._box), str(work)],
                    cwd=work,
                    env=_environment(compiled, turn),
                    pass_fds=[number],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                )
            except OSError as error:
                raise TargetProcessError("start", f"no worker process comes up: {error}") from error
        assert self.process.stdout is not None, "it is a pipe"
        self._tail = _Tail(self.process.stdout)
        if not self._is_up():
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(_LEAVING)
            code = self.process.poll()
            words = f"within {_STARTING:g} s" if code is None else _ending(code)
            self.end()
            said = f"no worker process comes up: {words}{last_words(self.stderr())}"
            raise TargetProcessError("exit", said, self.stderr())

    def _is_up(self) -> bool:
        """Whether the process says that it is ready."""
        try:
            return bool(self.pipe.poll(_STARTING) and self.pipe.recv() == READY)
        except (EOFError, OSError):
            return False

    def stderr(self) -> str:
        """The end of what it wrote, after it ended."""
        return self._tail.text()

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
        self.process.kill()
        self.process.wait()
