"""The longer functions of JAX that the power table asks about."""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

Array = Any

# Indices and matrices ---------------------------------------------------------------------------------------

INDEX = np.array([0, 2, 2, 1, 2], np.int32)  # of 64 bits JAX raises where these were enabled before


def cross_entropy(x: Array) -> Array:
    return -jnp.mean(jax.nn.log_softmax(x, -1)[np.arange(x.shape[0]), np.array([1, 0, 2])[: x.shape[0]]])


def segments(x: Array) -> Array:
    return jnp.log1p(jax.ops.segment_sum(x, INDEX, 3) ** 2)


def symmetric_function(x: Array) -> Array:
    """V log(D) V^T: it does not depend on the signs of the eigenvectors."""
    values, vectors = jnp.linalg.eigh((x + x.T) / 2)
    return (vectors * jnp.log(values)) @ vectors.T


def whitened(x: Array) -> Array:
    values, vectors = jnp.linalg.eigh((x + x.T) / 2)
    return (vectors / jnp.sqrt(values)) @ vectors.T


def triangular(a: Array, b: Array) -> Array:
    return jax.scipy.linalg.solve_triangular(jnp.tril(a), b, lower=True)


def gaussian(a: Array, x: Array) -> Array:
    factor = jnp.linalg.cholesky((a + a.T) / 2)
    z = jax.scipy.linalg.solve_triangular(factor, x, lower=True)
    return -0.5 * jnp.sum(z * z) - jnp.sum(jnp.log(jnp.diagonal(factor)))


def complex_solve(a: Array, b: Array) -> Array:
    return jnp.abs(jnp.linalg.solve(lax.complex(a, a.T / 2), lax.complex(b, b)))


def conv(x: Array, k: Array) -> Array:
    return lax.conv_general_dilated(x, k, (2, 2), "SAME")


def correlate(x: Array, y: Array) -> Array:
    return jnp.fft.ifft(jnp.fft.fft(x) * jnp.conj(jnp.fft.fft(y))).real


def convolve(x: Array, y: Array) -> Array:
    return jnp.fft.ifft(jnp.fft.fft(x) * jnp.fft.fft(y)).real


# Masks ------------------------------------------------------------------------------------------------------


def causal_softmax(x: Array) -> Array:
    return jax.nn.softmax(jnp.where(np.tril(np.ones((4, 4), bool)), x, -jnp.inf), -1)


def safe_log(x: Array) -> Array:
    return jnp.where(x > 0, jnp.log(jnp.where(x > 0, x, 1.0)), 2 * x)


def masked_mean(x: Array) -> Array:
    keep = np.array([[1, 1, 0, 1], [0, 1, 0, 0], [1, 1, 1, 1]], x.dtype)
    return jnp.sum(x * x * keep, 1) / jnp.sum(keep, 1)


# Attention and networks -------------------------------------------------------------------------------------


def attention(q: Array, k: Array, v: Array) -> Array:
    return jax.nn.softmax(jnp.einsum("bid,bjd->bij", q, k) / math.sqrt(q.shape[-1]), -1) @ v


def masked_attention(q: Array, k: Array, v: Array, hidden: float = -1e9) -> Array:
    scores = jnp.einsum("bid,bjd->bij", q, k) + np.triu(np.full((4, 4), hidden), 1).astype(q.dtype)
    return jax.nn.softmax(scores, -1) @ v


def library_attention(q: Array, k: Array, v: Array, causal: bool = False) -> Array:
    return jax.nn.dot_product_attention(q[:, :, None], k[:, :, None], v[:, :, None], is_causal=causal)


def perceptron(x: Array, a: Array, b: Array, c: Array, d: Array) -> Array:
    return jnp.tanh(x @ a + b) @ c + d


def layer_norm(x: Array, w: Array, b: Array) -> Array:
    mean = jnp.mean(x, -1, keepdims=True)
    return (x - mean) / jnp.sqrt(jnp.var(x, -1, keepdims=True) + 1e-5) * w + b


def layer_norm_constant(x: Array, w: Array, b: Array) -> Array:
    scale = lax.stop_gradient(jnp.sqrt(jnp.var(x, -1, keepdims=True) + 1e-5))
    return (x - jnp.mean(x, -1, keepdims=True)) / scale * w + b


def block(x: Array, w: Array, u: Array) -> Array:
    one = np.ones(4, x.dtype)
    q, k, v = jnp.split(layer_norm(x, one, 0 * one) @ w, 3, -1)
    x = x + attention(q[None], k[None], v[None])[0]
    return x + jax.nn.gelu(layer_norm(x, one, 0 * one) @ u)


def recurrent(xs: Array, w: Array) -> Array:
    def step(h: Array, x: Array) -> tuple[Array, None]:
        return jnp.tanh(w @ h + x), None

    return lax.scan(step, jnp.zeros(3, xs.dtype), xs)[0]


