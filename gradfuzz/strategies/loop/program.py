"""The strategy for whole loop programs; `writer` writes the programs."""

from __future__ import annotations

from hypothesis import strategies as st

from gradfuzz.programs import Program
from gradfuzz.strategies.drawing.dice import Draw
from gradfuzz.strategies.drawing.op_set import JOINS, SCALARS
from gradfuzz.strategies.drawing.validation import check_choices, check_int, reject
from gradfuzz.strategies.loop.patterns import check_carried
from gradfuzz.strategies.loop.plan import FORMS, KINDS, MAX_TRIPS, Form, Kind, LoopOptions
from gradfuzz.strategies.loop.statistics import observed
from gradfuzz.strategies.loop.writer import Writer


@st.composite
def loops(
    draw: Draw,
    *,
    min_trips: int = 0,
    max_trips: int | None = None,
    forms: tuple[Form, ...] = FORMS,
    max_params: int = 3,
    max_loops: int = 2,
    max_outputs: int = 3,
    arrays: bool = True,
    branches: bool = True,
    exits: bool = True,
    run_time: bool = True,
    by_value: bool = True,
    ops: tuple[str, ...] | None = None,
) -> Program:
    """Programs with at least one loop, well-typed, defined almost everywhere and sure to end.

    A loop with a known trip count makes `min_trips` to `max_trips` iterations (None: 17, or `min_trips` if
    larger). Inner and second loops make at most three, unless an outer counter gives their count. `forms` are
    the forms of a loop to draw from. `arrays=False` leaves out array values, `run_time=False` trip counts
    that are an input, and `by_value=False` loops that stop by a float value. Loops that stop by value, and
    exits, need `min_trips=0`.

    `ops`: the only ops to use (None: all). No other op occurs for any purpose, and a feature that needs
    another op is not drawn. `while` and `repeat` need `add` and `less` for their counter, and stop by a value
    only with `logical_and`. Branches and exits need a comparison, arrays one of `sum`, `mean`, `prod` and
    `index`, an entry at a counter that may be past the end `remainder`, a counter read as a number `astype`.
    An op that can occur only together with a missing op is left out. Names, numbers and arrays of numbers
    need no op.

    Shrinks towards `acc = 1.0`, a `for` loop over `acc = acc * x`, and `return acc`.
    """
    check_int("min_trips", min_trips, 0)
    if max_trips is not None:
        check_int("max_trips", max_trips, 0)
    most = max(MAX_TRIPS, min_trips) if max_trips is None else max_trips
    if min_trips > most:
        reject(f"min_trips={min_trips!r}, max_trips={max_trips!r}: 0 <= min_trips <= max_trips must hold")
    check_choices("forms", forms, FORMS)
    if most == 0 and "repeat" in forms:
        forms = tuple(f for f in forms if f != "repeat")
        if not forms:
            rule = "a body-first loop takes at least one trip"
            reject(f"forms=('repeat',) with max_trips={max_trips!r}: {rule}")
    allowed = check_carried(ops)
    if allowed is not None and not allowed.issuperset(("add", "less")):
        if "for" not in forms:
            needed = "these loops need 'add' and 'less' for their counter; add both"
            reject(f"ops={ops!r} with forms={forms!r}: {needed}")
        forms = ("for",)
    if allowed is not None and not (allowed.intersection(JOINS) and allowed.intersection(SCALARS)):
        arrays = False
    for what, value in (("max_params", max_params), ("max_loops", max_loops), ("max_outputs", max_outputs)):
        check_int(what, value, 1)
    options = LoopOptions(
        min_trips=min_trips,
        max_trips=most,
        forms=forms,
        max_params=max_params,
        max_loops=max_loops,
        max_outputs=max_outputs,
        arrays=arrays,
        branches=branches,
        exits=exits,
        run_time=run_time,
        by_value=by_value and (allowed is None or "logical_and" in allowed),
        ops=allowed,
    )
    return observed(Writer(draw, options).program(), "loops")


@st.composite
def loops_about(draw: Draw, op: str, ops: frozenset[str]) -> Program:
    """Programs of `loops` of `ops` alone, with `op` in them as soon as it can be."""
    counts = ops.issuperset(("add", "less"))
    options = LoopOptions(
        forms=FORMS if counts else ("for",),
        arrays=bool(ops.intersection(JOINS) and ops.intersection(SCALARS)),
        by_value="logical_and" in ops,
        ops=ops,
        about=op,
        kinds=_KINDS_OF.get(op, KINDS),
    )
    return Writer(draw, options).program()


_ARRAYS: tuple[Kind, ...] = ("vector", "mixed", "matrix")
_KINDS_OF: dict[str, tuple[Kind, ...]] = {
    **dict.fromkeys(("reshape", "permute_dims", "matmul"), ("matrix",)),
    **dict.fromkeys(("sum", "mean", "prod", "flip", "cumulative_sum", "concat", "broadcast_to"), _ARRAYS),
    **dict.fromkeys(("index", "index_update", "stack", "remainder"), ("sequence", *_ARRAYS)),
}
"""What a loop carries where an op is only, or mostly, used in it; elsewhere anything."""
