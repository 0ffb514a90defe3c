"""Forward and gradient of each decomposition next to Torch and JAX, on batches of matrices in float64.

The loss is a weighted sum of all results that have a derivative. All contenders are timed in one run, one
call each in turn, round after round; a ratio is the median of the ratios within a round, so that a slow spell
of the machine weighs on both sides. Each is compiled and hot. Before anything is timed, the gradients are
compared: with the engine's, to 1e-6 of the greatest entry. Each has one thread: where others use the machine,
threads wait for each other, and a ratio says nothing.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")

import jax
import jax.numpy as jnp
import numpy as np
import torch

from gradfuzz import engine, programs
from gradfuzz.engine import derivative

SHAPES = ((64, 8, 8), (1024, 3, 3), (8, 64, 64), (1, 256, 256))
ROUNDS = 15
SHORTEST = 2e-3
"""Calls shorter than this many seconds are repeated within a round, and the mean is taken."""

Gradient = Callable[[], Any]


@dataclass(frozen=True)
class Row:
    """One op: its text in the language, and functions from matrices to results in Torch and JAX. `spd`: of a
    positive definite matrix.
    """

    name: str
    text: str
    torch: Callable[[Any], Sequence[Any]]
    jax: Callable[[Any], Sequence[Any]]
    spd: bool = False


def _ones(x: Any) -> Any:
    return torch.ones_like(x[..., :1])


JAX_LU = jnp.vectorize(jax.scipy.linalg.lu, signature="(n,n)->(n,n),(n,n),(n,n)")

ROWS = (
    Row("qr", "q, r = qr(a)\n    return q, r", torch.linalg.qr, jnp.linalg.qr),
    Row(
        "cholesky",
        "return cholesky(a)",
        lambda a: [torch.linalg.cholesky(_sym(a))],
        lambda a: [jnp.linalg.cholesky(a)],
        spd=True,
    ),
    Row("lu", "p, l, u = lu(a)\n    return l, u", lambda a: torch.linalg.lu(a)[1:], lambda a: JAX_LU(a)[1:]),
    Row(
        "svd",
        "u, s, vh = svd(a)\n    return u * u, s, vh * vh",
        lambda a: [x * x if k != 1 else x for k, x in enumerate(torch.linalg.svd(a, full_matrices=False))],
        lambda a: [x * x if k != 1 else x for k, x in enumerate(jnp.linalg.svd(a, full_matrices=False))],
    ),
    Row(
        "svdvals",
        "return svdvals(a)",
        lambda a: [torch.linalg.svdvals(a)],
        lambda a: [jnp.linalg.svd(a, compute_uv=False)],
    ),
    Row(
        "eigh",
        "w, v = eigh(a)\n    return w, v * v",
        lambda a: [x * x if k else x for k, x in enumerate(torch.linalg.eigh(_sym(a)))],
        lambda a: [x * x if k else x for k, x in enumerate(jnp.linalg.eigh(a))],
        spd=True,
    ),
    Row(
        "eigvalsh",
        "return eigvalsh(a)",
        lambda a: [torch.linalg.eigvalsh(_sym(a))],
        lambda a: [jnp.linalg.eigvalsh(a)],
        spd=True,
    ),
    Row(
        "triangular_solve",
        "return triangular_solve(a, ones({b}))",
        lambda a: [torch.linalg.solve_triangular(a.tril(), _ones(a), upper=False)],
        lambda a: [jax.scipy.linalg.solve_triangular(a, jnp.ones_like(a[..., :1]), lower=True)],
    ),
    Row(
        "solve",
        "return solve(a, ones({b}))",
        lambda a: [torch.linalg.solve(a, _ones(a))],
        lambda a: [jnp.linalg.solve(a, jnp.ones_like(a[..., :1]))],
    ),
    Row("inv", "return inv(a)", lambda a: [torch.linalg.inv(a)], lambda a: [jnp.linalg.inv(a)]),
    Row("det", "return det(a)", lambda a: [torch.linalg.det(a)], lambda a: [jnp.linalg.det(a)]),
    Row(
        "slogdet",
        "return slogdet(a)[1]",
        lambda a: [torch.linalg.slogdet(a)[1]],
        lambda a: [jnp.linalg.slogdet(a)[1]],
    ),
    Row("pinv", "return pinv(a)", lambda a: [torch.linalg.pinv(a)], lambda a: [jnp.linalg.pinv(a)]),
    Row(
        "norm nuc",
        "return matrix_norm(a, ord='nuc')",
        lambda a: [torch.linalg.norm(a, "nuc", (-2, -1))],
        lambda a: [jnp.linalg.norm(a, "nuc", (-2, -1))],
    ),
    Row(
        "matrix_power 5",
        "return matrix_power(a, n=5)",
        lambda a: [torch.linalg.matrix_power(a, 5)],
        lambda a: [jnp.linalg.matrix_power(a, 5)],
    ),
    Row(
        "expm", "return expm(a)", lambda a: [torch.linalg.matrix_exp(a)], lambda a: [jax.scipy.linalg.expm(a)]
    ),
)


_TRIANGULAR = "OpenBLAS, which NumPy and SciPy have, is slower than MKL at large triangular systems"
_ANEW = "NumPy and SciPy factor a matrix anew for each result"
WHY = {
    **dict.fromkeys(("qr", "cholesky"), _TRIANGULAR),
    **dict.fromkeys(("solve", "inv", "det", "slogdet"), _ANEW),
    "lu": "SciPy is slow at stacks of small matrices",
    "expm": "the gradient is the exponential of a matrix of twice the size, half of it known",
}
"""What is known to cost time where Torch is faster."""


def _sym(a: Any) -> Any:
    return (a + a.mT) / 2


def matrices(row: Row, shape: tuple[int, ...]) -> Any:
    """Well conditioned, with determinants far from overflow; symmetric positive definite where the op wants
    it.
    """
    rng = np.random.default_rng(0)
    n = shape[-1]
    x = rng.normal(size=shape) / np.sqrt(n) * 0.3 + np.diag(np.linspace(0.7, 1.4, n))
    return x @ np.swapaxes(x, -1, -2) if row.spd else x


# Ways to the gradient ---------------------------------------------------------------------------------------


def by_engine(row: Row, a: Any, weights: Sequence[Any]) -> Gradient:
    text = row.text.replace("{b}", str((*a.shape[:-1], 1)))
    program = programs.parse(f'def f(a: "float{list(a.shape)}"):\n    {text}\n')
    function = engine.compile(derivative(program, wrt=("a",), modes=("rev",)))
    return lambda: function(a, *weights)[-1]


def by_torch(row: Row, a: Any, weights: Sequence[Any]) -> Gradient:
    ready = [torch.tensor(w) for w in weights]
    x = torch.tensor(a, requires_grad=True)

    def call() -> Any:
        loss: Any = sum((y * w).sum() for y, w in zip(row.torch(x), ready, strict=True))
        return torch.autograd.grad(loss, x)[0].numpy()

    return call


def by_jax(row: Row, a: Any, weights: Sequence[Any]) -> Gradient:
    ready = [jnp.asarray(w) for w in weights]

    def loss(x: Any) -> Any:
        return sum((y * w).sum() for y, w in zip(row.jax(x), ready, strict=True))

    function = jax.jit(jax.value_and_grad(loss))
    x = jnp.asarray(a)
    return lambda: function(x)[1].block_until_ready()


WAYS: dict[str, Callable[[Row, Any, Sequence[Any]], Gradient]] = {
    "engine": by_engine,
    "torch": by_torch,
    "jax": by_jax,
}


# Measuring --------------------------------------------------------------------------------------------------


def once(call: Gradient, repeats: int) -> float:
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - start) / repeats


def measure(row: Row, shape: tuple[int, ...], rounds: int) -> str:
    a = matrices(row, shape)
    rng = np.random.default_rng(1)
    with torch.no_grad():
        weights = [rng.normal(size=tuple(y.shape)) for y in row.torch(torch.tensor(a))]
    calls = {name: make(row, a, weights) for name, make in WAYS.items()}
    gradients = {name: np.asarray(call()) for name, call in calls.items()}
    notes = "".join(
        f"  {name} differs" for name in ("torch", "jax") if _differ(row, gradients[name], gradients["engine"])
    )
    repeats = {name: max(1, round(SHORTEST / max(once(call, 1), 1e-9))) for name, call in calls.items()}
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            seconds[name].append(once(call, repeats[name]))
    behind = statistics.median(s / t for s, t in zip(seconds["engine"], seconds["torch"], strict=True)) > 1.05
    notes += f"  {WHY[row.name]}" if behind and row.name in WHY else ""
    times = "".join(f"{statistics.median(seconds[name]) * 1e3:>10.3f}" for name in calls)
    ratios = "".join(
        f"{statistics.median(s / t for s, t in zip(seconds['engine'], seconds[name], strict=True)):>9.2f}x"
        for name in ("torch", "jax")
    )
    return f"  {row.name:18}{times}{ratios}{notes}"


def _differ(row: Row, theirs: Any, mine: Any) -> bool:
    """JAX gives a symmetric op's gradient on one triangle or on both; the symmetric part is what
    all share.
    """
    if row.spd:
        theirs, mine = ((g + np.swapaxes(g, -1, -2)) / 2 for g in (theirs, mine))
    return bool(np.abs(theirs - mine).max() > 1e-6 * np.abs(mine).max())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--only", nargs="*", default=[], help="names of ops")
    options = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    versions = ", ".join(f"{n} {version(n)}" for n in ("numpy", "scipy", "torch", "jax"))
    print(f"forward and gradient, float64; {versions}")
    heading = f"{'milliseconds':18}{'engine':>10}{'torch':>10}{'jax':>10}{'/torch':>10}{'/jax':>10}"
    for shape in SHAPES:
        print(f"\n{shape}\n  {heading}")
        for row in ROWS:
            if not options.only or row.name in options.only:
                print(measure(row, shape, options.rounds), flush=True)


if __name__ == "__main__":
    main()
