"""What `check_gradient` costs beside `torch.autograd.gradcheck` and `jax.test_util.check_grads`.

    python -m benchmarks.gradients              all tables
    python -m benchmarks.gradients torch jax    some of: torch, second, jax, layer, million

Each function is checked once by either, in one process that is warm, as in a test suite: nothing that was
computed for one function serves another. What is measured is the CPU time of the process.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import itertools
import os
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from benchmarks.gradient_functions import Row, jax_rows, torch_rows
from gradfuzz.testing import GradientMismatch, InconclusiveWarning, check_gradient


@dataclass(frozen=True, slots=True)
class Timed:
    """The seconds of CPU that both took for one function."""

    name: str
    entries: int
    own: float
    other: float

    @property
    def ratio(self) -> float:
        return self.own / self.other


def seconds(call: Callable[[], Any]) -> float:
    """The CPU time of the process during a call."""
    gc.collect()
    start = time.process_time()
    call()
    return time.process_time() - start


def timed(row: Row, own: Callable[[], Any], other: Callable[[], Any]) -> Timed:
    """Both once. The library's own check is first, so that what it loads is not counted against ours."""
    theirs = seconds(other)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InconclusiveWarning)
        ours = seconds(lambda: checked(row, own))
    return Timed(row.name, sum(int(np.size(x)) for x in row.arguments), ours, theirs)


def checked(row: Row, own: Callable[[], Any]) -> None:
    """What is found is told, and costs what it costs."""
    try:
        own()
    except GradientMismatch as mismatch:
        print(f"    {row.name}: {str(mismatch).splitlines()[0]}")


def table(title: str, rows: Sequence[Timed], worst: int) -> None:
    """The sum, the median and the dearest functions."""
    total = sum(r.own for r in rows) / sum(r.other for r in rows)
    median = statistics.median(r.ratio for r in rows)
    print(
        f"{title}: {len(rows)} functions, {min(r.entries for r in rows)} to {max(r.entries for r in rows)}"
        f" inputs; ratio {total:.2f} in the sum, {median:.2f} in the median"
    )
    for r in sorted(rows, key=lambda r: -r.own)[:worst]:
        print(
            f"    {r.name:32} {r.entries:4} inputs  {1e3 * r.own:8.1f} ms  {1e3 * r.other:8.1f} ms"
            f"  {r.ratio:6.2f}"
        )


def of_torch(order: int) -> list[Timed]:
    import torch

    rows = torch_rows()
    # Warm is also what loads Torch's table of decompositions, and the compiler with it.
    warm = [*rows[:2], next(row for row in rows if row.name == "torch.logit(x)")]
    found = []
    for row in warm + rows:

        def tensors(row: Row = row) -> list[Any]:
            return [torch.tensor(x, requires_grad=x.dtype.kind == "f") for x in row.arguments]

        def other(row: Row = row) -> None:
            if order == 1:
                torch.autograd.gradcheck(row.f, tensors(), check_forward_ad=True)
                return
            with contextlib.suppress(RuntimeError):  # GradcheckError, or what the library raises
                torch.autograd.gradgradcheck(row.f, tensors(), check_fwd_over_rev=True)

        def own(row: Row = row) -> None:
            check_gradient(row.f, *(x.detach() for x in tensors()), order=order)

        found.append(timed(row, own, other))
    return found[len(warm) :]


def of_jax() -> list[Timed]:
    import jax
    from jax.test_util import check_grads

    jax.config.update("jax_enable_x64", True)
    rows = jax_rows()
    found = []
    for row in rows[:2] + rows:
        arrays = [jax.numpy.asarray(x) for x in row.arguments]

        def other(row: Row = row, arrays: list[Any] = arrays) -> None:
            check_grads(row.f, arrays, order=1)

        def own(row: Row = row, arrays: list[Any] = arrays) -> None:
            check_gradient(row.f, *arrays)

        found.append(timed(row, own, other))
    return found[2:]


