"""Derivatives with respect to complex numbers: every op that takes them against differences in high
precision, loops, and the engine's functions.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from mpmath import mp

from gradfuzz import engine
from gradfuzz.engine.api.derivative import derivative
from gradfuzz.engine.rules.value import apply
from gradfuzz.errors import NotDifferentiableError, ProgramTypeError, UsageError
from gradfuzz.programs.graphs.lower import lower
from gradfuzz.programs.language.ops import OPS, result_type
from gradfuzz.programs.language.types import Type
from tests.unit.engine.complex_losses import check_orders, differences, loss

# Every op ---------------------------------------------------------------------------------------------------

Numbers = list[Any]
Case = tuple[str, Callable[..., Any], int, Callable[..., Numbers]]


def each(f: Callable[..., Any]) -> Callable[..., Numbers]:
    return lambda *xs: [f(*numbers) for numbers in zip(*xs, strict=True)]


def op(name: str, **params: Any) -> Callable[..., Any]:
    return lambda *xs: apply(name, *xs, **params)


def running(f: Callable[[Any, Any], Any]) -> Callable[..., Numbers]:
    return lambda x: list(itertools.accumulate(x, f))


def square(x: Any) -> Any:
    return engine.reshape(x, (2, 2))


def by_rows(x: Numbers) -> tuple[Numbers, Numbers]:
    return x[:2], x[2:]


def dot(x: Any, y: Any) -> Any:
    return sum(a * b for a, b in zip(x, y, strict=True))


CHOICE = np.array([True, False, True, False])
PLACES = np.array([2, 0, 2])

CASES: list[Case] = [
    ("add", op("add"), 2, each(lambda x, y: x + y)),
    ("subtract", op("subtract"), 2, each(lambda x, y: x - y)),
    ("multiply", op("multiply"), 2, each(lambda x, y: x * y)),
    ("divide", op("divide"), 2, each(lambda x, y: x / y)),
    ("negative", op("negative"), 1, each(lambda x: -x)),
    *[("integer_pow", op("integer_pow", n=n), 1, each(lambda x, n=n: x**n)) for n in (1, 2, 3, -1, -2)],
    ("pow", op("pow"), 2, each(lambda x, y: x**y)),
    *[
        (name, op(name), 1, each(getattr(mp, name)))
        for name in ("sin", "cos", "tan", "tanh", "exp", "log", "sqrt")
    ],
    ("abs", op("abs"), 1, each(abs)),
    ("conj", op("conj"), 1, each(mp.conj)),
    ("real", op("real"), 1, each(mp.re)),
    ("imag", op("imag"), 1, each(mp.im)),
    (
        "complex",
        lambda x, y: apply("complex", engine.real(x), engine.imag(y)),
        2,
        each(lambda x, y: mp.mpc(mp.re(x), mp.im(y))),
    ),
    (
        "where",
        lambda x, y: engine.where(CHOICE, x, y),
        2,
        lambda x, y: [a if c else b for c, a, b in zip(CHOICE, x, y, strict=True)],
    ),
    ("sum", lambda x: engine.sum(x * x), 1, lambda x: [dot(x, x)]),
    ("mean", lambda x: engine.mean(x * x), 1, lambda x: [dot(x, x) / 4]),
    ("prod", op("prod"), 1, lambda x: [mp.fprod(x)]),
    ("prod", lambda x: engine.prod(square(x), axis=0), 1, lambda x: [x[0] * x[2], x[1] * x[3]]),
    (
        "cumulative_sum",
        lambda x: engine.cumulative_sum(x * x),
        1,
        lambda x: list(itertools.accumulate(a * a for a in x)),
    ),
    ("cumulative_prod", op("cumulative_prod"), 1, running(lambda a, b: a * b)),
    ("astype", lambda x: apply("astype", engine.abs(x), dtype="complex") * x, 1, each(lambda x: abs(x) * x)),
    ("reshape", lambda x: engine.reshape(x * x, (2, 2)), 1, each(lambda x: x * x)),
    ("broadcast_to", lambda x: engine.broadcast_to(x * x, (2, 4)), 1, lambda x: [a * a for a in [*x, *x]]),
    ("permute_dims", lambda x: engine.permute_dims(square(x), (1, 0)), 1, lambda x: [x[0], x[2], x[1], x[3]]),
    ("flip", lambda x: engine.flip(x * x), 1, lambda x: [a * a for a in x[::-1]]),
    ("concat", lambda x, y: engine.concat([x, y * y]), 2, lambda x, y: [*x, *(b * b for b in y)]),
    ("stack", lambda x, y: engine.stack([x, y * y]), 2, lambda x, y: [*x, *(b * b for b in y)]),
    ("index", lambda x: x[1] * x[2:], 1, lambda x: [x[1] * x[2], x[1] * x[3]]),
    (
        "index_update",
        lambda x, y: engine.index_update(x, 1, y[2] * x[0]),
        2,
        lambda x, y: [x[0], y[2] * x[0], *x[2:]],
    ),
    ("take", lambda x: apply("take", x * x, PLACES, axis=0), 1, lambda x: [x[k] * x[k] for k in PLACES]),
    (
        "take_along_axis",
        lambda x: apply("take_along_axis", x * x, PLACES, axis=0),
        1,
        lambda x: [x[k] * x[k] for k in PLACES],
    ),
    (
        "scatter_add",
        lambda x, y: apply("scatter_add", x, PLACES, (y * y)[:3], axis=0),
        2,
        lambda x, y: [x[0] + y[1] ** 2, x[1], x[2] + y[0] ** 2 + y[2] ** 2, x[3]],
    ),
    (
        "matmul",
        lambda x, y: square(x) @ square(y),
        2,
        lambda x, y: [dot(a, b) for a in by_rows(x) for b in (y[::2], y[1::2])],
    ),
    ("matmul", op("matmul"), 2, lambda x, y: [dot(x, y)]),
    ("matmul", lambda x, y: square(x) @ y[:2], 2, lambda x, y: [dot(a, y[:2]) for a in by_rows(x)]),
    ("matmul", lambda x, y: x[:2] @ square(y), 2, lambda x, y: [dot(x[:2], b) for b in (y[::2], y[1::2])]),
]
"""An op, a function of vectors of 4 that uses it, how many it takes, and the same on lists of numbers."""


def takes_complex(name: str) -> bool:
    """Whether an op that has derivatives takes a complex vector."""
    for count in range(1, 5):
        try:
            result_type(name, (Type("complex", (4,)),) * count, dict(OPS[name].params))
        except (ProgramTypeError, IndexError, KeyError):
            continue
        return OPS[name].smooth
    return False


def test_every_op_is_a_case() -> None:
    """Linear algebra has files of its own."""
    elsewhere = {name for name in OPS if OPS[name].kind == "linalg"} | {"vector_norm", "outer"}
    assert {name for name in OPS if takes_complex(name)} - elsewhere <= {c[0] for c in CASES}


def by_lists(truth: Callable[..., Numbers], xs: list[Any], directions: list[Any]) -> tuple[float, float]:
    """The derivatives of the loss of a truth, which takes lists of numbers."""

    def results(t: Any) -> Numbers:
        moved = [
            [mp.mpmathify(complex(a)) + t * mp.mpmathify(complex(b)) for a, b in zip(x, v, strict=True)]
            for x, v in zip(xs, directions, strict=True)
        ]
        return truth(*moved)

    return differences(results)


def draw(rng: np.random.Generator, *shape: int) -> Any:
    """Complex numbers whose parts are from 1/4 to 3/2 in size: none within 1/4 of a branch cut on the
    negative real axis.
    """
    re, im = rng.uniform(0.25, 1.5, (2, *shape)) * rng.choice([-1, 1], (2, *shape))
    return re + 1j * im


@pytest.mark.parametrize(
    ("case", "number"), [pytest.param(c, k, id=f"{c[0]}-{k}") for k, c in enumerate(CASES)]
)
def test_derivatives_are_those_of_differences(case: Case, number: int, seed: int) -> None:
    _, f, count, truth = case
    rng = np.random.default_rng([seed, number])
    xs, directions = [draw(rng, 4) for _ in range(count)], [draw(rng, 4) for _ in range(count)]
    check_orders(f, xs, directions, by_lists(truth, xs, directions), 1e-12)


def test_products_with_zeros(seed: int) -> None:
    """Of entries that are 0 the others' product stays, conjugated."""
    x = np.array([0, 2 - 1j, 1j])
    found = engine.grad(lambda z: engine.real(engine.prod(z)))(x)
    assert np.allclose(found, np.conj([(2 - 1j) * 1j, 0, 0]), rtol=0, atol=1e-15)
    assert engine.grad(engine.abs)(0j) == 0


