"""What an array is: symmetric, sorted, probabilities.

A package asks for more than its signatures say. Which forms the arrays of a real call have can be seen, and
other values keep them (`forms`, `restored`). Of a call that was drawn without one, a docstring may tell that
its arrays lack a form (`outside`).
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from gradfuzz.fuzzer.results.call import Call
from gradfuzz.fuzzer.results.finding import OUTSIDE
from gradfuzz.libraries.layouts import FORMS as MOVING
from gradfuzz.libraries.watching import found_at
from gradfuzz.oracles.base import Array


@dataclass(frozen=True, slots=True)
class ArrayForm:
    """A row: how a form is told, and how new values get it."""

    holds: Callable[[Array], bool]
    restored: Callable[[Array, Array], Array] = lambda new, old: new
    """New values with the form of the old ones. What comes of it is tried: it need not succeed."""
    words: str = ""
    """What docstrings call it, as a pattern; empty where a finding is not marked for the lack of it."""
    ordered: bool = False
    """Whether complex numbers have no such form."""


def _square(x: Array) -> bool:
    return x.ndim > 1 and x.shape[-1] == x.shape[-2] > 1


def _turned(x: Array) -> Array:
    return np.asarray(x.swapaxes(-1, -2).conj())


def _near(x: Array, y: Array) -> bool:
    """Whether they are the same but for rounding in single precision."""
    return bool(np.all(np.abs(x - y) <= 1e-5 * (np.abs(y).max(initial=0.0) + 1e-30)))


def _orthogonal(x: Array) -> bool:
    """Whether the rows of matrices, or their columns, are orthonormal."""
    if x.ndim < 2 or min(x.shape[-2:]) < 2:
        return False
    product = x @ _turned(x) if x.shape[-2] <= x.shape[-1] else _turned(x) @ x
    return _near(product, np.broadcast_to(np.eye(product.shape[-1]), product.shape))


def _probabilities(x: Array, axis: int | None) -> bool:
    """Whether numbers along an axis, or all of them, are probabilities."""
    if x.ndim < (2 if axis != -1 else 1) or x.size < 2 or (axis is not None and x.shape[axis] < 2):
        return False
    sums = np.sum(x, axis=axis)
    return bool(np.all(x >= 0)) and _near(sums, np.ones_like(sums))


def _shares(axis: int | None) -> Callable[[Array, Array], Array]:
    return lambda new, old: np.abs(new) / np.sum(np.abs(new), axis=axis, keepdims=True)


def _along(x: Array, sign: int) -> bool:
    return x.ndim > 0 and x.shape[-1] > 1 and bool(np.all(sign * np.diff(x, axis=-1) > 0))


def _masked(new: Array, old: Array) -> Array:
    return np.where(old == 0, 0.0, new)


def _congruent(new: Array, old: Array) -> Array:
    """The old matrices, rows and columns times the same positive factors."""
    scales = 1.0 + 0.5 * np.tanh(np.real(new[..., 0]))
    return np.asarray(scales[..., :, None] * old * scales[..., None, :])


FORMS: Mapping[str, ArrayForm] = {
    "not finite": ArrayForm(lambda x: not np.all(np.isfinite(x)), lambda new, old: old),
    "orthogonal": ArrayForm(
        _orthogonal, lambda new, old: old, r"rotation matri|orthogonal|orthonormal|unitary"
    ),
    "symmetric": ArrayForm(
        lambda x: _square(x) and _near(x, _turned(x)), _congruent, r"symmetric|hermitian|covariance"
    ),
    "definite": ArrayForm(
        lambda x: _square(x) and _near(x, _turned(x)) and bool(np.all(np.linalg.eigvalsh(x) > 0)),
        words=r"positive[- ]definite|covariance",
    ),
    "lower": ArrayForm(
        lambda x: _square(x) and np.array_equal(x, np.tril(x)),
        _masked,
        r"lower[- ]triangular|cholesky factor",
    ),
    "upper": ArrayForm(
        lambda x: _square(x) and np.array_equal(x, np.triu(x)), _masked, r"upper[- ]triangular"
    ),
    "tridiagonal": ArrayForm(
        lambda x: _square(x) and np.array_equal(x, np.triu(np.tril(x, 1), -1)) and x.shape[-1] > 2,
        _masked,
        r"tridiagonal",
    ),
    "regular": ArrayForm(lambda x: _square(x) and bool(np.all(np.linalg.cond(x) < 1e6))),
    "integer": ArrayForm(
        lambda x: x.size > 1 and np.array_equal(x, np.round(x)),
        lambda new, old: np.clip(np.round(np.real(new)), np.real(old).min(), np.real(old).max()),
    ),
    "within 1": ArrayForm(
        lambda x: bool(np.all(np.abs(x) <= 1)),
        lambda new, old: new if np.all(np.abs(new) <= 1) else new / np.max(np.abs(new)),
        ordered=True,
    ),
    "inside 1": ArrayForm(
        lambda x: bool(np.all(np.abs(x) < 1)), lambda new, old: new * 0.96875, ordered=True
    ),
    "simplex": ArrayForm(
        lambda x: _probabilities(x, -1),
        _shares(-1),
        r"probabilit(y|ies) (vector|mass|distribution)|simplex|(sums?|adds?) (up )?to (1|one)|histogram",
        ordered=True,
    ),
    "columns of probabilities": ArrayForm(lambda x: _probabilities(x, -2), _shares(-2), ordered=True),
    "sum of 1": ArrayForm(lambda x: _probabilities(x, None), _shares(None), ordered=True),
    "unit norm": ArrayForm(
        lambda x: x.ndim > 0 and x.shape[-1] > 1 and _near(np.linalg.norm(x, axis=-1), np.ones(x.shape[:-1])),
        lambda new, old: new / np.linalg.norm(new, axis=-1, keepdims=True),
        r"unit (norm|vector|length|quaternion)|quaternion",
    ),
    "unit diagonal": ArrayForm(
        lambda x: _square(x) and bool(np.all(np.diagonal(x, axis1=-2, axis2=-1) == 1)),
        lambda new, old: np.where(np.eye(new.shape[-1], dtype=bool), 1.0, new),
        r"unit diagonal|correlation matri",
    ),
    "negative": ArrayForm(lambda x: bool(np.all(x < 0)), lambda new, old: -np.abs(new), ordered=True),
    "not negative": ArrayForm(
        lambda x: bool(np.all(x >= 0)), lambda new, old: np.abs(new), r"non-?negative", ordered=True
    ),
    "positive": ArrayForm(lambda x: bool(np.all(x > 0)), words=r"(strictly|be) positive", ordered=True),
    "sorted": ArrayForm(
        lambda x: _along(x, 1),
        lambda new, old: np.sort(new, axis=-1),
        r"sorted|increasing|ascending|monoton",
        ordered=True,
    ),
    "falling": ArrayForm(
        lambda x: _along(x, -1), lambda new, old: np.sort(new, axis=-1)[..., ::-1], ordered=True
    ),
    "not zero": ArrayForm(lambda x: bool(np.all(x != 0))),
}
"""The forms, in the order in which new values get them. A complex array is Hermitian where it is
symmetric.
"""


def forms(array: Array) -> frozenset[str]:
    """The forms that an array of floats has."""
    wide = np.asarray(array, np.complex128 if array.dtype.kind == "c" else np.float64)
    if not wide.size:
        return frozenset()
    if not np.all(np.isfinite(wide)):
        return frozenset(["not finite"])
    with np.errstate(all="ignore"):
        try:
            return frozenset(
                name
                for name, form in FORMS.items()
                if not (form.ordered and wide.dtype.kind == "c") and form.holds(wide)
            )
        except np.linalg.LinAlgError:  # of a matrix that is far too large or too small
            return frozenset()


def restored(new: Array, old: Array, wanted: frozenset[str]) -> Array | None:
    """The new values with the forms of the old ones; None where they do not get all of them."""
    for name, form in FORMS.items():
        if name in wanted:
            new = np.asarray(form.restored(new, old))
    return new if wanted <= forms(new) else None


def keeps(old: Call, new: Call) -> bool:
    """Whether the arrays of a call have all forms that those of a recorded one have at their places."""
    before, after = [[a.array for a in c.differentiated() if a.array is not None] for c in (old, new)]
    pairs = list(zip(before, after, strict=False))
    return len(before) == len(after) and all(_lasting(forms(a)) <= forms(b) for a, b in pairs)


def _lasting(found: frozenset[str]) -> frozenset[str]:
    """Without what is there by chance, and without what follows from it."""
    by_chance = {"not zero", "regular", "inside 1", "within 1"}
    return found - by_chance if "orthogonal" in found else found


def outside(call: Call) -> Iterator[str]:
    """The fact that the docstrings of a package's function speak of a form that no array of a drawn call has,
    or along which none moves. A call that a program made, or one like it, is what the package takes.
    """
    if call.is_recorded or call.function.startswith(f"{call.library}."):
        return
    text = _documents(call.function)
    has = {name for a in call.arrays() if a.array is not None for name in forms(a.array)}
    has = has.difference(MOVING) | {a.layout for a in call.arrays()}
    for name, form in FORMS.items():
        said = re.search(rf"\b(?:{form.words})\w*", text, re.IGNORECASE) if form.words else None
        if said is not None and name not in has:
            yield f"{OUTSIDE}: its docstring says {said.group(0)!r}, and no array stays {name}"
            return


def _documents(name: str) -> str:
    """The docstrings of a function, and of the class whose method it is."""
    try:
        owner = found_at(name.rpartition(".")[0])
        own = [found_at(name), *([owner] if isinstance(owner, type) else [])]
    except (ImportError, AttributeError):
        return ""
    return "\n".join(filter(None, map(inspect.getdoc, own)))
