"""The ATen ops that are discrete Fourier transforms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import gradfuzz.engine as engine
from gradfuzz.tracing.common.compositions import as_kind, recorded
from gradfuzz.tracing.common.fourier import Transform, of_all
from gradfuzz.tracing.torch.values import Handler, Out, operand


def _scaled(x: Any, terms: int, normalization: int) -> Any:
    """Torch's codes: as it is, divided by the root of the number of terms, or by that number."""
    if normalization == 0:
        return x
    count = recorded(float(terms))
    return x / (engine.sqrt(count) if normalization == 1 else count)


def _c2c(out: Out, x: Any, dim: Sequence[int], normalization: int, forward: bool) -> Any:
    x = operand(x)
    sizes = [np.shape(x)[d] for d in dim]
    kind: Transform = "forward" if forward else "back"
    return _scaled(of_all(x, dim, sizes, kind) if dim else x, math.prod(sizes), normalization)


def _r2c(out: Out, x: Any, dim: Sequence[int], normalization: int, onesided: bool) -> Any:
    x = operand(x)
    sizes = [np.shape(x)[d] for d in dim]
    found = (
        of_all(x, dim, sizes, "of reals")
        if onesided
        else of_all(as_kind(x, "complex"), dim, sizes, "forward")
    )
    return _scaled(found, math.prod(sizes), normalization)


def _c2r(out: Out, x: Any, dim: Sequence[int], normalization: int, last_dim_size: int) -> Any:
    x = operand(x)
    sizes = [*(np.shape(x)[d] for d in dim[:-1]), last_dim_size]
    return _scaled(of_all(x, dim, sizes, "to reals"), math.prod(sizes), normalization)


HANDLERS: dict[str, Handler] = {"_fft_c2c": _c2c, "_fft_r2c": _r2c, "_fft_c2r": _c2r}
"""By the name of an op without its overload."""
