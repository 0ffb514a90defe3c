"""Why a rule cannot be asked at all: no function of floats, on one device, with arrays as results, has it.

A rule that is listed here and proved all the same counts as proved.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from benchmarks.proofs.rules import torch_table

_JAX = {
    "moves numbers between devices, of which there is one": (
        "all_gather all_gather_invariant all_gather_reduced all_to_all pbroadcast ppermute preduced psum"
        " psum_invariant pvary ragged_all_to_all reduce_scatter reduced_vary_cast_p shard_map unreduced_psum"
        " unreduced_reduce_scatter vary_unreduced_cast_p"
    ),
    "makes, reads or writes a mutable reference": (
        "accum_grad_in_ref addupdate empty_ref free_ref freeze get new_ref run_state swap"
    ),
    "is about a type that is no array: a box, a log, or one of its own": (
        "box_get box_set call_hi_primitive log_extend log_read new_box new_log"
    ),
    "calls out of JAX": "debug_callback debug_print ffi_call inspect_sharding io_callback pure_callback",
    "is about keys of random numbers, or draws samples": (
        "from_edtype random_bits random_fold_in random_gamma random_seed random_split random_unwrap"
        " random_wrap to_edtype"
    ),
    "stands in no jaxpr: JAX carries it out, or replaces it, before": "eval_jaxpr stage",
    "has no result": "dce_sink",
    "its rule raises an error": "composite",
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
