"""Places that are written twice: which of the numbers stands there is undefined, and the value tells it.

The number that stands there has the cotangent of the place. Each other one has nothing, or the cotangent as
well; what was overwritten has nothing.
"""

from __future__ import annotations

import math

import numpy as np

from gradfuzz.fuzzer.conventions.accepted import ENDS, Accepted, Span
from gradfuzz.fuzzer.conventions.situation import OfCall
from gradfuzz.fuzzer.results.call import Argument
from gradfuzz.fuzzer.results.views import owners, pulled, seen
from gradfuzz.oracles.base import Array


def written_twice(at: OfCall) -> Accepted:
    """The accepted gradients; None where no place is written twice, or numbers are added to one another."""
    found = _places(at)
    if found is None:
        return None
    source, places = found
    twice = np.bincount(places.ravel())[places] > 1
    if not np.any(twice) or not source.is_differentiated:
        return None
    spans, weights = at.right, at.cotangents
    names = next(names for one, names in at.named() if one is source)
    stored, shown = np.asarray(source.array), owners(source)
    if shown.ndim == places.ndim:
        shown = shown[tuple(map(slice, places.shape))]
    shown = np.broadcast_to(shown, places.shape)
    numbers = [stored.real.ravel()[shown], stored.imag.ravel()[shown]]
    outputs = [np.ravel(y) for y in at.case.answer.values]
    stands = np.all([y[places] == x for y, x in zip(outputs, numbers, strict=False)], axis=0)
    only = np.bincount(places[stands], minlength=int(places.max()) + 1)[places] == 1
    known = ~twice | (stands & only)
    for name, w in zip(names, weights, strict=False):
        cotangents = np.ravel(w)[places]
        ends = (np.where(known, cotangents, end(cotangents, 0.0)) for end in ENDS)
        spans[name] = Span(*(pulled(source, end, shown) for end in ends))
    return [spans]


def _places(at: OfCall) -> tuple[Argument, Array] | None:
    """What is written, and the number of the place in the result where each of its entries is written."""
    call = at.call
    kind = call.function.rpartition(".")[2].strip("_")
    arrays, literals = list(call.arrays()), [a.literal for a in call.arguments if a.literal is not None]
    if len(arrays) < 2 or "True" in literals or any(a.keyword == "reduce" for a in call.arguments):
        return None  # with `accumulate`
    shape = np.shape(seen(arrays[0]))
    places = np.arange(math.prod(shape)).reshape(shape)
    if kind.startswith("max_unpool"):
        inner = int(kind[-2])
        index = seen(arrays[1]).astype(np.int64)
        planes = np.arange(math.prod(index.shape[:-inner])).reshape(index.shape[:-inner] + (1,) * inner)
        return arrays[0], index + planes * math.prod(np.shape(at.case.answer.values[0])[-inner:])
    indices = [one for one in arrays[1:] if seen(one).dtype.kind in "iub"]
    sources = [one for one in arrays[1:] if seen(one).dtype.kind not in "iub"]
    if not indices or len(sources) != 1:
        return None  # one number is written everywhere
    (source,), first = sources, seen(indices[0])
    axis = next((int(text) for text in literals if text.lstrip("-").isdigit()), 0)
    if kind == "index_put":
        return source, places[tuple(map(seen, indices))]
    if kind == "put":
        return source, places.ravel()[first]
    if kind == "index_copy":
        return source, np.take(places, first, axis)
    if kind == "scatter" and first.ndim:
        grid: list[Array] = list(np.indices(first.shape))
        grid[axis] = first
        return source, places[tuple(grid)]
    if kind in ("tensor_scatter_nd_update", "TensorScatterUpdate"):
        return source, places[tuple(np.moveaxis(first, -1, 0))]
    return None
