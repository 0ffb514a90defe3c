"""What workers are, and what is done in a worker before its first piece of work."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, ParamSpec, Protocol, TypeVar

from gradfuzz.oracles.foreign.worker import THREADS

P = ParamSpec("P")
T = TypeVar("T")

DEATHS = 3
"""Work after which so many workers were dead is to blame."""


@dataclass(frozen=True, slots=True)
class Load:
    """The workers at this moment."""

    workers: int
    lost: int = 0
    """Workers that died until now."""
    dashboard: str = ""
    """Where Dask shows what its workers do."""


class Workers(Protocol):
    """Something that does work, by and by."""

    @property
    def room(self) -> int:
        """How much work may be under way, so that no worker waits for the next piece."""
        ...

    @property
    def offered(self) -> frozenset[str]:
        """The systems that only some workers serve."""
        ...

    def submit(
        self, f: Callable[P, T], *args: Any, needs: Collection[str] = (), soon: bool = False
    ) -> Future[T]:
        """The promise of `f(*args)`. `f` is a function of a module: another process can find it.

        `needs` names the systems that are asked. What is wanted `soon` comes before other work that waits.
        """
        ...

    def load(self) -> Load:
        """The workers at this moment. A sweep asks often: work that got lost is handed out again here."""
        ...

    def close(self, *, at_once: bool = False) -> None:
        """No more work; with `at_once` what is under way is given up."""
        ...


def kept(result: T) -> Future[T]:
    """The promise of what is there already."""
    promise: Future[T] = Future()
    promise.set_result(result)
    return promise


@contextlib.contextmanager
def single_threaded() -> Iterator[None]:
    """The environment that workers get; what somebody has set stays."""
    added = {name: value for name, value in THREADS.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)
