"""One untrusted child process that gets lines and answers with lines.

It runs in a session of its own, so that everything it starts can be killed with it. Each wait for a line has
a deadline. Meanwhile the memory of the process and of its children is watched, its stderr kept and the size
of its line limited. Faults are a `TargetProcessError` of one of these kinds:

    start       the command could not be started
    signal      killed by a signal that gradfuzz did not send
    exit        exited in the middle of a conversation
    timeout     no line in time
    half_line   the same, with a line begun
    memory      exceeded its memory limit
    flood       exceeded its output limit without an answer
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import shlex
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gradfuzz.errors import TargetProcessError
from gradfuzz.oracles.foreign import process_registry
from gradfuzz.oracles.foreign.memory import resident
from gradfuzz.oracles.foreign.polling import Poller
from gradfuzz.oracles.foreign.protocol import quoted


@dataclass(frozen=True, slots=True)
class ResourceLimits:
    """The limits of a target. Times in seconds, sizes in bytes."""

    start: float = 120.0
    """Until it says hello: libraries load slowly."""
    request: float = 60.0
    memory: int = 8 << 30
    """Resident memory of the process and its children together."""
    renewed: int = 3 << 30
    """A process with this much memory is replaced after its question: libraries keep what they compiled."""
    line: int = 64 << 20
    """The longest line, and the longest output that was not asked for."""
    stderr: int = 16 << 10
    """How much of the end of stderr is kept."""
    restarts: int = 2000
    """How often a process is started again: shrinking a crash causes hundreds of crashes."""
    silent_starts: int = 3
    """How often in a row it may end before it says hello."""


_CHUNK = _PIPE = 1 << 18
"""The size of a pipe where the system allows it: a long line needs fewer context switches."""
_LONG = 1 << 20
"""A line with this much received at the deadline does not count as half a line."""
_WATCH = 0.05
"""Seconds between two memory checks of a process that is waited for."""
_SELDOM = 1.0
"""Seconds between two memory checks of a process that answers at once."""
_QUIET = 0.1
"""After unrequested output, a process that is silent for this many seconds has finished it."""
_LEAVING = 1.0
"""Seconds that a process has to exit after its stdout has ended."""


class Process:
    """A running child. `close` ends it; so does the end of this object or of this process."""

    def __init__(
        self,
        command: Sequence[str],
        limits: ResourceLimits,
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
    ) -> None:
        """It runs in `folder` (None: in that of this process)."""
        self.limits = limits
        try:
            self._child = subprocess.Popen(  # noqa: S603 - the user's own command, without a shell
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=None if environment is None else dict(environment),
                cwd=folder,
                start_new_session=True,
            )
        except OSError as error:
            words = f"start: {shlex.join(command)} cannot be started: {error}"
            raise TargetProcessError("start", words) from error
        self.pid = self._child.pid
        process_registry.begun(self.pid)
        self._end = weakref.finalize(self, _end, self._child, os.getpid())
        pipes = self._child.stdin, self._child.stdout, self._child.stderr
        assert all(pipe is not None for pipe in pipes), "all three are pipes"
        self._stdin, self._stdout, self._stderr = (pipe.fileno() for pipe in pipes if pipe is not None)
        for fd in (self._stdin, self._stdout, self._stderr):
            os.set_blocking(fd, False)
            if hasattr(fcntl, "F_SETPIPE_SZ"):
                with contextlib.suppress(OSError):
                    fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, _PIPE)
        self._poll = select.poll()
        self._poll.register(self._stdout, select.POLLIN)
        self._poll.register(self._stderr, select.POLLIN)
        self._poller = Poller(self._poll)
        self._buffer = bytearray()
        self._errors = bytearray()
        self._looked = time.monotonic()
        self.used = 0
        """Bytes of memory at the last check."""

    # Lines

    def exchange(self, line: bytes, seconds: float) -> bytes:
        """Sends `line` and waits for one; returns it without its end of line."""
        deadline = time.monotonic() + seconds
        self._send(memoryview(line), deadline, seconds)
        return self.receive(deadline, seconds)

    def send(self, line: bytes, seconds: float) -> None:
        """Sends `line`."""
        self._send(memoryview(line), time.monotonic() + seconds, seconds)

    def receive(self, deadline: float, seconds: float) -> bytes:
        """The next line by `deadline`; `seconds` is the time limit for messages."""
        searched = 0
        while True:
            end = self._buffer.find(b"\n", searched)
            if end >= 0:
                line = bytes(self._buffer[:end])
                del self._buffer[: end + 1]
                return line
            searched = len(self._buffer)
            if searched > self.limits.line:
                raise self._fault("flood", f"flood: {searched:,} bytes without an end of line: {self._begun}")
            if not self._wait(deadline) or (time.monotonic() > deadline and b"\n" not in self._buffer):
                raise self._late(seconds)

    def stray(self) -> int:
        """Bytes of output that was not asked for, after waiting for the process to fall silent."""
        total, deadline = len(self._buffer), time.monotonic() + 2.0
        self._buffer.clear()
        with contextlib.suppress(TargetProcessError):
            while total <= self.limits.line and self._wait(min(deadline, time.monotonic() + _QUIET)):
                total += len(self._buffer)
                self._buffer.clear()
        return total

    @property
    def _begun(self) -> str:
        """The beginning of its output, quoted."""
        return quoted(bytes(self._buffer[:300]))

    @property
    def pending(self) -> bytes:
        """Output that was not asked for."""
        return bytes(self._buffer)

    @property
    def stderr(self) -> str:
        """The end of its stderr."""
        with contextlib.suppress(OSError):
            self._read_errors()
        return self._errors.decode("utf-8", "replace")

    def _send(self, rest: memoryview, deadline: float, seconds: float) -> None:
        """Sends a line, in parts if need be; reads output meanwhile, so that neither side blocks."""
        rest = rest[self._write(rest) :]
        if not rest:
            return
        self._poll.register(self._stdin, select.POLLOUT)
        try:
            while rest:
                if not self._wait(deadline):
                    raise self._late(seconds)
                if len(self._buffer) > self.limits.line:
                    raise self._fault("flood", f"flood: {len(self._buffer):,} bytes while it was being asked")
                rest = rest[self._write(rest) :]
        finally:
            self._poll.unregister(self._stdin)

    def _write(self, data: memoryview) -> int:
        try:
            return os.write(self._stdin, data)
        except BlockingIOError:
            return 0
        except OSError:
            raise self._gone() from None

    def _wait(self, deadline: float) -> bool:
        """Waits until the process wrote to stdout, takes input again, or the deadline has passed (False)."""
        while True:
            now = time.monotonic()
            if now - self._looked >= _SELDOM:
                self._look()
            events = self._poller.wait(max(0.0, min(_WATCH, deadline - now)))
            if not events:
                self._look()
                if not self.alive:  # something that it started still holds its pipes
                    raise self._gone()
                if time.monotonic() >= deadline:
                    return False
                continue
            ready = {fd for fd, _ in events}
            if self._stderr in ready:
                self._read_errors()
            if self._stdout in ready:
                self._read_output()
                return True
            if self._stdin in ready:
                return True
            if time.monotonic() >= deadline:  # output on stderr alone does not extend the wait
                return False

    def _read_output(self) -> None:
        with contextlib.suppress(BlockingIOError):
            data = os.read(self._stdout, _CHUNK)
            if not data:
                raise self._gone()
            self._buffer += data

    def _read_errors(self) -> None:
        with contextlib.suppress(BlockingIOError):
            data = os.read(self._stderr, _CHUNK)
            if not data:
                with contextlib.suppress(KeyError):
                    self._poll.unregister(self._stderr)
            self._errors += data
            del self._errors[: -self.limits.stderr]

    # Faults

    def _look(self) -> None:
        self._looked = time.monotonic()
        if self.limits.memory == sys.maxsize:  # there is no limit
            return
        self.used = resident(self.pid)
        if self.used > self.limits.memory:
            most = _size(self.limits.memory)
            raise self._fault("memory", f"out of memory: it took more than the {most} it may")

    def _late(self, seconds: float) -> TargetProcessError:
        size, within = len(self._buffer), f"within {seconds:g} seconds"
        if size > _LONG:
            return self._fault("flood", f"flood: {size:,} bytes, and no end of the line {within}")
        if self._buffer:
            return self._fault("half_line", f"half a line: {self._begun}, and no end of it {within}")
        return self._fault("timeout", f"timed out: no answer {within}")

    def _gone(self) -> TargetProcessError:
        """The fault of a process whose pipes have ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._child.wait(_LEAVING)
        code = self._child.returncode
        if code is None:
            return self._fault("exit", "exited: it closed its stdout, and ran on")
        _kill(self.pid)
        half = f", in the middle of the line {self._begun}" if self._buffer else ""
        if code < 0:
            return self._fault("signal", f"{_signal(-code)}: the process was killed by signal {-code}{half}")
        return self._fault("exit", f"exited: the process ended with code {code}{half}")

    def _fault(self, kind: str, message: str) -> TargetProcessError:
        return TargetProcessError(kind, message, self.stderr)

    # The end

    @property
    def code(self) -> int | None:
        """What it exited with, as Python's subprocesses say it; None before it is known."""
        return self._child.returncode

    @property
    def alive(self) -> bool:
        """Whether it runs. If it has ended, its group is killed, as the group's number may be reused."""
        before = self._child.returncode
        after = self._child.poll()
        if before is None and after is not None:
            _kill(self.pid)
        return after is None

    def kill(self) -> None:
        """Kills the process and its group without further bookkeeping."""
        if self.alive:
            _kill(self.pid)

    def close(self) -> None:
        """Kills the process and its group."""
        self._end()


def _end(child: subprocess.Popen[bytes], owner: int) -> None:
    """Kills the group first, while its leader, dead or alive, still holds its number."""
    if os.getpid() != owner:
        return
    if child.returncode is None:
        _kill(child.pid)
    for pipe in (child.stdin, child.stdout, child.stderr):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
    child.wait()
    process_registry.ended(child.pid)


def _kill(group: int) -> None:
    with contextlib.suppress(OSError):
        os.killpg(group, signal.SIGKILL)


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _size(count: int) -> str:
    return f"{count / (1 << 30):.3g} GiB" if count >= 1 << 30 else f"{count / (1 << 20):.3g} MiB"
