"""Adaptive polling of a pipe: busy at first where the other side was prompt.

Waking up costs a process some thirty microseconds and its warm caches, as long as a small answer takes. So
after a prompt answer the next wait polls for a moment before it sleeps; after a slow one it sleeps at once.
"""

from __future__ import annotations

import os
import select
import time

_MOMENT = 500e-6
"""Seconds: an answer within them is prompt."""

_ALONE = len(os.sched_getaffinity(0)) < 2 if hasattr(os, "sched_getaffinity") else os.cpu_count() == 1
"""On a single core the other side cannot work while this side polls."""


class Poller:
    """Waits with a `poll` object, one wait after the other."""

    def __init__(self, poll: select.poll) -> None:
        self._poll = poll
        self._prompt = not _ALONE

    def wait(self, seconds: float | None) -> list[tuple[int, int]]:
        """The events, as from `poll.poll`; empty where none come within `seconds` (None: no limit)."""
        look = self._poll.poll
        started = time.perf_counter()
        events = look(0)
        if self._prompt:
            while not events and time.perf_counter() - started < _MOMENT:
                events = look(0)
        if not events:
            events = look(None if seconds is None else seconds * 1000.0)
            self._prompt = not _ALONE and time.perf_counter() - started < _MOMENT
        return events
