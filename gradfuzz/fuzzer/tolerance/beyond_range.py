"""Perturbed arithmetic where intermediates leave the range of the dtype: what each entry of a result loses.

A result below the normal numbers may be rounded to 0: its lanes stray by the smallest normal number. A result
beyond the largest number, or one whose square a division needs and that has none, may be infinite in a
target: its lanes are NaN. A number at the end of the range that is given, as what masks are made of, stays
one of its sign when a smaller one is added, or when it is divided by one up to 1, or becomes infinite: its
lanes do. All spread to what depends on the result, and to nothing else. So the masked entries of a softmax
do not hide the others.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from gradfuzz.fuzzer.tolerance.lanes import Array, has_lanes, is_complex, per_point
from gradfuzz.fuzzer.tolerance.perturbed import MARGINS, PerturbedNamespace
from gradfuzz.programs.arithmetic.object_namespace import UndecidedError
from gradfuzz.programs.language.functions import Function
from gradfuzz.programs.language.precision import FORMATS, Precision

_MARGIN = 2.0**4
"""A result within this factor of the largest number may be infinite in a target."""


class BeyondRangeNamespace(PerturbedNamespace):
    """The lanes of `PerturbedNamespace`, without an end of the range."""

    def __init__(self, precision: Precision, points: int = 1, eps: float | None = None, **how: Any) -> None:
        super().__init__(precision, points, eps, **how)
        form = FORMATS[precision]
        self._least, self._most = form.normal * MARGINS[precision], form.largest / _MARGIN
        self.lost = False
        """Whether lanes have no number, or strayed by the smallest one: what is undecided may be of that."""
        self._to_zero = form.normal / form.roundoff
        """The draws, which have the size of eps, times this stray by the smallest normal number."""

    def context(self) -> contextlib.AbstractContextManager[None]:
        return np.errstate(all="ignore")

    def _keep(self, result: Array) -> Array:
        return self._by_part(self._limited, result)

    def _limited(self, x: Array) -> Array:
        sizes = np.abs(x)
        return self._or_nothing(self._stray(x, (sizes > 0.0) & (sizes < self._least)), sizes > self._most)

    def _stray(self, x: Array, small: Array) -> Array:
        """`x`, and where it is `small`, what rounding it to 0 changes."""
        if not np.any(small):
            return x
        self.lost = True
        return np.where(small, x + (self._factors(self._product, x.shape) - 1.0) * self._to_zero, x)

    def _or_nothing(self, x: Array, nothing: Array, instead: Array | float = np.nan) -> Array:
        """`x`, and NaN, or what is `instead`, in the lanes that round where a target may have no number."""
        if not np.any(nothing):
            return x
        self.lost = self.lost or bool(np.any(np.isnan(instead)))
        lanes = np.arange(self.width) % (self.width // self.points) > 0
        return np.where(nothing & lanes, instead, x)

    def _at_the_end(self, total: Array, a: Array, b: Array) -> Array:
        """A sum or a difference, infinite in the lanes that round where one number is so large and the other
        one is not.
        """
        for x, other in ((a, b), (b, a)) if has_lanes(total) and not is_complex(total) else ():
            large = (np.abs(x) > self._most) & (np.abs(other) < np.abs(x) / 2.0)
            total = self._or_nothing(total, large, np.copysign(np.inf, total[..., :1]))
        return total

    def add(self, a: Array, b: Array) -> Array:
        return self._at_the_end(super().add(a, b), a, b)

    def subtract(self, a: Array, b: Array) -> Array:
        return self._at_the_end(super().subtract(a, b), a, b)

    def _underflowed(self, result: Array, *factors: Array) -> Array:
        """A result that is 0 where none of what it is made of is."""
        if is_complex(result):
            return result
        small = result == 0.0
        for factor in factors:
            small = small & (factor != 0.0)
        return self._stray(result, small)

    def _must_be_finite(self, row: Function, result: Array) -> None:
        """What is infinite spoils what depends on it."""

    def _evaluated(self, row: Function, *args: Array, **params: int) -> Array:
        if row.name == "logaddexp" and all(np.all(np.isfinite(x)) for x in args):
            smaller, larger = np.minimum(*args), np.maximum(*args)
            return self.plus_shift(self._result(np.log1p(np.exp(smaller - larger)), self._function), larger)
        return self._underflowed(super()._evaluated(row, *args, **params), args[-1])

    def _called(self, name: str, x: Array) -> Array:
        return self._underflowed(super()._called(name, x), x)

    def multiply(self, a: Array, b: Array) -> Array:
        result = super().multiply(a, b)
        return self._underflowed(result, a, b) if has_lanes(a) else result

    def divide(self, a: Array, b: Array) -> Array:
        larger = (np.abs(a) > self._most) & (np.abs(b) <= 1.0) & (has_lanes(a) and not is_complex(a))
        if not np.any(larger):
            return self._divided(a, b)
        exact = np.where(larger, a / b, self._divided(np.where(larger, b, a), b))
        return self._or_nothing(exact, larger, np.where(exact > 0.0, np.inf, -np.inf))

    def _divided(self, a: Array, b: Array) -> Array:
        return self._underflowed(
            self._limited_by_seen(lambda: super(BeyondRangeNamespace, self).divide(a, b)), a
        )

    def integer_pow(self, x: Array, *, n: int) -> Array:
        found = self._limited_by_seen(lambda: super(BeyondRangeNamespace, self).integer_pow(x, n=n))
        return found if n in (0, 1) else self._underflowed(found, x)

    def pow(self, a: Array, b: Array) -> Any:
        return self._underflowed(super().pow(a, b), a)

    def _total(self, rows: Array) -> Array:
        return self._limited_by_seen(lambda: super(BeyondRangeNamespace, self)._total(rows), small=False)

    def _of_norms(self, *about: Any) -> Array:
        return self._limited_by_seen(lambda: super(BeyondRangeNamespace, self)._of_norms(*about), small=False)

    def _limited_by_seen(self, compute: Callable[[], Array], *, small: bool = True) -> Array:
        """A result, or NaN where what is computed on the way to it, and noted in `seen`, leaves the range."""
        before = len(self.seen)
        result = compute()
        for noted in self.seen[before:]:
            sizes = np.abs(noted)
            low = (sizes > 0.0) & (sizes < self._least) if small else np.zeros_like(sizes, np.bool_)
            nothing = low | (sizes > self._most)
            result = self._by_part(functools.partial(self._or_nothing, nothing=nothing), result)
        del self.seen[before:]
        return result

    # Where it is not told which entries an overflow spoils, and where it decides

    def _alike(self, differences: Array) -> Array:
        if np.any(np.isnan(differences)):
            raise UndecidedError("one side of a comparison leaves the range")
        if not is_complex(differences):  # what is infinite on the same side decides alike
            exact = np.broadcast_to(per_point(differences)[..., :1], per_point(differences).shape)
            exact = exact.reshape(differences.shape)
            alike = np.isinf(differences) & (np.sign(differences) == np.sign(exact))
            differences = np.where(alike, exact, differences)
        return super()._alike(differences)

    def cumulative_sum(self, x: Array, *, axis: int) -> Array:
        if has_lanes(x):
            self._refuse(np.sum(np.abs(x), axis=axis % (x.ndim - 1)))
        return super().cumulative_sum(x, axis=axis)

    def scatter_add(self, x: Array, indices: Any, updates: Array, *, axis: int) -> Array:
        if has_lanes(x):
            self._refuse(np.abs(x).max(initial=0.0) + np.abs(updates).sum())
        return super().scatter_add(x, indices, updates, axis=axis)

    def see_partial_products(self, x: Array, axes: tuple[int, ...]) -> None:
        super().see_partial_products(x, axes)
        for sizes in self.seen[-2:]:
            self._refuse(sizes)
            if np.any(sizes < self._least):
                raise FloatingPointError("a product of some of the entries leaves the range")

    def _refuse(self, sizes: Any) -> None:
        if np.any(sizes > self._most):
            raise FloatingPointError("a sum or product of some of the entries leaves the range")
