"""NaN for single matrices of a stack, and the real dtype of a dtype."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np


def real_dtype(x: Any) -> np.dtype[Any]:
    """The dtype of the absolute values of `x`."""
    return np.empty(0, x.dtype).real.dtype


def not_a_number(dtype: Any) -> Any:
    """NaN in both parts, where the dtype has two."""
    return dtype.type(complex(math.nan, math.nan) if dtype.kind == "c" else math.nan)


def each(f: Callable[..., Any], *arrays: Any) -> Any:
    """`f` of arrays of matrices; where it fails for one matrix of a batch, that one's result is NaN."""
    try:
        return f(*arrays)
    except np.linalg.LinAlgError:
        pass
    batch = np.broadcast_shapes(*(a.shape[:-2] for a in arrays))
    spread = [np.broadcast_to(a, (*batch, *a.shape[-2:])) for a in arrays]
    model = f(*[np.broadcast_to(np.eye(*a.shape[-2:], dtype=a.dtype), a.shape[-2:]) for a in arrays])
    several = isinstance(model, tuple)
    results = [np.full((*batch, *m.shape), not_a_number(m.dtype)) for m in (model if several else (model,))]
    for place in np.ndindex(*batch):
        try:
            found = f(*[a[place] for a in spread])
        except np.linalg.LinAlgError:
            continue
        for result, entry in zip(results, found if several else (found,), strict=True):
            result[place] = entry
    return tuple(results) if several else results[0]
