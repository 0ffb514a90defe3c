"""What is accepted at a call, row by row of the conventions.

A function takes a call and its wrong case, and returns the alternatives: see `accepted`. Where the weights of
the question are not the cotangents of the function itself, as inside other functions and at second order, it
returns what follows from the derivative alone, or `UNDEFINED`.
"""

from __future__ import annotations

import ast
import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from gradfuzz.calls.asking import returned, values_of
from gradfuzz.calls.drawing.views import seen
from gradfuzz.calls.judging.accepted import (
    ENDS,
    RAISES,
    UNDEFINED,
    Accepted,
    Accepts,
    Span,
    exactly,
    granted_to,
    integers,
    is_plain,
    is_square,
    measured,
    named,
    pulled,
    right,
)
from gradfuzz.calls.judging.excluded import has_crossed_bounds
from gradfuzz.calls.libraries.library import library_named
from gradfuzz.fuzzer.results.call import Argument, Call
from gradfuzz.fuzzer.results.finding import CheckResult
from gradfuzz.oracles.base import Array
from gradfuzz.testing.measuring.differences import Slope, slope


def _given(call: Call, keyword: str, place: int | None = None) -> str | None:
    """The literal of an argument, by name or by place."""
    by_place = call.arguments[place : place + 1] if place is not None else ()
    found = [*(a for a in call.arguments if a.keyword == keyword), *(a for a in by_place if not a.keyword)]
    return next((a.literal for a in found if a.literal is not None), None)


def _has(call: Call, *keywords: str) -> bool:
    return any(argument.keyword in keywords for argument in call.arguments)


def lies_outside(call: Call, case: CheckResult) -> Accepted:
    """The gradient raises because an index lies outside of what is returned."""
    if "out of bounds" not in case.message:
        return None
    library = library_named(call.library)
    (result,) = library.leaves(returned(call, library, [library.array(value) for value in values_of(call)]))
    plane = np.shape(library.numpy(result))[-int(call.function[-2]) :]
    return UNDEFINED if any(np.any(x >= np.prod(plane)) for x in integers(call)) else None


def raises_by_a_part(call: Call, case: CheckResult) -> Accepted:
    """The array of the numbers has another shape than that of their places."""
    _, *shapes = [np.shape(seen(one)) for one in call.arrays()]
    return RAISES if len(set(shapes)) > 1 and "shape" in case.message else None


def _or_not_finite(call: Call, case: CheckResult) -> Accepted:
    """Each entry is right, or no number. Nothing is predicted where the derivative is unknown."""
    spans = right(call, case)
    return UNDEFINED if spans is None else [{name: replace(one, nan=True) for name, one in spans.items()}]


def by_zero_pivots(call: Call, case: CheckResult) -> Accepted:
    """A pivot is 0, and divided by. Nothing is predicted where it only rounds to next to 0."""
    from scipy.linalg import lu

    matrices = [x for one in call.differentiated() if (x := seen(one)).ndim > 1 and x.size]
    flat = [m for x in matrices for m in x.astype(np.complex128).reshape(-1, *x.shape[-2:])]
    if not any(np.linalg.matrix_rank(m) < min(m.shape) for m in flat):
        return None
    pivots = [np.diagonal(lu(m)[2]) for m in flat]
    return _or_not_finite(call, case) if any(np.any(p == 0) for p in pivots) else UNDEFINED


def by_projectors(call: Call, case: CheckResult) -> Accepted:
    """A matrix I - tau v v^H has no inverse: tau |v|^2 is 1."""
    a, taus = [seen(one).astype(np.complex128) for one in call.arrays()][:2]
    below = np.sum(np.tril(np.abs(a) ** 2, -1), axis=-2)[..., : taus.shape[-1]]
    is_one = np.any(np.isclose(taus * (1 + below), 1, rtol=1e-9, atol=0.0))
    return _or_not_finite(call, case) if is_one else None


def of_equal_numbers(call: Call, case: CheckResult) -> Accepted:
    """No number where all numbers along the axes are equal, and more than one; the others as they are."""
    ((argument, names), *_) = named(call, case)
    x = seen(argument)
    told = ast.literal_eval(_given(call, "dim", 1) or _given(call, "axis", 1) or "None")
    told = None if isinstance(told, bool) else told  # whether it is unbiased
    axes = (told,) if type(told) is int else told or tuple(range(x.ndim))
    is_equal = np.all(x == functools.reduce(lambda y, k: np.take(y, [0], k), axes, x), axes, keepdims=True)
    if x.size == is_equal.size or not np.any(is_equal):
        return None
    spans = right(call, case)
    if spans is None:
        return UNDEFINED
    tied = pulled(argument, np.broadcast_to(is_equal, x.shape)) > 0
    return [{name: replace(spans[name], nan=tied) if name in names else spans[name] for name in spans}]


