"""What is accepted, row by row of the conventions: at a point of a program, or at a call.

A function takes the situation and returns the alternatives: see `accepted`. Of a call that is not plain it
returns what follows from the derivative alone, or `UNDEFINED`.
"""

from __future__ import annotations

import ast
import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from gradfuzz.engine.rules.functions import unbroadcast
from gradfuzz.fuzzer.conventions.accepted import (
    ENDS,
    RAISES,
    UNDEFINED,
    Accepted,
    Accepts,
    Span,
    exactly,
    right_by,
)
from gradfuzz.fuzzer.conventions.excluded import (
    has_crossed_bounds,
    has_no_label,
    integers,
    is_not_hermitian,
    is_square,
)
from gradfuzz.fuzzer.conventions.situation import AtPoint, OfCall, Situation
from gradfuzz.fuzzer.results.call import Argument
from gradfuzz.fuzzer.results.finding import FINITE
from gradfuzz.fuzzer.results.views import pulled, seen
from gradfuzz.fuzzer.tolerance.differences import Slope, slope
from gradfuzz.oracles.base import Array


def between(at: Situation) -> Accepted:
    """What is right: at a kink what lies between the slopes on both sides. At a jump nobody knows."""
    return [at.right]


def or_nan(at: Situation) -> Accepted:
    """The same, or NaN."""
    return [{name: replace(span, nan=True) for name, span in at.right.items()}]


def of_the_side_taken(at: AtPoint) -> Accepted:
    """The gradient of the sides that the comparisons take. Jumps at one point may cancel: the function is
    smooth then, and each side of it has another slope.
    """
    return None if at.side is None or at.case.kind not in FINITE else [at.side]


def anything(at: Situation) -> Accepted:
    """Any gradient."""
    return [
        {
            n: Span(np.full(g.shape, -np.inf), np.full(g.shape, np.inf)).or_no_number()
            for n, g in at.got.items()
        }
    ]


def of_failed(at: OfCall) -> Accepted:
    """The library says that its factorization failed."""
    info = getattr(at.returned(), "info", None)
    return UNDEFINED if info is not None and np.any(np.asarray(info) != 0) else None


def lies_outside(at: OfCall) -> Accepted:
    """The gradient raises because an index lies outside of what is returned."""
    if not any(words in at.case.message for words in ("out of bounds", "index should less than")):
        return None
    (result,) = at.floats(at.returned())
    plane = result.shape[-int(at.call.function[-2]) :]
    return UNDEFINED if any(np.any(x >= np.prod(plane)) for x in integers(at.call)) else None


def raises_by_a_part(at: OfCall) -> Accepted:
    """The array of the numbers has another shape than that of their places."""
    _, *others = at.arrays
    return RAISES if len({x.shape for x in others}) > 1 and "shape" in at.case.message else None


def _or_no_number(at: OfCall) -> Accepted:
    """Each entry is right, or no number. Nothing is predicted where the derivative is unknown."""
    return [{name: span.or_no_number() for name, span in at.right.items()}]


def by_zero_pivots(at: OfCall) -> Accepted:
    """A pivot is 0, and divided by. Nothing is predicted where it only rounds to next to 0."""
    from scipy.linalg import lu

    matrices = [x for x in at.differentiated if x.ndim > 1 and x.size]
    flat = [m for x in matrices for m in x.astype(np.complex128).reshape(-1, *x.shape[-2:])]
    if not any(np.linalg.matrix_rank(m) < min(m.shape) for m in flat):
        return None
    pivots = [np.diagonal(lu(m)[2]) for m in flat]
    return _or_no_number(at) if any(np.any(p == 0) for p in pivots) else UNDEFINED


def by_projectors(at: OfCall) -> Accepted:
    """A matrix I - tau v v^H has no inverse: tau |v|^2 is 1."""
    a, taus = (x.astype(np.complex128) for x in at.arrays[:2])
    below = np.sum(np.tril(np.abs(a) ** 2, -1), axis=-2)[..., : taus.shape[-1]]
    is_one = np.any(np.isclose(taus * (1 + below), 1, rtol=1e-9, atol=0.0))
    return _or_no_number(at) if is_one else None


