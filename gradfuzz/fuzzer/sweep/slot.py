"""A batch that was handed out. One that no worker survives is taken apart until what kills them is found."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from gradfuzz.errors import WorkerDiedError
from gradfuzz.fuzzer.results.own_fault import OwnFault
from gradfuzz.fuzzer.sweep.batch import Batch, joined, run, set_aside
from gradfuzz.fuzzer.sweep.work_item import WorkItem

Give = Callable[[Callable[[WorkItem], Batch], WorkItem], Future[Any]]
"""Hands out a function of a part of a batch."""


class Slot:
    """A batch, whole or in parts, and the promises of its results."""

    def __init__(self, item: WorkItem, give: Give) -> None:
        self.item = item
        self._give = give
        self._parts: list[tuple[WorkItem, Future[Batch | OwnFault]]] = [(item, give(run, item))]
        self._deaths: set[WorkItem] = set()

    def result(self) -> Batch | OwnFault | None:
        """The batch, or the fault of a part; None where something is not there yet."""
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
        batches: list[tuple[WorkItem, Batch]] = []
        for part, future in self._parts:
            batch = future.result()
            if isinstance(batch, OwnFault):
                return batch
            batches.append((part, batch))
        return joined(batches)

    @staticmethod
    def _is_dead(future: Future[Batch | OwnFault]) -> bool:
        return future.done() and isinstance(future.exception(), WorkerDiedError)