# Loops ------------------------------------------------------------------------------------------------------


def newton(z: Any, c: Any) -> Any:
    """Some steps of Newton's method for a square root of c, until a condition on the modulus."""
    return engine.while_loop(lambda s: engine.abs(s * s - c) > 0.25, lambda s: 0.5 * (s + c / s), z)


def powers(z: Any, c: Any) -> Any:
    return engine.fori_loop(0, 4, lambda i, s: s * s * 0.5 + c, z)


def sums(z: Any, c: Any) -> Any:
    carry, rows = engine.scan(lambda s, x: (s * x + c, engine.conj(s)), z, engine.stack([z, c, z * c]))
    return carry + engine.sum(rows * rows)


def turned(z: Any, c: Any) -> Any:
    return engine.cond(engine.imag(z) > 0.0, lambda a, b: a * b, lambda a, b: a - b, z, c)


def newton_truth(z: Any, c: Any) -> Numbers:
    while abs(z * z - c) > 0.25:
        z = (z + c / z) / 2
    return [z]


def powers_truth(z: Any, c: Any) -> Numbers:
    for _ in range(4):
        z = z * z / 2 + c
    return [z]


def sums_truth(z: Any, c: Any) -> Numbers:
    s, total = z, mp.zero
    for x in (z, c, z * c):
        total += mp.conj(s) ** 2
        s = s * x + c
    return [s + total]


