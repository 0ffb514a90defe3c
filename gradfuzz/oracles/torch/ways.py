"""Torch, by every entry point to its derivatives.

    torch:eager        the program's loops run in Python; torch.autograd.grad and torch.autograd.forward_ad
    torch:eager:rule   the operations of these derivatives, in exact numbers: the rules without the rounding
    torch:func         the same; torch.func: vjp, grad, jvp
    torch:jacobian     the same; torch.func: whole Jacobians by jacrev and jacfwd
    torch:vmap         the derivative of one instance by torch.func under torch.func.vmap: all points of a
                       question in one call
    torch:grad_of_vmap the other way round: torch.autograd of the function under torch.func.vmap
    torch:while_loop   loops by torch's while_loop, branches by cond; torch.autograd.grad
    torch:scan         loops by torch's scan, branches by cond; torch.autograd.grad
    torch:compile:...  the program's loops run in Python, traced by torch.compile; the backends eager,
                       aot_eager and inductor

Torch is imported when these oracles are requested.
"""

from __future__ import annotations

from gradfuzz.errors import MissingExtraError, UsageError
from gradfuzz.oracles.base import Oracle
from gradfuzz.oracles.device import device
from gradfuzz.oracles.torch.script import script as script


def ways() -> list[Oracle]:
    """One oracle per entry point; `MissingExtraError` without torch."""
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(
            f"the torch oracles need PyTorch, and `import torch` says: {error}; install it with: pip install"
            " 'gradfuzz[torch]'"
        ) from error
    from gradfuzz.oracles.torch.rule import TorchRule
    from gradfuzz.oracles.torch.structured import Compiled, Structured, backends
    from gradfuzz.oracles.torch.unrolled import Eager, Func, Jacobian
    from gradfuzz.oracles.torch.vmap import GradOfVmap, Vmap

    return [
        Eager(),
        Func(),
        Jacobian(),
        Structured("while_loop"),
        Structured("scan"),
        Vmap(),
        GradOfVmap(),
        *map(Compiled, backends()),
        TorchRule(),
    ]


def settle() -> None:
    """Makes Torch compute on the device of this gradfuzz process."""
    if device() == "cuda":
        import torch

        if not torch.cuda.is_available():
            raise UsageError("torch finds no CUDA device here; leave out --device to ask it on the CPU")
        torch.set_default_device("cuda")
