"""The device on which JAX and Torch compute. References, the engine and all others use the CPU, at the same
inputs.

The device is an environment variable, so that worker processes have it too. On a GPU, products of float32
matrices are rounded to TF32 where a library's default says so (JAX's does on Ampere and later, as Torch's
does for convolutions): operands keep 11 significant bits.
"""

from __future__ import annotations

import os

from gradfuzz.errors import UsageError
from gradfuzz.programs.language.precision import FORMATS, Precision

DEVICE = "GRADFUZZ_DEVICE"
"""The environment variable."""

DEVICES = ("cpu", "cuda")

WITH_DEVICES = ("jax", "torch")
"""The libraries that can compute on a device."""

_TF32 = 2.0**-11
"""The unit roundoff of TF32: 10 bits after the first."""


def device() -> str:
    """The device of this process. `UsageError` for an unknown one."""
    name = os.environ.get(DEVICE) or "cpu"
    if name not in DEVICES:
        raise UsageError(f"{DEVICE} is {name!r}; the devices are {', '.join(DEVICES)}")
    return name


def operand_roundings(precision: Precision) -> float:
    """The rounding of a matrix product's operands before the product, in units of the roundoff."""
    return _TF32 / FORMATS[precision].roundoff if device() == "cuda" and precision == "float32" else 0.0
