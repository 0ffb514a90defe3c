"""The watchdog of this process: started with the first worker, told of every process group that begins and
ends.
"""

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
"""By the process that started it: what is forked from gradfuzz needs its own."""


def begun(group: int) -> None:
    """The process group `group` is ours: it has to end when this process does."""
    with _lock:
        _tell(f"+{group}\n")


def ended(group: int) -> None:
    """The group has ended; its number may be given to others."""
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
    with contextlib.suppress(OSError):  # it was killed this moment; the next line starts another one
        watchdog.stdin.write(line.encode())
        watchdog.stdin.flush()


def _dismissed(owner: int) -> None:
    """At the end of the process: what is left is killed, and the watchdog goes."""
    with _lock:
        watchdog = _watchdogs.pop(owner, None) if os.getpid() == owner else None
        if watchdog is not None and watchdog.stdin is not None:
            watchdog.stdin.close()
            watchdog.wait()
