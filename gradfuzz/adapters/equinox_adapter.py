"""Equinox on JAX: loops are `equinox.internal.while_loop` of each kind, and `equinox.internal.scan` where the
trip count is a constant.

The kinds are asked only for the derivatives in their documentation: lax forward, checkpointed backward once,
bounded both. Ops are JAX's; gradfuzz itself asks the rest of JAX. Each question compiles a function once.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import equinox as eqx
import equinox.internal as eqxi
import jax
import jax.numpy as jnp
import jax.scipy.special
import kit
import numpy as np
from jax import lax

error_if = getattr(eqx, "error_if", None) or eqxi.error_if

MOST_TRIPS = 10_000
BOUND = 256
"""The most iterations of a bounded loop: its cost grows with them."""
CHECKPOINTS = 3
"""Few checkpoints, so that short loops are recomputed, too."""


def index_key(pattern: Sequence[Any], indices: Sequence[Any]) -> tuple[Any, ...]:
    rest = iter(indices)
    return tuple(next(rest) if entry == "at" else slice(entry[1], entry[2]) for entry in pattern)


def along(axis: int, ndim: int, indices: Any) -> Any:
    return (*[slice(None)] * (axis % ndim), indices)


def order_of(ord: Any) -> Any:
    return {"inf": jnp.inf, "-inf": -jnp.inf}.get(ord, ord)


def triangular_solve(a: Any, b: Any, lower: bool, transposed: bool, unit_diagonal: bool, left: bool) -> Any:
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = (jnp.broadcast_to(m, (*batch, *m.shape[-2:])) for m in (a, b))
    return lax.linalg.triangular_solve(
        a, b, left_side=left, lower=lower, transpose_a=transposed, unit_diagonal=unit_diagonal
    )


SAME = "add subtract multiply divide negative remainder sin cos tan tanh exp log sqrt log1p expm1 abs sign"
SAME += " maximum minimum where less less_equal greater greater_equal equal not_equal logical_and logical_or"
SAME += " logical_not sum mean prod all any argmax argmin clip flip reshape broadcast_to matmul outer take"
SAME += " take_along_axis tril triu sort"
"""Ops whose namesakes in jax.numpy take the same parameters."""

OPS = {
    **{op: getattr(jnp, op) for op in SAME.split()},
    "amax": jnp.max,
    "amin": jnp.min,
    "argsort": lambda x, axis: jnp.argsort(x, axis, stable=True),
    "astype": lambda x, dtype: x.astype(dtype),
    "cholesky": lambda x, upper: jnp.linalg.cholesky(x, upper=upper),
    "concat": lambda *arrays, axis: jnp.concatenate(arrays, axis),
    "cumulative_max": lambda x, axis: lax.cummax(x, axis % x.ndim),
    "cumulative_prod": jnp.cumprod,
    "cumulative_sum": jnp.cumsum,
    "det": jnp.linalg.det,
    "diagonal": lambda x, offset: jnp.diagonal(x, offset, -2, -1),
    "eigh": lambda x, part: jnp.linalg.eigh(x)[part],
    "eigvalsh": jnp.linalg.eigvalsh,
    "einsum": lambda *arrays, subscripts: jnp.einsum(subscripts, *arrays),
    "expm": jax.scipy.linalg.expm,
    "gelu": lambda x: jax.nn.gelu(x, approximate=False),
    "gelu_tanh": jax.nn.gelu,
    "index": lambda x, *indices, pattern: x[index_key(pattern, indices)],
    "index_update": lambda x, value, *indices, pattern: x.at[index_key(pattern, indices)].set(value),
    "integer_pow": lambda x, n: x**n,
    "inv": jnp.linalg.inv,
    "log_softmax": jax.nn.log_softmax,
    "logsumexp": jax.nn.logsumexp,
    "matrix_norm": lambda x, ord, keepdims: jnp.linalg.matrix_norm(x, ord=order_of(ord), keepdims=keepdims),
    "matrix_power": jnp.linalg.matrix_power,
    "permute_dims": jnp.transpose,
    "polygamma": lambda x, n: jax.scipy.special.polygamma(n, x),
    "pow": jnp.power,
    "qr": lambda x, mode, part: jnp.linalg.qr(x, mode=mode)[part],
    "scatter_add": lambda x, indices, updates, axis: x.at[along(axis, x.ndim, indices)].add(updates),
    "slogdet": lambda x, part: jnp.linalg.slogdet(x)[part],
    "softmax": jax.nn.softmax,
    "solve": jnp.linalg.solve,
    "stack": lambda *arrays, axis: jnp.stack(arrays, axis),
    "svd": lambda x, full_matrices, part: jnp.linalg.svd(x, full_matrices=full_matrices)[part],
    "svdvals": lambda x: jnp.linalg.svdvals(x),
    "trace": lambda x, offset: jnp.trace(x, offset, -2, -1),
    "triangular_solve": triangular_solve,
    "vector_norm": lambda x, ord, axis, keepdims: jnp.linalg.vector_norm(
        x, ord=order_of(ord), axis=axis, keepdims=keepdims
    ),
}


def weighted(weights: list[Any], values: Any) -> Any:
    terms = [jnp.sum(y * w) for y, w in zip(values, weights) if w is not None]
    return sum(terms[1:], terms[0]) if terms else None


class Looping(kit.Way):
    """Programs whose loops are `while_loop` of the kind lax."""

    name = "lax"
    ops = OPS
    functions = (jnp, jax.nn, jax.scipy.special)
    lacks = (  # jax/_src/lax/linalg.py
        "Singular value decomposition JVP not implemented for full matrices",
        "Unimplemented case of QR decomposition derivative",
    )
    modes: kit.Modes = ("fwd",)
    orders: tuple[int, ...] = (0, 1, 2)
    hints = {"stride": 8, "by_shape": True}
    structured = True

    def array(self, dtype: str, shape: kit.Shape, entries: list[Any]) -> Any:
        return jnp.asarray(np.array(entries, dtype).reshape(shape))

    def while_loop(
        self, condition: kit.Test, body: kit.Step, carries: list[Any], captures: list[Any]
    ) -> list[Any]:
        if not carries:
            return []
        found = self.loop(
            lambda cs: condition(list(cs), captures),
            lambda cs: tuple(body(list(cs), captures)),
            tuple(carries),
        )
        return list(self.ended(found, condition(list(found), captures)))

    def ended(self, carries: list[Any], goes_on: Any) -> Any:
        """The carries of a loop that has ended; otherwise an error."""
        most = BOUND if isinstance(self, Bounded) else MOST_TRIPS
        return error_if(carries, goes_on, f"a loop is still running after {most} trips")

    def loop(self, condition: Any, body: Any, carries: tuple[Any, ...]) -> Any:
        return eqxi.while_loop(condition, body, carries, max_steps=MOST_TRIPS, kind="lax")

    def branch(self, predicate: Any, then: kit.Block, otherwise: kit.Block, captures: list[Any]) -> list[Any]:
        def side(block: kit.Block) -> Callable[[list[Any]], tuple[Any, ...]]:
            return lambda xs: tuple(block(list(xs)))

        return list(lax.cond(predicate, side(then), side(otherwise), tuple(captures)))

    # Questions

    def answer(self, program: kit.Program, request: kit.Message, inputs: kit.Inputs) -> list[kit.Message]:
        return kit.each_point(request["count"], lambda k: self.at(program, request, inputs, k))

    def at(self, program: kit.Program, request: kit.Message, inputs: kit.Inputs, k: int) -> kit.Message:
        """The answer at point k."""
        point = kit.point_of(inputs, k)
        here = {
            name: np.array(entries, dtype).reshape(shape) for name, (dtype, shape, entries) in point.items()
        }
        wrt, modes = tuple(request["wrt"]), tuple(request["modes"])
        weights, directions = kit.contracted(request, self.array)
        kept = vars(program).setdefault("compiled", {})
        if (wrt, modes) not in kept:
            kept[wrt, modes] = jax.jit(self.question(program, wrt, modes))
        function = kept[wrt, modes]
        if not modes or modes[-1] == "rev":
            values, found = function(here, weights, directions, [])
            return {"ok": (list(map(written, values)), dict(zip(wrt, map(written, found))))}
        units = [np.zeros_like(here[n]) for n in wrt]
        values, gradient = None, {}
        for n, unit in zip(wrt, units):
            slopes = []
            for place in np.ndindex(unit.shape):
                unit[place] = 1
                values, slope = function(here, weights, directions, [u.copy() for u in units])
                slopes.append(np.asarray(slope))
                unit[place] = 0
            dtype = slopes[0].dtype if slopes else unit.dtype
            gradient[n] = written(np.array(slopes, dtype).reshape(unit.shape))
        if values is None:
            values, _ = function(here, weights, directions, units)
        return {"ok": (list(map(written, values)), gradient)}

    def question(self, program: kit.Program, wrt: Sequence[str], modes: kit.Modes) -> Callable[..., Any]:
        """Outputs and derivative as a function of inputs, weights, directions and (forward mode) a unit."""

        def ask(inputs: dict[str, Any], weights: list[Any], vs: Any, units: Any) -> Any:
            inputs = {n: jnp.asarray(x) for n, x in inputs.items()}
            xs = [inputs[n] for n in wrt]

            def f(xs: list[Any]) -> Any:
                return program(dict(inputs, **dict(zip(wrt, xs))))

            def objective(xs: list[Any]) -> Any:
                total = weighted(weights, f(xs))
                return jnp.zeros((), xs[0].dtype) if total is None else total

            def derived(g: Callable[..., Any], mode: str) -> Callable[..., Any]:
                if mode == "fwd":
                    return lambda xs: jax.jvp(g, (xs,), (vs,))[1]
                return lambda xs: weighted(vs, jax.grad(g)(xs))

            g = objective
            for mode in modes[:-1]:
                g = derived(g, mode)
            outputs = f(xs)
            if not modes:
                return outputs, []
            if modes[-1] == "rev":
                return outputs, jax.grad(g)(xs)
            return outputs, jax.jvp(g, (xs,), (list(map(jnp.asarray, units)),))[1]

        return ask


class Bounded(Looping):
    """`while_loop` of the kind bounded."""

    name = "bounded"
    modes = ("rev", "fwd")
    orders = (0, 1, 2)  # the third takes minutes to compile

    def loop(self, condition: Any, body: Any, carries: tuple[Any, ...]) -> Any:
        return eqxi.while_loop(condition, body, carries, max_steps=BOUND, kind="bounded", base=16)


class Checkpointed(Looping):
    """`while_loop` and `scan` of the kind checkpointed."""

    name = "checkpointed"
    modes = ("rev",)
    orders = (0, 1)

    def loop(self, condition: Any, body: Any, carries: tuple[Any, ...]) -> Any:
        return eqxi.while_loop(
            condition, body, carries, max_steps=MOST_TRIPS, kind="checkpointed", checkpoints=CHECKPOINTS
        )

    def for_loop(self, count: Any, body: kit.Body, carries: list[Any], captures: list[Any]) -> list[Any]:
        if not isinstance(count, int) or count <= 0 or not carries:
            return super().for_loop(count, body, carries, captures)

        def step(cs: Any, i: Any) -> Any:
            return tuple(body(i, list(cs), captures)), None

        kept = {"kind": "checkpointed", "checkpoints": min(count, CHECKPOINTS)}
        return list(eqxi.scan(step, tuple(carries), jnp.arange(count), **kept)[0])


def written(value: Any) -> kit.Numbers:
    array = np.asarray(value)
    return array.dtype.name, array.shape, array.ravel().tolist()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    jax.config.update("jax_enable_x64", True)
    kit.serve("equinox", eqx.__version__, [Bounded(), Checkpointed(), Looping()])
