"""A recorded call with other floats: what an array was when it was recorded, it stays (`forms`)."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from gradfuzz.fuzzer.calling.drawing.draw import Drawn
from gradfuzz.fuzzer.calling.drawing.forms import forms, keeps, restored
from gradfuzz.fuzzer.calling.drawing.learned import Learned
from gradfuzz.fuzzer.calling.drawing.values import STYLES, dtype_named, filled
from gradfuzz.fuzzer.results.call import Argument, Call
from gradfuzz.libraries.layouts import FORMS
from gradfuzz.libraries.library import Library
from gradfuzz.oracles.base import Array
from gradfuzz.strategies.drawing.dice import Dice, Odds

_TRIES = 6
"""So many arrays are drawn until one keeps all forms; then the old one stays."""

_WHAT = Odds((8, "recorded"), (30, "scaled"), (34, "values"), (12, "rows"))
_DTYPES = ((3, "float64"), (1, "float32"))
_STYLES = ("ordinary", "positive", "unit", "ties", "special", "wide", "tiny", "above one")
_ROWS = (1, 2, 3)


def fitted(call: Call, library: Library) -> Iterator[Call]:
    """A recorded call as it may be asked: of arrays that are not too many as it is, else with fewer rows, or
    with the largest arrays constant. Its arrays move along what they are.
    """
    if _entries(call) <= library.entries:
        yield _of_form(call, library)
        return
    for rows in reversed(_ROWS):
        small = with_rows(call, rows)
        if small is not None and _entries(small) <= library.entries:
            yield _of_form(small, library)
    count = 0
    for argument in sorted(call.differentiated(), key=_size):
        count += _size(argument)
        if count > library.entries:
            call = call.with_argument(argument, replace(argument, constant=True))
    if any(True for _ in call.differentiated()):
        yield _of_form(call, library)


def _entries(call: Call) -> int:
    return sum(map(_size, call.differentiated()))


def _size(argument: Argument) -> int:
    return 0 if argument.array is None else argument.array.size


def _of_form(call: Call, library: Library) -> Call:
    def moved(argument: Argument) -> Argument:
        if argument.array is None or not argument.is_differentiated or argument.is_complex:
            return argument
        found = forms(argument.array)
        known = [one for one in FORMS if one in found and one in library.forms.of_form]
        return replace(argument, layout=known[0]) if known else argument

    return call.changed(moved)


def with_rows(call: Call, rows: int) -> Call | None:
    """The call with another length of the first axis, where its arrays have a common one and stay what they
    are; None elsewhere.
    """
    lengths = {a.array.shape[0] for a in call.arrays() if a.array is not None and a.array.ndim}
    large = max(lengths, default=0)
    if large in (0, rows) or (large < 4 and len(lengths) > 1):
        return None

    def cut(argument: Argument) -> Argument:
        array = argument.array
        if array is None or not array.ndim or array.shape[0] != large:
            return argument
        return replace(argument, array=np.resize(array, (rows, *array.shape[1:])))

    found = call.changed(cut)
    return found if keeps(call, found) else None


def replayed(dice: Dice, call: Call, learned: Learned) -> Drawn:
    """The call with other floats, in another dtype, or with another length of its first axes."""
    allowed = [row for row in _DTYPES if row[1] in learned.dtypes or not learned.dtypes]
    choice, dtype = learned.pick(dice, "dtype", allowed or _DTYPES)
    what = dice.weighted(_WHAT)
    if what == "rows":
        call = with_rows(call, dice.pick(_ROWS)) or call
    draw = functools.partial(_other, dice, what == "values")

    def changed(argument: Argument) -> Argument:
        if argument.array is None or argument.array.dtype.kind not in "fcV":
            return argument
        wide = np.asarray(argument.array, np.complex128 if argument.is_complex else np.float64)
        if argument.is_differentiated and what in ("scaled", "values"):
            wide = draw(wide)
        narrow = {"float64": "complex128", "float32": "complex64"}[dtype] if argument.is_complex else dtype
        return replace(argument, array=wide.astype(dtype_named(narrow)))

    return Drawn(call.changed(changed), (choice,))


def _other(dice: Dice, fresh: bool, old: Array) -> Array:
    """Other values that keep the forms of an array: `fresh` ones, or scaled ones where these cannot."""
    wanted = forms(old)
    if not old.size:
        return old
    style = STYLES[dice.pick(_STYLES)]
    scale = 2.0 ** (dice.below(9) - 4) if dice.chance(30) else 1.0
    for _ in range(_TRIES):
        factors = filled(dice, old.shape, "float64", STYLES["unit"]) + 0.5
        drawn = filled(dice, old.shape, old.dtype.name, style) if fresh else old * factors * scale
        found = restored(np.asarray(drawn), old, wanted)
        if found is not None:
            return found
        fresh, scale = False, 1.0
    return old
