"""The engine's reverse mode next to Torch, autograd and JAX, on loops of 10, 1,000 and 100,000 trips.

The loop is `acc = sin(acc * x)`, once on scalars and once on vectors of 64 entries. All contenders are timed
in one run, one call each in turn, round after round; a ratio is the median of the ratios within a round, so
that a slow spell of the machine weighs on both sides. Before anything is timed, the gradients are compared
with the engine's.
"""

from __future__ import annotations

import platform
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

import autograd
import autograd.numpy as anp
import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
import torch

from gradfuzz import engine, programs
from gradfuzz.programs.graphs.lower import lower

Array = npt.NDArray[np.float64]
Gradient = Callable[[], Any]

BODY = "sin(acc*x)"
TRIPS = (10, 1_000, 100_000)
ROUNDS = {10: 31, 1_000: 11, 100_000: 3}
SHORTEST = 2e-3
"""Calls shorter than this many seconds are repeated within a round, and the mean is taken."""


@dataclass
class Contender:
    """One way to the gradient. `make` returns a call without arguments; its time is in none of the figures
    but `compiling`.
    """

    name: str
    make: Callable[[Any, int], Gradient]
    call: Gradient | None = None
    compiling: float = 0.0
    failure: str = ""
    repeats: int = 1
    seconds: list[float] = field(default_factory=list)
    gradient: Array | None = None


# Ways to the gradient ---------------------------------------------------------------------------------------


def program(x: Any, trips: int) -> programs.Program:
    params = {"x": programs.Type("float", np.shape(x))}
    return programs.loop_program(BODY, trips=trips, params=params)


def engine_gradient(x: Any, trips: int) -> Gradient:
    f = engine.compile(engine.derivative(program(x, trips), wrt=("x",), modes=("rev",)), precision="float64")
    weight = np.ones_like(x) if np.ndim(x) else 1.0
    return lambda: f(x, weight)[1]


def engine_primal(x: Any, trips: int) -> Gradient:
    f = engine.compile(lower(program(x, trips)), precision="float64")
    return lambda: f(x)[0]


def torch_gradient(x: Any, trips: int) -> Gradient:
    point = torch.tensor(x, dtype=torch.float64, requires_grad=True)

    def call() -> Any:
        acc = torch.ones_like(point)
        for _ in range(trips):
            acc = torch.sin(acc * point)
        return torch.autograd.grad(acc.sum(), point)[0]

    return call


def autograd_gradient(x: Any, trips: int) -> Gradient:
    def f(x: Any) -> Any:
        acc = anp.ones_like(x)
        for _ in range(trips):
            acc = anp.sin(acc * x)
        return anp.sum(acc)

    derivative = autograd.grad(f)
    return lambda: derivative(x)


def jax_gradient(x: Any, trips: int) -> Gradient:
    point = jnp.asarray(x, dtype=jnp.float64)

    def f(x: Any) -> Any:
        return jnp.sum(jax.lax.fori_loop(0, trips, lambda _, acc: jnp.sin(acc * x), jnp.ones_like(x)))

    compiled = jax.jit(jax.grad(f)).lower(point).compile()
    return lambda: compiled(point).block_until_ready()


# Timing -----------------------------------------------------------------------------------------------------


def prepare(contender: Contender, x: Any, trips: int) -> None:
    """Compile, call once to warm up and to keep the gradient, and choose how often a round calls."""
    try:
        start = time.perf_counter()
        contender.call = contender.make(x, trips)
        contender.compiling = time.perf_counter() - start
        start = time.perf_counter()
        contender.gradient = np.asarray(contender.call(), dtype=np.float64)
        if time.perf_counter() - start < 1.0:  # the first call may be slow for reasons of its own
            start = time.perf_counter()
            contender.call()
            contender.repeats = max(1, round(SHORTEST / (time.perf_counter() - start)))
    except Exception as e:  # noqa: BLE001 - a contender that cannot do it is a result
        contender.call = None
        contender.failure = f"failed: {type(e).__name__}: {str(e).splitlines()[0] if str(e) else ''}"


def time_rounds(contenders: Sequence[Contender], rounds: int) -> None:
    """Every contender once per round, the order turned by one place each time."""
    able = [c for c in contenders if c.call is not None]
    for n in range(rounds):
        for contender in able[n % len(able) :] + able[: n % len(able)]:
            assert contender.call is not None
            start = time.perf_counter()
            for _ in range(contender.repeats):
                contender.call()
            contender.seconds.append((time.perf_counter() - start) / contender.repeats)


def ratio(over: Sequence[float], under: Sequence[float]) -> float:
    return statistics.median(a / b for a, b in zip(over, under, strict=True))


def duration(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} us"


def measure(title: str, x: Any, trips: int) -> list[str]:
    """The rows of one table: name, time, time over the engine's, worst relative difference of the
    gradients.
    """
    ours, primal = Contender("engine", engine_gradient), Contender("engine, value only", engine_primal)
    compiled = Contender("jax, compiled", jax_gradient)
    others = [Contender("torch eager", torch_gradient), Contender("autograd", autograd_gradient), compiled]
    contenders = [ours, primal, *others]
    for contender in contenders:
        prepare(contender, x, trips)
    if ours.call is None:
        return [f"{title}, {trips:,} trips: the engine {ours.failure}"]
    time_rounds(contenders, ROUNDS[trips])

    rows = [
        f"{title}, {trips:,} trips (median of {ROUNDS[trips]} rounds)",
        f"  {'':24}{'time':>10}{'over engine':>14}{'difference':>14}",
    ]
    for contender in (ours, *others):
        if contender.call is None:
            rows.append(f"  {contender.name:24}{contender.failure}")
            continue
        assert ours.gradient is not None
        assert contender.gradient is not None
        difference = float(np.max(np.abs(contender.gradient - ours.gradient) / np.abs(ours.gradient)))
        time_ = duration(statistics.median(contender.seconds))
        over = f"{ratio(contender.seconds, ours.seconds):.3g}x"
        rows.append(f"  {contender.name:24}{time_:>10}{over:>14}{difference:>14.1e}")
    if compiled.call is not None:
        whole = [compiled.compiling + s for s in compiled.seconds]
        over = f"{ratio(whole, [ours.compiling + s for s in ours.seconds]):.3g}x"
        time_ = duration(statistics.median(whole))
        rows.append(f"  {'jax, with compiling':24}{time_:>10}{over:>14}  (over the engine with compiling)")
    rows.append(f"  engine: compiling {duration(ours.compiling)}")
    if primal.call is None:
        rows.append(f"  engine: the value alone {primal.failure}")
    else:
        value = duration(statistics.median(primal.seconds))
        over = f"{ratio(ours.seconds, primal.seconds):.2f}x"
        rows.append(f"  engine: value alone {value}; value and gradient over value {over}")
    return rows


def versions() -> str:
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "torch", "autograd", "jax"))
    return f"Python {platform.python_version()}, {libraries}"


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    jax.jit(jnp.sin)(0.5).block_until_ready()  # starting JAX is no part of its compile time
    print(f"reverse mode through acc = {BODY}, float64; {versions()}\n")
    for title, x in (("scalar", 1.5), ("64-vector", np.linspace(1.2, 1.8, 64))):
        for trips in TRIPS:
            print("\n".join(measure(title, x, trips)), end="\n\n", flush=True)


if __name__ == "__main__":
    main()
