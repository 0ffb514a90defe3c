"""A repeatable stream of draws: the k-th example of a seed is the same on every machine and in every run.

Hypothesis's own generator learns from earlier draws, and mixes in constants it finds in the loaded modules. A
sweep must not depend on either. So the choices come from a provider of our own (Hypothesis's documented
extension point) that knows only the seed and the number of the example. A stream is not a test either: it
bypasses Hypothesis's runner, whose statistics, caches and seeding of global generators cost as much as the
draws. Shrinking is Hypothesis's own and works on the same strategies.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import random
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeVar, cast

from hypothesis import strategies as st
from hypothesis.control import BuildContext
from hypothesis.errors import InvalidArgument, StopTest, UnsatisfiedAssumption
from hypothesis.internal.conjecture.choice import ChoiceTemplate
from hypothesis.internal.conjecture.data import ConjectureData
from hypothesis.internal.conjecture.providers import PrimitiveProvider

from gradfuzz.strategies.drawing.dice import SIZES

if TYPE_CHECKING:
    from hypothesis.internal.intervalsets import IntervalSet


T = TypeVar("T")

_SIMPLEST = (ChoiceTemplate("simplest", count=None),)
_UNBOUNDED = 1000
"""The range of a draw without a bound; the strategies of this package have none."""
_MOST_REJECTED = 1000
"""After this many rejected draws in a row the stream ends."""


class SeededProvider(PrimitiveProvider):
    """Uniform choices from `random.Random`."""

    def __init__(self, seed: str) -> None:
        super().__init__(None)
        self._random = random.Random(seed)  # noqa: S311 - repeatable on purpose

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


class _Stream(ConjectureData):
    """Choices that are not kept: a draw of this stream is never shrunk."""

    def draw(
        self, strategy: st.SearchStrategy[T], label: int | None = None, observe_as: str | None = None
    ) -> T:
        size = SIZES.get(id(strategy))
        if size is not None:
            return cast("T", self.draw_integer(0, size - 1))
        strategy.validate()
        if strategy.is_empty:
            self.mark_invalid()
        return strategy.do_draw(self)

    def draw_integer(
        self,
        min_value: int | None = None,
        max_value: int | None = None,
        *,
        forced: int | None = None,
        **options: Any,
    ) -> int:
        return self.provider.draw_integer(min_value, max_value) if forced is None else forced


class _Simplest(_Stream):
    """The simplest choices: of an integer the one nearest to what it shrinks towards. It ends where
    Hypothesis's own data would, at the same number of bytes.
    """

    def draw_integer(
        self,
        min_value: int | None = None,
        max_value: int | None = None,
        *,
        shrink_towards: int = 0,
        forced: int | None = None,
        **options: Any,
    ) -> int:
        if getattr(self, "unique_element_depth", 0) or any(options.values()):
            bounds = {"shrink_towards": shrink_towards, "forced": forced, **options}
            return ConjectureData.draw_integer(self, min_value, max_value, **bounds)
        value = shrink_towards if forced is None else forced
        if forced is None and min_value is not None:
            value = max(value, min_value)
        if forced is None and max_value is not None:
            value = min(value, max_value)
        self.length += 2 + value.bit_length() // 8
        if self.length > self.max_length:
            self.mark_overrun()
        return value


def draws(strategy: st.SearchStrategy[T], seed: int | str) -> Iterator[T]:
    """Draws from `strategy` without end: the simplest first, then at random.

    The same seed gives the same draws whatever else runs. They end only where `strategy` rejects nearly all
    (`assume`, `filter`).
    """
    rejected = 0
    for number in itertools.count():
        provider = SeededProvider(f"{seed}/{number}")
        data = (
            _Stream(random=None, provider=provider)
            if number
            else _Simplest(random=None, provider=provider, prefix=_SIMPLEST)
        )
        drawn: list[T] = []
        with BuildContext(data, wrapped_test=draws), contextlib.suppress(StopTest, UnsatisfiedAssumption):
            drawn.append(data.draw(strategy))
        yield from drawn
        rejected = 0 if drawn else rejected + 1
        if rejected >= _MOST_REJECTED:
            return


def draw_many(strategy: st.SearchStrategy[T], count: int, seed: int | str) -> list[T]:
    """The first `count` of `draws`: a shorter list is a prefix of a longer one."""
    if count < 0:
        raise InvalidArgument(f"count={count!r}: at least 0")
    return list(itertools.islice(draws(strategy, seed), count))
