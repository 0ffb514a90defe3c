"""How draws are shown: as text that can be pasted into `@example`.

NumPy shows eight digits, but a pasted example must be the one that failed. So arrays are shown with all their
digits, by Hypothesis's table of how an object was made.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis.control import current_build_context
from hypothesis.vendor.pretty import IDKey

from gradfuzz.programs.language.precision import is_float

_DEFAULTS = ("float64", "int64", "bool")
"""The dtypes that `array` infers by itself."""


def array_text(array: npt.NDArray[Any]) -> str:
    """The call of NumPy's `array`, or `zeros` for an empty array, that rebuilds `array` bit for bit."""
    name = array.dtype.name
    dtype = "" if name in _DEFAULTS and (array.size or name == "float64") else f", dtype={name!r}"
    if not array.size:
        return f"zeros({array.shape}{dtype})"
    entries = array.astype(np.float64) if is_float(array.dtype) else array
    return f"array({entries.tolist()}{dtype})"


def inputs_text(inputs: Mapping[str, npt.NDArray[Any]]) -> str:
    """The dict that rebuilds a point."""
    return "{" + ", ".join(f"{name!r}: {array_text(value)}" for name, value in inputs.items()) + "}"


def shown(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """`array` itself. Hypothesis shows its value as it is now, even if a test writes into it later."""
    drawn = array.copy()
    current_build_context().known_object_printers[IDKey(array)].append(
        lambda _, printer, cycle: printer.text(array_text(drawn))
    )
    return array
