"""A right function with a wrong derivative: the same value, by torch.autograd.Function, jax.custom_vjp or
jax.custom_derivatives.linear_call.

`planted` has a wrong vector-Jacobian product, `forward_only` a wrong Jacobian-vector product beside a right
vector-Jacobian product, `second_only` a right vector-Jacobian product whose own derivative is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.power.rows import Library

__all__ = [
    "Change",
    "forward_only",
    "namespace",
    "planted",
    "right_product",
    "second_only",
    "stop",
    "vmap_only",
]

Arrays = tuple[Any, ...]
Change = Callable[[Any, Arrays, Arrays], Arrays]
"""Takes the namespace (torch or jax.numpy), the arrays to change, and the arguments of the function."""

Function = Callable[..., Any]


def _same(_: Any, arrays: Arrays, __: Arrays) -> Arrays:
    return arrays


def namespace(library: Library) -> Any:
    if library == "torch":
        import torch

        return torch
    import jax.numpy

    return jax.numpy


def stop(library: Library, x: Any) -> Any:
    """`x` as a constant."""
    if library == "torch":
        return x.detach()
    import jax

    return jax.lax.stop_gradient(x)


def _tuple(value: Any) -> Arrays:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def right_product(library: Library, f: Function) -> Function:
    """`(xs, cotangents) -> gradients`, which can be differentiated again. Zeros where there is none."""
    if library == "torch":
        return _torch_product(f)

    def product(xs: Arrays, cotangents: Arrays) -> Arrays:
        import jax

        value, pull = jax.vjp(f, *xs)
        return tuple(pull(type(value)(cotangents) if isinstance(value, (tuple, list)) else cotangents[0]))

    return product


def _torch_product(f: Function) -> Function:
    def product(xs: Arrays, cotangents: Arrays) -> Arrays:
        import torch

        again = torch.is_grad_enabled()
        with torch.enable_grad():
            leaves = tuple(x if again and x.requires_grad else x.detach().requires_grad_() for x in xs)
            pairs = zip(_tuple(f(*leaves)), cotangents, strict=True)
            known = [(y, g) for y, g in pairs if y.requires_grad and g is not None]
            found = torch.autograd.grad(
                [y for y, _ in known],
                leaves,
                [g for _, g in known],
                create_graph=again,
                allow_unused=True,
                materialize_grads=True,
            )
        return tuple(found)

    return product


def planted(
    library: Library,
    f: Function,
    *,
    product: Function | None = None,
    cotangent: Change = _same,
    gradient: Change = _same,
    at: Callable[[Arrays], Arrays] = lambda xs: xs,
) -> Function:
    """`f` with the derivative of `product` (its own by default) at the arguments `at`, where `cotangent`
    changes what goes in and `gradient` what comes out.
    """
    product = product or right_product(library, f)
    space = namespace(library)

    def back(xs: Arrays, cotangents: Arrays) -> Arrays:
        changed = cotangent(space, cotangents, xs)
        return tuple(gradient(space, product(at(xs), changed), xs))

    return _torch_rule(f, back) if library == "torch" else _jax_rule(f, back)


def _torch_rule(f: Function, back: Function, forth: Function | None = None) -> Function:
    import torch

    class Rule(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *xs: Any) -> Any:
            ctx.save_for_backward(*xs)
            if forth is not None:
                ctx.save_for_forward(*xs)
            value = f(*xs)
            return tuple(value) if isinstance(value, list) else value

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> Any:
            return tuple(back(ctx.saved_tensors, cotangents))

    if forth is not None:
        slopes = forth
        Rule.jvp = staticmethod(lambda ctx, *tangents: slopes(ctx.saved_tensors, tangents))
    return lambda *xs: Rule.apply(*xs)


def _jax_rule(f: Function, back: Function) -> Function:
    import jax

    @jax.custom_vjp
    def rule(*xs: Any) -> Any:
        return f(*xs)

    rule.defvjp(lambda *xs: (f(*xs), xs), lambda xs, g: tuple(back(xs, _tuple(g))))
    return lambda *xs: rule(*xs)


def forward_only(library: Library, f: Function, tangent: Change) -> Function:
    """`f` with a right vector-Jacobian product, where `tangent` changes the Jacobian-vector product."""
    product, space = right_product(library, f), namespace(library)
    if library == "torch":

        def slopes(xs: Arrays, tangents: Arrays) -> Any:
            """The derivative of the vector-Jacobian product by its cotangents, as forward modes of Torch
            cannot be nested.
            """
            import torch

            with torch.enable_grad():
                leaves = [x.detach().requires_grad_() for x in xs]
                values = _tuple(f(*leaves))
                weights = [torch.zeros_like(y).requires_grad_() for y in values]
                pulled = torch.autograd.grad(
                    values, leaves, weights, create_graph=True, allow_unused=True, materialize_grads=True
                )
                pairs = [(p, v) for p, v in zip(pulled, tangents, strict=True) if p.requires_grad]
                found = torch.autograd.grad([p for p, _ in pairs], weights, [v for _, v in pairs])
            changed = tangent(space, found, xs)
            return changed if len(changed) > 1 else changed[0]

        return _torch_rule(f, product, slopes)

    import jax

    @jax.custom_jvp
    def rule(*xs: Any) -> Any:
        return f(*xs)

    def forth(xs: Arrays, tangents: Arrays) -> Any:
        value = f(*xs)
        several = isinstance(value, (tuple, list))

        def push(xs: Arrays, tangents: Arrays) -> Any:
            slope = tangent(space, _tuple(jax.jvp(f, xs, tangents)[1]), xs)
            return type(value)(slope) if several else slope[0]

        def pull(xs: Arrays, g: Any) -> Any:
            return product(xs, _tuple(g))

        return value, jax.custom_derivatives.linear_call(push, pull, xs, tangents)

    rule.defjvp(forth)
    return lambda *xs: rule(*xs)


def second_only(library: Library, f: Function, count: int, gradient: Change) -> Function:
    """`f` of `count` arguments with a right vector-Jacobian product, whose own derivative `gradient`
    changes.
    """
    product = right_product(library, f)

    def flat(*arrays: Any) -> Any:
        return product(arrays[:count], arrays[count:])

    wrong = planted(library, flat, gradient=gradient)
    return planted(library, f, product=lambda xs, cotangents: _tuple(wrong(*xs, *cotangents)))


def vmap_only(library: Library, f: Function, gradient: Change) -> Function:
    """`f` alone is right; its rule for batches has a vector-Jacobian product that `gradient` changes."""
    if library == "jax":
        import jax

        right = jax.custom_batching.custom_vmap(lambda *xs: f(*xs))  # a default of f's is no argument

        @right.def_vmap
        def rule(size: int, batched: Any, *xs: Any) -> Any:
            wrong = planted(
                "jax", jax.vmap(f, in_axes=tuple(0 if b else None for b in batched)), gradient=gradient
            )
            found = wrong(*xs)
            return found, jax.tree_util.tree_map(lambda _: True, found)

        return lambda *xs: right(*xs)

    import torch

    class Rule(torch.autograd.Function):
        @staticmethod
        def forward(*xs: Any) -> Any:
            return f(*xs)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> Any:
            return right_product("torch", f)(ctx.saved_tensors, cotangents)

        @staticmethod
        def vmap(info: Any, in_dims: Any, *xs: Any) -> Any:
            found = planted("torch", torch.func.vmap(f, in_dims), gradient=gradient)(*xs)
            return found, tuple(0 for _ in found) if isinstance(found, tuple) else 0

    return lambda *xs: Rule.apply(*xs)
