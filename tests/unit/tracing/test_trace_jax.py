"""JAX functions as programs: the values are JAX's, and what the references say about the program is the
gradient that JAX gives.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy as jsp
import mpmath
import numpy as np
import pytest
from jax import lax

from gradfuzz.errors import UntraceableError
from gradfuzz.fuzzer.questions.weighted import weighted_question
from gradfuzz.oracles.base import Point, Question, Truth
from gradfuzz.oracles.jax.compile import quick_jit
from gradfuzz.oracles.jax.lowered import function_of
from gradfuzz.oracles.references.arb import ArbReference
from gradfuzz.oracles.references.finite_differences import MpmathReference
from gradfuzz.programs.arithmetic.numpy_namespace import NumpyNamespace
from gradfuzz.programs.evaluation.interpret import interpret
from gradfuzz.programs.language.program import Program, walk
from gradfuzz.programs.language.syntax import Const
from gradfuzz.strategies import FAMILIES, draw_many
from gradfuzz.tracing.jax.trace import traced

Row = tuple[str, Callable[..., Any], tuple[Any, ...]]


def at(
    shape: tuple[int, ...] | int = (), *, low: float = 0.3, high: float = 1.4, salt: int = 0
) -> Callable[[int], Any]:
    """An array between two numbers, drawn by the seed."""
    return lambda seed: np.random.default_rng([seed, salt, *np.atleast_1d(shape)]).uniform(low, high, shape)


def signed(shape: tuple[int, ...] | int = (), salt: int = 0) -> Callable[[int], Any]:
    """An array of numbers of both signs, none of which is near 0."""

    def draw(seed: int) -> Any:
        rng = np.random.default_rng([seed, salt, 1, *np.atleast_1d(shape)])
        return rng.uniform(0.2, 1.5, shape) * rng.choice([-1.0, 1.0], shape)

    return draw


def regular(n: int, *batch: int, salt: int = 0) -> Callable[[int], Any]:
    """Matrices that are far from singular, with eigenvalues and singular values apart."""

    def draw(seed: int) -> Any:
        rng = np.random.default_rng([seed, salt, 2, n, *batch])
        return rng.uniform(-0.4, 0.4, (*batch, n, n)) + np.diag(np.arange(1.0, n + 1))

    return draw


def definite(n: int, *batch: int) -> Callable[[int], Any]:
    """Symmetric positive definite matrices."""

    def draw(seed: int) -> Any:
        a = regular(n, *batch, salt=5)(seed)
        return a @ np.swapaxes(a, -1, -2) + np.eye(n)

    return draw


# Functions --------------------------------------------------------------------------------------------------


@jax.custom_vjp
def wrong_sine(x: Any) -> Any:
    return jnp.sin(x) * x


wrong_sine.defvjp(lambda x: (wrong_sine(x), x), lambda x, g: (2.0 * g,))


@jax.custom_jvp
def wrong_cube(x: Any) -> Any:
    return x**3


@wrong_cube.defjvp
def _(primals: Any, tangents: Any) -> Any:
    return wrong_cube(*primals), 7.0 * tangents[0]


def newton_root(x: Any) -> Any:
    return lax.while_loop(
        lambda s: s[1] < 7, lambda s: (0.5 * (s[0] + x / s[0]), s[1] + 1), (1.0 + 0.0 * x, 0)
    )[0]


def recurrent(w: Any, u: Any, xs: Any) -> Any:
    def cell(h: Any, x: Any) -> Any:
        h = jnp.tanh(w @ h + u * x)
        return h, h.sum()

    last, ys = lax.scan(cell, jnp.zeros(3, xs.dtype), xs)
    return last, ys


def two_carries(x: Any) -> Any:
    def step(carry: Any, row: Any) -> Any:
        a, (b, n) = carry
        return (a * row[0] + b, (b + jnp.sin(row[1]), n + 1)), {"a": a, "n": n * 1.0}

    return lax.scan(step, (1.0 + 0.0 * x[0, 0], (x[0, 1], 0)), x, reverse=True)


def nested(x: Any) -> Any:
    def outer(i: Any, c: Any) -> Any:
        return lax.fori_loop(0, i + 1, lambda j, d: d * x + jnp.cos(d) * j, c)

    return lax.fori_loop(0, 3, outer, x)


def bisected(x: Any, n: Any) -> Any:
    def body(s: Any) -> Any:
        k, total = s
        return k + 1, lax.cond(k % 2 == 0, lambda t: t + x, lambda t: t * x, total)

    return lax.while_loop(lambda s: s[0] < n, body, (0, x))[1]


def chunked(x: Any) -> Any:
    """A recursion over windows that are read and written at a moving place."""

    def body(i: Any, a: Any) -> Any:
        w = lax.dynamic_slice(a, (i,), (2,))
        return lax.dynamic_update_slice(a, jnp.stack([w[0] * w[1], w[1] + 1.0]), (i,))

    return lax.fori_loop(0, 4, body, x)


def attention(q: Any, k: Any, v: Any) -> Any:
    return jax.nn.softmax(q @ k.T / jnp.sqrt(q.shape[-1] * 1.0), axis=-1) @ v


def layer_norm(x: Any, g: Any) -> Any:
    return g * (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)


def filled_in_loop(x: Any) -> Any:
    def body(i: Any, table: Any) -> Any:
        return table.at[i, :].set(x * table[i - 1]).at[0, i].add(x[0])

    return lax.fori_loop(1, 4, body, jnp.ones((4, 4), x.dtype))


X, M, B = at(4), at((3, 4)), at((2, 3, 4))
ROWS: list[Row] = [
    # elementwise
    ("sum of sines", lambda x: jnp.sin(x).sum(), (X,)),
    ("polynomial", lambda x: 3 * x**4 - x**-2 + 2.0 / x - (-x) ** 3, (X,)),
    ("powers", lambda x, y: x**y + x**2.5 + 2.0**x + jnp.power(x, 3.0), (X, at(4, salt=1))),
    ("negative base", lambda x: x**2.0 + x**3.0 + jnp.square(x), (signed(4),)),
    (
        "exponentials",
        lambda x: (
            jnp.exp(x) + jnp.exp2(x) + jnp.expm1(x) + jnp.log(x) + jnp.log1p(x) + jnp.log2(x) + jnp.log10(x)
        ),
        (X,),
    ),
    ("roots", lambda x: jnp.sqrt(x) + lax.rsqrt(x) + jnp.cbrt(x) + jnp.hypot(x, 2 * x), (X,)),
    ("hyperbolic", lambda x: jnp.sinh(x) * jnp.cosh(x) + jnp.tanh(x), (signed(4),)),
    (
        "inverse hyperbolic",
        lambda x: jnp.arcsinh(x) + jnp.arctanh(x / 3) + jnp.arccosh(x * x + 1.5),
        (signed(4),),
    ),
    (
        "inverse trigonometric",
        lambda x: jnp.arcsin(x / 2) + jnp.arccos(x / 3) + jnp.arctan(x) + jnp.tan(x / 2),
        (signed(4),),
    ),
    ("angles", lambda x, y: jnp.arctan2(x, y) + jnp.arctan2(-x, -y), (signed(4), at(4, salt=2))),
    (
        "extremes",
        lambda x, y: jnp.maximum(x, y) + jnp.minimum(x, 2 * y) + jnp.abs(x) * jnp.sign(y),
        (signed(4), signed(4, 3)),
    ),
    ("clipped", lambda x: jnp.clip(x, -0.5, 0.7) * x, (signed(5),)),
    ("chosen", lambda x: jnp.where((x > 0.1) & ~(x > 1.0) | (x < -1), jnp.sin(x), x**2), (signed(6),)),
    (
        "exclusive",
        lambda x: (
            jnp.where((x > 0) ^ (x > 1), x, -x) + lax.select_n((x > 0).astype(int) + (x > 1), x, 2 * x, 3 * x)
        ),
        (signed(6),),
    ),
    ("indicator", lambda x: (x > 0.5) * x + (x > 1).astype(x.dtype), (signed(5),)),
    (
        "log of a sigmoid",
        lambda x: jax.nn.log_sigmoid(x) + jax.nn.sigmoid(3 * x) + jax.nn.softplus(-x),
        (signed(4),),
    ),
    (
        "activations",
        lambda x: jax.nn.relu(x) + jax.nn.silu(x) + jax.nn.gelu(x) + jax.nn.elu(x) + jax.nn.leaky_relu(x),
        (signed(5),),
    ),
    (
        "far sigmoid",
        lambda x: jax.nn.sigmoid(x) + jnp.logaddexp(x, 0.0),
        (lambda seed: np.array([-800.0, -30.0, 30.0, 800.0]),),
    ),
    (
        "error function",
        lambda x: jsp.special.erf(x) + jax.nn.gelu(3 * x, approximate=False) + jsp.stats.norm.cdf(x),
        (signed(4),),
    ),
    (
        "gamma function",
        lambda x: jsp.special.gammaln(x) + jsp.special.digamma(5 * x) + jsp.stats.gamma.logpdf(x, 2.5),
        (X,),
    ),
    (
        "whole numbers",
        lambda x: x * jnp.floor(3 * x) + jnp.round(5 * x) * x + jnp.ceil(x) * x + jnp.fmod(7 * x, 0.9),
        (signed(4),),
    ),
    (
        "halves away from 0",
        lambda x: (
            lax.fori_loop(0, 4, lambda i, c: c + x * lax.round(0.5 * i), x) * lax.round(jnp.float64(-2.5))
        ),
        (at(),),
    ),
    ("bits of signs", lambda x: jnp.copysign(x, x[::-1]) * x, (signed(4),)),
    ("folded", lambda x: (x % 0.4) * (x - jnp.floor(x)) + (x // 0.3) * x, (signed(4),)),
    (
        "a table of whole parts",
        lambda x, t: t[jnp.floor(2 * x).astype(int) + jnp.ceil(x).astype(int)] * x,
        (at(3), at(6)),
    ),
    (
        "a table",
        lambda x, t: t[(3 * x).astype(int)] * (3 * x - (3 * x).astype(int)),
        (at(3, high=0.9), at(5)),
    ),
    ("sinc", lambda x: jnp.sinc(x), (signed(4),)),
    (
        "complex inside",
        lambda x, y: jnp.abs(jnp.exp(1j * x) * (x + 1j * y)) ** 2 + jnp.angle(x + 1j * y),
        (X, at(4, salt=4)),
    ),
    (
        "conjugates",
        lambda x: jnp.real(jnp.conj((x + 2j) ** 3) / (1.0 - 1j * x)) + jnp.imag(jnp.sqrt(x + 1j)),
        (X,),
    ),
    ("guarded", lambda x: jnp.where(jnp.isfinite(1 / x), 1 / x, 0.0) + jnp.nan_to_num(x), (X,)),
    # shapes
    ("transposed", lambda x: jnp.transpose(x, (2, 0, 1))[::-1, :, 1] * x[0, 0, 0], (B,)),
    ("reshaped", lambda x: x.reshape(4, 6).ravel()[:, None] + x.reshape(-1), (B,)),
    ("broadcast", lambda x, y: x[:, None] * y[None, :] + jnp.broadcast_to(y, (4, 3)), (X, at(3))),
    ("joined", lambda x: jnp.concatenate([x, 2 * x[:2], jnp.ones(2)]) * jnp.stack([x, x], 1).ravel(), (X,)),
    ("tiled", lambda x: jnp.tile(x, (2, 2)) * jnp.repeat(x, 2, axis=0).sum(), (M,)),
    ("rolled", lambda x: jnp.roll(x, 1) * jnp.flip(x) + jnp.diff(x, prepend=0.0), (X,)),
    ("padded", lambda x: lax.pad(x, 0.5, ((1, 2, 1), (-1, 1, 0))) ** 2, (M,)),
    (
        "split",
        lambda x: sum(a * b for a, b in zip(jnp.split(x, 2, 1), jnp.split(x, 2, 1)[::-1], strict=True)),
        (M,),
    ),
    ("strided", lambda x: x[::2, 1::2] * x[1:, 2:], (M,)),
    ("triangles", lambda x: jnp.tril(x) @ jnp.triu(x, 1) + jnp.diag(jnp.diag(x)), (at((3, 3)),)),
    (
        "traces",
        lambda x: jnp.trace(x) * jnp.eye(3) + jnp.outer(x[0], x[1]) + jnp.kron(x[0], x[1])[:3],
        (at((3, 3)),),
    ),
    # reductions
    ("means", lambda x: x.mean(0) * x.std() + x.var(0, ddof=1), (M,)),
    (
        "products",
        lambda x: jnp.prod(x, axis=1) + jnp.cumprod(x, axis=1)[:, 2] + jnp.cumsum(x, axis=0)[1, 1],
        (M,),
    ),
    (
        "greatest",
        lambda x: (
            x.max(1) * x.min()
            + jnp.ptp(x, axis=1)
            + lax.cummax(x, axis=1)[:, 2]
            + lax.cummin(x, axis=1)[:, 3]
        ),
        (M,),
    ),
    (
        "from the end",
        lambda x: (
            lax.cumsum(x, axis=0, reverse=True) * lax.cumlogsumexp(x, axis=0) + lax.cumprod(x, reverse=True)
        ),
        (X,),
    ),
    (
        "logsumexp",
        lambda x: jax.nn.logsumexp(10 * x, axis=1) + jax.nn.logsumexp(x, b=jnp.arange(1.0, 5.0)),
        (M,),
    ),
    ("softmaxes", lambda x: jax.nn.softmax(x, axis=0) * jax.nn.log_softmax(100 * x, axis=1), (M,)),
    ("softmax of equal ones", lambda x: jax.nn.softmax(x - x[0]) * jax.nn.logsumexp(x - x[1]), (X,)),
    ("less what counts", lambda x: (x - jax.lax.iota(x.dtype, 4)) ** 2, (X,)),
    ("batched softmax", jax.vmap(jax.jit(jax.nn.softmax)), (M,)),
    (
        "sorted",
        lambda x: jnp.sort(x, axis=1) * jnp.arange(1.0, 5.0) + jnp.median(x, axis=1, keepdims=True),
        (M,),
    ),
    ("ordered", lambda x: x[0][jnp.argsort(x[1])] + lax.top_k(x[2], 4)[0] * x[1], (M,)),
    (
        "norms",
        lambda x: jnp.linalg.norm(x) + jnp.linalg.norm(x, ord=1, axis=1) + jnp.linalg.norm(x, axis=1),
        (M,),
    ),
    ("where the greatest is", lambda x: x[jnp.argmax(x)] * x[jnp.argmin(x)] + jnp.any(x > 1.0) * x[0], (X,)),
    # indexing
    ("fixed places", lambda x: x[jnp.array([2, 0, 2])] * x[-1] + x[..., 1], (X,)),
    ("pairs of places", lambda x: x[jnp.array([0, 2, 1]), jnp.array([3, 0, 3])], (M,)),
    ("rows and columns", lambda x: x[:, jnp.array([[1, 2], [3, 0]])] * x[jnp.array([2]), :][0, 1], (M,)),
    ("an index", lambda x, i: x[i] * x[i - 1, 2] + x[:, i].sum(), (M, lambda seed: np.array(1))),
    (
        "indices",
        lambda x, i: x[i] * 2.0 + jnp.take(x, i, axis=1).sum() + x[i, i].sum(),
        (M, lambda seed: np.array([2, 0])),
    ),
    (
        "along an axis",
        lambda x, i: jnp.take_along_axis(x, i, axis=1),
        (M, lambda seed: np.array([[3, 0], [1, 1], [2, 3]])),
    ),
    ("set", lambda x: x.at[1].set(2.0 * x[0]).at[jnp.array([0, 3])].set(x[2]) ** 2, (X,)),
    (
        "added",
        lambda x, i: x.at[i].add(x[::-1]) * jnp.zeros(4).at[i].add(x),
        (X, lambda seed: np.array([1, 1, 3, 0])),
    ),
    (
        "dropped",
        lambda x, i: x.at[i].add(x, mode="drop") + x.at[i].get(mode="fill", fill_value=0.5),
        (X, lambda seed: np.array([1, 9, 2, 0])),
    ),
    (
        "multiplied",
        lambda x, i: x.at[i].multiply(x[:2], unique_indices=True).at[jnp.array([1, 2])].max(0.8),
        (X, lambda seed: np.array([2, 0])),
    ),
    (
        "replaced",
        lambda x, i: (x.at[i, 1].set(x[0, :2]) ** 2).at[:, i].set(0.5),
        (M, lambda seed: np.array([2, 0])),
    ),
    ("a window", lambda x, i: lax.dynamic_slice(x, (i, 1), (2, 2)) ** 2, (M, lambda seed: np.array(1))),
    (
        "a window put",
        lambda x, i: lax.dynamic_update_slice(x, x[:2, :2] ** 2, (i, i)),
        (M, lambda seed: np.array(1)),
    ),
    (
        "extreme segments",
        lambda x: (
            jax.ops.segment_max(x, jnp.array([0, 1, 0, 2]), 3)
            * jax.ops.segment_min(x, jnp.array([0, 1, 1, 2]), 3)
        ),
        (X,),
    ),
    ("segments", lambda x: jax.ops.segment_sum(x, jnp.array([0, 1, 0, 2]), num_segments=3), (X,)),
    ("interpolated", lambda x, y: jnp.interp(x, jnp.array([0.0, 0.55, 1.0, 2.0]), y), (at(3), X)),
    # products
    ("matrix products", lambda x, y: x @ y + (y @ x).sum() + x[0] @ y[:, 0], (M, at((4, 3)))),
    (
        "batched products",
        lambda x, y: jnp.einsum("bij,bkj->bik", x, y) + (x @ jnp.swapaxes(y, 1, 2)),
        (B, at((2, 3, 4), salt=1)),
    ),
    (
        "einsum",
        lambda x, y: jnp.einsum("bij,j,kb->ki", x, y, jnp.ones((5, 2))) + jnp.tensordot(x, y, 1).sum(),
        (B, X),
    ),
    (
        "convolved",
        lambda x, k: jnp.convolve(x, k) * 2.0 + jnp.convolve(x, k, mode="same").sum(),
        (at(5), at(3)),
    ),
    (
        "images",
        lambda x, k: lax.conv_general_dilated(
            x,
            k,
            (2, 1),
            ((1, 0), (0, 2)),
            rhs_dilation=(1, 2),
            lhs_dilation=(2, 1),
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
            feature_group_count=2,
        ),
        (at((1, 4, 5, 4)), at((2, 2, 2, 2))),
    ),
    (
        "pooled",
        lambda x: (
            lax.reduce_window(x, 0.0, lax.add, (2, 2), (1, 1), "SAME")
            + lax.reduce_window(x, -jnp.inf, lax.max, (2, 3), (1, 1), "VALID").sum()
        ),
        (M,),
    ),
    (
        "padded pools",
        lambda x: (
            lax.reduce_window(x, -jnp.inf, lax.max, (2, 2), (1, 2), "SAME")
            + lax.reduce_window(x, jnp.inf, lax.min, (2, 2), (1, 2), "SAME")
        ),
        (M,),
    ),
    (
        "spectra",
        lambda x: (
            jnp.abs(jnp.fft.fft(x)) ** 2
            + jnp.abs(jnp.fft.rfft(x)[1])
            + jnp.fft.irfft(jnp.fft.rfft(x) * (1 + 1j))
        ),
        (at(6),),
    ),
    ("spectra over two axes", lambda x: jnp.abs(jnp.fft.ifft2(jnp.fft.fft2(x) * x)), (M,)),
    (
        "batched branches",
        jax.vmap(lambda x, i: lax.switch(i, [jnp.sin, jnp.cos, jnp.exp], x)),
        (at(3), lambda seed: np.array([2, 0, 1])),
    ),
    ("attention", attention, (at((3, 2)), at((4, 2)), at((4, 2), salt=1))),
    ("layer norm", layer_norm, (M, X)),
    # linear algebra
    ("solve", jnp.linalg.solve, (regular(3), at(3))),
    ("solve many", jnp.linalg.solve, (regular(3, 2), at((2, 3, 2)))),
    ("inverse", lambda a: jnp.linalg.inv(a) @ a.T, (regular(3),)),
    ("determinants", lambda a: jnp.linalg.det(a) + jnp.linalg.slogdet(a)[1], (regular(3, 2),)),
    ("cholesky", jnp.linalg.cholesky, (definite(3, 2),)),
    (
        "cholesky in a loop",
        lambda a: lax.fori_loop(0, 2, lambda _, x: jnp.linalg.cholesky(x @ x.T + jnp.eye(2)), a),
        (regular(2),),
    ),
    ("eigenvalues", lambda a: jnp.linalg.eigvalsh(a) ** 2, (definite(3),)),
    (
        "a spectral function",
        lambda a: (lambda w, v: (v * jnp.sqrt(w)) @ v.T)(*jnp.linalg.eigh(a)),
        (definite(3),),
    ),
    (
        "singular values",
        lambda a: jnp.linalg.svd(a, compute_uv=False) + jnp.linalg.norm(a, ord="nuc"),
        (regular(3),),
    ),
    (
        "a product of factors",
        lambda a: (lambda u, s, vh: (u * s**2) @ vh)(*jnp.linalg.svd(a, full_matrices=False)),
        (regular(3),),
    ),
    ("qr", lambda a: jnp.linalg.qr(a)[1] ** 2, (regular(3),)),
    ("lu", lambda a: (lambda p, low, up: low + up)(*jsp.linalg.lu(a)), (regular(3),)),
    ("lu with a vector", lambda a, b: jsp.linalg.lu_solve(jsp.linalg.lu_factor(a), b), (regular(3), at(3))),
    (
        "cholesky solve",
        lambda a, b: jsp.linalg.cho_solve(jsp.linalg.cho_factor(a @ a.T + 2 * jnp.eye(3)), b),
        (regular(3), at(3)),
    ),
    ("triangular", lambda a, b: jsp.linalg.solve_triangular(a, b, lower=True, trans=1), (regular(3), at(3))),
    ("positive solve", lambda a, b: jsp.linalg.solve((a + a.T) / 2, b, assume_a="pos"), (definite(3), at(3))),
    ("exponential", jsp.linalg.expm, (regular(2),)),
    ("pseudo-inverse", jnp.linalg.pinv, (at((3, 2)),)),
    ("least squares", lambda a, b: jnp.linalg.lstsq(a, b)[0], (at((4, 2)), X)),
    ("power", lambda a: jnp.linalg.matrix_power(a, 5), (regular(2),)),
    (
        "conjugate gradients",
        lambda a, b: jsp.sparse.linalg.cg(lambda v: a @ v, b, tol=1e-14)[0],
        (definite(3), at(3)),
    ),
    # loops and branches
    ("cumulative product by scan", lambda x: lax.scan(lambda c, a: (c * a, c), 1.0, x), (X,)),
    ("recurrent", recurrent, (at((3, 3)), at(3), X)),
    ("two carries", two_carries, (at((3, 2)),)),
    ("no trips", lambda x: lax.scan(lambda c, a: (c * a, c), x[0], x[:0]), (X,)),
    (
        "trips by an argument",
        lambda x, n: lax.fori_loop(0, n, lambda i, c: c * jnp.sin(x) + i, x),
        (at(), lambda seed: np.array(4)),
    ),
    ("nested", nested, (at(),)),
    ("branches in a loop", bisected, (at(), lambda seed: np.array(5))),
    ("windows in a loop", chunked, (at(6),)),
    ("rows in a loop", filled_in_loop, (X,)),
    (
        "until it is small",
        lambda x: lax.while_loop(lambda c: jnp.sum(c) > 0.1, lambda c: c * x * 0.5, x),
        (X,),
    ),
    ("cond", lambda x: lax.cond(x[0] > 0.1, lambda: x * x[1], lambda: -x), (signed(4),)),
    ("switch", lambda x, i: lax.switch(i, [jnp.sin, jnp.cos, jnp.exp], x), (X, lambda seed: np.array(2))),
    ("mapped", lambda x: lax.map(lambda r: jnp.cumsum(r) * r[0], x), (M,)),
    ("associative", lambda x: lax.associative_scan(jnp.multiply, x), (at(5),)),
    ("vmapped loop", jax.vmap(newton_root), (X,)),
    ("vmapped branch", jax.vmap(lambda x: lax.cond(x > 0.8, jnp.sin, jnp.cos, x)), (X,)),
    (
        "vmapped index",
        lambda x, i: jax.vmap(lambda r, k: r[k] * r.at[k].set(0.0))(x, i),
        (M, lambda seed: np.array([3, 0, 1])),
    ),
    ("a root by steps", newton_root, (at(),)),
    # calls and rules
    (
        "calls",
        jax.jit(lambda x: jax.checkpoint(jax.jit(jnp.sin))(x) * jax.named_call(jnp.cos, name="c")(x)),
        (X,),
    ),
    (
        "gradients inside",
        lambda x: jax.grad(lambda y: (y**3).sum())(x) + jax.jvp(jnp.sin, (x,), (x,))[1],
        (X,),
    ),
    ("trees", lambda x: {"a": x[0], "b": (x[1:], jnp.float64(2.0))}, (X,)),
]


def arguments(row: Row, seed: int) -> list[Any]:
    return [np.asarray(draw(seed)) for draw in row[2]]


def named(program: Program, args: Sequence[Any]) -> dict[str, Any]:
    return {p.name: a for p, a in zip(program.params, args, strict=True)}


def answer_of(f: Callable[..., Any], question: Question) -> tuple[list[Any], list[Any]]:
    """The leaves of what the function returns, and the gradient that JAX gives of their weighted sum."""
    inputs = [question.points[0].inputs[p.name] for p in question.program.params]
    places = [k for k, p in enumerate(question.program.params) if p.name in question.wrt]

    def total(*args: Any) -> Any:
        leaves = jax.tree.leaves(f(*args))
        return (
            sum(jnp.sum(w * leaf) for w, leaf in zip(question.weights, leaves, strict=True) if w is not None),
            leaves,
        )

    with jax.enable_x64(True):
        arrays = [jnp.asarray(a) for a in inputs]
        try:
            slopes, leaves = quick_jit(jax.grad(total, places, has_aux=True))(*arrays)
        except ValueError:  # JAX has no reverse mode through a loop of unknown length
            slopes, leaves = quick_jit(jax.jacfwd(total, places, has_aux=True))(*arrays)
        return [np.asarray(leaf) for leaf in leaves], [np.asarray(g) for g in slopes]


def truth_of(question: Question) -> Truth:
    """What the first reference that can tell says, without the engine."""
    for reference in (ArbReference(), MpmathReference()):
        (truth,) = reference.truth(question)
        if truth.status == "ok":
            return truth
    raise AssertionError(f"no reference can tell: {truth.message}\n{question.program}")


def close(got: Any, want: Any, digits: float = 1e-9) -> None:
    scale = max(1.0, float(np.max(np.abs(want), initial=0.0)))
    assert np.shape(got) == np.shape(want)
    assert np.max(np.abs(np.asarray(got, float) - np.asarray(want, float)), initial=0.0) <= digits * scale


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_values_and_gradient(row: Row, seed: int) -> None:
    _, f, _ = row
    args = arguments(row, seed)
    program = traced(f, args)
    values = interpret(program, named(program, args), NumpyNamespace("float64"))
    question = weighted_question(program, [Point(named(program, args))], "float64", ("rev",))
    leaves, slopes = answer_of(f, question)
    assert len(values) == len(leaves)
    for value, leaf in zip(values, leaves, strict=True):
        close(value, leaf, 1e-13)
    truth = truth_of(question)
    for name, slope in zip(question.wrt, slopes, strict=True):
        close(truth.gradient[name], slope)


# What is differentiated -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("f", "slope"),
    [
        (wrong_sine, lambda x: np.sin(x) + x * np.cos(x)),
        (wrong_cube, lambda x: 3 * x**2),
        (jax.jit(lambda x: 2.0 * wrong_sine(x)), lambda x: 2 * (np.sin(x) + x * np.cos(x))),
        (lambda x: lax.fori_loop(0, 2, lambda i, c: c * wrong_cube(x), 1.0), lambda x: 6 * x**5),
    ],
    ids=["custom_vjp", "custom_jvp", "in a jit", "in a loop"],
)
def test_the_derivative_is_that_of_the_function_and_not_of_its_rule(
    f: Callable[..., Any], slope: Callable[..., Any]
) -> None:
    x = np.asarray(0.7)
    program = traced(f, [x])
    question = weighted_question(program, [Point(named(program, [x]))], "float64", ("rev",))
    weight = float(np.asarray(question.weights[0]))
    close(truth_of(question).gradient[question.wrt[0]], weight * slope(0.7), 1e-14)


KEY = np.array([1, 2], np.uint32)
NUMBER = jax.ShapeDtypeStruct((), jnp.float64)


def custom_square_root(x: Any) -> Any:
    return lax.custom_root(lambda y: y * y - x, x, lambda g, y: y, lambda g, y: y / g(1.0))


@pytest.mark.parametrize(
    ("f", "args", "reason"),
    [
        (lambda x: x * lax.stop_gradient(x), (1.0,), "stop_gradient"),
        (lambda x: lax.select_n(np.array([0, 1]), x), ([1.0, 2.0],), "a case that is not there"),
        (lambda x: lax.zeta(x, 2.0), (3.0,), "zeta of numbers that are no constant whole numbers"),
        (lambda x: x.astype(jnp.float32).sum() + x[0], (np.ones(3),), "float32 in a function of float64"),
        (lambda x: jax.jit(lambda y: y if y > 0 else -y)(x), (1.0,), "TracerBoolConversionError"),
        (lambda x: np.sin(x), (1.0,), "TracerArrayConversionError"),
        (lambda x, k: x + jax.random.normal(jax.random.wrap_key_data(k)), (1.0, KEY), "random"),
        (lambda x: jsp.linalg.cho_factor(x)[0], (np.eye(2),), "one triangle"),
        (
            lambda x: lax.fori_loop(0, 2, lambda _, y: jsp.linalg.cho_factor(y)[0], x + x.T),
            (np.eye(2),),
            "one triangle",
        ),
        (lambda x: jax.pure_callback(np.sin, NUMBER, x), (1.0,), "pure_callback"),
        (lambda x: custom_square_root(x), (2.0,), "the root"),
        (lambda x: jnp.bitwise_or(3, 4) + x, (np.float64(1.0), ), None),
        (lambda x, y: x + y, (np.float64(1.0), np.float32(2.0)), "one dtype"),
        (lambda n: n + 1, (3,), "one dtype"),
        (lambda x: (x > 0).astype(jnp.int8) + x, (1.0,), "int8"),
        (lambda x: (), (1.0,), "returns no array"),
    ],
)  # fmt: skip
def test_what_no_program_says_is_named(
    f: Callable[..., Any], args: tuple[Any, ...], reason: str | None
) -> None:
    if reason is None:
        traced(f, list(args))
        return
    with pytest.raises(UntraceableError, match=reason):
        traced(f, list(args))


def test_gradients_that_are_meant_to_differ_are_said_to_be(seed: int) -> None:
    for f in (lambda x: x * lax.stop_gradient(x), jsp.linalg.cho_factor):
        with pytest.raises(UntraceableError) as caught:
            traced(f, [regular(2)(seed)])
        assert caught.value.detached


# There and back ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("family", "style", "count"),
    [
        ("loops", "while_loop", 8),
        ("loops", "scan", 8),
        ("tensor", "while_loop", 12),
        ("linalg", "scan", 8),
        ("complex", "scan", 8),
    ],
)
def test_drawn_programs_come_back_from_jax(family: str, style: Any, count: int, seed: int) -> None:
    for k, case in enumerate(draw_many(FAMILIES[family].cases(("float64",)), count, f"traced/{seed}")):
        (inputs, *_), program = case.points, case.program
        args = [np.asarray(inputs[p.name]) for p in program.params]
        if any(0 in a.shape for a in args):
            continue  # not all ops take arrays of no entries
        back = traced(function_of(program, "float64", style, 40), args)
        values = interpret(program, inputs, NumpyNamespace("float64"))
        for value, other in zip(
            values, interpret(back, named(back, args), NumpyNamespace("float64")), strict=True
        ):
            np.testing.assert_allclose(
                np.asarray(other),
                np.asarray(value),
                rtol=1e-9,
                atol=1e-9 * (1 + np.max(np.abs(value), initial=0.0)),
            )
        if k % 4 == 1:
            asked = weighted_question(program, [Point(inputs)], "float64", ("rev",))
            again = weighted_question(back, [Point(named(back, args))], "float64", ("rev",))
            again = dataclasses.replace(again, weights=asked.weights)
            (truth,), (other,) = (ArbReference().truth(q) for q in (asked, again))
            assert truth.status == other.status
            for param, renamed in zip(program.params, back.params, strict=True):
                if param.name in truth.gradient:
                    close(other.gradient[renamed.name], truth.gradient[param.name], 1e-12)


def test_constants_are_rounded_as_jax_rounds_them() -> None:
    with jax.enable_x64(False):
        program = traced(lambda x: 0.1 * x + jnp.arange(3.0) @ jnp.full(3, 0.3), [np.float32(2.0)])
    constants = {float(c.value) for c in walk(program) if isinstance(c, Const) and isinstance(c.value, float)}
    assert float(np.float32(0.1)) in constants
    assert 0.1 not in constants


def test_a_function_of_float32_has_one_precision() -> None:
    weights = np.array([0.3, 0.7, 0.2], np.float32)
    program = traced(
        lambda x: (jax.nn.softmax(x * weights) * jnp.log1p(x)).sum(), [np.array([0.5, 1.5, 2.5], np.float32)]
    )
    (value,) = interpret(
        program, {program.params[0].name: np.array([0.5, 1.5, 2.5], np.float32)}, NumpyNamespace("float32")
    )
    x = mpmath.matrix([0.5, 1.5, 2.5])
    parts = [mpmath.exp(x[k] * float(weights[k])) for k in range(3)]
    exact = sum(p * mpmath.log1p(x[k]) for k, p in enumerate(parts)) / sum(parts)
    assert abs(float(value) - exact) < 1e-6


def test_parameters_have_the_names_of_the_function() -> None:
    def energy(height: Any, /, width: Any, *, depth: float = 2.0) -> Any:
        return height * width * depth

    assert [p.name for p in traced(energy, [np.ones(2), np.ones(2)]).params] == ["height", "width"]
    assert traced(jax.jit(energy), [np.ones(2), np.ones(2)]).name == "energy"


def test_the_configuration_of_jax_stays_as_it_is() -> None:
    before = jax.config.jax_enable_x64
    traced(lambda x: x * 2, [np.ones(2)])
    with pytest.raises(UntraceableError):
        traced(lambda x: lax.stop_gradient(x), [np.ones(2)])
    assert jax.config.jax_enable_x64 == before
