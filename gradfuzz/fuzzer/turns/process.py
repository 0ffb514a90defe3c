"""A process that calls functions of a library: a call may end it, or never end.

A process writes every call into its box, a piece of memory that others can read, before it makes the call.
When it dies or hangs, the box says at which call. It works in an empty folder, without a network.
"""

from __future__ import annotations

import contextlib
import math
import os
import pickle
import signal
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gradfuzz.errors import TargetProcessError, WorkerDiedError
from gradfuzz.fuzzer.results.call import Call
from gradfuzz.fuzzer.results.finding import Finding
from gradfuzz.fuzzer.results.replayed import Replayed
from gradfuzz.fuzzer.turns import homes
from gradfuzz.fuzzer.turns.turn import Result, Turn
from gradfuzz.fuzzer.turns.worker import BOX, HEAD, READY, packed, unpacked
from gradfuzz.fuzzer.turns.xla import flags_of
from gradfuzz.oracles.foreign.process import Process, ResourceLimits
from gradfuzz.oracles.foreign.worker import THREADS, last_words

_LOOK = 1.0
"""Seconds between two looks into a box."""

_MOMENT = 0.01
"""Seconds between two looks whether a process that was killed has ended."""

_STARTING = 300.0
"""Seconds until a process that does not come up is given up."""

_LIMITS = ResourceLimits(memory=sys.maxsize, line=sys.maxsize)
"""A call may take what memory there is, and its result is a line of any length."""

_WAITING = ("timeout", "half_line", "flood")
"""The kinds of faults of a process that has not said all in time."""

HANGS = 60.0
"""Seconds until a call is given up. It hangs where the library alone takes as long, when it is made again."""


class Late:
    """A turn that took longer than it may; what it found out is lost."""


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

    def run(self, turn: Turn, seconds: float = math.inf) -> Result | Replayed | Died | Late:
        """What came of a turn, which may take so many `seconds`: of one about a finding, what became of it.

        Raises `TargetProcessError` where no process comes up.
        """
        if self._worker is not None and self._worker.home != turn.home:
            self._drop()
        if self._worker is None:
            self._worker = self._started(turn)
        worker, draft, end = self._worker, None, time.monotonic() + seconds
        try:
            worker.process.send(packed(turn), _STARTING)
            while isinstance(found := worker.said(end), Finding):
                draft = found
            if isinstance(found, Late) and not self._closed:
                self._drop()
            result: Result | Replayed | Late = found
            return result
        except TargetProcessError as error:
            hangs = error.kind in _WAITING
            words = f"no answer within {HANGS:g} s" if hangs else _ending(worker.process.code)
            stderr = error.stderr
        self._drop()
        if self._closed:
            raise WorkerDiedError("the sweep has ended")
        return Died(worker.noted(), words, draft, stderr)

    def close(self) -> None:
        """Ends the process, from whatever thread."""
        self._closed = True
        worker = self._worker
        if worker is not None:
            worker.process.kill()
            while worker.process.alive:
                time.sleep(_MOMENT)
        self._folder.cleanup()

    def _started(self, turn: Turn) -> _Worker:
        self._count += 1
        folder = Path(self._folder.name, str(self._count))
        folder.mkdir()
        return _Worker(folder, turn, self._compiled)

    def _drop(self) -> None:
        if self._worker is not None:
            self._worker.process.close()
            self._worker = None


def _environment(compiled: Path, turn: Turn) -> dict[str, str]:
    """The variables of a process for a turn.

    JAX compiles each operation anew for each shape, and that is most of its time. What is kept in a folder it
    compiles once: in `compiled`, or in that which the user has named to JAX, from sweep to sweep. Beside
    gradfuzz a process finds the modules that this one finds.
    """
    found = {_COMPILED: str(compiled), **THREADS, **os.environ}
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


class _Worker:
    """One process and its box."""

    def __init__(self, folder: Path, turn: Turn, compiled: Path) -> None:
        """A process for `turn` and those of the same home. `TargetProcessError` where none comes up."""
        self.home = turn.home
        self._box = folder / "box"
        self._box.write_bytes(bytes(BOX))
        work = folder / "empty"
        work.mkdir()
        command = [*homes.command(turn.library, turn.home), str(self._box), str(work)]
        self.process = Process(command, _LIMITS, _environment(compiled, turn), work)
        try:
            while self.process.receive(time.monotonic() + _STARTING, _STARTING) != READY:
                pass  # what is printed before the worker begins
        except TargetProcessError as error:
            self.process.close()
            late = error.kind in _WAITING
            words = f"within {_STARTING:g} s" if late else _ending(self.process.code)
            told = f"no worker process comes up: {words}{last_words(error.stderr)}"
            raise TargetProcessError("exit", told, error.stderr) from error

    def said(self, end: float) -> Any:
        """What the process says next, `Late` at the time `end`. `TargetProcessError` where the process ends,
        or hangs at a call.
        """
        while True:
            try:
                return unpacked(self.process.receive(time.monotonic() + _LOOK, _LOOK))
            except TargetProcessError as error:
                if error.kind not in _WAITING or self._is_stuck():
                    raise
                if time.monotonic() > end:
                    return Late()

    def noted(self) -> Call | None:
        """The last call that was noted."""
        data = self._box.read_bytes()
        length = int.from_bytes(data[:8], "little")
        if not length:
            return None
        call: Call = pickle.loads(data[HEAD : HEAD + length])  # noqa: S301 - written by our own process
        return call

    def _is_stuck(self) -> bool:
        """Whether its last call was long ago."""
        with self._box.open("rb") as box:
            box.seek(8)
            noted = int.from_bytes(box.read(16), "little")
        return bool(noted) and time.monotonic_ns() - noted > HANGS * 1e9