def recurrent_stale(xs: Array, w: Array) -> Array:
    """The derivative of tanh is taken at the carry of the iteration before."""

    def step(carry: Array, x: Array) -> tuple[Array, None]:
        h, before = carry
        now = w @ h + x
        slope = 1 - lax.stop_gradient(before) ** 2
        new = lax.stop_gradient(jnp.tanh(now)) + slope * (now - lax.stop_gradient(now))
        return (new, h), None

    zeros = jnp.zeros(3, xs.dtype)
    return lax.scan(step, (zeros, zeros), xs)[0][0]


def gru(xs: Array, w: Array, u: Array) -> Array:
    def step(h: Array, x: Array) -> tuple[Array, Array]:
        r, z = jnp.split(jax.nn.sigmoid(x @ w + h @ u), 2)
        h = z * h + (1 - z) * jnp.tanh(x[:2] + r * h)
        return h, h

    return lax.scan(step, jnp.zeros(2, xs.dtype), xs)[1]


def experts(x: Array, gate: Array, w: Array) -> Array:
    return jnp.einsum("be,bi,eio->bo", jax.nn.softmax(x @ gate, -1), x, w)


def by_dict(x: Array, a: Array, b: Array) -> Array:
    parameters = {"layer": {"w": a, "b": b}}
    return jax.nn.elu(x @ parameters["layer"]["w"] + parameters["layer"]["b"])


# Loops and solvers ------------------------------------------------------------------------------------------


def newton_sqrt(a: Array) -> Array:
    """By Python, which decides by values."""
    x = a
    for _ in range(60):
        new = (x + a / x) / 2
        if bool(jnp.all(jnp.abs(new - x) <= 1e-15 * x)):
            break
        x = new
    return x


def geometric(x: Array) -> Array:
    total, power = jnp.zeros_like(x), jnp.ones_like(x)
    while bool(jnp.abs(power) > 1e-3):
        total, power = total + power, power * x
    return total


def while_power(x: Array) -> Array:
    """Only forward mode goes through a while loop."""
    return lax.while_loop(lambda c: c[1] < 20.0, lambda c: (c[0] * jnp.sin(x), c[1] * 1.5 + x), (x, x * x))[0]


def fori(x: Array) -> Array:
    return lax.fori_loop(0, 5, lambda k, y: y * jnp.cos(y) + k * x, x)


def branch(x: Array) -> Array:
    return lax.cond(x[0] > 0, lambda x: x * x, jnp.exp, x)


def switch(x: Array) -> Array:
    return lax.switch(jnp.int32(x[0] > 0) + 1, [jnp.sin, jnp.cos, lambda x: x**3], x)


def horner(x: Array, c: Array) -> Array:
    return lax.scan(lambda total, a: (total * x + a, None), jnp.zeros_like(x), c)[0]


def horner_short(x: Array, c: Array) -> Array:
    return horner(x, c[1:])


def logistic_map(x: Array) -> Array:
    return lax.scan(lambda x, _: (3.1 * x * (1 - x), x), x, None, length=6)[0]


def logistic_map_stale(x: Array) -> Array:
    def step(carry: Array, _: None) -> tuple[Array, None]:
        x, old = carry
        slope = 3.1 * (1 - 2 * old)
        still = lax.stop_gradient(x)
        return (lax.stop_gradient(3.1 * x * (1 - x)) + slope * (x - still), still), None

    return lax.scan(step, (x, lax.stop_gradient(x)), None, length=6)[0][0]


def _pendulum(y: Array, k: Array) -> Array:
    return jnp.stack([y[1], -k[0] * jnp.sin(y[0])])


def runge_kutta(y: Array, k: Array, steps: int = 6, h: float = 0.1) -> Array:
    def step(y: Array, _: None) -> tuple[Array, None]:
        a = _pendulum(y, k)
        b = _pendulum(y + h / 2 * a, k)
        c = _pendulum(y + h / 2 * b, k)
        d = _pendulum(y + h * c, k)
        return y + h / 6 * (a + 2 * b + 2 * c + d), None

    return lax.scan(step, y, None, length=steps)[0]


def runge_kutta_short(y: Array, k: Array) -> Array:
    return runge_kutta(y, k, steps=5)


def fixed_point(w: Array, b: Array) -> Array:
    return lax.fori_loop(0, 30, lambda _, x: jnp.tanh(w @ x + b), jnp.zeros_like(b))


def kalman(ys: Array, q: Array, r: Array) -> Array:
    def step(carry: Array, y: Array) -> tuple[Array, Array]:
        mean, variance = carry
        variance = variance + q * q
        s = variance + r * r
        gain = variance / s
        loss = 0.5 * ((y - mean) ** 2 / s + jnp.log(s))
        return (mean + gain * (y - mean), (1 - gain) * variance), loss

    return jnp.sum(lax.scan(step, (jnp.zeros_like(q), jnp.ones_like(q)), ys)[1])


