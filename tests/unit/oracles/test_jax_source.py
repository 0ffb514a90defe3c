"""Programs as JAX source, in JAX's namespace, and traced and run step by step: the same numbers as the
interpreter's in NumPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradfuzz.errors import TripLimitError
from gradfuzz.programs.arithmetic.numpy_namespace import NumpyNamespace
from gradfuzz.programs.evaluation.interpret import interpret
from gradfuzz.programs.graphs.graph import Loop
from gradfuzz.programs.graphs.lower import lower
from gradfuzz.programs.language.program import Program
from gradfuzz.programs.text.parse import parse
from tests.unit.oracles.test_emitted_source import CASES, INPUTS, STATEMENTS, program_of

jax = pytest.importorskip("jax", reason="the jax extra is not installed")

import jax.numpy as jnp  # noqa: E402 - after JAX is known to be there
from jax import lax  # noqa: E402

from gradfuzz.oracles.jax.emit import JaxEmitter  # noqa: E402
from gradfuzz.oracles.jax.evaluate import block  # noqa: E402
from gradfuzz.oracles.jax.lowered import program_source  # noqa: E402
from gradfuzz.oracles.jax.namespace import JaxNamespace  # noqa: E402
from gradfuzz.oracles.jax.trips import known_trips  # noqa: E402


def arguments(program: Program, precision: Any, convert: Any) -> dict[str, Any]:
    """The inputs; `convert` makes arrays, int and bool scalars stay Python's."""
    kinds = {p.name: p.type for p in program.params}
    return {
        n: (
            convert(np.asarray(v, precision if kinds[n].is_float else None))
            if kinds[n].is_float or kinds[n].shape
            else v
        )
        for n, v in INPUTS.items()
    }


def by_namespace(program: Program, precision: Any) -> Any:
    return interpret(program, arguments(program, precision, jnp.asarray), JaxNamespace(precision))


def by_statements(program: Program, precision: Any) -> Any:
    return run(JaxEmitter(precision).function(program, "f"), precision)(
        **arguments(program, precision, jnp.asarray)
    )


def by_loops(program: Program, precision: Any) -> Any:
    """Traced, so that a value that only works while it is concrete is noticed."""
    f = run(program_source(program, precision, "scan", 20), precision)
    values = [jnp.asarray(v) for v in arguments(program, precision, jnp.asarray).values()]
    return block(jax.make_jaxpr(f)(*values))(values)


def run(source: str, precision: Any) -> Any:
    types = {"F": np.dtype(precision).type, "C": np.complex128 if precision == "float64" else np.complex64}
    names: dict[str, Any] = {**types, "jax": jax, "jnp": jnp, "lax": lax, "np": np}
    exec(source, names)
    return names["f"]


@pytest.mark.parametrize(
    ("way", "precision"),
    [
        (by_namespace, "float32"),
        pytest.param(by_statements, "float64", marks=pytest.mark.slow),
        (by_statements, "float32"),
        (by_loops, "float32"),
    ],
)
@pytest.mark.parametrize("expression", [*(e for _, e in CASES), "the statements"])
def test_the_same_numbers_and_dtypes(expression: str, way: Any, precision: Any) -> None:
    program = parse(STATEMENTS) if expression == "the statements" else program_of(expression)
    right = interpret(program, arguments(program, precision, np.asarray), NumpyNamespace(precision))
    got = way(program, precision)
    for g, r in zip(got if isinstance(got, (tuple, list)) else (got,), right, strict=True):
        g, r = np.asarray(g), np.asarray(r)
        assert (g.dtype, g.shape) == (r.dtype, r.shape)
        unit = float(np.finfo(precision).eps)
        assert np.all(
            np.abs(g.astype(float) - r.astype(float)) <= 8 * unit * np.maximum(np.abs(r.astype(float)), 1.0)
        )


# Loops ------------------------------------------------------------------------------------------------------

COUNTED = "def f(x, y):\n acc = 1.0\n for i in range(3):\n  t = acc*x\n  acc = sin(t) + y*t\n return acc\n"
BY_VALUE = "def f(x):\n acc = x\n while acc < 5.0:\n  acc = acc*1.5 + x\n return acc\n"
BODY_FIRST = "def f(x):\n a = x\n while True:\n  a = a*x\n  if not a < 5.0:\n   break\n return a\n"


