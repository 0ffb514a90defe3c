"""The guardian of this process: started with the first worker, told when a process group begins or ends."""

from __future__ import annotations

import atexit
import contextlib
import os
import subprocess
import sys
import threading

from gradfuzz.oracles.foreign import watchdog as script

_lock = threading.Lock()
_watchdogs: dict[int, subprocess.Popen[bytes]] = {}
"""By the process that started it: a process forked from gradfuzz needs its own."""


def begun(group: int) -> None:
    """Registers the process group `group`, which must end when this process does."""
    with _lock:
        _tell(f"+{group}\n")


def ended(group: int) -> None:
    """Unregisters an ended group, whose number the system may reuse."""
    with _lock:
        watchdog = _watchdogs.get(os.getpid())
        if watchdog is not None and watchdog.poll() is None:
            _tell(f"-{group}\n")


def _tell(line: str) -> None:
    watchdog = _watchdogs.get(os.getpid())
    if watchdog is None or watchdog.poll() is not None:
        watchdog = _watchdogs[os.getpid()] = subprocess.Popen(  # noqa: S603 - our own script
            [sys.executable, "-I", "-S", script.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        atexit.register(_dismissed, os.getpid())
    assert watchdog.stdin is not None, "it is a pipe"
    with contextlib.suppress(OSError):  # it was killed just now; the next line starts another one
        watchdog.stdin.write(line.encode())
        watchdog.stdin.flush()


def _dismissed(owner: int) -> None:
    """At the end of the process: the guardian kills the groups that are left, and ends."""
    with _lock:
        watchdog = _watchdogs.pop(owner, None) if os.getpid() == owner else None
        if watchdog is not None and watchdog.stdin is not None:
            watchdog.stdin.close()
            watchdog.wait()
