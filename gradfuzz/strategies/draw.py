"""A repeatable stream of draws: the k-th example of a seed is the same on every machine and in every run.

Hypothesis's own generator learns from what it has seen, and mixes in constants it finds in the modules that happen to be
loaded. A sweep must not depend on that, so the choices come from a backend of ours (Hypothesis's documented seam for this) that
knows nothing but the seed and the number of the example. Shrinking is Hypothesis's own and works on the same strategies.
"""

from __future__ import annotations

import contextlib
import math
import random
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from typing import TYPE_CHECKING, TypeVar

from hypothesis import HealthCheck, Phase, Verbosity, currently_in_test_context, given, settings
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument
from hypothesis.internal.conjecture.providers import AVAILABLE_PROVIDERS, PrimitiveProvider

if TYPE_CHECKING:
    from hypothesis.internal.conjecture.data import ConjectureData
    from hypothesis.internal.intervalsets import IntervalSet

__all__ = ["BACKEND", "SeededProvider", "draw_many"]

T = TypeVar("T")

BACKEND = "gradfuzz"
"""The name of the backend in Hypothesis's settings."""

_SEED: ContextVar[str] = ContextVar("gradfuzz_seed", default="0")
_UNBOUNDED = 1000
"""The range of a draw that a strategy leaves without a bound; the strategies of this package have none."""


class SeededProvider(PrimitiveProvider):
    """Uniform choices from `random.Random`, seeded afresh for each example with the seed and the example's number."""

    lifetime = "test_function"

    def __init__(self, conjecturedata: ConjectureData | None, /) -> None:
        super().__init__(conjecturedata)
        self._number = 0
        self._random = random.Random(0)  # noqa: S311 - repeatable on purpose

    def per_test_case_context_manager(self) -> contextlib.AbstractContextManager[None]:
        """Seeds the next example."""
        self._number += 1
        self._random = random.Random(f"{_SEED.get()}/{self._number}")  # noqa: S311 - see above
        return contextlib.nullcontext()

    def draw_boolean(self, p: float = 0.5) -> bool:
        return self._random.random() < p

    def draw_integer(
        self,
        min_value: int | None = None,
        max_value: int | None = None,
        *,
        weights: dict[int, float] | None = None,
        shrink_towards: int = 0,
    ) -> int:
        if min_value is None:
            min_value = -_UNBOUNDED if max_value is None else max_value - _UNBOUNDED
        if max_value is None:
            max_value = min_value + _UNBOUNDED
        return self._random.randint(min_value, max_value)

    def draw_float(
        self,
        *,
        min_value: float = -math.inf,
        max_value: float = math.inf,
        allow_nan: bool = True,
        smallest_nonzero_magnitude: float,
    ) -> float:
        low, high = max(min_value, -float(_UNBOUNDED)), min(max_value, float(_UNBOUNDED))
        value = low if low >= high else self._random.uniform(low, high)
        value = min(max(value, min_value), max_value)
        if abs(value) >= smallest_nonzero_magnitude or min_value > 0 or max_value < 0:
            return value
        return 0.0

    def draw_string(self, intervals: IntervalSet, *, min_size: int = 0, max_size: int = 10**10) -> str:
        size = self._random.randint(min_size, min(max_size, min_size + 8))
        return "".join(chr(intervals[self._random.randrange(len(intervals))]) for _ in range(size))

    def draw_bytes(self, min_size: int = 0, max_size: int = 10**10) -> bytes:
        return self._random.randbytes(self._random.randint(min_size, min(max_size, min_size + 8)))


AVAILABLE_PROVIDERS[BACKEND] = f"{SeededProvider.__module__}.{SeededProvider.__qualname__}"


def draw_many(strategy: st.SearchStrategy[T], count: int, seed: int | str) -> list[T]:
    """`count` draws from `strategy`: the simplest first, then at random.

    The same seed gives the same draws whatever else runs, and a shorter list is the beginning of a longer one. The list is
    shorter than `count` only where `strategy` throws draws away (`assume`, `filter`) or has a single value.
    """
    if count < 0:
        raise InvalidArgument(f"count={count!r}: at least 0")
    if count == 0:
        return []
    token = _SEED.set(str(seed))
    try:
        if not currently_in_test_context():
            return _drawn(strategy, count)
        with ThreadPoolExecutor(1) as pool:  # Hypothesis lets no test run inside another, and knows them by their thread
            return pool.submit(copy_context().run, lambda: _drawn(strategy, count)).result()
    finally:
        _SEED.reset(token)


def _drawn(strategy: st.SearchStrategy[T], count: int) -> list[T]:
    drawn: list[T] = []

    @settings(
        backend=BACKEND,
        database=None,
        deadline=None,
        derandomize=False,
        max_examples=count,
        phases=[Phase.generate],
        print_blob=False,
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
    )
    @given(strategy)
    def collect(value: T) -> None:
        drawn.append(value)

    collect()
    return drawn[:count]
