"""The longer functions of Torch that the power table asks about."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.autograd.function import once_differentiable
from torch.nn import functional as fn
from torch.utils.checkpoint import checkpoint

Tensor = Any

# Losses and indices -----------------------------------------------------------------------------------------


def grid_sample(x: Tensor, grid: Tensor) -> Tensor:
    return fn.grid_sample(x, grid, align_corners=True)


def cross_entropy(x: Tensor) -> Tensor:
    return fn.cross_entropy(x, torch.tensor([1, 0, 2])[: x.shape[0]], label_smoothing=0.1)


def ctc(x: Tensor) -> Tensor:
    return fn.ctc_loss(fn.log_softmax(x, 2), torch.tensor([[1, 2]]), torch.tensor([5]), torch.tensor([2]))


def index_put(x: Tensor, y: Tensor) -> Tensor:
    return torch.sin(x.index_put((torch.tensor([0, 2, 2, 1, 2]),), y, accumulate=True))


def segments(x: Tensor) -> Tensor:
    hot = fn.one_hot(torch.tensor([0, 2, 2, 1, 2]), 3).to(x.dtype)
    return torch.log1p((hot.T @ x) ** 2)


# Matrices ---------------------------------------------------------------------------------------------------


def symmetric_function(x: Tensor) -> Tensor:
    """V log(D) V^T: it does not depend on the signs of the eigenvectors."""
    values, vectors = torch.linalg.eigh((x + x.T) / 2)
    return (vectors * values.log()) @ vectors.T


def whitened(x: Tensor) -> Tensor:
    values, vectors = torch.linalg.eigh((x + x.T) / 2)
    return (vectors * values.rsqrt()) @ vectors.T


def triangular(a: Tensor, b: Tensor) -> Tensor:
    return torch.linalg.solve_triangular(torch.tril(a), b, upper=False)


def gaussian(a: Tensor, x: Tensor) -> Tensor:
    factor = torch.linalg.cholesky((a + a.T) / 2)
    z = torch.linalg.solve_triangular(factor, x[:, None], upper=False)
    return -0.5 * (z * z).sum() - factor.diagonal().log().sum()


def vandermonde(x: Tensor, y: Tensor) -> Tensor:
    return torch.linalg.solve(torch.linalg.vander(x), y)


def complex_solve(a: Tensor, b: Tensor) -> Tensor:
    return torch.linalg.solve(torch.complex(a, a.T / 2), torch.complex(b, b)).abs()


def hermitian(x: Tensor) -> Tensor:
    z = torch.complex(x, x.T / 2)
    return torch.linalg.eigvalsh(z + z.mH)


# Masks ------------------------------------------------------------------------------------------------------


def huber(x: Tensor) -> Tensor:
    return torch.where(x.abs() < 1, x * x / 2, x.abs() - 0.5)


def causal_softmax(x: Tensor) -> Tensor:
    hidden = torch.triu(torch.ones(4, 4, dtype=torch.bool), 1)
    return torch.softmax(x.masked_fill(hidden, -math.inf), -1)


def safe_log(x: Tensor) -> Tensor:
    safe = torch.where(x > 0, x, 1.0)
    return torch.where(x > 0, torch.log(safe), 2 * x)


def masked_mean(x: Tensor) -> Tensor:
    keep = torch.tensor([[1, 1, 0, 1], [0, 1, 0, 0], [1, 1, 1, 1]], dtype=x.dtype)
    return (x * x * keep).sum(1) / keep.sum(1)


# Complex ----------------------------------------------------------------------------------------------------


def fft_convolution(x: Tensor, y: Tensor) -> Tensor:
    return torch.fft.ifft(torch.fft.fft(x) * torch.fft.fft(y)).real


def fft_correlation(x: Tensor, y: Tensor) -> Tensor:
    return torch.fft.ifft(torch.fft.fft(x) * torch.fft.fft(y).conj()).real


def autocorrelation(x: Tensor) -> Tensor:
    return fft_correlation(x, x)


def autoconvolution(x: Tensor) -> Tensor:
    return fft_convolution(x, x)


# Attention and networks -------------------------------------------------------------------------------------


def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1]), -1) @ v


def sdpa_masked(value: float) -> Callable[..., Tensor]:
    def f(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        mask = torch.zeros(4, 4, dtype=q.dtype)
        mask[0, 1:] = value
        mask[2, 0] = value
        return fn.scaled_dot_product_attention(q, k, v, attn_mask=mask)

    return f


def heads(x: Tensor, w: Tensor) -> Tensor:
    q, k, v = (x @ w).view(3, 3, 2, 2).permute(1, 2, 0, 3)
    return attention(q, k, v).transpose(0, 1).reshape(3, 4)


def rotary(x: Tensor) -> Tensor:
    angle = torch.arange(4, dtype=x.dtype)
    a, b = x[..., 0], x[..., 1]
    turned = torch.stack([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], -1)
    return attention(turned, turned, x)


def perceptron(x: Tensor, a: Tensor, b: Tensor, c: Tensor, d: Tensor) -> Tensor:
    return torch.tanh(x @ a + b) @ c + d


def gru(x: Tensor, h: Tensor, w: Tensor, u: Tensor) -> Tensor:
    zeros = torch.zeros(6, dtype=x.dtype)
    return torch.gru_cell(x, h, w, u, zeros, zeros)


def lstm(xs: Tensor, w: Tensor) -> Tensor:
    h = c = torch.zeros(2, dtype=xs.dtype)
    for x in xs:
        i, f, o, g = (w @ torch.cat([x, h])).view(4, 2)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
    return h


def recurrent(xs: Tensor, w: Tensor) -> Tensor:
    h = torch.zeros(3, dtype=xs.dtype)
    for x in xs:
        h = torch.tanh(w @ h + x)
    return h


def recurrent_stale(xs: Tensor, w: Tensor) -> Tensor:
    """The derivative of tanh is taken at the carry of the iteration before."""
    h = before = torch.zeros(3, dtype=xs.dtype)
    for x in xs:
        now = w @ h + x
        h, before = torch.tanh(now).detach() + (1 - before.detach() ** 2) * (now - now.detach()), h
    return h


def block(x: Tensor, w: Tensor, u: Tensor) -> Tensor:
    x = x + heads(fn.layer_norm(x, (4,)), w)
    return x + fn.gelu(fn.layer_norm(x, (4,)) @ u)


def convolutional(x: Tensor, k: Tensor, w: Tensor) -> Tensor:
    return fn.max_pool2d(torch.relu(fn.conv2d(x, k)), 2).mean((2, 3)) @ w


def autoencoder(x: Tensor, w: Tensor) -> Tensor:
    return ((torch.tanh(x @ w) @ w.T - x) ** 2).mean()


def experts(x: Tensor, gate: Tensor, w: Tensor) -> Tensor:
    shares = torch.softmax(x @ gate, -1)
    return torch.einsum("be,beo->bo", shares, torch.einsum("bi,eio->beo", x, w))


def module_call(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    net = torch.nn.Sequential(torch.nn.Linear(4, 2, dtype=x.dtype), torch.nn.ELU())
    return torch.func.functional_call(net, {"0.weight": weight, "0.bias": bias}, (x,))


# Loops and solvers ------------------------------------------------------------------------------------------


def newton_sqrt(a: Tensor) -> Tensor:
    x = a
    while bool(((x * x - a).abs() > 1e-14 * a).any()):
        new = (x + a / x) / 2
        if bool((new == x).all()):
            break
        x = new
    return x


def geometric(x: Tensor) -> Tensor:
    total, power = torch.zeros_like(x), torch.ones_like(x)
    while power.abs().item() > 1e-3:
        total, power = total + power, power * x
    return total


def halving(x: Tensor) -> Tensor:
    while x.item() > 1.5:
        x = x / 2 + 0.1
    return x * x


def branch(x: Tensor) -> Tensor:
    return torch.stack([v * v if v > 0 else v.exp() for v in x])


def breaking(x: Tensor) -> Tensor:
    total = x
    for k in range(1, 50):
        total = total * x / k
        if total.item() < 0.01:
            break
    return total


def horner(x: Tensor, c: Tensor) -> Tensor:
    total = torch.zeros_like(x)
    for a in c:
        total = total * x + a
    return total


def horner_short(x: Tensor, c: Tensor) -> Tensor:
    return horner(x, c[1:])


def logistic_map(x: Tensor) -> Tensor:
    for _ in range(6):
        x = 3.1 * x * (1 - x)
    return x


def logistic_map_stale(x: Tensor) -> Tensor:
    old = x.detach()
    for _ in range(6):
        slope = 3.1 * (1 - 2 * old)
        old = x.detach()
        x = (3.1 * x * (1 - x)).detach() + slope * (x - x.detach())
    return x


def power_iteration(a: Tensor) -> Tensor:
    v = torch.ones(4, dtype=a.dtype)
    for _ in range(8):
        v = a @ v
        v = v / v.norm()
    return v @ a @ v


def running(x: Tensor) -> Tensor:
    total = torch.ones((), dtype=x.dtype)
    for v in x:
        total = total * torch.cos(v) + v
    return total


def running_stale(x: Tensor) -> Tensor:
    total, before = torch.ones((), dtype=x.dtype), torch.zeros((), dtype=x.dtype)
    for v in x:
        slope = torch.cos(v).detach() * (total - total.detach()) + (1 - before * torch.sin(v)).detach() * (
            v - v.detach()
        )
        before = total.detach()
        total = (total * torch.cos(v) + v).detach() + slope
    return total


def _pendulum(y: Tensor, k: Tensor) -> Tensor:
    return torch.stack([y[1], -k[0] * torch.sin(y[0])])


def runge_kutta(y: Tensor, k: Tensor, steps: int = 6, h: float = 0.1) -> Tensor:
    for _ in range(steps):
        a = _pendulum(y, k)
        b = _pendulum(y + h / 2 * a, k)
        c = _pendulum(y + h / 2 * b, k)
        d = _pendulum(y + h * c, k)
        y = y + h / 6 * (a + 2 * b + 2 * c + d)
    return y


def runge_kutta_short(y: Tensor, k: Tensor) -> Tensor:
    return runge_kutta(y, k, steps=5)


def conjugate_gradients(a: Tensor, b: Tensor) -> Tensor:
    x, r = torch.zeros_like(b), b
    p = r
    for _ in range(3):
        ap = a @ p
        alpha = r @ r / (p @ ap)
        x, new = x + alpha * p, r - alpha * ap
        p, r = new + (new @ new) / (r @ r) * p, new
    return x


def fixed_point(w: Tensor, b: Tensor) -> Tensor:
    x = torch.zeros_like(b)
    for _ in range(30):
        x = torch.tanh(w @ x + b)
    return x


def kalman(ys: Tensor, q: Tensor, r: Tensor) -> Tensor:
    mean, variance = torch.zeros(1, dtype=ys.dtype), torch.ones(1, dtype=ys.dtype)
    loss = torch.zeros(1, dtype=ys.dtype)
    for y in ys:
        variance = variance + q * q
        s = variance + r * r
        loss = loss + 0.5 * ((y - mean) ** 2 / s + s.log())
        gain = variance / s
        mean, variance = mean + gain * (y - mean), (1 - gain) * variance
    return loss


def sinkhorn(cost: Tensor) -> Tensor:
    f = g = torch.zeros(3, dtype=cost.dtype)
    for _ in range(5):
        f = -torch.logsumexp(g - cost, 1)
        g = -torch.logsumexp((f[:, None] - cost), 0)
    return torch.exp(f[:, None] + g - cost)


# Rules of their own -----------------------------------------------------------------------------------------


class _ImplicitRoot(torch.autograd.Function):
    """The root x > 0 of x^3 + x = a, with x' = 1 / (3 x^2 + 1)."""

    @staticmethod
    def forward(ctx: Any, a: Tensor) -> Tensor:
        x = torch.ones_like(a)
        for _ in range(40):
            x = x - (x**3 + x - a) / (3 * x * x + 1)
        ctx.save_for_backward(x)
        return x

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return g / (3 * x * x + 1)


