"""Ordinary differentiable functions of Torch and JAX at ordinary inputs, as test suites check them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class Row:
    """A function and its arguments, as NumPy arrays."""

    name: str
    f: Callable[..., Any]
    arguments: tuple[Array, ...]


_DRAWN = np.random.default_rng(7)


def real(*shape: int) -> Array:
    """Numbers with both signs, none near 0."""
    return _DRAWN.choice([-1.0, 1.0], shape) * _DRAWN.uniform(0.2, 1.5, shape)


def positive(*shape: int) -> Array:
    return _DRAWN.uniform(0.3, 2.0, shape)


def inside(*shape: int) -> Array:
    """Numbers within (-1, 1)."""
    return _DRAWN.uniform(-0.9, 0.9, shape)


def regular(*shape: int) -> Array:
    """Matrices far from singular."""
    return real(*shape) / 4 + 2 * np.eye(shape[-1])


def definite(*shape: int) -> Array:
    """Positive definite matrices."""
    a = real(*shape)
    product: Array = a @ np.swapaxes(a, -1, -2) / shape[-1] + np.eye(shape[-1])
    return product


def apart(*shape: int) -> Array:
    """Numbers no two of which are near one another."""
    count = int(np.prod(shape))
    return (_DRAWN.permutation(count).reshape(shape) - count / 2.1) / 5


def _rows(texts: Sequence[tuple[str, Array | tuple[Array, ...]]], names: dict[str, Any]) -> list[Row]:
    """Each text is the body of a function of x, y, z; it is also the row's name."""
    found = []
    for text, arguments in texts:
        given = arguments if isinstance(arguments, tuple) else (arguments,)
        signature = ", ".join("xyz"[: len(given)])
        found.append(Row(text, eval(f"lambda {signature}: {text}", names), given))  # noqa: S307 - texts of this file
    return found