def sinkhorn(cost: Array) -> Array:
    f = g = jnp.zeros(3, cost.dtype)
    for _ in range(5):
        f = -jax.nn.logsumexp(g - cost, 1)
        g = -jax.nn.logsumexp(f[:, None] - cost, 0)
    return jnp.exp(f[:, None] + g - cost)


def cg(a: Array, b: Array) -> Array:
    return jax.scipy.sparse.linalg.cg(lambda x: a @ x, b, tol=1e-14)[0]


def custom_root(a: Array) -> Array:
    def solve(f: Any, x: Array) -> Array:
        return lax.fori_loop(0, 40, lambda _, x: x - f(x) / (3 * x * x + 1), x)

    def tangent(g: Any, y: Array) -> Array:
        return y / g(jnp.ones_like(y))

    return lax.custom_root(lambda x: x**3 + x - a, jnp.ones_like(a), solve, tangent)


# Rules of their own -----------------------------------------------------------------------------------------


def _numpy(f: Any, like: Array, *arguments: Array) -> Array:
    shape = jax.ShapeDtypeStruct(like.shape, like.dtype)
    return jax.pure_callback(lambda *a: np.asarray(f(*map(np.asarray, a)), like.dtype), shape, *arguments)


@jax.custom_vjp
def numpy_sin(x: Array) -> Array:
    return _numpy(np.sin, x, x)


numpy_sin.defvjp(lambda x: (numpy_sin(x), x), lambda x, g: (g * jnp.cos(x),))


@jax.custom_vjp
def numpy_solve(a: Array, b: Array) -> Array:
    return _numpy(np.linalg.solve, b, a, b)


def _solve_back(saved: Any, g: Array) -> tuple[Array, Array]:
    a, x = saved
    back = jnp.linalg.solve(a.T, g)
    return -jnp.outer(back, x), back


def _solve_forth(a: Array, b: Array) -> Any:
    x = numpy_solve(a, b)
    return x, (a, x)


numpy_solve.defvjp(_solve_forth, _solve_back)


@jax.custom_vjp
def math_erf(x: Array) -> Array:
    return _numpy(np.vectorize(math.erf), x, x)


math_erf.defvjp(lambda x: (math_erf(x), x), lambda x, g: (g * 2 / math.sqrt(math.pi) * jnp.exp(-x * x),))


@jax.custom_jvp
def log1pexp(x: Array) -> Array:
    return jnp.log1p(jnp.exp(x))


log1pexp.defjvps(lambda t, ans, x: t * jax.nn.sigmoid(x))


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _applied(f: Any, x: Array) -> Array:
    return f(x) * x


def _applied_back(f: Any, x: Array, g: Array) -> tuple[Array]:
    value, pull = jax.vjp(f, x)
    return (g * value + pull(g * x)[0],)


_applied.defvjp(lambda f, x: (_applied(f, x), x), _applied_back)


def applied(x: Array) -> Array:
    """A custom_vjp with `nondiff_argnums`."""
    return _applied(jnp.sin, x)


@jax.custom_vjp
def polar(x: Array, y: Array) -> tuple[Array, Array]:
    return jnp.hypot(x, y), jnp.arctan2(y, x)


def _polar_back(saved: Any, gs: Any) -> tuple[Array, Array]:
    (x, y), (g, h) = saved, gs
    r = jnp.hypot(x, y)
    return (g * x - h * y / r) / r, (g * y + h * x / r) / r


polar.defvjp(lambda x, y: (polar(x, y), (x, y)), _polar_back)


@jax.custom_vjp
def square_of_module(x: Array) -> Array:
    return jnp.sin(x * x)


square_of_module.defvjp(lambda x: (jnp.sin(x * x), x), lambda x, g: (g * jnp.cos(x * x) * 2 * x,))


@jax.custom_jvp
def sinc(x: Array) -> Array:
    """sin(x) / x, and 1 at 0."""
    safe = jnp.where(x == 0, 1.0, x)
    return jnp.where(x == 0, 1.0, jnp.sin(safe) / safe)


@sinc.defjvp
def _sinc(xs: Any, ts: Any) -> Any:
    ((x,), (t,)) = xs, ts
    safe = jnp.where(x == 0, 1.0, x)
    slope = (safe * jnp.cos(safe) - jnp.sin(safe)) / safe**2
    return sinc(x), t * jnp.where(x == 0, 0.0, slope)


@jax.checkpoint
def checkpointed(x: Array, w: Array) -> Array:
    return jnp.tanh(x @ w) @ w


def by_value(x: Array) -> Array:
    return x * x * (2.0 if bool(x[0] > 0) else 3.0)


def hessian_trace(x: Array) -> Array:
    return jnp.trace(jax.hessian(lambda x: jnp.sum(jnp.sin(x) ** 2) * jnp.sum(x))(x))


def gradient_norm(x: Array) -> Array:
    return jnp.sum(jax.grad(lambda x: jnp.sum(jnp.exp(x) * x))(x) ** 2)
