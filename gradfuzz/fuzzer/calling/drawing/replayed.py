"""A recorded call with other floats: what an array was when it was recorded, it stays.

A package asks for more than its signatures say: matrices that are symmetric, numbers that are probabilities.
Which of that holds for the arrays of a real call can be seen (`forms`). Other values keep all of it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from gradfuzz.fuzzer.calling.drawing.draw import Drawn
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


# What an array is -------------------------------------------------------------------------------------------


def _square(x: Array) -> bool:
    return x.ndim > 1 and x.shape[-1] == x.shape[-2] > 1


def _turned(x: Array) -> Array:
    return np.asarray(x.swapaxes(-1, -2).conj())


def _near(x: Array, y: Array) -> bool:
    """Whether they are the same but for rounding in single precision."""
    return bool(np.all(np.abs(x - y) <= 1e-5 * (np.abs(y).max(initial=0.0) + 1e-30)))


_FORMS: Mapping[str, Callable[[Array], bool]] = {
    "symmetric": lambda x: _square(x) and _near(x, _turned(x)),
    "definite": lambda x: _square(x) and _near(x, _turned(x)) and bool(np.all(np.linalg.eigvalsh(x) > 0)),
    "lower": lambda x: _square(x) and np.array_equal(x, np.tril(x)),
    "upper": lambda x: _square(x) and np.array_equal(x, np.triu(x)),
    "orthogonal": lambda x: (
        _square(x) and _near(x @ _turned(x), np.broadcast_to(np.eye(len(x[-1])), x.shape))
    ),
    "regular": lambda x: _square(x) and bool(np.all(np.linalg.cond(x) < 1e6)),
    "unit norm": lambda x: x.ndim > 0 and x.shape[-1] > 1 and _near(np.linalg.norm(x, axis=-1), _ones(x)),
    "simplex": lambda x: (
        x.ndim > 0 and x.shape[-1] > 1 and bool(np.all(x >= 0)) and _near(np.sum(x, axis=-1), _ones(x))
    ),
    "sorted": lambda x: x.ndim > 0 and x.shape[-1] > 1 and bool(np.all(np.diff(x, axis=-1) > 0)),
    "falling": lambda x: x.ndim > 0 and x.shape[-1] > 1 and bool(np.all(np.diff(x, axis=-1) < 0)),
    "integer": lambda x: x.size > 1 and np.array_equal(x, np.round(x)),
    "positive": lambda x: bool(np.all(x > 0)),
    "negative": lambda x: bool(np.all(x < 0)),
    "not negative": lambda x: bool(np.all(x >= 0)),
    "within 1": lambda x: bool(np.all(np.abs(x) <= 1)),
    "inside 1": lambda x: bool(np.all(np.abs(x) < 1)),
    "not zero": lambda x: bool(np.all(x != 0)),
}
"""The forms that are kept where an array has them. A complex array is Hermitian where it is symmetric."""

_ORDERED = ("sorted", "falling", "positive", "negative", "not negative", "within 1", "inside 1", "simplex")


def _ones(x: Array) -> Array:
    return np.ones(x.shape[:-1])


def forms(array: Array) -> frozenset[str]:
    """The forms that an array of floats has."""
    wide = np.asarray(array, np.complex128 if array.dtype.kind == "c" else np.float64)
    if not wide.size or not np.all(np.isfinite(wide)):
        return frozenset()
    names = [one for one in _FORMS if wide.dtype.kind == "f" or one not in _ORDERED]
    with np.errstate(all="ignore"):
        try:
            return frozenset(name for name in names if _FORMS[name](wide))
        except np.linalg.LinAlgError:  # of a matrix that is far too large or too small
            return frozenset()


def keeps(old: Call, new: Call) -> bool:
    """Whether the arrays of a call have all forms that those of a recorded one have at their places."""
    before, after = [[a.array for a in c.differentiated() if a.array is not None] for c in (old, new)]
    pairs = list(zip(before, after, strict=False))
    return len(before) == len(after) and all(_lasting(forms(a)) <= forms(b) for a, b in pairs)


def _lasting(found: frozenset[str]) -> frozenset[str]:
    """Without what is there by chance, and without what follows from it."""
    return found - {"not zero", "regular"} if "orthogonal" in found else found


# Calls ------------------------------------------------------------------------------------------------------


def fitted(call: Call, library: Library) -> Iterator[Call]:
    """A recorded call as it is asked: of arrays that are not too many, first as it is, then with fewer rows,
    then with the largest arrays constant. Its arrays move along what they are.
    """
    for rows in (None, *reversed(_ROWS)):
        small = call if rows is None else with_rows(call, rows)
        if small is not None and _entries(small) <= library.entries:
            yield _of_form(small, library)
            return
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
    """The call with another length of the first axis, where its arrays have a common one; None elsewhere."""
    lengths = {a.array.shape[0] for a in call.arrays() if a.array is not None and a.array.ndim}
    large = max(lengths, default=0)
    if large in (0, rows) or (large < 4 and len(lengths) > 1):
        return None

    def cut(argument: Argument) -> Argument:
        array = argument.array
        if array is None or not array.ndim or array.shape[0] != large:
            return argument
        return replace(argument, array=np.resize(array, (rows, *array.shape[1:])))

    return call.changed(cut)


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
    if "orthogonal" in wanted or not old.size:
        return old
    style = STYLES[dice.pick(_STYLES)]
    scale = 2.0 ** (dice.below(9) - 4) if dice.chance(30) else 1.0
    for _ in range(_TRIES):
        factors = filled(dice, old.shape, "float64", STYLES["unit"]) + 0.5
        candidate = (
            np.asarray(filled(dice, old.shape, old.dtype.name, style)) if fresh else old * factors * scale
        )
        candidate = _formed(candidate, old, factors, wanted)
        if wanted <= forms(candidate):
            return candidate
        fresh, scale = False, 1.0
    return old


def _formed(new: Array, old: Array, factors: Array, wanted: frozenset[str]) -> Array:
    """The values with the forms of the old ones, as far as that can be made."""
    if "integer" in wanted:
        low, high = float(old.min()), float(old.max())
        return np.clip(np.round(new), low, high)
    if "symmetric" in wanted:
        scales = factors[..., 0]
        return np.asarray(scales[..., :, None] * old * scales[..., None, :])
    if wanted & {"lower", "upper"}:
        new = np.where(old == 0, 0.0, new)
    if "within 1" in wanted and not np.all(np.abs(new) <= 1):
        new = np.asarray(np.sign(old) * np.abs(old) ** factors)
    if "simplex" in wanted:
        new = np.abs(new) / np.sum(np.abs(new), axis=-1, keepdims=True)
    if "unit norm" in wanted:
        new = new / np.linalg.norm(new, axis=-1, keepdims=True)
    if "negative" in wanted:
        new = -np.abs(new)
    elif "not negative" in wanted:
        new = np.abs(new)
    if wanted & {"sorted", "falling"}:
        new = np.sort(new, axis=-1)
        return new[..., ::-1] if "falling" in wanted else new
    return new