def torch_rows() -> list[Row]:
    import torch
    import torch.nn.functional as F  # noqa: N812 - as everybody calls it

    return _rows(
        [
            ("torch.sin(x)", real(5, 5)),
            ("torch.cos(x)", real(30)),
            ("torch.tan(x)", inside(6)),
            ("torch.asin(x)", inside(10)),
            ("torch.atan(x)", real(3, 4)),
            ("torch.sinh(x)", real(12)),
            ("torch.cosh(x)", real(2, 2, 3)),
            ("torch.tanh(x)", real(20, 20)),
            ("torch.asinh(x)", real(9)),
            ("torch.atanh(x)", inside(8)),
            ("torch.acosh(x)", 1.5 + positive(7)),
            ("torch.exp(x)", real(10, 10)),
            ("torch.expm1(x)", real(15)),
            ("torch.exp2(x)", real(4)),
            ("torch.log(x)", positive(40)),
            ("torch.log1p(x)", positive(6)),
            ("torch.log2(x)", positive(5)),
            ("torch.log10(x)", positive(5)),
            ("torch.sqrt(x)", positive(25)),
            ("torch.rsqrt(x)", positive(25)),
            ("torch.reciprocal(x)", real(16)),
            ("torch.square(x)", real(1)),
            ("torch.abs(x)", real(50)),
            ("torch.sigmoid(x)", real(8, 8)),
            ("torch.erf(x)", real(10)),
            ("torch.erfc(x)", real(10)),
            ("torch.erfinv(x)", inside(6)),
            ("torch.lgamma(x)", positive(8)),
            ("torch.digamma(x)", positive(8)),
            ("torch.sinc(x)", real(9)),
            ("torch.logit(x)", positive(6) / 3),
            ("torch.special.i0e(x)", real(6)),
            ("torch.special.i1(x)", real(6)),
            ("torch.special.entr(x)", positive(6)),
            ("torch.special.ndtr(x)", real(6)),
            ("torch.special.log_ndtr(x)", real(6)),
            ("torch.special.xlog1py(x, y)", (real(6), positive(6))),
            ("torch.xlogy(x, y)", (real(6), positive(6))),
            ("x * y", (real(7, 7), real(7, 7))),
            ("x / y", (real(5, 6), positive(6))),
            ("x ** y", (positive(10), real(10))),
            ("x ** 3", real(20)),
            ("torch.atan2(x, y)", (real(12), real(12))),
            ("torch.hypot(x, y)", (real(6), real(6))),
            ("torch.maximum(x, y)", (apart(20), real(20))),
            ("torch.minimum(x, y)", (apart(8), real(8))),
            ("torch.fmod(x, 0.7)", positive(6)),
            ("torch.lerp(x, y, 0.3)", (real(12), real(12))),
            ("torch.addcmul(x, y, z)", (real(6), real(6), real(6))),
            ("torch.addcdiv(x, y, z)", (real(6), real(6), positive(6))),
            ("torch.logaddexp(x, y)", (real(9), real(9))),
            ("torch.clamp(x, -0.5, 0.5)", real(30)),
            ("torch.where(x > 0, x * x, torch.sin(x))", real(24)),
            ("x.sum()", real(10, 10)),
            ("x.sum(1)", real(10, 10)),
            ("torch.sin(x).sum()", real(400)),
            ("x.mean((0, 2))", real(3, 4, 5)),
            ("x.prod()", real(8)),
            ("x.prod(1)", real(4, 5)),
            ("x.var(1)", real(5, 8)),
            ("x.std()", real(12)),
            ("torch.logsumexp(x, 1)", real(5, 5)),
            ("torch.softmax(x, 1)", real(10, 10)),
            ("torch.log_softmax(x, 0)", real(10, 5)),
            ("torch.cumsum(x, 0)", real(6, 5)),
            ("torch.cumprod(x, 1)", real(4, 6)),
            ("torch.logcumsumexp(x, 0)", real(9)),
            ("x.max(1).values", apart(6, 6)),
            ("x.amin(0)", apart(5, 7)),
            ("torch.sort(x)[0]", apart(20)),
            ("torch.topk(x, 3)[0]", apart(15)),
            ("x.norm()", real(25)),
            ("torch.linalg.vector_norm(x, 3, 1)", real(4, 5)),
            ("torch.nn.functional.normalize(x, dim=1)", real(6, 4)),
            ("x @ y", (real(10, 10), real(10, 10))),
            ("torch.tanh(x @ x)", real(5, 5)),
            ("torch.bmm(x, y)", (real(3, 4, 5), real(3, 5, 2))),
            ("torch.mv(x, y)", (real(6, 7), real(7))),
            ("torch.dot(x, y)", (real(50), real(50))),
            ("torch.outer(x, y)", (real(9), real(8))),
            ("torch.kron(x, y)", (real(3, 3), real(2, 2))),
            ("torch.einsum('bij,bjk->bik', x, y)", (real(2, 4, 3), real(2, 3, 4))),
            ("torch.linalg.det(x)", regular(4, 4)),
            ("torch.linalg.slogdet(x)[1]", regular(5, 5)),
            ("torch.linalg.inv(x)", regular(2, 3, 3)),
            ("torch.linalg.solve(x, y)", (regular(5, 5), real(5))),
            ("torch.linalg.cholesky(x @ x.mT + torch.eye(4, dtype=x.dtype))", real(4, 4)),
            ("torch.linalg.eigvalsh(x + x.mT)", apart(5, 5)),
            ("torch.linalg.svdvals(x)", apart(4, 3)),
            ("torch.linalg.qr(x)[1]", regular(4, 4)),
            ("torch.linalg.matrix_exp(x)", real(3, 3)),
            ("torch.linalg.pinv(x)", apart(5, 3)),
            ("torch.linalg.matrix_norm(x)", real(6, 6)),
            ("torch.linalg.matrix_power(x, 3)", real(4, 4)),
            ("torch.linalg.solve_triangular(torch.tril(x), y, upper=False)", (regular(4, 4), real(4, 2))),
            ("torch.trace(x @ x)", real(6, 6)),
            ("x.T.reshape(-1)", real(10, 20)),
            ("torch.cat([x, y], 1) * 2", (real(4, 5), real(4, 3))),
            ("torch.stack([x, y]).sum(0) ** 2", (real(12), real(12))),
            ("x[2:, ::2] * 3", real(8, 8)),
            ("x[torch.tensor([0, 2, 2])] ** 2", real(5, 4)),
            ("torch.flip(x, [0]) * x", real(20)),
            ("torch.roll(x, 1) * x", real(20)),
            ("torch.tril(x) @ x", real(5, 5)),
            ("torch.diagonal(x) ** 2", real(7, 7)),
            ("torch.gather(x, 1, torch.tensor([[0, 1], [2, 0]]))", real(2, 3)),
            ("F.relu(x) * 2", real(60)),
            ("F.gelu(x)", real(40)),
            ("F.silu(x)", real(40)),
            ("F.softplus(x)", real(40)),
            ("F.elu(x)", real(40)),
            ("F.leaky_relu(x)", real(40)),
            ("F.hardswish(x)", real(20)),
            ("F.mish(x)", real(20)),
            ("F.linear(x, y, z)", (real(8, 10), real(6, 10), real(6))),
            ("F.layer_norm(x, (10,))", real(6, 10)),
            ("F.mse_loss(x, y)", (real(30), real(30))),
            ("F.huber_loss(x, y)", (real(20), real(20))),
            ("F.cross_entropy(x, torch.tensor([0, 2, 1, 1]))", real(4, 3)),
            ("F.binary_cross_entropy_with_logits(x, torch.ones(10, dtype=x.dtype))", real(10)),
            ("F.kl_div(torch.log_softmax(x, 1), torch.full((4, 5), 0.2, dtype=x.dtype))", real(4, 5)),
            ("F.cosine_similarity(x, y)", (real(4, 6), real(4, 6))),
            ("F.pairwise_distance(x, y)", (real(4, 6), real(4, 6))),
            ("F.conv1d(x, y)", (real(1, 2, 10), real(3, 2, 3))),
            ("F.conv2d(x, y)", (real(1, 2, 6, 6), real(2, 2, 3, 3))),
            ("F.avg_pool2d(x, 2)", real(1, 2, 6, 6)),
            ("F.max_pool1d(x, 2)", apart(1, 2, 10)),
            ("F.pad(x, (1, 1)) * 2", real(4, 5)),
        ],
        {"torch": torch, "F": F},
    )


