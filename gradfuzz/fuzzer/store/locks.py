"""Locks that the system releases when their process dies: on a store that is opened, and on a run."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path
from typing import IO, Self

_LOOK = 0.05
"""Seconds between two attempts."""


class Lock:
    """A lock on a file of its own, which is gone when the lock is released."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[bytes] | None = None

    def take(self, seconds: float = 0.0) -> bool:
        """Whether the lock is ours, after so many seconds at most."""
        end = time.monotonic() + seconds
        while not self._taken():
            if time.monotonic() >= end:
                return False
            time.sleep(_LOOK)
        return True

    def release(self) -> None:
        """Lets go, if it was taken."""
        if self._file is not None:
            self._path.unlink(missing_ok=True)
            self._file.close()
            self._file = None

    def _taken(self) -> bool:
        file = self._path.open("ab")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            return False
        try:
            still = os.path.samestat(self._path.stat(), os.fstat(file.fileno()))
        except FileNotFoundError:
            still = False
        if not still:  # who had it took the file away
            file.close()
            return False
        self._file = file
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
