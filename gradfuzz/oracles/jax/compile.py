"""Compiles functions that run only a few times: all of XLA's passes, but the fastest code generation.

A sweep compiles each derivative for a few points only. LLVM's optimizer and XLA's fusion emitters take three
quarters of that time and know nothing of derivatives. XLA's algebraic simplifier, which could make one wrong,
works as usual. What may become a finding is asked again with JAX's own defaults.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax

_OPTIONS: dict[str, bool | int] = {
    "xla_backend_optimization_level": 0,
    "xla_cpu_use_fusion_emitters": False,
    "xla_cpu_parallel_codegen_split_count": 1,
}
"""Debug options of XLA, with their names in jaxlib 0.10. The last says in how many pieces LLVM is given a
module, which have to be linked again.
"""


def quick_jit(f: Callable[..., Any]) -> Any:
    """`jax.jit`, faster to compile and slower to run."""
    options = _options()
    return jax.jit(f, compiler_options=options) if options else jax.jit(f)


@functools.cache
def _options() -> dict[str, bool | int]:
    """The options that the installed XLA has."""
    return {name: value for name, value in _OPTIONS.items() if _known(name, value)}


def _known(name: str, value: bool | int) -> bool:
    try:
        jax.jit(lambda x: x, compiler_options={name: value})(0.0)
    except Exception:  # noqa: BLE001 - whatever says that there is no such option
        return False
    return True