def implicit_root(a: Tensor) -> Tensor:
    return _ImplicitRoot.apply(a)


class _Bisected(torch.autograd.Function):
    """The square root of numbers between 0 and 100 by bisection."""

    @staticmethod
    def forward(ctx: Any, a: Tensor) -> Tensor:
        found = []
        for number in a.tolist():
            low, high = 0.0, 10.0
            for _ in range(80):
                middle = (low + high) / 2
                low, high = (middle, high) if middle * middle < number else (low, middle)
            found.append(high)
        x = torch.tensor(found, dtype=a.dtype)
        ctx.save_for_backward(x)
        return x

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        return g / (2 * ctx.saved_tensors[0])


def bisected(a: Tensor) -> Tensor:
    return _Bisected.apply(a)


class _NumpySin(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return torch.from_numpy(np.sin(x.numpy()))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        return g * torch.cos(ctx.saved_tensors[0])


def numpy_sin(x: Tensor) -> Tensor:
    return _NumpySin.apply(x)


class _MathErf(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return torch.tensor([math.erf(v) for v in x.tolist()], dtype=x.dtype)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return g * 2 / math.sqrt(math.pi) * torch.exp(-x * x)


def math_erf(x: Tensor) -> Tensor:
    return _MathErf.apply(x)


class _NumpySolve(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        x = torch.from_numpy(np.linalg.solve(a.numpy(), b.numpy()))
        ctx.save_for_backward(a, x)
        return x

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, Tensor]:
        a, x = ctx.saved_tensors
        back = torch.linalg.solve(a.T, g)
        return -torch.outer(back, x), back


def numpy_solve(a: Tensor, b: Tensor) -> Tensor:
    return _NumpySolve.apply(a, b)


def by_item(x: Tensor) -> Tensor:
    return x * x * float(len(str(x.shape[0]))) + (0.5 if x[0].item() > 0 else 0.25)


class _StableSoftplus(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x.clamp(min=0) + torch.log1p(torch.exp(-x.abs()))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        return g * torch.sigmoid(ctx.saved_tensors[0])


def stable_softplus(x: Tensor) -> Tensor:
    return _StableSoftplus.apply(x)


class _Saving(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return (x * x).sin()

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return g * (x * x).cos() * 2 * x


def saving(x: Tensor) -> Tensor:
    return _Saving.apply(x)


class _Polar(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        r = torch.hypot(x, y)
        ctx.save_for_backward(x, y, r)
        return r, torch.atan2(y, x)

    @staticmethod
    def backward(ctx: Any, g: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        x, y, r = ctx.saved_tensors
        return (g * x - h * y / r) / r, (g * y + h * x / r) / r


def polar(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    return _Polar.apply(x, y)


class _Once(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x.exp() * x

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return g * x.exp() * (x + 1)


def once(x: Tensor) -> Tensor:
    return _Once.apply(x)


def checkpointed(x: Tensor, w: Tensor) -> Tensor:
    return checkpoint(lambda x, w: torch.tanh(x @ w) @ w, x, w, use_reentrant=False)


def autocast(x: Tensor, y: Tensor) -> Tensor:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return torch.tanh(x @ y).float()
