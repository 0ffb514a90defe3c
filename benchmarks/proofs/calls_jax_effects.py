"""Calls for what is more than a function of arrays in JAX: mutable references, what is told to people, jaxprs
and primitives as values, and a type of one's own.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax._src import core, dtypes
from jax._src.lax import lax as _lax
from jax._src.lax.eval_jaxpr import eval_jaxpr_p
from jax._src.state import discharge
from jax.experimental import hijax

from benchmarks.proofs.written import Written, call


def _read_and_written(x: Any) -> Any:
    ref = jax.new_ref(jnp.sin(x))
    ref[...] = ref[...] * x
    return jax.freeze(ref)


def _added(x: Any) -> Any:
    ref = jax.new_ref(jnp.sin(x))
    jax.ref.addupdate(ref, slice(1, 3), x[:2] * x[1:])
    return jax.freeze(ref)


def _swapped(x: Any) -> Any:
    ref = jax.new_ref(jnp.sin(x))
    old = jax.ref.swap(ref, 0, x[1] * x[2])
    return jax.freeze(ref) * old


def _row_by_row(x: Any) -> Any:
    ref = jax.new_ref(jnp.zeros_like(x))

    def step(product: Any, k: Any) -> Any:
        ref[k] = ref[k] + jnp.sin(product) * x[k]
        return product * x[k], None

    lax.scan(step, x[0], jnp.arange(len(x)))
    return jax.freeze(ref)


@jax.jit
def _empty_at_first(x: Any) -> Any:
    ref = jax.empty_ref(jax.typeof(x))
    ref[...] = jnp.sin(x)
    return ref[...] * x


def _freed(x: Any) -> Any:
    ref = jax.new_ref(jnp.sin(x))
    value = ref[...] * x
    jax.free_ref(ref)
    return value


def _of_state(x: Any) -> Any:
    def body(refs: Any) -> None:
        source, target = refs
        target[...] = jnp.sin(source[...]) * source[...]

    return discharge.run_state(body)((x, jnp.zeros_like(x)))[1]


def _printed(x: Any) -> Any:
    jax.debug.print("{}", x * x)
    return jnp.sin(x) * x


def _called_back(x: Any) -> Any:
    jax.debug.callback(lambda y: None, x * x)
    return jnp.sin(x) * x


def _inspected(x: Any) -> Any:
    y = jnp.sin(x)
    jax.debug.inspect_array_sharding(y, callback=lambda sharding: None)
    return y * x


def _of_jaxpr(x: Any) -> Any:
    jaxpr = jax.make_jaxpr(lambda y: jnp.sin(y) * y)(x)
    return eval_jaxpr_p.bind(x, jaxpr=jaxpr)[0] * x


WrittenPrimitive: Any = getattr(hijax, "HiPrim", None) or hijax.VJPHiPrimitive
"""The class of primitives that a user writes: `VJPHiPrimitive` until JAX 0.10, `HiPrim` in 0.12."""


class _Wave(WrittenPrimitive):  # type: ignore[misc]
    """sin(x) x as a primitive, whose rules somebody wrote."""

    def __init__(self, kind: Any) -> None:
        self.in_avals, self.out_aval, self.params = (kind,), kind, {}
        super().__init__()

    def expand(self, x: Any) -> Any:
        return jnp.sin(x) * x

    def jvp(self, primals: Any, tangents: Any) -> Any:
        return self(*primals), self._slope(*primals) * tangents[0]

    def vjp_fwd(self, moves: Any, x: Any) -> Any:
        return self(x), x

    def vjp_bwd_retval(self, x: Any, along: Any) -> Any:
        return (self._slope(x) * along,)

    def batch_dim_rule(self, batch: Any, dims: Any) -> Any:
        return dims[0]

    def _slope(self, x: Any) -> Any:
        return jnp.cos(x) * x + jnp.sin(x)


class _Rules:
    """What JAX asks about a type: its elements are numbers of float64, and so are their tangents."""

    allow_conversion = True

    @staticmethod
    def physical_element_aval(dtype: Any) -> Any:
        return core.ShapedArray((), np.dtype(np.float64))

    @staticmethod
    def tangent_dtype(dtype: Any) -> Any:
        return np.dtype(np.float64)


class _Numbers(dtypes.extended):
    pass


class _Number(dtypes.ExtendedDType):
    """A type of numbers."""

    name, itemsize, type, _rules = "number", 8, _Numbers, _Rules

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Number)

    def __hash__(self) -> int:
        return hash(_Number)


@jax.jit
def _as_numbers(x: Any) -> Any:
    numbers = _lax.to_edtype_p.bind(jnp.sin(x), edtype=_Number())
    return _lax.from_edtype_p.bind(numbers, dtype=np.dtype(np.float64)) * x


CALLS: tuple[Written, ...] = (
    call("reference, read and written", _read_and_written, (3,)),
    call("reference, added to", _added, (3,)),
    call("reference, swapped", _swapped, (3,)),
    call("reference, in a scan", _row_by_row, (3,)),
    call("reference, empty at first", _empty_at_first, (3,)),
    call("reference, freed", _freed, (3,)),
    call("run_state", _of_state, (3,)),
    call("accum_grad_in_ref", lambda x: core.accum_grad_in_ref(jnp.sin(x)) * x, (3,)),
    call("debug_print", _printed, (3,)),
    call("debug_callback", _called_back, (3,)),
    call("inspect_sharding", _inspected, (3,)),
    call("dce_sink", lambda x: (lax.dce_sink(jnp.sin(x)), x * x)[1], (3,)),
    call("eval_jaxpr", _of_jaxpr, (3,)),
    call("call_hi_primitive", lambda x: _Wave(jax.typeof(x))(x) * x, (3,)),
    call("a type of one's own", _as_numbers, (3,)),
)
