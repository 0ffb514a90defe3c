"""The strategy for whole loop programs; `writer` does the writing."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from gradfuzz.programs import Program
from gradfuzz.strategies.dice import Draw, named
from gradfuzz.strategies.plan import LOOPS, Form, Options
from gradfuzz.strategies.writer import Writer

__all__ = ["loop_programs", "programs"]


@st.composite
@named("loop_programs")
def _loop_programs(draw: Draw, **options: Any) -> Program:
    return Writer(draw, Options(**options)).program()


def loop_programs(
    *,
    min_trips: int = 0,
    max_trips: int = 17,
    loops: tuple[Form, ...] = LOOPS,
    max_params: int = 3,
    max_loops: int = 2,
    max_outputs: int = 3,
    arrays: bool = True,
    branches: bool = True,
    exits: bool = True,
    run_time: bool = True,
    by_value: bool = True,
) -> st.SearchStrategy[Program]:
    """Programs with at least one loop, well-typed, defined almost everywhere and sure to end.

    A loop whose trips are known takes `min_trips` to `max_trips` of them; inner and second loops at most three, unless an outer
    counter says how many. `loops` are the forms to draw from. Switched off are: array values with `arrays=False`, trip counts
    that are an input with `run_time=False`, loops that stop by a float value with `by_value=False`; the last, and exits, need
    `min_trips=0`.
    Shrinks towards `acc = 1.0`, a `for` loop over `acc = acc * x`, and `return acc`.
    """
    if not 0 <= min_trips <= max_trips:
        raise InvalidArgument(f"min_trips={min_trips!r}, max_trips={max_trips!r}: 0 <= min_trips <= max_trips must hold")
    if not loops or any(f not in LOOPS for f in loops):
        raise InvalidArgument(f"loops={loops!r}: give at least one of {', '.join(map(repr, LOOPS))}")
    if max_trips == 0 and "repeat" in loops:
        loops = tuple(f for f in loops if f != "repeat")
        if not loops:
            raise InvalidArgument(f"loops=('repeat',) with max_trips={max_trips!r}: a body-first loop takes at least one trip")
    for what, value in (("max_params", max_params), ("max_loops", max_loops), ("max_outputs", max_outputs)):
        if value < 1:
            raise InvalidArgument(f"{what}={value!r}: at least 1")
    return _loop_programs(
        min_trips=min_trips,
        max_trips=max_trips,
        loops=loops,
        max_params=max_params,
        max_loops=max_loops,
        max_outputs=max_outputs,
        arrays=arrays,
        branches=branches,
        exits=exits,
        run_time=run_time,
        by_value=by_value,
    )


programs = loop_programs
"""The same: all programs of today are loop programs."""
