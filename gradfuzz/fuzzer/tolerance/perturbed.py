"""Perturbed arithmetic: measures what a computation can lose to rounding.

Every float, and every complex number (see `perturbed_complex`), is a row of lanes (the last axis; `LANES` per
point). Lane 0 is exact to float64; in the others each primitive result, and each accumulation inside a sum,
is multiplied by 1 + eps r with |r| at most 1: stochastic arithmetic (Vignes 2004; Parker 1997), all samples
in one run. Lanes 1-5 draw r at random. Lane 6 rounds everything up, and lane 7 sums up and products down:
rounding in a loop is not independent between iterations, and a thousand equal additions all err the same way.

For float32 and narrower ones eps is the unit roundoff u, far above float64's own rounding. For float64 eps is
2^-40, and the spread of the lanes is scaled by u / eps; `allowed` checks that the spread is proportional, and
not that of a chaotic computation that has lost everything.

A sum of `MANY` numbers or more, and a product made of as many products, lose what their norms say: lanes
add up their own terms, and stray from the total by eps of |a| @ |b|, times as many additions as there are
where they all err the same way, and times the root of that where they do not. That is what the terms lose one
by one, in the mean, and 4 times the most that rounding can do in any order (Higham 2002, section 3.1), for
`SAFETY` of `allowed` is 8.

Two sides of a comparison that are closer than rounding can tell raise `UndecidedError`; an overflow, an
underflow or a NaN raises `FloatingPointError`. Several points may share one run as long as they decide alike.
Of a large array some comparisons are always so close: each is taken as the exact lane has it, in all lanes,
and noted in `open`; or the other way, if its difference has one of the sizes `others`.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradfuzz.fuzzer.tolerance.lanes import (
    FEW,
    FEW_DRAWN,
    LANES,
    MANY,
    Array,
    has_lanes,
    in_blocks,
    is_complex,
    joined,
    lanes_last,
    per_point,
    spread,
)
from gradfuzz.fuzzer.tolerance.perturbed_complex import ComplexLanes
from gradfuzz.fuzzer.tolerance.perturbed_linalg import LinalgLanes
from gradfuzz.fuzzer.tolerance.perturbed_tensors import TensorLanes
from gradfuzz.oracles.device import operand_roundings
from gradfuzz.programs.arithmetic.elementwise import composed, numpy_function
from gradfuzz.programs.arithmetic.namespace import Namespace
from gradfuzz.programs.arithmetic.numpy_namespace import index_key, numbers_of
from gradfuzz.programs.arithmetic.object_namespace import OutOfRangeError, UndecidedError
from gradfuzz.programs.language.axes import normalize_axes
from gradfuzz.programs.language.functions import Function
from gradfuzz.programs.language.precision import FORMATS, Precision, all_rounded, rounded
from gradfuzz.programs.language.syntax import ArrayConst, ParamValue

EPS: Mapping[Precision, float] = {name: max(f.roundoff, 2.0**-40) for name, f in FORMATS.items()}
"""The relative perturbation by precision: its unit roundoff if that is far above the lanes' rounding."""

FINE_EPS: Mapping[Precision, float] = {
    name: max(2.0**-10 * f.roundoff, 2.0**-46) for name, f in FORMATS.items()
}
"""Smaller perturbations, at least 2^7 times the lanes' rounding: proportional effects stay proportional."""

FUNCTION_UNITS = 4.0
"""The error of a library's sin, exp, tanh, pow, ... in roundings: vector libraries promise 1 to 4 ulps."""

SMALL = 2.0**-6
"""Lanes farther than this share from the exact one may be where noise is not proportional to eps."""

A_FEW = 2.0**-4
"""Of a large array some entries cancel; where more than this share of them do, lanes have strayed."""

_DECISION_UNITS = 16.0
"""Sides of a comparison that differ by less than this many times their noise are too close.

It is twice the factor K of `allowed`, as each side may err.
"""

MARGINS: Mapping[Precision, float] = dict.fromkeys(FORMATS, 2.0**16) | {"float16": 2.0**4}
"""Intermediates must be this far inside the normal numbers: another way to the same derivative has others.

For float16 the factor can only be 16: what is judged in it lies between 2^-10 and 2^12.
"""

_ALIKE = 2.0**-10
"""Differences are told from each other by their sizes, up to this share: they are computed in another order
where the derivative is evaluated without lanes.
"""

