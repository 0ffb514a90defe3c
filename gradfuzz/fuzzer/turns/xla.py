"""Flags with which JAX compiles small operations sooner: those that the XLA of a Python knows.

XLA ends a process at a flag that it does not know, and each release knows others. So each flag is tried in a
process of its own, once for each Python.
"""

from __future__ import annotations

import os
import subprocess
import threading

FLAGS = (
    "--xla_backend_optimization_level=0",
    "--xla_llvm_disable_expensive_passes=true",
    "--xla_cpu_use_fusion_emitters=false",  # of jaxlib 0.6 to 0.10: half of the time
)

_TRIED = "import jax.numpy; jax.numpy.sin(1.0)"

_SECONDS = 60.0
"""What a try may take: a second where nothing else runs."""

_known: dict[str, str] = {}
_lock = threading.Lock()


def flags_of(python: str) -> str:
    """What XLA_FLAGS says to workers of a Python: the flags that its XLA knows, then those of the user."""
    with _lock:
        if python not in _known:
            _known[python] = " ".join(flag for flag in FLAGS if _is_known(python, flag))
    return f"{_known[python]} {os.environ.get('XLA_FLAGS', '')}".strip()


def _is_known(python: str, flag: str) -> bool:
    try:
        run = subprocess.run(  # noqa: S603 - the Python of the worker, without a shell
            [python, "-c", _TRIED],
            env={**os.environ, "XLA_FLAGS": flag},
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return run.returncode == 0
