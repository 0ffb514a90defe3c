"""The rules of a library, and which of them a call uses."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gradfuzz.fuzzer.measuring.setting import Setting
from gradfuzz.fuzzer.measuring.subject import Subject
from gradfuzz.oracles.base import Mode

BOTH: tuple[Mode, ...] = ("rev", "fwd")

ONE_WAY: Mapping[str, tuple[Mode, ...]] = {
    "accum_grad_in_ref": ("fwd",),
    "custom_lin": ("rev",),  # the backward function of a custom_vjp
    "custom_vmap_call": ("fwd",),
    "reduce_window": ("fwd",),
    "remat_opt": ("fwd",),
    "run_state": ("fwd",),
    "shard_map": ("rev",),  # its transpose is a rule of the table, and its jvp a part of JAX's own walk
    "while": ("fwd",),
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
    """The primitives whose jvp or, in reverse mode, whose jvp or transpose JAX calls when it makes the
    derivative.
    """
    import jax

    setting = Setting.of(subject, modes)
    with subject.framework.context(subject.precision), asked_of_jax() as (pushed, pulled):
        jax.make_jaxpr(setting.slope)(*setting.given)
    return pushed | pulled


_OF_DERIVATIVES = ("jvp", "linearize", "transpose")
"""What the names of functions of JAX have in them that make derivatives of jaxprs, and keep them."""


@contextlib.contextmanager
def asked_of_jax() -> Iterator[tuple[set[str], set[str]]]:
    """The names of the primitives whose jvp, and of those whose transpose, JAX calls meanwhile.

    The derivatives that JAX has kept are forgotten first: it would not ask again.
    """
    from jax._src import ad_checkpoint, pjit
    from jax._src.interpreters import ad
    from jax._src.lax.control_flow import conditionals, loops

    for module in (ad, ad_checkpoint, conditionals, loops, pjit):
        for name, value in vars(module).items():
            if hasattr(value, "cache_clear") and any(word in name for word in _OF_DERIVATIVES):
                value.cache_clear()
    pushed: set[str] = set()
    pulled: set[str] = set()
    tables = [
        (ad.primitive_jvps, pushed),
        (ad.primitive_linearizations, pushed),
        (ad.primitive_transposes, pulled),
        (ad.fancy_transposes, pulled),
    ]

    def noted(rule: Callable[..., Any], name: str, seen: set[str]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            seen.add(name)
            return rule(*args, **options)

        return call

    own = [dict(table) for table, _ in tables]
    for table, seen in tables:
        table.update({p: noted(rule, p.name, seen) for p, rule in table.items()})
    try:
        yield pushed, pulled
    finally:
        for (table, _), rules in zip(tables, own, strict=True):
            table.update(rules)


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