_POOL = 8192
"""How many perturbations are drawn once and reused; a prime step keeps reuse out of step with loops."""

_STEP = 4099

_HELD = 2**18
"""The range of so many numbers is noted before they are let go."""


def turned(signs: Array, sizes: Array, others: Sequence[float]) -> Array:
    """The signs of differences of these sizes, the other one where a size is among `others`."""
    for other in others:
        signs = np.where(np.abs(sizes - other) <= _ALIKE * other, -signs, signs)
    return signs


def unit_roundoff(precision: Precision) -> float:
    """Half the distance from 1 to the next float."""
    return FORMATS[precision].roundoff


def _draws() -> Array:
    draws = np.random.default_rng(0x5EED).uniform(-1.0, 1.0, (_POOL, LANES))
    draws[:, 0] = 0.0
    draws[:, 6] = 1.0
    draws[:, 7] = -1.0
    return draws


_DRAWS = _draws()
_SUM_SIGN = np.array([1.0] * 7 + [-1.0])
"""Reverses lane 7 for sums."""


@functools.lru_cache(maxsize=64)
def _pools(eps: float, points: int, few: bool) -> tuple[Array, Array, Array]:
    """Factors for products, functions and sums."""
    lanes = FEW if few else range(LANES)
    draws, sign = np.tile(_DRAWS[:, lanes], points) * eps, np.tile(_SUM_SIGN[list(lanes)], points)
    return 1.0 + draws, 1.0 + FUNCTION_UNITS * draws, 1.0 + draws * sign


@dataclass(slots=True)
class Range:
    """What a run has met, point by point: the smallest and the largest size of a result, and whether lanes
    strayed far from many results.
    """

    smallest: Array
    largest: Array
    strayed: Array


def _selection(choose: np.ufunc) -> Any:
    def method(self: PerturbedNamespace, a: Array, b: Array) -> Array:
        self._sign(a, b)
        return choose(a, b)

    return method


def _comparison(holds: np.ufunc) -> Any:
    """A scalar truth value is Python's own."""

    def method(self: PerturbedNamespace, a: Array, b: Array) -> Any:
        found = holds(self._sign(a, b), 0)
        return bool(found) if np.ndim(found) == 0 else found

    return method