def by_rows(call: Call, case: CheckResult) -> Accepted:
    """Rows of weights without a gradient at padding_idx, and divided by the counts of their indices."""
    spans = right(call, case)
    padding = _given(call, "padding_idx", 2) or ""
    is_padded = call.function == "torch.nn.functional.embedding" and padding.lstrip("-").isdigit()
    place = None if call.function.startswith("torch.nn") else 3
    is_scaled = _given(call, "scale_grad_by_freq", place) == "True"
    if not (is_padded or is_scaled):
        return None
    if spans is None:
        return UNDEFINED
    weights, names = next((a, n) for a, n in named(call, case) if seen(a).ndim == 2)
    factor = np.ones(seen(weights).shape)
    if is_scaled:
        counts = np.bincount(integers(call)[0].ravel().astype(int), minlength=len(factor))
        factor /= np.maximum(counts, 1)[:, None]
    if is_padded:
        factor[int(padding)] = 0.0
    factor = pulled(weights, factor)
    return [{name: one.times(factor) if name in names else one for name, one in spans.items()}]


def not_renormed(call: Call, case: CheckResult) -> Accepted:
    """The gradient without the renorming; by a maximum it depends on the new weights."""
    if not _has(call, "max_norm"):
        return None
    if not is_plain(call, case) or any(a.literal == "'max'" for a in call.arguments):
        return UNDEFINED
    rest = tuple(a for a in call.arguments if a.keyword not in ("max_norm", "norm_type"))
    spans = measured(replace(call, arguments=rest), case)
    return UNDEFINED if spans is None else [spans]


def of_clamped_variances(call: Call, case: CheckResult) -> Accepted:
    """The gradient of a normal loss at the clamped variances, as if nothing had been clamped."""
    least = float(_given(call, "eps", 4) or "1e-6")
    (variances,) = (
        a for k, a in enumerate(call.arguments) if a.keyword == "var" or (k == 2 and not a.keyword)
    )
    names = next((n for a, n in named(call, case) if a is variances), None)
    if names is None or np.all(seen(variances) >= least):
        return None
    if not is_plain(call, case):
        return UNDEFINED
    (point,) = case.question.points
    clamped = {n: np.maximum(x, least) if n in names else x for n, x in point.inputs.items()}
    question = replace(case.question, points=(replace(point, inputs=clamped),))
    rest = [a for k, a in enumerate(call.arguments) if a.keyword != "eps" and (k != 4 or a.keyword)]
    free = replace(call, arguments=(*rest[:4], Argument("eps", literal="1e-300"), *rest[4:]))
    spans = measured(free, replace(case, question=question))
    return UNDEFINED if spans is None else [spans]


def of_first_vectors(call: Call, case: CheckResult) -> Accepted:
    """The gradient by the singular vectors that belong to a singular value, where all are asked for:
    `torch.linalg.svd` has them by default, and `torch.svd` where its flag `some` is off.
    """
    shapes = [np.shape(seen(one)) for one in call.differentiated()]
    flags = [a.literal for a in call.arguments if a.keyword in ("", "some", "full_matrices")]
    is_off = "False" in [flag for flag in flags if flag in ("True", "False")][:1]
    is_full = not is_off if call.function.startswith("torch.linalg.") else is_off
    if not is_full or not any(len(s) > 1 and s[-1] != s[-2] for s in shapes):
        return None
    if not is_plain(call, case):
        return UNDEFINED
    few, wide = sorted(shapes[0][-2:])
    is_by_row = call.function.startswith("torch.linalg.") and shapes[0][-1] == wide

    def weight(w: Array, y: Array) -> Array:
        if y.ndim < len(shapes[0]) or y.shape[-2:] != (wide, wide):
            return w
        is_first = np.arange(wide) < few
        return np.asarray(w * (is_first[:, None] if is_by_row else is_first))

    spans = measured(call, case, weight)
    return UNDEFINED if spans is None else [spans]


