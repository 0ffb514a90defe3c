"""Numbers of arrays as text."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradfuzz.oracles.base import Array


def nested(value: Array) -> str:
    """The entries as nested lists of Python: they give the same bits again."""
    array = np.asarray(value)
    if array.dtype.kind not in "biufc":  # bfloat16 and the like, as numbers
        array = array.astype(np.float64)
    return _written(array.tolist())


def _written(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_written, value))}]"
    if isinstance(value, float) and not np.isfinite(value):
        return f'float("{value}")'
    if isinstance(value, complex) and not _is_plain(value):
        return f"complex({_written(value.real)}, {_written(value.imag)})"
    return repr(value)


def _is_plain(value: complex) -> bool:
    """Whether its sum of two parts, as Python writes it, is itself: not so with -0.0, which the sum loses."""
    return all(
        np.isfinite(part) and (part or np.copysign(1.0, part) > 0) for part in (value.real, value.imag)
    )