class PerturbedNamespace(LinalgLanes, TensorLanes, ComplexLanes, Namespace):
    """float64 lanes for `points` points at once. Ints and bools are exact and have no lanes.

    The spread of the lanes times `scale` is what rounding to `precision` does. `seen` collects every float
    result, for `met`.
    """

    def __init__(
        self,
        precision: Precision,
        points: int = 1,
        eps: float | None = None,
        *,
        regrouped: bool = False,
        few: bool = False,
        others: Sequence[float] = (),
    ) -> None:
        """With `regrouped` an addition loses what its operands would after a larger addition. `few` lanes are
        enough for the large arrays of one point.
        """
        self._others = others
        self.open: list[tuple[float, float]] = []
        self.precision = precision
        self._regrouped = regrouped
        self._few = few
        self.points = points
        self.lanes = len(FEW) if few else LANES
        self.width = points * self.lanes
        self.eps = EPS[precision] if eps is None else eps
        self.scale = unit_roundoff(precision) / self.eps
        self.seen: list[Array] = []
        self._held = 0
        self._met = Range(np.ones(points), np.ones(points), np.zeros(points, np.bool_))
        self._next = 0
        self._decision = _DECISION_UNITS * self.scale
        self._operand_units = operand_roundings(precision)
        self._product, self._function, self._sum = _pools(self.eps, points, few)
        self._biased = np.tile(np.array([k > LANES - 3 for k in (FEW if few else range(LANES))]), points)

    def context(self) -> contextlib.AbstractContextManager[None]:
        """The context of a whole evaluation: leaving the range of float64 raises."""
        return np.errstate(over="raise", under="raise", divide="raise", invalid="raise")

    # Values

    def constant(self, value: float | int | complex) -> Array:
        if isinstance(value, complex):
            return joined(self.constant(value.real), self.constant(value.imag))
        number = rounded(value, self.precision)
        if math.isinf(number) and math.isfinite(value):
            raise OutOfRangeError(f"the constant {value:g} is beyond the largest {self.precision}")
        return np.full(self.width, number)

    def array(self, value: ArrayConst) -> Array:
        if value.dtype == "float":
            numbers = all_rounded(numbers_of.get(value), self.precision)
            for beyond in np.flatnonzero(np.isinf(numbers)).tolist():
                self.constant(value.values[beyond].value)
            return self.inputs([numbers.reshape(value.shape)] * self.points)
        entries = [c.value for c in value.values]
        if value.dtype != "complex":
            return np.array(entries, np.int64 if value.dtype == "int" else np.bool_).reshape(value.shape)
        rows = np.array([self.constant(v) for v in entries], np.complex128)
        return rows.reshape(*value.shape, self.width)

    def inputs(self, values: Sequence[Array]) -> Array:
        """One input at each of the points, exact in every lane."""
        rows = np.stack([np.asarray(v, np.float64) for v in values], axis=-1)
        if self._few:
            return np.broadcast_to(rows, (*rows.shape[:-1], self.width))
        return np.repeat(rows, self.lanes, axis=-1)

    def decide(self, predicate: Any) -> bool:
        return bool(predicate)

    # Perturbation

    def _factors(self, pool: Array, shape: tuple[int, ...]) -> Array:
        self._next = k = (self._next + _STEP) % _POOL
        if len(shape) == 1:
            row: Array = pool[k]
            return row
        size = math.prod(shape[:-1])
        if self._few and size > _POOL:  # of arrays whose lanes lie one after another
            rows = [np.resize(np.roll(row, -k), size).reshape(shape[:-1]) for row in pool.T]
            return lanes_last(np.stack(rows))
        if k + size > _POOL:
            return pool[np.arange(k, k + size) % _POOL].reshape(shape)
        return pool[k : k + size].reshape(shape)

    def _result(self, exact: Array, pool: Array) -> Array:
        if is_complex(exact):
            return self._keep(self._perturbed(exact, pool))
        return self._keep(exact * self._factors(pool, exact.shape))

    def _perturbed(self, exact: Array, pool: Array) -> Array:
        """`exact`, perturbed; of a complex number, each part."""
        return self._by_part(lambda part: part * self._factors(pool, part.shape), exact)

    def _keep(self, result: Array) -> Array:
        self.seen.append(result)
        self._held += result.size
        if self._held > _HELD:
            self.met()
        return result

    def met(self) -> Range:
        """The range of all results so far, which are let go."""
        large = [x for x in self.seen if x.size > _POOL]
        small = [x.reshape(-1, self.width) for x in self.seen if x.size <= _POOL]
        self.seen, self._held = [], 0
        met, room = self._met, A_FEW if self._few else 0.0
        for rows in [*large, *([np.concatenate(small)] if small else [])]:
            far: Any = 0
            for (block,) in in_blocks(rows):
                by_point = per_point(block)
                exact = by_point[..., 0]
                with np.errstate(invalid="ignore"):  # of two infinities; constants may be infinite
                    # Of few lanes the last, where all additions err alike, is no sign of chaos.
                    sizes = np.abs(exact)
                    apart = spread(by_point[..., :FEW_DRAWN] if self._few else by_point)
                axes = tuple(range(exact.ndim - 1))
                # In the target, what cancels is as large as its noise, even where the exact lane is near 0.
                at_least = np.where(sizes == 0.0, 1.0, np.maximum(sizes, apart * self.scale))
                met.smallest = np.minimum(met.smallest, at_least.min(axis=axes, initial=1.0))
                met.largest = np.maximum(met.largest, sizes.max(axis=axes, initial=1.0))
                far = far + np.count_nonzero(apart > SMALL * sizes, axis=axes)
            met.strayed |= far > room * (rows.size // self.width)
        return met

    def _by_part(self, function: Callable[[Array], Array], x: Array) -> Array:
        """`function` of x; for a complex x, of each part."""
        return joined(function(x.real), function(x.imag)) if is_complex(x) else function(x)

    def operand(self, x: Array) -> Array:
        """`x` as a factor of a matrix product, which may be rounded before."""
        if not self._operand_units or not has_lanes(x):
            return x

        def rounded_part(part: Array) -> Array:
            return part * (1.0 + self._operand_units * (self._factors(self._product, part.shape) - 1.0))

        return self._by_part(rounded_part, x)

    # Arithmetic

    def elementwise(self, row: Function) -> Callable[..., Array]:
        """What a library's function may err: units of the result, and where the row says so what as many
        units of the arguments change.
        """
        if row.name == "positive":  # a number that is rounded
            return lambda x: self._result(x, self._function)
        if row.composition and not row.numpy:
            return composed(self, row)
        return functools.partial(self._stepped if row.step else self._evaluated, row)

    def _evaluated(self, row: Function, *args: Array, **params: int) -> Array:
        exact = numpy_function(row.name)
        moved = [self._moved(row, a, k == len(args) - 1) for k, a in enumerate(args)]
        result = exact(*(moved if row.conditioned else args), **params)
        self._must_be_finite(row, result)
        return self._result(result, self._function)

    def _must_be_finite(self, row: Function, result: Array) -> None:
        if not np.all(np.isfinite(result)):
            raise FloatingPointError(f"{row.name} is not finite within rounding")

    def _moved(self, row: Function, x: Array, last: bool) -> Array:
        moved: Array = x * self._factors(self._function, x.shape)
        return np.clip(moved, *row.domain) if last else moved

    def _stepped(self, row: Function, x: Array) -> Array:
        """A function with jumps: no lane may be on another step."""
        result: Array = numpy_function(row.name)(x)
        by_point = per_point(result)
        if np.any(by_point != by_point[..., :1]):
            raise UndecidedError(f"rounding decides which step of {row.name} is met")
        return self._keep(result)

    def add(self, a: Array, b: Array) -> Array:
        if not has_lanes(a):
            return np.add(a, b)
        if self._regrouped:
            a, b = (self._perturbed(x, self._sum) for x in (a, b))
        return self._result(a + b, self._sum)

    def subtract(self, a: Array, b: Array) -> Array:
        return self._result(a - b, self._sum) if has_lanes(a) else np.subtract(a, b)

    def multiply(self, a: Array, b: Array) -> Array:
        if not has_lanes(a):
            return np.multiply(a, b)
        return self._product_of(a, b) if is_complex(a) else self._result(a * b, self._product)

    def divide(self, a: Array, b: Array) -> Array:
        quotient = a / b
        # The derivative of a quotient divides by b*b or twice by b: both must stay in range.
        self.seen.append(b * b)
        if is_complex(a):
            return self._near(quotient, self._product, FUNCTION_UNITS)
        return self._result(quotient, self._product)

    negative, remainder = staticmethod(np.negative), staticmethod(np.remainder)

    def integer_pow(self, x: Array, *, n: int) -> Array:
        if n == 0:
            return np.ones_like(x)
        if n == 1:
            return x
        power = x ** float(abs(n))
        # Some compute x**-n as 1 / x**n, and every derivative has the neighbouring powers.
        self.seen += [power, power * x, power / x if np.all(x) else power]
        if n < 0:
            power = 1.0 / power
        if is_complex(x):
            return self._complex_integer_pow(power, x, n)
        units = 1.0 if n == 2 else max(FUNCTION_UNITS, float(abs(n)))
        return self._keep(power * (1.0 + units * (self._factors(self._product, power.shape) - 1.0)))

    def pow(self, a: Array, b: Array) -> Array:
        return self._complex_pow(a, b) if is_complex(a) else self._result(a**b, self._function)

    # Choices

    def _alike(self, differences: Array) -> Array:
        """The sign of a difference (for complex ones, of its modulus), without lanes.

        All lanes and points must agree on it beyond noise, but of a large array.
        """
        by_point = per_point(differences)
        exact = by_point[..., :1]
        noise = np.abs(by_point - exact).max(axis=-1, keepdims=True)
        sizes = np.abs(exact)
        close = (sizes <= self._decision * noise) & (noise > 0)
        signs = np.sign(sizes[..., 0] if is_complex(exact) else exact[..., 0])
        if np.any(close):
            if not self._few or exact.size == 1 or is_complex(exact):
                raise UndecidedError(
                    "the two sides of a comparison differ by less than rounding may change them"
                )
            self.open += zip((sizes[close] / noise[close]).tolist(), sizes[close].tolist(), strict=True)
            signs = np.where(close[..., 0], turned(signs, sizes[..., 0], self._others), signs)
        if self.points > 1 and np.any(signs != signs[..., :1]):
            raise UndecidedError("a comparison is true at one point and false at another")
        result: Array = signs[..., 0]
        return result

    def _sign(self, a: Array, b: Array) -> Array:
        return self._alike(np.subtract(a, b)) if has_lanes(a) else np.sign(a - b)

    def abs(self, x: Array) -> Array:
        if has_lanes(x):
            if is_complex(x):
                return self._complex_abs(x)
            self._alike(x)
        return np.abs(x)

    def sign(self, x: Array) -> Array:
        if has_lanes(x):
            self._alike(x)
        return np.sign(x)

    maximum, minimum = _selection(np.maximum), _selection(np.minimum)

    def where(self, condition: Any, a: Array, b: Array) -> Array:
        chosen = np.asarray(condition)
        return np.where(chosen[..., np.newaxis] if has_lanes(a) else chosen, a, b)

    less, less_equal = _comparison(np.less), _comparison(np.less_equal)
    greater, greater_equal = _comparison(np.greater), _comparison(np.greater_equal)
    equal, not_equal = _comparison(np.equal), _comparison(np.not_equal)

    logical_and, logical_or = staticmethod(np.logical_and), staticmethod(np.logical_or)
    logical_not = staticmethod(np.logical_not)

    # Folds

    def _fold_sum(self, x: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
        """Each addition may lose a unit of the absolute values so far, as the order is not fixed."""
        rank = x.ndim - 1
        kept = [a for a in range(rank) if a not in axes]
        count = math.prod(x.shape[a] for a in axes)
        if count > 1 and x.size >= MANY * self.width:
            sizes = np.abs(x[..., :: self.lanes]).sum(axis=axes, keepdims=keepdims)
            return self._of_norms(x.sum(axis=axes, keepdims=keepdims), sizes, count)
        rows = np.transpose(x, [*axes, *kept, rank]).reshape(count, *(x.shape[a] for a in kept), self.width)
        total = self._by_part(self._total, rows)
        if keepdims:
            total = total.reshape(*(1 if a in axes else x.shape[a] for a in range(rank)), self.width)
        return self._keep(total)

    def _total(self, rows: Array) -> Array:
        total: Array = rows.sum(axis=0)
        if len(rows) > 1:
            sizes = np.cumsum(np.abs(rows), axis=0)[1:]
            self.seen.append(sizes[-1])  # no partial sum is larger
            total = total + (sizes * (self._factors(self._sum, sizes.shape) - 1.0)).sum(axis=0)
        return total

    def _of_norms(self, total: Array, sizes: Array, count: int) -> Array:
        """A sum of `count` terms, perturbed as a whole; `sizes` are those of the terms together, by point."""
        additions = np.where(self._biased, (count + 1.0) / 2.0, math.sqrt(count / 3.0))
        if self._few and sizes.size > _POOL and not is_complex(total):  # part by part takes a fifth
            self.seen.append(sizes)
            self._next = first = (self._next + _STEP) % _POOL
            draws = (np.roll(self._sum, -first, axis=0) - 1.0) * additions
            for part, own in in_blocks(total, sizes):
                for k in range(1, self.lanes):
                    losses = np.resize(draws[:, k], own.shape[:-1])
                    losses *= own[..., 0]
                    part[..., k] += losses
            return self._keep(total)
        sizes = np.broadcast_to(sizes[..., np.newaxis], (*sizes.shape, self.lanes)).reshape(total.shape)
        self.seen.append(sizes)  # no partial sum is larger

        def strayed(part: Array) -> Array:
            losses = self._factors(self._sum, part.shape) - 1.0
            losses *= additions
            losses *= sizes
            losses += part
            return losses

        return self._keep(self._by_part(strayed, total))

    def contracted(self, product: Callable[..., Array], count: int, *operands: Array) -> Array:
        """A product of arrays that adds up `count` terms for each entry. `product` is that of plain ones."""
        sizes = [product(*(np.abs(x[..., k]) for x in operands)) for k in range(0, self.width, self.lanes)]
        total = np.empty((self.width, *sizes[0].shape), np.result_type(*operands))
        is_one = not any(x.strides[-1] for x in operands)  # of inputs and constants all lanes are the same
        for k, lane in enumerate(total[:1] if is_one else total):
            lane[...] = product(*(np.ascontiguousarray(x[..., k]) for x in operands))
        if is_one:
            total[1:] = total[0]
        return self._of_norms(lanes_last(total), np.stack(sizes, axis=-1), count)

    def sum(self, x: Array, *, axis: Any, keepdims: bool) -> Array:
        if not has_lanes(x):
            return np.asarray(x.sum(axis=axis, keepdims=keepdims))
        return self._fold_sum(x, normalize_axes(axis, x.ndim - 1, "sum"), keepdims)

    def mean(self, x: Array, *, axis: ParamValue, keepdims: bool) -> Array:
        axes = normalize_axes(axis, x.ndim - 1, "mean")
        count = math.prod(x.shape[a] for a in axes)
        return self._result(self._fold_sum(x, axes, keepdims) / count, self._product)

    def prod(self, x: Array, *, axis: Any, keepdims: bool) -> Array:
        if not has_lanes(x):
            return np.asarray(x.prod(axis=axis, keepdims=keepdims))
        axes = normalize_axes(axis, x.ndim - 1, "prod")
        self.see_partial_products(x, axes)
        factors = x * (1.0 + self._draws(x, self._product))
        return self._keep(factors.prod(axis=axes, keepdims=keepdims))

    def see_partial_products(self, x: Array, axes: tuple[int, ...]) -> None:
        """The largest and the smallest product of some of the entries, as the order is not fixed."""
        sizes = np.where(x == 0.0, 1.0, np.abs(x))
        self.seen += [np.prod(np.maximum(sizes, 1.0), axis=axes), np.prod(np.minimum(sizes, 1.0), axis=axes)]

    def cumulative_sum(self, x: Array, *, axis: int) -> Array:
        if not has_lanes(x):
            return np.cumsum(x, axis=axis)
        along = axis % (x.ndim - 1)

        def running(part: Array) -> Array:
            losses = np.cumsum(np.abs(part), axis=along) * (self._factors(self._sum, part.shape) - 1.0)
            return np.cumsum(part, axis=along) + np.cumsum(losses, axis=along)

        return self._keep(self._by_part(running, x))

    def matmul(self, a: Array, b: Array) -> Array:
        a, b = self.operand(a), self.operand(b)
        left = a[np.newaxis, :, :] if a.ndim == 2 else a
        right = b[:, np.newaxis, :] if b.ndim == 2 else b
        batch = np.broadcast_shapes(left.shape[:-3], right.shape[:-3])
        rows, count, columns = left.shape[-3], left.shape[-2], right.shape[-2]
        if math.prod(batch) * rows * count * columns >= MANY:
            result = self.contracted(np.matmul, count, left, right)
        else:
            products = self.multiply(left[..., :, :, np.newaxis, :], right[..., np.newaxis, :, :, :])
            result = self._fold_sum(products, (products.ndim - 3,), keepdims=False)
        if b.ndim == 2:
            result = result[..., 0, :]
        if a.ndim == 2:
            result = result[..., 0, :] if b.ndim == 2 else result[..., 0, :, :]
        return result

    # Shapes: the lanes stay last

    def astype(self, x: Any, *, dtype: ParamValue) -> Any:
        if dtype not in ("float", "complex"):
            return np.asarray(x).astype({"int": np.int64, "bool": np.bool_}[str(dtype)])[()]
        value = np.asarray(x)
        if not has_lanes(value):
            value = np.repeat(value.astype(np.float64)[..., np.newaxis], self.width, axis=-1)
        return value if dtype == "float" else value.astype(np.complex128)

    def reshape(self, x: Any, *, shape: Any) -> Array:
        return np.reshape(x, self._with_lanes(x, shape))

    def broadcast_to(self, x: Any, *, shape: Any) -> Array:
        return np.broadcast_to(x, self._with_lanes(x, shape))

    def permute_dims(self, x: Array, *, axes: Any) -> Array:
        rank = _rank(x)
        return np.transpose(x, [*(a % rank for a in axes), *range(rank, x.ndim)])

    def flip(self, x: Array, *, axis: int) -> Array:
        return np.flip(x, axis % _rank(x))

    def concat(self, *arrays: Array, axis: int) -> Array:
        return np.concatenate(arrays, axis % _rank(arrays[0]))

    def stack(self, *arrays: Any, axis: int) -> Array:
        return np.stack(arrays, axis % (_rank(arrays[0]) + 1))

    def _with_lanes(self, x: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
        return (*shape, self.width) if has_lanes(x) else shape

    def index(self, x: Array, *indices: int, pattern: Any) -> Any:
        return x[index_key(pattern, indices)]

    def index_update(self, x: Array, value: Any, *indices: int, pattern: Any) -> Array:
        result = x.copy()
        result[index_key(pattern, indices)] = value
        return result


def _rank(x: Any) -> int:
    return np.ndim(x) - has_lanes(x)
