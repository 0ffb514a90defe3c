"""A function is followed at small arrays: so its library says what it returns, and what it misses."""

# mypy: ignore-errors

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from catalogue import (
    ARRAY,
    ARRAYS,
    DIFFERENTIABLE,
    DTYPE,
    FLAG,
    INTEGER,
    INTEGERS,
    NOT_DIFFERENTIABLE,
    NUMBER,
    TEXT,
    Parameter,
)

SHAPES = ((2, 2), (4,), (), (1, 3, 3, 1))
FLOATS, OTHERS = ("float32", "complex64"), ("int32", "int64", "bool")
MOST = 5
"""Required parameters of a function that is followed."""

BY_SIGNATURE = (
    DIFFERENTIABLE,
    "from arrays to arrays by its signature; not followed, its arguments are special",
)


def outcome(
    taken: Sequence[Parameter], attempt: Callable[[Sequence[Parameter], str, tuple[int, ...]], Any]
) -> Any:
    """What becomes of a function that takes these parameters, and why.

    `attempt(required, dtype, shape)` follows it at arrays of one dtype and shape. It returns the outcome and
    its reason, or None where the library takes no such arguments; any exception says so, too.
    """
    required = [one for one in taken if one.required]
    if len(required) > MOST or any(not one.kinds for one in required):
        return BY_SIGNATURE
    takes_others, said = False, None
    for dtype, shape in itertools.product((*FLOATS, *OTHERS), SHAPES):
        try:
            found = attempt(required, dtype, shape)
        except Exception:  # whatever it raises, it does not take these arguments
            found = None
        if found is not None and dtype in FLOATS:
            if found[0] == DIFFERENTIABLE:
                return found
            said = said or found
        takes_others = takes_others or found is not None
    if said is not None:
        return said
    return (NOT_DIFFERENTIABLE, "takes no floats") if takes_others else BY_SIGNATURE


def arguments(required: Sequence[Parameter], array: Callable[[], Any]) -> tuple[dict[str, Any], list[Any]]:
    """An argument for each parameter, by name, and the arrays among them; `array` makes one."""
    given: dict[str, Any] = {}
    arrays: list[Any] = []
    for one in required:
        if ARRAY in one.kinds or ARRAYS in one.kinds:
            made = [array() for _ in range(1 if ARRAY in one.kinds else 2)]
            arrays += made
            given[one.name] = made[0] if ARRAY in one.kinds else made
        elif one.kinds[0] == TEXT:
            given[one.name] = one.choices[0].strip("'") if one.choices else ""
        else:
            given[one.name] = _PLAIN[one.kinds[0]]
    return given, arrays


_PLAIN = {NUMBER: 1.0, INTEGER: 1, INTEGERS: [0], FLAG: False, DTYPE: "float32"}


def returned(kinds: Sequence[str]) -> Any:
    """The outcome of a function that returns these dtypes, none of them floats."""
    return NOT_DIFFERENTIABLE, "returns " + " and ".join(sorted(set(kinds)))