def layers() -> None:
    """A layer of 10,000 parameters in JAX: beside a check_grads that has compiled already."""
    import jax
    import jax.numpy as jnp
    from jax.test_util import check_grads

    jax.config.update("jax_enable_x64", True)
    rng = np.random.default_rng(7)
    x = jnp.asarray(rng.normal(size=(4, 99)))

    def layer(parameters: dict[str, Any]) -> Any:
        return jnp.tanh(x @ parameters["w"] + parameters["b"])

    @jax.custom_vjp
    def mistaken(parameters: dict[str, Any]) -> Any:
        return layer(parameters)

    def backward(parameters: dict[str, Any], cotangent: Any) -> tuple[Any]:
        (slopes,) = jax.vjp(layer, parameters)[1](cotangent)
        return ({"w": slopes["w"].at[17, 43].multiply(1 + 1e-6), "b": slopes["b"]},)

    mistaken.defvjp(lambda parameters: (layer(parameters), parameters), backward)
    parameters = {"w": jnp.asarray(rng.normal(size=(99, 100)) / 10), "b": jnp.asarray(rng.normal(size=100))}
    check_grads(layer, (parameters,), order=1)
    theirs = seconds(lambda: check_grads(layer, (parameters,), order=1))
    check_gradient(layer, parameters)
    ours = seconds(lambda: check_gradient(layer, parameters))
    print(f"a layer of 10,000 parameters: {ours:.2f} s, {ours / theirs:.1f} times a warm check_grads")
    found: list[str] = []

    def mistake() -> None:
        try:
            check_gradient(mistaken, parameters)
        except GradientMismatch as mismatch:
            found.append(str(mismatch).splitlines()[0])

    ours = seconds(mistake)
    told = found[0] if found else "not found"
    print(f"    one entry wrong by a millionth: {ours:.2f} s, {ours / theirs:.1f} times; {told}")


def millions() -> None:
    """Networks of 1,000,000 parameters, beside a check_grads that has compiled already, and beside gradcheck
    in its fast mode: the best of a few.
    """
    import jax

    for dtype in ("float32", "float64"):
        with jax.enable_x64(dtype == "float64"):
            _million_of_jax(dtype)
    for dtype in ("float32", "float64"):
        for name in ("Tanh", "ReLU", "GELU"):
            _million_of_torch(dtype, name)


def _million_of_jax(dtype: str) -> None:
    import jax
    import jax.numpy as jnp
    from jax.test_util import check_grads

    rng = np.random.default_rng(7)
    sizes = (784, 1024, 189, 10)
    x = jnp.asarray(rng.normal(size=(4, sizes[0])), dtype)

    def network(layers: list[Any]) -> Any:
        y = x
        for w, b in layers:
            y = jnp.tanh(y @ w + b)
        return jnp.mean(y**2)

    @jax.custom_vjp
    def mistaken(layers: list[Any]) -> Any:
        return network(layers)

    def backward(layers: list[Any], cotangent: Any) -> tuple[Any]:
        ((first, (w, b), last),) = jax.vjp(network, layers)[1](cotangent)
        return ([first, (w.at[17, 43].multiply(2.0), b), last],)

    mistaken.defvjp(lambda layers: (network(layers), layers), backward)
    layers = [
        (jnp.asarray(rng.normal(size=(n, m)) / n**0.5, dtype), jnp.asarray(rng.normal(size=m) / 10, dtype))
        for n, m in itertools.pairwise(sizes)
    ]

    def theirs(*modes: str) -> Callable[[], Any]:  # its default tolerances fail at so many numbers
        return lambda: check_grads(network, (layers,), order=1, modes=modes, atol=0.1, rtol=0.1)

    _compare(
        f"a network of 1,000,000 parameters in {dtype}",
        {"a warm check_grads in reverse mode": theirs("rev"), "in both modes": theirs("fwd", "rev")},
        lambda **options: check_gradient(network, layers, **options),
        lambda: check_gradient(mistaken, layers),
    )