def turned_truth(z: Any, c: Any) -> Numbers:
    return [z * c if mp.im(z) > 0 else z - c]


LOOPS = [(newton, newton_truth), (powers, powers_truth), (sums, sums_truth), (turned, turned_truth)]


@pytest.mark.parametrize(("f", "truth"), LOOPS)
def test_loops_and_branches(f: Callable[..., Any], truth: Callable[..., Numbers]) -> None:
    """Orders 1 and 2 in every mix of modes, and by `derivative`, which has the gradient as a graph."""
    for z in (0.5 + 0.75j, 0.75 - 0.5j):
        xs, directions = [np.array(z), np.array(1.25 - 0.5j)], [np.array(0.5 + 1j), np.array(-0.25 + 0.75j)]
        flat = by_lists(
            lambda a, b: truth(a[0], b[0]), [x[np.newaxis] for x in xs], [v[np.newaxis] for v in directions]
        )
        check_orders(f, xs, directions, flat, 1e-12)
        graph = lower(engine.trace(loss(f), *xs))
        names = [v.name for v in graph.inputs]
        for modes in itertools.product(("rev", "fwd"), repeat=2):
            second = engine.compile(derivative(graph, wrt=names, modes=modes))
            _, *parts = second(*xs, 1.0, *directions)
            expected = flat[1]
            found = sum((np.conj(g) * v).real for g, v in zip(parts, directions, strict=True))
            assert abs(found - expected) <= 1e-12 * max(1.0, abs(expected)), modes


# The engine's functions -------------------------------------------------------------------------------------


def test_a_gradient_is_the_direction_of_steepest_ascent() -> None:
    """Of |z|^2: 2 z. Of Re z^2 = a^2 - b^2: 2 a - 2 b i. With respect to a real number it is real."""
    z = np.array([1 + 2j, -0.5 + 0.25j])
    value, found = engine.value_and_grad(lambda z: engine.sum(engine.abs(z) ** 2))(z)
    assert abs(value - 5.3125) < 1e-14
    assert np.allclose(found, 2 * z, rtol=1e-15)
    assert engine.grad(lambda z: engine.real(z * z))(1 + 2j) == 2 - 4j
    found = engine.grad(lambda a: engine.real((a + 2j) ** 2 * 1j))(3.0)
    assert not np.iscomplexobj(found)
    assert found == -4.0
    assert engine.grad(lambda z: engine.real(z * z))(np.complex64(1 + 2j)).dtype == np.complex64