def of_equal_numbers(at: OfCall) -> Accepted:
    """No number where all numbers along the axes are equal, and more than one; the others as they are."""
    ((argument, names), *_) = at.named()
    x = seen(argument)
    told = ast.literal_eval(at.given("dim", 1) or at.given("axis", 1) or "None")
    told = None if isinstance(told, bool) else told  # whether it is unbiased
    axes = (told,) if type(told) is int else told or tuple(range(x.ndim))
    is_equal = np.all(x == functools.reduce(lambda y, k: np.take(y, [0], k), axes, x), axes, keepdims=True)
    if x.size == is_equal.size or not np.any(is_equal):
        return None
    tied = pulled(argument, np.broadcast_to(is_equal, x.shape)) > 0
    return [{n: s.or_no_number(tied) if n in names else s for n, s in at.right.items()}]


def by_rows(at: OfCall) -> Accepted:
    """Rows of weights without a gradient at padding_idx, and divided by the counts of their indices."""
    padding = at.given("padding_idx", 2) or ""
    is_padded = at.call.function == "torch.nn.functional.embedding" and padding.lstrip("-").isdigit()
    place = None if ".nn." in at.call.function else 3
    is_scaled = at.given("scale_grad_by_freq", place) == "True"
    if not (is_padded or is_scaled):
        return None
    weights, names = next((a, n) for a, n in at.named() if seen(a).ndim == 2)
    factor = np.ones(seen(weights).shape)
    if is_scaled:
        counts = np.bincount(integers(at.call)[0].ravel().astype(int), minlength=len(factor))
        factor /= np.maximum(counts, 1)[:, None]
    if is_padded:
        factor[int(padding)] = 0.0
    factor = pulled(weights, factor)
    return [{name: one.times(factor) if name in names else one for name, one in at.right.items()}]


def not_renormed(at: OfCall) -> Accepted:
    """The gradient without the renorming; by a maximum it depends on the new weights."""
    if not at.has("max_norm"):
        return None
    if any(a.literal == "'max'" for a in at.call.arguments):
        return UNDEFINED
    rest = tuple(a for a in at.call.arguments if a.keyword not in ("max_norm", "norm_type"))
    return [at.measured(replace(at.call, arguments=rest))]


def of_clamped_variances(at: OfCall) -> Accepted:
    """The gradient of a normal loss at the clamped variances, as if nothing had been clamped."""
    least = float(at.given("eps", 4) or "1e-6")
    (variances,) = (
        a for k, a in enumerate(at.call.arguments) if a.keyword == "var" or (k == 2 and not a.keyword)
    )
    names = next((n for a, n in at.named() if a is variances), None)
    if names is None or np.all(seen(variances) >= least):
        return None
    clamped = {n: np.maximum(x, least) if n in names else x for n, x in at.case.point.inputs.items()}
    rest = [a for k, a in enumerate(at.call.arguments) if a.keyword != "eps" and (k != 4 or a.keyword)]
    free = replace(at.call, arguments=(*rest[:4], Argument("eps", literal="1e-300"), *rest[4:]))
    return [at.measured(free, inputs=clamped)]


def of_first_vectors(at: OfCall) -> Accepted:
    """The gradient by the singular vectors that belong to a singular value, where all are asked for:
    `torch.linalg.svd` has them by default, and `torch.svd` where its flag `some` is off.
    """
    shapes = [x.shape for x in at.differentiated]
    flags = [a.literal for a in at.call.arguments if a.keyword in ("", "some", "full_matrices")]
    is_off = "False" in [flag for flag in flags if flag in ("True", "False")][:1]
    is_full = not is_off if at.call.function.startswith("torch.linalg.") else is_off
    if not is_full or not any(len(s) > 1 and s[-1] != s[-2] for s in shapes):
        return None
    few, wide = sorted(shapes[0][-2:])
    is_by_row = at.call.function.startswith("torch.linalg.") and shapes[0][-1] == wide

    def weight(w: Array, y: Array) -> Array:
        if y.ndim < len(shapes[0]) or y.shape[-2:] != (wide, wide):
            return w
        is_first = np.arange(wide) < few
        return np.asarray(w * (is_first[:, None] if is_by_row else is_first))

    return [at.measured(at.call, weight)]