def _million_of_torch(dtype: str, step: str) -> None:
    import torch
    from torch import nn

    rows, *sizes = {
        "Tanh": (4, 784, 1024, 189, 10),
        "ReLU": (32, 512, 896, 512, 128),
        "GELU": (16, 1000, 900, 90),
    }[step]
    torch.manual_seed(7)
    made = [part for n, m in itertools.pairwise(sizes) for part in (nn.Linear(n, m), getattr(nn, step)())]
    network = nn.Sequential(*made[:-1]).to(getattr(torch, dtype))
    x = torch.randn(rows, sizes[0], dtype=getattr(torch, dtype))
    parameters = dict(network.named_parameters())

    def mean(module: Any, x: Any) -> Any:
        return module(x).square().mean()

    def of_parameters(x: Any, *given: Any) -> Any:
        own = dict(zip(parameters, given, strict=True))
        return torch.func.functional_call(network, own, (x,)).square().mean()

    def theirs(*, forward: bool) -> Callable[[], Any]:
        given = [a.detach().requires_grad_() for a in (x, *parameters.values())]
        wide = {"eps": 1e-3, "atol": 0.1, "rtol": 0.1}  # its default tolerances fail at so many numbers
        return lambda: torch.autograd.gradcheck(
            of_parameters, given, fast_mode=True, check_forward_ad=forward, **wide
        )

    def wrong() -> None:
        def doubled(slopes: Any) -> Any:
            slopes = slopes.clone()
            slopes[17, 43] *= 2.0
            return slopes

        hook = parameters["2.weight"].register_hook(doubled)
        try:
            check_gradient(mean, network, x)
        finally:
            hook.remove()

    _compare(
        f"a network of {sum(p.numel() for p in parameters.values()):,} parameters with {step} in {dtype}",
        {"gradcheck's fast mode": theirs(forward=False), "with forward mode": theirs(forward=True)},
        lambda **options: check_gradient(mean, network, x, **options),
        wrong,
    )


def _compare(
    title: str,
    theirs: Mapping[str, Callable[[], Any]],
    own: Callable[..., Any],
    wrong: Callable[[], Any],
    times: int = 6,
) -> None:
    """The checks of a library in reverse mode and in both, beside ours, and ours of one wrong entry."""
    found: list[str] = []

    def mistake() -> None:
        try:
            wrong()
        except GradientMismatch as mismatch:
            found.append(str(mismatch).splitlines()[0])

    (one, reverse), (both, all_modes) = theirs.items()
    calls = (reverse, lambda: own(modes="rev"), all_modes, own, mistake)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # gradcheck's of float32
        rev, own_rev, whole, own_whole, wrong_whole = (min(seconds(f) for _ in range(times)) for f in calls)
    print(
        f"{title}: {own_rev:.2f} s in reverse mode, {own_rev / rev:.1f} times {one};"
        f" {own_whole:.2f} s in both modes, {own_whole / whole:.1f} times {both}"
    )
    told = found[0] if found else "not found"
    more = wrong_whole / own_whole
    print(f"    one entry twice too large: {wrong_whole:.2f} s, {more:.1f} times the right one;")
    print(f"    {told}")


TABLES = {
    "torch": ("check_gradient / gradcheck with forward mode", lambda: of_torch(1)),
    "second": ("second order: check_gradient / gradgradcheck with forward over reverse", lambda: of_torch(2)),
    "jax": ("check_gradient / check_grads", of_jax),
}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("tables", nargs="*", help="of torch, second, jax, layer, million; all unless named")
    parser.add_argument("--worst", type=int, default=5, help="how many of the dearest functions are listed")
    options = parser.parse_args(arguments)
    for name in options.tables or [*TABLES, "layer", "million"]:
        if name in ("layer", "million"):
            (layers if name == "layer" else millions)()
            continue
        title, measure = TABLES[name]
        table(title, measure(), options.worst)
    return 0


if __name__ == "__main__":
    sys.exit(main())
