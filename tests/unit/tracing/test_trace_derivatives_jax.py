"""Derivatives of JAX as graphs: they give the numbers that JAX itself computes, in both modes."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax._src.state.discharge import run_state

from benchmarks.proofs.calls_jax_effects import WrittenPrimitive
from gradfuzz.oracles.references.balls import value
from gradfuzz.programs.arithmetic.numpy_namespace import NumpyNamespace
from gradfuzz.programs.evaluation.interpret import evaluate
from gradfuzz.tracing.jax.trace import traced_graph

Array = np.ndarray[Any, Any]
Function = Callable[..., Any]


def total(f: Function) -> Function:
    """The float outputs of `f`, with a weight for each, added up; of complex ones both parts."""

    def weighted(*xs: Any) -> Any:
        result: Any = 0.0
        for y in jax.tree_util.tree_leaves(f(*xs)):
            if jnp.issubdtype(y.dtype, jnp.inexact):
                parts = [jnp.real(y), jnp.imag(y)] if jnp.iscomplexobj(y) else [y]
                for part in parts:
                    result = result + (jnp.linspace(0.5, 1.5, part.size) * part.ravel()).sum()
        return result

    return weighted


def reverse(f: Function) -> Function:
    return lambda *xs: jax.grad(f, tuple(range(len(xs))))(*xs)


def forward(f: Function) -> Function:
    return lambda *xs: jax.jvp(f, xs, tuple(map(jnp.cos, xs)))[1]


def close(f: Function, arrays: Sequence[Array], *, derivative: bool) -> None:
    """The graph of `f` has the numbers of `f`."""
    graph = traced_graph(f, arrays, derivative=derivative)
    mine = evaluate(graph, [a[()] if a.ndim else float(a) for a in arrays], NumpyNamespace())
    with jax.enable_x64(True):
        theirs = jax.tree_util.tree_leaves(jax.jit(f)(*map(jnp.asarray, arrays)))
    assert len(mine) == len(theirs)
    for here, there in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(here, np.asarray(there), rtol=1e-9, atol=1e-10)


def conv(x: Any, k: Any, **options: Any) -> Any:
    """With one of strides and paddings for all axes."""
    axes = x.ndim - 2
    numbers = {"window_strides": (1,) * axes, "padding": [(0, 0)] * axes, **options}
    return lax.conv_general_dilated(x, k, **numbers)


def halved(x: Any) -> Any:
    """Each entry is divided by 2 until it is less than 1 / 4, which takes some longer than others."""
    return jax.vmap(lambda y: lax.while_loop(lambda z: z > 0.25, lambda z: z * 0.5, y * y))(x)


def windows(reduction: Function, init: float, dilation: tuple[int, int] = (1, 1)) -> Function:
    """Windows that overlap and reach over the border."""
    return lambda x: lax.reduce_window(
        x, np.float64(init), reduction, (2, 3), (1, 2), ((0, 1), (1, 1)), window_dilation=dilation
    )


def ragged(x: Any, y: Any) -> Any:
    return lax.ragged_dot(x, y, jnp.array([2, 1, 1], jnp.int32))


def linear_by_hand(x: Any) -> Any:
    def times(scale: Any, y: Any) -> Any:
        return scale * y

    return jax.custom_derivatives.linear_call(times, times, jnp.array([1.5, -0.5]), x * x)


def referred(x: Any) -> Any:
    """Products of leading entries, which a loop adds to a reference, and one of them swapped for a number."""
    ref = jax.new_ref(jnp.sin(x))

    def step(product: Any, k: Any) -> Any:
        jax.ref.addupdate(ref, k, product * x[k])
        return product * x[k], None

    jax.lax.scan(step, 1.0, jnp.arange(len(x)))
    old = jax.ref.swap(ref, 1, x[0])
    return jax.freeze(ref) * old


def scratch(x: Any) -> Any:
    ref = jax.empty_ref(jax.typeof(x))
    ref[...] = x * x
    value = ref[::2]
    jax.free_ref(ref)
    return value


def told(x: Any) -> Any:
    jax.debug.callback(lambda y: None, x * x)
    jax.lax.dce_sink(jnp.sin(x))
    return jnp.sin(x) * x


class Cube(WrittenPrimitive):
    """x^3, whose rules somebody wrote."""

    def __init__(self, kind: Any) -> None:
        self.in_avals, self.out_aval, self.params = (kind,), kind, {}
        super().__init__()

    def expand(self, x: Any) -> Any:
        return x * x * x

    def jvp(self, primals: Any, tangents: Any) -> Any:
        return self(*primals), 3.0 * primals[0] ** 2 * tangents[0]

    def vjp_fwd(self, moves: Any, x: Any) -> Any:
        return self(x), x

    def vjp_bwd_retval(self, x: Any, along: Any) -> Any:
        return (3.0 * x * x * along,)


FUNCTIONS: dict[str, tuple[Function, list[tuple[int, ...]]]] = {
    "rfft2": (jnp.fft.rfft2, [(3, 4)]),
    "irfftn": (lambda x: jnp.fft.irfftn(jnp.fft.rfftn(x) ** 2, s=(3, 4)), [(3, 4)]),
    "conv with groups of the batch": (
        lambda x, k: conv(x, k, batch_group_count=2),
        [(4, 2, 3), (4, 2, 2)],
    ),
    "conv with negative padding": (
        lambda x, k: conv(x, k, padding=[(-1, 2), (1, -1)], rhs_dilation=(1, 2)),
        [(1, 2, 4, 5), (2, 2, 2, 2)],
    ),
    "conv over three axes": (
        lambda x, k: conv(x, k, window_strides=(2, 1, 1), lhs_dilation=(1, 2, 1)),
        [(1, 2, 3, 2, 3), (2, 2, 2, 2, 2)],
    ),
    "unstack": (lambda x: jnp.unstack(x, axis=1)[1] ** 2, [(2, 3)]),
    "conj of a real number": (lambda x: lax.conj(x) * (1 + 2j), [(3,)]),
    "product with bools": (lambda x: jnp.tensordot(np.array([True, False, True]), x * x, 1), [(3,)]),
    "solve by bools": (lambda x: jnp.linalg.solve(np.eye(2, dtype=bool), x * x), [(2, 2)]),
    "signbit": (lambda x: jnp.where(jnp.signbit(x - 0.5), x, x * x), [(4,)]),
    "igamma": (lax.igamma, [(2,), (2,)]),
    "igammac": (lambda a, x: lax.igammac(a, 3.0 * x), [(2,), (2,)]),
    "betainc": (lambda x: jax.scipy.special.betainc(1.5, 2.25, x), [(4,)]),
    "polygamma of several orders": (lambda x: lax.polygamma(jnp.array([1.0, 2.0, 1.0]), x), [(3,)]),
    "zeta": (lambda x: jax.scipy.special.zeta(jnp.array([3.0, 2.0]), x), [(2,)]),
    "windows, the greatest": (windows(lax.max, -np.inf), [(4, 4)]),
    "windows, the least": (windows(lax.min, np.inf), [(4, 4)]),
    "a reduction by a function": (
        lambda x: lax.reduce(x, np.float64(0.0), lambda a, b: a + b + a * b, (0, 2)),
        [(2, 3, 2)],
    ),
    "a maximum that is scattered": (lambda x, y: x.at[np.array([2, 0])].max(y), [(3, 2), (2, 2)]),
    "tridiagonal_solve": (
        lambda a, b, c, d: lax.linalg.tridiagonal_solve(a, b + 4.0, c, d),
        [(2, 4), (2, 4), (2, 4), (2, 4, 3)],
    ),
    "ragged_dot": (ragged, [(4, 3), (3, 3, 2)]),
    "linear_call": (linear_by_hand, [(2,)]),
    "references": (referred, [(3,)]),
    "slopes that JAX 0.12 has primitives for": (lambda x: jnp.sinc(x) + jnp.log2(x) + jnp.atanh(x), [(4,)]),
    "a reference that is empty at first": (scratch, [(4,)]),
    "what nobody sees in the result": (told, [(3,)]),
    "a primitive of one's own": (lambda x: Cube(jax.typeof(x))(x) * x, [(3,)]),
    "the greatest, approximately": (lambda x: lax.approx_max_k(x, 2)[0], [(5,)]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_graphs_have_the_numbers_of_the_function_and_its_derivatives(name: str) -> None:
    f, shapes = FUNCTIONS[name]
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    arrays = [rng.uniform(0.2, 0.9, shape) for shape in shapes]
    close(total(f), arrays, derivative=False)
    for derived in (reverse, forward):
        close(derived(total(f)), arrays, derivative=True)


def test_windows_by_a_function_have_a_forward_derivative() -> None:
    x = np.array([[0.3, 0.7, 0.2], [0.8, 0.4, 0.6]])
    f = total(windows(lambda a, b: a * b, 1.0, (2, 1)))
    close(f, [x], derivative=False)
    close(forward(f), [x], derivative=True)


def test_a_body_that_fills_references_has_a_forward_derivative() -> None:
    def body(refs: Any) -> None:
        refs[1][...] = jnp.sin(refs[0][...]) * refs[0][...]

    f = total(lambda x: run_state(body)((x, jnp.zeros_like(x)))[1])
    close(f, [np.array([0.3, 0.7])], derivative=False)
    close(forward(f), [np.array([0.3, 0.7])], derivative=True)


@pytest.mark.parametrize("select", [lax.ge_p, lax.le_p])
def test_what_the_extremes_of_windows_choose(select: Any) -> None:
    x, y = np.array([[0.3, 0.7, 0.2], [0.8, 0.4, 0.6]]), np.array([[1.5, -0.5, 2.0], [0.25, 3.0, -1.0]])
    where = {"select_prim": select, "window_dimensions": (2, 2), "window_strides": (1, 1)}
    where["padding"] = ((1, 0), (0, 0))
    gathered = {**where, "base_dilation": (1, 1), "window_dilation": (1, 1)}

    def chosen(x: Any, y: Any) -> Any:
        return lax.select_and_gather_add_p.bind(y, x, **gathered)

    def returned(x: Any, y: Any) -> Any:
        return lax.select_and_scatter_add_p.bind(y[:, :2], x, **where)

    for f in (chosen, returned):
        close(total(f), [x, y], derivative=False)
        for derived in (reverse, forward):
            close(derived(total(f)), [x, y], derivative=True)


def test_samples_of_the_gamma_distribution_move() -> None:
    a, x = np.array([0.4, 1.5]), np.array([0.7, 0.3])
    close(total(lax.random_gamma_grad), [a, x], derivative=False)


def test_reflections_are_multiplied() -> None:
    x, taus = np.array([[0.3, 0.2], [0.5, 0.7], [-0.4, 0.9]]), np.array([0.8, 0.6])
    close(total(lax.linalg.householder_product), [x, taus], derivative=False)


def test_lanes_of_a_while_loop_end_one_by_one() -> None:
    x = np.array([0.4, 0.9, 3.0, 1.5])
    close(total(halved), [x], derivative=False)
    close(forward(total(halved)), [x], derivative=True)


def test_the_mantissa_and_the_exponent_of_a_float() -> None:
    x = np.array([0.3, 0.7, -5.0, 1.5])
    close(total(jnp.frexp), [x], derivative=False)
    close(reverse(total(jnp.frexp)), [x], derivative=True)


def test_a_whole_exponent_is_one_of_numbers_below_zero_too() -> None:
    graph = traced_graph(lambda x: (x ** jnp.array([2.0, 3.0])).sum(), [np.array([-2.0, -3.0])])
    assert value(graph, [np.array([-2.0, -3.0])]).middle == 4.0 - 27.0


def test_branches_of_a_switch_that_is_mapped_twice() -> None:
    def f(x: Any) -> Any:
        return lax.switch(jnp.where(x > 0.5, 1, 0), [jnp.sin, jnp.exp], x)

    close(lambda x: jax.vmap(jax.vmap(f))(x).sum(), [np.array([[0.25, 0.75]])], derivative=False)