def test_pullbacks_and_tangents_of_complex_results() -> None:
    """A holomorphic function with slope s: s t forth, conj(s) g back."""
    z, g = 0.5 - 1.5j, 2.0 + 1.0j
    value, pullback = engine.vjp(lambda z: z**3, z)
    assert abs(value - z**3) < 1e-15
    assert abs(pullback(g)[0] - np.conj(3 * z**2) * g) < 1e-14
    assert abs(pullback(2.0)[0] - np.conj(3 * z**2) * 2) < 1e-14
    assert abs(engine.jvp(lambda z: z**3, [z], [g])[1] - 3 * z**2 * g) < 1e-14
    assert engine.jvp(engine.conj, [z], [g])[1] == np.conj(g)
    value, pullback = engine.vjp(lambda a, n: engine.complex(a, 2.0 * a) * n, 1.5, 2)
    assert (value, pullback(1 + 1j)) == (3 + 6j, (6.0, None))


def test_what_has_no_derivative_is_refused_in_words() -> None:
    with pytest.raises(NotDifferentiableError, match=r"take real\(\), imag\(\) or abs\(\)"):
        engine.grad(lambda z: z * z)(1j)
    for mode in ("rev", "fwd"):
        with pytest.raises(UsageError, match="an argument of type complex"):
            engine.jacobian(engine.real, mode=mode)(np.array([1j, 2]))
        with pytest.raises(UsageError, match=r"a result of type complex.*real\(z\) and imag\(z\)"):
            engine.jacobian(lambda a: a * 1j, mode=mode)(np.array([1.0, 2.0]))
    with pytest.raises(UsageError, match="an argument of type complex"):
        engine.hessian(lambda z: engine.real(z * z))(1j)
    with pytest.raises(UsageError, match="complex tangent or cotangent"):
        engine.jvp(lambda a: a * a, [1.0], [1j])
    with pytest.raises(UsageError, match="complex tangent or cotangent"):
        engine.vjp(lambda a: a * a, 1.0)[1](1j)


def test_a_jacobian_of_the_parts(seed: int) -> None:
    """Of a holomorphic function the Cauchy-Riemann equations hold: [[Re s, -Im s], [Im s, Re s]]."""
    a, b = 0.75, -0.5
    s = 3 * complex(a, b) ** 2

    def parts(x: Any) -> Any:
        z = engine.complex(x[0], x[1]) ** 3
        return engine.stack([engine.real(z), engine.imag(z)])

    for mode in ("rev", "fwd"):
        found = engine.jacobian(parts, mode=mode)(np.array([a, b]))
        assert np.allclose(found, [[s.real, -s.imag], [s.imag, s.real]], rtol=0, atol=1e-15)


def test_vectorized_arguments(seed: int) -> None:
    rng = np.random.default_rng(seed)
    z, c, m = draw(rng, 5), draw(rng, 5), draw(rng, 3, 2, 2)
    v = engine.vectorize(z, "b")
    found = engine.grad(lambda x: engine.real(x * x * (1 - 2j)))(v)
    assert np.allclose(engine.devectorize(found), np.conj(2 * z * (1 - 2j)), rtol=1e-15)
    assert np.allclose(engine.vmap(lambda x: x * engine.conj(x))(z), np.abs(z) ** 2)
    engine.check_vectorized(lambda x, y: engine.abs(x * y + 1j), z, 1 + 2j)
    engine.check_vectorized(lambda x: engine.abs(x), z.astype(np.complex64))
    engine.check_vectorized(lambda x, y: engine.real(newton(x, y)), z, c)
    engine.check_vectorized(lambda x, y: engine.real(sums(x, y) * turned(x, y)), z, c)
    engine.check_vectorized(lambda x: engine.abs(engine.linalg.eigvals(x)[0]), m)
    engine.check_vectorized(lambda x: engine.real(engine.linalg.det(x)), m)
