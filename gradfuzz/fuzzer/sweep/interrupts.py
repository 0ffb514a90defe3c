"""Ctrl-C in a sweep."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

from gradfuzz.fuzzer.results.events import Event


class Interrupts:
    """Ctrl-C as a flag while the consumer of events runs, as an exception while the sweep itself works.

    A second Ctrl-C is always an exception.
    """

    def __init__(self) -> None:
        self.pending = False
        self.inside = False
        self._before: Any = None

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def next(self, stream: Iterator[Event]) -> Event | None:
        """The next event of the sweep, which works at it; None after the last."""
        self.inside = True
        try:
            if self.pending:
                raise KeyboardInterrupt
            return next(stream, None)
        finally:
            self.inside = False

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        if self.inside or self.pending:
            self.pending = True
            raise KeyboardInterrupt
        self.pending = True
