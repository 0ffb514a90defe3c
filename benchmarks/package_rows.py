"""Operations of packages on JAX and Torch, asked as their documents call them: a function for each package.

Each row is a name, a function, and its arguments, which are NumPy's arrays. Solvers have fixed steps, or
stop where nothing moves any more: an approximation is no exact function.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module as load
from typing import Any

import numpy as np

Rows = dict[str, tuple[Any, ...]]

RNG = np.random.default_rng(53)
X = np.array([0.7, -1.3, 0.4])
Y = np.array([1.1, 0.6, -0.8])
P = np.array([0.3, 0.9, 1.7])
"""Positive numbers."""
A = np.array([[3.0, 0.4, -0.2], [0.1, 2.5, 0.7], [-0.6, 0.3, 2.0]])
S = A @ A.T
"""A symmetric positive definite matrix."""
POINTS = RNG.normal(size=(4, 2))
OTHERS = RNG.normal(size=(5, 2)) + 0.5
IMAGE = RNG.uniform(0.1, 0.9, (1, 3, 5, 5))


def equinox() -> Rows:
    eqx, jax, jnp = load("equinox"), load("jax"), load("jax.numpy")
    nn, key = eqx.nn, jax.random.key(0)
    mlp, linear = nn.MLP(3, 2, 4, 2, activation=jnp.tanh, key=key), nn.Linear(3, 2, key=key)
    norm, cell, lstm = nn.LayerNorm(3), nn.GRUCell(3, 3, key=key), nn.LSTMCell(3, 2, key=key)
    conv, attention = nn.Conv1d(2, 2, 3, key=key), nn.MultiheadAttention(2, 4, key=key)
    group, pool = nn.GroupNorm(2, 4), nn.AvgPool1d(2, 1)
    state = (jnp.zeros(2), jnp.zeros(2))
    return {
        "MLP": (lambda x: mlp(x), X),
        "Linear": (lambda w, x: eqx.tree_at(lambda m: m.weight, linear, w)(x), A[:2], X),
        "LayerNorm": (lambda x: norm(x), X),
        "GRUCell": (lambda x, h: cell(x, h), X, Y),
        "LSTMCell": (lambda x: lstm(x, state), X),
        "Conv1d": (lambda x: conv(x), RNG.normal(size=(2, 5))),
        "MultiheadAttention": (lambda x: attention(x, x, x), RNG.normal(size=(3, 4))),
        "GroupNorm": (lambda x: group(x), RNG.normal(size=(4, 3))),
        "AvgPool1d": (lambda x: pool(x), RNG.normal(size=(2, 5))),
        "error_if": (lambda x: jnp.log(eqx.error_if(x, jnp.any(x < 0), "negative")), P),
    }


def flax() -> Rows:
    nn, jax, jnp = load("flax.linen"), load("jax"), load("jax.numpy")
    key, image = jax.random.key(0), RNG.normal(size=(1, 4, 4, 1))

    def of(module: Any, *xs: Any) -> tuple[Any, ...]:
        variables = module.init(key, *map(jnp.asarray, xs))
        return (lambda *xs: module.apply(variables, *xs), *xs)

    many = RNG.normal(size=(2, 3))
    return {
        "Dense": of(nn.Dense(2, param_dtype=jnp.float64), X),
        "LayerNorm": of(nn.LayerNorm(param_dtype=jnp.float64), many),
        "RMSNorm": of(nn.RMSNorm(param_dtype=jnp.float64), many),
        "GroupNorm": of(nn.GroupNorm(num_groups=1, param_dtype=jnp.float64), many),
        "Conv": of(nn.Conv(2, (3, 3), param_dtype=jnp.float64), image),
        "SelfAttention": of(nn.MultiHeadDotProductAttention(1, param_dtype=jnp.float64), many),
        "BatchNorm": of(nn.BatchNorm(use_running_average=True, param_dtype=jnp.float64), many),
        "avg_pool": (lambda x: nn.avg_pool(x, (2, 2)), image),
        "gelu": (lambda x: nn.gelu(x), X),
        "dot_product_attention": (
            lambda q, k: nn.dot_product_attention(q, k, k),
            many[:, None],
            many[:, None],
        ),
    }


def haiku() -> Rows:
    hk, jax, jnp = load("haiku"), load("jax"), load("jax.numpy")

    def of(make: Callable[[], Any], *xs: Any) -> tuple[Any, ...]:
        net = hk.without_apply_rng(hk.transform(lambda *xs: make()(*xs)))
        weights = net.init(jax.random.key(0), *map(jnp.asarray, xs))
        return (lambda *xs: net.apply(weights, *xs), *xs)

    many = RNG.normal(size=(2, 3))
    return {
        "Linear": of(lambda: hk.Linear(2), X),
        "MLP": of(lambda: hk.nets.MLP([4, 2], activation=jnp.tanh), X),
        "LayerNorm": of(lambda: hk.LayerNorm(-1, True, True), many),
        "RMSNorm": of(lambda: hk.RMSNorm(-1), many),
        "InstanceNorm": of(lambda: hk.InstanceNorm(True, True), RNG.normal(size=(1, 4, 2))),
        "Conv1D": of(lambda: hk.Conv1D(2, 3), RNG.normal(size=(1, 5, 2))),
        "MultiHeadAttention": of(
            lambda: lambda x: hk.MultiHeadAttention(1, 2, w_init=hk.initializers.VarianceScaling())(x, x, x),
            many,
        ),
        "GroupNorm": of(lambda: hk.GroupNorm(1), RNG.normal(size=(2, 3, 2))),
        "AvgPool": of(lambda: hk.AvgPool(2, 1, "VALID"), RNG.normal(size=(1, 4, 2))),
        "softplus MLP": of(lambda: hk.nets.MLP([3, 1], activation=jax.nn.softplus), X),
    }


def lineax() -> Rows:
    lx, jnp = load("lineax"), load("jax.numpy")

    def solve(solver: Any, *tags: Any) -> Callable[..., Any]:
        def solved(a: Any, b: Any) -> Any:
            return lx.linear_solve(lx.MatrixLinearOperator(a, tags), b, solver).value

        return solved

    def symmetric(solver: Any) -> Callable[..., Any]:
        def solved(a: Any, b: Any) -> Any:
            operator = lx.MatrixLinearOperator((a + a.T) / 2, lx.positive_semidefinite_tag)
            return lx.linear_solve(operator, b, solver).value

        return solved

    tridiagonal = lambda d, u, b: lx.linear_solve(lx.TridiagonalLinearOperator(d, u, u), b).value  # noqa: E731
    return {
        "LU": (solve(lx.LU()), A, X),
        "QR": (solve(lx.QR()), A, X),
        "SVD": (solve(lx.SVD()), A, X),
        "AutoLinearSolver": (solve(lx.AutoLinearSolver(well_posed=True)), A, X),
        "Cholesky": (symmetric(lx.Cholesky()), S, X),
        "CG": (symmetric(lx.CG(rtol=1e-14, atol=1e-14)), S, X),
        "GMRES": (solve(lx.GMRES(rtol=1e-14, atol=1e-14)), A, X),
        "Triangular": (lambda a, b: solve(lx.Triangular(), lx.lower_triangular_tag)(jnp.tril(a), b), A, X),
        "Diagonal": (lambda d, b: lx.linear_solve(lx.DiagonalLinearOperator(d), b).value, P, X),
        "Tridiagonal": (tridiagonal, P + 2, X[:2], Y),
    }


def optimistix() -> Rows:
    optx, jnp = load("optimistix"), load("jax.numpy")
    newton, tight = optx.Newton(rtol=1e-13, atol=1e-13), {"rtol": 1e-13, "atol": 1e-13}
    equation = lambda y, a: y + a * jnp.tanh(y) - 1.0  # noqa: E731 - one, as in the documents: compiled once
    residuals = lambda y, a: jnp.stack([y[0] - a[0], 2 * y[1] - a[1], y[0] * y[1] - a[2]])  # noqa: E731
    cosh = lambda y, a: jnp.sum(jnp.cosh(y - a))  # noqa: E731
    step = lambda y, a: 0.3 * jnp.cos(y * a)  # noqa: E731
    cube = lambda y, a: y**3 - a  # noqa: E731

    def root(solver: Any, y0: Any) -> Callable[..., Any]:
        return lambda a: optx.root_find(equation, solver, y0, a).value

    def least(solver: Any) -> Callable[..., Any]:
        return lambda a: optx.least_squares(residuals, solver, jnp.ones(2), a).value

    def minimum(solver: Any) -> Callable[..., Any]:
        return lambda a: optx.minimise(cosh, solver, jnp.zeros(3), a).value

    def fixed(a: Any) -> Any:
        return optx.fixed_point(step, optx.FixedPointIteration(**tight), jnp.zeros(3), a).value

    def bisection(a: Any) -> Any:
        solver, ends = optx.Bisection(**tight), {"lower": 0.0, "upper": 3.0}
        return optx.root_find(cube, solver, 1.0, a, options=ends).value

    return {
        "Newton": (root(newton, jnp.zeros(3)), P),
        "Chord": (root(optx.Chord(**tight), jnp.zeros(3)), P),
        "Bisection": (bisection, np.array(2.0)),
        "GaussNewton": (least(optx.GaussNewton(**tight)), P),
        "LevenbergMarquardt": (least(optx.LevenbergMarquardt(**tight)), P),
        "Dogleg": (least(optx.Dogleg(**tight)), P),
        "BFGS": (minimum(optx.BFGS(**tight)), X),
        "FixedPointIteration": (fixed, P),
        "two_norm": (lambda x: optx.two_norm(x), X),
        "rms_norm": (lambda x: optx.rms_norm(x), X),
    }


def diffrax() -> Rows:
    dfx, jnp = load("diffrax"), load("jax.numpy")

    term = dfx.ODETerm(lambda t, y, a: jnp.sin(a * y) - t)

    def solve(solver: Any, **options: Any) -> Callable[..., Any]:
        def solved(a: Any, y0: Any) -> Any:
            return dfx.diffeqsolve(term, solver, 0.0, 0.4, 0.1, y0, a, **options).ys

        return solved

    at = dfx.SaveAt(ts=jnp.array([0.15, 0.4]))
    implicit = dfx.ImplicitEuler(root_finder=load("optimistix").Newton(rtol=1e-13, atol=1e-13))
    ts = jnp.array([0.0, 0.4, 1.0])
    line = lambda ys: dfx.LinearInterpolation(ts, ys).evaluate(0.3)  # noqa: E731
    cubic = lambda ys: dfx.CubicInterpolation(ts, dfx.backward_hermite_coefficients(ts, ys)).evaluate(0.3)  # noqa: E731
    return {
        "Euler": (solve(dfx.Euler()), P, X),
        "Heun": (solve(dfx.Heun()), P, X),
        "Tsit5": (solve(dfx.Tsit5()), P, X),
        "Dopri5": (solve(dfx.Dopri5()), P, X),
        "Midpoint, direct": (solve(dfx.Midpoint(), adjoint=dfx.DirectAdjoint()), P, X),
        "Ralston, saveat": (solve(dfx.Ralston(), saveat=at), P, X),
        "ImplicitEuler": (solve(implicit), P, X),
        "ReversibleHeun": (solve(dfx.ReversibleHeun()), P, X),
        "LinearInterpolation": (line, X),
        "CubicInterpolation": (cubic, X),
    }


def jaxopt() -> Rows:
    jaxopt, jnp = load("jaxopt"), load("jax.numpy")
    p, prox, loss = jaxopt.projection, jaxopt.prox, jaxopt.loss
    fixed = jaxopt.FixedPointIteration(lambda y, a: 0.3 * jnp.cos(y * a), maxiter=60, tol=1e-15)
    return {
        "projection_simplex": (lambda x: p.projection_simplex(x), X),
        "projection_l2_ball": (lambda x: p.projection_l2_ball(x, 1.0), X),
        "projection_box": (lambda x: p.projection_box(x, (-1.0, 1.0)), X),
        "projection_hyperplane": (lambda x: p.projection_hyperplane(x, (jnp.asarray(Y), 1.0)), X),
        "prox_lasso": (lambda x: prox.prox_lasso(x, 0.2), X),
        "prox_elastic_net": (lambda x: prox.prox_elastic_net(x, (0.2, 0.5)), X),
        "huber_loss": (lambda x: loss.huber_loss(0.3, x), X),
        "binary_logistic_loss": (lambda x: loss.binary_logistic_loss(1, x), X),
        "multiclass_sparsemax_loss": (lambda x: loss.multiclass_sparsemax_loss(1, x), X),
        "FixedPointIteration": (lambda a: fixed.run(jnp.zeros(3), a).params, P),
    }


def optax() -> Rows:
    optax, jnp = load("optax"), load("jax.numpy")
    labels, one_hot = jnp.array([1]), jnp.array([0.0, 1.0, 0.0])

    def updated(optimizer: Any) -> Callable[..., Any]:
        def after(g: Any, x: Any) -> Any:
            return optimizer.update(g, optimizer.init(x), x)[0]

        return after

    return {
        "softmax_cross_entropy": (lambda x: optax.softmax_cross_entropy(x, one_hot), X),
        "with integer labels": (
            lambda x: optax.softmax_cross_entropy_with_integer_labels(x[None], labels),
            X,
        ),
        "sigmoid_binary_cross_entropy": (lambda x: optax.sigmoid_binary_cross_entropy(x, one_hot), X),
        "huber_loss": (lambda x, y: optax.huber_loss(x, y), X, Y),
        "log_cosh": (lambda x, y: optax.log_cosh(x, y), X, Y),
        "cosine_distance": (lambda x, y: optax.cosine_distance(x, y), X, Y),
        "kl_divergence": (lambda x, y: optax.kl_divergence(x, y), np.log(P / P.sum()), P[::-1] / P.sum()),
        "sigmoid_focal_loss": (lambda x: optax.sigmoid_focal_loss(x, one_hot), X),
        "adam update": (updated(optax.adam(0.1)), X, Y),
        "clip_by_global_norm": (updated(optax.clip_by_global_norm(1.0)), X, Y),
    }


def numpyro() -> Rows:
    dist, jnp = load("numpyro.distributions"), load("jax.numpy")
    flow = load("numpyro.distributions.transforms")
    return {
        "Normal": (lambda x, m, s: dist.Normal(m, s).log_prob(x), X, Y, P),
        "Gamma": (lambda x, a, b: dist.Gamma(a, b).log_prob(x), P, P + 1, P + 2),
        "StudentT": (lambda x, d: dist.StudentT(d, 0.3, 1.2).log_prob(x), X, P + 1),
        "Dirichlet": (lambda c: dist.Dirichlet(c).log_prob(jnp.array([0.2, 0.3, 0.5])), P),
        "MultivariateNormal": (
            lambda x, a: dist.MultivariateNormal(Y, scale_tril=jnp.tril(a)).log_prob(x),
            X,
            A,
        ),
        "Categorical": (lambda x: dist.Categorical(logits=x).log_prob(1), X),
        "MixtureSameFamily": (
            lambda x, m: dist.MixtureSameFamily(
                dist.Categorical(probs=jnp.array([0.2, 0.3, 0.5])), dist.Normal(m, 1.0)
            ).log_prob(x),
            np.array(0.4),
            X,
        ),
        "TruncatedNormal": (lambda x, m: dist.TruncatedNormal(m, 1.0, low=0.0).log_prob(x), P, X),
        "VonMises": (lambda x, k: dist.VonMises(0.2, k).log_prob(x), X, P),
        "StickBreakingTransform": (lambda x: flow.StickBreakingTransform()(x), X),
    }


def distrax() -> Rows:
    dx, jnp = load("distrax"), load("jax.numpy")
    chain = dx.Chain([dx.Tanh(), dx.ScalarAffine(0.3, 1.2)])
    return {
        "Normal": (lambda x, m, s: dx.Normal(m, s).log_prob(x), X, Y, P),
        "Laplace": (lambda x, s: dx.Laplace(0.1, s).log_prob(x), X, P),
        "Beta": (lambda x, a: dx.Beta(a, 2.0).log_prob(x), P / 2, P + 1),
        "Categorical": (lambda x: dx.Categorical(logits=x).log_prob(1), X),
        "entropy": (lambda x: dx.Categorical(logits=x).entropy(), X),
        "MultivariateNormalTri": (
            lambda x, a: dx.MultivariateNormalTri(jnp.asarray(Y), a).log_prob(x),
            X,
            A,
        ),
        "Transformed": (
            lambda x, m: dx.Transformed(dx.Normal(m, 1.0), dx.Tanh()).log_prob(x),
            X / 2,
            Y,
        ),
        "Chain": (lambda x: chain.forward_and_log_det(x), X),
        "RationalQuadraticSpline": (
            lambda x, w: dx.RationalQuadraticSpline(w, -2.0, 2.0).forward(x),
            np.array(0.4),
            RNG.normal(size=10),
        ),
        "kl_divergence": (lambda m, s: dx.Normal(m, s).kl_divergence(dx.Normal(0.0, 1.0)), X, P),
    }


def ott() -> Rows:
    pointcloud, costs = load("ott.geometry.pointcloud"), load("ott.geometry.costs")
    linear, jnp = load("ott.problems.linear.linear_problem"), load("jax.numpy")
    sinkhorn = load("ott.solvers.linear.sinkhorn")
    means, soft_sort = load("ott.tools.sinkhorn_divergence"), load("ott.tools.soft_sort")
    fixed = {"min_iterations": 10, "max_iterations": 10, "inner_iterations": 10}
    unrolled = {**fixed, "implicit_diff": None}

    def solved(**options: Any) -> Callable[..., Any]:
        solver = load("jax").jit(sinkhorn.Sinkhorn(**options))  # as in the documents: compiled once

        def cost(x: Any, y: Any) -> Any:
            return solver(linear.LinearProblem(pointcloud.PointCloud(x, y, epsilon=0.5))).reg_ot_cost

        return cost

    def divergence(x: Any, y: Any) -> Any:
        keys = {"solve_kwargs": {**unrolled, "threshold": 0.0}}
        return means.sinkhorn_divergence(pointcloud.PointCloud, x, y, epsilon=0.5, **keys)[0]

    # With as many targets as inputs ott starts with a `while_loop`, which JAX cannot reverse.
    top = {"topk": 2, "epsilon": 0.3, **unrolled}
    return {
        "Sinkhorn": (solved(**unrolled, use_danskin=False), POINTS, OTHERS),
        "Sinkhorn, Danskin": (solved(threshold=1e-12, max_iterations=4000), POINTS, OTHERS),
        "Sinkhorn, kernel": (solved(**unrolled, lse_mode=False, use_danskin=False), POINTS, OTHERS),
        "sinkhorn_divergence": (divergence, POINTS, OTHERS),
        "SqEuclidean": (lambda x, y: costs.SqEuclidean()(x, y), X, Y),
        "PNormP": (lambda x, y: costs.PNormP(1.5)(x, y), X, Y),
        "Cosine": (lambda x, y: costs.Cosine()(x, y), X, Y),
        "Bures": (
            lambda x, y: costs.Bures(2)(jnp.concatenate([x, S[:2, :2].ravel()]), y),
            X[:2],
            np.concatenate([Y[:2], S[1:, 1:].ravel()]),
        ),
        "cost_matrix": (lambda x, y: pointcloud.PointCloud(x, y).cost_matrix, POINTS, OTHERS),
        "soft sort, topk": (lambda x: soft_sort.sort(x, **top), X),
    }


def e3nn() -> Rows:
    e3nn, jnp = load("e3nn_jax"), load("jax.numpy")
    vector = lambda x: e3nn.IrrepsArray("1o", x)  # noqa: E731
    mixed = RNG.normal(size=4)
    return {
        "spherical_harmonics": (lambda x: e3nn.spherical_harmonics("2e", x, normalize=False).array, X),
        "normalized": (lambda x: e3nn.spherical_harmonics([0, 1, 2], vector(x), normalize=True).array, X),
        "tensor_product": (lambda x, y: e3nn.tensor_product(vector(x), vector(y)).array, X, Y),
        "elementwise": (lambda x, y: e3nn.elementwise_tensor_product(vector(x), vector(y)).array, X, Y),
        "norm": (lambda x: e3nn.norm(e3nn.IrrepsArray("0e + 1o", jnp.asarray(x))).array, mixed),
        "gate": (lambda x: e3nn.gate(e3nn.IrrepsArray("2x0e + 1o", x)).array, RNG.normal(size=5)),
        "bessel": (lambda x: e3nn.bessel(x, 4, 2.0), P),
        "soft_envelope": (lambda x: e3nn.soft_envelope(x, 2.0), P),
        "matrix_to_angles": (lambda a, b, c: e3nn.angles_to_matrix(a, b, c), P[0], P[1], P[2]),
        "exp of generators": (lambda x: e3nn.axis_angle_to_matrix(x, jnp.asarray(0.7)), X),
    }


def torch_distributions() -> Rows:
    torch, d = load("torch"), load("torch.distributions")
    simplex = torch.tensor([0.2, 0.3, 0.5])
    return {
        "Normal": (lambda x, m, s: d.Normal(m, s).log_prob(x), X, Y, P),
        "Gamma": (lambda x, a, b: d.Gamma(a, b).log_prob(x), P, P + 1, P + 2),
        "Beta": (lambda x, a: d.Beta(a, a + 1).log_prob(x), P / 2, P + 1),
        "Dirichlet": (lambda c: d.Dirichlet(c).log_prob(simplex), P),
        "StudentT": (lambda x, k: d.StudentT(k).log_prob(x), X, P + 1),
        "MultivariateNormal": (
            lambda x, a: d.MultivariateNormal(torch.as_tensor(Y), scale_tril=torch.tril(a)).log_prob(x),
            X,
            A,
        ),
        "Categorical": (lambda x: d.Categorical(logits=x).log_prob(torch.tensor(1)), X),
        "kl_divergence": (lambda m, s: d.kl_divergence(d.Normal(m, s), d.Normal(0.0, 1.0)), X, P),
        "Independent": (lambda x, s: d.Independent(d.Laplace(0.1, s), 1).log_prob(x), X, P),
        "Transformed": (lambda x: d.TransformedDistribution(
            d.Normal(0.0, 1.0), [d.SigmoidTransform()]).log_prob(x), P / 2),
    }  # fmt: skip


def einops() -> Rows:
    einops, torch, jnp = load("einops"), load("torch"), load("jax.numpy")
    layers = load("einops.layers.torch")
    t, cube = torch.as_tensor(RNG.normal(size=(2, 3, 4))), RNG.normal(size=(2, 3, 4))
    block = layers.Rearrange("a b c -> (a b) c")
    return {
        "rearrange, Torch": (lambda x: einops.rearrange(x, "a b c -> c (a b)") * 2, t),
        "rearrange, JAX": (lambda x: einops.rearrange(jnp.sin(x), "a b c -> c (a b)"), cube),
        "reduce mean": (lambda x: einops.reduce(x, "a b c -> b", "mean"), t),
        "reduce max": (lambda x: einops.reduce(x, "a b c -> b", "max"), t),
        "reduce prod": (lambda x: einops.reduce(x, "a b c -> b", "prod"), t),
        "repeat": (lambda x: einops.repeat(x, "a b c -> a b c k", k=2) ** 2, t),
        "einsum": (lambda x, y: einops.einsum(x, y, "a b c, c d -> a b d"), t, t[0, :2].T),
        "pack": (lambda x, y: einops.pack([x, y], "* c")[0].sin(), t, t[0] + 1),
        "Rearrange layer": (lambda x: block(x).exp(), t),
        "reduce, JAX": (lambda x: einops.reduce(jnp.exp(x), "a b c -> b", "sum"), cube),
    }  # fmt: skip


def torchdiffeq() -> Rows:
    ode, torch = load("torchdiffeq"), load("torch")
    t = torch.tensor([0.0, 0.2, 0.5])

    def solve(method: str, solver: Any = ode.odeint, **options: Any) -> Callable[..., Any]:
        def solved(y0: Any, a: Any) -> Any:
            return solver(lambda t, y: torch.sin(a * y) - t, y0, t, method=method, **options)

        return solved

    tight = {"rtol": 1e-12, "atol": 1e-12}
    return {
        **{
            method: (solve(method), X, P)
            for method in ("euler", "midpoint", "heun2", "rk4", "explicit_adams", "heun3")
        },
        "rk4, half steps": (solve("rk4", options={"step_size": 0.1}), X, P),
        "by times": (
            lambda ts: ode.odeint(lambda t, y: torch.sin(y) - t, torch.as_tensor(X), ts, method="rk4"),
            np.array([0.0, 0.2, 0.5]),
        ),
        "euler, cubic": (solve("euler", options={"step_size": 0.1, "interp": "cubic"}), X, P),
        "dopri5": (solve("dopri5", **tight), X, P),
    }


def geomloss() -> Rows:
    loss = load("geomloss").SamplesLoss
    one, two = POINTS, OTHERS[:3]

    weights, many = np.array([0.1, 0.2, 0.3, 0.4]), RNG.normal(size=(2, 3, 2))

    def of(name: str, *points: Any, **options: Any) -> tuple[Any, ...]:
        found = loss(name, backend="tensorized", **options)
        return (lambda x, y: found(x, y), *(points or (one, two)))

    def weighted(name: str, **options: Any) -> tuple[Any, ...]:
        found = loss(name, backend="tensorized", **options)
        return (lambda a, x, y: found(a, x, a.new_full((3,), 1 / 3), y), weights, one, two)

    # not "sinkhorn": it has the gradient of its limit, which gradcheck refuses, too
    return {
        "gaussian": of("gaussian", blur=0.5),
        "laplacian": of("laplacian", blur=0.5),
        "energy": of("energy"),
        "gaussian, wide": of("gaussian", blur=2.0),
        "laplacian, wide": of("laplacian", blur=2.0),
        "gaussian, weighted": weighted("gaussian", blur=0.5),
        "laplacian, weighted": weighted("laplacian", blur=0.5),
        "energy, weighted": weighted("energy"),
        "gaussian, batched": of("gaussian", many, many + 0.5, blur=0.5),
        "energy, batched": of("energy", many, many + 0.5),
    }


def kornia() -> Rows:
    k, torch = load("kornia"), load("torch")
    mask = torch.as_tensor(RNG.uniform(0.2, 0.8, (1, 3, 5, 5)))
    return {
        "rgb_to_hsv": (lambda x: k.color.rgb_to_hsv(x), IMAGE[..., :2, :2]),
        "rgb_to_lab": (lambda x: k.color.rgb_to_lab(x), IMAGE[..., :2, :2]),
        "gaussian_blur2d": (lambda x: k.filters.gaussian_blur2d(x, (3, 3), (1.0, 1.0)), IMAGE[:, :1]),
        "sobel": (lambda x: k.filters.sobel(x), IMAGE[:, :1]),
        "ssim_loss": (lambda x: k.losses.ssim_loss(x, mask[:, :1], 3), IMAGE[:, :1]),
        "axis_angle_to_rotation_matrix": (
            lambda x: k.geometry.conversions.axis_angle_to_rotation_matrix(x), X[None]),
        "rotation_matrix_to_quaternion": (
            lambda a: k.geometry.conversions.rotation_matrix_to_quaternion(torch.linalg.qr(a)[0]), A),
        "warp_perspective": (
            lambda x: k.geometry.transform.warp_perspective(
                x, torch.tensor([[[1.0, 0.1, 0.2], [0.05, 0.9, 0.1], [0.0, 0.01, 1.0]]]), (4, 4)),
            IMAGE[:, :1]),
        "total_variation": (lambda x: k.losses.total_variation(x), IMAGE),
        "adjust_gamma": (lambda x: k.enhance.adjust_gamma(x, 1.7), IMAGE),
    }  # fmt: skip


def gpytorch() -> Rows:
    gp, torch = load("gpytorch"), load("torch")
    x = torch.as_tensor(POINTS)

    def of(kernel: Any) -> tuple[Any, ...]:
        kernel = kernel.double()
        return (lambda x, y: kernel(x, y).to_dense(), POINTS, OTHERS)

    def log_prob(mean: Any, a: Any) -> Any:
        return gp.distributions.MultivariateNormal(mean, a @ a.mT).log_prob(torch.as_tensor(X))

    scale = gp.kernels.ScaleKernel(gp.kernels.RBFKernel()).double()

    def lengthscale(raw: Any) -> Any:
        with gp.settings.lazily_evaluate_kernels(state=False):
            return torch.func.functional_call(scale, {"base_kernel.raw_lengthscale": raw}, (x,)).to_dense()

    return {
        "RBFKernel": of(gp.kernels.RBFKernel()),
        "MaternKernel 1.5": of(gp.kernels.MaternKernel(1.5)),
        "MaternKernel 2.5": of(gp.kernels.MaternKernel(2.5)),
        "RQKernel": of(gp.kernels.RQKernel()),
        "PeriodicKernel": of(gp.kernels.PeriodicKernel()),
        "LinearKernel": of(gp.kernels.LinearKernel()),
        "PolynomialKernel": of(gp.kernels.PolynomialKernel(2)),
        "ScaleKernel": of(scale),
        "MultivariateNormal": (log_prob, Y, A),
        "lengthscale": (lengthscale, np.array([[0.3]])),
    }  # fmt: skip


def pyro() -> Rows:
    d, torch = load("pyro.distributions"), load("torch")
    t = load("pyro.distributions.transforms")
    spline, planar = t.Spline(1, 4).double(), t.Planar(3).double()
    return {
        "Normal": (lambda x, m: d.Normal(m, 1.3).log_prob(x), X, Y),
        "AsymmetricLaplace": (lambda x, s: d.AsymmetricLaplace(0.1, s, 1.3).log_prob(x), X, P),
        "SoftLaplace": (lambda x, s: d.SoftLaplace(0.1, s).log_prob(x), X, P),
        "Stable": (lambda x: d.Stable(1.5, 0.2, 1.1).log_prob(x), X),
        "Logistic": (lambda x, s: d.Logistic(0.1, s).log_prob(x), X, P),
        "ProjectedNormal": (lambda c: d.ProjectedNormal(c).log_prob(torch.tensor([0.6, 0.8, 0.0])), X),
        "BetaBinomial": (lambda a, b: d.BetaBinomial(a, b, 5).log_prob(torch.tensor(2.0)), P, P + 1),
        "GammaPoisson": (lambda a, b: d.GammaPoisson(a, b).log_prob(torch.tensor(2.0)), P, P + 1),
        "Spline": (lambda x: spline(x), X[:1]),
        "Planar": (lambda x: planar(x), X),
    }


def torch_geometric() -> Rows:
    nn, utils, torch = load("torch_geometric.nn"), load("torch_geometric.utils"), load("torch")
    torch.manual_seed(0)
    edges = torch.tensor([[0, 1, 2, 3, 0], [1, 2, 3, 0, 2]])
    batch, norm = torch.tensor([0, 0, 1, 1]), nn.GraphNorm(2).double()

    def of(layer: Any) -> tuple[Any, ...]:
        layer = layer.double().eval()
        return (lambda x: layer(x, edges), POINTS)

    return {
        "GCNConv": of(nn.GCNConv(2, 3)),
        "GATConv": of(nn.GATConv(2, 2)),
        "SAGEConv": of(nn.SAGEConv(2, 2)),
        "GINConv": of(nn.GINConv(torch.nn.Linear(2, 2))),
        "ChebConv": of(nn.ChebConv(2, 2, 2)),
        "TransformerConv": of(nn.TransformerConv(2, 2)),
        "softmax": (lambda x: utils.softmax(x, batch), POINTS),
        "global_mean_pool": (lambda x: nn.global_mean_pool(x, batch), POINTS),
        "scatter max": (lambda x: utils.scatter(x, batch, reduce="max"), POINTS),
        "GraphNorm": (lambda x: norm(x, batch), POINTS),
    }


PACKAGES: dict[str, tuple[str, Callable[[], Rows]]] = {
    **{
        rows.__name__: ("jax", rows)
        for rows in (equinox, flax, haiku, lineax, optimistix, diffrax, jaxopt, optax, numpyro, distrax, ott)
    },
    "e3nn_jax": ("jax", e3nn),
    "torch.distributions": ("torch", torch_distributions),
    **{
        rows.__name__: ("torch", rows)
        for rows in (einops, torchdiffeq, geomloss, kornia, gpytorch, pyro, torch_geometric)
    },
}
"""The framework of a package, and its rows."""
