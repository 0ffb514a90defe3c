"""Calls that the documents of their functions exclude: nothing is predicted of them."""

from __future__ import annotations

import ast
from pkgutil import resolve_name

import numpy as np

from gradfuzz.fuzzer.results.call import Argument, Call
from gradfuzz.fuzzer.results.views import seen
from gradfuzz.oracles.base import Array


def integers(call: Call) -> list[Array]:
    """The arrays of integers."""
    return [x for one in call.arrays() if (x := seen(one)).dtype.kind in "iu"]


def is_square(x: Array) -> bool:
    """Whether it is a square matrix, or a stack of them, larger than 1x1."""
    return x.ndim > 1 and x.shape[-1] == x.shape[-2] > 1


def has_dependent_columns(call: Call) -> bool:
    """Whether the first columns of a matrix, as many as it has rows, are dependent."""
    for x in (seen(one).astype(np.complex128) for one in call.differentiated()):
        first = x[..., : x.shape[-2]] if x.ndim > 1 else x
        if x.ndim > 1 and x.size and np.any(np.linalg.matrix_rank(first) < min(x.shape[-2:])):
            return True
    return False


def has_other_channels(call: Call) -> bool:
    """Whether the first array has no second axis, the channels, or one of the others another length."""
    first, *others = [np.shape(seen(one)) for one in call.arrays()]
    return len(first) < 2 or any(shape != first[1:2] for shape in others)


def has_no_class(call: Call) -> bool:
    """Whether a number of a class is none of those along the axis of the scores, the last one by default."""
    scores = np.shape(seen(next(call.differentiated())))
    axis = next((int(a.literal) for a in call.arguments if a.keyword == "axis" and a.literal), -1)
    size = scores[axis] if -len(scores) <= axis < len(scores) else 0
    return size > 0 and any(np.any((x < -size) | (x >= size)) for x in integers(call))


def has_no_label(call: Call) -> bool:
    """Whether one of the labels, the second array, is no class along the last axis of the first array."""
    scores, labels = [seen(one) for one in call.arrays()][:2]
    return bool(np.any((labels < 0) | (labels >= scores.shape[-1])))


def has_no_pivots(call: Call) -> bool:
    """Whether numbers of rows are none of the n rows of a matrix of factors, or not n of them."""
    factors, pivots = [seen(one) for one in call.arrays()][-2:]
    n = factors.shape[-1]
    return pivots.shape[-1:] != (n,) or bool(np.any((pivots < 1) | (pivots > n)))


def ends_before(call: Call) -> bool:
    """Whether the last group of a product of matrices in groups ends before the last row or column that is
    cut: what stands beyond is not written, neither of the result nor of the gradient.
    """
    left, right = [np.shape(seen(one)) for one in call.arrays()][:2]
    cut = {(2, 2): (left[-1], right[0]), (2, 3): (left[0],), (3, 2): (right[-1],)}
    ends = [x.flat[-1] for x in integers(call) if x.size]
    return any(length != end for length in cut.get((len(left), len(right)), ()) for end in ends)


def is_no_affine_map(call: Call) -> bool:
    return np.shape(seen(next(call.differentiated())))[-2:] not in ((2, 3), (3, 4))


def has_other_maps(call: Call) -> bool:
    """Whether the shape of the result names another number of images than there are affine maps."""
    shape, maps = call.arguments[1].literal, np.shape(seen(next(call.differentiated())))
    return shape is not None and tuple(ast.literal_eval(shape))[:1] != maps[:1]


_RANKS = {"IsotonicRegression": 2, "Conv3DBackpropFilterV2": 5}
"""How many axes the first array has."""


def has_another_rank(call: Call) -> bool:
    """Whether the first array has another number of axes than the function takes, or two factors have other
    numbers of axes and one of them more than 3.
    """
    first, *others = ranks = [seen(one).ndim for one in call.arrays()]
    known = _RANKS.get(call.function.rpartition(".")[2])
    return first != known if known else max(ranks) > 3 and any(rank != first for rank in others)


def is_not_hermitian(call: Call) -> bool:
    """Whether a square matrix is not its own conjugate transpose."""
    squares = [x for one in call.differentiated() if is_square(x := seen(one))]
    return any(not np.array_equal(x, np.conj(np.swapaxes(x, -1, -2))) for x in squares)


def is_no_color(call: Call) -> bool:
    """Whether a number is not in [0, 1]."""
    return any(np.any(((x := seen(one)) < 0) | (x > 1)) for one in call.differentiated())


def has_crossed_bounds(call: Call) -> bool:
    """Whether a lower bound, the second of three arrays, is above the upper one, the third."""
    _, *bounds = [seen(one) for one in call.arrays()]
    return len(bounds) == 2 and bool(np.any(bounds[0] > bounds[1]))


def scipy_has_no_value(call: Call) -> bool:
    """Whether a number is complex, or SciPy's function of the same name returns NaN or refuses the arguments.

    It does so where no distribution has such parameters.
    """
    if any(one.is_complex for one in call.differentiated()):
        return True
    if any(one.items is not None or ":" in (one.literal or "") for one in call.arguments):
        return False  # a list, a dtype or a record is no number
    built = [(a.keyword, ast.literal_eval(a.literal) if a.literal else seen(a)) for a in call.arguments]
    name = call.function[call.function.index("scipy.") :]
    try:
        with np.errstate(all="ignore"):
            value = resolve_name(name)(*[x for k, x in built if not k], **{k: x for k, x in built if k})
    except (AttributeError, ImportError, TypeError):  # it has no such function or parameter
        return False
    except (ValueError, IndexError):
        return True
    return bool(np.any(np.isnan(value)))


_PASSING_ON = ("mean", "std", "var", "norm")
"""Functions of autograd that make an array of a list, and hand their keywords to a primitive."""


def lists_arrays(call: Call) -> bool:
    """Whether a primitive of autograd gets a list with an array that is differentiated in it."""
    return _is_primitive(call) and any(_differentiates(a) for a in call.arguments if a.items is not None)


def names_arrays(call: Call) -> bool:
    """Whether a primitive of autograd gets an array that is differentiated by its keyword."""
    reaches = _is_primitive(call) or call.function.rpartition(".")[2] in _PASSING_ON
    return reaches and any(_differentiates(a) for a in call.arguments if a.keyword)


def _is_primitive(call: Call) -> bool:
    """Whether autograd wraps the function, and does not write it by others."""
    return hasattr(resolve_name(call.function), "fun")


def _differentiates(argument: Argument) -> bool:
    return argument.is_differentiated or any(map(_differentiates, argument.items or ()))


def overlaps(call: Call) -> bool:
    """Whether two entries of a strided view are one number in memory."""
    lists = [ast.literal_eval(text) for a in call.arguments if (text := a.literal or "").startswith("(")]
    if len(lists) < 2:
        return False
    size, stride = lists[:2]
    places = [sum(k * s for k, s in zip(index, stride, strict=False)) for index in np.ndindex(*size)]
    return len(set(places)) < len(places)