def without_zeros(call: Call, case: CheckResult) -> Accepted:
    """The gradient of the roots y of sums of powers that are not 0: that by the sums, weighted by y^(1 - p),
    times x^(p - 1).
    """
    order = next(
        a for k, a in enumerate(call.arguments) if a.keyword == "norm_type" or (k, a.keyword) == (1, "")
    )
    roots = np.asarray(case.answer.values[0], np.float64)
    if np.all(roots):
        return None
    if not is_plain(call, case) or order.literal is None:
        return UNDEFINED
    p, name = float(order.literal), case.question.wrt[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        powers = np.where(roots == 0, 0.0, roots ** (1.0 - p))
        factor = np.asarray(case.point.inputs[name], np.float64) ** (p - 1.0)
    spans = measured(call.with_argument(order, replace(order, literal="1.0")), case, lambda w, _: w * powers)
    if spans is None or len(spans) > 1:
        return UNDEFINED
    ends = spans[name].low * factor, spans[name].high * factor
    return [{name: Span(np.minimum(*ends), np.maximum(*ends))}]


def of_log_probabilities(call: Call, case: CheckResult) -> Accepted:
    """That by a free number, and the weight of the loss times the probability: the former sums to minus the
    weight.
    """
    spans, ((argument, names), *_) = right(call, case), list(named(call, case))
    if spans is None or not is_plain(call, case):
        return UNDEFINED
    free = spans[names[0]].low
    powers = np.exp(np.asarray(argument.array, np.float64))
    whole = free - np.sum(free, axis=-1, keepdims=True) * powers
    off = np.sum(np.broadcast_to(granted_to(names[0], case), free.shape), axis=-1, keepdims=True) * powers
    return [{**spans, names[0]: Span(whole - off, whole + off)}]


def zero(call: Call, case: CheckResult) -> Accepted:
    return [exactly({name: np.zeros(np.shape(g)) for name, g in case.answer.gradient.items()})]


def by_the_symmetric_part(call: Call, case: CheckResult) -> Accepted:
    """The gradient by the Hermitian part of each square matrix."""
    spans = right(call, case)
    if call.function.endswith("pinv") and _given(call, "hermitian", 2) != "True":
        return None
    if spans is None:
        return UNDEFINED
    for _, names in named(call, case):
        for name, sign in zip(names, (1.0, -1.0), strict=False):
            x = spans[name].low
            if is_square(x):
                half, off = (x + sign * np.swapaxes(x, -1, -2)) / 2.0, granted_to(name, case)
                off = off if off.shape != x.shape else np.swapaxes(off, -1, -2) / 2.0
                spans[name] = Span(half - off, half + off)
    return [spans]


def to_a_tolerance(call: Call, case: CheckResult) -> Accepted:
    """As near as the library's own tolerance makes it: a residual of sqrt(eps) by `torch.lobpcg`, of 1e-5 by
    JAX's solvers. Nothing is predicted where the call says itself when to stop.
    """
    if _has(call, "niter", "maxiter", "tol", "atol"):
        return UNDEFINED
    residual = 1e-5 if call.library == "jax" else float(np.finfo(case.question.precision).eps) ** 0.5
    spans = right(call, case)
    if spans is None:
        return None
    off = 1e3 * residual * max((np.max(np.abs(one.low), initial=0.0) for one in spans.values()), default=0.0)
    return [{name: Span(one.low - off, one.high + off) for name, one in spans.items()}]


def straight_through(call: Call, case: CheckResult) -> Accepted:
    """The cotangent, or the cotangent in fewer digits."""
    weights = [w for w in case.question.weights if w is not None]
    if not is_plain(call, case) or len(weights) != len(case.question.wrt):
        return UNDEFINED
    library, found = library_named(call.library), []
    for w in (weights, None):
        if w is None:
            array = library.array(np.asarray(weights[0], np.asarray(values_of(call)[0]).dtype))
            (fewer,) = library.leaves(returned(call, library, [array]))
            w = [library.numpy(fewer), *weights[1:]]
        argument = next(call.differentiated())
        found.append(exactly({n: pulled(argument, one) for n, one in zip(case.question.wrt, w, strict=True)}))
    return found


def of_no_case(call: Call, case: CheckResult) -> Accepted:
    """Where the choice is none of the cases, each of them gets nothing, or the cotangent."""
    first, *cases = call.arrays()
    which, spans = seen(first).astype(np.int64), right(call, case)
    is_none = (which < 0) | (which >= len(cases))
    weights = [w for w in case.question.weights if w is not None]
    if not np.any(is_none):
        return None
    if spans is None or not is_plain(call, case):
        return UNDEFINED
    for argument, names in named(call, case):
        for name, w in zip(names, weights, strict=False):
            free = pulled(argument, np.broadcast_to(is_none, np.shape(w))) > 0
            ends = [np.where(free, end(pulled(argument, w), 0.0), spans[name].low) for end in ENDS]
            spans[name] = Span(*ends)
    return [spans]


def of_crossed_bounds(call: Call, case: CheckResult) -> Accepted:
    """Where the bounds cross the number gets nothing, and each bound nothing or the cotangent."""
    if not has_crossed_bounds(call):
        return None
    _, low, high = (seen(one) for one in call.arrays())
    weights = [w for w in case.question.weights if w is not None]
    spans = right(call, case)
    if spans is None or not is_plain(call, case) or len(case.question.wrt) != 3:
        return UNDEFINED
    cross = np.where(np.broadcast_to(low > high, weights[0].shape), weights[0], 0.0)
    for argument, (name,) in list(named(call, case))[1:]:
        shape, one = seen(argument).shape, spans[name]
        less, more = (pulled(argument, _unbroadcast(end(cross, 0.0), shape)) for end in ENDS)
        spans[name] = Span(np.minimum(one.low, less), np.maximum(one.high, more))
    return [spans]


def _unbroadcast(entries: Array, shape: tuple[int, ...]) -> Array:
    """The sums over the axes along which an array of this shape was broadcast."""
    more = entries.ndim - len(shape)
    axes = (*range(more), *(more + k for k, n in enumerate(shape) if n == 1 and entries.shape[more + k] != 1))
    return np.asarray(np.sum(entries, axis=axes).reshape(shape))


def of_logits(call: Call, case: CheckResult) -> Accepted:
    """The gradient by the logits as if the labels, that of the keyword or by its place, had the sum 1."""
    arrays = [one for one in call.arrays() if one.array is not None]
    place = 1 if call.library == "mlx" else 0
    labels = next((one for one in arrays if one.keyword in ("labels", "targets")), arrays[place])
    logits = next(one for one in arrays if one is not labels)
    total = np.sum(seen(labels), axis=-1, keepdims=True)
    if np.allclose(total, 1.0):
        return None
    spans, weight = right(call, case), case.question.weights[0]
    is_known = weight is not None and np.shape(weight) == total.shape[:-1] and is_plain(call, case)
    if spans is None or not is_known or _has(call, "axis", "weights", "label_smoothing"):
        return UNDEFINED
    powers = np.exp(seen(logits) - np.max(seen(logits), axis=-1, keepdims=True))
    shares = np.asarray(weight)[..., None] * (1.0 - total) * powers / np.sum(powers, axis=-1, keepdims=True)
    for argument, names in named(call, case):
        if argument is logits:
            whole = spans[names[0]].low + pulled(logits, shares)
            spans[names[0]] = Span(whole, whole)
    return [spans]


def of_a_factor(call: Call, case: CheckResult) -> Accepted:
    """The triangle of a Cholesky factor that is not read, and the imaginary part of its diagonal, are free in
    reverse mode. Nothing is predicted where they are not 0.
    """
    factor = [one for one in call.arrays() if seen(one).ndim > 1][-1]
    x, is_upper = seen(factor), any(a.literal == "True" for a in call.arguments)
    unread = np.broadcast_to(np.tri(x.shape[-1], k=-1, dtype=bool), x.shape)
    unread = unread if is_upper else np.swapaxes(unread, -1, -2)
    diagonal = np.broadcast_to(np.eye(x.shape[-1], dtype=bool), x.shape)
    if np.any(x[unread]) or np.any(np.imag(x[diagonal])):
        return UNDEFINED
    spans = right(call, case)
    if spans is None or not factor.is_differentiated:
        return None
    names = next(names for one, names in named(call, case) if one is factor)
    for k, name in enumerate(names):
        free = (unread if case.question.modes[-1] == "rev" else ~diagonal & diagonal) | (
            diagonal if k else False
        )
        is_free = pulled(factor, free) > 0
        one = spans[name]
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

    def accepts(call: Call, case: CheckResult) -> Accepted:
        floats = [one for one in call.arrays() if seen(one).dtype.kind == "f"]
        if not is_plain(call, case) or len(case.answer.values) != 1 or case.question.weights[0] is None:
            return UNDEFINED
        draws, weight = np.asarray(case.answer.values[0], np.float64), case.question.weights[0]
        columns = [np.broadcast_to(seen(one).astype(np.float64), draws.shape) for one in floats]
        spans = {}
        for argument, (name,) in named(call, case):
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
            spans[name] = Span(*(pulled(argument, _unbroadcast(end, seen(argument).shape)) for end in ends))
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