@pytest.mark.parametrize(
    ("text", "style", "source"),
    [
        (
            COUNTED,
            "scan",
            """\
def f(x, y):
    def body(acc, _):
        t = acc * x
        return jnp.sin(t) + y * t, None

    acc, _ = lax.scan(body, F(1.0), None, length=3)
    return acc
""",
        ),
        (
            COUNTED,
            "fori_loop",
            """\
def f(x, y):
    def body(_, acc):
        t = acc * x
        return jnp.sin(t) + y * t

    acc = lax.fori_loop(0, 3, body, F(1.0))
    return acc
""",
        ),
        (
            BY_VALUE,
            "scan",
            """\
def f(x):
    def again(acc):
        return acc < 5.0

    def body(acc):
        return acc * 1.5 + x

    def step(carry, _):
        return lax.cond(again(carry), body, lambda carry: carry, carry), None

    acc, _ = lax.scan(step, x, None, length=7)
    return acc
""",
        ),
        (
            BODY_FIRST,
            "while_loop",
            """\
def f(x):
    def body(carry):
        _, trips, a = carry
        a_2 = a * x
        return (jnp.logical_and(trips < 9999, a_2 < 5.0), trips + 1, a_2)

    _, _, a = lax.while_loop(lambda carry: carry[0], body, (True, np.int64(0), x))
    return a
""",
        ),
    ],
)
def test_a_loop_as_a_person_would_write_it(text: str, style: Any, source: str) -> None:
    assert program_source(parse(text), "float64", style, 7) == source


@pytest.mark.parametrize(
    ("text", "trips"),
    [
        (COUNTED, [3]),
        (BY_VALUE, []),
        ("def f(x):\n i = 0\n while i < 10:\n  i = i + 3\n  x = x*x\n return x\n", [4]),
        (
            "def f(x):\n i = 9\n while True:\n  i = i + 1\n  x = x*x\n  if not i < 3:\n   break\n return x\n",
            [1],
        ),
        ('def f(x, n: "int"):\n for i in range(n):\n  for j in range(2):\n   x = x*x\n return x\n', [2]),
        ("def f(x):\n for i in range(3):\n  for j in range(i):\n   x = x*x\n return x\n", [3]),
        (
            (
                "def f(x):\n k = 0\n for i in range(3):\n  k = k + 2\n for j in range(k):\n  x = x*x\n"
                " return x\n"
            ),
            [3, 6],
        ),
        ("def f(x):\n k = 2\n if x > 0.0:\n  k = 3\n for j in range(k):\n  x = x*x\n return x\n", []),
        ("def f(x):\n k = 2\n if k > 1:\n  k = 3\n for j in range(k):\n  x = x*x\n return x\n", [3]),
        ("def f(x):\n for i in range(-2):\n  x = x*x\n return x\n", [0]),
    ],
)
def test_known_trip_counts(text: str, trips: list[int]) -> None:
    graph = lower(parse(text))
    known = known_trips(graph)
    assert [known[node] for node in graph.walk() if isinstance(node, Loop) and node in known] == trips


def test_a_known_trip_count_beyond_the_limit() -> None:
    with pytest.raises(TripLimitError, match="10000 trips"):
        known_trips(lower(parse("def f(x):\n for i in range(10001):\n  x = x*x\n return x\n")))


# Step by step -----------------------------------------------------------------------------------------------


def scanned(x: Any, v: Any) -> Any:
    def body(carry: Any, row: Any) -> Any:
        kept = lax.cond(carry[0] > 0.5, lambda: carry * row, lambda: carry - jnp.sin(row))
        return kept, (kept[::-1], jnp.sum(row))

    return lax.scan(body, jnp.stack([x, x + 1]), v, reverse=True)


def looped(x: Any, v: Any) -> Any:
    return lax.while_loop(
        lambda c: c[0] < 20, lambda c: (c[0] + 3, c[1].at[c[0] % 4].add(x)), (np.int64(1), v[:, 0])
    )


def shaped(x: Any, v: Any) -> Any:
    w = jnp.concatenate([v, jnp.flip(v.T.reshape(v.shape), 0)], 1)
    i = jnp.asarray(x * 0 + 7, np.int64)
    return (
        w[1:3],
        w[i],
        jnp.where(w > x, w, -w) / 3,
        jnp.abs(w) != 0.25,
        lax.dynamic_update_slice(w, v * v, (i, i)),
        jnp.cumsum(w),
    )


@pytest.mark.parametrize("f", [scanned, looped, shaped])
@pytest.mark.parametrize(
    "derive",
    [
        lambda f: f,
        lambda f: jax.jacfwd(lambda x, v: jnp.hstack([jnp.ravel(y) for y in jax.tree.leaves(f(x, v))])),
    ],
)
def test_step_by_step_is_what_jit_computes(f: Any, derive: Any) -> None:
    x, v = np.float64(0.75), np.arange(8.0).reshape(4, 2) / 8
    g = derive(f)
    got = block(jax.make_jaxpr(g)(x, v))([x, v])
    for mine, theirs in zip(got, jax.tree.leaves(jax.jit(g)(x, v)), strict=True):
        assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape)
        np.testing.assert_array_max_ulp(mine.astype(float), np.asarray(theirs, float), 4)


@pytest.mark.parametrize("trips", [0, 30_000])
def test_an_empty_scan_and_a_long_one(trips: int) -> None:
    traced = jax.make_jaxpr(lambda x: lax.scan(lambda c, _: (c * x, c), x, None, length=trips))(1.0)
    last, stacked = block(traced)([np.float64(1.0)])
    assert last == 1.0
    assert stacked.shape == (trips,)
