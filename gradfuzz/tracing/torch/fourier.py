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


def _transform(name: str) -> Handler:
    """The last argument says: is it forward, is one half kept, or how many numbers come out."""

    def handler(out: Out, x: Any, dim: Sequence[int], normalization: int, last: Any) -> Any:
        x, kind = operand(x), _REALS.get((name, bool(last)))
        sizes = [np.shape(x)[d] for d in dim]
        if kind == "to reals":
            sizes[-1] = last
        if kind is None:
            x, kind = as_kind(x, "complex"), "forward" if name == "r2c" or last else "back"
        return _scaled(of_all(x, dim, sizes, kind) if dim else x, math.prod(sizes), normalization)

    return handler


_REALS: dict[tuple[str, bool], Transform] = {("r2c", True): "of reals", ("c2r", True): "to reals"}

HANDLERS: dict[str, Handler] = {f"_fft_{name}": _transform(name) for name in ("c2c", "r2c", "c2r")}
"""By the name of an op without its overload."""
