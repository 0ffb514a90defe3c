"""Right functions of Torch."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.nn import functional as fn

from benchmarks.power import torch_functions as own
from benchmarks.power.rows import Row, normal, positive, uniform

__all__ = ["ROWS"]

LINALG = torch.linalg


def _t(value: Any, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.tensor(value, dtype=dtype)


def _row(name: str, f: Callable[..., Any], *arguments: Any, tags: str, **instead: Callable[..., Any]) -> Row:
    given = tuple(x if isinstance(x, torch.Tensor) else _t(x) for x in arguments)
    kinds = {kind.replace("_", " "): other for kind, other in instead.items()}
    return Row(name, "torch", f, given, tuple(tags.split(", ")), kinds)


X, Y, Z = (normal(3, 4, seed=k) for k in range(3))
V, W = normal(5, seed=5), normal(5, seed=6)
SQUARE, SPD = normal(4, 4, seed=7) + 3 * np.eye(4), positive(4, seed=8)
MASKED = [[0.5, 1.0, -1e9, 0.25], [-1e9, 2.0, 1.5, -1e9], [0.1, -0.3, 0.2, 0.4]]
INFINITE = np.where(np.array(MASKED) < -1e8, -np.inf, MASKED)
HILBERT = 1.0 / (np.arange(6)[:, None] + np.arange(6)[None, :] + 1.0)
TURN = np.linalg.qr(normal(4, 4, seed=9))[0]
PAIR = TURN @ np.diag([1.0, 1.0 + 1e-5, 2.0, 4.0]) @ TURN.T
INDEX = [0, 2, 2, 1, 2]
COUNTS = _t([1.0, 1.0, 3.0])
IMAGE, KERNEL = normal(1, 2, 5, 5, seed=10), normal(3, 2, 3, 3, seed=11)
QKV = tuple(normal(1, 2, 4, 3, seed=k) for k in (12, 13, 14))
ALONG = functools.partial(torch.softmax, dim=-1)
LAYERS = (
    normal(4, 6, seed=15) / 2,
    normal(6, seed=16) / 2,
    normal(6, 3, seed=17) / 2,
    normal(3, seed=18) / 2,
)

PLAIN: tuple[Row, ...] = (
    _row("sin times y", lambda x, y: torch.sin(x) * y, X, Y, tags="elementwise"),
    _row("x / y", lambda x, y: x / y, X, Y + 3, tags="elementwise"),
    _row("x ** y", torch.pow, np.abs(X) + 0.1, Y, tags="elementwise"),
    _row("atan2", torch.atan2, X, Y, tags="elementwise"),
    _row("hypot", torch.hypot, X, Y, tags="elementwise"),
    _row("tanh of a sum", lambda x, b: torch.tanh(x + b), X, normal(4, seed=20), tags="elementwise"),
    _row("gelu", fn.gelu, X, tags="elementwise"),
    _row("gelu, tanh", lambda x: fn.gelu(x, approximate="tanh"), X, tags="elementwise"),
    _row("silu", fn.silu, X, tags="elementwise"),
    _row("mish", fn.mish, X, tags="elementwise"),
    _row("softplus", fn.softplus, X, tags="elementwise"),
    _row("erf", torch.erf, X, tags="elementwise"),
    _row("erfinv", torch.erfinv, X / 4, tags="elementwise, special"),
    _row("lgamma", torch.lgamma, np.abs(X) + 0.2, tags="elementwise, special"),
    _row("i0e", torch.special.i0e, X, tags="elementwise, special"),
    _row("ndtri", torch.special.ndtri, uniform(5, low=0.1, high=0.9), tags="elementwise, special"),
    _row("log_ndtr", torch.special.log_ndtr, [-30.0, -2.0, 0.5, 3.0], tags="elementwise, special"),
    _row("sinc", torch.sinc, [0.5, 1.25, -2.2], tags="elementwise, special"),
    _row("xlogy", torch.xlogy, np.abs(X), np.abs(Y) + 0.5, tags="elementwise, special"),
    _row("matrix product", torch.matmul, X, normal(4, 2, seed=21), tags="products"),
    _row("bmm", torch.bmm, normal(2, 3, 4), normal(2, 4, 2, seed=1), tags="products"),
    _row("bilinear form", lambda x, a, y: x @ a @ y, V[:4], SQUARE, W[:4], tags="products"),
    _row(
        "einsum",
        lambda x, y: torch.einsum("ij,kj->ik", x, y),
        SQUARE,
        SPD,
        tags="products",
        wrong_axis=lambda x, y: torch.einsum("ij,jk->ik", x, y),
    ),
    _row("outer", torch.outer, V, W, tags="products"),
    _row("kron", torch.kron, X[:2, :2], Y[:2, :3], tags="products"),
    _row("cross", lambda x, y: LINALG.cross(x, y), V[:3], W[:3], tags="products"),
    _row("softmax", ALONG, X, tags="reductions", wrong_axis=lambda x: torch.softmax(x, 0)),
    _row(
        "log_softmax",
        lambda x: fn.log_softmax(x, 1),
        X,
        tags="reductions",
        wrong_axis=lambda x: fn.log_softmax(x, 0),
    ),
    _row("logsumexp", lambda x: torch.logsumexp(x, 1), X, tags="reductions"),
    _row("mean and var", lambda x: torch.var_mean(x, 1), X, tags="reductions"),
    _row("std", lambda x: torch.std(x, 0), X, tags="reductions"),
    _row("prod", lambda x: torch.prod(x, 1), X, tags="reductions"),
    _row("prod with a 0", torch.prod, [1.5, 0.0, -2.0, 0.5], tags="reductions"),
    _row("cumprod with a 0", lambda x: torch.cumprod(x, 0), [1.5, 0.0, -2.0, 0.5], tags="reductions"),
    _row(
        "cumsum of squares",
        lambda x: torch.cumsum(x * x, 0),
        V,
        tags="reductions",
        off_by_one=lambda x: torch.cumsum(x * x, 0) - x * x,
    ),
    _row("norm", lambda x: LINALG.vector_norm(x, dim=1), X, tags="reductions"),
    _row("norm of order 3", lambda x: LINALG.vector_norm(x, 3, dim=1), X, tags="reductions"),
    _row(
        "layer_norm",
        lambda x, w, b: fn.layer_norm(x, (4,), w, b),
        X,
        normal(4),
        normal(4, seed=2),
        tags="normalizations",
    ),
    _row(
        "group_norm",
        lambda x, w: fn.group_norm(x, 2, w),
        normal(2, 4, 3),
        normal(4, seed=1),
        tags="normalizations",
    ),
    _row(
        "batch_norm",
        lambda x, w, b: fn.batch_norm(x, None, None, w, b, training=True),
        normal(6, 3),
        normal(3, seed=1),
        normal(3, seed=2),
        tags="normalizations",
        a_factor_held_constant=lambda x, w, b: (
            w * (x - x.mean(0)) / torch.sqrt(x.var(0, unbiased=False) + 1e-5).detach() + b
        ),
    ),
    _row("normalize", lambda x: fn.normalize(x, dim=1), X, tags="normalizations"),
    _row(
        "conv1d",
        lambda x, k: fn.conv1d(x, k, padding=1),
        normal(1, 2, 6),
        normal(3, 2, 3),
        tags="convolutions",
    ),
    _row("conv2d", lambda x, k: fn.conv2d(x, k, stride=2, padding=1), IMAGE, KERNEL, tags="convolutions"),
    _row(
        "conv_transpose2d",
        lambda x, k: fn.conv_transpose2d(x, k, stride=2),
        normal(1, 3, 2, 2),
        KERNEL,
        tags="convolutions",
    ),
    _row("avg_pool2d", lambda x: fn.avg_pool2d(x, 2) ** 2, IMAGE, tags="convolutions"),
    _row("max_pool2d", lambda x: fn.max_pool2d(x, 2), IMAGE, tags="convolutions"),
    _row(
        "interpolate",
        lambda x: fn.interpolate(x, scale_factor=1.6, mode="bilinear") ** 2,
        IMAGE,
        tags="convolutions",
    ),
    _row(
        "reflecting pad",
        lambda x: fn.pad(x, (2, 2), mode="reflect") ** 3,
        normal(1, 2, 5),
        tags="convolutions",
    ),
    _row(
        "grid_sample",
        own.grid_sample,
        IMAGE[:, :, :3, :3],
        uniform(1, 2, 2, 2, low=-0.6, high=0.6),
        tags="convolutions",
    ),
    _row("cross_entropy", own.cross_entropy, X, tags="losses"),
    _row(
        "binary cross entropy",
        lambda x: fn.binary_cross_entropy_with_logits(x, torch.full_like(x, 0.3)),
        X,
        tags="losses",
    ),
    _row(
        "kl_div",
        lambda x, y: fn.kl_div(fn.log_softmax(x, 1), ALONG(y), reduction="batchmean"),
        X,
        Y,
        tags="losses",
    ),
    _row("huber", lambda x, y: fn.huber_loss(x, y), X, Y, tags="losses"),
    _row("cosine_similarity", fn.cosine_similarity, X, Y, tags="losses"),
    _row("ctc", own.ctc, normal(5, 1, 3), tags="losses"),
)

INDICES: tuple[Row, ...] = (
    _row("sort", lambda x: torch.sort(x).values * torch.arange(5.0), V, tags="indices"),
    _row("topk", lambda x: torch.topk(x, 2).values, V, tags="indices"),
    _row("largest of a row", lambda x: torch.max(x, 1).values, X, tags="indices"),
    _row("median", lambda x: torch.median(x, 1).values, normal(3, 5), tags="indices"),
    _row(
        "index_select",
        lambda x: torch.index_select(x, 0, torch.tensor(INDEX)) ** 2,
        X,
        tags="repeated indices",
        repeated_indices=lambda x: (
            torch.index_select(x, 0, torch.tensor(INDEX)) ** 2 / COUNTS[INDEX][:, None]
        ),
    ),
    _row(
        "embedding",
        lambda x: fn.embedding(torch.tensor([INDEX]), x),
        X,
        tags="repeated indices",
        repeated_indices=lambda x: fn.embedding(torch.tensor([INDEX]), x) / COUNTS[INDEX][:, None],
    ),
    _row(
        "gather", lambda x: torch.sin(x.gather(1, torch.tensor([[0, 0, 3]] * 3))), X, tags="repeated indices"
    ),
    _row(
        "index_add",
        lambda x, y: torch.tanh(x.index_add(0, torch.tensor(INDEX), y)),
        normal(3),
        V,
        tags="repeated indices",
    ),
    _row("index_put", own.index_put, normal(3), V, tags="repeated indices"),
    _row(
        "scatter_add",
        lambda x, y: x.scatter_add(0, torch.tensor(INDEX), y) ** 2,
        normal(3),
        V,
        tags="repeated indices",
    ),
    _row(
        "scatter_reduce, mean",
        lambda x, y: x.scatter_reduce(0, torch.tensor(INDEX), y, "mean") ** 2,
        normal(3),
        V,
        tags="repeated indices",
    ),
    _row("segments by one-hot", own.segments, V, tags="repeated indices"),
)

MATRICES: tuple[Row, ...] = (
    _row("solve", LINALG.solve, SQUARE, X.T, tags="matrices"),
    _row("inverse", LINALG.inv, SQUARE, tags="matrices"),
    _row("determinant", LINALG.det, SQUARE, tags="matrices"),
    _row("slogdet", lambda a: LINALG.slogdet(a).logabsdet, SQUARE, tags="matrices"),
    _row("cholesky", lambda x: LINALG.cholesky(x @ x.T + torch.eye(3)), X, tags="matrices"),
    _row("qr", lambda x: LINALG.qr(x).R.abs(), X.T, tags="matrices"),
    _row("eigenvalues", lambda x: LINALG.eigvalsh(x + x.T), SQUARE, tags="matrices"),
    _row("function of a symmetric matrix", own.symmetric_function, SPD, tags="matrices"),
    _row("singular values", LINALG.svdvals, X, tags="matrices"),
    _row("pinv", LINALG.pinv, X, tags="matrices"),
    _row("lstsq", lambda a, b: LINALG.lstsq(a, b).solution, X.T, normal(4, 2), tags="matrices"),
    _row("matrix_exp", torch.matrix_exp, SQUARE / 4, tags="matrices"),
    _row("triangular solve", own.triangular, SQUARE, X.T, tags="matrices"),
    _row("nuclear norm", lambda x: LINALG.matrix_norm(x, "nuc"), X, tags="matrices"),
    _row("matrix power", lambda a: LINALG.matrix_power(a, 3), SQUARE / 3, tags="matrices"),
    _row("log density of a normal", own.gaussian, SPD, V[:4], tags="matrices"),
    _row("Hilbert solve", LINALG.solve, HILBERT, np.ones(6), tags="matrices, badly conditioned"),
    _row(
        "Hilbert inverse", lambda a: LINALG.inv(a).sum(), HILBERT[:4, :4], tags="matrices, badly conditioned"
    ),
    _row("nearly singular determinant", LINALG.det, HILBERT[:4, :4], tags="matrices, badly conditioned"),
    _row(
        "Vandermonde solve", own.vandermonde, [1.0, 1.1, 1.2, 1.3, 1.4], V, tags="matrices, badly conditioned"
    ),
    _row(
        "two scales solve",
        LINALG.solve,
        np.diag([1e8, 1.0, 1e-4]) + 1e-5,
        V[:3],
        tags="matrices, badly conditioned",
    ),
    _row(
        "near pair of eigenvalues",
        lambda x: LINALG.eigvalsh((x + x.T) / 2),
        PAIR,
        tags="near-degenerate spectrum",
    ),
    _row("function near a pair", own.symmetric_function, PAIR, tags="near-degenerate spectrum"),
    _row(
        "near pair of singular values",
        lambda x: LINALG.svdvals(x).log().sum(),
        PAIR,
        tags="near-degenerate spectrum",
    ),
    _row("whitening near a pair", own.whitened, PAIR, tags="near-degenerate spectrum"),
)

EDGES: tuple[Row, ...] = (
    _row(
        "relu next to 0",
        lambda x: torch.relu(x) ** 2 + torch.relu(x),
        [1e-9, -1e-9, 0.5, -0.5],
        tags="next to a kink",
    ),
    _row("abs next to 0", torch.abs, [1e-12, -1e-12, 2.0], tags="next to a kink"),
    _row(
        "maximum next to a tie",
        torch.maximum,
        [1.0, 2.0, 3.0],
        [1.0 + 1e-10, 2.0 - 1e-10, 0.0],
        tags="next to a kink",
    ),
    _row(
        "clamp next to its bound",
        lambda x: x.clamp(-1, 1) * x,
        [1 - 1e-9, 1 + 1e-9, -1 + 1e-9, 0.3],
        tags="next to a kink",
    ),
    _row("hardswish next to 3", fn.hardswish, [3 - 1e-8, 3 + 1e-8, -3 + 1e-8, 1.0], tags="next to a kink"),
    _row(
        "floor plus square",
        lambda x: torch.floor(x) + x * x,
        [0.999999, 1.000001, 2.5],
        tags="next to a kink",
    ),
    _row(
        "sort next to ties",
        lambda x: torch.sort(x).values ** 2,
        [1.0, 1.0 + 1e-12, 3.0, 2.0],
        tags="next to a kink",
    ),
    _row("huber next to its bound", own.huber, [1 - 1e-10, 1 + 1e-10, 3.0], tags="next to a kink"),
    _row("relu at 0", torch.relu, [0.0, 1.5, -0.5], tags="at a kink"),
    _row("abs at 0", torch.abs, [0.0, 1.5, -0.5], tags="at a kink"),
    _row("maximum at a tie", torch.maximum, [1.0, 2.0, 3.0], [1.0, 0.5, 4.0], tags="at a kink"),
    _row("amax at a tie", lambda x: torch.amax(x, 1), [[1.0, 1.0, 0.5], [0.5, 2.0, 1.0]], tags="at a kink"),
    _row("sin at ties", torch.sin, [0.7, 0.7, 0.3, 0.7], tags="ties"),
    _row("softmax at ties", ALONG, [[1.0, 1.0, 1.0], [0.5, 0.5, 2.0]], tags="ties"),
    _row("logsumexp at ties", lambda x: torch.logsumexp(x, 0), [2.0, 2.0, 2.0, 0.0], tags="ties"),
    _row(
        "product at ones and zeros", lambda x, y: x * y + x * x, [0.0, 1.0, 1.0], [1.0, 0.0, 2.0], tags="ties"
    ),
    _row("pow at 0 and 1", lambda x: x**3 + x, [0.0, 1.0, -1.0], tags="ties"),
    _row("exp at 0", lambda x: torch.exp(x) * x, [0.0, 1.0, 0.5], tags="ties"),
    _row("asin at its edge", torch.asin, [1 - 1e-10, -1 + 1e-7, 0.2], tags="edge of a domain"),
    _row("sqrt at its edge", torch.sqrt, [1e-14, 1e-3, 2.0], tags="edge of a domain"),
    _row("acosh at its edge", torch.acosh, [1 + 1e-9, 1.5, 4.0], tags="edge of a domain"),
    _row("atanh at its edge", torch.atanh, [1 - 1e-9, 0.5, -0.9], tags="edge of a domain"),
    _row("log1p at its edge", torch.log1p, [-1 + 1e-10, 0.5, 1e-12], tags="edge of a domain"),
    _row("logit at its edge", torch.logit, [1e-12, 0.5, 1 - 1e-9], tags="edge of a domain"),
    _row("entropy next to 0", lambda p: -(p * p.log()).sum(), [1e-15, 0.4, 0.6], tags="edge of a domain"),
    _row("masked softmax, -1e9", ALONG, MASKED, tags="masks"),
    _row("masked softmax, -inf", ALONG, INFINITE, tags="masks"),
    _row("masked log_softmax, -1e9", lambda x: fn.log_softmax(x, 1)[:, 1], MASKED, tags="masks"),
    _row("masked logsumexp, -inf", lambda x: torch.logsumexp(x, 1), INFINITE, tags="masks"),
    _row("masked logsumexp, -1e4", lambda x: torch.logsumexp(x, 0), [0.5, 1.0, -1e4], tags="masks"),
    _row("masked_fill and softmax", own.causal_softmax, normal(4, 4), tags="masks"),
    _row("where with a safe side", own.safe_log, [0.5, -1.0, 1e-3, 2.0], tags="masks"),
    _row("masked mean", own.masked_mean, X, tags="masks"),
    _row("square of 1e150", lambda x: x * x, [1e150, -3e149, 2e-150], tags="range"),
    _row("hypot of 1e-150", torch.hypot, [1e-150, 3e150], [2e-150, 1e150], tags="range"),
    _row("log of 1e-300", torch.log, [1e-300, 1e300, 1.0], tags="range"),
    _row("exp of -700 to 700", torch.exp, [-700.0, 700.0, 0.5], tags="range"),
    _row("sigmoid of -700 to 40", torch.sigmoid, [-700.0, -30.0, 0.5, 20.0], tags="range"),
    _row("logsumexp of 1e3", lambda x: torch.logsumexp(x, 0), [1e3, 1e3 - 2, 990.0], tags="range"),
    _row("softplus of -50 to 900", fn.softplus, [-50.0, 900.0, 0.5], tags="range"),
    _row("norm of 1e-150", LINALG.vector_norm, [1e-150, 2e-150, -3e-150], tags="range"),
    _row("product of 1e100 and 1e-100", torch.prod, [1e100, 1e-100, 3.0, 1e-50], tags="range"),
    _row("expm1 of 1e-12", torch.expm1, [1e-12, -1e-9, 0.5, -20.0], tags="range"),
    _row("log1p of exp", lambda x: torch.log1p(torch.exp(x)), [-30.0, 30.0, 0.1], tags="range"),
    _row("gaussian far out", lambda x: torch.exp(-x * x), [0.3, 25.0, -5.0], tags="range"),
    _row("1 - cos", lambda x: 1 - torch.cos(x), [1e-6, 0.5, 1e-3], tags="badly conditioned"),
    _row(
        "difference of squares",
        lambda x, y: x * x - y * y,
        [1e8, 3.0],
        [1e8 + 1, 3.0 + 1e-9],
        tags="badly conditioned",
    ),
    _row("variance of far numbers", lambda x: x.var(), [1e6, 1e6 + 1, 1e6 + 3], tags="badly conditioned"),
    _row("tan next to its pole", torch.tan, [math.pi / 2 - 1e-7, 0.5], tags="badly conditioned"),
    _row("sin of 1e10", torch.sin, [1e10, 3e6, 0.5], tags="badly conditioned"),
    _row(
        "sum of cancelling exps",
        lambda x: (x.exp() - (-x).exp()) / 2 - x,
        [1e-3, 0.5],
        tags="badly conditioned",
    ),
    _row("square of a transposed one", lambda x: torch.sin(x) @ x.T, _t(X).T, tags="non-contiguous"),
    _row("every second column", lambda x: ALONG(x), _t(normal(3, 8))[:, ::2], tags="non-contiguous"),
    _row(
        "permuted conv2d",
        lambda x: fn.conv2d(x, _t(KERNEL)),
        _t(normal(1, 4, 4, 2)).permute(0, 3, 1, 2),
        tags="non-contiguous",
    ),
    _row("cumsum of a transposed one", lambda x: torch.cumsum(x.exp(), 0), _t(Y).T, tags="non-contiguous"),
    _row("view after contiguous", lambda x: x.contiguous().view(-1) ** 2, _t(Z).T, tags="non-contiguous"),
    _row("layer_norm of a transposed one", lambda x: fn.layer_norm(x, (3,)), _t(X).T, tags="non-contiguous"),
)

COMPLEX: tuple[Row, ...] = (
    _row("rfft power", lambda x: torch.fft.rfft(x).abs() ** 2, V, tags="complex"),
    _row("convolution by fft", own.fft_convolution, V, W, tags="complex", missing_conj=own.fft_correlation),
    _row("autocorrelation", own.autocorrelation, V, tags="complex", missing_conj=own.autoconvolution),
    _row(
        "modulus squared",
        lambda x, y: (torch.complex(x, y) * torch.complex(x, y).conj()).real,
        V,
        W,
        tags="complex",
        missing_conj=lambda x, y: (torch.complex(x, y) * torch.complex(x, y)).real,
    ),
    _row("angle", lambda x, y: torch.complex(x, y).angle(), V, W, tags="complex"),
    _row("complex exp", lambda x, y: torch.view_as_real(torch.complex(x, y).exp()), V, W, tags="complex"),
    _row("complex solve", own.complex_solve, SQUARE, X.T[:, :1], tags="complex"),
    _row("complex division", lambda x, y: torch.view_as_real(1 / torch.complex(x, y)), V, W, tags="complex"),
    _row(
        "complex argument",
        lambda z: (z * z.conj()).real + z.imag,
        torch.complex(_t(V), _t(W)),
        tags="complex",
    ),
    _row("irfft of a product", lambda x: torch.fft.irfft(torch.fft.rfft(x) ** 2, 5), V, tags="complex"),
    _row("Hermitian eigenvalues", own.hermitian, SQUARE, tags="complex"),
)

ATTENTION: tuple[Row, ...] = (
    _row("attention by hand", own.attention, *QKV, tags="attention"),
    _row("sdpa", fn.scaled_dot_product_attention, *QKV, tags="attention"),
    _row(
        "sdpa, causal",
        lambda q, k, v: fn.scaled_dot_product_attention(q, k, v, is_causal=True),
        *QKV,
        tags="attention",
    ),
    _row("sdpa, masked by -inf", own.sdpa_masked(-math.inf), *QKV, tags="attention, masks"),
    _row("sdpa, masked by -1e9", own.sdpa_masked(-1e9), *QKV, tags="attention, masks"),
    _row("multi-head attention", own.heads, normal(3, 4), normal(4, 12) / 2, tags="attention"),
    _row("rotary attention", own.rotary, QKV[0][0, :, :, :2], tags="attention"),
)

NETWORKS: tuple[Row, ...] = (
    _row("perceptron", own.perceptron, X, *LAYERS, tags="network"),
    _row("perceptron's loss", lambda *xs: own.cross_entropy(own.perceptron(*xs)), X, *LAYERS, tags="network"),
    _row("gru cell", own.gru, X, normal(3, 2), normal(6, 4), normal(6, 2), tags="network"),
    _row("lstm by loop", own.lstm, normal(3, 2), normal(8, 4) / 2, tags="network, loop"),
    _row(
        "recurrent net",
        own.recurrent,
        normal(4, 3),
        normal(3, 3) / 2,
        tags="network, loop",
        stale_carry=own.recurrent_stale,
    ),
    _row(
        "transformer block",
        own.block,
        normal(3, 4),
        normal(4, 12) / 2,
        normal(4, 4, seed=1),
        tags="network, attention",
    ),
    _row("convolutional net", own.convolutional, IMAGE, KERNEL / 3, normal(3, seed=1), tags="network"),
    _row("autoencoder", own.autoencoder, X, normal(4, 2), tags="network"),
    _row("mixture of experts", own.experts, X, normal(4, 3), normal(3, 4, 2), tags="network"),
    _row("a module called functionally", own.module_call, X, normal(2, 4), normal(2), tags="network"),
    _row("a batch of one", own.perceptron, X[:1], *LAYERS, tags="network"),
)

LOOPS: tuple[Row, ...] = (
    _row("Newton's square root", own.newton_sqrt, [2.0, 9.5], tags="loop by value"),
    _row("geometric sum by value", own.geometric, [0.5], tags="loop by value"),
    _row("halving by value", own.halving, [37.0], tags="loop by value"),
    _row("branch by value", own.branch, [1.5, -0.5], tags="loop by value"),
    _row("loop with a break", own.breaking, [1.3], tags="loop by value"),
    _row("Horner", own.horner, [0.7], V, tags="loop", off_by_one=own.horner_short),
    _row("logistic map", own.logistic_map, [0.3], tags="loop", stale_carry=own.logistic_map_stale),
    _row("power iteration", own.power_iteration, SPD, tags="loop"),
    _row("running products", own.running, V, tags="loop", stale_carry=own.running_stale),
    _row("Runge-Kutta", own.runge_kutta, [1.0, 0.5], [0.7], tags="solver", off_by_one=own.runge_kutta_short),
    _row("conjugate gradients", own.conjugate_gradients, SPD, V[:4], tags="solver"),
    _row("fixed point", own.fixed_point, normal(3, 3) / 4, V[:3], tags="solver"),
    _row("implicit root", own.implicit_root, [2.0, 3.0], tags="solver, custom rule"),
    _row("Kalman filter", own.kalman, V, [0.5], [0.2], tags="solver"),
    _row("Sinkhorn", own.sinkhorn, normal(3, 3), tags="solver"),
    _row("bisection with a rule", own.bisected, [2.0, 5.0], tags="solver, custom rule, untraceable"),
    _row("through NumPy", own.numpy_sin, V, tags="untraceable, custom rule"),
    _row("through math", own.math_erf, [0.5, -1.2, 2.0], tags="untraceable, custom rule"),
    _row("through SciPy's solve", own.numpy_solve, SQUARE, V[:4], tags="untraceable, custom rule"),
    _row("NumPy and Torch", lambda x: torch.tanh(own.numpy_sin(x) * x), V, tags="untraceable, custom rule"),
    _row("item() as a factor", own.by_item, V, tags="untraceable"),
    _row("stable softplus", own.stable_softplus, [-40.0, 0.5, 40.0], tags="custom rule"),
    _row("memory-saving square", own.saving, V, tags="custom rule"),
    _row("rule for two outputs", own.polar, [1.0, -0.5], [0.5, 2.0], tags="custom rule"),
    _row("once differentiable", own.once, V, tags="custom rule"),
    _row("checkpoint", own.checkpointed, X, normal(4, 4), tags="custom rule"),
    _row(
        "float32 inside",
        lambda x: torch.exp(x.float()).double(),
        [1e-6, 0.5],
        tags="mixed precision, float32 inside",
    ),
    _row(
        "bfloat16 inside",
        lambda x: torch.exp(x.bfloat16()).double(),
        [0.05, 0.5],
        tags="mixed precision, bfloat16 inside",
    ),
    _row(
        "float32 matrix inside",
        lambda x, y: (x.float() @ y.float()).double(),
        X,
        Y.T,
        tags="mixed precision, float32 inside",
    ),
    _row(
        "autocast",
        own.autocast,
        _t(X, torch.float32),
        _t(Y.T, torch.float32),
        tags="mixed precision, bfloat16 inside",
    ),
)


def _narrow(dtype: torch.dtype, names: str) -> tuple[Row, ...]:
    """Rows from above in another dtype."""
    chosen = [name.strip() for name in names.split(";")]
    rows = {row.name: row for part in _WIDE for row in part}
    word = str(dtype).removeprefix("torch.")
    return tuple(
        Row(
            f"{name}, {word}",
            "torch",
            rows[name].function,
            tuple(x.to(dtype) for x in rows[name].arguments),
            (*rows[name].tags, word),
            rows[name].instead,
        )
        for name in chosen
    )


_WIDE = (PLAIN, INDICES, MATRICES, EDGES, COMPLEX, ATTENTION, NETWORKS, LOOPS)

ROWS: tuple[Row, ...] = (
    *(row for part in _WIDE for row in part),
    *_narrow(
        torch.float32,
        "sin times y; softmax; logsumexp; layer_norm; conv2d; masked softmax, -1e9; masked softmax, -inf;"
        "perceptron; transformer block; sdpa, causal; solve; inverse; cumsum of squares;"
        "sigmoid of -700 to 40; attention by hand; index_select; gelu; mean and var; every second column;"
        "batch_norm; expm1 of 1e-12; lstm by loop",
    ),
    *_narrow(
        torch.bfloat16,
        "sin times y; softmax; layer_norm; matrix product; perceptron; gelu; masked softmax, -1e9;"
        "attention by hand; silu; every second column",
    ),
)
