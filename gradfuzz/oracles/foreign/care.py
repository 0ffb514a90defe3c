"""The guardian of this process: started with the first worker, told of every process group that begins and
ends.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import subprocess
import sys
import threading

from gradfuzz.oracles.foreign import guardian as script

_lock = threading.Lock()
_guardians: dict[int, subprocess.Popen[bytes]] = {}
"""By the process that started it: what is forked from gradfuzz needs its own."""


def begun(group: int) -> None:
    """The process group `group` is ours: it has to end when this process does."""
    with _lock:
        _tell(f"+{group}\n")


def ended(group: int) -> None:
    """The group has ended; its number may be given to others."""
    with _lock:
        guardian = _guardians.get(os.getpid())
        if guardian is not None and guardian.poll() is None:
            _tell(f"-{group}\n")


def _tell(line: str) -> None:
    guardian = _guardians.get(os.getpid())
    if guardian is None or guardian.poll() is not None:
        guardian = _guardians[os.getpid()] = subprocess.Popen(  # noqa: S603 - our own script
            [sys.executable, "-I", "-S", script.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        atexit.register(_dismissed, os.getpid())
    assert guardian.stdin is not None, "it is a pipe"
    with contextlib.suppress(OSError):  # it was killed this moment; the next line starts another one
        guardian.stdin.write(line.encode())
        guardian.stdin.flush()


def _dismissed(owner: int) -> None:
    """At the end of the process: what is left is killed, and the guardian goes."""
    with _lock:
        guardian = _guardians.pop(owner, None) if os.getpid() == owner else None
        if guardian is not None and guardian.stdin is not None:
            guardian.stdin.close()
            guardian.wait()