def jax_rows() -> list[Row]:
    import jax
    import jax.numpy as jnp
    import jax.scipy as jsp

    return _rows(
        [
            ("jnp.sin(x)", real(5, 5)),
            ("jnp.tanh(x @ x)", real(5, 5)),
            ("jnp.exp(x) / (1 + jnp.exp(x))", real(30)),
            ("jnp.log(x)", positive(20)),
            ("jnp.sqrt(x)", positive(20)),
            ("jnp.arctan2(x, y)", (real(12), real(12))),
            ("x ** y", (positive(10), real(10))),
            ("jnp.hypot(x, y)", (real(6), real(6))),
            ("jnp.maximum(x, y)", (apart(20), real(20))),
            ("jnp.where(x > 0, x * x, jnp.sin(x))", real(24)),
            ("jnp.clip(x, -0.5, 0.5)", real(30)),
            ("jnp.logaddexp(x, y)", (real(9), real(9))),
            ("jnp.sinc(x)", real(9)),
            ("jnp.cbrt(x)", positive(9)),
            ("x.sum()", real(10, 10)),
            ("jnp.sin(x).sum()", real(400)),
            ("x.mean((0, 2))", real(3, 4, 5)),
            ("x.prod(1)", real(4, 5)),
            ("x.var(1)", real(5, 8)),
            ("x.std()", real(12)),
            ("jax.nn.logsumexp(x, 1)", real(5, 5)),
            ("jax.nn.softmax(x, 1)", real(10, 10)),
            ("jax.nn.log_softmax(x, 0)", real(10, 5)),
            ("jnp.cumsum(x, 0)", real(6, 5)),
            ("jnp.cumprod(x, 1)", real(4, 6)),
            ("x.max(1)", apart(6, 6)),
            ("jnp.sort(x)", apart(20)),
            ("jnp.linalg.norm(x)", real(25)),
            ("x @ y", (real(10, 10), real(10, 10))),
            ("jnp.outer(x, y)", (real(9), real(8))),
            ("jnp.einsum('bij,bjk->bik', x, y)", (real(2, 4, 3), real(2, 3, 4))),
            ("jnp.kron(x, y)", (real(3, 3), real(2, 2))),
            ("jnp.linalg.det(x)", regular(4, 4)),
            ("jnp.linalg.slogdet(x)[1]", regular(5, 5)),
            ("jnp.linalg.inv(x)", regular(2, 3, 3)),
            ("jnp.linalg.solve(x, y)", (regular(5, 5), real(5))),
            ("jnp.linalg.cholesky(x @ x.T + jnp.eye(4))", real(4, 4)),
            ("jnp.linalg.eigvalsh(x + x.T)", apart(5, 5)),
            ("jnp.linalg.svd(x, compute_uv=False)", apart(4, 3)),
            ("jnp.linalg.qr(x)[1]", regular(4, 4)),
            ("jsp.linalg.expm(x)", real(3, 3)),
            ("jsp.special.gammaln(x)", positive(8)),
            ("jsp.special.erf(x)", real(10)),
            ("jax.nn.gelu(x)", real(40)),
            ("jax.nn.silu(x)", real(40)),
            ("jax.nn.softplus(x)", real(40)),
            ("jax.nn.relu(x) * 2", real(60)),
            ("jnp.concatenate([x, y], 1) * 2", (real(4, 5), real(4, 3))),
            ("x[2:, ::2] * 3", real(8, 8)),
            ("x[jnp.array([0, 2, 2])] ** 2", real(5, 4)),
            ("jnp.roll(x, 1) * x", real(20)),
            ("jnp.tril(x) @ x", real(5, 5)),
            ("jnp.trace(x @ x)", real(6, 6)),
            ("jnp.convolve(x, y)", (real(8), real(3))),
            ("jax.lax.scan(lambda c, _: (jnp.sin(c * x), None), x, None, length=5)[0]", real(4)),
            ("jax.lax.fori_loop(0, 5, lambda i, c: c * x, x)", real(4)),
        ],
        {"jax": jax, "jnp": jnp, "jsp": jsp},
    )