def of_either_side(at: OfCall) -> Accepted:
    """The derivative of arcsine or arccosine, or the opposite one for a number on the real axis beyond 1:
    there it is imaginary, and the conjugate of that on the other side.
    """
    spans = None
    for argument, names in at.named():
        z = seen(argument)
        is_on = pulled(argument, np.where((np.imag(z) == 0.0) & (np.abs(np.real(z)) > 1.0), 1.0, 0.0)) > 0
        if len(names) < 2 or not np.any(is_on):
            continue
        spans = at.right if spans is None else spans
        right, got = spans[names[0]].low, at.got[names[0]]
        sign = np.where(is_on & (np.abs(got + right) < np.abs(got - right)), -1.0, 1.0)
        spans |= {name: Span(sign * spans[name].low, sign * spans[name].low) for name in names}
    if spans is None:
        return None
    return [spans] if at.case.question.order == 1 else UNDEFINED


def without_zeros(at: OfCall) -> Accepted:
    """The gradient of the roots y of sums of powers that are not 0: that by the sums, weighted by y^(1 - p),
    times x^(p - 1).
    """
    order = next(
        a for k, a in enumerate(at.call.arguments) if a.keyword == "norm_type" or (k, a.keyword) == (1, "")
    )
    roots = np.asarray(at.case.answer.values[0], np.float64)
    if np.all(roots):
        return None
    if order.literal is None:
        return UNDEFINED
    p, name = float(order.literal), at.case.question.wrt[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        powers = np.where(roots == 0, 0.0, roots ** (1.0 - p))
        factor = np.asarray(at.case.point.inputs[name], np.float64) ** (p - 1.0)
    linear = at.call.with_argument(order, replace(order, literal="1.0"))
    spans = at.measured(linear, lambda w, _: w * powers)
    if len(spans) > 1:
        return UNDEFINED
    ends = spans[name].low * factor, spans[name].high * factor
    return [{name: Span(np.minimum(*ends), np.maximum(*ends))}]


def of_log_probabilities(at: OfCall) -> Accepted:
    """That by a free number, and the weight of the loss times the probability: the former sums to minus the
    weight. Labels beyond the classes are not checked, and what is read there is undefined.
    """
    spans, ((argument, names), *_) = at.right, list(at.named())
    if not at.is_plain or has_no_label(at.call):
        return UNDEFINED
    free = spans[names[0]].low
    powers = np.exp(np.asarray(argument.array, np.float64))
    whole = free - np.sum(free, axis=-1, keepdims=True) * powers
    off = np.sum(np.broadcast_to(at.granted_to(names[0]), free.shape), axis=-1, keepdims=True) * powers
    return [{**spans, names[0]: Span(whole - off, whole + off)}]


def zero(at: OfCall) -> Accepted:
    return [exactly({name: np.zeros(np.shape(g)) for name, g in at.case.answer.gradient.items()})]


def by_the_symmetric_part(at: OfCall) -> Accepted:
    """The gradient by the Hermitian part of each square matrix.

    Inside other functions the two triangles of a matrix that is not Hermitian have slopes of their own.
    """
    if at.call.function.endswith("pinv") and at.given("hermitian", 2) != "True":
        return None
    if at.call.form not in ("alone", "compiled") and is_not_hermitian(at.call):
        return UNDEFINED
    spans = at.right
    for argument, names in at.named():
        if argument.layout == "expanded":  # the same matrix twice
            argument = replace(argument, layout="contiguous")
        for name, sign in zip(names, (1.0, -1.0), strict=False):
            granted = np.broadcast_to(at.granted_to(name), spans[name].low.shape)
            granted = np.where(at.is_unknown(name), np.inf, granted)
            x, off = (seen(replace(argument, array=one)) for one in (spans[name].low, granted))
            if is_square(x):
                half, off = (x + sign * np.swapaxes(x, -1, -2)) / 2.0, np.swapaxes(off, -1, -2) / 2.0
                spans[name] = Span(pulled(argument, half - off), pulled(argument, half + off))
    return [spans]


def to_a_tolerance(at: OfCall) -> Accepted:
    """As near as the library's own tolerance makes it: a residual of sqrt(eps) by `torch.lobpcg`, of 1e-5 by
    JAX's solvers. Nothing is predicted where the call says itself when to stop.
    """
    if at.has("niter", "maxiter", "tol", "atol"):
        return UNDEFINED
    if right_by(at.case.truth) is None:
        return None
    residual = 1e-5 if at.call.library == "jax" else float(np.finfo(at.case.question.precision).eps) ** 0.5
    sizes = (np.max(np.abs(one.low), initial=0.0) for one in at.right.values())
    off = 1e3 * residual * max(sizes, default=0.0)
    return [{name: Span(one.low - off, one.high + off) for name, one in at.right.items()}]


def straight_through(at: OfCall) -> Accepted:
    """The cotangent, or the cotangent in fewer digits."""
    names, weights, argument = at.case.question.wrt, at.cotangents, next(at.call.differentiated())
    if len(weights) != len(names):
        return UNDEFINED
    first, *others = weights
    there = np.asarray(pulled(argument, first), np.asarray(argument.array).dtype)
    (fewer,) = at.floats(at.returned(there))
    both = ([one, *others] for one in (first, fewer))
    return [exactly({n: pulled(argument, w) for n, w in zip(names, ws, strict=True)}) for ws in both]


def of_no_case(at: OfCall) -> Accepted:
    """Where the choice is none of the cases, each of them gets nothing, or the cotangent."""
    first, *cases = at.call.arrays()
    which = seen(first).astype(np.int64)
    is_none = (which < 0) | (which >= len(cases))
    if not np.any(is_none):
        return None
    spans = at.right
    for argument, names in at.named():
        for name, w in zip(names, at.cotangents, strict=False):
            free = pulled(argument, np.broadcast_to(is_none, np.shape(w))) > 0
            ends = [np.where(free, end(pulled(argument, w), 0.0), spans[name].low) for end in ENDS]
            spans[name] = Span(*ends)
    return [spans]


def of_crossed_bounds(at: OfCall) -> Accepted:
    """Where the bounds cross the number gets nothing, and each bound nothing or the cotangent."""
    if not has_crossed_bounds(at.call):
        return None
    (_, low, high), spans, weights = at.arrays, at.right, at.cotangents
    if len(spans) != 3:
        return UNDEFINED
    cross = np.where(np.broadcast_to(low > high, weights[0].shape), weights[0], 0.0)
    for argument, (name,) in list(at.named())[1:]:
        shape, one = seen(argument).shape, spans[name]
        less, more = (pulled(argument, unbroadcast(end(cross, 0.0), shape)) for end in ENDS)
        spans[name] = Span(np.minimum(one.low, less), np.maximum(one.high, more))
    return [spans]


def of_logits(at: OfCall) -> Accepted:
    """The gradient by the logits as if the labels, that of the keyword or by its place, had the sum 1. Paddle
    takes classes for labels unless a flag is set.
    """
    if at.call.library == "paddle" and at.given("soft_label", 2) != "True":
        return None
    arrays = [one for one in at.call.arrays() if one.array is not None]
    place = 0 if at.call.library == "tensorflow" else 1
    labels = next((one for one in arrays if one.keyword in ("labels", "targets", "label")), arrays[place])
    logits = next(one for one in arrays if one is not labels)
    total = np.sum(seen(labels), axis=-1, keepdims=True)
    if np.allclose(total, 1.0):
        return None
    spans, weight = at.right, at.case.question.weights[0]
    is_known = at.is_plain and not at.has("axis", "weights", "label_smoothing")
    if weight is None or np.size(weight) != total.size or not is_known:
        return UNDEFINED
    powers = np.exp(seen(logits) - np.max(seen(logits), axis=-1, keepdims=True))
    shares = np.reshape(weight, total.shape) * (1.0 - total) * powers / np.sum(powers, axis=-1, keepdims=True)
    for argument, names in at.named():
        if argument is logits:
            whole = spans[names[0]].low + pulled(logits, shares)
            spans[names[0]] = Span(whole, whole)
    return [spans]


def of_a_factor(at: OfCall) -> Accepted:
    """The triangle of a Cholesky factor that is not read, and the imaginary part of its diagonal, are free in
    reverse mode. Nothing is predicted where they are not 0.
    """
    factor = [one for one in at.call.arrays() if seen(one).ndim > 1][-1]
    x, is_upper = seen(factor), any(a.literal == "True" for a in at.call.arguments)
    unread = np.broadcast_to(np.tri(x.shape[-1], k=-1, dtype=bool), x.shape)
    unread = unread if is_upper else np.swapaxes(unread, -1, -2)
    diagonal = np.broadcast_to(np.eye(x.shape[-1], dtype=bool), x.shape)
    if np.any(x[unread]) or np.any(np.imag(x[diagonal])):
        return UNDEFINED
    if right_by(at.case.truth) is None or not factor.is_differentiated:
        return None
    spans = at.right
    names = next(names for one, names in at.named() if one is factor)
    for k, name in enumerate(names):
        free = (unread & (at.case.question.modes[-1] == "rev")) | (diagonal & (k > 0))
        is_free, one = pulled(factor, free) > 0, spans[name]
        spans[name] = Span(np.where(is_free, -np.inf, one.low), np.where(is_free, np.inf, one.high))
    return [spans]


def by_the_inverse(distribution: Callable[..., float]) -> Accepts:
    """A draw x is differentiated as if it were made by the inverse of its distribution F(x; p) = u, where u
    stays: dx/dp = -(dF/dp) / (dF/dx).
    """

    def slope_at(numbers: Sequence[float], place: int) -> Slope | None:
        def moved(t: float) -> float:
            return distribution(*numbers[:place], numbers[place] + t, *numbers[place + 1 :])

        return slope(moved, abs(numbers[place]) or 1.0, _OF_A_DISTRIBUTION)

    def accepts(at: OfCall) -> Accepted:
        floats = [one for one in at.call.arrays() if seen(one).dtype.kind == "f"]
        if len(at.case.answer.values) != 1 or len(at.cotangents) != 1:
            return UNDEFINED
        draws, (weight,) = np.asarray(at.case.answer.values[0], np.float64), at.cotangents
        columns = [np.broadcast_to(seen(one).astype(np.float64), draws.shape) for one in floats]
        spans = {}
        for argument, (name,) in at.named():
            slopes, bounds = np.zeros(draws.shape), np.zeros(draws.shape)
            for place in np.ndindex(draws.shape):
                numbers = [*(float(column[place]) for column in columns), float(draws[place])]
                by, density = slope_at(numbers, floats.index(argument)), slope_at(numbers, len(floats))
                if by is None or density is None or not abs(density.value) > density.bound:
                    return UNDEFINED
                slopes[place] = -by.value / density.value * weight[place]
                off = by.bound * abs(weight[place]) + density.bound * abs(slopes[place])
                bounds[place] = off / (abs(density.value) - density.bound)
            ends = (slopes - bounds, slopes + bounds)
            spans[name] = Span(*(pulled(argument, unbroadcast(end, seen(argument).shape)) for end in ends))
        return [spans]

    return accepts


_OF_A_DISTRIBUTION = 2.0**-50
"""The relative error of SciPy's distributions."""


def gamma(alpha: float, x: float) -> float:
    from scipy.special import gammainc

    return float(gammainc(alpha, x))


def truncated_normal(mean: float, deviation: float, low: float, high: float, x: float) -> float:
    from scipy.special import ndtr

    below, here, above = (float(ndtr((end - mean) / deviation)) for end in (low, x, high))
    return (here - below) / (above - below) if above > below else math.nan
