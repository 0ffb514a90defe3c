"""The rules of a library, and which of them a call uses."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gradfuzz.oracles.base import Mode
from gradfuzz.testing.measuring.subject import Subject

BOTH: tuple[Mode, ...] = ("rev", "fwd")

ONE_WAY: Mapping[str, tuple[Mode, ...]] = {
    "custom_lin": ("rev",),  # the backward function of a custom_vjp
    "custom_vmap_call": ("fwd",),
    "reduce_window": ("fwd",),
    "remat_opt": ("fwd",),
}
"""Primitives that JAX differentiates in one mode only; in the other one it raises."""


def rules_of_jax() -> dict[str, tuple[Mode, ...]]:
    """The primitives with a jvp or a transpose, and the modes that each has."""
    import jax.scipy.linalg
    import jax.scipy.special  # noqa: F401 - what registers primitives
    from jax.interpreters import ad

    names = {p.name for p in (*ad.primitive_jvps, *ad.primitive_transposes)}
    return {name: ONE_WAY.get(name, BOTH) for name in sorted(names)}


def rules_of_torch() -> dict[str, tuple[Mode, ...]]:
    """The rows of the table of derivatives that have a formula, as autograd names them. Some have none of
    forward mode.
    """
    return {row.op: BOTH if row.forward_derivatives else ("rev",) for row in torch_table()}


@functools.cache
def torch_table() -> list[Any]:
    """The rows of the table of derivatives that have a formula, in the order of their names."""
    import torchgen
    from torchgen.packaged.autograd.load_derivatives import load_derivatives

    home = Path(torchgen.__file__).parent / "packaged"
    native = home / "ATen" / "native"
    infos, _ = load_derivatives(
        str(home / "autograd" / "derivatives.yaml"),
        str(native / "native_functions.yaml"),
        str(native / "tags.yaml"),
    )
    rows = [info["Default"] for info in infos.values() if "Default" in info]
    named = {row.op: row for row in rows if row.derivatives and row.op}
    return [named[name] for name in sorted(named)]


def used_by_jax(subject: Subject, modes: tuple[Mode, ...]) -> set[str]:
    """The primitives of the function; in reverse mode those of its linear part, too, which is transposed."""
    import jax
    import jax.numpy as jnp

    xs = [jnp.asarray(a) for a in subject.arrays([i.value for i in subject.inputs])]

    def f(*ys: Any) -> Any:
        arrays = list(xs)
        for k, y in zip(subject.wrt, ys, strict=True):
            arrays[k] = y
        return [y for y in subject.call(*arrays) if jnp.issubdtype(jnp.asarray(y).dtype, jnp.floating)]

    given = [xs[k] for k in subject.wrt]
    with subject.framework.context(subject.precision):
        found = set(primitives(jax.make_jaxpr(f)(*given).jaxpr))
        if modes[-1] == "fwd":
            return found
        _, linear = jax.linearize(f, *given)
        return found | set(primitives(jax.make_jaxpr(linear)(*given).jaxpr))


def primitives(jaxpr: Any) -> Iterator[str]:
    """The names of the primitives of a jaxpr and of all inside it."""
    for equation in jaxpr.eqns:
        yield equation.primitive.name
        for value in equation.params.values():
            for one in value if isinstance(value, (tuple, list)) else [value]:
                inner = getattr(one, "jaxpr", one)
                if hasattr(inner, "eqns"):
                    yield from primitives(inner)


def used_by_torch(subject: Subject, modes: tuple[Mode, ...]) -> set[str]:
    """The rows by which autograd goes; of a derivative of second order those of the gradient, too."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    arrays = subject.arrays([i.value for i in subject.inputs])
    xs = [arrays[k].requires_grad_() for k in subject.wrt]
    with sdpa_kernel(SDPBackend.MATH):  # as it is traced
        ys = [y for y in subject.call(*arrays) if y.is_floating_point() and y.requires_grad]
    found = set(nodes(ys))
    if len(modes) > 1:
        slopes = torch.autograd.grad([y.sin().sum() for y in ys], xs, create_graph=True, allow_unused=True)
        found |= set(nodes([s for s in slopes if s is not None]))
    return found


def nodes(tensors: Sequence[Any]) -> Iterator[str]:
    """The names of the nodes that autograd goes through from some tensors on."""
    seen: set[Any] = set()
    waiting = [t.grad_fn for t in tensors if t.grad_fn is not None]
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        yield node.name()
        waiting += [after for after, _ in node.next_functions if after is not None]


RULES = {"jax": rules_of_jax, "torch": rules_of_torch}
USED = {"jax": used_by_jax, "torch": used_by_torch}
