"""Compiling what runs once: XLA's passes over the program as always, but the machine code in the quickest
way.

A sweep compiles each derivative for a few points only. LLVM's optimizer and XLA's fusion emitters take three
quarters of that time and know nothing of derivatives; XLA's algebraic simplifier, which could make one wrong,
works as always. What may become a finding is asked again with JAX's own defaults.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax

_OPTIONS: dict[str, bool | int] = {"xla_backend_optimization_level": 0, "xla_cpu_use_fusion_emitters": False}
"""Options of XLA's debug flags, as jaxlib 0.10 has them."""


def quick_jit(f: Callable[..., Any]) -> Any:
    """`jax.jit`, quicker to compile and slower to run."""
    return jax.jit(f, compiler_options=_options())


@functools.cache
def _options() -> dict[str, bool | int]:
    """Those that the installed XLA knows."""
    return {name: value for name, value in _OPTIONS.items() if _known(name, value)}


def _known(name: str, value: bool | int) -> bool:
    try:
        jax.jit(lambda x: x, compiler_options={name: value})(0.0)
    except Exception:  # noqa: BLE001 - whatever says that there is no such option
        return False
    return True
