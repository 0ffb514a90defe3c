"""A batch that was handed out. One that no worker survives is taken apart until what kills them is found."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from gradfuzz.errors import WorkerDiedError
from gradfuzz.fuzzer.sweep.batch import Batch, joined, run, set_aside
from gradfuzz.fuzzer.sweep.work_item import WorkItem

Give = Callable[[Callable[[WorkItem], Batch], WorkItem], Future[Any]]
"""Hands out a function of a part of a batch."""


class Slot:
    """A batch, whole or in parts, and the promises of its results."""

    def __init__(self, item: WorkItem, give: Give) -> None:
        self.item = item
        self._give = give
        self._parts: list[tuple[WorkItem, Future[Batch]]] = [(item, give(run, item))]
        self._deaths: set[WorkItem] = set()

    def result(self) -> Batch | None:
        """The batch, or None where something is not there yet. Raises what a part raised."""
        while any(self._is_dead(future) for _, future in self._parts):
            parts = []
            for part, future in self._parts:
                if not self._is_dead(future):
                    parts.append((part, future))
                elif smaller := part.parts():
                    parts += [(one, self._give(run, one)) for one in smaller]
                elif part in self._deaths:
                    future.result()
                else:
                    self._deaths.add(part)
                    parts.append((part, self._give(set_aside, part)))
            self._parts = parts
        if not all(future.done() for _, future in self._parts):
            return None
        if len(self._parts) == 1:
            return self._parts[0][1].result()
        return joined([(part, future.result()) for part, future in self._parts])

    @staticmethod
    def _is_dead(future: Future[Batch]) -> bool:
        return future.done() and isinstance(future.exception(), WorkerDiedError)
