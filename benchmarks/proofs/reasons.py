"""Why a rule cannot be asked at all: no function of floats, on a CPU, with arrays as results, has it.

A rule that is listed here and proved all the same counts as proved.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from benchmarks.proofs.rules import torch_table

_JAX = {
    "has no code for a CPU": "pbroadcast ragged_all_to_all",
    "is about a type that is no array: a box or a log": (
        "box_get box_set log_extend log_read new_box new_log"
    ),
    "takes ints, bools or keys alone: JAX asks for no derivative where nothing moves": (
        "and mulhi not or random_bits random_fold_in random_seed random_split random_unwrap random_wrap"
        " shift_left shift_right_arithmetic shift_right_logical xor"
    ),
    "draws samples: its derivative is that of a quantile, and not that of its numbers": "random_gamma",
    "stands in no jaxpr: JAX carries it out before": "stage",
    "its rule raises an error": "composite ffi_call io_callback pure_callback",
}

_TORCH = (
    (r"^(Cudnn|Miopen|Mps|LstmMps|ScaledDotProductCudnn)", "needs a device that is no CPU"),
    (
        r"^(FlashAttention|EfficientAttention|ScaledDotProduct(Flash|Efficient)AttentionBackward|ThnnFused"
        r"|PinMemory|FusedDropout)",
        "needs a device that is no CPU",
    ),
    (r"Overrideable", "is a place for devices that other packages bring"),
    (r"Mkldnn", "is about arrays in the layout of MKLDNN, which hold float32"),
    (r"^(Sparse|ToSparse|Coalesce|Values|Indices|ToDense)", "is about sparse arrays"),
    (r"^(Nested|ToPaddedTensor)", "is about nested arrays"),
    (r"^Test", "is a test of Torch itself"),
    (
        r"^(Bernoulli|Cauchy|Exponential|Geometric|LogNormal|Normal|Poisson|Random|Uniform|StandardGamma"
        r"|Multinomial|NativeDropout|RreluWithNoise|RreluWithNoiseFunctional)Backward[0-9]$",
        "draws random numbers",
    ),
    (r"^ViewAsComplexBackward0_copy", "is refused by Torch: copies of views are no complex numbers"),
    (
        r"^FakeQuantize|^FusedMovingAvgObsFq",
        "means another derivative than that of its values, on purpose",
    ),
    (r"^(FusedRmsNorm|Linear|Matmul|MaxPool2D)Backward", "is one op on other devices, and several on a CPU"),
    (r"^ConvDepthwise", "needs a device that is no CPU"),
)
"""Patterns of names."""


def _of_jax() -> dict[str, str]:
    return {name: why for why, names in _JAX.items() for name in names.split()}


def _of_torch() -> dict[str, str]:
    """By the name of a row, or because its only formula is an error."""
    found = {}
    for row in torch_table():
        why = next((why for pattern, why in _TORCH if re.search(pattern, row.op)), "")
        if all("not_implemented" in d.original_formula for d in row.derivatives):
            why = "its formula is an error: Torch does not have the derivative"
        if why:
            found[row.op] = why
    return found


REASONS: Mapping[str, Callable[[], dict[str, str]]] = {"jax": _of_jax, "torch": _of_torch}
