"""How others check a gradient: each by its own public function, with its own defaults.

All of them are given the same thing, a `Subject`: a scalar function of some arrays and a gradient that claims
to be its own. Each library gets it as it wants custom gradients written, so what differs is only how it is
checked.

    torch, slow        torch.autograd.gradcheck(f, inputs): every entry of the Jacobian
    torch, fast        torch.autograd.gradcheck(f, inputs, fast_mode=True): one random projection
    jax                jax.test_util.check_grads(f, inputs, order=1, modes=["rev"]): one random direction
    autograd           autograd.test_util.check_grads(f, modes=["rev"], order=1): one random direction
    NablaFuzz's        what NablaFuzz does to one reverse-mode gradient: gradcheck in float64 with eps=1e-6,
                       atol=1e-1 and rtol=1e-3, and no alarm where a random neighbour within 1e-4 has another
                       value or other differences, up to the same atol and rtol
    rtol 1e-3          a central difference in the dtype of the inputs, and every entry within 1e-3 of it
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["CHECKS", "Check", "Subject", "differences"]

Array = Any


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """`value(*inputs)` is a number of the inputs' dtype, NaN where the function has none; `gradient(seed,
    *inputs)` what reverse mode makes of the cotangent `seed` of it, one array per input. Both accept float64
    inputs, too, and then compute in float64.
    """

    inputs: tuple[Array, ...]
    value: Callable[..., Any]
    gradient: Callable[..., tuple[Array, ...]]

    @property
    def dtype(self) -> str:
        return self.inputs[0].dtype.name


Check = Callable[[Subject], bool]
"""Whether a comparator lets the gradient pass."""


def differences(subject: Subject, inputs: Sequence[Array], step: Callable[[float], float]) -> list[Array]:
    """Central differences, entry by entry, in the dtype of the inputs. `step` gives that of an entry."""
    slopes = []
    for k, x in enumerate(inputs):
        slope = np.zeros_like(x)
        for place in np.ndindex(x.shape):
            h = x.dtype.type(step(float(x[place])))
            ends = []
            for sign in (1, -1):
                moved = x.copy()
                moved[place] += sign * h
                ends.append((moved[place], subject.value(*inputs[:k], moved, *inputs[k + 1 :])))
            with np.errstate(all="ignore"):
                slope[place] = (ends[0][1] - ends[1][1]) / (ends[0][0] - ends[1][0])
        slopes.append(slope)
    return slopes


# Torch ------------------------------------------------------------------------------------------------------


@functools.cache
def _torch_function() -> Any:
    import torch

    class Claimed(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, subject: Subject, *xs: Any) -> Any:
            ctx.subject = subject
            ctx.save_for_backward(*xs)
            return torch.tensor(subject.value(*(x.detach().numpy().copy() for x in xs)))

        @staticmethod
        def backward(ctx: Any, seed: Any) -> Any:
            arrays = [x.detach().numpy().copy() for x in ctx.saved_tensors]
            with torch.enable_grad():  # the gradient may be torch's own
                parts = ctx.subject.gradient(seed.item(), *arrays)
            return None, *(torch.from_numpy(np.array(g)) for g in parts)

    return Claimed


def _gradcheck(subject: Subject, inputs: Sequence[Array], **options: Any) -> bool:
    import torch

    xs = tuple(torch.from_numpy(x.copy()).requires_grad_() for x in inputs)
    return bool(
        torch.autograd.gradcheck(
            lambda *xs: _torch_function().apply(subject, *xs), xs, raise_exception=False, **options
        )
    )


def torch_slow(subject: Subject) -> bool:
    return _gradcheck(subject, subject.inputs)


def torch_fast(subject: Subject) -> bool:
    return _gradcheck(subject, subject.inputs, fast_mode=True)


_ATOL, _RTOL, _EPS, _NEIGHBOURS, _NEAR = 1e-1, 1e-3, 1e-6, 5, 1e-4
"""NablaFuzz's constants."""


def nablafuzz(subject: Subject) -> bool:
    inputs = [x.astype(np.float64) for x in subject.inputs]
    if _gradcheck(subject, inputs, eps=_EPS, atol=_ATOL, rtol=_RTOL):
        return True
    rng = np.random.default_rng(0)
    here = subject.value(*inputs), *differences(subject, inputs, lambda _: _EPS)
    for _ in range(_NEIGHBOURS):
        near = [np.asarray(x + rng.uniform(-_NEAR, _NEAR, x.shape)) for x in inputs]
        there = subject.value(*near), *differences(subject, near, lambda _: _EPS)
        if not all(np.allclose(a, b, rtol=_RTOL, atol=_ATOL) for a, b in zip(here, there, strict=True)):
            return True  # taken for a kink, and the alarm for a false one
    return False


# The others -------------------------------------------------------------------------------------------------


def jax_check(subject: Subject) -> bool:
    import jax
    from jax.test_util import check_grads

    jax.config.update("jax_enable_x64", True)

    @jax.custom_vjp
    def f(*xs: Any) -> Any:
        return jax.numpy.asarray(subject.value(*map(np.asarray, xs)))

    def forth(*xs: Any) -> Any:
        return f(*xs), xs

    def back(xs: Any, seed: Any) -> Any:
        return tuple(map(jax.numpy.asarray, subject.gradient(float(seed), *map(np.asarray, xs))))

    f.defvjp(forth, back)
    try:
        check_grads(f, subject.inputs, order=1, modes=["rev"])
    except AssertionError:
        return False
    return True


def autograd_check(subject: Subject) -> bool:
    from autograd.extend import defvjp_argnums, primitive
    from autograd.test_util import check_grads

    @primitive
    def f(*xs: Any) -> Any:
        return subject.value(*map(np.asarray, xs))

    def back(argnums: Sequence[int], _: Any, xs: Any, __: Any) -> Any:
        def vjp(seed: Any) -> Any:
            parts = subject.gradient(float(seed), *map(np.asarray, xs))
            return tuple(parts[k] for k in argnums)

        return vjp

    defvjp_argnums(f, back)
    np.random.seed(0)  # noqa: NPY002 - autograd draws its directions from the global generator
    try:
        with np.errstate(all="ignore"):
            check_grads(f, tuple(range(len(subject.inputs))), modes=["rev"], order=1)(*subject.inputs)
    except AssertionError:
        return False
    return True


def relative(subject: Subject) -> bool:
    """Steps of the cube root of the dtype's epsilon, relative to entries beyond 1: where the two errors of a
    central difference balance.
    """
    root = float(np.cbrt(np.finfo(subject.dtype).eps))
    slopes = differences(subject, subject.inputs, lambda x: root * max(1.0, abs(x)))
    gradient = subject.gradient(1.0, *subject.inputs)
    return all(np.allclose(g, slope, rtol=1e-3, atol=0.0) for g, slope in zip(gradient, slopes, strict=True))


def _quiet(check: Check) -> Check:
    """Without warnings: torch's and those of NumPy."""

    @functools.wraps(check)
    def quiet(subject: Subject) -> bool:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return check(subject)

    return quiet


CHECKS: dict[str, tuple[Check, tuple[str, ...]]] = {
    "torch gradcheck, slow": (_quiet(torch_slow), ("float64", "float32")),
    "torch gradcheck, fast": (_quiet(torch_fast), ("float64", "float32")),
    "jax check_grads": (_quiet(jax_check), ("float64", "float32")),
    "autograd check_grads": (_quiet(autograd_check), ("float64", "float32")),
    "NablaFuzz's": (_quiet(nablafuzz), ("float64",)),
    "rtol 1e-3": (_quiet(relative), ("float64", "float32")),
}
"""By name, with the dtypes in which each is asked."""
