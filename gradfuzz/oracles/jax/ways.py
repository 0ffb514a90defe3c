"""JAX, by every entry point to its derivatives.

    jax:scan            loops as lax.scan; a loop whose length is known only at run time runs to a bound, each
                        trip under lax.cond. All modes.
    jax:fori_loop       counted loops as lax.fori_loop, others as lax.while_loop. Reverse mode where every
                        trip count is static.
    jax:while_loop      loops as lax.while_loop. Forward mode only: JAX has no other.
    jax:jacobian        the loops of jax:scan; whole Jacobians by jax.jacrev and jax.jacfwd. All modes.
    jax:vmap            the derivative of one instance under jax.vmap: all points of a question in one call.
                        Loops as in jax:scan, or in forward mode as lax.while_loop where trip counts are known
                        only at run time.
    jax:grad_of_vmap    the other way round: the derivative of the function under jax.vmap. Without jit only.
    ...:nojit           the same without jit: traced, then run step by step; a tenth to a quarter of the time.
    ...:rule            what a loop construct would run, in exact numbers: its rules without the rounding.
    jax:unrolled        Python runs the loops, JAX the operations, one by one and without jit. All modes.

JAX is imported when these oracles are requested; from then on the process has 64-bit floats and ints
(`jax_enable_x64`).
"""

from __future__ import annotations

import os

from gradfuzz.errors import MissingExtraError
from gradfuzz.oracles.base import Oracle
from gradfuzz.oracles.device import device
from gradfuzz.oracles.jax.script import script as script


def ways() -> list[Oracle]:
    """One oracle per entry point; `MissingExtraError` without JAX."""
    try:
        import jax  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(
            f"the jax oracles need JAX, and `import jax` says: {error}; install it with: pip install"
            " 'gradfuzz[jax]'"
        ) from error
    from gradfuzz.oracles.jax.derivatives import jacobians
    from gradfuzz.oracles.jax.loops import STYLES
    from gradfuzz.oracles.jax.rule import JaxRule
    from gradfuzz.oracles.jax.structured import Structured
    from gradfuzz.oracles.jax.unrolled import Unrolled
    from gradfuzz.oracles.jax.vmap import Vmap

    return [
        *(Structured(style, jit) for style in STYLES for jit in (True, False)),
        *(Structured("scan", jit, "jacobian", jacobians) for jit in (True, False)),
        Unrolled(),
        Vmap("vmap", jit=True),
        Vmap("vmap"),
        Vmap("grad_of_vmap"),
        *(JaxRule(style) for style in STYLES),
    ]


def settle() -> None:
    """Makes JAX compute on the device of this gradfuzz process. Called before JAX is imported."""
    os.environ.setdefault("JAX_PLATFORMS", device())
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # workers share one GPU
