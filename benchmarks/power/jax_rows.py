"""Right functions of JAX."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import lax

from benchmarks.power import jax_functions as own
from benchmarks.power.rows import Row, normal, positive, uniform

__all__ = ["ROWS"]


def _row(name: str, f: Callable[..., Any], *arguments: Any, tags: str, **instead: Callable[..., Any]) -> Row:
    given = tuple(np.asarray(x) for x in arguments)
    kinds = {kind.replace("_", " "): other for kind, other in instead.items()}
    return Row(name, "jax", f, given, tuple(tags.split(", ")), kinds)


X, Y, Z = (normal(3, 4, seed=k) for k in range(3))
V, W = normal(5, seed=5), normal(5, seed=6)
SQUARE, SPD = normal(4, 4, seed=7) + 3 * np.eye(4), positive(4, seed=8)
MASKED = np.array([[0.5, 1.0, -1e9, 0.25], [-1e9, 2.0, 1.5, -1e9], [0.1, -0.3, 0.2, 0.4]])
INFINITE = np.where(MASKED < -1e8, -np.inf, MASKED)
HILBERT = 1.0 / (np.arange(6)[:, None] + np.arange(6)[None, :] + 1.0)
TURN = np.linalg.qr(normal(4, 4, seed=9))[0]
PAIR = TURN @ np.diag([1.0, 1.0 + 1e-5, 2.0, 4.0]) @ TURN.T
IMAGE, KERNEL = normal(1, 2, 5, 5, seed=10), normal(3, 2, 3, 3, seed=11)
QKV = tuple(normal(2, 4, 3, seed=k) for k in (12, 13, 14))
LAYERS = (
    normal(4, 6, seed=15) / 2,
    normal(6, seed=16) / 2,
    normal(6, 3, seed=17) / 2,
    normal(3, seed=18) / 2,
)
INDEX, COUNTS = own.INDEX, np.array([1.0, 1.0, 3.0])[own.INDEX]

PLAIN: tuple[Row, ...] = (
    _row("sin times y", lambda x, y: jnp.sin(x) * y, X, Y, tags="elementwise"),
    _row("x / y", lambda x, y: x / y, X, Y + 3, tags="elementwise"),
    _row("x ** y", jnp.power, np.abs(X) + 0.1, Y, tags="elementwise"),
    _row("arctan2", jnp.arctan2, X, Y, tags="elementwise"),
    _row("tanh of a sum", lambda x, b: jnp.tanh(x + b), X, normal(4, seed=20), tags="elementwise"),
    _row("gelu", jax.nn.gelu, X, tags="elementwise"),
    _row("silu", jax.nn.silu, X, tags="elementwise"),
    _row("softplus", jax.nn.softplus, X, tags="elementwise"),
    _row("elu", jax.nn.elu, X, tags="elementwise"),
    _row("erf", jax.scipy.special.erf, X, tags="elementwise, special"),
    _row("erfinv", jax.scipy.special.erfinv, X / 4, tags="elementwise, special"),
    _row("gammaln", jax.scipy.special.gammaln, np.abs(X) + 0.2, tags="elementwise, special"),
    _row("digamma", jax.scipy.special.digamma, np.abs(X) + 0.2, tags="elementwise, special"),
    _row("i0e", jax.scipy.special.i0e, X, tags="elementwise, special"),
    _row("ndtri", jax.scipy.special.ndtri, uniform(5, low=0.1, high=0.9), tags="elementwise, special"),
    _row("log_ndtr", jax.scipy.special.log_ndtr, [-4.0, -2.0, 0.5, 3.0], tags="elementwise, special"),
    _row("sinc", jnp.sinc, [0.5, 1.25, -2.2], tags="elementwise, special"),
    _row("xlogy", jax.scipy.special.xlogy, np.abs(X), np.abs(Y) + 0.5, tags="elementwise, special"),
    _row("matrix product", jnp.matmul, X, normal(4, 2, seed=21), tags="products"),
    _row("bilinear form", lambda x, a, y: x @ a @ y, V[:4], SQUARE, W[:4], tags="products"),
    _row(
        "einsum",
        lambda x, y: jnp.einsum("ij,kj->ik", x, y),
        SQUARE,
        SPD,
        tags="products",
        wrong_axis=lambda x, y: jnp.einsum("ij,jk->ik", x, y),
    ),
    _row("outer", jnp.outer, V, W, tags="products"),
    _row("kron", jnp.kron, X[:2, :2], Y[:2, :3], tags="products"),
    _row("cross", jnp.cross, V[:3], W[:3], tags="products"),
    _row("softmax", jax.nn.softmax, X, tags="reductions", wrong_axis=lambda x: jax.nn.softmax(x, 0)),
    _row(
        "log_softmax", jax.nn.log_softmax, X, tags="reductions", wrong_axis=lambda x: jax.nn.log_softmax(x, 0)
    ),
    _row("logsumexp", lambda x: jax.nn.logsumexp(x, 1), X, tags="reductions"),
    _row("var and mean", lambda x: (jnp.var(x, 1), jnp.mean(x, 1)), X, tags="reductions"),
    _row("std", lambda x: jnp.std(x, 0), X, tags="reductions"),
    _row("prod", lambda x: jnp.prod(x, 1), X, tags="reductions"),
    _row("prod with a 0", jnp.prod, [1.5, 0.0, -2.0, 0.5], tags="reductions"),
    _row(
        "cumsum of squares",
        lambda x: jnp.cumsum(x * x),
        V,
        tags="reductions",
        off_by_one=lambda x: jnp.cumsum(x * x) - x * x,
    ),
    _row("cumlogsumexp", lambda x: lax.cumlogsumexp(x, 1), X, tags="reductions"),
    _row("associative scan", lambda x: lax.associative_scan(jnp.multiply, x), V + 2, tags="reductions"),
    _row("norm", lambda x: jnp.linalg.norm(x, axis=1), X, tags="reductions"),
    _row(
        "layer norm",
        own.layer_norm,
        X,
        normal(4),
        normal(4, seed=2),
        tags="normalizations",
        a_factor_held_constant=own.layer_norm_constant,
    ),
    _row("standardize", jax.nn.standardize, X, tags="normalizations"),
    _row("convolution", own.conv, IMAGE, KERNEL, tags="convolutions"),
    _row("convolve", jnp.convolve, V, W[:3], tags="convolutions"),
    _row(
        "windows' maximum",
        lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (3,), (2,), "VALID"),
        V,
        tags="convolutions",
    ),
    _row("resize", lambda x: jax.image.resize(x, (1, 2, 8, 8), "bilinear") ** 2, IMAGE, tags="convolutions"),
    _row("cross entropy", own.cross_entropy, X, tags="losses"),
    _row(
        "huber",
        lambda x, y: jnp.mean(jnp.where(abs(x - y) < 1, (x - y) ** 2 / 2, abs(x - y) - 0.5)),
        X,
        Y,
        tags="losses",
    ),
    _row(
        "kl",
        lambda x, y: jnp.sum(jax.nn.softmax(y) * (jax.nn.log_softmax(y) - jax.nn.log_softmax(x))),
        V,
        W,
        tags="losses",
    ),
    _row(
        "log density of a gamma", jax.scipy.stats.gamma.logpdf, [0.5, 2.0], [1.5, 3.0], tags="losses, special"
    ),
)

INDICES: tuple[Row, ...] = (
    _row("sort", lambda x: jnp.sort(x) * np.arange(5.0), V, tags="indices"),
    _row("top_k", lambda x: lax.top_k(x, 2)[0], V, tags="indices"),
    _row("median", jnp.median, V, tags="indices"),
    _row("interp", lambda x, y: jnp.interp(x, np.arange(5.0), y), [0.3, 2.6], V, tags="indices"),
    _row(
        "take",
        lambda x: x[INDEX] ** 2,
        X,
        tags="repeated indices",
        repeated_indices=lambda x: x[INDEX] ** 2 / COUNTS[:, None],
    ),
    _row(
        "embedding",
        lambda x: jnp.take(x, INDEX[None], axis=0),
        X,
        tags="repeated indices",
        repeated_indices=lambda x: jnp.take(x, INDEX[None], axis=0) / COUNTS[:, None],
    ),
    _row("add at", lambda x, y: jnp.tanh(x.at[INDEX].add(y)), normal(3), V, tags="repeated indices"),
    _row("segment_sum", own.segments, V, tags="repeated indices"),
    _row("set at", lambda x, y: x.at[np.array([0, 2])].set(y) ** 2, normal(3), V[:2], tags="indices"),
    _row("dynamic slice", lambda x: lax.dynamic_slice(x, (1,), (3,)) ** 3, V, tags="indices"),
)

MATRICES: tuple[Row, ...] = (
    _row("solve", jnp.linalg.solve, SQUARE, X.T, tags="matrices"),
    _row("inverse", jnp.linalg.inv, SQUARE, tags="matrices"),
    _row("determinant", jnp.linalg.det, SQUARE, tags="matrices"),
    _row("slogdet", lambda a: jnp.linalg.slogdet(a)[1], SQUARE, tags="matrices"),
    _row("cholesky", lambda x: jnp.linalg.cholesky(x @ x.T + np.eye(3)), X, tags="matrices"),
    _row("qr", lambda x: abs(jnp.linalg.qr(x)[1]), X.T, tags="matrices"),
    _row("eigenvalues", lambda x: jnp.linalg.eigvalsh(x + x.T), SQUARE, tags="matrices"),
    _row("function of a symmetric matrix", own.symmetric_function, SPD, tags="matrices"),
    _row("singular values", lambda x: jnp.linalg.svd(x, compute_uv=False), X, tags="matrices"),
    _row("pinv", jnp.linalg.pinv, X, tags="matrices"),
    _row("lstsq", lambda a, b: jnp.linalg.lstsq(a, b)[0], X.T, normal(4, 2), tags="matrices"),
    _row("expm", jax.scipy.linalg.expm, SQUARE / 4, tags="matrices"),
    _row("triangular solve", own.triangular, SQUARE, X.T, tags="matrices"),
    _row("matrix power", lambda a: jnp.linalg.matrix_power(a, 3), SQUARE / 3, tags="matrices"),
    _row("log density of a normal", own.gaussian, SPD, V[:4], tags="matrices"),
    _row("Hilbert solve", jnp.linalg.solve, HILBERT, np.ones(6), tags="matrices, badly conditioned"),
    _row(
        "Hilbert inverse",
        lambda a: jnp.sum(jnp.linalg.inv(a)),
        HILBERT[:4, :4],
        tags="matrices, badly conditioned",
    ),
    _row("nearly singular determinant", jnp.linalg.det, HILBERT[:4, :4], tags="matrices, badly conditioned"),
    _row(
        "Vandermonde solve",
        lambda x, y: jnp.linalg.solve(jnp.vander(x), y),
        [1.0, 1.1, 1.2, 1.3, 1.4],
        V,
        tags="matrices, badly conditioned",
    ),
    _row(
        "near pair of eigenvalues",
        lambda x: jnp.linalg.eigvalsh((x + x.T) / 2),
        PAIR,
        tags="near-degenerate spectrum",
    ),
    _row("function near a pair", own.symmetric_function, PAIR, tags="near-degenerate spectrum"),
    _row(
        "near pair of singular values",
        lambda x: jnp.sum(jnp.log(jnp.linalg.svd(x, compute_uv=False))),
        PAIR,
        tags="near-degenerate spectrum",
    ),
    _row("whitening near a pair", own.whitened, PAIR, tags="near-degenerate spectrum"),
)

EDGES: tuple[Row, ...] = (
    _row(
        "relu next to 0",
        lambda x: jax.nn.relu(x) ** 2 + jax.nn.relu(x),
        [1e-9, -1e-9, 0.5, -0.5],
        tags="next to a kink",
    ),
    _row("abs next to 0", jnp.abs, [1e-12, -1e-12, 2.0], tags="next to a kink"),
    _row(
        "maximum next to a tie",
        jnp.maximum,
        [1.0, 2.0, 3.0],
        [1.0 + 1e-10, 2.0 - 1e-10, 0.0],
        tags="next to a kink",
    ),
    _row(
        "clip next to its bound",
        lambda x: jnp.clip(x, -1, 1) * x,
        [1 - 1e-9, 1 + 1e-9, -1 + 1e-9, 0.3],
        tags="next to a kink",
    ),
    _row(
        "sort next to ties", lambda x: jnp.sort(x) ** 2, [1.0, 1.0 + 1e-12, 3.0, 2.0], tags="next to a kink"
    ),
    _row("relu6 next to 6", jax.nn.relu6, [6 - 1e-9, 6 + 1e-9, 1e-9, 3.0], tags="next to a kink"),
    _row("relu at 0", jax.nn.relu, [0.0, 1.5, -0.5], tags="at a kink"),
    _row("abs at 0", jnp.abs, [0.0, 1.5, -0.5], tags="at a kink"),
    _row("maximum at a tie", jnp.maximum, [1.0, 2.0, 3.0], [1.0, 0.5, 4.0], tags="at a kink"),
    _row("max at a tie", lambda x: jnp.max(x, 1), [[1.0, 1.0, 0.5], [0.5, 2.0, 1.0]], tags="at a kink"),
    _row("sin at ties", jnp.sin, [0.7, 0.7, 0.3, 0.7], tags="ties"),
    _row("softmax at ties", jax.nn.softmax, [[1.0, 1.0, 1.0], [0.5, 0.5, 2.0]], tags="ties"),
    _row("logsumexp at ties", jax.nn.logsumexp, [2.0, 2.0, 2.0, 0.0], tags="ties"),
    _row(
        "product at ones and zeros", lambda x, y: x * y + x * x, [0.0, 1.0, 1.0], [1.0, 0.0, 2.0], tags="ties"
    ),
    _row("power at 0 and 1", lambda x: x**3 + x, [0.0, 1.0, -1.0], tags="ties"),
    _row("sinc with a rule at 0", own.sinc, [0.0, 1.0, 2.5], tags="ties, custom rule"),
    _row("arcsin at its edge", jnp.arcsin, [1 - 1e-10, -1 + 1e-7, 0.2], tags="edge of a domain"),
    _row("sqrt at its edge", jnp.sqrt, [1e-14, 1e-3, 2.0], tags="edge of a domain"),
    _row("arccosh at its edge", jnp.arccosh, [1 + 1e-9, 1.5, 4.0], tags="edge of a domain"),
    _row("arctanh at its edge", jnp.arctanh, [1 - 1e-9, 0.5, -0.9], tags="edge of a domain"),
    _row("log1p at its edge", jnp.log1p, [-1 + 1e-10, 0.5, 1e-12], tags="edge of a domain"),
    _row("logit at its edge", jax.scipy.special.logit, [1e-12, 0.5, 1 - 1e-9], tags="edge of a domain"),
    _row(
        "entropy next to 0",
        lambda p: jnp.sum(jax.scipy.special.entr(p)),
        [1e-15, 0.4, 0.6],
        tags="edge of a domain",
    ),
    _row("masked softmax, -1e9", jax.nn.softmax, MASKED, tags="masks"),
    _row("masked softmax, -inf", jax.nn.softmax, INFINITE, tags="masks"),
    _row("masked log_softmax, -1e9", lambda x: jax.nn.log_softmax(x)[:, 1], MASKED, tags="masks"),
    _row("masked logsumexp, -inf", lambda x: jax.nn.logsumexp(x, 1), INFINITE, tags="masks"),
    _row("masked logsumexp, -1e4", jax.nn.logsumexp, [0.5, 1.0, -1e4], tags="masks"),
    _row("where and softmax", own.causal_softmax, normal(4, 4), tags="masks"),
    _row("softmax with where", lambda x: jax.nn.softmax(x, where=MASKED > -1e8), X, tags="masks"),
    _row("where with a safe side", own.safe_log, [0.5, -1.0, 1e-3, 2.0], tags="masks"),
    _row("masked mean", own.masked_mean, X, tags="masks"),
    _row("square of 1e150", lambda x: x * x, [1e150, -3e149, 2e-150], tags="range"),
    _row("log of 1e-300", jnp.log, [1e-300, 1e300, 1.0], tags="range"),
    _row("exp of -700 to 700", jnp.exp, [-700.0, 700.0, 0.5], tags="range"),
    _row("sigmoid of -700 to 40", jax.nn.sigmoid, [-700.0, -30.0, 0.5, 20.0], tags="range"),
    _row("logsumexp of 1e3", jax.nn.logsumexp, [1e3, 1e3 - 2, 990.0], tags="range"),
    _row("softplus of -50 to 900", jax.nn.softplus, [-50.0, 900.0, 0.5], tags="range"),
    _row("product of 1e100 and 1e-100", jnp.prod, [1e100, 1e-100, 3.0, 1e-50], tags="range"),
    _row("log_sigmoid of -800 to 30", jax.nn.log_sigmoid, [-800.0, -1.0, 30.0], tags="range"),
    _row("gaussian far out", lambda x: jnp.exp(-x * x), [0.3, 25.0, -5.0], tags="range"),
    _row("expm1 of 1e-12", jnp.expm1, [1e-12, -1e-9, 0.5], tags="range"),
    _row("1 - cos", lambda x: 1 - jnp.cos(x), [1e-6, 0.5, 1e-3], tags="badly conditioned"),
    _row(
        "difference of squares",
        lambda x, y: x * x - y * y,
        [1e8, 3.0],
        [1e8 + 1, 3.0 + 1e-9],
        tags="badly conditioned",
    ),
    _row("variance of far numbers", jnp.var, [1e6, 1e6 + 1, 1e6 + 3], tags="badly conditioned"),
    _row("tan next to its pole", jnp.tan, [math.pi / 2 - 1e-7, 0.5], tags="badly conditioned"),
    _row("sin of 1e10", jnp.sin, [1e10, 3e6, 0.5], tags="badly conditioned"),
)

COMPLEX: tuple[Row, ...] = (
    _row("rfft power", lambda x: jnp.abs(jnp.fft.rfft(x)) ** 2, V, tags="complex"),
    _row("convolution by fft", own.convolve, V, W, tags="complex", missing_conj=own.correlate),
    _row(
        "autocorrelation",
        lambda x: own.correlate(x, x),
        V,
        tags="complex",
        missing_conj=lambda x: own.convolve(x, x),
    ),
    _row(
        "modulus squared",
        lambda x, y: (lax.complex(x, y) * jnp.conj(lax.complex(x, y))).real,
        V,
        W,
        tags="complex",
        missing_conj=lambda x, y: (lax.complex(x, y) ** 2).real,
    ),
    _row("angle", lambda x, y: jnp.angle(lax.complex(x, y)), V, W, tags="complex"),
    _row(
        "complex exp",
        lambda x, y: (jnp.exp(lax.complex(x, y)).real, jnp.exp(lax.complex(x, y)).imag),
        V,
        W,
        tags="complex",
    ),
    _row("complex solve", own.complex_solve, SQUARE, X.T[:, :1], tags="complex"),
    _row("complex division", lambda x, y: (1 / lax.complex(x, y)).imag, V, W, tags="complex"),
    _row("complex argument", lambda z: (z * jnp.conj(z)).real + z.imag, V + 1j * W, tags="complex"),
    _row("irfft of a product", lambda x: jnp.fft.irfft(jnp.fft.rfft(x) ** 2, 5), V, tags="complex"),
)

NETWORKS: tuple[Row, ...] = (
    _row("attention by hand", own.attention, *QKV, tags="attention"),
    _row("attention, masked by -1e9", own.masked_attention, *QKV, tags="attention, masks"),
    _row(
        "attention, masked by -inf",
        functools.partial(own.masked_attention, hidden=-math.inf),
        *QKV,
        tags="attention, masks",
    ),
    _row("dot_product_attention", own.library_attention, *QKV, tags="attention, float32 inside"),
    _row(
        "dot_product_attention, causal",
        functools.partial(own.library_attention, causal=True),
        *QKV,
        tags="attention, float32 inside",
    ),
    _row("perceptron", own.perceptron, X, *LAYERS, tags="network"),
    _row("perceptron's loss", lambda *xs: own.cross_entropy(own.perceptron(*xs)), X, *LAYERS, tags="network"),
    _row(
        "perceptron by jit and vmap",
        jax.jit(jax.vmap(own.perceptron, (0, None, None, None, None))),
        X,
        *LAYERS,
        tags="network",
    ),
    _row("gru by scan", own.gru, normal(3, 3), normal(3, 4), normal(2, 4), tags="network, loop"),
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
    _row(
        "convolutional net",
        lambda x, k, w: jnp.mean(jax.nn.relu(own.conv(x, k)), (2, 3)) @ w,
        IMAGE,
        KERNEL / 3,
        normal(3, seed=1),
        tags="network",
    ),
    _row(
        "autoencoder",
        lambda x, w: jnp.mean((jnp.tanh(x @ w) @ w.T - x) ** 2),
        X,
        normal(4, 2),
        tags="network",
    ),
    _row("mixture of experts", own.experts, X, normal(4, 3), normal(3, 4, 2), tags="network"),
    _row("parameters in a dict", own.by_dict, X, normal(4, 2), normal(2), tags="network"),
    _row("a batch of one", own.perceptron, X[:1], *LAYERS, tags="network"),
)

LOOPS: tuple[Row, ...] = (
    _row("Newton's square root", own.newton_sqrt, [2.0, 9.5], tags="loop by value"),
    _row("geometric sum by value", own.geometric, 0.5, tags="loop by value"),
    _row("while loop", own.while_power, 1.3, tags="loop by value, forward mode only"),
    _row("fori loop", own.fori, [0.3, 1.2], tags="loop"),
    _row("cond", own.branch, [1.5, -0.5], tags="loop by value"),
    _row("switch", own.switch, [1.5, -0.5], tags="loop by value"),
    _row("Horner by scan", own.horner, 0.7, V, tags="loop", off_by_one=own.horner_short),
    _row("logistic map", own.logistic_map, 0.3, tags="loop", stale_carry=own.logistic_map_stale),
    _row(
        "Runge-Kutta",
        own.runge_kutta,
        [1.0, 0.5],
        [0.7],
        tags="solver, loop",
        off_by_one=own.runge_kutta_short,
    ),
    _row("conjugate gradients", own.cg, SPD, V[:4], tags="solver"),
    _row("fixed point", own.fixed_point, normal(3, 3) / 4, V[:3], tags="solver"),
    _row("custom_root", own.custom_root, 2.0, tags="solver, custom rule"),
    _row("Kalman filter", own.kalman, V, 0.5, 0.2, tags="solver, loop"),
    _row("Sinkhorn", own.sinkhorn, normal(3, 3), tags="solver"),
    _row("through NumPy", own.numpy_sin, V, tags="untraceable, custom rule"),
    _row("through math", own.math_erf, [0.5, -1.2, 2.0], tags="untraceable, custom rule"),
    _row("through NumPy's solve", own.numpy_solve, SQUARE, V[:4], tags="untraceable, custom rule"),
    _row("NumPy and JAX", lambda x: jnp.tanh(own.numpy_sin(x) * x), V, tags="untraceable, custom rule"),
    _row("bool() of a value", own.by_value, V, tags="untraceable"),
    _row("log1pexp", own.log1pexp, [-40.0, 0.5, 40.0], tags="custom rule"),
    _row("nondiff_argnums", own.applied, V, tags="custom rule"),
    _row("rule for two outputs", own.polar, [1.0, -0.5], [0.5, 2.0], tags="custom rule"),
    _row("sin of a square by a rule", own.square_of_module, V, tags="custom rule"),
    _row("checkpoint", own.checkpointed, X, normal(4, 4), tags="custom rule"),
    _row("trace of a Hessian", own.hessian_trace, V[:3], tags="derivative inside"),
    _row("norm of a gradient", own.gradient_norm, V[:3], tags="derivative inside"),
    _row(
        "float32 inside",
        lambda x: jnp.exp(x.astype("float32")).astype("float64"),
        [1e-6, 0.5],
        tags="mixed precision, float32 inside",
    ),
    _row(
        "bfloat16 inside",
        lambda x: jnp.exp(x.astype("bfloat16")).astype("float64"),
        [0.05, 0.5],
        tags="mixed precision, bfloat16 inside",
    ),
    _row(
        "float32 matrix inside",
        lambda x, y: (x.astype("float32") @ y.astype("float32")).astype("float64"),
        X,
        Y.T,
        tags="mixed precision, float32 inside",
    ),
)

_WIDE = (PLAIN, INDICES, MATRICES, EDGES, COMPLEX, NETWORKS, LOOPS)


def _narrow(dtype: Any, names: str) -> tuple[Row, ...]:
    """Rows from above in another dtype."""
    rows = {row.name: row for part in _WIDE for row in part}
    word = np.dtype(dtype).name
    found = []
    for name in (name.strip() for name in names.split(";")):
        row = rows[name]
        arguments = tuple(x.astype(dtype) for x in row.arguments)
        found.append(Row(f"{name}, {word}", "jax", row.function, arguments, (*row.tags, word), row.instead))
    return tuple(found)


ROWS: tuple[Row, ...] = (
    *(row for part in _WIDE for row in part),
    *_narrow(
        np.float32,
        "sin times y; softmax; logsumexp; layer norm; convolution; masked softmax, -1e9;"
        "masked softmax, -inf; perceptron; transformer block; recurrent net; solve; inverse;"
        "cumsum of squares; sigmoid of -700 to 40; attention by hand; take; gelu;"
        "softplus of -50 to 900; gru by scan; cross entropy",
    ),
    *_narrow(
        ml_dtypes.bfloat16,
        "sin times y; softmax; matrix product; perceptron; gelu; masked softmax, -1e9;"
        "attention by hand; silu",
    ),
)
